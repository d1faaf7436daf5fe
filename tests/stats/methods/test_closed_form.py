"""One-sample tests agree with scipy and worked formulas, and their intervals with their p values."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from headroles.stats.methods.closed_form import (
    SPREAD,
    Outcome,
    bounded_outcome,
    role_p_of,
    student,
    student_biased,
    student_skew,
    t_quantile_above,
)
from headroles.stats.methods.names import METHODS
from headroles.stats.moments import Sample, describe
from tests.support.reference import draws

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=draws(60))


def _skewed(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Columns of every direction and degree of skewness."""
    shape = rng.uniform(0.3, 8, size=columns)
    sign = rng.choice([-1.0, 1.0], size=columns)
    return sign * rng.gamma(shape, size=(rows, columns)) / shape + rng.normal(0, 0.2, size=columns)


def _sample(count: int, mean: float, sd: float, skew: float) -> Sample:
    return Sample(np.array([count]), np.array([mean]), np.array([sd]), np.array([skew]))


@quick
@given(seeds, st.integers(2, 80), st.floats(-1, 1), st.sampled_from([0.0, 0.3, 1.0]))
def test_student_is_scipys_one_sample_t_test(seed: int, rows: int, theta: float, holes: float) -> None:
    rng = np.random.default_rng(seed)
    values = _skewed(rng, rows, 5)
    values[:, 1][rng.random(rows) < holes] = np.nan
    values[: rows - 2, 2] = np.nan
    ours = student(describe(values), theta)
    for k, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        if len(known) < 2:
            continue
        upper = reference.ttest_1samp(known, theta, alternative="greater")
        lower = reference.ttest_1samp(known, theta, alternative="less")
        ends = reference.ttest_1samp(known, theta).confidence_interval(0.95)
        assert ours.statistic[k] == pytest.approx(upper.statistic, rel=1e-9)
        assert ours.p[k] == pytest.approx(upper.pvalue, rel=1e-8, abs=1e-300)
        assert ours.p_not[k] == pytest.approx(lower.pvalue, rel=1e-8, abs=1e-300)
        assert (ours.low[k], ours.high[k]) == pytest.approx((ends.low, ends.high), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].closed is not None])
def test_p_of_resamples_is_p_of_findings(name: str) -> None:
    method = METHODS[name]
    values = _skewed(np.random.default_rng(2), 30, 8)
    values[:, 0], values[1:, 1], values[:7, 2] = 0.5, np.nan, np.nan
    sample = describe(values)
    assert method.closed is not None
    assert method.statistic is not None
    statistic = method.statistic(sample, 0.1)
    np.testing.assert_array_equal(statistic, method.closed(sample, 0.1).statistic)
    np.testing.assert_array_equal(role_p_of(sample, statistic), method.closed(sample, 0.1).p)


@quick
@given(st.floats(0, 1), st.integers(1, 5000))
def test_quantiles_of_t_are_scipys(level: float, freedom: int) -> None:
    ours = t_quantile_above(level, np.array([float(freedom), np.nan]))
    assert ours[0] == pytest.approx(reference.t.isf(level, freedom), rel=1e-13)
    assert np.isnan(ours[1])


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_quantiles_of_t_at_the_ends_are_infinite(level: float) -> None:
    assert t_quantile_above(level, np.array([7.0]))[0] == reference.t.isf(level, 7)


@pytest.mark.parametrize("name", METHODS)
def test_fewer_than_two_units_give_no_p_value(name: str) -> None:
    values = np.full((5, 2), np.nan)
    values[0, 0] = 0.7
    outcome = METHODS[name](values, describe(values), 0.1, 99, 0)
    for end in (outcome.statistic, outcome.p, outcome.p_not, outcome.low, outcome.high):
        assert np.isnan(end).all()


def test_the_biased_test_divides_the_spread_by_n() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, size=(20, 4))
    ours = student_biased(describe(values), 0.1)
    wanted = (values.mean(axis=0) - 0.1) / (values.std(axis=0, ddof=0) / np.sqrt(20))
    np.testing.assert_allclose(ours.statistic, wanted, rtol=1e-12)
    np.testing.assert_allclose(ours.p, reference.t.sf(wanted, 19), rtol=1e-12)


def test_the_biased_test_is_as_much_too_liberal_as_its_docstring_says() -> None:
    values = np.random.default_rng(1).normal(size=(20, 100_000))
    rejected = (student_biased(describe(values), 0.0).p <= 0.05).mean()
    assert rejected == pytest.approx(0.055, abs=0.003)


