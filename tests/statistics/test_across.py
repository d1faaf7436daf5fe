"""Many runs together: partial conjunction, replicability, pooled means and steps of one training."""

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from scipy import optimize, stats

from headroles.stats import (
    adjust,
    emergence,
    losses,
    partial_conjunction_p,
    pool_means,
    replicability_r,
    trends,
)

COMBINATIONS: dict[str, Callable[[np.ndarray], float]] = {
    "bonferroni": lambda p: min(1.0, float(len(p) * p.min())),
    "simes": lambda p: float(adjust(p, "fdr_bh").min()),
    "fisher": lambda p: float(stats.combine_pvalues(p, "fisher").pvalue),
}


# In at least u of k runs.


def _largest_of_all_choices(p: np.ndarray, at_least: int, combination: str) -> float:
    """The definition: the largest combined p over all choices of k − u + 1 runs that could test."""
    known = p[~np.isnan(p)]
    size = len(known) - at_least + 1
    choices = combinations(known, size) if size > 0 else ()
    return max((COMBINATIONS[combination](np.array(chosen)) for chosen in choices), default=np.nan)


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_p_is_the_largest_over_all_choices_of_runs_that_could_test(combination: str) -> None:
    p = np.random.default_rng(1).uniform(0.001, 1, (5, 8)) ** 2
    p[1, 5], p[[0, 3], 6], p[:, 7] = np.nan, np.nan, np.nan
    for at_least in range(1, 7):
        found = partial_conjunction_p(p, at_least, combination)
        wanted = [_largest_of_all_choices(column, at_least, combination) for column in p.T]
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
    np.testing.assert_allclose(partial_conjunction_p(p[:, :5], 5, combination), p[:, :5].max(axis=0))


# Two runs in both directions.


def _r_values(first: np.ndarray, second: np.ndarray, alpha: float, share: float, careful: bool) -> np.ndarray:
    """The formula of Bogomolov and Heller (2018), head by head."""
    chosen, others = first <= share * alpha, second <= (1 - share) * alpha
    size, other_size = (
        heads.sum() * ((1 / np.arange(1, heads.sum() + 1)).sum() if careful else 1)
        for heads in (chosen, others)
    )
    found = np.where(np.isnan(first) | np.isnan(second), np.nan, 1.0)
    z = np.maximum(other_size * first / share, size * second / (1 - share))[chosen & others]
    found[chosen & others] = [min(1.0, *(one / (z <= one).sum() for one in z if one >= own)) for own in z]
    return found


def test_r_is_that_of_its_formula() -> None:
    rng = np.random.default_rng(1)
    for independent, share in product((True, False), (0.5, 0.2)):
        least = []
        for alpha in (0.05, 0.1, 0.3):
            first, second = rng.uniform(size=(2, 40)) ** 6
            first[:2] = second[1:3] = np.nan
            found = replicability_r(first, second, alpha, independent=independent, share=share)
            np.testing.assert_allclose(found, _r_values(first, second, alpha, share, not independent))
            least.append(np.nanmin(found))
        assert min(least) < 1
    usual = replicability_r(first, second, 0.05, independent=True, share=0.5)
    np.testing.assert_array_equal(replicability_r(first, second), usual)
    assert replicability_r(np.array([0.9, np.nan]), np.array([0.9, 0.1]))[0] == 1  # none selected


# Pooled means.

MEANS = np.array([0.31, 0.18, 0.42, 0.25, 0.36, 0.11])
ERRORS = np.array([0.04, 0.03, 0.06, 0.02, 0.05, 0.03])
FIELDS = ("mean", "low", "high", "next_low", "next_high", "between", "heterogeneity")


def _pooled(tau: float) -> tuple[float, float, float]:
    """Weighted mean, Q and the variance of Hartung and Knapp, for a variance τ² between runs."""
    weights = 1 / (ERRORS**2 + tau)
    mean = (weights * MEANS).sum() / weights.sum()
    q = (weights * (MEANS - mean) ** 2).sum()
    return float(mean), float(q), float(q / (5 * weights.sum()))


