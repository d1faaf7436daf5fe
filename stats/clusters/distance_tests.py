"""Tests of distances between heads: groups of heads (PERMANOVA) and nearness of layers (Mantel).

PERMANOVA gives the share of the heads' spread that lies between groups. The Mantel correlation over layers
asks whether heads of layers that lie closer together are closer.
"""

from collections.abc import Iterator
from itertools import permutations
from math import factorial

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import rankdata

from headroles.stats.clusters.distances import square_matrix

PLACEMENTS = 9999
CELLS = 2**20
"""Cells gathered at once: bounds memory and, being fixed, changes no result."""


def r_squared(mean: Float[np.ndarray, " pairs"], group: Int[np.ndarray, " heads"]) -> float:
    """Return the sum of squares between groups over the total (Anderson 2001); NaN where all distances are 0.

    Squared distances are mean divergences, so both sums are linear in them.

    Args:
        mean: Mean divergence of every pair of heads.
        group: Group of each head.

    Example:
        >>> r_squared(np.array([0.0, 4.0, 4.0]), np.array([0, 0, 1]))
        1.0
    """
    rows, columns, weights = _pairs_within(group)
    total = float(mean.sum()) / len(group)
    within = float(square_matrix(mean)[rows, columns] @ weights)
    return 1.0 - within / total if total > 0 else float("nan")


