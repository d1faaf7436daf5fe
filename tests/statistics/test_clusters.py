"""Clusters of heads: distances, ways to cluster, the map, and claims of layers, by libraries and loops."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform

from headroles.records import Divergence, Row, Table
from headroles.stats import (
    bootstrap_counts,
    choose_clusters,
    cluster_heads,
    layer_claims,
    mantel_test,
    nearest_heads,
    permanova,
    random_halves,
    standard_error,
)

Named = dict[tuple[str, str], Row]
WAYS = ("average", "spectral", "dbscan")


def _of(sums: np.ndarray, layers: int, *, weight: np.ndarray | None = None, way: str = "mean") -> Divergence:
    """Block sums of heads in layers; a unit of its own for each block, if no weights are given."""
    blocks = len(sums)
    heads = round((1 + np.sqrt(1 + 8 * sums.shape[1])) / 2)
    weights = np.ones(blocks) if weight is None else weight
    return Divergence(
        layers, heads // layers, sums, weights, np.repeat(np.arange(blocks), weights.astype(int)), way=way
    )


def _pairs(place: np.ndarray) -> np.ndarray:
    """Squared distances of all pairs of heads, along the last axis."""
    first, second = np.triu_indices(place.shape[-2], 1)
    apart: np.ndarray = ((place[..., first, :] - place[..., second, :]) ** 2).sum(axis=-1)
    return apart


def _seen(place: np.ndarray, layers: int, units: int, noise: float = 0.3, seed: int = 0) -> Divergence:
    """Divergences of heads of which every unit gives a noisy look."""
    looks = place + noise * np.random.default_rng(seed).normal(size=(units, *place.shape))
    return _of(_pairs(looks), layers)


def _layered() -> Divergence:
    """Four layers of 6 heads that lie on a line, one after another."""
    line = np.repeat(np.arange(4), 6)[:, None] * [2.0, 0, 0]
    return _seen(line + np.random.default_rng(0).normal(size=(24, 3)), 4, 40, 0.5)


def _agree(one: np.ndarray, other: np.ndarray) -> float:
    """Adjusted Rand index of two clusterings."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(one, other))


def _named(claims: Table) -> Named:
    return {(claim.claim, claim.measure): claim for claim in claims}


# Distances and their errors.


@pytest.mark.parametrize("way", ["mean", "sum"])
def test_errors_neighbours_and_their_intervals_are_students_of_units(way: str) -> None:
    for units in (2, 3, 30):
        sums = np.random.default_rng(units).gamma(2, 1, size=(units, 66))
        divergence, size = _of(sums, 3, way=way), units if way == "sum" else 1
        error = standard_error(divergence)
        np.testing.assert_allclose(error, size * stats.sem(sums, axis=0))
        ends = stats.t.interval(0.95, units - 1, loc=sums.mean(axis=0), scale=stats.sem(sums, axis=0))
        whole, low, high = (
            np.sqrt(size * squareform(np.maximum(rows, 0))) for rows in (sums.mean(axis=0), *ends)
        )
        near = nearest_heads(divergence, error)
        assert near.head.shape == (12, 8)
        for head in range(12):
            others = np.delete(np.arange(12), head)
            expected = others[np.argsort(whole[head, others])][:8]
            assert near.head[head].tolist() == expected.tolist()
            np.testing.assert_allclose(near.distance[head], whole[head, expected])
            np.testing.assert_allclose(near.low[head], low[head, expected], atol=1e-12)
            np.testing.assert_allclose(near.high[head], high[head, expected])


def test_the_error_over_blocks_of_several_units_is_that_of_a_ratio() -> None:
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, size=200).astype(float)
    sums = weight[:, None] * rng.gamma(4, 0.25, size=(200, 3))
    counts = np.concatenate(list(bootstrap_counts(200, 3000, 0)))
    ratios = (counts @ sums) / (counts @ weight)[:, None]
    for way, size in (("mean", 1.0), ("sum", weight.sum())):
        error = standard_error(_of(sums, 3, weight=weight, way=way))
        np.testing.assert_allclose(error, size * ratios.std(axis=0), rtol=0.07)


# Ways to cluster.