def _tau_of(q: float) -> float:
    """The variance between runs at which Q has this value; 0 where it is smaller even without any."""
    return float(optimize.brentq(lambda tau: _pooled(tau)[1] - q, 0, 1e4)) if _pooled(0)[1] > q else 0.0


def test_pooled_means_are_those_of_the_formulas_and_of_statsmodels() -> None:
    from statsmodels.stats.meta_analysis import combine_effects

    found = pool_means(MEANS, ERRORS)
    tau = _tau_of(5)  # Paule and Mandel: Q is as large as expected
    mean, _, knapp = _pooled(tau)
    assert (found.mean, found.between) == pytest.approx((mean, np.sqrt(tau)), rel=1e-4)
    for confidence in (0.95, 0.8):
        half = stats.t.ppf(0.5 + confidence / 2, 5) * np.sqrt(knapp)
        pooled = pool_means(MEANS, ERRORS, confidence)
        assert (pooled.low, pooled.high) == pytest.approx((mean - half, mean + half), rel=1e-4)
        assert found.next_low <= pooled.next_low < pooled.low < pooled.high < pooled.next_high
    wanted = combine_effects(MEANS * 20, (ERRORS * 20) ** 2, method_re="iterated", use_t=True)
    assert found.mean == pytest.approx(wanted.mean_effect_re / 20, rel=1e-5)
    assert found.heterogeneity == pytest.approx(wanted.i2, rel=1e-5)


def test_the_prediction_interval_is_that_of_drawn_next_means() -> None:
    rng = np.random.default_rng(2)
    drawn = []
    for wanted in rng.chisquare(5, 800):
        tau = _tau_of(wanted)
        middle, _, knapp = _pooled(tau)
        drawn.append(middle + np.sqrt(tau + knapp) * rng.standard_t(5, 250))
    found = pool_means(MEANS, ERRORS)
    ends = np.quantile(drawn, [0.025, 0.975])
    assert (found.next_low, found.next_high) == pytest.approx(tuple(ends), abs=0.025)


def test_runs_without_a_mean_or_spread_are_left_out_and_fewer_than_five_are_not_pooled() -> None:
    found = pool_means(np.append(MEANS, [np.nan, 0.9, 0.9]), np.append(ERRORS, [0.03, 0.0, np.nan]))
    assert found == pool_means(MEANS, ERRORS)
    for count, unknown in ((4, True), (5, False)):
        few = pool_means(MEANS[:count], ERRORS[:count])
        assert [bool(np.isnan(getattr(few, name))) for name in FIELDS] == [unknown] * 7
    equal = pool_means(np.full(5, 0.2), np.full(5, 0.05))
    assert equal.mean == pytest.approx(0.2)
    assert (equal.between, equal.heterogeneity) == (0.0, 0.0)
    assert equal.next_low <= 0.2 <= equal.next_high


# Steps of one training.

NEVER = -1
PLACES = {"yes": 1e-6, "no": 1 - 1e-6, "open": 0.5, "nan": np.nan}


