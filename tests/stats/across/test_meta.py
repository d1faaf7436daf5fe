"""Pooled means are those of statsmodels and of the formulas, and their intervals cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.meta_analysis import combine_effects

from headroles.stats.across.meta import FEWEST, NOTHING, pool_means

MEANS = np.array([0.31, 0.18, 0.42, 0.25, 0.36, 0.11])
ERRORS = np.array([0.04, 0.03, 0.06, 0.02, 0.05, 0.03])


def _between(means: np.ndarray, errors: np.ndarray) -> float:
    """τ² of Paule and Mandel: the root of their equation, by a plain search."""

    def excess(tau: float) -> float:
        weights = 1 / (errors**2 + tau)
        middle = (weights * means).sum() / weights.sum()
        return float((weights * (means - middle) ** 2).sum() - (len(means) - 1))

    return float(optimize.brentq(excess, 0, 1)) if excess(0) > 0 else 0.0


def test_the_numbers_are_those_of_the_formulas() -> None:
    found = pool_means(MEANS, ERRORS)
    tau = _between(MEANS, ERRORS)
    weights = 1 / (ERRORS**2 + tau)
    mean = (weights * MEANS).sum() / weights.sum()
    knapp = (weights * (MEANS - mean) ** 2).sum() / (5 * weights.sum())
    assert found.between == pytest.approx(np.sqrt(tau), rel=1e-4)
    assert found.mean == pytest.approx(mean, rel=1e-4)
    half = stats.t.ppf(0.975, 5) * np.sqrt(knapp)
    assert (found.low, found.high) == pytest.approx((mean - half, mean + half), rel=1e-4)


def test_the_prediction_interval_is_that_of_drawn_next_means() -> None:
    rng = np.random.default_rng(2)
    drawn = []
    for wanted in rng.chisquare(5, 4000):

        def excess(tau: float, wanted: float = wanted) -> float:
            weights = 1 / (ERRORS**2 + tau)
            middle = (weights * MEANS).sum() / weights.sum()
            return float((weights * (MEANS - middle) ** 2).sum() - wanted)

        tau = float(optimize.brentq(excess, 0, 1e4)) if excess(0) > 0 else 0.0
        weights = 1 / (ERRORS**2 + tau)
        middle = (weights * MEANS).sum() / weights.sum()
        knapp = (weights * (MEANS - middle) ** 2).sum() / (5 * weights.sum())
        drawn.append(middle + np.sqrt(tau + knapp) * rng.standard_t(5, 50))
    found = pool_means(MEANS, ERRORS)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert (found.next_low, found.next_high) == pytest.approx((low, high), abs=0.02)
    assert found.next_low < found.low < found.high < found.next_high


def test_mean_and_heterogeneity_are_those_of_statsmodels() -> None:
    wanted = combine_effects(MEANS * 20, (ERRORS * 20) ** 2, method_re="iterated", use_t=True)
    found = pool_means(MEANS, ERRORS)
    assert found.mean == pytest.approx(wanted.mean_effect_re / 20, rel=1e-5)
    assert found.heterogeneity == pytest.approx(wanted.i2, rel=1e-5)
    low, high = wanted.conf_int(use_t=True)[3]
    assert (found.low, found.high) == pytest.approx((low / 20, high / 20), rel=1e-4)


@given(order=st.permutations(range(6)), scale=st.sampled_from([0.01, 1.0, 50.0]))
def test_order_and_scale_of_the_scores_are_of_no_matter(order: list[int], scale: float) -> None:
    found, again = pool_means(MEANS, ERRORS), pool_means(MEANS[order] * scale, ERRORS[order] * scale)
    for name in ("mean", "low", "high", "next_low", "next_high", "between"):
        assert getattr(again, name) == pytest.approx(getattr(found, name) * scale, rel=1e-6)
    assert again.heterogeneity == pytest.approx(found.heterogeneity, rel=1e-6)


def test_runs_without_a_mean_or_without_spread_are_left_out() -> None:
    means = np.append(MEANS, [np.nan, 0.9])
    errors = np.append(ERRORS, [0.03, 0.0])
    assert pool_means(means, errors) == pool_means(MEANS, ERRORS)
    few = pool_means(MEANS[: FEWEST - 1], ERRORS[: FEWEST - 1])
    assert repr(few) == repr(NOTHING)


def test_equal_means_have_no_variance_between_them() -> None:
    found = pool_means(np.full(5, 0.2), np.full(5, 0.05))
    assert found.mean == pytest.approx(0.2)
    assert (found.between, found.heterogeneity) == (0.0, 0.0)
    assert found.next_low <= 0.2 <= found.next_high


@pytest.mark.parametrize(("between", "least"), [(0.0, 0.95), (0.03, 0.93), (0.1, 0.95)])
def test_intervals_cover_the_mean_and_the_next_run(between: float, least: float) -> None:
    rng = np.random.default_rng(3)
    covered, ahead = [], []
    for _ in range(600):
        errors = rng.uniform(0.03, 0.1, 8)
        true = 0.3 + between * rng.normal(size=9)
        found = pool_means(true[:8] + errors * rng.normal(size=8), errors)
        covered.append(found.low <= 0.3 <= found.high)
        ahead.append(found.next_low <= true[8] <= found.next_high)
    slack = 3 * np.sqrt(0.95 * 0.05 / 600)
    assert np.mean(covered) >= 0.95 - slack
    assert np.mean(ahead) >= least - slack
