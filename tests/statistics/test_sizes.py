"""Moments, effects, their intervals, design effects and Bayes factors are those of libraries."""

import numpy as np
import pytest
from scipy import stats as reference

from headroles import stats
from headroles.stats import bca, bootstrap_counts, describe, design_effect
from tests.support import table

# Moments.


@pytest.mark.parametrize("units", [1, 2, 3, 12, 60])
def test_moments_are_those_of_numpy_and_scipy_on_what_is_not_nan(units: int) -> None:
    rng = np.random.default_rng(units)
    values = np.round(rng.gamma(0.5, 3, (units, 6, 5)) - 2, 2)
    values[rng.random(values.shape) < np.linspace(0, 1, 6)[:, None]] = np.nan
    values[:, 0, 0] = 0.3
    values.flags.writeable = False
    sample, part = describe(values), describe(values, shape=False)
    for place in np.ndindex(6, 5):
        known = values[(slice(None), *place)]
        known = known[~np.isnan(known)]
        spread, n = len(known) > 1 and np.ptp(known) > 0, len(known)
        for name, wanted in {
            "count": n, "mean": known.mean() if n else np.nan, "sd": known.std(ddof=1) if n > 1 else np.nan,
            "skew": reference.skew(known) if spread else 0.0,
        }.items():  # fmt: skip
            assert getattr(sample, name)[place] == pytest.approx(wanted, rel=1e-6, abs=1e-9, nan_ok=True), (
                name
            )
    for name in ("count", "mean", "sd"):
        np.testing.assert_array_equal(getattr(sample, name), getattr(part, name))
    assert np.isnan(part.skew).all()


def test_moments_lose_no_spread_far_from_zero_and_find_none_in_constants_or_nothing() -> None:
    far = 1e6 + np.random.default_rng(3).normal(size=(200, 3))
    np.testing.assert_allclose(describe(far).sd, far.std(axis=0, ddof=1), rtol=1e-9)
    nothing, constant = describe(np.empty((0, 2))), describe(np.full((7, 2), 0.25))
    assert nothing.count.tolist() == [0, 0]
    assert np.isnan(nothing.mean).all()
    assert constant.sd.tolist() == constant.skew.tolist() == [0.0, 0.0]


# The bootstrap interval.


def test_bca_is_scipys_for_many_columns_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for seed, n, resamples, confidence in ((1, 20, 300, 0.8), (2, 90, 1200, 0.95), (3, 40, 700, 0.99)):
        rng = np.random.default_rng(seed)
        values = rng.gamma(rng.uniform(0.3, 5, size=(2, 4)), size=(n, 2, 4)) * rng.choice([-1.0, 1.0], size=4)
        values[:, 1, 1] = rng.integers(0, 4, n)  # many resamples have the mean itself
        wanted = reference.bootstrap(
            (values,), np.mean, method="BCa", n_resamples=resamples, rng=np.random.default_rng(seed),
            confidence_level=confidence,
        ).confidence_interval  # fmt: skip
        ours = np.stack(bca(values, bootstrap_counts(n, resamples, seed), confidence))
        np.testing.assert_allclose(ours, [wanted.low, wanted.high], rtol=1e-9, atol=1e-10)
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
    for nothing in (np.empty((0, 2)), np.ones((4, 2))):
        assert np.isnan(np.stack(bca(nothing, iter(())))).all()


# Design effects.


def test_the_design_effect_is_the_ratio_of_two_variances_of_means() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        groups, size = int(rng.integers(3, 12)), int(rng.integers(2, 8))
        units = rng.permutation(np.concatenate([np.arange(groups), rng.integers(0, groups, groups * size)]))
        values = rng.normal(size=(groups, 3))[units] + rng.normal(size=(len(units), 3))
        values[:, 0][rng.random(len(units)) < 0.3] = np.nan
        for column, ours in zip(values.T, design_effect(values, units), strict=True):
            known = ~np.isnan(column)
            means = [column[known & (units == unit)].mean() for unit in np.unique(units[known])]
            apart = np.var(column[known], ddof=1) / known.sum()
            assert ours == pytest.approx(np.var(means, ddof=1) / len(means) / apart, rel=1e-9)
    assert (design_effect(values, np.arange(len(values))) == 1.0).all()
    holed = np.repeat(values, 2, axis=0)
    holed[1::2] = np.nan  # one example of each unit says something
    assert (design_effect(holed, np.arange(len(holed)) // 2) == 1.0).all()
    few = np.array([[0.4, 1.0, np.nan], [0.4, 2.0, np.nan], [0.4, np.nan, np.nan], [0.4, np.nan, np.nan]])
    assert np.isnan(design_effect(few, np.array([0, 0, 1, 1]))).all()
    assert np.isnan(design_effect(few[:2], np.array([0, 0]))).all()
    assert np.isnan(design_effect(np.empty((0, 2)), np.empty(0, dtype=np.int64))).all()


# Bayes factors.


FACTORS = """
    # statistic | units | ln of the factor, from its integral to 30 digits
    6.328125    | 140   | 14.9221486099
    0.0         | 2     | -0.647795160765
    -8.0        | 3000  | 27.7493008666
    2.1         | 25    | 0.306568418902
    8.0         | 2     | 0.705935364123
    40.0        | 20    | 38.0477111975
    1000.0      | 20    | 95.8748043116
    -90.0       | 128   | 259.797436647
    300.0       | 5     | 14.1656286053
    100000.0    | 3     | 11.1431348227
"""


def test_a_bayes_factor_is_its_integral() -> None:
    statistic, count, wanted = np.array(table(FACTORS), dtype=float).T
    ours = np.log(stats.bayes_factors(statistic, count.astype(int)))
    np.testing.assert_allclose(ours, wanted, rtol=1e-7, atol=1e-7)
    edges = stats.bayes_factors(np.array([np.nan, np.inf, 2.0, 2.0, 200.0]), np.array([20, 20, 1, 0, 2000]))
    assert np.isnan(edges[:4]).all()
    assert edges[4] == np.inf
