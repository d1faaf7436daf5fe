"""PERMANOVA: its sums of squares against libraries, its p under random placement."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import f_oneway, kstest
from statsmodels.api import OLS

from headroles.stats.clusters.distance_tests import permanova, r_squared, r_squared_of_roles
from headroles.stats.clusters.distances import square_matrix
from tests.support.reference import draws


def _pairs(place: np.ndarray) -> np.ndarray:
    first, second = np.triu_indices(len(place), 1)
    apart: np.ndarray = ((place[first] - place[second]) ** 2).sum(axis=1)
    return apart


@settings(max_examples=draws(50))
@given(seed=some.integers(0, 1000), groups=some.integers(2, 4))
def test_on_a_line_it_is_the_analysis_of_variance(seed: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    group = np.concatenate([np.repeat(np.arange(groups), 2), rng.integers(groups, size=12)])
    value = rng.normal(size=len(group)) + group
    found = r_squared(_pairs(value[:, None]), group)
    samples = [value[group == each] for each in range(groups)]
    fisher = found / (groups - 1) / ((1 - found) / (len(group) - groups))
    assert fisher == pytest.approx(f_oneway(*samples).statistic)
    indicators = (group[:, None] == np.arange(groups)).astype(float)
    assert found == pytest.approx(OLS(value, indicators, hasconst=True).fit().rsquared)


def test_in_space_it_is_the_share_of_spread_about_the_centres() -> None:
    rng = np.random.default_rng(0)
    place, group = rng.normal(size=(20, 5)), np.repeat([0, 1, 2], [4, 6, 10])
    within = sum(((place[group == k] - place[group == k].mean(axis=0)) ** 2).sum() for k in range(3))
    total = ((place - place.mean(axis=0)) ** 2).sum()
    assert r_squared(_pairs(place), group) == pytest.approx(1 - within / total)


def test_random_placements_have_the_mean_that_is_told() -> None:
    mean, group = _pairs(np.random.default_rng(1).normal(size=(24, 4))), np.repeat(np.arange(4), 6)
    rng = np.random.default_rng(2)
    found = [r_squared(mean, rng.permutation(group)) for _ in range(2000)]
    assert np.mean(found) == pytest.approx(3 / 23, rel=0.02)


def test_p_is_the_share_of_placements_that_separate_as_well() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat([0, 1, 2], [3, 4, 5])
    mean = _pairs(rng.normal(size=(12, 2)) + 0.6 * group[:, None])
    share, p = permanova(mean, group, 4999, 0)
    drawn = np.array([r_squared(mean, rng.permutation(group)) for _ in range(4999)])
    assert share == r_squared(mean, group)
    assert p == pytest.approx((drawn >= share - 1e-12).mean(), abs=0.01)
    assert permanova(mean, group, 4999, 0) == (share, p)


def test_p_is_never_zero_and_equal_placements_count() -> None:
    far = _pairs(np.array([[0.0], [0.1], [50.0], [50.1]]))
    assert permanova(far, np.array([0, 0, 1, 1]), 999, 0)[1] == pytest.approx(1 / 3, abs=0.05)
    place = np.concatenate([np.zeros((10, 1)), np.full((10, 1), 9.0)])
    assert permanova(_pairs(place), np.repeat([0, 1], 10), 99, 1) == (1.0, 0.01)
    assert permanova(np.ones(10), np.array([0, 0, 1, 1, 1]), 99, 0)[1] == 1


def test_placements_without_any_spread_within_groups_are_equal_too() -> None:
    # Of the three ways to part four heads in twos, one has a sum of squares of exactly 0, as observed.
    share, p = permanova(_pairs(np.array([[0.0], [0.0], [9.0], [9.0]])), np.array([0, 0, 1, 1]), 1999, 0)
    assert share == 1
    assert p == pytest.approx(1 / 3, abs=0.04)


def test_shuffled_layers_give_uniform_p() -> None:
    rng = np.random.default_rng(4)
    layer = np.repeat(np.arange(4), 6)
    place = rng.normal(size=(24, 5)) + 2.0 * rng.normal(size=(3, 5))[np.arange(24) % 3]
    found = [permanova(_pairs(place[rng.permutation(24)]), layer, 499, shuffle)[1] for shuffle in range(200)]
    assert kstest(found, "uniform").pvalue > 0.001
    assert np.mean(np.array(found) <= 0.05) < 0.12


def test_layers_that_lie_apart_are_told_from_shuffled_ones() -> None:
    rng = np.random.default_rng(5)
    layer = np.repeat(np.arange(4), 6)
    place = rng.normal(size=(24, 5)) + 2.0 * rng.normal(size=(4, 5))[layer]
    share, p = permanova(_pairs(place), layer, 499, 0)
    assert share > 0.5
    assert p == 1 / 500


def test_sets_of_heads_have_the_share_of_two_groups() -> None:
    rng = np.random.default_rng(6)
    mean = _pairs(rng.normal(size=(15, 3)))
    held = rng.random((5, 15)) < 0.4
    held[3], held[4] = np.arange(15) < 1, np.arange(15) < 14
    found = r_squared_of_roles(square_matrix(mean), held)
    for row, share in zip(held[:3], found[:3], strict=True):
        assert share == pytest.approx(r_squared(mean, row.astype(int)))
    assert np.isnan(found[3:]).all()


def test_equal_heads_have_no_share() -> None:
    assert np.isnan(permanova(np.zeros(6), np.array([0, 0, 1, 1]), 9, 0)).all()
    assert np.isnan(r_squared_of_roles(np.zeros((4, 4)), np.array([[True, True, False, False]]))).all()


def test_roles_made_of_the_same_attention_give_small_p_for_random_heads() -> None:
    # Why claims about roles have no p: heads at random, a role for those that happen to look near.
    far = np.abs(np.arange(16)[:, None] - np.arange(16))
    small = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = np.exp(1.5 * rng.normal(size=(40, 16))[:, far])
        rows /= rows.sum(axis=2, keepdims=True)
        local = (rows * (far <= 2)).sum(axis=2).mean(axis=1)
        first, second = np.triu_indices(40, 1)
        half = (rows[first] + rows[second]) / 2
        ordered, mixed = ((each * np.log(each)).sum(axis=2).mean(axis=1) for each in (rows, half))
        mean = (ordered[first] + ordered[second]) / 2 - mixed
        role = (local > np.median(local)).astype(int)
        small.append(permanova(mean, role, 199, seed)[1])
    assert max(small) <= 0.05
