"""Distances between heads, clusters, a two-dimensional map of the heads, and claims about them.

Heads are numbered layer after layer: ``layer × heads + head``. Pairs of heads are in the condensed order
of scipy: (0, 1), (0, 2), …, (1, 2), ….
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from headroles.errors import BadInput
from headroles.records.arrays import seal_arrays
from headroles.records.brief import brief
from headroles.records.rules.names import WAYS


@dataclass(frozen=True, slots=True, eq=False)
class Divergence:
    """Jensen-Shannon divergence between the attention rows of all pairs of heads, in nats.

    Attributes:
        layers: Number of layers.
        heads: Number of heads in a layer.
        sums: Sums per block of units and pair of heads. Way "mean": sum over the block's units of a unit's
            mean over its examples of an example's mean over query rows. Way "sum": plain sum over all
            rows of all inputs of the block, as in the released code.
        weight: Units in each block.
        block: The block of each unit, in the units' order of first appearance.
        smoothing: Share ε of even attention mixed into every row, ``(1 − ε) a + ε / n``, before the
            divergence.
        way: "mean" or "sum".

    Raises:
        BadInput: For arrays of another shape or type, a unit in a block that does not exist, another way,
            or a smoothing that is not at least 0 and below 1.
    """

    layers: int
    heads: int
    sums: Float[np.ndarray, "blocks pairs"]
    weight: Float[np.ndarray, " blocks"]
    block: Int[np.ndarray, " units"]
    smoothing: float = 0.0
    way: str = "mean"

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check shapes and types, and make the arrays read-only."""
        size = self.layers * self.heads
        what = f"divergences of {size} heads"
        seal_arrays(self, what, {"pairs": size * (size - 1) // 2})
        if self.block.size and not 0 <= self.block.min() <= self.block.max() < len(self.weight):
            raise BadInput(
                f"every unit is in one of the {len(self.weight)} blocks, counted from 0, but got blocks "
                f"{self.block.min()} to {self.block.max()}; number them again"
            )
        if self.way not in WAYS or not 0 <= self.smoothing < 1:
            raise BadInput(
                f"{what} are combined by 'mean' or 'sum' with a smoothing of at least 0 and below 1, but "
                f"got {self.way!r} and {self.smoothing}; change them"
            )

    def mean(self, counts: Float[np.ndarray, " blocks"] | None = None) -> Float[np.ndarray, " pairs"]:
        """Return the mean divergence of every pair over all blocks; way "sum": the sum over all units.

        Args:
            counts: Number of times that each block counts, for resampling; None: once.
        """
        drawn = np.ones(len(self.weight)) if counts is None else np.asarray(counts, dtype=np.float64)
        total = drawn @ self.sums.astype(np.float64, copy=False)
        if self.way == "sum" and counts is None:
            return total
        mean: np.ndarray = total / (drawn @ self.weight)
        return mean * self.weight.sum() if self.way == "sum" else mean


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate for the number of clusters.

    Attributes:
        clusters: Number of clusters.
        silhouette: Mean silhouette over heads, from −1 to 1.
        stability: Mean adjusted Rand index between the clusters and those of resampled units.
        chosen: 1 for the chosen number, else 0.
    """

    clusters: int
    silhouette: float
    stability: float
    chosen: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim about groups of heads.

    Attributes:
        claim: Name of the claim, such as "same layer closer".
        subject: Subject of the claim, such as a role; "" for all heads.
        measure: Name of the statistic: "R2", "mantel r", "adjusted Rand", "stress" and the like.
        estimate: Value of the statistic.
        low: Lower end of its 95 % interval from resampled units; NaN where there is none.
        high: Upper end.
        p: Share of placements at least as extreme, the observed one included, so never 0; NaN where
            no p is allowed (labels and distances from the same attention).
        placements: Number of placements behind p; 0 without p.
        reference: Set of placements behind p, in words; "" without p.
        heads: Number of heads that counted.
        units: Number of units behind the interval.
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
        """Whether the claim relates roles to distances, so that it can have no p."""
        return bool(self.subject) or "role" in self.claim


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The nearest heads of every head, nearest first.

    Attributes:
        head: Numbers of the nearest heads, counted layer after layer.
        distance: Distances to them: square roots of mean divergences.
        low: Lower ends of the distances' 95 % intervals; NaN with one block.
        high: Upper ends.
    """

    head: Int[np.ndarray, "heads near"]
    distance: Float[np.ndarray, "heads near"]
    low: Float[np.ndarray, "heads near"]
    high: Float[np.ndarray, "heads near"]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check shapes and types, and make the arrays read-only."""
        seal_arrays(self, "nearest heads", {})


@dataclass(frozen=True, slots=True, eq=False)
class ClusterResults:
    """Clusters of heads, their map, and claims.

    Attributes:
        divergence: Divergences behind the clusters; distances are their square roots.
        error: Standard error of each pair's mean divergence over blocks; NaN with one block.
        method: "average", "spectral" or "dbscan".
        cluster: Cluster of each head, from 0 by falling size; −1 is noise (DBSCAN).
        silhouette: Silhouette of each head; NaN with fewer than two clusters.
        stability: Stability of each head, from 0 to 1: heads both in its cluster and in its cluster under
            resampled units, as a share of heads in either (Jaccard), mean over resamples; NaN without
            resamples.
        linkage: Merges of average linkage as scipy gives them, heads − 1 rows of 4.
        choices: Candidates for the number of clusters.
        place: Coordinates of the heads on the map: metric multidimensional scaling of the distances, or for
            way "sum" of the sums themselves, as in the released code.
        cloud: Coordinates under resampled units, aligned with ``place`` (Procrustes).
        stress: Kruskal's stress-1 of the map.
        claims: Claims about groups of heads.
        neighbours: Nearest heads of each head; None when not computed.

    Raises:
        BadInput: For arrays whose shape or type does not fit the number of heads.
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

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check shapes and types, and make the arrays read-only."""
        size = self.divergence.layers * self.divergence.heads
        axes = {"pairs": size * (size - 1) // 2, "heads": size, "merges": size - 1}
        seal_arrays(self, f"clusters of {size} heads", axes)