@quick
@given(seeds, st.integers(3, 200), st.floats(-0.5, 0.5))
def test_the_skewness_corrected_statistic_is_halls_formula(seed: int, n: int, theta: float) -> None:
    values = _skewed(np.random.default_rng(seed), n, 4)
    ours = student_skew(describe(values), theta)
    plain = reference.ttest_1samp(values, theta).statistic
    skew = reference.skew(values)
    hall = (
        plain + skew * plain**2 / (3 * np.sqrt(n)) + skew**2 * plain**3 / (27 * n) + skew / (6 * np.sqrt(n))
    )
    np.testing.assert_allclose(ours.statistic, hall, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.p, reference.t.sf(hall, n - 1), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(ours.p_not, reference.t.cdf(hall, n - 1), rtol=1e-6, atol=1e-12)


def test_the_skewness_correction_of_a_worked_example_is_right() -> None:
    # T = (0.3 - 0.1) / (0.5 / 6) = 2.4; 1.5*5.76/18 + 2.25*13.824/972 + 1.5/36 = 0.48 + 0.032 + 0.041667
    outcome = student_skew(_sample(36, 0.3, 0.5, 1.5), 0.1)
    assert outcome.statistic[0] == pytest.approx(2.4 + 0.48 + 0.032 + 0.25 / 6, abs=1e-12)


@quick
@given(seeds, st.integers(2, 100), st.floats(-0.5, 0.5))
def test_without_skewness_the_corrected_test_is_students(seed: int, n: int, theta: float) -> None:
    half = np.random.default_rng(seed).normal(size=(n, 3))
    symmetric = describe(np.concatenate([half, -half]) + 0.1)
    level = Sample(symmetric.count, symmetric.mean, symmetric.sd, np.zeros(3))
    for sample in (symmetric, level):
        bent, plain = student_skew(sample, theta), student(sample, theta)
        for name in ("statistic", "p", "p_not", "low", "high"):
            np.testing.assert_allclose(getattr(bent, name), getattr(plain, name), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("skew", [1e-12, 1e-9, 1e-7, 1e-5])
def test_the_interval_passes_smoothly_through_zero_skewness(skew: float) -> None:
    plain = student(_sample(30, 0.2, 0.4, 0.0), 0.1)
    for sign in (-1, 1):
        bent = student_skew(_sample(30, 0.2, 0.4, sign * skew), 0.1)
        assert (bent.low[0], bent.high[0]) == pytest.approx((plain.low[0], plain.high[0]), abs=1e-6)


@quick
@given(seeds, st.integers(2, 150), st.sampled_from([student, student_skew, student_biased]))
def test_theta_is_inside_the_interval_just_when_both_one_sided_p_exceed_a_fortieth(
    seed: int, n: int, test: Callable[[Sample, float], Outcome]
) -> None:
    rng = np.random.default_rng(seed)
    sample = describe(_skewed(rng, n, 6))
    ends = test(sample, 0.0)
    assert (ends.low <= ends.high).all()
    for step in (-1e-6, 1e-6):
        for end, side in ((ends.low, 1), (ends.high, -1)):
            for k in range(6):
                width = ends.high[k] - ends.low[k]
                theta = float(end[k] + step * width)
                here = test(sample, theta)
                inside = here.p[k] > 0.025 and here.p_not[k] > 0.025
                assert inside == (side * step > 0)


@quick
@given(seeds, st.integers(2, 60), st.sampled_from([student, student_skew, student_biased]))
def test_a_larger_mean_never_makes_a_role_less_likely(
    seed: int, n: int, test: Callable[[Sample, float], Outcome]
) -> None:
    shape = describe(_skewed(np.random.default_rng(seed), n, 1))
    means = np.linspace(-4, 4, 401) * float(shape.sd[0])
    many = Sample(np.full(401, shape.count[0]), means, np.full(401, shape.sd[0]), np.full(401, shape.skew[0]))
    outcome = test(many, 0.1)
    assert (np.diff(outcome.statistic) >= -1e-9).all()
    assert (np.diff(outcome.p) <= 1e-12).all()
    assert (np.diff(outcome.p_not) >= -1e-12).all()
    np.testing.assert_allclose(outcome.p + outcome.p_not, 1, atol=1e-12)


def _coverage(test: Callable[[Sample, float], Outcome], values: np.ndarray, mean: float) -> tuple[float, ...]:
    ends = test(describe(values), 0.0)
    above, below = (ends.low > mean).mean(), (ends.high < mean).mean()
    return float(1 - above - below), float(above), float(below)


def test_the_corrected_interval_covers_normal_means_as_students_does() -> None:
    # Breaks when the interval is not the inverse of the statistic, or with another quantile.
    values = np.random.default_rng(2).normal(size=(50, 40_000))
    assert _coverage(student, values, 0.0)[0] == pytest.approx(0.95, abs=0.004)
    assert _coverage(student_skew, values, 0.0)[0] == pytest.approx(0.95, abs=0.006)


def test_the_corrected_interval_covers_log_normal_means_better_than_students() -> None:
    # Breaks when the correction has the wrong sign: coverage then falls below Student's 0.90.
    values = np.random.default_rng(3).lognormal(size=(50, 40_000))
    mean = float(np.exp(0.5))
    plain, bent = _coverage(student, values, mean), _coverage(student_skew, values, mean)
    assert plain[0] == pytest.approx(0.90, abs=0.01)
    assert bent[0] > plain[0] + 0.01
    assert max(abs(side - 0.025) for side in bent[1:]) < max(abs(side - 0.025) for side in plain[1:])


# Scores without spread.


@given(
    st.integers(2, 200), st.floats(-1, 0.05), st.floats(0.06, 0.3), st.floats(0.001, 1), st.floats(0.001, 1)
)
def test_the_p_value_of_a_constant_is_that_of_the_worst_two_point_distribution(
    n: int, low: float, theta: float, up: float, room: float
) -> None:
    # Mass π at c and the rest at the lower bound, with mean exactly θ, makes n equal c with π^n.
    c = theta + up
    pi = (theta - low) / (c - low)
    assert pi * c + (1 - pi) * low == pytest.approx(theta)
    outcome = bounded_outcome(_sample(n, c, 0.0, 0.0), theta, low, c + room)
    assert outcome.p[0] == pytest.approx(pi**n, rel=1e-9)
    assert outcome.p_not[0] == 1
    mirrored = bounded_outcome(_sample(n, -c, 0.0, 0.0), -theta, -c - room, -low)
    assert mirrored.p_not[0] == pytest.approx(pi**n, rel=1e-9)
    assert mirrored.p[0] == 1


@pytest.mark.parametrize(("n", "c"), [(2, 0.3), (4, 0.2), (8, 0.15), (50, 0.11)])
def test_drawn_two_point_scores_are_all_equal_as_often_as_the_constant_says(n: int, c: float) -> None:
    # Breaks when the exponent or either bound is wrong: the frequency is then another one.
    rng = np.random.default_rng(4)
    low, theta, runs = -0.2, 0.1, 100_000
    pi = (theta - low) / (c - low)
    drawn = np.where(rng.random((runs, n)) < pi, c, low)
    assert drawn.mean() == pytest.approx(theta, abs=0.005)
    frequency = (drawn == c).all(axis=1).mean()
    said = float(bounded_outcome(_sample(n, c, 0.0, 0.0), theta, low, 1.0).p[0])
    assert frequency == pytest.approx(said, abs=4 * np.sqrt(said * (1 - said) / runs))


def test_no_two_point_score_at_the_margin_is_constant_and_refuted_too_often() -> None:
    # The smallest c that is refuted at 0.05 is reached by all units in just 5 % of runs, whatever n.
    low, theta = -0.2, 0.1
    for n in (2, 5, 20, 100, 1000):
        c = low + (theta - low) / 0.05 ** (1 / n)
        said = float(bounded_outcome(_sample(n, c, 0.0, 0.0), theta, low, max(1.0, c)).p[0])
        assert said == pytest.approx(0.05, rel=1e-9)


@given(st.integers(2, 300), st.floats(0, 1), st.floats(-1, 0), st.floats(1.0, 3))
def test_the_interval_of_a_constant_is_what_its_p_values_do_not_refute(
    n: int, c: float, low: float, high: float
) -> None:
    ends = bounded_outcome(_sample(n, c, 0.0, 0.0), 0.1, low, high)
    assert low - 1e-12 <= ends.low[0] <= c <= ends.high[0] <= high + 1e-12
    if c - low > 1e-6:
        at = bounded_outcome(_sample(n, c, 0.0, 0.0), float(ends.low[0]), low, high)
        assert at.p[0] == pytest.approx(0.025, rel=1e-6)
    if high - c > 1e-6:
        at = bounded_outcome(_sample(n, c, 0.0, 0.0), float(ends.high[0]), low, high)
        assert at.p_not[0] == pytest.approx(0.025, rel=1e-6)


def test_a_constant_at_theta_is_neither_beyond_nor_below() -> None:
    outcome = bounded_outcome(_sample(500, 0.1, 0.0, 0.0), 0.1, 0.0, 1.0)
    assert (outcome.p[0], outcome.p_not[0]) == (1, 1)


def test_a_constant_at_a_bound_that_theta_excludes_is_certain() -> None:
    assert bounded_outcome(_sample(2, 1.0, 0.0, 0.0), -0.1, 0.0, 1.0).p[0] == 0
    assert bounded_outcome(_sample(2, 0.0, 0.0, 0.0), 1.1, 0.0, 1.0).p_not[0] == 0


def test_rounding_beyond_a_bound_does_no_harm() -> None:
    outcome = bounded_outcome(_sample(60, 1.0 + 6e-8, 0.0, 0.0), 0.1, -0.5, 1.0)
    assert outcome.p[0] == pytest.approx((0.6 / 1.5) ** 60)
    assert outcome.high[0] == 1.0


@pytest.mark.parametrize(("low", "high"), [(float("nan"), 1.0), (0.0, float("nan")), (float("nan"),) * 2])
def test_a_constant_with_an_unknown_bound_says_nothing(low: float, high: float) -> None:
    outcome = bounded_outcome(_sample(80, 0.7, 0.0, 0.0), 0.1, low, high)
    for end in (outcome.statistic, outcome.p, outcome.p_not, outcome.low, outcome.high):
        assert np.isnan(end).all()


def test_spread_below_float32_rounding_of_scores_counts_as_none() -> None:
    scores = np.float32(0.7) * (1 + np.random.default_rng(5).uniform(-1e-7, 1e-7, size=(500, 1)))
    assert describe(scores.astype(np.float32).astype(np.float64)).sd[0] <= SPREAD
