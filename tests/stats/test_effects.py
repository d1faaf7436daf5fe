"""Effects, their intervals, the cost of dependent examples and Bayes factors agree with libraries."""

import tracemalloc
from collections.abc import Iterator

import mpmath
import numpy as np
import pingouin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy import stats as reference
from scipy.special import gammaln

from headroles.stats import effects
from headroles.stats.draws import bootstrap_counts
from headroles.stats.effects import (
    SCALE,
    bayes_factors,
    bca,
    design_effect,
    effect_interval,
    hedges_g,
    jzs_by_logarithms,
)
from headroles.stats.methods.closed_form import student, student_skew
from headroles.stats.moments import describe
from tests.support.reference import draws

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=draws(40))


@quick
@given(seeds, st.integers(3, 80), st.floats(-1, 1))
def test_hedges_g_is_pingouins_for_one_sample(seed: int, n: int, theta: float) -> None:
    values = np.random.default_rng(seed).gamma(2.0, size=(n, 4))
    ours = hedges_g(describe(values), theta)
    theirs = [pingouin.compute_effsize(column, theta, eftype="hedges") for column in values.T]
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_hedges_g_leaves_out_what_is_nan() -> None:
    values = np.random.default_rng(0).normal(size=(30, 2))
    values[7:, 1] = np.nan
    ours = hedges_g(describe(values), -0.3)
    theirs = pingouin.compute_effsize(values[:7, 1], -0.3, eftype="hedges")
    assert ours[1] == pytest.approx(theirs, abs=1e-10)


def test_hedges_g_takes_a_threshold_for_each_head() -> None:
    values = np.random.default_rng(0).normal(size=(30, 2, 3))
    thetas = np.linspace(-1, 1, 6).reshape(2, 3)
    together = hedges_g(describe(values), thetas)
    assert together.shape == (2, 3)
    assert together[1, 0] == pytest.approx(hedges_g(describe(values[:, 1:, :1]), 0.2)[0, 0], abs=1e-12)


def test_the_factor_is_as_near_the_exact_one_as_its_docstring_says() -> None:
    n = np.arange(3, 500)
    exact = np.exp(gammaln((n - 1) / 2) - gammaln((n - 2) / 2)) / np.sqrt((n - 1) / 2)
    values = np.stack([np.where(np.arange(600) < k, np.arange(600) % 3.0, np.nan) for k in n], axis=1)
    sample = describe(values)
    gap = np.abs(hedges_g(sample, 5.0) / ((sample.mean - 5.0) / sample.sd) - exact)
    assert gap.max() < 0.008
    assert gap[n >= 20].max() < 1e-4


def test_hedges_g_is_unbiased_where_cohens_d_is_not() -> None:
    values = np.random.default_rng(1).normal(0.5, 1, size=(8, 200_000))
    sample = describe(values)
    assert (sample.mean / sample.sd).mean() > 0.55
    assert hedges_g(sample, 0.0).mean() == pytest.approx(0.5, abs=0.005)


def test_too_few_units_or_no_spread_have_no_effect() -> None:
    values = np.array([[1.0, 2.0, 0.3], [np.nan, 3.0, 0.3], [np.nan, np.nan, 0.3]])
    sample = describe(values)
    assert np.isnan(hedges_g(sample, 0.0)).all()
    low, high = effect_interval(np.array([np.nan, 0.5]), np.array([40, 1]))
    assert np.isnan(low).all()
    assert np.isnan(high).all()


