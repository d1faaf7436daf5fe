"""Overlaps and layers: counts, exact references, intervals over resampled units."""

from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom, permutation_test

from headroles.stats.assessment.depth import depth_trend, layer_thirds, role_depths
from headroles.stats.assessment.together import (
    overlap_chances,
    percentile_interval,
    random_overlap,
    role_pairs,
)
from headroles.stats.relabel import Grid
from tests.support.reference import draws

NAMES = ("local", "block", "none")


def _held(rng: np.random.Generator, draws: int = 0) -> np.ndarray:
    """Roles over 3 layers of 8 heads: local early, block late, none nowhere."""
    chance = np.repeat([[0.7, 0.4, 0.1], [0.1, 0.3, 0.8], [0.0, 0.0, 0.0]], 8, axis=1)
    shape = (3, draws, 24) if draws else (3, 24)
    held: np.ndarray = rng.random(shape) < (chance[:, None] if draws else chance)
    return held


def test_overlaps_are_counted_and_shared_over_the_first_role() -> None:
    rng = np.random.default_rng(0)
    observed, drawn = _held(rng), _held(rng, 200)
    found = {
        (pair.first, pair.second): pair for pair in role_pairs(NAMES, observed, drawn, Grid(3, 8), "with")
    }
    assert len(found) == 6
    one, other = observed[0], observed[1]
    pair, turned = found["local", "block"], found["block", "local"]
    assert (pair.heads_first, pair.heads_second, pair.both) == (one.sum(), other.sum(), (one & other).sum())
    assert pair.share == pair.both / pair.heads_first
    assert turned.share == turned.both / turned.heads_first
    assert (pair.both, pair.expected, pair.both_low) == (turned.both, turned.expected, turned.both_low)
    counts = (drawn[0] & drawn[1]).sum(axis=1)
    assert (pair.both_low, pair.both_high) == tuple(np.quantile(counts, [0.025, 0.975]))
    shares = counts / drawn[0].sum(axis=1)
    assert (pair.share_low, pair.share_high) == tuple(np.quantile(shares, [0.025, 0.975]))
    assert isnan(found["none", "local"].share)
    assert isnan(found["none", "local"].share_low)
    assert found["local", "none"].share == 0


def test_the_reference_deals_labels_anew_within_each_layer() -> None:
    rng = np.random.default_rng(1)
    observed = _held(rng)
    first, second = (observed[k].reshape(3, 8) for k in (0, 1))
    mean, low, high = random_overlap(first.sum(axis=1), second.sum(axis=1), 8)
    dealings = np.array(
        [(first & rng.permuted(second, axis=1)).sum() for _ in range(20_000)]
    )  # fmt: skip
    assert mean == pytest.approx(dealings.mean(), abs=0.03)
    assert (low, high) == tuple(np.quantile(dealings, [0.025, 0.975], method="inverted_cdf"))


@settings(max_examples=draws(60))
@given(st.integers(1, 64).flatmap(lambda heads: st.tuples(st.just(heads), *2 * [st.integers(0, heads)])))
def test_chances_of_an_overlap_are_scipys_hypergeometric_ones(sizes: tuple[int, int, int]) -> None:
    heads, first, second = sizes
    theirs = hypergeom.pmf(np.arange(heads + 1), heads, first, second)
    np.testing.assert_allclose(overlap_chances(heads, first, second), theirs, rtol=1e-11, atol=0)


def test_roles_confined_to_layers_are_expected_to_meet_where_both_live() -> None:
    assert random_overlap(np.array([8, 0]), np.array([0, 8]), 8) == (0.0, 0.0, 0.0)
    assert random_overlap(np.array([8, 0]), np.array([8, 0]), 8) == (8.0, 8.0, 8.0)


def test_an_interval_needs_half_of_the_resamples() -> None:
    values = np.array([1.0, np.nan, np.nan, 2.0, np.nan])
    assert np.isnan(percentile_interval(values)).all()
    assert percentile_interval(np.array([1.0, 1.0, np.nan])) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("layers", "wanted"), [(6, [2, 2, 2]), (12, [4, 4, 4]), (7, [2, 3, 2]), (4, [1, 2, 1])]
)
def test_layers_fall_into_thirds_by_relative_depth(layers: int, wanted: list[int]) -> None:
    shares = layer_thirds(np.ones((1, layers)))[0]
    np.testing.assert_allclose(shares * layers, wanted)
    assert np.isnan(layer_thirds(np.zeros((1, layers)))).all()


@pytest.mark.parametrize("layers", [3, 6, 7, 8, 12], ids=lambda layers: f"{layers} layers")
@pytest.mark.parametrize("seed", range(4))
def test_reordered_layers_are_those_of_scipys_permutation_test(layers: int, seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 9, layers) + np.arange(layers) // 2
    held = (np.arange(16) < counts[:, None]).reshape(1, -1)
    (found,) = role_depths(["a"], held, held[:, None], Grid(layers, 16), seed)
    depth = np.arange(layers) - (layers - 1) / 2

    def strength(values: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(np.abs((np.moveaxis(values, axis, -1) * depth).sum(axis=-1)))

    theirs = permutation_test(
        (counts.astype(np.float64),),
        strength,
        permutation_type="pairings",
        n_resamples=9999,
        alternative="greater",
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    assert found.reference == theirs.pvalue


def test_a_trend_is_the_correlation_with_depth() -> None:
    counts = np.array([[0, 2, 1, 5, 4, 7], [3, 3, 3, 3, 3, 3]])
    found = depth_trend(counts)
    assert found[0] == pytest.approx(np.corrcoef(np.arange(6), counts[0])[0, 1])
    assert np.isnan(found[1])
    assert np.isnan(depth_trend(np.array([1, 4])))


def test_roles_over_layers_say_where_they_live_with_the_reference_of_reordered_layers() -> None:
    rng = np.random.default_rng(2)
    observed, drawn = np.zeros((2, 48), dtype=bool), np.zeros((2, 100, 48), dtype=bool)
    for layer, many in enumerate((0, 1, 2, 4, 6, 8)):
        observed[0, 8 * layer : 8 * layer + many] = True
        drawn[0, :, 8 * layer : 8 * layer + 8] = rng.random((100, 8)) < many / 8
    rising, nowhere = role_depths(("rising", "nowhere"), observed, drawn, Grid(6, 8), 0)
    assert rising.heads == 21
    assert rising.trend > 0.97
    assert rising.reference == pytest.approx(2 / 720)  # this order and its reverse, of 6!
    assert (rising.first, rising.middle, rising.last) == pytest.approx((1 / 21, 6 / 21, 14 / 21))
    assert rising.last_low < rising.last < rising.last_high
    assert nowhere.heads == 0
    for value in (nowhere.trend, nowhere.reference, nowhere.first, nowhere.last_high):
        assert isnan(value)


def test_layers_that_merely_differ_are_seldom_called_a_trend() -> None:
    # 12 layers with chances of their own, in no order: 15 to 37 % false trends by permuting heads.
    rng = np.random.default_rng(3)
    references = []
    for seed in range(60):
        counts = rng.binomial(12, rng.beta(1, 1, size=12))
        held = (np.arange(12) < counts[:, None]).reshape(1, -1)
        references.append(role_depths(("r",), held, held[:, None], Grid(12, 12), seed)[0].reference)
    assert np.mean(np.array(references) <= 0.05) <= 0.13
