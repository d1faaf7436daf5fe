"""Facts about clusters for page and terminal: distances as a square, groups of heads, nearest heads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.clusters import ClusterResults, Neighbours
from headroles.records.layers import Stack

NEAREST = 8
"""Nearest heads shown for every head."""
NOISE = -1
"""Cluster number of the heads that DBSCAN puts into no cluster."""


@dataclass(frozen=True, slots=True)
class Group:
    """One cluster, or the heads in none.

    Attributes:
        number: From 0 by falling size; −1: the heads in no cluster.
        heads: Its heads, layer after layer.
        central: Its head with the smallest mean distance to its others; the head itself where it is alone.
        within: Mean distance between its heads; NaN where it has one.
        silhouette: Mean over its heads; NaN where there is none.
        stability: Mean over its heads; NaN where there is none.
        layers: Heads in each layer that is read.
        roles: Number of heads with each role that any of its heads holds, most frequent first.
    """

    number: int
    heads: tuple[int, ...]
    central: int
    within: float
    silhouette: float
    stability: float
    layers: tuple[int, ...]
    roles: tuple[tuple[str, int], ...]


def head_names(stack: Stack, heads: int) -> tuple[str, ...]:
    """Return the name of every head, layer by layer.

    Args:
        stack: The layers by their positions.
        heads: Heads of a layer.

    Example:
        >>> from headroles.records.layers import StackLayer
        >>> head_names(Stack((StackLayer(3), StackLayer(7)), 8), 2)
        ('3-0', '3-1', '7-0', '7-1')
    """
    return tuple(stack.name(*divmod(cell, heads)) for cell in range(len(stack.layers) * heads))


def square_of(values: Float[np.ndarray, " pairs"], size: int) -> Float[np.ndarray, "heads heads"]:
    """Return numbers of all pairs as a symmetric square, 0 on its diagonal.

    Args:
        values: Condensed, as in ``Divergence``.
        size: Number of heads.

    Example:
        >>> square_of(np.array([1.0, 2.0, 3.0]), 3)[1].tolist()
        [1.0, 0.0, 3.0]
    """
    square = np.zeros((size, size))
    square[np.triu_indices(size, 1)] = values
    return square + square.T


def distances_of(clustered: ClusterResults) -> Float[np.ndarray, "heads heads"]:
    """Return distances between all heads: the square roots of their divergences, 0 on the diagonal."""
    mean = clustered.divergence.mean()
    return square_of(np.sqrt(np.clip(mean, 0.0, None)), len(clustered.cluster))


def groups_of(
    clustered: ClusterResults,
    distance: Float[np.ndarray, "heads heads"],
    names: Sequence[str],
    held: Bool[np.ndarray, "roles heads"],
) -> tuple[Group, ...]:
    """Return every cluster by its number, then the heads in none.

    Args:
        clustered: The clusters.
        distance: Between all heads.
        names: Of the roles.
        held: Whether a head holds a role.
    """
    numbers = sorted(set(clustered.cluster.tolist()) - {NOISE})
    if (clustered.cluster == NOISE).any():
        numbers.append(NOISE)
    return tuple(_group(clustered, number, distance, names, held) for number in numbers)


def _group(
    clustered: ClusterResults,
    number: int,
    distance: Float[np.ndarray, "heads heads"],
    names: Sequence[str],
    held: Bool[np.ndarray, "roles heads"],
) -> Group:
    """Return one cluster with its heads, its means and its roles."""
    members = np.flatnonzero(clustered.cluster == number)
    source, others = clustered.divergence, max(len(members) - 1, 1)
    mean = distance[np.ix_(members, members)].sum(axis=1) / others
    counts = [(name, int(row[members].sum())) for name, row in zip(names, held, strict=True)]
    return Group(
        number=number,
        heads=tuple(members.tolist()),
        central=int(members[int(mean.argmin())]),
        within=float(mean.mean()) if len(members) > 1 else float("nan"),
        silhouette=known_mean(clustered.silhouette[members]),
        stability=known_mean(clustered.stability[members]),
        layers=tuple(np.bincount(members // source.heads, minlength=source.layers).tolist()),
        roles=tuple(sorted((role for role in counts if role[1]), key=lambda role: -role[1])),
    )


def known_mean(values: np.ndarray) -> float:
    """Return the mean of the numbers that are not NaN; NaN where there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def group_distances(
    groups: Sequence[Group], distance: Float[np.ndarray, "heads heads"]
) -> Float[np.ndarray, "groups groups"]:
    """Return mean distances between heads of two groups; on the diagonal within one, NaN for one head."""
    membership = np.zeros((len(groups), len(distance)))
    for place, group in enumerate(groups):
        membership[place, list(group.heads)] = 1.0
    sizes = membership.sum(axis=1)
    pairs = np.outer(sizes, sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1))
    sums = membership @ distance @ membership.T
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: np.ndarray = np.where(pairs > 0, sums / pairs, np.nan)
    return mean


def nearest_of(clustered: ClusterResults, distance: Float[np.ndarray, "heads heads"]) -> Neighbours:
    """Return the nearest other heads of every head; without intervals where the run computed none.

    Args:
        clustered: With ``neighbours``, or without.
        distance: Between all heads.

    Returns:
        At most ``NEAREST`` heads of each head, nearest first; of equals, the first.
    """
    neighbours = clustered.neighbours
    if neighbours is not None:
        columns = (getattr(neighbours, name)[:, :NEAREST] for name in ("head", "distance", "low", "high"))
        return Neighbours(*columns)
    others = distance.copy()
    np.fill_diagonal(others, np.inf)
    order = np.argsort(others, axis=1, kind="stable")[:, : min(NEAREST, len(distance) - 1)]
    near = np.take_along_axis(distance, order, axis=1)
    return Neighbours(order, near, np.full_like(near, np.nan), np.full_like(near, np.nan))
