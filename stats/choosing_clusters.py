"""How many clusters: the number that separates heads best among those that come back in other units."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from sklearn.metrics import silhouette_samples

from headroles.errors import BadInput, UnknownName
from headroles.records.clusters import Choice, Divergence
from headroles.stats.clusters import METHODS, NOISE, adjusted_rand, alone, overlap
from headroles.stats.distances import distances, resampled, square

STABLE = 0.6
"""Least stability of a number that is chosen. A convention: adjusted Rand indices below 0.65 count as
poor agreement (Steinley 2004), and clusters whose heads agree by less than 0.6 with those of resampled
data are not to be trusted (Hennig 2007)."""
MOST = 20
SLOW_DRAWS = 25
"""Most resamples behind the stability of spectral clusters, each of which takes an eigenproblem."""


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Clusters with as many of them as were chosen.

    Attributes:
        number: What was asked of the method; for DBSCAN what it found.
        cluster: Of each head.
        silhouette: Of each head.
        stability: Of each head.
        choices: Every number that was tried.
    """

    number: int
    cluster: Int[np.ndarray, " heads"]
    silhouette: Float[np.ndarray, " heads"]
    stability: Float[np.ndarray, " heads"]
    choices: tuple[Choice, ...]


def choose(divergence: Divergence, method: str, clusters: int | None, draws: int, seed: int) -> Chosen:
    """Clusters, as many as separate heads best among the numbers that come back in other units.

    Numbers from 2 to 20 are tried, at most half the heads. Each has a mean silhouette over heads
    (Rousseeuw 1987) and a stability: the mean adjusted Rand index between clusters of all units and those
    of resampled blocks, with the same number. ``preferred`` takes one of them.

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
    numbers = numbers_of(divergence.layers * divergence.heads, method, clusters)
    find, mean = METHODS[method], divergence.mean()
    found = find(distances(mean), numbers)
    if method == "spectral":
        draws = min(draws, SLOW_DRAWS)
    if len(divergence.weight) < 2:
        draws = 0
    redrawn = [find(distances(row), numbers) for some in resampled(divergence, draws, seed) for row in some]
    whole = square(distances(mean))
    silhouettes = [silhouette(whole, row) for row in found]
    tried = []
    for place, row in enumerate(found):
        agreement = [adjusted_rand(alone(row), alone(other[place])) for other in redrawn]
        stability = float(np.mean(agreement)) if agreement else float("nan")
        count = int(row.max()) + 1 if method == "dbscan" else numbers[place]
        tried.append(Choice(count, _mean(silhouettes[place]), stability))
    best = preferred(tried, [_parted(row) for row in found])
    choices = tuple(
        Choice(each.clusters, each.silhouette, each.stability, int(place == best))
        for place, each in enumerate(tried)
    )
    kept = [overlap(alone(found[best]), alone(other[best])) for other in redrawn]
    stability_of = np.mean(kept, axis=0) if kept else np.full(len(whole), np.nan)
    return Chosen(choices[best].clusters, found[best], silhouettes[best], stability_of, choices)


def silhouette(
    distance: Float[np.ndarray, "heads heads"], label: Int[np.ndarray, " heads"]
) -> Float[np.ndarray, " heads"]:
    """Silhouette of each head; NaN for noise, and for all where there are no two clusters."""
    found = np.full(len(label), np.nan)
    real = label != NOISE
    count = len(np.unique(label[real]))
    if 2 <= count < real.sum():
        found[real] = silhouette_samples(distance[np.ix_(real, real)], label[real], metric="precomputed")
    return found


def _mean(values: Float[np.ndarray, " heads"]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def preferred(tried: Sequence[Choice], parted: Sequence[bool]) -> int:
    """Place of the number with the largest silhouette among those whose stability is at least 0.6.

    Where none is that stable the most stable one is taken; without resamples silhouettes alone decide.
    Numbers that only cut single heads off the rest come last: their silhouettes are large wherever one
    head is unlike all others, and they say no more than that.

    Args:
        tried: Numbers with silhouette and stability.
        parted: Whether two or more of the clusters have two or more heads.

    Example:
        >>> preferred([Choice(2, 0.6, 1.0), Choice(3, 0.4, 0.5), Choice(4, 0.3, 0.9)], [False, True, True])
        2
    """
    allowed = np.array(parted) if any(parted) else np.ones(len(tried), dtype=bool)
    stability = np.array([each.stability for each in tried])
    width = np.nan_to_num(np.array([each.silhouette for each in tried]), nan=-1.0)
    stable = np.isnan(stability) | (stability >= STABLE)
    if not (allowed & stable).any():
        return int(np.where(allowed, stability, -np.inf).argmax())
    return int(np.where(allowed & stable, width, -np.inf).argmax())


def _parted(label: Int[np.ndarray, " heads"]) -> bool:
    return int((np.bincount(alone(label)) >= 2).sum()) >= 2


def numbers_of(heads: int, method: str, clusters: int | None) -> list[int]:
    """The numbers of clusters to try; [0] where the method finds its number itself.

    Args:
        heads: All heads of the model.
        method: A name in ``METHODS``.
        clusters: The only number; None: 2 to 20, at most half the heads.

    Raises:
        UnknownName: For a method that does not exist.
        BadInput: For fewer than three heads, or a number that cannot be.

    Example:
        >>> numbers_of(12, "average", None)
        [2, 3, 4, 5, 6]
    """
    if method not in METHODS:
        raise UnknownName("way to cluster", method, METHODS)
    if heads < 3:
        raise BadInput(f"clusters are made of three or more heads, but this model has {heads} in all")
    if method == "dbscan":
        if clusters is not None:
            raise BadInput(
                f"dbscan finds the number of clusters itself, but {clusters} came; leave the number out, or "
                f"cluster by average or spectral"
            )
        return [0]
    if clusters is None:
        return list(range(2, max(2, min(MOST, heads // 2)) + 1))
    if not 2 <= clusters < heads:
        raise BadInput(
            f"the number of clusters of {heads} heads is from 2 to {heads - 1}, but {clusters} came; "
            f"change it, or leave it out to have it chosen"
        )
    return [clusters]
