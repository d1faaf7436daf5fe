"""Swaps of two runs within units: the same labels as from swapped scores, and an exact level."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from headroles.records.comparison import RoleChange
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.columns import Column, Columns
from headroles.stats.comparing.swaps import BLOCK, compare_by_swaps, swap_blocks, swapped_labels
from headroles.stats.correction import adjust
from headroles.stats.engine import judge
from headroles.stats.relabel import Grid

GRID = Grid(3, 4)
RULES = (
    Rule("local", low=-1.0, high=1.0),
    Rule("block", contrast="block:matched", low=-1.0, high=1.0),
    Rule("block:matched", margin=0.02, role=False, low=-2.0, high=2.0),
)


RUNS = 150


def scores(seed: int, units: int = 40, *, shift: float = 0.0, silent: bool = False) -> Scores:
    """Heads below, near and beyond the margin, on two examples a unit in the first five units."""
    chance = np.random.default_rng(seed)
    examples = units + 5
    level = np.linspace(0.0, 0.3, GRID.layers * GRID.heads).reshape(GRID.layers, GRID.heads)
    values = level + shift + 0.2 * chance.normal(size=(3, examples, GRID.layers, GRID.heads))
    values[2] *= 0.3
    if silent:
        values[:, ::3, :, 1] = np.nan
    keys = tuple(f"e{k}" for k in range(examples))
    return Scores(
        sieves=tuple(rule.sieve for rule in RULES),
        examples=keys,
        units=tuple(f"u{k % units}" for k in range(examples)),
        tokens=np.full(examples, 9),
        cells=np.full((3, examples), 5.0),
        values=values.astype(np.float32),
        null=np.zeros((3, examples)),
    )


def columns(of: Scores) -> list[Column]:
    return list(Columns(of, RULES))


def compared(
    one: Scores, other: Scores, decision: Decision | None = None, swaps: int = 199
) -> list[RoleChange]:
    return compare_by_swaps(columns(one), columns(other), GRID, decision or Decision(), swaps)


def roles(of: Scores, decision: Decision) -> np.ndarray:
    found = judge(of, RULES, decision)
    held: np.ndarray = found.decision[[rule.role for rule in RULES]].reshape(2, -1) == 0
    return held


def exchanged(one: Scores, other: Scores, units: Sequence[str]) -> tuple[Scores, Scores]:
    """Both runs with the scores of some units in each other's place."""
    mine = np.array([unit in units for unit in one.units])[None, :, None, None]
    return (
        replace(one, values=np.where(mine, other.values, one.values)),
        replace(other, values=np.where(mine, one.values, other.values)),
    )


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("test", ["t-skew", "t", "wilcoxon", "sign"])
def test_labels_under_a_swap_are_those_of_swapped_scores(test: str, silent: bool) -> None:
    one, other = scores(0, silent=silent), scores(1, silent=silent, shift=0.05)
    decision = Decision(test=test)
    stacked = [
        replace(a, values=np.concatenate([a.values, b.values]))
        for a, b in zip(columns(one), columns(other), strict=True)
    ]
    swap = np.concatenate([np.zeros((1, 40)), *swap_blocks(40, 4, 3)])
    before, after = swapped_labels(stacked, swap, GRID, decision)
    assert before.any()
    assert not before.all()
    for draw, row in enumerate(swap):
        chosen = [f"u{k}" for k in np.flatnonzero(row)]
        for held, side in zip((before, after), exchanged(one, other, chosen), strict=True):
            np.testing.assert_array_equal(held[:, draw], roles(side, decision))


def test_counts_are_those_of_both_labellings() -> None:
    one, other = scores(0), scores(1, shift=0.05)
    rows = compared(one, other)
    held_a, held_b = roles(one, Decision()), roles(other, Decision())
    assert [row.sieve for row in rows] == ["local", "block", ""]
    for k, row in enumerate(rows[:2]):
        assert (row.labels_a, row.labels_b) == (held_a[k].sum(), held_b[k].sum())
        assert row.gained == (held_b[k] & ~held_a[k]).sum()
        assert row.lost == (held_a[k] & ~held_b[k]).sum()
        assert row.changed == row.gained + row.lost
    whole = rows[-1]
    assert (whole.gained, whole.lost) == (sum(r.gained for r in rows[:2]), sum(r.lost for r in rows[:2]))
    assert whole.changed_mean == pytest.approx(sum(row.changed_mean for row in rows[:2]))
    assert whole.changed_mean == pytest.approx(whole.gained_mean + whole.lost_mean)
    assert whole.changed_low <= whole.changed_mean <= whole.changed_high
    assert np.isnan(whole.q)
    assert [row.q for row in rows[:2]] == adjust(np.array([row.p for row in rows[:2]]), "fdr_bh").tolist()


def test_a_run_against_itself_moves_nothing_under_any_swap() -> None:
    own = scores(2)
    for row in compared(own, own):
        assert (row.changed, row.changed_mean, row.changed_high, row.p) == (0, 0, 0, 1)


def test_a_planted_change_is_larger_than_every_swap() -> None:
    one, other = scores(3, units=80), scores(4, units=80, shift=0.2)
    whole = compared(one, other)[-1]
    assert whole.gained > 5
    assert whole.p == pytest.approx(1 / 200)


def test_exchangeable_runs_are_told_apart_in_at_most_alpha_of_cases() -> None:
    """Runs that differ unit by unit, in no direction: the level is exact, at few units too."""
    found = []
    for seed in range(RUNS):
        chance = np.random.default_rng(seed)
        pair = scores(2 * seed, 12), scores(2 * seed + 1, 12, shift=0.1 * chance.normal())
        mixed = exchanged(*pair, [f"u{k}" for k in np.flatnonzero(chance.random(12) < 0.5)])
        found.append(compared(*mixed, Decision(seed=seed), swaps=39)[-1].p)
    rates = [(np.array(found) <= level).mean() for level in (0.05, 0.2)]
    assert rates[0] <= 0.05 + 3 * (0.05 * 0.95 / RUNS) ** 0.5
    assert rates[1] <= 0.2 + 3 * (0.2 * 0.8 / RUNS) ** 0.5


def test_equal_seeds_give_equal_swaps_however_many_are_made_at_once() -> None:
    one, other = scores(5), scores(6)
    assert repr(compared(one, other)) == repr(compared(one, other))
    assert compared(one, other)[-1].changed_mean != compared(one, other, Decision(seed=1))[-1].changed_mean
    drawn = [len(block) for block in swap_blocks(7, 2 * BLOCK + 3, 0)]
    assert drawn == [BLOCK, BLOCK, 3]
    values = np.concatenate(list(swap_blocks(7, BLOCK + 3, 0)))
    assert set(np.unique(values)) == {0.0, 1.0}


def test_without_swaps_there_is_no_reference() -> None:
    rows = compared(scores(7), scores(8), swaps=0)
    assert all(np.isnan(row.p) and np.isnan(row.changed_mean) for row in rows)
    assert rows[-1].labels_a == roles(scores(7), Decision()).sum()


def test_tests_that_resample_are_stood_in_for() -> None:
    one, other = scores(9), scores(10)
    stood = compared(one, other, Decision(test="bootstrap-t", correction="maxT"))
    plain = compared(one, other, Decision(test="t-skew", correction="holm"))
    assert repr(stood) == repr(plain)
