"""Whether heads of layers that lie closer together are closer (Mantel correlation over layers)."""

from collections.abc import Iterator
from itertools import permutations
from math import factorial

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import rankdata

from headroles.stats.permanova import CELLS, PLACEMENTS, random_orders

EXACT = 7
"""Most layers whose orders are all tried: 5,040."""


def layer_gaps(layers: int, heads: int) -> Int[np.ndarray, " pairs"]:
    """How many layers lie between the two heads of every pair; 0 within a layer.

    Example:
        >>> layer_gaps(2, 2).tolist()
        [0, 1, 1, 1, 1, 0]
    """
    first, second = np.triu_indices(layers * heads, 1)
    gaps: np.ndarray = np.abs(first // heads - second // heads)
    return gaps


def mantel(distance: Float[np.ndarray, " pairs"], gaps: Int[np.ndarray, " pairs"], ranked: bool) -> float:
    """Correlation of distance with layer difference over pairs of heads of different layers.

    Args:
        distance: Of all pairs.
        gaps: Layer differences of all pairs (``layer_gaps``).
        ranked: Spearman's rather than Pearson's.

    Returns:
        From −1 to 1; NaN for two layers or without spread.

    Example:
        >>> round(mantel(np.array([1.0, 2.0, 1.5]), layer_gaps(3, 1), False), 3)
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
    shape: tuple[int, int],
    *,
    ranked: bool = False,
    placements: int = PLACEMENTS,
    seed: int = 0,
) -> tuple[float, float, int]:
    """Mantel correlation, and how often layers in another order give as much (Mantel 1967).

    Null: the order of the layers says nothing about distances between their heads. Alternative: heads of
    nearer layers are closer. Unit: the layer, with all its heads; pairs within layers are left out, so
    that closeness within layers does not count. All orders are tried for up to 7 layers, the model's
    among them; else random ones. An order and its reverse give the same, so p is at least 2 / layers!.

    Args:
        distance: Of all pairs.
        shape: Layers, and heads in a layer.
        ranked: Spearman's correlation rather than Pearson's.
        placements: Random orders for more than 7 layers.
        seed: Of the random orders.

    Returns:
        Correlation, p, and the orders behind it; NaN, NaN, 0 for two layers or without spread.
    """
    layers, heads = shape
    gaps = layer_gaps(layers, heads)
    observed = mantel(distance, gaps, ranked)
    if np.isnan(observed):
        return observed, observed, 0
    between = gaps > 0
    value, step = distance[between], np.zeros(layers)
    step[1:] = np.arange(1, layers)
    if ranked:
        value = rankdata(value)
        count = heads**2 * np.arange(layers - 1, 0, -1)
        step[1:] = np.cumsum(count) - (count - 1) / 2
    first, second = np.triu_indices(layers * heads, 1)
    place = (first // heads * layers + second // heads)[between]
    sums = np.bincount(place, value - value.mean(), layers * layers).reshape(layers, layers)
    one, other = np.triu_indices(layers, 1)
    weights = sums[one, other]
    own = float(weights @ step[other - one])
    limit = own - 1e-9 * float(np.abs(weights) @ step[other - one])
    exact, extreme = layers <= EXACT, 0
    for order in _layer_orders(layers, placements, len(one), seed):
        extreme += int((step[np.abs(order[:, one] - order[:, other])] @ weights >= limit).sum())
    if exact:
        return observed, extreme / factorial(layers), factorial(layers)
    return observed, (1 + extreme) / (1 + placements), placements


def _layer_orders(layers: int, count: int, pairs: int, seed: int) -> Iterator[np.ndarray]:
    if layers <= EXACT:
        yield np.array(list(permutations(range(layers))))
    else:
        yield from random_orders(layers, count, max(1, CELLS // pairs), seed)
