"""Clusters of heads: three ways, how they are compared, and how many there are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score, silhouette_samples

from headroles.errors import BadInput, UnknownName
from headroles.records.clusters import Choice, Divergence
from headroles.stats.clusters.clusters import (
    METHODS,
    NOISE,
    adjusted_rand,
    best_number,
    choose_clusters,
    cut_tree,
    dbscan_clusters,
    linkage_tree,
    noise_as_clusters,
    number_by_size,
    overlap,
    silhouette,
    spectral_clusters,
)
from headroles.stats.clusters.distances import distances, resampled_means, square_matrix
from tests.support.reference import draws

Planted = tuple[Divergence, np.ndarray]


def planted_clusters(kinds: int, *, spread: float = 0.1, units: int = 40, seed: int = 0) -> Planted:
    """Heads of 4 layers × 8 scattered around prototypes; each unit is a noisy look at all of them."""
    rng = np.random.default_rng(seed)
    kind = rng.permutation(np.arange(32) % kinds)
    place = 4 * np.eye(kinds, 8)[kind] + spread * rng.normal(size=(32, 8))
    seen = place + 0.3 * rng.normal(size=(units, 32, 8))
    first, second = np.triu_indices(32, 1)
    sums = ((seen[:, first] - seen[:, second]) ** 2).sum(axis=2)
    return Divergence(4, 8, sums, np.ones(units), np.arange(units)), kind


@settings(max_examples=draws(50))
@given(seed=some.integers(0, 1000), heads=some.integers(3, 30))
def test_a_tree_is_cut_into_the_clusters_of_scipy(seed: int, heads: int) -> None:
    pairs = heads * (heads - 1) // 2
    tree = linkage_tree(np.random.default_rng(seed).random(pairs))
    numbers = list(range(1, heads + 1))
    for number, label in zip(numbers, cut_tree(tree, numbers), strict=True):
        assert label.max() == number - 1
        assert adjusted_rand(label, fcluster(tree, number, "maxclust") - 1) == 1


def test_ties_give_as_many_clusters_as_asked_for() -> None:
    for label, number in zip(cut_tree(linkage_tree(np.ones(10)), [2, 3, 4]), (2, 3, 4), strict=True):
        assert len(set(label.tolist())) == number


@settings(max_examples=draws(50))
@given(
    some.lists(some.tuples(some.integers(0, 4), some.integers(0, 3)), min_size=2, max_size=40),
)
def test_the_adjusted_rand_index_is_that_of_scikit_learn(both: list[tuple[int, int]]) -> None:
    one, other = (np.array(column) for column in zip(*both, strict=True))
    assert adjusted_rand(one, other) == pytest.approx(adjusted_rand_score(one, other))
    shared = [
        ((one == one[head]) & (other == other[head])).sum()
        / ((one == one[head]) | (other == other[head])).sum()
        for head in range(len(one))
    ]
    np.testing.assert_allclose(overlap(one, other), shared)


def test_clusters_are_numbered_by_size_and_noise_stays() -> None:
    label = np.array([4, NOISE, 2, 2, 9, 4, 2, NOISE])
    assert number_by_size(label).tolist() == [1, NOISE, 0, 0, 2, 1, 0, NOISE]
    assert noise_as_clusters(number_by_size(label)).tolist() == [1, 3, 0, 0, 2, 1, 0, 4]
    assert number_by_size(np.full(3, NOISE)).tolist() == [NOISE] * 3
    assert noise_as_clusters(np.full(3, NOISE)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("kinds", [2, 4])
def test_planted_clusters_are_recovered_with_their_number(method: str, kinds: int) -> None:
    divergence, kind = planted_clusters(kinds)
    found = choose_clusters(divergence, method, None, 20, 0)
    assert found.number == kinds
    assert adjusted_rand(found.cluster, kind) == 1
    assert found.stability.min() > 0.95
    assert np.nanmin(found.silhouette) > 0.5
    assert sum(each.chosen for each in found.choices) == 1


def test_choices_are_those_of_scipy_and_scikit_learn_on_distances() -> None:
    sums = np.random.default_rng(3).gamma(1, 1, size=(8, 66)) ** 2
    divergence = Divergence(3, 4, sums, np.ones(8), np.arange(8))
    found = choose_clusters(divergence, "average", None, 6, 2)
    drawn = np.concatenate(list(resampled_means(divergence, 6, 2)))
    trees = [linkage(np.sqrt(mean), "average") for mean in (sums.mean(axis=0), *drawn)]
    whole = squareform(np.sqrt(sums.mean(axis=0)))
    assert [each.clusters for each in found.choices] == [2, 3, 4, 5, 6]
    for each in found.choices:
        label, *others = (fcluster(tree, each.clusters, "maxclust") for tree in trees)
        widths = silhouette_samples(whole, label, metric="precomputed")
        assert each.silhouette == pytest.approx(widths.mean())
        assert each.stability == pytest.approx(np.mean([adjusted_rand_score(label, row) for row in others]))
        if each.chosen:
            assert adjusted_rand_score(label, found.cluster) == 1
            np.testing.assert_allclose(found.silhouette, widths)
            shared = [
                [
                    ((label == label[head]) & (row == row[head])).sum()
                    / ((label == label[head]) | (row == row[head])).sum()
                    for head in range(12)
                ]
                for row in others
            ]
            np.testing.assert_allclose(found.stability, np.mean(shared, axis=0))


@pytest.mark.parametrize("seed", range(6))
def test_spectral_clusters_are_those_of_a_gaussian_kernel_of_median_width(seed: int) -> None:
    place = np.random.default_rng(seed).normal(size=(14, 2))
    apart = pdist(place)
    kernel = SpectralClustering(3, gamma=0.5 / np.median(apart) ** 2, assign_labels="cluster_qr")
    assert adjusted_rand_score(spectral_clusters(apart, [3])[0], kernel.fit(place).labels_) == 1


@pytest.mark.parametrize(("gap", "clusters"), [(4.4, 1), (4.6, 2)])
def test_dense_regions_reach_as_far_as_tukeys_fence_of_third_nearest_heads(gap: float, clusters: int) -> None:
    # Two groups of four heads on a line, one apart: their third nearest lie 3, 2, 2, 3 away, so the fence is
    # at 3 + 1.5 (3 − 2) = 4.5. The fourth nearest lie in the other group.
    one = np.arange(4.0)
    label = dbscan_clusters(pdist(np.concatenate([one, one + 3 + gap])[:, None]), [0])[0]
    assert label.tolist() == ([0] * 8 if clusters == 1 else [0] * 4 + [1] * 4)


def test_three_heads_are_no_dense_region() -> None:
    assert dbscan_clusters(np.ones(3), [0]).tolist() == [[NOISE] * 3]


def test_the_largest_silhouette_is_not_taken_where_it_does_not_come_back() -> None:
    tried = [Choice(2, 0.7, 0.59), Choice(3, 0.5, 0.6), Choice(4, 0.6, 0.9), Choice(5, 0.1, 1.0)]
    every = [True] * 4
    assert best_number(tried, every) == 2
    assert best_number([replace(each, stability=each.stability / 3) for each in tried], every) == 3
    assert best_number([replace(each, stability=np.nan) for each in tried], every) == 0
    assert best_number(tried, [True, False, False, False]) == 0
    assert best_number(tried, [False] * 4) == 2


def test_distances_that_are_noise_give_clusters_that_do_not_come_back() -> None:
    sums = np.random.default_rng(1).gamma(1, 1, size=(12, 276))
    found = choose_clusters(Divergence(4, 6, sums, np.ones(12), np.arange(12)), "average", None, 40, 0)
    assert max(each.stability for each in found.choices) < 0.6
    assert found.stability.mean() < 0.7


def test_one_head_unlike_all_others_is_no_reason_to_stop_at_two_clusters() -> None:
    rng = np.random.default_rng(2)
    place = np.concatenate([rng.normal(0, 1, (12, 4)), rng.normal(3, 1, (11, 4)), np.full((1, 4), 60.0)])
    seen = place + 0.3 * rng.normal(size=(30, 24, 4))
    first, second = np.triu_indices(24, 1)
    sums = ((seen[:, first] - seen[:, second]) ** 2).sum(axis=2)
    found = choose_clusters(Divergence(4, 6, sums, np.ones(30), np.arange(30)), "average", None, 20, 0)
    assert max(found.choices, key=lambda each: each.silhouette).clusters == 2
    assert found.number == 3
    assert np.bincount(found.cluster).tolist() == [12, 11, 1]


def test_a_number_that_is_asked_for_is_the_only_one_tried() -> None:
    found = choose_clusters(planted_clusters(4)[0], "average", 3, 10, 0)
    assert [each.clusters for each in found.choices] == [3]
    assert found.cluster.max() == 2


def test_heads_far_from_dense_regions_are_noise_without_silhouette() -> None:
    rng = np.random.default_rng(2)
    place = np.concatenate([rng.normal(0, 0.1, (12, 2)), rng.normal(5, 0.1, (12, 2)), [[50.0, 50.0]]])
    first, second = np.triu_indices(25, 1)
    pairs = np.linalg.norm(place[first] - place[second], axis=1)
    label = dbscan_clusters(pairs, [0])[0]
    assert label[-1] == NOISE
    assert set(label[:24].tolist()) == {0, 1}
    widths = silhouette(square_matrix(pairs), label)
    assert np.isnan(widths[-1])
    assert widths[:24].min() > 0.9


def test_without_two_clusters_there_is_no_silhouette() -> None:
    whole = square_matrix(np.ones(6))
    assert np.isnan(silhouette(whole, np.zeros(4, dtype=int))).all()
    assert np.isnan(silhouette(whole, np.arange(4))).all()


@pytest.mark.parametrize("method", sorted(METHODS))
def test_equal_heads_are_no_trouble(method: str) -> None:
    same = Divergence(2, 4, np.zeros((5, 28)), np.ones(5), np.arange(5))
    assert choose_clusters(same, method, None, 5, 0).cluster.shape == (8,)


def test_without_resamples_silhouettes_decide() -> None:
    divergence, kind = planted_clusters(4)
    for found in (
        choose_clusters(divergence, "average", None, 0, 0),
        choose_clusters(
            Divergence(4, 8, divergence.sums[:1], np.ones(1), np.arange(1)), "average", None, 50, 0
        ),
    ):
        assert adjusted_rand(found.cluster, kind) == 1
        assert np.isnan([each.stability for each in found.choices]).all()
        assert np.isnan(found.stability).all()


def test_what_cannot_be_is_said() -> None:
    divergence, _ = planted_clusters(2)
    with pytest.raises(UnknownName, match="average"):
        choose_clusters(divergence, "averages", None, 0, 0)
    with pytest.raises(BadInput, match="from 2 to 31, but got 32"):
        choose_clusters(divergence, "average", 32, 0, 0)
    with pytest.raises(BadInput, match="dbscan finds the number"):
        choose_clusters(divergence, "dbscan", 3, 0, 0)
    with pytest.raises(BadInput, match="three or more heads, but this model has 2"):
        choose_clusters(Divergence(1, 2, np.ones((2, 1)), np.ones(2), np.arange(2)), "average", None, 0, 0)


def test_distances_are_roots_and_never_of_less_than_nothing() -> None:
    assert distances(np.array([0.09, -1e-9])).tolist() == [0.3, 0.0]
