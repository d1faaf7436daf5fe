"""Inputs in random order of their units, for runs that may stop."""

from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.inputs.corpora import ListCorpus, first_part
from headroles.inputs.order import ShuffledUnits
from headroles.records.passage import Passage
from headroles.shards.survey import count_inputs, cut_into_tasks

GROUPS = st.lists(st.none() | st.sampled_from("abcdef"), min_size=1, max_size=40)


def _corpus(groups: list[str | None]) -> ListCorpus:
    passages = [Passage(f"x/{place}", (f"text {place}",), group) for place, group in enumerate(groups)]
    return ListCorpus(passages, {"kind": "file", "name": "x.tsv", "sha256": "of all inputs"})


@given(GROUPS, st.integers(0, 5))
def test_units_stay_together_and_inputs_of_a_unit_in_their_order(groups: list[str | None], seed: int) -> None:
    shuffled = ShuffledUnits(_corpus(groups), seed, 100)
    keys = [passage.key for passage in shuffled]
    assert sorted(keys) == sorted(passage.key for passage in _corpus(groups))
    units = [name for name, _ in groupby(shuffled.units or ())]
    assert len(units) == len(set(units))
    for name in units:
        own = [key for key, unit in zip(keys, shuffled.units or (), strict=True) if unit == name]
        assert own == sorted(own, key=lambda key: int(key[2:]))


@given(GROUPS, st.integers(1, 7))
def test_shards_hold_whole_units_and_all_inputs(groups: list[str | None], per_shard: int) -> None:
    shuffled = ShuffledUnits(_corpus(groups), 0, 100)
    survey = count_inputs(shuffled, 100, False)
    tasks = [*cut_into_tasks(shuffled, survey, 256, per_shard)]
    assert sum(len(task.passages) for task in tasks) == len(groups)
    counts = [len(set(task.units)) for task in tasks]
    assert counts[:-1] == [per_shard] * (len(tasks) - 1)
    assert 0 < counts[-1] <= per_shard
    assert not [name for name, times in Counter(u for t in tasks for u in set(t.units)).items() if times > 1]


def test_the_order_depends_on_the_seed_and_on_nothing_else() -> None:
    forward = [Passage(f"x/{place}", (f"text {place}",)) for place in range(50)]
    orders = [
        [passage.key for passage in ShuffledUnits(ListCorpus(passages, {}), seed, 50)]
        for passages, seed in ((forward, 0), (forward[::-1], 0), (forward, 1))
    ]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != [passage.key for passage in forward]


def test_every_unit_comes_first_about_equally_often() -> None:
    corpus = ListCorpus([Passage(f"x/{place}", (f"text {place}",)) for place in range(4)], {})
    first = Counter(next(iter(ShuffledUnits(corpus, seed, 4))).key for seed in range(2000))
    chi = sum((count - 500) ** 2 / 500 for count in first.values())
    assert len(first) == 4
    assert chi < 16.27  # exceeded once in a thousand choices of the hash


def test_the_first_inputs_are_a_corpus_of_their_own_without_the_digest_of_all() -> None:
    shuffled = ShuffledUnits(_corpus([*"aabbcc"]), 3, 6)
    read = first_part(shuffled, 4)
    assert [passage.key for passage in read] == [passage.key for passage in shuffled][:4]
    assert read.units == (shuffled.units or [])[:4]
    assert read.source == {"kind": "file", "name": "x.tsv"}


def test_more_inputs_than_are_kept_are_refused() -> None:
    assert len([*ShuffledUnits(_corpus([None] * 5), 0, 5)]) == 5
    with pytest.raises(BadInput, match=r"there are more than --keep 4; give --limit 4, or a larger --keep"):
        ShuffledUnits(_corpus([None] * 5), 0, 4)
