"""Moments, effects, their intervals, design effects and Bayes factors are those of libraries."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate
from scipy import stats as reference

from headroles.stats import (
    bayes_factors,
    bca,
    bootstrap_counts,
    describe,
    design_effect,
    effect_interval,
    hedges_g,
    student,
)
from tests.support import table
from tests.support.reference import draws

if TYPE_CHECKING:
    from mpmath import mpf

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=draws(40))


# Moments.


def _holed_columns() -> st.SearchStrategy[np.ndarray]:
    shape = hnp.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=12)
    number = st.one_of(st.just(float("nan")), st.integers(-1000, 1000).map(lambda k: k / 100))
    return hnp.arrays(np.float64, shape, elements=number)


@given(_holed_columns())
def test_moments_are_those_of_numpy_and_scipy_on_what_is_not_nan(values: np.ndarray) -> None:
    values.flags.writeable = False
    sample, part = describe(values), describe(values, shape=False)
    names = ("count", "mean", "sd", "skew", "carriers")
    rows = zip(*(np.ravel(getattr(sample, name)) for name in names), strict=True)
    for column, (count, mean, sd, skew, carriers) in zip(
        values.reshape(len(values), -1).T, rows, strict=True
    ):
        known = column[~np.isnan(column)]
        spread = len(known) > 1 and np.ptp(known) > 0
        assert count == len(known)
        assert mean == pytest.approx(known.mean() if len(known) else np.nan, abs=1e-12, nan_ok=True)
        wanted = known.std(ddof=1) if len(known) > 1 else np.nan
        assert sd == pytest.approx(wanted, abs=1e-9, nan_ok=True)
        assert skew == pytest.approx(reference.skew(known) if spread else 0.0, abs=1e-6)
        units = count / reference.kurtosis(known, fisher=False) if spread else 0.0
        assert carriers == pytest.approx(units, rel=1e-6, abs=1e-9)
    for name in ("count", "mean", "sd"):
        np.testing.assert_array_equal(getattr(sample, name), getattr(part, name))
    assert np.isnan(part.skew).all()
    assert part.carriers is None


def test_moments_follow_scale_and_shift_and_lose_no_spread_far_from_zero() -> None:
    rng = np.random.default_rng(3)
    values = rng.gamma(2.0, size=(60, 3)) * [1.0, -1.0, 5.0]
    values[rng.random(values.shape) < 0.3] = np.nan
    before, after = describe(values), describe(-3 * values[rng.permutation(60)] + 40)
    np.testing.assert_array_equal(after.count, before.count)
    np.testing.assert_allclose(after.mean, -3 * before.mean + 40, rtol=1e-9)
    np.testing.assert_allclose(after.sd, 3 * before.sd, rtol=1e-9)
    np.testing.assert_allclose(after.skew, -before.skew, rtol=1e-9)
    far = 1e6 + rng.normal(size=(200, 3))
    np.testing.assert_allclose(describe(far).sd, far.std(axis=0, ddof=1), rtol=1e-9)
    nothing = describe(np.empty((0, 2)))
    assert nothing.count.tolist() == [0, 0]
    assert np.isnan(nothing.mean).all()
    constant = describe(np.full((7, 2), 0.25))
    assert constant.sd.tolist() == constant.skew.tolist() == [0.0, 0.0]


# Effects.


@quick
@given(seeds, st.integers(3, 80), st.floats(-1, 1), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_hedges_g_and_its_interval_are_pingouins(seed: int, n: int, theta: float, confidence: float) -> None:
    import pingouin

    values = np.random.default_rng(seed).gamma(2.0, size=(n, 4))
    values[: n - 3, 3] = np.nan
    sample = describe(values)
    g = hedges_g(sample, theta)
    low, high = effect_interval(g, sample.count, confidence)
    for k, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        theirs = pingouin.compute_effsize(known, theta, eftype="hedges")
        assert g[k] == pytest.approx(theirs, rel=1e-10, abs=1e-12)
        ends = pingouin.compute_esci(theirs, nx=len(known), ny=1, confidence=confidence, decimals=13)
        assert [low[k], high[k]] == pytest.approx(ends, rel=1e-9, abs=1e-10)
    thetas = np.linspace(-1, 1, 4)  # a threshold for each head
    each = [hedges_g(describe(values[:, [k]]), thetas[k])[0] for k in range(4)]
    np.testing.assert_allclose(hedges_g(sample, thetas), each, rtol=1e-12)


def test_too_few_units_or_no_spread_have_no_effect() -> None:
    values = np.array([[1.0, 2.0, 0.3, 1.0], [np.nan, 3.0, 0.3, 2.0], [np.nan, np.nan, 0.3, 4.0]])
    assert np.isnan(hedges_g(describe(values), 0.0)).tolist() == [True, True, True, False]
    ends = np.stack(effect_interval(np.array([np.nan, 0.5, 0.5]), np.array([40, 1, 2])))
    assert np.isnan(ends).all(axis=0).tolist() == [True, True, False]


# The bootstrap interval.


def _scipys(values: np.ndarray, resamples: int, seed: int, confidence: float = 0.95) -> np.ndarray:
    found = reference.bootstrap(
        (values,), np.mean, method="BCa", n_resamples=resamples, rng=np.random.default_rng(seed),
        confidence_level=confidence,
    )  # fmt: skip
    return np.array([found.confidence_interval.low, found.confidence_interval.high])


def test_bca_is_scipys_for_many_columns_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for seed, n, resamples, confidence in ((1, 20, 300, 0.8), (2, 90, 1200, 0.95), (3, 40, 700, 0.99)):
        rng = np.random.default_rng(seed)
        values = rng.gamma(rng.uniform(0.3, 5, size=(2, 4)), size=(n, 2, 4)) * rng.choice([-1.0, 1.0], size=4)
        values[:, 1, 1] = rng.integers(0, 4, n)  # many resamples have the mean itself
        wanted = _scipys(values, resamples, seed, confidence)
        ours = np.stack(bca(values, bootstrap_counts(n, resamples, seed), confidence))
        np.testing.assert_allclose(ours, wanted, rtol=1e-9, atol=1e-10)
        for cells in (1, 2500):
            monkeypatch.setattr(sys.modules[bca.__module__], "CELLS", cells)
            sliced = np.stack(bca(values, list(bootstrap_counts(n, resamples, seed)), confidence))
            np.testing.assert_allclose(sliced, ours, rtol=1e-11)
            monkeypatch.undo()


def test_bca_says_nothing_of_nan_and_everything_of_constants() -> None:
    values = np.random.default_rng(6).normal(size=(30, 4))
    values[:, 1], values[4, 2] = 0.1, np.nan
    low, high = bca(values, bootstrap_counts(30, 400, 0))
    assert low[1] == high[1] == 0.1
    assert np.isnan([low[2], high[2]]).all()
    clean = np.stack(bca(values[:, [0, 3]], bootstrap_counts(30, 400, 0)))
    np.testing.assert_allclose(np.stack([low, high])[:, [0, 3]], clean, rtol=1e-11)
    single = np.stack(bca(values[:1], bootstrap_counts(1, 400, 0)))
    np.testing.assert_array_equal(single, np.stack([values[0], values[0]]))

    def none() -> Iterator[np.ndarray]:
        yield from ()

    assert np.isnan(np.stack(bca(np.empty((0, 2)), none()))).all()
    assert np.isnan(np.stack(bca(np.ones((4, 2)), none()))).all()
    assert bca(np.empty((4, 0, 3)), bootstrap_counts(4, 10, 0))[0].shape == (0, 3)


# Design effects.


def _naive_design_effect(values: np.ndarray, units: np.ndarray) -> float:
    known = ~np.isnan(values)
    groups = [values[known & (units == unit)].mean() for unit in np.unique(units[known])]
    apart = np.var(values[known], ddof=1) / known.sum()
    return float(np.var(groups, ddof=1) / len(groups) / apart)


def test_the_design_effect_is_the_ratio_of_two_variances_and_kishs_of_equal_groups() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        groups, size = int(rng.integers(3, 12)), int(rng.integers(2, 8))
        units = rng.permutation(np.concatenate([np.arange(groups), rng.integers(0, groups, groups * size)]))
        values = rng.normal(size=(groups, 3))[units] + rng.normal(size=(len(units), 3))
        values[:, 0][rng.random(len(units)) < 0.3] = np.nan
        wanted = [_naive_design_effect(column, units) for column in values.T]
        np.testing.assert_allclose(design_effect(values, units), wanted, rtol=1e-9)
    rng, units = np.random.default_rng(9), np.repeat(np.arange(60), 5)
    for correlation in (0.0, 0.6):
        shared = np.sqrt(correlation) * rng.normal(size=(60, 2000))[units]
        values = shared + np.sqrt(1 - correlation) * rng.normal(size=(300, 2000))
        assert design_effect(values, units).mean() == pytest.approx(1 + 4 * correlation, rel=0.03)


def test_the_design_effect_is_one_of_single_examples_and_unknown_without_spread_or_a_second_unit() -> None:
    rng = np.random.default_rng(10)
    values = rng.gamma(1.0, size=(40, 2, 3))
    assert (design_effect(values, rng.permutation(40)) == 1.0).all()
    doubled = np.repeat(values, 2, axis=0)
    doubled[1::2] = np.nan
    assert (design_effect(doubled, np.arange(80) // 2) == 1.0).all()
    units = np.array([0, 0, 1, 1])
    few = np.array([[0.4, 1.0, np.nan], [0.4, 2.0, np.nan], [0.4, np.nan, np.nan], [0.4, np.nan, np.nan]])
    assert np.isnan(design_effect(few, units)).all()
    assert np.isnan(design_effect(few[:2], np.array([0, 0]))).all()
    assert np.isnan(design_effect(np.empty((0, 2)), np.empty(0, dtype=np.int64))).all()


# Bayes factors.


def _to_thirty_digits(statistic: float, n: int) -> float:
    """The JZS integral over ln g by mpmath, as a logarithm."""
    import mpmath

    t, r = mpmath.mpf(statistic), mpmath.mpf("0.707")

    def over(u: "mpf") -> "mpf":
        g = mpmath.exp(u)
        wide = 1 + n * g * r**2
        prior = mpmath.exp(-1 / (2 * g)) / mpmath.sqrt(2 * mpmath.pi * g)
        return prior / mpmath.sqrt(wide) * (1 + t**2 / (wide * (n - 1))) ** (-mpmath.mpf(n) / 2)

    with mpmath.workdps(30):
        above = mpmath.quad(over, [-8, -4, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12, 20, 40, 90])
        return float(mpmath.log(above / (1 + t**2 / (n - 1)) ** (-mpmath.mpf(n) / 2)))


def _large(statistic: float, n: int) -> float:
    """The same by scipy, its largest value taken out, for statistics at which pingouin's is wrong."""

    def density(log: float, top: float = 0.0) -> float:
        wide = 1 + n * np.exp(log) * 0.707**2
        prior = -0.5 * (np.log(2 * np.pi) + log + np.exp(-log))
        fit = np.log1p(statistic**2 / (n - 1)) - np.log1p(statistic**2 / (n - 1) / wide)
        return float(prior - 0.5 * np.log(wide) + n / 2 * fit - top)

    top = max(density(log) for log in np.linspace(-8, 40, 2000))
    pieces = [
        integrate.quad(lambda log: np.exp(density(log, top)), a, a + 4, epsabs=0, epsrel=1e-11, limit=200)[0]
        for a in range(-7, 57, 4)
    ]
    return float(top + np.log(sum(pieces)))