def test_clusters_of_a_tree_are_as_many_as_asked_for_and_numbered_by_size_and_first_head() -> None:
    for seed, number in enumerate((2, 3, 5, 9)):
        sums = np.random.default_rng(seed).random((1, 45))
        found = choose_clusters(_of(sums, 1), "average", number, 0, 0)
        assert _agree(found.cluster, fcluster(linkage(np.sqrt(sums[0]), "average"), number, "maxclust")) == 1
        members = [np.flatnonzero(found.cluster == k) for k in range(number)]
        assert members == sorted(members, key=lambda heads: (-len(heads), heads[0]))
        assert [(choice.clusters, choice.chosen) for choice in found.choices] == [(number, 1)]
    for number in (2, 3, 4):  # where all are tied
        found = choose_clusters(_of(np.ones((1, 10)), 1), "average", number, 0, 0)
        assert len(set(found.cluster.tolist())) == number


def _planted(kinds: int) -> tuple[Divergence, np.ndarray]:
    """Heads of 4 layers × 8 scattered around prototypes, and the prototype of each."""
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.arange(32) % kinds)
    return _seen(4 * np.eye(kinds, 8)[kind] + 0.1 * rng.normal(size=(32, 8)), 4, 40), kind


@pytest.mark.parametrize("method", WAYS)
def test_planted_clusters_are_recovered_with_their_number(method: str) -> None:
    for kinds in (2, 4):
        divergence, kind = _planted(kinds)
        found = choose_clusters(divergence, method, None, 6, 0)
        assert _agree(found.cluster, kind) == 1
        assert found.stability.min() > 0.95
        assert np.nanmin(found.silhouette) > 0.5
        assert [choice.clusters for choice in found.choices if choice.chosen] == [kinds]
    alone = _of(divergence.sums[:1], 4)
    for found in (choose_clusters(part, method, None, n, 0) for part, n in ((divergence, 0), (alone, 9))):
        assert _agree(found.cluster, kind) == 1  # without resamples silhouettes decide
        assert np.isnan([found.stability, found.stability * 0 + found.choices[0].stability]).all()
    single = cluster_heads(alone, method=method, draws=9)  # one block gives no intervals
    assert single.neighbours is not None
    assert np.isnan([*single.error, *(claim.low for claim in single.claims)]).all()
    assert np.isnan(single.neighbours.low).all()
    assert single.cloud.shape == (0, 32, 2)
    same = cluster_heads(_of(np.zeros((5, 66)), 3), method=method, draws=5)
    assert np.isnan(same.stress)
    assert not same.place.any()
    shares = [claim for claim in same.claims if claim.measure in ("R2", "mantel r", "mantel rho")]
    assert len(shares) == 3
    assert all(np.isnan([claim.estimate, claim.p]).all() and not claim.placements for claim in shares)


def test_choices_are_those_of_scipy_and_scikit_learn_on_distances_of_resamples() -> None:
    from sklearn.metrics import silhouette_samples

    for seed in range(4):
        sums = np.random.default_rng(seed).gamma(1, 1, size=(8, 66)) ** 2
        if seed == 3:  # one head unlike all others is no reason to stop at two clusters
            sums[:, :11] += 100
        found = choose_clusters(_of(sums, 3), "average", None, 6, seed)
        drawn = np.concatenate(list(bootstrap_counts(8, 6, seed))) @ sums / 8
        trees = [linkage(np.sqrt(mean), "average") for mean in (sums.mean(axis=0), *drawn)]
        whole = squareform(np.sqrt(sums.mean(axis=0)))
        assert [choice.clusters for choice in found.choices] == [2, 3, 4, 5, 6]
        stable, parted = {}, []
        for choice in found.choices:
            label, *others = (fcluster(tree, choice.clusters, "maxclust") for tree in trees)
            widths = silhouette_samples(whole, label, metric="precomputed")
            stability = np.mean([_agree(label, other) for other in others])
            assert (choice.silhouette, choice.stability) == pytest.approx((widths.mean(), stability))
            stable[choice.clusters] = (stability, widths.mean())
            if (np.bincount(label) >= 2).sum() >= 2:  # at least two clusters of more than one head
                parted.append(choice.clusters)
            if choice.chosen:
                assert _agree(label, found.cluster) == 1
                np.testing.assert_allclose(found.silhouette, widths)
                same, *drawn_same = (row[:, None] == row for row in (label, *others))
                shared = [(same & other).sum(axis=1) / (same | other).sum(axis=1) for other in drawn_same]
                np.testing.assert_allclose(found.stability, np.mean(shared, axis=0))
        numbers = parted or [*stable]
        enough = [number for number in numbers if stable[number][0] >= 0.6]
        best = max(enough, key=lambda n: stable[n][1]) if enough else max(numbers, key=lambda n: stable[n][0])
        assert [choice.clusters for choice in found.choices if choice.chosen] == [best]
    assert 2 not in parted
    assert stable[2][1] == max(width for _, width in stable.values())


