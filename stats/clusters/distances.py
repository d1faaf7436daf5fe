"""Distances between heads: square roots of mean Jensen-Shannon divergences, their errors, and a map of heads.

The square root of the divergence is a metric that embeds in Euclidean space (Endres and Schindelin 2003;
Fuglede and Topsøe 2004), and so is the root of its mean over rows and inputs. Sums of squared distances
are therefore sums of divergences, which are plain means over units: noise of the units does not bias
them, as it would bias distances that were estimated one by one. The map of the heads is metric
multidimensional scaling, drawn again under resampled units. It is of distances, or of summed divergences as
in the released code (``map_distances``).
"""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float, Float32
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import pdist
from scipy.stats import t
from sklearn.manifold import smacof

from headroles.records.clusters import Divergence, Neighbours
from headroles.stats.draws import bootstrap_counts

CELLS = 2**24
"""Draws × pairs held at once: bounds memory and, being fixed, changes no result."""
GROUPS = 200
"""Most groups of blocks that are left out in turn; more would cost time and hardly narrow t."""
LEVEL = 0.95

Statistics = Callable[[Float[np.ndarray, " pairs"]], Float[np.ndarray, " statistics"]]


def distances(mean: Float[np.ndarray, "*some"]) -> Float[np.ndarray, "*some"]:
    """Return square roots of mean divergences; rounding below 0 counts as 0.

    Example:
        >>> distances(np.array([0.25, -1e-12])).tolist()
        [0.5, 0.0]
    """
    found: np.ndarray = np.sqrt(np.maximum(mean, 0.0))
    return found


def map_distances(mean: Float[np.ndarray, "*some"], way: str) -> Float[np.ndarray, "*some"]:
    """Return what the map of the heads scales: distances, or for way "sum" the divergences themselves.

    The released code of Clark et al. (2019) scales sums of divergences, without roots.

    Example:
        >>> map_distances(np.array([0.25]), "mean").tolist(), map_distances(np.array([0.25]), "sum").tolist()
        ([0.5], [0.25])
    """
    found: np.ndarray = distances(mean) if way == "mean" else np.maximum(mean, 0.0)
    return found


def standard_error(divergence: Divergence) -> Float[np.ndarray, " pairs"]:
    """Return the standard error of ``divergence.mean()``, from the spread between blocks of units.

    The mean over units is a ratio of sums over blocks, and this is the error of a ratio (Cochran 1977,
    §6.4): ``sqrt(B / (B − 1) Σ (S_b − D w_b)²) / Σ w``. Blocks of one unit give the usual ``sd / √n``.

    Returns:
        Errors in nats; NaN with one block.
    """
    blocks, total = len(divergence.weight), float(divergence.weight.sum())
    if blocks < 2:
        return np.full(divergence.sums.shape[1], np.nan)
    ratio = divergence.mean() / (total if divergence.way == "sum" else 1.0)
    squares = np.zeros(ratio.shape)
    for sums, weight in zip(divergence.sums, divergence.weight, strict=True):
        squares += (sums - ratio * weight) ** 2
    error: np.ndarray = np.sqrt(blocks / (blocks - 1) * squares)
    return error if divergence.way == "sum" else error / total


def interval_ends(
    mean: Float[np.ndarray, "*some"], error: Float[np.ndarray, "*some"], blocks: int
) -> tuple[Float[np.ndarray, "*some"], Float[np.ndarray, "*some"]]:
    """Return the ends of the 95 % intervals of distances whose divergences have these means and errors.

    They are Student's for the mean divergence, rooted; NaN with one block. Unit: the block of units (one
    unit each where memory allows). Assumes that blocks are independent and their means about normal.
    Simulated with 60 units, coverage is 0.95 where units vary about normally, and 0.91 to 0.92 (0.93 to 0.95
    with 200) where each unit's divergences are scaled by an exponential. Not adjusted for the number of
    pairs: of 10,296 pairs some 500 intervals miss.
    """
    reach = _cut(blocks) * error
    return _rooted(mean - reach), _rooted(mean + reach)


def _rooted(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.where(values < 0, 0.0, values))


def _cut(blocks: int) -> float:
    return float(t.ppf((1 + LEVEL) / 2, blocks - 1)) if blocks > 1 else float("nan")


