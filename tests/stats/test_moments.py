"""Moments over units agree with numpy, scipy and pandas, and NaN never counts."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats as reference

from headroles.stats.moments import Sample, describe, unit_means, unit_sums

FIELDS = ("count", "mean", "sd", "skew")


def _holed(rng: np.random.Generator, rows: int, columns: int, share: float = 0.3) -> np.ndarray:
    values: np.ndarray = rng.gamma(2.0, size=(rows, columns)) * rng.choice([-1.0, 1.0], size=columns)
    values[rng.random(values.shape) < share] = np.nan
    return values


def _same(one: Sample, other: Sample) -> None:
    for name in FIELDS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12)


def _holed_columns() -> st.SearchStrategy[np.ndarray]:
    shape = hnp.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=12)
    number = st.one_of(st.just(float("nan")), st.integers(-1000, 1000).map(lambda k: k / 100))
    return hnp.arrays(np.float64, shape, elements=number)


@given(_holed_columns())
def test_moments_are_those_of_numpy_and_scipy_on_what_is_not_nan(values: np.ndarray) -> None:
    sample = describe(values)
    flat = values.reshape(len(values), -1)
    moments = [np.asarray(getattr(sample, name)).ravel() for name in FIELDS]
    for column, (count, mean, sd, skew) in zip(flat.T, zip(*moments, strict=True), strict=True):
        known = column[~np.isnan(column)]
        assert count == len(known)
        if not len(known):
            assert np.isnan(mean)
            assert np.isnan(sd)
            continue
        assert mean == pytest.approx(known.mean(), abs=1e-12)
        if len(known) == 1:
            assert np.isnan(sd)
            continue
        assert sd == pytest.approx(known.std(ddof=1), abs=1e-9)
        wanted = reference.skew(known) if np.ptp(known) > 0 else 0.0
        assert skew == pytest.approx(wanted, abs=1e-7)


@given(_holed_columns())
def test_moments_without_shape_are_the_same_bits(values: np.ndarray) -> None:
    whole, part = describe(values), describe(values, shape=False)
    for name in ("count", "mean", "sd"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(part, name))
    assert np.isnan(part.skew).all()
    assert part.carriers is None


def test_columns_with_and_without_holes_do_not_touch_each_other() -> None:
    rng = np.random.default_rng(1)
    values = _holed(rng, 40, 6)
    values[:, 0] = rng.normal(size=40)
    values[:, 5] = np.nan
    together = describe(values)
    for k in range(6):
        alone = describe(values[:, k : k + 1])
        for name in FIELDS:
            assert getattr(together, name)[k] == pytest.approx(getattr(alone, name)[0], nan_ok=True)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.floats(0.01, 100), st.floats(-50, 50))
def test_moments_follow_scale_and_shift(seed: int, rows: int, scale: float, shift: float) -> None:
    values = _holed(np.random.default_rng(seed), rows, 3)
    before, after = describe(values), describe(values * scale + shift)
    np.testing.assert_array_equal(after.count, before.count)
    np.testing.assert_allclose(after.mean, before.mean * scale + shift, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(after.sd, before.sd * scale, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(after.skew, before.skew, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(describe(-values).skew, -before.skew, rtol=1e-9, atol=1e-12)


def test_the_order_of_the_units_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    values = _holed(rng, 50, 4)
    _same(describe(values), describe(values[rng.permutation(50)]))


def test_moments_far_from_zero_lose_no_spread() -> None:
    values = 1e6 + np.random.default_rng(3).normal(size=(200, 3))
    np.testing.assert_allclose(describe(values).sd, values.std(axis=0, ddof=1), rtol=1e-9)


def test_a_constant_column_has_no_spread_and_no_skew() -> None:
    sample = describe(np.full((7, 2), 0.25))
    assert sample.sd.tolist() == [0.0, 0.0]
    assert sample.skew.tolist() == [0.0, 0.0]


def test_describing_leaves_the_scores_as_they_were() -> None:
    values = _holed(np.random.default_rng(4), 20, 3)
    before = values.copy()
    values.flags.writeable = False
    describe(values)
    unit_means(values, np.arange(20) // 2)
    np.testing.assert_array_equal(values, before)


def test_no_units_at_all_say_nothing() -> None:
    sample = describe(np.empty((0, 2)))
    assert sample.count.tolist() == [0, 0]
    assert np.isnan(sample.mean).all()
    assert unit_means(np.empty((0, 2)), np.empty(0, dtype=np.int64)).shape == (0, 2)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 40))
def test_unit_means_are_those_of_a_pandas_groupby(seed: int, rows: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    _, units = np.unique(rng.integers(most, size=rows), return_inverse=True)
    values = _holed(rng, rows, 3, share=rng.choice([0.0, 0.5, 0.9]))
    values[rng.random(rows) < rng.choice([0.0, 0.5, 0.9])] = np.nan  # examples without a score of any head
    wanted = pd.DataFrame(values).groupby(units).mean().to_numpy()
    np.testing.assert_allclose(unit_means(values, units), wanted, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 40))
def test_unit_sums_are_those_of_numpys_add_at(seed: int, rows: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    _, units = np.unique(rng.integers(most, size=rows), return_inverse=True)
    values = rng.normal(size=(rows, 2, 3))
    wanted = np.zeros((units.max() + 1, 2, 3))
    np.add.at(wanted, units, values)
    np.testing.assert_allclose(unit_sums(values, units), wanted, rtol=1e-12, atol=1e-12)


def test_units_of_one_example_keep_their_place() -> None:
    values = np.array([[1.0], [2.0], [3.0]])
    assert unit_means(values, np.array([2, 0, 1])).ravel().tolist() == [2.0, 3.0, 1.0]


def test_a_unit_weighs_one_however_many_examples_it_has() -> None:
    values = np.array([[0.0], [0.0], [0.0], [1.0]])
    means = unit_means(values, np.array([0, 0, 0, 1]))
    assert describe(means).mean.tolist() == [0.5]
    assert describe(means).count.tolist() == [2]