FACTORS = """
    # statistic | units | oracle
    6.328125  | 140  | digits
    0.0       | 2    | digits
    -8.0      | 3000 | digits
    2.1       | 25   | digits
    8.0       | 2    | digits
    40.0      | 20   | large
    1000.0    | 20   | large
    -90.0     | 128  | large
    300.0     | 5    | large
    100000.0  | 3    | large
"""


def test_a_bayes_factor_is_its_integral_and_pingouins() -> None:
    import pingouin

    for words in table(FACTORS):
        statistic, n = float(words[0]), int(words[1])
        wanted = (_to_thirty_digits if words[2] == "digits" else _large)(statistic, n)
        ours = float(np.log(bayes_factors(np.array([statistic]), np.array([n]))[0]))
        assert ours == pytest.approx(wanted, rel=1e-7, abs=1e-7), words
    values = np.random.default_rng(11).gamma(2.0, size=(40, 2, 3)) / 2
    sample = describe(values)
    ours_of = bayes_factors(student(sample, 0.9).statistic, sample.count)
    for place in np.ndindex(2, 3):
        theirs = pingouin.ttest(values[(slice(None), *place)], 0.9)["BF10"].iloc[0]
        assert ours_of[place] == pytest.approx(float(theirs), rel=1e-3, abs=6e-4)


def test_a_bayes_factor_tells_of_a_point_and_of_nothing_untestable() -> None:
    ours = bayes_factors(np.array([-6.0, 6.0, 0.0]), np.array([50, 50, 50]))
    assert ours[0] == ours[1] > 1000
    assert ours[2] < 0.3
    statistic = np.array([np.nan, np.inf, 2.0, 2.0, 200.0])
    edges = bayes_factors(statistic, np.array([20, 20, 1, 0, 2000]))
    assert np.isnan(edges[:4]).all()
    assert edges[4] == np.inf