def test_spectral_clusters_are_those_of_a_gaussian_kernel_of_median_width() -> None:
    from sklearn.cluster import SpectralClustering

    for seed in range(4):
        place = np.random.default_rng(seed).normal(size=(14, 2))
        kernel = SpectralClustering(3, gamma=0.5 / np.median(pdist(place)) ** 2, assign_labels="cluster_qr")
        found = choose_clusters(_of(_pairs(place)[None], 2), "spectral", 3, 0, 0)
        assert _agree(found.cluster, kernel.fit(place).labels_) == 1


def test_dense_regions_reach_to_tukeys_fence_and_heads_far_from_them_are_noise() -> None:
    # Two groups of four heads on a line: their third nearest lie 3, 2, 2, 3 away, so the fence is at
    # 3 + 1.5 (3 − 2) = 4.5. The fourth nearest lie in the other group.
    one = np.arange(4.0)
    for gap, sizes in ((4.4, [8]), (4.6, [4, 4])):
        line = np.concatenate([one, one + 3 + gap])[:, None]
        found = choose_clusters(_of(_pairs(line)[None], 2), "dbscan", None, 0, 0)
        assert found.cluster.tolist() == np.repeat(np.arange(len(sizes)), sizes).tolist()
        assert np.isnan(found.silhouette).all() == (len(sizes) == 1)
    assert choose_clusters(_of(np.ones((1, 3)), 1), "dbscan", None, 0, 0).cluster.tolist() == [-1] * 3
    rng = np.random.default_rng(2)
    place = np.concatenate([rng.normal(0, 0.1, (12, 2)), rng.normal(5, 0.1, (12, 2)), [[50.0, 50.0]]])
    found = choose_clusters(_seen(place, 1, 10, 0.01), "dbscan", None, 5, 0)
    assert found.cluster.tolist() == [*np.repeat([0, 1], 12).tolist(), -1]
    assert np.isnan(found.silhouette).tolist() == [False] * 24 + [True]
    assert (found.choices[0].clusters, found.stability.min()) == (2, 1.0)  # noise is a cluster of its own


def test_split_halves_are_clustered_apart_and_compared() -> None:
    sums = np.random.default_rng(3).gamma(1, 1, size=(5, 66))  # two in each half, one in neither
    claims = _named(cluster_heads(_of(sums, 3), clusters=4, draws=6, seed=7).claims)
    claim, agreed = claims["split halves agree", "adjusted Rand"], []
    for side in random_halves(5, 6, 7):
        trees = [linkage(np.sqrt(sums[side == sign].mean(axis=0)), "average") for sign in (1, -1)]
        agreed.append(_agree(*(fcluster(tree, 4, "maxclust") for tree in trees)))
    ends = np.quantile(agreed, [0.025, 0.975])
    assert (claim.estimate, claim.low, claim.high) == pytest.approx((np.mean(agreed), *ends))
    assert (claim.heads, claim.units, claim.placements, np.isnan(claim.p)) == (12, 5, 0, True)


# The map.


