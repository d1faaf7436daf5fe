"""Runs that may stop: only shards without a gap count, in whatever order they are done."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.records.stops.look import Look
from headroles.shards.prefix import PrefixReceipts
from headroles.shards.receipts import Receipts
from headroles.shards.work import Receipt


def _receipt(number: int) -> Receipt:
    return Receipt(number, 2, 10, number, "d", "i", {}, (-float(number),), (1.0,), {"pairs": number})


def _judge_until(stop: int, seen: list[tuple[int, int, int]]) -> PrefixReceipts:
    def judge(receipt: Receipt, tally: Receipts) -> Look:
        seen.append((receipt.number, tally.truncated, tally.counts["pairs"]))
        decision = np.array([[[0 if receipt.number >= stop else 2]]])
        return Look(len(seen), 2, 2, 40, 40, ("local",), decision, decision == 2)

    return PrefixReceipts(judge)


@given(st.permutations(range(8)), st.integers(0, 7))
def test_the_stop_and_all_sums_are_the_same_in_whatever_order_shards_are_done(
    order: list[int], stop: int
) -> None:
    seen: list[tuple[int, int, int]] = []
    tally = _judge_until(stop, seen)
    for number in order:
        if not tally.stopped:
            tally.add(_receipt(number))
    sums = [sum(range(number + 1)) for number in range(stop + 1)]
    assert seen == [(number, total, total) for number, total in enumerate(sums)]
    assert tally.stopped
    assert tally.shards == stop + 1
    assert [receipt.number for receipt in tally.receipts] == [*range(stop + 1)]
    assert tally.low.tolist() == [-float(stop)]
    tally.check(8)


def test_a_run_that_never_stops_needs_all_its_shards() -> None:
    tally = _judge_until(99, [])
    for number in (0, 2):
        tally.add(_receipt(number))
    assert (tally.shards, tally.stopped) == (1, False)
    with pytest.raises(RuntimeError, match="3 shards were to be scored"):
        tally.check(3)
    tally.add(_receipt(1))
    tally.check(3)
