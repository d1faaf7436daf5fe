"""Clusters of heads from their distances: three ways, and how far two clusterings agree."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from jaxtyping import Float, Int
from scipy.cluster.hierarchy import leaves_list, linkage
from sklearn.cluster import DBSCAN, spectral_clustering

from headroles.stats.distances import square

NOISE = -1
CORE = 4
"""Heads, itself included, that a head of a dense region has within reach (Ester et al. 1996)."""

Clusterings = Int[np.ndarray, "numbers heads"]


def average(distance: Float[np.ndarray, " pairs"], numbers: Sequence[int]) -> Clusterings:
    """Clusters of average linkage (Sokal and Michener 1958), for each number of clusters.

    Example:
        >>> average(np.array([1.0, 9.0, 8.0]), [2, 3]).tolist()
        [[0, 0, 1], [0, 1, 2]]
    """
    return cut(merges(distance), numbers)


def merges(distance: Float[np.ndarray, " pairs"]) -> Float[np.ndarray, "merges 4"]:
    """Merges of average linkage as scipy gives them: two nodes, height, heads."""
    found: np.ndarray = linkage(distance, "average")
    return found


def cut(tree: Float[np.ndarray, "merges 4"], numbers: Sequence[int]) -> Clusterings:
    """Clusters left when a tree loses its last merges; exactly as many as asked for, also with ties.

    Args:
        tree: Merges by rising height.
        numbers: Numbers of clusters, each from 1 to the number of heads.
    """
    heads = len(tree) + 1
    order = leaves_list(tree)
    start, label = {2 * heads - 2: 0}, np.zeros(heads, dtype=np.int64)
    rows = {1: by_size(label)}
    for known in range(1, max(numbers)):
        left, right, _, size = tree[heads - 1 - known]
        node = 2 * heads - 1 - known
        first = start[node]
        middle = first + (int(tree[int(left) - heads, 3]) if left >= heads else 1)
        start[int(left)], start[int(right)] = first, middle
        label[order[middle : first + int(size)]] = known
        rows[known + 1] = by_size(label)
    return np.stack([rows[number] for number in numbers])


def spectral(distance: Float[np.ndarray, " pairs"], numbers: Sequence[int]) -> Clusterings:
    """Spectral clusters (Shi and Malik 2000), for each number of clusters.

    The affinity of two heads is ``exp(−d² / 2m²)`` with m the median distance; clusters are read off the
    eigenvectors by pivoted QR (Damle, Minden and Ying 2019), which needs no random starts.
    """
    scale = float(np.median(distance))
    affinity = square(np.exp(-0.5 * (distance / scale) ** 2) if scale > 0 else np.ones(distance.shape))
    np.fill_diagonal(affinity, 1.0)
    rows = [
        spectral_clustering(affinity, n_clusters=number, random_state=0, assign_labels="cluster_qr")
        for number in numbers
    ]
    return np.stack([by_size(row) for row in rows])


def dense(distance: Float[np.ndarray, " pairs"], numbers: Sequence[int]) -> Clusterings:
    """Clusters by density (DBSCAN, Ester et al. 1996); heads of no dense region are noise, −1.

    A head is core when 4 heads (itself among them) lie within ε. ε is Tukey's fence of the distances to
    the third nearest head, their third quartile and 1.5 times the range between quartiles: heads whose
    third nearest lies farther are outliers in that.

    Args:
        distance: Of all pairs.
        numbers: One entry, whatever it is: the number of clusters follows from ε.
    """
    whole = square(distance)
    reach = np.sort(whole, axis=1)[:, min(CORE, len(whole)) - 1]
    low, high = np.quantile(reach, [0.25, 0.75])
    fence = float(high + 1.5 * (high - low))
    found = DBSCAN(eps=max(fence, 1e-12), min_samples=CORE, metric="precomputed").fit(whole)
    return by_size(found.labels_)[None].repeat(len(numbers), axis=0)


METHODS: Mapping[str, Callable[[Float[np.ndarray, " pairs"], Sequence[int]], Clusterings]] = MappingProxyType(
    {"average": average, "spectral": spectral, "dbscan": dense}
)
"""Ways to cluster, by name."""


def by_size(label: Int[np.ndarray, " heads"]) -> Int[np.ndarray, " heads"]:
    """The same clusters, numbered from 0 by falling size, equal ones by their first head; −1 stays.

    Example:
        >>> by_size(np.array([7, 3, 3, -1])).tolist()
        [1, 0, 0, -1]
    """
    names, first, size = np.unique(label, return_index=True, return_counts=True)
    real = names != NOISE
    order = np.lexsort((first[real], -size[real]))
    number = np.full(len(names), NOISE)
    number[np.flatnonzero(real)[order]] = np.arange(int(real.sum()))
    found: np.ndarray = number[np.searchsorted(names, label)]
    return found


def alone(label: Int[np.ndarray, " heads"]) -> Int[np.ndarray, " heads"]:
    """Every noise head as a cluster of its own."""
    noise = label == NOISE
    found = label.copy()
    found[noise] = int(label.max(initial=NOISE)) + 1 + np.arange(int(noise.sum()))
    return found


def adjusted_rand(first: Int[np.ndarray, " heads"], second: Int[np.ndarray, " heads"]) -> float:
    """Adjusted Rand index (Hubert and Arabie 1985): 1 for equal clusters, 0 on average for random ones.

    As ``sklearn.metrics.adjusted_rand_score``, without its checks, which take most of its time; labels
    are whole numbers from 0, as ``by_size`` and ``alone`` give them.

    Example:
        >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
        1.0
    """
    table = _crossed(first, second)
    both, rows, columns = (_pairs(each) for each in (table, table.sum(axis=1), table.sum(axis=0)))
    expected = rows * columns / max(_pairs(np.array([len(first)])), 1.0)
    most = (rows + columns) / 2
    return 1.0 if most == expected else float((both - expected) / (most - expected))


def overlap(
    first: Int[np.ndarray, " heads"], second: Int[np.ndarray, " heads"]
) -> Float[np.ndarray, " heads"]:
    """Of each head: heads both in its first and in its second cluster, as a share of those in either.

    Example:
        >>> overlap(np.array([0, 0, 1]), np.array([0, 1, 1])).tolist()
        [0.5, 0.3333333333333333, 0.5]
    """
    table = _crossed(first, second)
    both = table[first, second]
    found: np.ndarray = both / (table.sum(axis=1)[first] + table.sum(axis=0)[second] - both)
    return found


def _crossed(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    width = int(second.max()) + 1
    return np.bincount(first * width + second, minlength=(int(first.max()) + 1) * width).reshape(-1, width)


def _pairs(sizes: np.ndarray) -> float:
    return float((sizes * (sizes - 1.0)).sum() / 2)
