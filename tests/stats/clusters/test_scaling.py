"""The map of heads: stress, orientation, and clouds of resampled units laid onto it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.spatial.distance import pdist
from sklearn.manifold import smacof

from headroles.records.clusters import Divergence
from headroles.stats.clusters import distances as distances_module
from headroles.stats.clusters.distances import (
    map_distances,
    orient_map,
    place_heads,
    procrustes_map,
    resampled_maps,
    square_matrix,
    stress,
)
from headroles.stats.clusters.run import cluster_heads
from tests.support.reference import draws


def _turn(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def test_points_on_a_plane_are_placed_as_they_lie() -> None:
    points = np.random.default_rng(0).normal(size=(15, 2))
    place, left = place_heads(pdist(points), 0)
    assert left < 1e-3
    np.testing.assert_allclose(pdist(place), pdist(points), atol=1e-2)


def test_the_stress_is_kruskals_and_no_worse_than_that_of_more_random_starts() -> None:
    distance = pdist(np.random.default_rng(1).normal(size=(20, 8)))
    place, found = place_heads(distance, 0)
    on_map = pdist(place)
    assert found == pytest.approx(np.sqrt(((distance - on_map) ** 2).sum() / (on_map**2).sum()))
    other, _ = smacof(square_matrix(distance), n_components=2, n_init=20, random_state=1, max_iter=500)
    assert found <= stress(distance, other) * 1.001
    assert np.isnan(stress(distance, np.zeros((20, 2))))


@pytest.mark.parametrize(("way", "power"), [("mean", 0.5), ("sum", 1.0)])
def test_the_map_scales_roots_of_means_and_the_released_sums_themselves(way: str, power: float) -> None:
    rng = np.random.default_rng(5)
    sums = pdist(rng.normal(size=(12, 2))) ** (1 / power) * rng.gamma(9.0, 0.1, size=(7, 66))
    found = cluster_heads(Divergence(3, 4, sums, np.ones(7), np.arange(7), way=way), draws=20)
    wanted = (sums.sum(axis=0) if way == "sum" else sums.mean(axis=0)) ** power
    on_map = pdist(found.place)
    assert found.stress == pytest.approx(np.sqrt(((wanted - on_map) ** 2).sum() / (on_map**2).sum()))
    other, _ = smacof(square_matrix(wanted), n_components=2, n_init=20, random_state=1, max_iter=500)
    assert found.stress <= stress(wanted, other) * 1.02
    assert pdist(found.cloud.mean(axis=0)).mean() == pytest.approx(wanted.mean(), rel=0.3)


def test_the_released_matrix_is_mapped_as_well_as_by_the_released_call(shared: Path) -> None:
    with np.load(shared / "golden" / "published.npz") as arrays:
        released = arrays["js_sum"]
    pairs = released[np.triu_indices(len(released), 1)]
    place, found = place_heads(map_distances(pairs, "sum"), 0)
    other, _ = smacof(released, n_components=2, n_init=2, random_state=0, max_iter=1000, eps=1e-10)
    assert found <= stress(pairs, other) * 1.001
    assert stress(pairs, place) == found
    assert stress(map_distances(pairs, "mean"), place) > 0.5  # of a map of roots it is below that


@settings(max_examples=draws(50))
@given(angle=some.floats(0, 6.28), mirrored=some.booleans(), seed=some.integers(0, 100))
def test_maps_that_differ_by_a_turn_are_given_alike(angle: float, mirrored: bool, seed: int) -> None:
    place = np.random.default_rng(seed).normal(size=(12, 2)) * [3.0, 1.0]
    moved = place @ _turn(angle) * [1.0, -1.0 if mirrored else 1.0] + [5.0, -2.0]
    np.testing.assert_allclose(orient_map(moved), orient_map(place), atol=1e-9)
    np.testing.assert_allclose(procrustes_map(moved, place), place, atol=1e-9)
    np.testing.assert_allclose(pdist(procrustes_map(2 * moved, place)), 2 * pdist(place), atol=1e-9)


def test_equal_data_give_equal_maps() -> None:
    distance = pdist(np.random.default_rng(2).normal(size=(12, 6)))
    first, second = (place_heads(distance, 7)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_heads_scatter_where_units_disagree() -> None:
    rng = np.random.default_rng(3)
    points = 5 * rng.normal(size=(12, 2))
    shaky = np.zeros(12)
    shaky[4] = 2.0
    seen = points + shaky[:, None] * rng.normal(size=(50, 12, 2))
    first, second = np.triu_indices(12, 1)
    sums = ((seen[:, first] - seen[:, second]) ** 2).sum(axis=2)
    divergence = Divergence(3, 4, sums, np.ones(50), np.arange(50))
    place, _ = place_heads(np.sqrt(divergence.mean()), 0)
    found = resampled_maps(divergence, place, 30, 0)
    assert found.shape == (30, 12, 2)
    assert found.dtype == np.float32
    spread = found.std(axis=0).mean(axis=1)
    assert spread.argmax() == 4
    assert np.abs(found.mean(axis=0) - place).max() < 0.6
    np.testing.assert_array_equal(found, resampled_maps(divergence, place, 30, 0))


def test_a_cloud_has_no_more_draws_than_it_can_afford(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = np.random.default_rng(4).random((6, 10))
    divergence = Divergence(1, 5, sums, np.ones(6), np.arange(6))
    place, _ = place_heads(np.sqrt(divergence.mean()), 0)
    assert resampled_maps(divergence, place, 1000, 0).shape == (100, 5, 2)
    monkeypatch.setattr(distances_module, "MANY", 4)
    assert resampled_maps(divergence, place, 1000, 0).shape == (30, 5, 2)
    alone = Divergence(1, 5, sums[:1], np.ones(1), np.arange(1))
    assert resampled_maps(alone, place, 50, 0).shape == (0, 5, 2)


def test_equal_heads_lie_on_one_point() -> None:
    place, left = place_heads(np.zeros(10), 0)
    assert not place.any()
    assert np.isnan(left)
