"""Heads with several roles: counted by hand, compared over choices of layers, simulated over inputs."""

from itertools import combinations
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.records.assessment import MIDDLE, SeveralRoles, count_extreme_p
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.assess import assess
from headroles.stats.assessment.several import FRESH, central_range, fresh_roles, middle_layers, several_roles
from headroles.stats.engine import evidence_columns, judge
from headroles.stats.relabel import Grid

NAMES = ("delimiter", "delimiter:cls", "local")


def _made(rng: np.random.Generator, means: np.ndarray, units: int) -> Scores:
    """Scores with a spread of 0.1 around the means of three roles; half of the variance is of the unit."""
    shape = (len(means), units, *means.shape[1:])
    noise = np.sqrt(0.5) * (rng.normal(size=(1, units, 1, 1)) + rng.normal(size=shape))
    names = tuple(f"x{number}" for number in range(units))
    return Scores(
        sieves=tuple(f"s{number}" for number in range(len(means))),
        examples=names,
        units=names,
        tokens=np.full(units, 12),
        cells=np.full(shape[:2], 5.0),
        values=(means[:, None] + 0.1 * noise).astype(np.float32),
        null=np.zeros(shape[:2]),
    )


def _rows(scores: Scores) -> dict[str, SeveralRoles]:
    """The rows of a sample by scope."""
    rules = [Rule(name, low=-9.0, high=9.0) for name in scores.sieves]
    grid, decision = Grid(scores.layers, scores.heads), Decision()
    held = judge(scores, rules, decision).decision.reshape(len(rules), -1) == 0
    fresh = fresh_roles(evidence_columns(scores, rules, decision, None), grid, decision)
    return {row.scope: row for row in several_roles(scores.sieves, held, fresh, grid, 0)}


def test_a_whole_is_not_counted_beside_its_part() -> None:
    held = np.zeros((3, 6), dtype=bool)
    held[0, :3] = held[1, 0] = held[2, 1] = True  # heads of the first layer: part, whole and local, whole
    rows = several_roles(NAMES, held, held[:, None].repeat(9, 1), Grid(2, 3), 0)
    assert [(row.scope, row.heads) for row in rows] == [("all", 6), ("layer 0", 3), ("layer 1", 3)]
    assert rows[1].mean == pytest.approx(4 / 3)
    assert rows[1].several == pytest.approx(1 / 3)
    assert (rows[2].mean, rows[2].several) == (0, 0)
    assert (rows[1].mean_low, rows[1].mean_high) == (rows[1].mean,) * 2
    assert isnan(rows[1].p)


@pytest.mark.parametrize(("test", "told"), [("betting", False), ("t-skew", True)])
def test_runs_that_bet_have_no_fresh_samples_of_several_roles(test: str, told: bool) -> None:
    scores = _made(np.random.default_rng(3), np.full((2, 3, 4), 0.6), 60)
    rules = [
        Rule(name, margin=0.1, low=-9.0, high=9.0, stated_low=-9.0, stated_high=9.0) for name in scores.sieves
    ]
    decision = Decision(test=test)
    findings = judge(scores, rules, decision)
    assert bool(assess(scores, rules, decision, findings).several) == told


@given(st.lists(st.integers(0, 4), min_size=3, max_size=9), st.integers(0, 99))
def test_the_reference_is_the_share_of_all_choices_of_as_many_layers(several: list[int], seed: int) -> None:
    layers, heads = len(several), 4
    held = np.zeros((2, layers, heads), dtype=bool)
    for layer, count in enumerate(several):
        held[:, layer, :count] = True
    row = several_roles(("a", "b"), held.reshape(2, -1), held.reshape(2, 1, -1), Grid(layers, heads), seed)[
        -1
    ]
    middle = middle_layers(layers)
    own = sum(np.array(several)[middle])
    sums = [sum(chosen) for chosen in combinations(several, int(middle.sum()))]
    assert row.scope == MIDDLE
    assert row.reference == pytest.approx(np.mean([total >= own for total in sums]))
    shares = np.array(several) / heads
    assert row.several == pytest.approx(shares[middle].mean() - shares[~middle].mean())
    assert row.p == (1.0 if row.several <= 0 else 0.5)


def test_the_middle_third_is_that_of_relative_depth() -> None:
    assert [int(middle_layers(size).sum()) for size in (3, 6, 7, 12, 24)] == [1, 2, 3, 4, 8]
    assert np.flatnonzero(middle_layers(12)).tolist() == [4, 5, 6, 7]


def test_fresh_samples_differ_with_twice_the_variance_of_a_mean() -> None:
    rng = np.random.default_rng(0)
    scores = _made(rng, np.full((1, 1, 400), 0.1), 80)
    rules = [Rule("s0", low=-9.0, high=9.0)]
    decision = Decision(correction="none", alpha=0.5)
    drawn = fresh_roles(evidence_columns(scores, rules, decision, None), Grid(1, 400), decision)
    assert drawn.shape == (1, FRESH, 400)
    means = scores.values[0, :, 0].mean(axis=0)
    errors = scores.values[0, :, 0].std(axis=0, ddof=1) / np.sqrt(80)
    from scipy.stats import norm

    expected = norm.cdf((means - 0.1) / errors / np.sqrt(2))  # alpha 0.5: a role where the mean is beyond θ
    assert np.abs(drawn[0].mean(axis=0) - expected).mean() < 0.03


def test_ranges_take_the_outermost_values_that_were_drawn() -> None:
    assert central_range(np.repeat([0.0, 1.0], [3, 97])) == (0.0, 1.0)
    assert central_range(np.repeat([0.0, 1.0], [2, 98])) == (1.0, 1.0)


@given(st.lists(st.floats(0, 1), max_size=30))
def test_p_values_are_counted_near_their_ends(p: list[float]) -> None:
    counts = count_extreme_p(np.array([*p, np.nan]))
    assert counts.tests == len(p)
    assert counts.near == sum(value < 0.05 or value > 0.95 for value in p)
    assert counts.nearer == sum(value < 0.01 or value > 0.99 for value in p) <= counts.near
    assert isnan(counts.share) if not p else counts.share == counts.near / len(p)


@pytest.mark.slow
def test_fresh_samples_fall_within_the_intervals_and_no_surplus_is_rarely_called_one() -> None:
    rng = np.random.default_rng(4)
    hits: dict[str, list[bool]] = {}
    wrong = 0
    for _ in range(120):
        means = np.repeat(0.1 + rng.normal(0, 0.05, size=(3, 1, 4)), 6, axis=1)  # no layer is special
        first, second = (_rows(_made(rng, means, 60)) for _ in range(2))
        for scope, row in first.items():
            for name in ("mean", "several"):
                low, high = getattr(row, f"{name}_low"), getattr(row, f"{name}_high")
                inside = low - 1e-12 <= getattr(second[scope], name) <= high + 1e-12
                hits.setdefault(f"{scope} {name}", []).append(inside)
        wrong += first[MIDDLE].p <= 0.05
    shares = {scope: np.mean(inside) for scope, inside in hits.items()}
    assert min(shares.values()) > 0.84  # the whole model is the hardest: 0.90 in longer simulations
    assert np.mean(list(shares.values())) > 0.93
    assert wrong <= 12  # 5 % and three standard errors
