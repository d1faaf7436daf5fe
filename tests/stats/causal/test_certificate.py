"""The certificate of removed heads: p, intervals, the sequence, and how often the bound is violated."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headroles.records.causal.pruning import FEW_UNITS, NOT_SHOWN, NOT_TESTED, WITHIN
from headroles.stats.causal.certificate import certify, decide_set, measure_set, small_p

Draw = Callable[[np.random.Generator, int], np.ndarray]
CENTRED: dict[str, Draw] = {
    "normal": lambda chance, units: chance.normal(0, 1, units),
    "skewed": lambda chance, units: chance.lognormal(0, 1, units) - np.exp(0.5),
    "very skewed": lambda chance, units: chance.lognormal(0, 1.5, units) - np.exp(1.125),
    "heavy tails": lambda chance, units: chance.standard_t(3, units),
    "a tenth is hurt": lambda chance, units: (
        chance.normal(0, 0.3, units)
        + (chance.random(units) < 0.1) * chance.lognormal(0, 1, units)
        - 0.1 * np.exp(0.5)
    ),
}
"""Damages of mean 0, in units of their own."""


@given(st.integers(0, 10**6), st.floats(0.0, 0.5))
def test_p_is_that_of_the_skewness_corrected_t_of_scipy_parts(seed: int, bound: float) -> None:
    chance = np.random.default_rng(seed)
    change, clean = chance.exponential(0.1, 70), chance.uniform(0.5, 2.0, 70)
    excess = change - bound * clean
    plain = stats.ttest_1samp(excess, 0.0).statistic
    skew, root = stats.skew(excess), np.sqrt(70)
    statistic = plain + skew * plain**2 / (3 * root) + skew**2 * plain**3 / (27 * 70) + skew / (6 * root)
    expected = stats.t.cdf(statistic, 69)
    assert small_p(change, clean, bound, float("nan")) == pytest.approx(expected, rel=1e-9)


@given(st.integers(0, 10**6))
def test_the_upper_end_is_the_smallest_bound_that_passes(seed: int) -> None:
    chance = np.random.default_rng(seed)
    change, clean = chance.normal(0.02, 0.1, 80), chance.uniform(0.5, 2.0, 80)
    step = measure_set(2, change, clean, 0.05, 0.05)
    assert step.low < step.mean < step.upper < step.high
    nan = float("nan")
    assert (
        small_p(change, clean, step.upper + 1e-6, nan) < 0.05 < small_p(change, clean, step.upper - 1e-6, nan)
    )
    assert (step.decision == WITHIN) == (step.upper < 0.05)


def test_where_the_clean_loss_is_one_the_interval_is_that_of_the_damage() -> None:
    chance = np.random.default_rng(3)
    symmetric = chance.normal(0, 1, 60)
    symmetric = np.concatenate([symmetric, -symmetric]) + 0.3
    step = measure_set(1, symmetric, np.ones(120), 1.0, 0.05)
    low, high = stats.ttest_1samp(symmetric, 0.0).confidence_interval(0.95)
    assert (step.low, step.high) == pytest.approx((low, high), abs=1e-9)
    one_sided = stats.ttest_1samp(symmetric, 0.0, alternative="less").confidence_interval(0.95)
    assert step.upper == pytest.approx(one_sided.high, abs=1e-9)


def test_sets_after_the_first_that_fails_are_not_tested() -> None:
    change = np.random.default_rng(0).normal(0, 0.01, (4, 60)) + np.array([[0.0], [0.2], [0.0], [0.0]])
    steps = certify([1, 2, 4, 8], change, np.ones(60), 0.05, 0.05)
    assert [step.decision for step in steps] == [WITHIN, NOT_SHOWN, NOT_TESTED, NOT_TESTED]
    assert [step.size for step in steps] == [1, 2, 4, 8]
    assert all(step.p < 0.05 for step in steps[2:])


def test_a_bound_of_the_loss_is_a_share_of_the_clean_loss() -> None:
    chance = np.random.default_rng(1)
    clean = chance.uniform(1.0, 3.0, 200)
    change = clean * chance.normal(0.02, 0.01, 200)
    step = measure_set(1, change, clean, 0.05, 0.05)
    assert step.mean == pytest.approx(change.sum() / clean.sum())
    assert step.damage == pytest.approx(change.mean())
    assert step.decision == WITHIN
    assert measure_set(1, change, clean / 10, 0.05, 0.05).decision == NOT_SHOWN


def test_fewer_than_fifty_units_certify_nothing() -> None:
    change = np.random.default_rng(0).normal(0, 0.001, 49)
    assert measure_set(1, change, np.ones(49), 0.05, 0.05).decision == NOT_SHOWN
    both = np.append(change, 0.0)
    assert measure_set(1, both, np.ones(50), 0.05, 0.05).decision == WITHIN


def test_units_without_a_damage_do_not_count() -> None:
    change = np.random.default_rng(0).normal(0, 0.01, 80)
    change[:20] = np.nan
    step = measure_set(1, change, np.ones(80), 0.05, 0.05)
    assert step.count == 60
    assert step == measure_set(1, change[20:], np.ones(60), 0.05, 0.05)
    assert measure_set(1, np.full(80, np.nan), np.ones(80), 0.05, 0.05).decision == NOT_SHOWN


def test_no_change_in_any_unit_is_not_enough_for_a_bound_that_rare_units_could_break() -> None:
    still = np.zeros(100)
    assert measure_set(1, still, np.ones(100), 0.02, 0.05, worst=1.0).decision == NOT_SHOWN
    step = measure_set(1, np.zeros(200), np.ones(200), 0.02, 0.05, worst=1.0)
    assert step.decision == WITHIN
    assert step.upper == pytest.approx(1 - 0.05 ** (1 / 200), rel=1e-6)


def test_a_claim_that_hinges_on_few_units_is_withheld() -> None:
    spiked = np.random.default_rng(0).normal(0, 0.001, 200)
    spiked[:6] = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
    step = measure_set(1, spiked, np.ones(200), 0.03, 0.05)
    assert step.p < 0.05
    assert step.decision == FEW_UNITS
    spread = measure_set(1, np.random.default_rng(0).normal(0, 0.001, 200), np.ones(200), 0.01, 0.05, 1.0)
    assert spread.p < 1e-9
    assert spread.decision == FEW_UNITS  # three further units with a damage of 1 would break the bound


def _violated(draw: Draw, units: int, runs: int, seed: int, mean: float = 0.0) -> float:
    """Share of runs in which a set whose damage has this mean beyond its bound passes."""
    chance = np.random.default_rng(seed)
    passed = 0
    for _ in range(runs):
        change = 1.0 + mean + draw(chance, units)
        passed += decide_set(change, np.ones(units), 1.0, 0.05)[1] == WITHIN
    return passed / runs


@pytest.mark.parametrize("shape", CENTRED)
def test_a_set_at_its_bound_passes_in_at_most_alpha_of_runs(shape: str) -> None:
    runs = 2000
    assert _violated(CENTRED[shape], 100, runs, 5) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_a_set_far_below_its_bound_nearly_always_passes() -> None:
    assert _violated(CENTRED["normal"], 100, 300, 6, mean=-0.5) > 0.95


@pytest.mark.parametrize("near", [0.0, -0.05])
def test_growing_sets_violate_the_bound_in_at_most_alpha_of_runs(near: float) -> None:
    """Sets whose damage approaches the bound, reaches it at the third and then falls below it again."""
    chance, runs, units, wrong = np.random.default_rng(8), 1000, 100, 0
    means = np.array([-0.5, near, 0.0, 0.02, -0.3])
    for _ in range(runs):
        shared = CENTRED["skewed"](chance, units)
        own = np.array([CENTRED["skewed"](chance, units) for _ in means])
        change = 1.0 + means[:, None] + 0.8 * shared + 0.2 * own
        for mean, row in zip(means, change, strict=True):
            if decide_set(row, np.ones(units), 1.0, 0.05)[1] != WITHIN:
                break
            if mean >= 0:
                wrong += 1
                break
    assert wrong / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