@quick
@given(st.floats(-5, 5), st.integers(2, 2000), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_the_interval_of_an_effect_is_pingouins(effect: float, n: int, confidence: float) -> None:
    low, high = effect_interval(np.array([effect]), np.array([n]), confidence)
    theirs = pingouin.compute_esci(effect, nx=n, ny=1, confidence=confidence, decimals=13)
    assert [low[0], high[0]] == pytest.approx(theirs, rel=1e-10, abs=1e-10)


def _covered(values: np.ndarray, effect: float) -> float:
    sample = describe(values)
    low, high = effect_interval(sample.mean / sample.sd, sample.count)
    return float(((low <= effect) & (effect <= high)).mean())


@pytest.mark.parametrize(("n", "wanted"), [(10, 0.974), (20, 0.962), (50, 0.955), (200, 0.951)])
@pytest.mark.parametrize("effect", [0.0, 0.3, 1.0])
def test_the_interval_of_an_effect_covers_it_as_its_docstring_says(
    n: int, wanted: float, effect: float
) -> None:
    values = np.random.default_rng(n).normal(effect, 1, size=(n, 20_000))
    assert _covered(values, effect) == pytest.approx(wanted, abs=0.006)


@pytest.mark.parametrize(("effect", "wanted"), [(0.5, 0.933), (1.5, 0.864)])
def test_the_interval_of_an_effect_is_too_narrow_under_heavy_tails(effect: float, wanted: float) -> None:
    values = np.random.default_rng(2).laplace(effect, np.sqrt(0.5), size=(100, 20_000))  # sd 1
    assert _covered(values, effect) == pytest.approx(wanted, abs=0.01)


def _scipys(values: np.ndarray, resamples: int, seed: int, confidence: float) -> np.ndarray:
    found = reference.bootstrap(
        (values,), np.mean, method="BCa", n_resamples=resamples, rng=np.random.default_rng(seed),
        confidence_level=confidence,
    )  # fmt: skip
    return np.array([found.confidence_interval.low, found.confidence_interval.high])


@settings(max_examples=25)
@given(seeds, st.integers(20, 90), st.integers(300, 1200), st.sampled_from([0.8, 0.95]))
def test_bca_is_scipys_for_many_columns_at_once(seed: int, n: int, resamples: int, confidence: float) -> None:
    rng = np.random.default_rng(seed)
    skewed = rng.gamma(rng.uniform(0.3, 5, size=(2, 4)), size=(n, 2, 4)) * rng.choice([-1.0, 1.0], size=4)
    low, high = bca(skewed, bootstrap_counts(n, resamples, seed), confidence)
    theirs = _scipys(skewed, resamples, seed, confidence)
    np.testing.assert_allclose(np.stack([low, high]), theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n", [6, 25, 200])
def test_bca_is_scipys_where_many_resamples_have_the_mean_itself(n: int) -> None:
    values = np.random.default_rng(n).integers(0, 4, size=(n, 9)).astype(np.float64)
    ours = np.stack(bca(values, bootstrap_counts(n, 999, 5)))
    np.testing.assert_allclose(ours, _scipys(values, 999, 5, 0.95), rtol=1e-10, atol=1e-10)


def test_a_single_column_is_scipys_for_ten_thousand_resamples() -> None:
    values = np.random.default_rng(3).beta(0.5, 3, size=150)
    low, high = bca(values, bootstrap_counts(150, 9999, 11))
    assert [float(low), float(high)] == pytest.approx(_scipys(values, 9999, 11, 0.95).tolist(), abs=1e-10)


def test_columns_taken_in_slices_give_the_same_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(4).gamma(1.0, size=(40, 3, 7)).astype(np.float32)
    whole = np.stack(bca(values, bootstrap_counts(40, 500, 0)))
    for cells in (1, 900, 2500):
        monkeypatch.setattr(effects, "CELLS", cells)
        sliced = np.stack(bca(values, list(bootstrap_counts(40, 500, 0))))
        np.testing.assert_allclose(sliced, whole, rtol=1e-11)


def test_memory_does_not_grow_with_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "CELLS", 200_000)
    values = np.random.default_rng(5).normal(size=(20, 5000))
    tracemalloc.start()
    try:
        bca(values, bootstrap_counts(20, 1000, 0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6_000_000  # all bootstrap means would be 40 MB


def test_a_column_without_spread_is_its_own_interval() -> None:
    values = np.random.default_rng(6).normal(size=(30, 3))
    values[:, 1] = 0.1
    low, high = bca(values, bootstrap_counts(30, 400, 0))
    assert low[1] == high[1] == 0.1
    assert (low[[0, 2]] < high[[0, 2]]).all()
    low, high = bca(values[:1], bootstrap_counts(1, 400, 0))
    np.testing.assert_array_equal(np.stack([low, high]), np.stack([values[0], values[0]]))


def test_a_column_with_nan_spoils_no_other() -> None:
    values = np.random.default_rng(7).normal(size=(30, 3))
    clean = np.stack(bca(values, bootstrap_counts(30, 400, 0)))
    values[4, 1] = np.nan
    ends = np.stack(bca(values, bootstrap_counts(30, 400, 0)))
    assert np.isnan(ends[:, 1]).all()
    np.testing.assert_allclose(ends[:, [0, 2]], clean[:, [0, 2]], rtol=1e-11)


def test_no_units_no_columns_or_no_resamples_say_nothing() -> None:
    def none() -> Iterator[np.ndarray]:
        yield from ()

    assert np.isnan(np.stack(bca(np.empty((0, 2)), none()))).all()
    assert np.isnan(np.stack(bca(np.ones((4, 2)), none()))).all()
    assert bca(np.empty((4, 0, 3)), bootstrap_counts(4, 10, 0))[0].shape == (0, 3)


@pytest.mark.parametrize(("n", "wanted"), [(10, 0.90), (20, 0.927), (50, 0.942)])
def test_bca_is_too_narrow_for_few_normal_scores(n: int, wanted: float) -> None:
    values = np.random.default_rng(n).normal(size=(n, 6000))
    low, high = bca(values, bootstrap_counts(n, 2000, 1))
    assert ((low <= 0) & (high >= 0)).mean() == pytest.approx(wanted, abs=0.012)


def test_bca_covers_the_mean_of_skewed_scores_better_than_students_interval() -> None:
    values = np.random.default_rng(8).lognormal(0, 1, size=(50, 6000))
    true, sample = np.exp(0.5), describe(values)
    low, high = bca(values, bootstrap_counts(50, 2000, 1))
    plain, bent = student(sample, 0.0), student_skew(sample, 0.0)
    ours = ((low <= true) & (true <= high)).mean()
    assert ((plain.low <= true) & (true <= plain.high)).mean() < ours
    assert ours < ((bent.low <= true) & (true <= bent.high)).mean()
    assert ours == pytest.approx(0.907, abs=0.012)


def _naive_design_effect(values: np.ndarray, units: np.ndarray) -> float:
    known = ~np.isnan(values)
    groups = [values[known & (units == unit)].mean() for unit in np.unique(units[known])]
    apart: float = np.var(values[known], ddof=1) / known.sum()
    return float(np.var(groups, ddof=1) / len(groups) / apart)


@quick
@given(seeds, st.integers(2, 12), st.integers(2, 8), st.floats(0, 0.4))
def test_the_design_effect_is_the_ratio_of_the_two_variances(
    seed: int, groups: int, size: int, holes: float
) -> None:
    rng = np.random.default_rng(seed)
    units = rng.permutation(np.concatenate([np.arange(groups), rng.integers(0, groups, groups * size)]))
    values = rng.normal(size=(groups, 3))[units] + rng.normal(size=(len(units), 3))
    values[:, 0][rng.random(len(units)) < holes] = np.nan
    ours = design_effect(values, units)
    for k in range(3):
        if len(np.unique(units[~np.isnan(values[:, k])])) > 1:
            assert ours[k] == pytest.approx(_naive_design_effect(values[:, k], units), rel=1e-9)


@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.6])
def test_the_design_effect_of_equal_groups_is_kishs(correlation: float) -> None:
    rng, groups, size = np.random.default_rng(9), 60, 5
    units = np.repeat(np.arange(groups), size)
    shared = np.sqrt(correlation) * rng.normal(size=(groups, 4000))[units]
    values = shared + np.sqrt(1 - correlation) * rng.normal(size=(len(units), 4000))
    assert design_effect(values, units).mean() == pytest.approx(1 + (size - 1) * correlation, rel=0.03)


def test_the_design_effect_is_exactly_one_where_each_unit_has_one_example() -> None:
    rng = np.random.default_rng(10)
    values = rng.gamma(1.0, size=(40, 2, 3))
    assert (design_effect(values, rng.permutation(40)) == 1.0).all()
    paired = np.arange(80) // 2
    doubled = np.repeat(values, 2, axis=0)
    doubled[1::2] = np.nan
    assert (design_effect(doubled, paired) == 1.0).all()


def test_the_design_effect_is_unknown_without_spread_or_a_second_unit() -> None:
    units = np.array([0, 0, 1, 1])
    values = np.array([[0.4, 1.0, np.nan], [0.4, 2.0, np.nan], [0.4, np.nan, np.nan], [0.4, np.nan, np.nan]])
    assert np.isnan(design_effect(values, units)).all()
    assert np.isnan(design_effect(values[:2], np.array([0, 0]))).all()
    assert np.isnan(design_effect(np.empty((0, 2)), np.empty(0, dtype=np.int64))).all()


@quick
@given(st.floats(-8, 8), st.integers(2, 3000))
def test_a_bayes_factor_is_pingouins(statistic: float, n: int) -> None:
    ours = bayes_factors(np.array([statistic]), np.array([n]))
    theirs = pingouin.bayesfactor_ttest(statistic, n, r=0.707)
    # Their integral has an absolute tolerance of 1.5e-8, so it is wrong by more where the factor is large.
    assert ours[0] == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize(("statistic", "n"), [(6.328125, 140), (0.0, 2), (-8.0, 3000), (2.1, 25), (8.0, 2)])
def test_a_bayes_factor_is_the_integral_to_thirty_digits(statistic: float, n: int) -> None:
    t, r = mpmath.mpf(statistic), mpmath.mpf("0.707")

    def over(u: mpmath.mpf) -> mpmath.mpf:
        g = mpmath.exp(u)
        wide = 1 + n * g * r**2
        prior = mpmath.exp(-1 / (2 * g)) / mpmath.sqrt(2 * mpmath.pi * g)
        return prior / mpmath.sqrt(wide) * (1 + t**2 / (wide * (n - 1))) ** (-mpmath.mpf(n) / 2)

    with mpmath.workdps(30):
        above = mpmath.quad(over, [-8, -4, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12, 20, 40, 90])
        exact = above / (1 + t**2 / (n - 1)) ** (-mpmath.mpf(n) / 2)
    given = np.array([statistic]), np.array([n])
    assert jzs_by_logarithms(*given, np.array([True]))[0][0] == pytest.approx(float(exact), rel=1e-9)
    assert bayes_factors(*given)[0] == pytest.approx(float(exact), rel=1e-7)


def test_bayes_factors_are_asked_of_pingouin_where_its_integral_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pingouin, "bayesfactor_ttest", lambda t, n, r: f"{1000 * t + n}")  # text, as once
    ours = bayes_factors(np.array([2.0, 4000.0, np.nan]), np.array([20, 30, 40]))
    assert ours[0] == 2020.0
    assert ours[1] > 1e40
    assert np.isnan(ours[2])