@pytest.mark.parametrize("steps", [2, 4, 7])
def test_slopes_of_units_are_those_of_numpy_and_are_tested_by_scipy(steps: int) -> None:
    values = np.random.default_rng(1).gamma(1, size=(steps, 30, 5)) + np.arange(steps)[:, None, None] * 0.1
    values[1, 4, 0] = np.nan  # a unit without a score at a step has no slope
    own = np.polyfit(np.arange(steps), np.nan_to_num(values).reshape(steps, -1), 1)[0].reshape(30, 5)
    own[4, 0] = np.nan
    slope, _ = trends(values)
    np.testing.assert_allclose(slope, np.nanmean(own, axis=0))
    reach = np.abs(np.arange(steps) - (steps - 1) / 2).sum() / (steps * (steps**2 - 1) / 12) / 2
    for low, high in ((np.nan, np.nan), (0.0, 8.0)):
        found = trends(values, low, high)[1]
        for name, side in (("p", 1), ("p_not", -1)):
            worst = np.nanmin(side * own) if np.isnan(low) else np.nanmin(side * own, axis=0)
            more = np.concatenate([side * own, np.broadcast_to(worst, (3, 5))])
            p = np.array(
                [max(_hall(one), _hall(other)) for one, other in zip(side * own.T, more.T, strict=True)]
            )
            turned = worst if np.isnan(low) else -high * reach
            count = (~np.isnan(own)).sum(axis=0)
            mean, room = side * np.nanmean(own, axis=0), np.maximum(-turned, 0)
            missed = np.where(mean * count > 3 * room, (room / (room + np.abs(mean))) ** count, 1.0)
            p = np.where(mean > 0, np.maximum(p, missed), p)
            np.testing.assert_allclose(getattr(found, name), p)
    few = trends(values[:, :19] + 10 * np.arange(steps)[:, None, None])[1]
    assert set(few.p) == {1.0}  # nothing is said below 20 units


def _hall(values: np.ndarray) -> float:
    """P of "the mean is at most 0" by t with Hall's correction, from scipy."""
    known = values[~np.isnan(values)]
    n, g, t = len(known), float(stats.skew(known)), float(stats.ttest_1samp(known, 0).statistic)
    bent = t + g * t**2 / (3 * n**0.5) + g**2 * t**3 / (27 * n) + g / (6 * n**0.5)
    return float(stats.t.sf(bent, n - 1))


def _p_of_steps(*steps: str) -> np.ndarray:
    """P of every step (row) and head, from words."""
    return np.array([[PLACES[word] for word in step.split()] for step in steps])


def test_a_role_holds_from_the_first_step_of_an_unbroken_row_to_the_last() -> None:
    p = _p_of_steps(
        "yes no   yes yes open",
        "yes no   no  yes no",
        "yes open yes no  nan",
        "yes yes  yes no  yes",
    )
    found = emergence(p, 1 - p)
    assert found.step.tolist() == [0, 3, 2, NEVER, 3]
    assert found.earliest.tolist() == [0, 2, 0, 0, 0]
    assert found.latest.tolist() == [0, 3, 2, NEVER, 3]


def test_steps_before_the_last_are_tested_at_the_level_that_selection_leaves() -> None:
    p = np.array([[0.03, 0.03], [0.001, 0.9]])
    assert emergence(p, 1 - p).step.tolist() == [1, NEVER]  # one of two heads: level 0.025
    assert emergence(p, 1 - p, alpha=0.1).step.tolist() == [0, NEVER]
    p[1, 1] = 0.001
    assert emergence(p, 1 - p).step.tolist() == [0, 0]
    p[1] = 0.03, 0.04
    assert emergence(p, 1 - p).step.tolist() == [0, 0]
    assert emergence(p, 1 - p, "bonferroni").step.tolist() == [NEVER, NEVER]
    assert emergence(p, 1 - p).latest.tolist() == [NEVER, NEVER]  # half of alpha on each side
    p[1] = np.nan, 0.02  # a head that was not tested is none of those tested
    assert emergence(p, 1 - p).step.tolist() == [NEVER, 0]
    assert emergence(p * np.nan, p).step.tolist() == [NEVER, NEVER]


def test_a_role_is_lost_only_where_it_was_there_and_is_not_any_more() -> None:
    p = _p_of_steps("yes open yes yes", "yes open no no", "no no no open", "no no no no")
    assert losses(p, 1 - p).tolist() == [2, NEVER, 1, 3]
    assert losses(1 - p, p).tolist() == [NEVER] * 4
    p = _p_of_steps("no no no", "open open no", "no no no", "no no no")
    p[0] = 0.02, 0.03, 0.03  # before a loss at step 2, a p of 0.02 is enough; of 0.03, at step 1 alone
    assert losses(p, 1 - p).tolist() == [2, NEVER, 1]