@pytest.mark.parametrize(("way", "power"), [("mean", 0.5), ("sum", 1.0)])
def test_the_map_has_kruskals_stress_and_no_more_of_it_than_by_more_random_starts(
    way: str, power: float
) -> None:
    from sklearn.manifold import smacof

    rng = np.random.default_rng(5)
    sums = pdist(rng.normal(size=(12, 5))) ** (1 / power) * rng.gamma(9.0, 0.1, size=(7, 66))
    found = cluster_heads(_of(sums, 3, way=way), draws=8)
    wanted = (sums.sum(axis=0) if way == "sum" else sums.mean(axis=0)) ** power

    def stress(place: np.ndarray) -> float:
        on_map = pdist(place)
        return float(np.sqrt(((wanted - on_map) ** 2).sum() / (on_map**2).sum()))

    other, _ = smacof(squareform(wanted), n_components=2, n_init=8, random_state=1, max_iter=300)
    assert found.stress == pytest.approx(stress(found.place))
    assert found.stress <= stress(other) * 1.01
    assert found.place.mean(axis=0) == pytest.approx([0, 0], abs=1e-9)
    spread = found.place.T @ found.place
    assert spread[0, 1] == pytest.approx(0, abs=1e-9 * spread[0, 0])  # principal axes, the longer first
    assert spread[0, 0] > spread[1, 1]
    assert (found.place.max(axis=0) >= -found.place.min(axis=0)).all()  # the farthest head is positive
    assert (found.cloud.shape, found.cloud.dtype) == ((8, 12, 2), np.float32)
    for place in found.cloud[:5]:  # laid onto the map: no turn brings it nearer
        moved = (place - place.mean(axis=0)).astype(float)
        left, _, right = np.linalg.svd(moved.T @ found.place)
        np.testing.assert_allclose(left @ right, np.eye(2), atol=1e-4)


def test_points_on_a_plane_lie_as_they_are() -> None:
    points = 5 * np.random.default_rng(3).normal(size=(12, 2))
    flat = cluster_heads(_of(_pairs(points)[None], 3), draws=0)
    np.testing.assert_allclose(flat.linkage, linkage(pdist(points), "average"))
    assert flat.stress < 1e-3
    assert procrustes(points, flat.place)[2] < 1e-5


# Claims of layers.


def _between(values: np.ndarray, group: np.ndarray) -> float:
    """Share of the spread of heads in space that lies between groups, about their centres."""
    within = sum(((values[group == k] - values[group == k].mean(axis=0)) ** 2).sum() for k in set(group))
    return float(1 - within / ((values - values.mean(axis=0)) ** 2).sum())


def test_layers_are_the_share_of_spread_between_them_and_p_that_of_random_placements() -> None:
    rng = np.random.default_rng(3)
    for group in (np.repeat([0, 1, 2], [3, 4, 5]), np.repeat([0, 1, 2, 3], 3)):
        place = rng.normal(size=(12, 2)) + 0.5 * group[:, None]
        share, p = permanova(_pairs(place), group, 4999, 0)
        drawn = np.array([_between(place, rng.permutation(group)) for _ in range(3000)])
        assert share == pytest.approx(_between(place, group))
        assert p == pytest.approx((drawn >= share - 1e-12).mean(), abs=0.03)
    far, twos = _pairs(np.array([[0.0], [0.0], [9.0], [9.0]])), np.array([0, 0, 1, 1])
    assert permanova(far, twos, 1999, 0) == (1, pytest.approx(1 / 3, abs=0.04))  # equal placements count
    apart = np.repeat([0, 1], 10)
    assert permanova(_pairs(9.0 * apart[:, None]), apart, 99, 1) == (1.0, 0.01)
    assert np.isnan(permanova(np.zeros(6), twos, 9, 0)).all()


def _correlation(one: np.ndarray, other: np.ndarray, ranked: bool) -> float:
    """Pearson's or Spearman's correlation."""
    return float(stats.spearmanr(one, other).statistic if ranked else np.corrcoef(one, other)[0, 1])


