"""Baselines: halves of the units, chosen on the other half than they are scored on, shares with intervals."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from headroles.errors import BadInput
from headroles.records.probes import BaselineCounts
from headroles.stats.probes.baselines import (
    baseline_rows,
    best_rival,
    cross_fitted_baselines,
    selection_half,
    within_0_and_1,
)

Jackknife = Callable[[Any, Any], tuple[float, float, int]]

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=25)


def _made(seed: int, documents: int = 13, rows: int = 2) -> tuple[BaselineCounts, list[str]]:
    """Four baselines, of which the first three are rivals and the last says nothing of the last row."""
    rng = np.random.default_rng(seed)
    units = [f"d{each}" for each in rng.permutation(np.repeat(np.arange(documents), 3))]
    items = rng.integers(0, 7, (rows, len(units)))
    hits = rng.binomial(items[:, :, None], rng.uniform(0.2, 0.6, 4))
    hits[-1, :, 3] = -1
    names, rivals = ("-1", "+1", "nearest", "rules"), ((0, 1, 2),) * rows
    return BaselineCounts(tuple(f"r{k}" for k in range(rows)), names, rivals, hits, items, items * 0), units


@quick
@given(st.integers(4, 40), seeds)
def test_halves_are_of_whole_units_and_the_odd_one_is_tested(documents: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    units = [f"d{each}" for each in [*range(documents), *rng.integers(0, documents, 30)]]
    chosen = selection_half(units, seed)
    sides = {unit: {bool(c) for u, c in zip(units, chosen, strict=True) if u == unit} for unit in set(units)}
    assert all(len(each) == 1 for each in sides.values())
    count = Counter(next(iter(each)) for each in sides.values())
    assert (count[True], count[False]) == (documents // 2, documents - documents // 2)
    np.testing.assert_array_equal(chosen, selection_half(units, seed))


def test_halves_are_drawn_evenly_and_by_the_seed() -> None:
    units = [f"d{each}" for each in range(10)]
    drawn = np.stack([selection_half(units, seed) for seed in range(400)])
    assert len(np.unique(drawn, axis=0)) > 150
    assert (np.abs(drawn.mean(axis=0) - 0.5) < 0.1).all()


@pytest.mark.parametrize("units", [[], ["a"], ["a", "b", "c"], ["a", "b", "c", "a", "b"]])
def test_fewer_than_four_units_have_no_halves(units: list[str]) -> None:
    with pytest.raises(BadInput, match=f"at least 4 units, but got {len(set(units))}; give more documents"):
        selection_half(units, 0)
    assert selection_half([*"abcd"], 0).sum() == 2


@quick
@given(seeds)
def test_each_half_is_scored_by_the_rival_that_is_best_on_the_other(seed: int) -> None:
    tallies, units = _made(seed)
    chosen = selection_half(units, seed)
    null = cross_fitted_baselines(tallies, chosen)
    for row in range(2):
        best = {}
        for half in (True, False):
            sums = [
                sum(int(tallies.hits[row, each, rival]) for each in range(len(units)) if chosen[each] == half)
                for rival in range(3)
            ]
            best[half] = sums.index(max(sums))
        for each, half in enumerate(chosen.tolist()):
            items = tallies.items[row, each]
            if items:
                assert null[row, each] == tallies.hits[row, each, best[not half]] / items
            else:
                assert np.isnan(null[row, each])


@quick
@given(seeds)
def test_no_answer_of_a_half_changes_which_rival_it_is_scored_by(seed: int) -> None:
    tallies, units = _made(seed)
    chosen = selection_half(units, seed)
    rng = np.random.default_rng(seed + 1)
    hits = tallies.hits.copy()
    hits[:, chosen] = rng.binomial(tallies.items[:, chosen, None], [0.9, 0.1, 0.1, 0.1])
    other = BaselineCounts(tallies.rows, tallies.baselines, tallies.rivals, hits, tallies.items, tallies.lost)
    after = cross_fitted_baselines(other, chosen)
    for row in range(2):
        mine = best_rival(tallies, row, ~chosen)
        assert mine is not None
        assert best_rival(other, row, ~chosen) == mine
        items = tallies.items[row, chosen]
        known = items > 0
        np.testing.assert_array_equal(
            after[row, chosen][known], hits[row, chosen, mine][known] / items[known]
        )
        assert best_rival(other, row, chosen) == 0


def test_only_rivals_are_chosen_and_the_first_of_equals() -> None:
    hits = np.array([[[1, 2, 2, 9], [1, 2, 2, 9]]])
    items = np.full((1, 2), 9)
    where = np.ones(2, dtype=bool)
    tallies = BaselineCounts(("r",), ("a", "b", "c", "d"), ((2, 1, 0),), hits, items, items * 0)
    assert best_rival(tallies, 0, where) == 2
    assert (
        best_rival(BaselineCounts(("r",), tallies.baselines, ((),), hits, items, items * 0), 0, where) is None
    )
    assert (
        best_rival(BaselineCounts(("r",), tallies.baselines, ((0,),), hits, items * 0, items), 0, where)
        is None
    )


def test_a_half_without_items_leaves_the_other_without_chance_values() -> None:
    tallies, units = _made(0)
    chosen = selection_half(units, 0)
    items, hits = tallies.items.copy(), tallies.hits.copy()
    items[0, chosen], hits[0, chosen] = 0, 0
    null = cross_fitted_baselines(
        BaselineCounts(tallies.rows, tallies.baselines, tallies.rivals, hits, items, tallies.lost), chosen
    )
    assert np.isnan(null[0]).all()
    assert not np.isnan(null[1][items[1] > 0]).any()


@quick
@given(seed=seeds)
def test_baselines_are_plain_shares_with_intervals_of_the_jackknife_over_units(
    seed: int, jackknifed: Jackknife
) -> None:
    tallies, units = _made(seed)
    found = baseline_rows(tallies, units)
    assert [(each.row, each.baseline) for each in found] == [
        ("r0", "-1"), ("r0", "+1"), ("r0", "nearest"), ("r0", "rules"),
        ("r1", "-1"), ("r1", "+1"), ("r1", "nearest"),
    ]  # fmt: skip
    for each in found:
        row, place = tallies.rows.index(each.row), tallies.baselines.index(each.baseline)
        right, groups = [], []
        for example, unit in enumerate(units):
            hits, items = int(tallies.hits[row, example, place]), int(tallies.items[row, example])
            right += [1.0] * hits + [0.0] * (items - hits)
            groups += [int(unit[1:])] * items
        assert each.accuracy == pytest.approx(np.mean(right))
        assert (each.items, each.units) == (len(right), len(set(groups)))
        mean, error, count = jackknifed(right, groups)
        reach = stats.t.isf(0.025, count - 1) * error
        ends = np.clip([mean - reach, mean + reach], 0, 1)
        assert (each.low, each.high) == pytest.approx(tuple(ends), abs=1e-9)


def test_a_baseline_without_items_is_not_known() -> None:
    tallies, units = _made(1)
    items, hits = tallies.items.copy(), tallies.hits.copy()
    items[0], hits[0] = 0, 0
    empty = BaselineCounts(tallies.rows, tallies.baselines, tallies.rivals, hits, items, tallies.lost)
    for each in baseline_rows(empty, units)[:4]:
        assert (each.items, each.units) == (0, 0)
        assert np.isnan([each.accuracy, each.low, each.high]).all()


def test_ends_of_intervals_stay_shares() -> None:
    assert [within_0_and_1(each) for each in (-0.2, 0.3, 1.4)] == [0.0, 0.3, 1.0]
    assert np.isnan(within_0_and_1(float("nan")))
