"""Sums over random groups: added in order and once, back from their file, and a subsample beside them."""

import io
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from headroles.errors import BadInput
from headroles.options.label import LabelOptions
from headroles.options.values import record_of
from headroles.records.example import Scores
from headroles.records.moments import ARRAYS, GROUPS, Moments, group_of, moments_of, unit_by_longest_text
from headroles.records.rules.rule import Rule
from headroles.shards.files import write_shard
from headroles.shards.moment_runs import read_subsample
from headroles.shards.moments import RunningSums, select_candidates, shard_contents, take_examples
from headroles.shards.work import Receipt, Task
from headroles.storage.moments import moments_bytes, parse_moments
from headroles.storage.places import MemoryPlace

RULES = (Rule("a", contrast="c"), Rule("b", pooled=True), Rule("c", role=False))


def scored(examples: int, seed: int = 0, units: Sequence[str] | None = None) -> Scores:
    """Scores of 3 columns and 2 x 3 heads with holes, chance values and cells that differ."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0.1, 0.2, (3, examples, 2, 3))
    values[0, rng.random(examples) < 0.2] = np.nan
    values[1, rng.random(examples) < 0.2, 1] = np.nan
    cells = rng.integers(0, 9, (3, examples)).astype(float)
    cells[2] = np.nan
    return Scores(
        sieves=("a", "b", "c"),
        examples=tuple(f"x/{n}" for n in range(examples)),
        units=tuple(f"u/{n}" for n in range(examples)) if units is None else tuple(units),
        tokens=rng.integers(4, 30, examples),
        cells=cells,
        values=values.astype(np.float32),
        null=np.stack([np.zeros(examples), rng.random(examples) / 9, np.full(examples, 0.5)]),
    )


def _cut(scores: Scores, size: int) -> list[Scores]:
    starts = range(0, len(scores.examples), size)
    return [
        take_examples(scores, np.arange(start, min(start + size, len(scores.examples)))) for start in starts
    ]


def _sums(scores: Scores, size: int) -> Moments:
    parts = enumerate(_cut(scores, size))
    each = (moments_of(part, RULES, number, f"digest {number}") for number, part in parts)
    return reduce(Moments.merged, each)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 90))
@settings(max_examples=15)
def test_sums_of_shards_are_those_of_all_their_examples(seed: int, size: int) -> None:
    scores = scored(80, seed)
    sums, whole = _sums(scores, size), moments_of(scores, RULES, 0)
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(sums, name), getattr(whole, name), rtol=1e-12, atol=1e-12)
    assert (sums.start, sums.stop, sums.examples) == (0, -(-80 // size), 80)
    x = scores.values.astype(float) - scores.null[:, :, None, None]
    weight = np.ones_like(x)
    weight[1] = scores.cells[1][:, None, None]
    weight[np.isnan(x)] = 0
    np.testing.assert_allclose(sums.weight.sum(axis=1), weight.sum(axis=1))
    np.testing.assert_allclose(sums.total.sum(axis=1), np.nansum(weight * x, axis=1), atol=1e-12)
    np.testing.assert_allclose(sums.square, np.nansum(weight * x * x, axis=1), atol=1e-12)
    assert (sums.count == (weight > 0).sum(axis=1)).all()
    assert (sums.spoke == (weight > 0).any(axis=(2, 3)).sum(axis=1)).all()
    assert sums.tokens == scores.tokens.sum()
    np.testing.assert_allclose(sums.cells, np.nansum(scores.cells, axis=1))
    np.testing.assert_allclose(sums.nulls, scores.null.sum(axis=1))


def test_a_shard_is_added_once_and_in_its_order() -> None:
    parts = [moments_of(part, RULES, number) for number, part in enumerate(_cut(scored(40), 10))]
    two = parts[0].merged(parts[1])
    for wrong in (parts[1], parts[0], two, parts[3]):
        with pytest.raises(BadInput, match=r"each once, so shard 2 comes next, but got [013]"):
            two.merged(wrong)
    other = moments_of(replace(scored(10), sieves=("a", "b", "d")), RULES, 2)
    with pytest.raises(BadInput, match="if their sieves and heads are equal"):
        two.merged(other)
    with pytest.raises(BadInput, match="at least one shard"):
        replace(two, stop=0)


def test_heads_picked_from_columns_have_the_sums_of_scores_of_their_own() -> None:
    scores = scored(70)
    columns, places = [2, 0, 1, 0], [5, 0, 3, 4]
    flat = scores.values.reshape(3, 70, 6)
    alone = replace(
        scores,
        sieves=("p", "q", "r", "s"),
        cells=scores.cells[columns],
        null=scores.null[columns],
        values=np.stack([flat[k, :, head] for k, head in zip(columns, places, strict=True)])[..., None, None],
    )
    rules = [replace(RULES[k], sieve=name) for k, name in zip(columns, alone.sieves, strict=True)]
    picked, wanted = (
        moments_of(scores, RULES, 0).picked(alone.sieves, columns, places),
        moments_of(alone, rules, 0),
    )
    assert (picked.sieves, picked.layers, picked.heads, picked.examples) == (alone.sieves, 1, 1, 70)
    for name in {*ARRAYS} - {"spoke", "lowest", "highest"}:  # of the column, whichever of its heads spoke
        np.testing.assert_allclose(getattr(picked, name), getattr(wanted, name), rtol=1e-12, atol=1e-12)


def test_units_fall_into_groups_evenly_and_always_into_the_same() -> None:
    groups = [group_of(f"document {n}") for n in range(20_000)]
    counts = np.bincount(groups, minlength=GROUPS)
    assert len(counts) == GROUPS
    assert reference.chisquare(counts).pvalue > 1e-3
    assert (group_of("a"), group_of("b")) == (81, 166)  # in every version, or old sums could not be added to


def test_units_seen_in_passing_are_documents_and_identical_texts() -> None:
    assert unit_by_longest_text("wiki/1", ["a", "b"]) == "wiki/1"
    long, short = "It rains in Spain.", "Why?"
    same = [[long], [short, long], [long, short], [long, "How?"]]
    assert len({unit_by_longest_text(None, texts) for texts in same}) == 1
    assert unit_by_longest_text(None, [short]) != unit_by_longest_text(None, [long])
    assert long not in unit_by_longest_text(None, [long])
    assert unit_by_longest_text(None, ["ab", "cd"]) == unit_by_longest_text(None, ["cd", "ab"])


@pytest.mark.parametrize("size", [7, 100])
def test_moments_come_back_from_their_file_as_they_were(size: int) -> None:
    sums = _sums(scored(100), size)
    content = moments_bytes(sums)
    back = parse_moments(content)
    assert moments_bytes(back) == content == moments_bytes(_sums(scored(100), size))
    assert (back.sieves, back.start, back.stop, back.inputs) == (sums.sieves, 0, sums.stop, sums.inputs)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(back, name), getattr(sums, name))
        assert getattr(back, name).dtype == getattr(sums, name).dtype
        with pytest.raises(ValueError, match="read-only"):
            getattr(back, name)[:] = 0


@pytest.mark.parametrize(("size", "least", "most"), [(256, 2.4, 2.8), (1024, 0.95, 1.1), (4096, 0.2, 0.3)])
def test_a_file_of_sums_holds_the_groups_that_units_fall_into_only(
    size: int, least: float, most: float
) -> None:
    scores = replace(scored(size), values=np.ones((3, size, 12, 12), dtype=np.float32))
    assert least < len(moments_bytes(moments_of(scores, RULES, 0))) / scores.values.nbytes < most


def _changed(**arrays: Any) -> bytes:
    with np.load(io.BytesIO(moments_bytes(_sums(scored(50), 50)))) as found:
        kept = {name: found[name] for name in found.files} | arrays
    content = io.BytesIO()
    np.savez(content, **{name: each for name, each in kept.items() if each is not None})
    return content.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 torn",
        moments_bytes(_sums(scored(50), 50))[:-40],
        _changed(total=None),
        _changed(total=np.zeros(3)),
        _changed(count=np.zeros((3, 2, 3))),
        _changed(count=np.full((3, 2, 3), -1)),
        _changed(square=np.full((3, 2, 3), np.nan)),
        _changed(groups=np.zeros(5, dtype=np.int64)),
        _changed(groups=np.array([GROUPS])),
        _changed(numbers=np.array([0, 1])),
        _changed(numbers=np.array([3, 3, 9, 9])),
        _changed(sieves=np.array(["a", "b"])),
        _changed(sieves=np.array([{"a"}], dtype=object)),
    ],
)
def test_damaged_moments_are_told_and_nothing_in_them_is_run(content: bytes) -> None:
    with pytest.raises((ValueError, KeyError, BadInput)):
        parse_moments(content)


def _options(**more: Any) -> LabelOptions:
    return record_of(LabelOptions, **{"task": "QNLI", "keep": 30, "shard_size": 20, "seed": 3} | more)


def _write(place: MemoryPlace, scores: Scores, number: int, options: LabelOptions) -> None:
    """Leave what a worker leaves of a shard."""
    contents = shard_contents(scores, RULES, Task(number, (), (), f"digest {number}"), options)
    none = (None,) * len(RULES)
    write_shard(
        place, Receipt(number, len(scores.examples), 0, 0, f"digest {number}", "", {}, none, none), contents
    )


def _done(
    scores: Scores, order: Sequence[int], options: LabelOptions, place: MemoryPlace | None = None
) -> tuple[Moments, Scores, MemoryPlace]:
    """Shards that are done in some order; the sums and the subsample of all of them."""
    place = place or MemoryPlace()
    shards = _cut(scores, options.shard_size)
    adding = RunningSums(place)
    for number in order:
        _write(place, shards[number], number, options)
        adding.done(number)
    sums = adding.finish(len(shards))
    return sums, read_subsample(place, len(shards), scores.sieves, (2, 3), options), place


def test_sums_and_subsample_are_the_same_bits_in_whatever_order_shards_are_done() -> None:
    scores, options = scored(800), _options()
    rng = np.random.default_rng(0)
    first, sample, place = _done(scores, range(40), options)
    wanted = select_candidates(scores.examples, seed=3, before=0, size=30)
    assert sample.examples == tuple(np.array(scores.examples)[wanted])
    for name in ("values", "cells", "null", "tokens"):
        np.testing.assert_array_equal(getattr(sample, name), getattr(take_examples(scores, wanted), name))
    assert not [name for name in place.names() if name.endswith(".npz") and name != "moments.npz"]
    for _ in range(3):
        sums, other, _ = _done(scores, rng.permutation(40).tolist(), options)
        assert moments_bytes(sums) == moments_bytes(first)
        assert other.examples == sample.examples
    assert moments_bytes(first) == moments_bytes(_sums(scores, 20))


def test_a_run_that_is_taken_up_again_adds_no_shard_twice() -> None:
    scores, options = scored(800), _options()
    whole, _, _ = _done(scores, range(40), options)
    shards, place = _cut(scores, 20), MemoryPlace()

    def write(number: int) -> None:
        _write(place, shards[number], number, options)

    first = RunningSums(place)
    for number in range(25):
        write(number)
        first.done(number)
    assert first.stop == 16  # the rest waits, and is still there
    again = RunningSums(place)
    for number in range(40):
        again.seen(Task(number, (), (), f"digest {number}"))
        if number in (3, 12):  # a file was damaged, and the shard done again
            write(number)
        if number >= 25:
            write(number)
        again.done(number)
    assert moments_bytes(again.finish(40)) == moments_bytes(whole)


def test_sums_of_other_inputs_are_dropped_with_a_sentence() -> None:
    scores, options = scored(800), _options()
    *_, place = _done(scores, range(40), options)
    adding = RunningSums(place)
    for number in range(39):
        adding.seen(Task(number, (), (), "another" if number == 7 else f"digest {number}"))
    with pytest.raises(BadInput, match="inputs of a run must not change, but they have since it began"):
        adding.seen(Task(39, (), (), "digest 39"))
    assert RunningSums(place).stop == 0
    *_, place = _done(scores, range(40), options)
    with pytest.raises(BadInput, match="inputs of a run must not change"):
        RunningSums(place).finish(39)


def test_sums_that_are_damaged_are_as_none() -> None:
    *_, place = _done(scored(800), range(40), _options())
    place.write("moments.npz", place.read("moments.npz")[:-9])
    adding = RunningSums(place)
    assert adding.stop == 0
    assert not adding.gone("shards/00003.npz")