def test_bayes_factors_of_scores_are_those_of_pingouins_t_test() -> None:
    values = np.random.default_rng(11).gamma(2.0, size=(40, 2, 3)) / 2
    sample = describe(values)
    ours = bayes_factors(student(sample, 0.9).statistic, sample.count)
    for place in np.ndindex(2, 3):
        theirs = pingouin.ttest(values[:, place[0], place[1]], 0.9)["BF10"].iloc[0]
        assert ours[place] == pytest.approx(float(theirs), rel=1e-3, abs=6e-4)


@pytest.mark.parametrize(("statistic", "n"), [(40.0, 20), (1000.0, 20), (-90.0, 128), (300.0, 5), (1e5, 3)])
def test_bayes_factors_of_large_statistics_are_right_where_pingouins_are_not(
    statistic: float, n: int
) -> None:
    def density(log: float) -> float:
        wide = 1 + n * np.exp(log) * SCALE**2
        prior = -0.5 * (np.log(2 * np.pi) + log + np.exp(-log))
        fit = np.log1p(statistic**2 / (n - 1)) - np.log1p(statistic**2 / (n - 1) / wide)
        return float(np.exp(prior - 0.5 * np.log(wide) + n / 2 * fit - top))

    top = 0.0
    top = float(np.log(max(density(log) for log in np.linspace(-8, 40, 2000))))
    pieces = [
        integrate.quad(density, a, a + 4, epsabs=0, epsrel=1e-11, limit=200)[0] for a in range(-7, 57, 4)
    ]
    ours = bayes_factors(np.array([statistic]), np.array([n]))[0]
    assert np.log(ours) == pytest.approx(top + np.log(sum(pieces)), rel=1e-9)


def test_a_bayes_factor_tells_of_a_point_and_not_of_a_side() -> None:
    ours = bayes_factors(np.array([-6.0, 6.0, 0.0]), np.array([50, 50, 50]))
    assert ours[0] == ours[1] > 1000
    assert ours[2] < 0.3


def test_nothing_testable_has_no_bayes_factor_and_huge_ones_are_infinite() -> None:
    statistic = np.array([np.nan, np.inf, 2.0, 2.0, 200.0])
    ours = bayes_factors(statistic, np.array([20, 20, 1, 0, 2000]))
    assert np.isnan(ours[:4]).all()
    assert ours[4] == np.inf