@pytest.mark.parametrize("ranked", [False, True])
def test_adjacent_layers_are_a_correlation_over_pairs_between_layers_and_orders_are_tried(
    ranked: bool,
) -> None:
    for seed, (layers, heads) in enumerate(product((3, 4, 5), (1, 2))):
        rng = np.random.default_rng(seed)
        first, second = np.triu_indices(layers * heads, 1)
        between = first // heads != second // heads
        distance = rng.integers(1, 5, size=len(first)) + (seed % 2) * rng.normal(size=len(first))
        distance[~between] = 100 * seed  # closeness within layers does not count
        every, at = [], np.cumsum(rng.integers(1, 5, layers))  # of a hybrid: other blocks lie between
        for order in map(np.array, permutations(range(layers))):
            gaps = np.abs(at[order[first // heads]] - at[order[second // heads]])
            every.append(_correlation(distance[between], gaps[between], ranked))
        p = np.mean(np.array(every) >= every[0] - 1e-9)
        found = mantel_test(distance, at, heads, ranked=ranked)
        assert found == (pytest.approx(every[0]), p, len(every))
    for layers, heads in ((2, 3), (1, 6)):
        assert np.isnan(mantel_test(np.arange(15.0), np.arange(layers), heads, ranked=ranked)[:2]).all()
    assert mantel_test(np.full(66, 0.3), np.arange(4), 3, ranked=ranked)[2] == 0
    place = np.repeat(np.arange(9), 2)[:, None] * [2.0, 0] + rng.normal(size=(18, 2))
    distance = np.sqrt(_pairs(place))  # many layers are reordered at random, and p is never 0
    estimate, p, orders = mantel_test(distance, np.arange(9), 2, ranked=ranked, placements=199)
    assert (estimate > 0.7, p, orders) == (True, 1 / 200, 199)
    assert mantel_test(-distance, np.arange(9), 2, ranked=ranked, placements=199)[1] > 0.9


def test_claims_have_intervals_of_the_delete_one_jackknife() -> None:
    divergence = _layered()
    found = _named(layer_claims(divergence, 0, np.arange(divergence.layers)))
    first, second = np.triu_indices(24, 1)
    gaps = np.abs(first // 6 - second // 6)

    def numbers(mean: np.ndarray) -> np.ndarray:
        distance, apart = np.sqrt(mean), gaps > 0
        share = permanova(mean, np.repeat(np.arange(4), 6), 1)[0]
        correlations = [_correlation(distance[apart], gaps[apart], ranked) for ranked in (False, True)]
        return np.array([share, distance[~apart].mean(), distance[apart].mean(), *np.arctanh(correlations)])

    sums = divergence.sums
    without = np.array([numbers((sums.sum(axis=0) - row) / 39) for row in sums])
    error = np.sqrt(39 / 40 * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    estimate, reach = numbers(sums.mean(axis=0)), stats.t.ppf(0.975, 39) * error
    ends = np.array([estimate, estimate - reach, estimate + reach])
    ends[:, 3:] = np.tanh(ends[:, 3:])  # on Fisher's scale
    layers, near = "same layer closer", "adjacent layers closer"
    names = [(layers, "R2"), *((layers, f"mean distance {name} layers") for name in ("within", "between")),
             (near, "mantel r"), (near, "mantel rho")]  # fmt: skip
    for name, wanted in zip(names, ends.T, strict=True):
        claim = found[name]
        assert (claim.estimate, claim.low, claim.high) == pytest.approx(tuple(wanted), rel=1e-6), name
        assert (claim.heads, claim.units) == (24, 40)
    assert (found[names[0]].p, found[names[0]].placements) == (1e-4, 9999)
    assert "0.130 on average" in found[names[0]].reference
    assert [(found[name].p, found[name].placements) for name in names[3:]] == [(2 / 24, 24)] * 2
    assert np.isnan([found[name].p for name in names[1:3]]).all()

    folded = Divergence(4, 6, sums[:20] + sums[20:], np.full(20, 2.0), np.arange(40) % 20)
    summed = Divergence(4, 6, sums, divergence.weight, divergence.block, way="sum")
    for other, factor in ((folded, 1.0), (summed, 40**0.5)):
        for name, claim in _named(layer_claims(other, 0, np.arange(other.layers))).items():
            size = factor if "distance" in name[1] else 1.0
            assert (claim.estimate, claim.units) == (pytest.approx(size * found[name].estimate), 40)


def test_what_a_shape_leaves_no_room_for_is_not_claimed() -> None:
    place = np.random.default_rng(1).normal(size=(6, 3))
    for layers, claims in ((1, set()), (2, {"same layer closer"}), (6, {"adjacent layers closer"})):
        assert {
            claim.claim for claim in layer_claims(_seen(place, layers, 10, 0.5), 0, np.arange(layers))
        } == claims