def permanova(
    mean: Float[np.ndarray, " pairs"],
    group: Int[np.ndarray, " heads"],
    placements: int = PLACEMENTS,
    seed: int = 0,
) -> tuple[float, float]:
    """Return R² of groups, and how often heads placed in them at random give as much.

    Null: the heads were placed in groups of these sizes at random. Alternative: heads of one group lie
    closer. Unit: the head; heads are all there are of this model, so p describes this model and no other.
    Assumes that groups are not made of the same attention as the distances: where they are, as roles
    are, p is small for random heads too. Under the null R² is (groups − 1) / (heads − 1) on average.

    Args:
        mean: Mean divergence of every pair of heads.
        group: Group of each head.
        placements: Random placements.
        seed: Of the placements.

    Returns:
        R², and p = (1 + placements at least as extreme) / (1 + placements), both NaN where all
        distances are 0.
    """
    observed = r_squared(mean, group)
    if np.isnan(observed):
        return observed, observed
    rows, columns, weights = _pairs_within(group)
    whole, heads = square_matrix(mean), len(group)
    limit = float(whole[rows, columns] @ weights) * (1 + 1e-12)
    flat = whole.ravel()
    extreme = 0
    for order in random_orders(heads, placements, max(1, CELLS // max(len(rows), heads)), seed):
        within = flat.take(order[:, rows] * heads + order[:, columns]) @ weights
        extreme += int((within <= limit).sum())
    return observed, (1 + extreme) / (1 + placements)


def r_squared_of_roles(
    whole: Float[np.ndarray, "heads heads"], held: Bool[np.ndarray, "roles heads"]
) -> Float[np.ndarray, " roles"]:
    """Return R² of holding each role; NaN below two holders or two others.

    Args:
        whole: Mean divergence of every pair of heads, both halves.
        held: Which heads hold which role.
    """
    within = np.zeros(len(held))
    enough = np.ones(len(held), dtype=bool)
    for member in (held.astype(np.float64), 1.0 - held):
        size = member.sum(axis=1)
        enough &= size >= 2
        within += ((member @ whole) * member).sum(axis=1) / (2 * np.maximum(size, 1))
    total = whole.sum() / (2 * len(whole))
    if not total > 0:
        return np.full(len(held), np.nan)
    return np.where(enough, 1 - within / total, np.nan)


def _pairs_within(group: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs of heads within groups, each with one over the size of its group."""
    rows, columns = np.nonzero(np.triu(group[:, None] == group[None, :], 1))
    _, number, size = np.unique(group, return_inverse=True, return_counts=True)
    return rows, columns, 1.0 / size[number[rows]]


def random_orders(items: int, count: int, size: int, seed: int) -> Iterator[np.ndarray]:
    """Yield random orders of some items, ``size`` orders at a time, ``count`` in all."""
    rng = np.random.default_rng(seed)
    for start in range(0, count, size):
        order = np.tile(np.arange(items), (min(size, count - start), 1))
        rng.permuted(order, axis=1, out=order)
        yield order


EXACT = 7
"""Most layers whose orders are all tried: 5,040."""


def layer_gaps(layers: Int[np.ndarray, " layers"], heads: int) -> Int[np.ndarray, " pairs"]:
    """Return how far apart the layers of the two heads of every pair are; 0 within a layer.

    Args:
        layers: Position of each layer in the model.
        heads: Heads of each.

    Example:
        >>> layer_gaps(np.array([3, 7]), 2).tolist()
        [0, 4, 4, 4, 4, 0]
    """
    first, second = np.triu_indices(len(layers) * heads, 1)
    gaps: np.ndarray = np.abs(layers[first // heads] - layers[second // heads])
    return gaps


def mantel(distance: Float[np.ndarray, " pairs"], gaps: Int[np.ndarray, " pairs"], ranked: bool) -> float:
    """Return the correlation of distance with layer difference over pairs of heads of different layers.

    Args:
        distance: Of all pairs.
        gaps: Layer differences of all pairs (``layer_gaps``).
        ranked: Spearman's rather than Pearson's.

    Returns:
        From −1 to 1; NaN for two layers or without spread.

    Example:
        >>> round(mantel(np.array([1.0, 2.0, 1.5]), layer_gaps(np.arange(3), 1), False), 3)
        0.866
    """
    between = gaps > 0
    if not between.any():
        return float("nan")
    one, other = distance[between], gaps[between].astype(np.float64)
    if ranked:
        one, other = rankdata(one), rankdata(other)
    raw = float(np.linalg.norm(one) * np.linalg.norm(other))
    one, other = one - one.mean(), other - other.mean()
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.clip(one @ other / size, -1, 1)) if size > 1e-9 * raw else float("nan")


def mantel_test(
    distance: Float[np.ndarray, " pairs"],
    layers: Int[np.ndarray, " layers"],
    heads: int,
    *,
    ranked: bool = False,
    placements: int = PLACEMENTS,
    seed: int = 0,
) -> tuple[float, float, int]:
    """Return the Mantel correlation, and how often layers in another order give as much (Mantel 1967).

    Null: the order of the layers is unrelated to distances between their heads. Alternative: heads of
    nearer layers are closer. Unit: the layer, with all its heads; pairs within layers are left out, so
    that closeness within layers does not count. All orders are tried for up to 7 layers, the model's
    among them; else random ones. An order and its reverse give the same, so p is at least 2 / layers!.

    Args:
        distance: Of all pairs.
        layers: Position of each layer in the model.
        heads: Heads of each.
        ranked: Spearman's correlation rather than Pearson's.
        placements: Random orders for more than 7 layers.
        seed: Of the random orders.

    Returns:
        Correlation, p, and the orders behind it; NaN, NaN, 0 for two layers or without spread.
    """
    count, gaps = len(layers), layer_gaps(layers, heads)
    observed = mantel(distance, gaps, ranked)
    if np.isnan(observed):
        return observed, observed, 0
    between = gaps > 0
    value, gap = distance[between], gaps[between].astype(np.float64)
    if ranked:
        value, gap = rankdata(value), rankdata(gap)
    first, second = (heads_of // heads for heads_of in np.triu_indices(count * heads, 1))
    place = (first * count + second)[between]
    sums = np.bincount(place, value - value.mean(), count * count).reshape(count, count)
    far = np.zeros((count, count))
    far[first[between], second[between]] = far[second[between], first[between]] = gap
    one, other = np.triu_indices(count, 1)
    weights = sums[one, other]
    own = float(weights @ far[one, other])
    limit = own - 1e-9 * float(np.abs(weights) @ far[one, other])
    exact, extreme = count <= EXACT, 0
    for order in _layer_orders(count, placements, len(one), seed):
        extreme += int((far[order[:, one], order[:, other]] @ weights >= limit).sum())
    if exact:
        return observed, extreme / factorial(count), factorial(count)
    return observed, (1 + extreme) / (1 + placements), placements


def _layer_orders(layers: int, count: int, pairs: int, seed: int) -> Iterator[np.ndarray]:
    if layers <= EXACT:
        yield np.array(list(permutations(range(layers))))
    else:
        yield from random_orders(layers, count, max(1, CELLS // pairs), seed)
