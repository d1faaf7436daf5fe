"""The Mantel correlation over layers, against numpy and scipy, and its p under reordered layers."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some
from scipy.stats import kstest, rankdata, spearmanr

from headroles.stats.clusters.distance_tests import layer_gaps, mantel, mantel_test


def _moving(layers: int, heads: int, step: float, seed: int) -> np.ndarray:
    """Distances of heads whose layers walk away from the first by some step each."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(size=(layers, 4)) + step * np.eye(4)[0], axis=0)
    place = np.repeat(walk, heads, axis=0) + rng.normal(size=(layers * heads, 4))
    first, second = np.triu_indices(layers * heads, 1)
    distance: np.ndarray = np.linalg.norm(place[first] - place[second], axis=1)
    return distance


@pytest.mark.parametrize("ranked", [False, True])
def test_the_correlation_is_that_of_pairs_between_layers(ranked: bool) -> None:
    distance = _moving(5, 3, 0.5, 0)
    first, second = np.triu_indices(15, 1)
    gaps = np.abs(first // 3 - second // 3)
    np.testing.assert_array_equal(gaps, layer_gaps(5, 3))
    between = gaps > 0
    one, other = distance[between], gaps[between]
    usual = spearmanr(one, other).statistic if ranked else np.corrcoef(one, other)[0, 1]
    assert mantel(distance, gaps, ranked) == pytest.approx(usual)


@pytest.mark.parametrize("ranked", [False, True])
def test_every_order_of_few_layers_is_tried(ranked: bool) -> None:
    distance = _moving(4, 2, 0.1, 1)
    found, p, orders = mantel_test(distance, (4, 2), ranked=ranked)
    first, second = np.triu_indices(8, 1)
    each = [
        mantel(distance, np.abs(np.array(order)[first // 2] - np.array(order)[second // 2]), ranked)
        for order in permutations(range(4))
    ]
    assert orders == len(each) == 24
    assert p == np.mean(np.array(each) >= found - 1e-12)
    assert p >= 2 / 24


@settings(max_examples=25)
@given(seed=some.integers(0, 10_000), layers=some.integers(3, 5), heads=some.integers(1, 2))
@example(seed=1, layers=5, heads=2)
def test_p_of_ranks_is_the_share_of_orders_where_ties_have_mean_ranks(
    seed: int, layers: int, heads: int
) -> None:
    rng, size = np.random.default_rng(seed), layers * heads
    first, second = np.triu_indices(size, 1)
    distance = rng.integers(1, 5, size=len(first)).astype(float)  # noise, with ties
    between = first // heads != second // heads
    with np.errstate(invalid="ignore"):
        each = [
            np.corrcoef(rankdata(distance[between]), rankdata(np.abs(order[first] - order[second])[between]))
            for order in (np.repeat(one, heads) for one in permutations(range(layers)))
        ]
    found, p, orders = mantel_test(distance, (layers, heads), ranked=True)
    own = np.array(each)[:, 0, 1]
    if np.isnan(own[0]):
        assert (np.isnan(found), np.isnan(p), orders) == (True, True, 0)
        return
    assert found == pytest.approx(own[0])
    assert orders == len(own)
    assert p == np.mean(own >= own[0] - 1e-9)


@pytest.mark.parametrize("ranked", [False, True])
def test_many_layers_are_reordered_at_random_and_p_is_never_zero(ranked: bool) -> None:
    found, p, orders = mantel_test(_moving(9, 2, 2.0, 2), (9, 2), ranked=ranked, placements=199)
    assert found > 0.7
    assert (p, orders) == (1 / 200, 199)
    _, unlike, _ = mantel_test(-_moving(9, 2, 2.0, 2), (9, 2), ranked=ranked, placements=199)
    assert unlike > 0.9


def test_random_orders_agree_with_all_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    distance = _moving(6, 3, 0.0, 3)
    _, exact, orders = mantel_test(distance, (6, 3))
    assert orders == 720
    monkeypatch.setattr("headroles.stats.clusters.distance_tests.EXACT", 2)
    _, drawn, count = mantel_test(distance, (6, 3), placements=20_000, seed=1)
    assert count == 20_000
    assert drawn == pytest.approx(exact, abs=0.012)


def test_shuffled_layers_give_uniform_p() -> None:
    # 8 layers of 3 heads in no order; random orders, reverses alike.
    rng = np.random.default_rng(4)
    found = []
    for shuffle in range(200):
        place = np.repeat(rng.normal(size=(8, 4)), 3, axis=0) + rng.normal(size=(24, 4))
        first, second = np.triu_indices(24, 1)
        distance = np.linalg.norm(place[first] - place[second], axis=1)
        found.append(mantel_test(distance, (8, 3), placements=499, seed=shuffle)[1])
    assert kstest(found, "uniform").pvalue > 0.001
    assert np.mean(np.array(found) <= 0.05) < 0.12


def test_closeness_within_layers_does_not_count() -> None:
    gaps, distance = layer_gaps(4, 3), _moving(4, 3, 0.5, 5)
    closer = np.where(gaps == 0, 0.0, distance)
    assert mantel_test(closer, (4, 3)) == mantel_test(distance, (4, 3))


@pytest.mark.parametrize("ranked", [False, True])
def test_there_is_nothing_to_say_without_spread(ranked: bool) -> None:
    assert np.isnan(mantel_test(np.arange(15.0), (2, 3), ranked=ranked)[:2]).all()
    assert np.isnan(mantel_test(np.arange(15.0), (1, 6), ranked=ranked)[:2]).all()
    assert np.isnan(mantel(np.full(66, 0.3), layer_gaps(4, 3), ranked))
    assert mantel_test(np.full(66, 0.3), (4, 3), ranked=ranked)[2] == 0
