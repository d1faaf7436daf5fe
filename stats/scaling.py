"""A map of the heads: metric multidimensional scaling, and the same map under resampled units."""

import numpy as np
from jaxtyping import Float, Float32
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import pdist
from sklearn.manifold import smacof

from headroles.records.clusters import Divergence
from headroles.stats.distances import distances, resampled, square

STARTS = 8
"""Random starts beside the classical solution; half of them for more than 400 heads."""
MANY = 400
CLOUD = 100
CLOUD_OF_MANY = 30

Map = Float[np.ndarray, "heads 2"]


def place_heads(distance: Float[np.ndarray, " pairs"], seed: int) -> tuple[Map, float]:
    """The map of smallest stress among several starts (SMACOF, Borg and Groenen 2005), and its stress.

    Starts are classical scaling and 8 random placements (4 for more than 400 heads). The map is centred,
    turned to its principal axes, and mirrored so that on either axis the head farthest out is positive:
    equal distances give equal maps.

    Args:
        distance: Of all pairs.
        seed: Of the random starts.
    """
    whole = square(distance)
    rng, heads = np.random.default_rng(seed), len(whole)
    spread = float(np.sqrt((whole**2).mean())) or 1.0
    starts = [classical(whole)]
    starts += [spread * rng.standard_normal((heads, 2)) for _ in range(STARTS // (1 + int(heads > MANY)))]
    maps = [settle(whole, start, 300) for start in starts]
    best = min(maps, key=lambda place: stress(distance, place))
    place = oriented(settle(whole, best, 1000))
    return place, stress(distance, place)


def classical(whole: Float[np.ndarray, "heads heads"]) -> Map:
    """Classical scaling (Torgerson 1952): leading axes of the doubly centred squared distances."""
    squared = whole**2
    centred = -(squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()) / 2
    value, vector = np.linalg.eigh(centred)
    found: np.ndarray = vector[:, :-3:-1] * np.sqrt(np.maximum(value[:-3:-1], 0.0))
    return found


def settle(whole: Float[np.ndarray, "heads heads"], start: Map, rounds: int) -> Map:
    """The map that metric SMACOF reaches from a start."""
    if not whole.any():
        return np.zeros_like(start)
    place, _ = smacof(whole, n_components=2, init=start, n_init=1, max_iter=rounds, eps=1e-7)
    return np.asarray(place)


def stress(distance: Float[np.ndarray, " pairs"], place: Map) -> float:
    """Kruskal's (1964) stress-1, ``sqrt(Σ (d − m)² / Σ m²)`` with m the distances on the map.

    NaN where all heads lie on one point.

    Example:
        >>> stress(np.array([3.0, 4.0, 5.0]), np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]]))
        0.0
    """
    on_map = pdist(place)
    size = float((on_map**2).sum())
    return float(np.sqrt(((distance - on_map) ** 2).sum() / size)) if size > 1e-18 else float("nan")


def oriented(place: Map) -> Map:
    """The map about its centre, on its principal axes, the farthest head of either axis positive."""
    centred = place - place.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    turned = centred @ axes[:, ::-1]
    far = turned[np.abs(turned).argmax(axis=0), [0, 1]]
    found: np.ndarray = turned * np.where(far < 0, -1.0, 1.0)
    return found


def onto(place: Map, target: Map) -> Map:
    """A map moved, turned and mirrored, not stretched, to lie on another as well as it can (Procrustes)."""
    centre, aim = place.mean(axis=0), target.mean(axis=0)
    turn, _ = orthogonal_procrustes(place - centre, target - aim)
    found: np.ndarray = (place - centre) @ turn + aim
    return found


def cloud(divergence: Divergence, place: Map, draws: int, seed: int) -> Float32[np.ndarray, "draws heads 2"]:
    """The map under resampled blocks of units, each started from the map and laid onto it.

    At most 100 resamples, and 30 for more than 400 heads. Where a head scatters says how well units
    determine its place on this map; the error of squeezing many dimensions into two is the stress.

    Args:
        divergence: Block sums.
        place: The map of all units.
        draws: Resamples wanted.
        seed: Of the resamples.
    """
    blocks = len(divergence.weight)
    draws = min(draws, CLOUD_OF_MANY if len(place) > MANY else CLOUD) if blocks > 1 else 0
    maps = [
        onto(settle(square(distances(mean)), place, 100), place)
        for some in resampled(divergence, draws, seed)
        for mean in some
    ]
    return np.array(maps, dtype=np.float32).reshape(len(maps), len(place), 2)
