"""Clusters of heads from their distances: three methods, the number of clusters, and agreement of two.

The number of clusters is the one that separates heads best among those that are stable in resampled units.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Float, Int
from scipy.cluster.hierarchy import leaves_list, linkage
from sklearn.cluster import DBSCAN, spectral_clustering
from sklearn.metrics import silhouette_samples

from headroles.errors import BadInput, UnknownName
from headroles.records.clusters import CHOICES, Divergence
from headroles.records.table import Table
from headroles.stats.clusters.distances import distances, resampled_means, square_matrix

NOISE = -1
CORE = 4
"""Heads, itself included, that a head of a dense region has within reach (Ester et al. 1996)."""

Clusterings = Int[np.ndarray, "numbers heads"]


def average_linkage(distance: Float[np.ndarray, " pairs"], numbers: Sequence[int]) -> Clusterings:
    """Return clusters of average linkage (Sokal and Michener 1958), for each number of clusters.

    Example:
        >>> average_linkage(np.array([1.0, 9.0, 8.0]), [2, 3]).tolist()
        [[0, 0, 1], [0, 1, 2]]
    """
    return cut_tree(linkage_tree(distance), numbers)


def linkage_tree(distance: Float[np.ndarray, " pairs"]) -> Float[np.ndarray, "merges 4"]:
    """Return merges of average linkage as scipy gives them: two nodes, height, heads."""
    found: np.ndarray = linkage(distance, "average")
    return found


def cut_tree(tree: Float[np.ndarray, "merges 4"], numbers: Sequence[int]) -> Clusterings:
    """Return clusters of a tree without its last merges; exactly as many as required, also with ties.

    Args:
        tree: Merges by rising height.
        numbers: Numbers of clusters, each from 1 to the number of heads.
    """
    heads = len(tree) + 1
    order = leaves_list(tree)
    start, label = {2 * heads - 2: 0}, np.zeros(heads, dtype=np.int64)
    rows = {1: number_by_size(label)}
    for known in range(1, max(numbers)):
        left, right, _, size = tree[heads - 1 - known]
        node = 2 * heads - 1 - known
        first = start[node]
        middle = first + (int(tree[int(left) - heads, 3]) if left >= heads else 1)
        start[int(left)], start[int(right)] = first, middle
        label[order[middle : first + int(size)]] = known
        rows[known + 1] = number_by_size(label)
    return np.stack([rows[number] for number in numbers])


def spectral_clusters(distance: Float[np.ndarray, " pairs"], numbers: Sequence[int]) -> Clusterings:
    """Return spectral clusters (Shi and Malik 2000), for each number of clusters.

    The affinity of two heads is ``exp(−d² / 2m²)`` with m the median distance; clusters are read off the
    eigenvectors by pivoted QR (Damle, Minden and Ying 2019), which needs no random starts.
    """
    scale = float(np.median(distance))
    affinity = square_matrix(np.exp(-0.5 * (distance / scale) ** 2) if scale > 0 else np.ones(distance.shape))
    np.fill_diagonal(affinity, 1.0)
    rows = [
        spectral_clustering(affinity, n_clusters=number, random_state=0, assign_labels="cluster_qr")
        for number in numbers
    ]
    return np.stack([number_by_size(row) for row in rows])


def dbscan_clusters(distance: Float[np.ndarray, " pairs"], numbers: Sequence[int]) -> Clusterings:
    """Return clusters by density (DBSCAN, Ester et al. 1996); heads of no dense region are noise, −1.

    A head is core when 4 heads (itself among them) lie within ε. ε is Tukey's fence of the distances to
    the third nearest head, their third quartile and 1.5 times the range between quartiles: heads whose
    third nearest lies farther are outliers in that.

    Args:
        distance: Of all pairs.
        numbers: One entry, whatever it is: the number of clusters follows from ε.
    """
    whole = square_matrix(distance)
    reach = np.sort(whole, axis=1)[:, min(CORE, len(whole)) - 1]
    low, high = np.quantile(reach, [0.25, 0.75])
    fence = float(high + 1.5 * (high - low))
    found = DBSCAN(eps=max(fence, 1e-12), min_samples=CORE, metric="precomputed").fit(whole)
    return number_by_size(found.labels_)[None].repeat(len(numbers), axis=0)


METHODS: Mapping[str, Callable[[Float[np.ndarray, " pairs"], Sequence[int]], Clusterings]] = MappingProxyType(
    {"average": average_linkage, "spectral": spectral_clusters, "dbscan": dbscan_clusters}
)
"""Ways to cluster, by name."""


def number_by_size(label: Int[np.ndarray, " heads"]) -> Int[np.ndarray, " heads"]:
    """Return the same clusters, numbered from 0 by falling size, equal ones by their first head; −1 stays.

    Example:
        >>> number_by_size(np.array([7, 3, 3, -1])).tolist()
        [1, 0, 0, -1]
    """
    names, first, size = np.unique(label, return_index=True, return_counts=True)
    real = names != NOISE
    order = np.lexsort((first[real], -size[real]))
    number = np.full(len(names), NOISE)
    number[np.flatnonzero(real)[order]] = np.arange(int(real.sum()))
    found: np.ndarray = number[np.searchsorted(names, label)]
    return found


def noise_as_clusters(label: Int[np.ndarray, " heads"]) -> Int[np.ndarray, " heads"]:
    """Return the clusters with every noise head as one of its own."""
    noise = label == NOISE
    found = label.copy()
    found[noise] = int(label.max(initial=NOISE)) + 1 + np.arange(int(noise.sum()))
    return found


def adjusted_rand(first: Int[np.ndarray, " heads"], second: Int[np.ndarray, " heads"]) -> float:
    """Return the adjusted Rand index (Hubert and Arabie 1985): 1 for equal clusters, 0 on average by chance.

    As ``sklearn.metrics.adjusted_rand_score``, without its checks, which take most of its time; labels
    are whole numbers from 0, as ``number_by_size`` and ``noise_as_clusters`` give them.

    Example:
        >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
        1.0
    """
    table = _cross_table(first, second)
    both, rows, columns = (_pairs(sizes) for sizes in (table, table.sum(axis=1), table.sum(axis=0)))
    expected = rows * columns / max(_pairs(np.array([len(first)])), 1.0)
    most = (rows + columns) / 2
    return 1.0 if most == expected else float((both - expected) / (most - expected))


def overlap(
    first: Int[np.ndarray, " heads"], second: Int[np.ndarray, " heads"]
) -> Float[np.ndarray, " heads"]:
    """Return, for each head, the heads in both of its clusters as a share of those in either.

    Example:
        >>> overlap(np.array([0, 0, 1]), np.array([0, 1, 1])).tolist()
        [0.5, 0.3333333333333333, 0.5]
    """
    table = _cross_table(first, second)
    both = table[first, second]
    found: np.ndarray = both / (table.sum(axis=1)[first] + table.sum(axis=0)[second] - both)
    return found


def _cross_table(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    width = int(second.max()) + 1
    return np.bincount(first * width + second, minlength=(int(first.max()) + 1) * width).reshape(-1, width)


def _pairs(sizes: np.ndarray) -> float:
    return float((sizes * (sizes - 1.0)).sum() / 2)


STABLE = 0.6
"""Least stability of a number that is chosen. A convention: adjusted Rand indices below 0.65 count as
poor agreement (Steinley 2004), and clusters whose heads agree by less than 0.6 with those of resampled
data are not to be trusted (Hennig 2007)."""
MOST = 20
SLOW_DRAWS = 25
"""Most resamples behind the stability of spectral clusters, each of which takes an eigenproblem."""


@dataclass(frozen=True, slots=True, eq=False)
class ChosenClusters:
    """Clusters of heads, with the number that was chosen.

    Attributes:
        number: Number of clusters given to the method; for DBSCAN the one it found.
        cluster: Of each head.
        silhouette: Of each head.
        stability: Of each head.
        choices: Every number that was tried.
    """

    number: int
    cluster: Int[np.ndarray, " heads"]
    silhouette: Float[np.ndarray, " heads"]
    stability: Float[np.ndarray, " heads"]
    choices: Table


def choose_clusters(
    divergence: Divergence, method: str, clusters: int | None, draws: int, seed: int
) -> ChosenClusters:
    """Return clusters, as many as separate heads best among the numbers that are stable in other units.

    Numbers from 2 to 20 are tried, at most half the heads. Each has a mean silhouette over heads
    (Rousseeuw 1987) and a stability: the mean adjusted Rand index between clusters of all units and those
    of resampled blocks, with the same number. ``best_number`` takes one of them.

    Args:
        divergence: Block sums.
        method: A name in ``METHODS``.
        clusters: The only number to try; None: choose.
        draws: Resamples of the blocks; for spectral clusters at most 25.
        seed: Of the resamples.

    Raises:
        UnknownName: For a method that does not exist.
        BadInput: For a number of clusters that cannot be.
    """
    numbers = candidate_numbers(divergence.layers * divergence.heads, method, clusters)
    find, mean = METHODS[method], divergence.mean()
    found = find(distances(mean), numbers)
    if method == "spectral":
        draws = min(draws, SLOW_DRAWS)
    if len(divergence.weight) < 2:
        draws = 0
    redrawn = [
        find(distances(row), numbers) for some in resampled_means(divergence, draws, seed) for row in some
    ]
    whole = square_matrix(distances(mean))
    silhouettes = [silhouette(whole, row) for row in found]
    counts, stability = [], []
    for place, row in enumerate(found):
        agreement = [
            adjusted_rand(noise_as_clusters(row), noise_as_clusters(other[place])) for other in redrawn
        ]
        stability.append(float(np.mean(agreement)) if agreement else float("nan"))
        counts.append(int(row.max()) + 1 if method == "dbscan" else numbers[place])
    width = [_mean(row) for row in silhouettes]
    best = best_number(np.array(width), np.array(stability), [_has_two_groups(row) for row in found])
    chosen = [int(place == best) for place in range(len(found))]
    choices = CHOICES.of(clusters=counts, silhouette=width, stability=stability, chosen=chosen)
    kept = [overlap(noise_as_clusters(found[best]), noise_as_clusters(other[best])) for other in redrawn]
    stability_of = np.mean(kept, axis=0) if kept else np.full(len(whole), np.nan)
    return ChosenClusters(counts[best], found[best], silhouettes[best], stability_of, choices)


def silhouette(
    distance: Float[np.ndarray, "heads heads"], label: Int[np.ndarray, " heads"]
) -> Float[np.ndarray, " heads"]:
    """Return the silhouette of each head; NaN for noise, and for all where there are no two clusters."""
    found = np.full(len(label), np.nan)
    real = label != NOISE
    count = len(np.unique(label[real]))
    if 2 <= count < real.sum():
        found[real] = silhouette_samples(distance[np.ix_(real, real)], label[real], metric="precomputed")
    return found


def _mean(values: Float[np.ndarray, " heads"]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def best_number(
    silhouettes: Float[np.ndarray, " numbers"],
    stability: Float[np.ndarray, " numbers"],
    parted: Sequence[bool],
) -> int:
    """Return the place of the number with the largest silhouette among those whose stability is at least 0.6.

    Where none is that stable the most stable one is taken; without resamples silhouettes alone decide.
    Numbers that only cut single heads off the rest come last: their silhouettes are large wherever one
    head is unlike all others, and show no more than that.

    Args:
        silhouettes: Mean silhouette of each number that was tried.
        stability: Its stability; NaN without resamples.
        parted: Whether two or more of the clusters have two or more heads.

    Example:
        >>> best_number(np.array([0.6, 0.4, 0.3]), np.array([1.0, 0.5, 0.9]), [False, True, True])
        2
    """
    allowed = np.array(parted) if any(parted) else np.ones(len(stability), dtype=bool)
    width = np.nan_to_num(silhouettes, nan=-1.0)
    stable = np.isnan(stability) | (stability >= STABLE)
    if not (allowed & stable).any():
        return int(np.where(allowed, stability, -np.inf).argmax())
    return int(np.where(allowed & stable, width, -np.inf).argmax())


def _has_two_groups(label: Int[np.ndarray, " heads"]) -> bool:
    return int((np.bincount(noise_as_clusters(label)) >= 2).sum()) >= 2


def candidate_numbers(heads: int, method: str, clusters: int | None) -> list[int]:
    """Return the numbers of clusters to try; [0] where the method finds its number itself.

    Args:
        heads: All heads of the model.
        method: A name in ``METHODS``.
        clusters: The only number; None: 2 to 20, at most half the heads.

    Raises:
        UnknownName: For a method that does not exist.
        BadInput: For fewer than three heads, or a number that cannot be.

    Example:
        >>> candidate_numbers(12, "average", None)
        [2, 3, 4, 5, 6]
    """
    if method not in METHODS:
        raise UnknownName("way to cluster", method, METHODS)
    if heads < 3:
        raise BadInput(f"clusters need three or more heads, but this model has {heads} in all")
    if method == "dbscan":
        if clusters is not None:
            raise BadInput(
                f"dbscan finds the number of clusters itself, but got {clusters}; leave the number out, or "
                f"cluster by average or spectral"
            )
        return [0]
    if clusters is None:
        return list(range(2, max(2, min(MOST, heads // 2)) + 1))
    if not 2 <= clusters < heads:
        raise BadInput(
            f"the number of clusters of {heads} heads is from 2 to {heads - 1}, but got {clusters}; "
            "change it, or leave it out, and the run chooses it"
        )
    return [clusters]
