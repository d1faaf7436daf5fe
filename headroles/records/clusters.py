"""Distances between heads, clusters and a map made of them, and what is claimed about them.

Heads are numbered layer after layer: ``layer × heads + head``. Pairs of heads come in the condensed
order of scipy: (0, 1), (0, 2), …, (1, 2), ….
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from headroles.errors import BadInput
from headroles.records.arrays import frozen

WAYS = ("mean", "sum")
"""How divergences of units can be put together."""
METHODS = ("average", "spectral", "dbscan")
"""How heads can be clustered."""

Shape = tuple[int, ...]


def _checked(record: Any, what: str, wanted: Mapping[str, tuple[str, Shape]]) -> None:
    """Make arrays of a record read-only, each of its kind ("f": floats, "i": whole numbers) and shape.

    Raises:
        BadInput: When an array is of another.
    """
    for name, (kind, shape) in wanted.items():
        array = getattr(record, name)
        if array.dtype.kind != kind or array.shape != shape:
            numbers = "floats" if kind == "f" else "whole numbers"
            raise BadInput(
                f"{what} have {name!r} as {numbers} of shape {shape}, but {array.dtype} of shape "
                f"{array.shape} came; give arrays of one model and one run"
            )
        object.__setattr__(record, name, frozen(array))


@dataclass(frozen=True, slots=True, eq=False)
class Divergence:
    """Jensen-Shannon divergence between the attention rows of all pairs of heads, in nats.

    Attributes:
        layers: Number of layers.
        heads: Number of heads in a layer.
        sums: Per block of units and pair of heads. Way "mean": sum over the block's units of a unit's
            mean over its examples of an example's mean over query rows. Way "sum": plain sum over all
            rows of all inputs of the block, as released.
        weight: Units in each block.
        block: The block of each unit, in the units' order of first appearance.
        smoothing: Share ε of even attention mixed into every row, ``(1 − ε) a + ε / n``, before the
            divergence.
        way: "mean" or "sum".

    Raises:
        BadInput: For arrays of another shape or type, a unit in a block that is not there, another way,
            or a smoothing that is not at least 0 and below 1.
    """

    layers: int
    heads: int
    sums: Float[np.ndarray, "blocks pairs"]
    weight: Float[np.ndarray, " blocks"]
    block: Int[np.ndarray, " units"]
    smoothing: float = 0.0
    way: str = "mean"

    def __post_init__(self) -> None:
        """Check shapes and types, and make the arrays read-only."""
        size = self.layers * self.heads
        blocks, what = self.sums.shape[:1], f"divergences of {size} heads"
        wanted = {
            "sums": ("f", (*blocks, size * (size - 1) // 2)),
            "weight": ("f", blocks),
            "block": ("i", (self.block.size,)),
        }
        _checked(self, what, wanted)
        if self.block.size and not 0 <= self.block.min() <= self.block.max() < len(self.weight):
            raise BadInput(
                f"every unit is in one of the {len(self.weight)} blocks, counted from 0, but blocks "
                f"{self.block.min()} to {self.block.max()} came; number them anew"
            )
        if self.way not in WAYS or not 0 <= self.smoothing < 1:
            raise BadInput(
                f"{what} are put together by 'mean' or 'sum' with a smoothing of at least 0 and below 1, but "
                f"{self.way!r} and {self.smoothing} came; change them"
            )

    def mean(self, counts: Float[np.ndarray, " blocks"] | None = None) -> Float[np.ndarray, " pairs"]:
        """The divergence of every pair over all blocks; way "sum": their sum, of as many units as there are.

        Args:
            counts: How often each block counts, for resampling; None: once.
        """
        drawn = np.ones(len(self.weight)) if counts is None else np.asarray(counts, dtype=np.float64)
        total = drawn @ self.sums.astype(np.float64, copy=False)
        if self.way == "sum" and counts is None:
            return total
        found: np.ndarray = total / (drawn @ self.weight)
        return found * self.weight.sum() if self.way == "sum" else found


@dataclass(frozen=True, slots=True)
class Choice:
    """One number of clusters that was tried.

    Attributes:
        clusters: The number.
        silhouette: Mean silhouette over heads, from −1 to 1.
        stability: Mean adjusted Rand index between the clusters and those of resampled units.
        chosen: 1 for the number taken, else 0.
    """

    clusters: int
    silhouette: float
    stability: float
    chosen: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about heads together.

    Attributes:
        claim: What is claimed, by name, such as "same layer closer".
        subject: What it is about, such as a role; "" for all heads.
        measure: The number's name: "R2", "mantel r", "adjusted Rand", "stress" and the like.
        estimate: Its value.
        low: Lower end of its 95 % interval from resampled units; NaN where there is none.
        high: Upper end.
        p: Share of placements at least as extreme, the observed one counted among them, so
            never 0; NaN where no p may be given (labels and distances from the same attention).
        placements: Placements behind p; 0 where there is none.
        reference: What p is a share of, in words; "" without p.
        heads: Heads that counted.
        units: Units behind the interval.
    """

    claim: str
    subject: str
    measure: str
    estimate: float
    low: float
    high: float
    p: float
    placements: int
    reference: str
    heads: int
    units: int

    @property
    def about_roles(self) -> bool:
        """Whether it brings roles and distances together, so that it can have no p."""
        return bool(self.subject) or "role" in self.claim


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The nearest heads of every head, nearest first.

    Attributes:
        head: Their numbers, layer after layer.
        distance: How far they are: square roots of mean divergences.
        low: Lower ends of the distances' 95 % intervals; NaN with one block.
        high: Upper ends.
    """

    head: Int[np.ndarray, "heads near"]
    distance: Float[np.ndarray, "heads near"]
    low: Float[np.ndarray, "heads near"]
    high: Float[np.ndarray, "heads near"]

    def __post_init__(self) -> None:
        """Check shapes and types, and make the arrays read-only."""
        shape = (*self.head.shape[:1], *self.head.shape[-1:])
        wanted = dict.fromkeys(("distance", "low", "high"), ("f", shape))
        _checked(self, "nearest heads", {"head": ("i", shape)} | wanted)


@dataclass(frozen=True, slots=True, eq=False)
class Clustered:
    """Clusters of heads, their map, and claims.

    Attributes:
        divergence: What they are made of; distances are its square roots.
        error: Standard error of each pair's mean divergence over blocks; NaN with one block.
        method: "average", "spectral" or "dbscan".
        cluster: Cluster of each head, from 0 by falling size; −1 is noise (DBSCAN).
        silhouette: Of each head; NaN where there are no two clusters.
        stability: Of each head, from 0 to 1: heads both in its cluster and in its cluster under resampled
            units, as a share of those in either (Jaccard), mean over resamples; NaN without resamples.
        linkage: Merges of average linkage as scipy gives them, heads − 1 rows of 4.
        choices: Numbers of clusters tried.
        place: Map of the heads (metric multidimensional scaling of the distances).
        cloud: The map under resampled units, moved onto ``place`` (Procrustes).
        stress: Kruskal's stress-1 of the map.
        claims: What is claimed about heads together.
        neighbours: Nearest heads of each head; None when not computed.

    Raises:
        BadInput: For arrays of another shape or type than the number of heads asks for.
    """

    divergence: Divergence
    error: Float[np.ndarray, " pairs"]
    method: str
    cluster: Int[np.ndarray, " heads"]
    silhouette: Float[np.ndarray, " heads"]
    stability: Float[np.ndarray, " heads"]
    linkage: Float[np.ndarray, "merges 4"]
    choices: tuple[Choice, ...]
    place: Float[np.ndarray, "heads 2"]
    cloud: Float[np.ndarray, "draws heads 2"]
    stress: float
    claims: tuple[Claim, ...]
    neighbours: Neighbours | None = None

    def __post_init__(self) -> None:
        """Check shapes and types, and make the arrays read-only."""
        size = self.divergence.layers * self.divergence.heads
        wanted = {
            "error": ("f", (size * (size - 1) // 2,)),
            "cluster": ("i", (size,)),
            "silhouette": ("f", (size,)),
            "stability": ("f", (size,)),
            "linkage": ("f", (size - 1, 4)),
            "place": ("f", (size, 2)),
            "cloud": ("f", (*self.cloud.shape[:1], size, 2)),
        }
        _checked(self, f"clusters of {size} heads", wanted)