def resampled_means(
    divergence: Divergence, draws: int, seed: int
) -> Iterator[Float[np.ndarray, "some_draws pairs"]]:
    """Yield mean divergences under bootstrap resamples of the blocks, some draws at a time."""
    for counts in bootstrap_counts(len(divergence.weight), draws, seed):
        yield from weighted_means(divergence, counts)


def weighted_means(
    divergence: Divergence, counts: Float[np.ndarray, "draws blocks"]
) -> Iterator[Float[np.ndarray, "some_draws pairs"]]:
    """Yield ``divergence.mean`` of every row of counts, some rows at a time for memory."""
    sums = divergence.sums.astype(np.float64)
    size = max(1, CELLS // sums.shape[1])
    for start in range(0, len(counts), size):
        part = counts[start : start + size]
        total = part @ sums
        ratio = total / (part @ divergence.weight)[:, None]
        yield ratio * divergence.weight.sum() if divergence.way == "sum" else ratio


def jackknife_means(divergence: Divergence) -> Iterator[Float[np.ndarray, " pairs"]]:
    """Yield mean divergences without one group of blocks, for each of at most 200 groups in turn.

    With way "sum" they are brought to the size of the whole sum.
    """
    blocks = len(divergence.weight)
    groups = min(blocks, GROUPS)
    total = divergence.mean()
    weight = float(divergence.weight.sum())
    whole = total if divergence.way == "sum" else total * weight
    for group in range(groups):
        sums = divergence.sums[group::groups].sum(axis=0, dtype=np.float64)
        rest = (whole - sums) / (weight - divergence.weight[group::groups].sum())
        yield rest * weight if divergence.way == "sum" else rest


def jackknife(
    divergence: Divergence, statistics: Statistics
) -> tuple[
    Float[np.ndarray, " statistics"], Float[np.ndarray, " statistics"], Float[np.ndarray, " statistics"]
]:
    """Return estimates and 95 % intervals of numbers computed from the mean divergences.

    Delete-a-group jackknife (Tukey 1958; Efron and Tibshirani 1993, §11): the spread of what remains when
    one group of blocks is left out, with Student's t over groups − 1. Unit: the group of blocks. Assumes
    smooth functions of the means, which sums of squares, their ratios and correlations over many pairs
    are. There is no correction of bias: sums of squares have none, and for correlations it made simulated
    coverage worse (for rank correlations down to 0.65).

    Args:
        divergence: Block sums.
        statistics: Gives the numbers, from mean divergences.

    Returns:
        Estimates, lower ends, upper ends; ends are NaN with one block.
    """
    estimate = statistics(divergence.mean())
    groups = min(len(divergence.weight), GROUPS)
    if groups < 2:
        missing = np.full(estimate.shape, np.nan)
        return estimate, missing, missing.copy()
    without = np.stack([statistics(mean) for mean in jackknife_means(divergence)])
    squares = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    reach = _cut(groups) * np.sqrt((groups - 1) / groups * squares)
    return estimate, estimate - reach, estimate + reach


def nearest_heads(divergence: Divergence, error: Float[np.ndarray, " pairs"], count: int = 8) -> Neighbours:
    """Return the nearest heads of every head, with 95 % intervals of their distances.

    The intervals are those of single distances. That the nearest of many were picked makes their
    distances a little too small; how much is seen where intervals of neighbours overlap.

    Args:
        divergence: Block sums.
        error: Of every mean divergence.
        count: Neighbours of each head; fewer where there are fewer heads.
    """
    mean, spread = square_matrix(divergence.mean()), square_matrix(error)
    heads = len(mean)
    apart = mean.copy()
    np.fill_diagonal(apart, np.inf)
    head = np.argsort(apart, axis=1, kind="stable")[:, : min(count, heads - 1)]
    near = np.take_along_axis(mean, head, axis=1)
    low, high = interval_ends(near, np.take_along_axis(spread, head, axis=1), len(divergence.weight))
    return Neighbours(head, distances(near), low, high)


def square_matrix(pairs: Float[np.ndarray, " pairs"]) -> Float[np.ndarray, "heads heads"]:
    """Both halves of a symmetric matrix from its condensed form, with zeros on the diagonal.

    Example:
        >>> square_matrix(np.array([1.0, 2.0, 3.0])).tolist()
        [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]
    """
    heads = round((1 + np.sqrt(1 + 8 * len(pairs))) / 2)
    found = np.zeros((heads, heads))
    found[np.triu_indices(heads, 1)] = pairs
    return found + found.T


STARTS = 8
"""Random starts, in addition to the classical solution; half of them for more than 400 heads."""
MANY = 400
CLOUD = 100
CLOUD_OF_MANY = 30

Map = Float[np.ndarray, "heads 2"]


def place_heads(distance: Float[np.ndarray, " pairs"], seed: int) -> tuple[Map, float]:
    """Return the map of smallest stress among several starts (SMACOF, Borg and Groenen 2005), and its stress.

    Starts are classical scaling and 8 random placements (4 for more than 400 heads). The map is centred,
    turned to its principal axes, and mirrored so that on either axis the head farthest out is positive:
    equal distances give equal maps.

    Args:
        distance: Of all pairs.
        seed: Of the random starts.
    """
    whole = square_matrix(distance)
    rng, heads = np.random.default_rng(seed), len(whole)
    spread = float(np.sqrt((whole**2).mean())) or 1.0
    starts = [classical_scaling(whole)]
    starts += [spread * rng.standard_normal((heads, 2)) for _ in range(STARTS // (1 + int(heads > MANY)))]
    maps = [smacof_map(whole, start, 300) for start in starts]
    best = min(maps, key=lambda place: stress(distance, place))
    place = orient_map(smacof_map(whole, best, 1000))
    return place, stress(distance, place)


def classical_scaling(whole: Float[np.ndarray, "heads heads"]) -> Map:
    """Return classical scaling (Torgerson 1952): leading axes of the doubly centred squared distances."""
    squared = whole**2
    centred = -(squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()) / 2
    value, vector = np.linalg.eigh(centred)
    found: np.ndarray = vector[:, :-3:-1] * np.sqrt(np.maximum(value[:-3:-1], 0.0))
    return found


def smacof_map(whole: Float[np.ndarray, "heads heads"], start: Map, rounds: int) -> Map:
    """Return the map that metric SMACOF reaches from a start."""
    if not whole.any():
        return np.zeros_like(start)
    place, _ = smacof(whole, n_components=2, init=start, n_init=1, max_iter=rounds, eps=1e-7)
    return np.asarray(place)


def stress(distance: Float[np.ndarray, " pairs"], place: Map) -> float:
    """Return Kruskal's (1964) stress-1, ``sqrt(Σ (d − m)² / Σ m²)`` with m the distances on the map.

    NaN where all heads lie on one point.

    Example:
        >>> stress(np.array([3.0, 4.0, 5.0]), np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]]))
        0.0
    """
    on_map = pdist(place)
    size = float((on_map**2).sum())
    return float(np.sqrt(((distance - on_map) ** 2).sum() / size)) if size > 1e-18 else float("nan")


def orient_map(place: Map) -> Map:
    """Return the map centred and on its principal axes. The farthest head of either axis is positive."""
    centred = place - place.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    turned = centred @ axes[:, ::-1]
    far = turned[np.abs(turned).argmax(axis=0), [0, 1]]
    found: np.ndarray = turned * np.where(far < 0, -1.0, 1.0)
    return found


def procrustes_map(place: Map, target: Map) -> Map:
    """Return a map moved, turned and mirrored, not stretched, onto another (Procrustes)."""
    centre, aim = place.mean(axis=0), target.mean(axis=0)
    turn, _ = orthogonal_procrustes(place - centre, target - aim)
    found: np.ndarray = (place - centre) @ turn + aim
    return found


def resampled_maps(
    divergence: Divergence, place: Map, draws: int, seed: int
) -> Float32[np.ndarray, "draws heads 2"]:
    """Return maps of resampled blocks of units, each started from the map and laid onto it.

    At most 100 resamples, and 30 for more than 400 heads. How far a head scatters shows how well units
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
        procrustes_map(smacof_map(square_matrix(distance), place, 100), place)
        for some in resampled_means(divergence, draws, seed)
        for distance in map_distances(some, divergence.way)
    ]
    return np.array(maps, dtype=np.float32).reshape(len(maps), len(place), 2)
