"""Distances between heads, clusters, a two-dimensional map of the heads, and claims about them.

Heads are numbered layer after layer: ``layer × heads + head``. Pairs of heads are in the condensed order
of scipy: (0, 1), (0, 2), …, (1, 2), ….
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from headroles.errors import BadInput
from headroles.records.arrays import seal_arrays
from headroles.records.brief import brief
from headroles.records.numbers import isolate, plural, three_decimals, two_decimals
from headroles.records.rules.names import WAYS
from headroles.records.table import (
    COUNT,
    ENDS,
    HEAD,
    LAYER,
    SHARE,
    Cell,
    Column,
    Row,
    Table,
    counted,
    interval_ends,
)


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


CIRCULAR = "no p can be given: roles and distances come from the same attention"
ALL = "all "
"""First word of a reference that holds every placement, the observed one among them."""


def about_roles(claim: Row) -> bool:
    """Return whether a claim relates roles to distances, so that it can have no p."""
    return bool(claim.subject) or "role" in claim.claim


def reference_text(claim: Row) -> str:
    """Return what a claim's p is a share of: all placements, or the observed one and drawn ones.

    Example:
        >>> reference_text(Row(placements=999, reference="random orders"))
        '1,000 placements (the observed one and 999 drawn: random orders)'
        >>> reference_text(Row(placements=720, reference="all orders"))
        '720 placements (all orders, the observed one among them)'
    """
    reference = isolate(claim.reference) or "random placement"
    if claim.reference.startswith(ALL):
        return f"{plural(claim.placements, 'placement')} ({reference}, the observed one among them)"
    drawn = f"the observed one and {claim.placements:,} drawn: {reference}"
    return f"{plural(1 + claim.placements, 'placement')} ({drawn})"


def _share(claim: Row) -> Cell:
    """Return what a claim's p is a share of, or why there is none."""
    none = CIRCULAR if about_roles(claim) else "–"
    text = none if math.isnan(claim.p) else reference_text(claim)
    return Cell(text, text)


CHOICES = Table(
    "choices.csv",
    "Numbers of clusters that were tried",
    "a number of clusters",
    (
        Column(
            "clusters", "Number of clusters.", int, "clusters", str, terminal="narrow",
            short="clusters tried", within=COUNT,
        ),
        Column(
            "silhouette", "Mean silhouette over heads, from −1 to 1.", float, "silhouette", two_decimals,
            terminal="narrow", within=(-1.0, 1.0),
        ),
        Column(
            "stability", "Mean adjusted Rand index between the clusters and those of resampled units.", float,
            "stability", two_decimals, terminal="narrow", within=(-1.0, 1.0),
        ),
        Column(
            "chosen", "1 for the chosen number, else 0.", int, "chosen, or why not", terminal="narrow",
            short=" ", within=SHARE,
        ),
    ),
    name="Numbers of clusters",
)  # fmt: skip
"""Candidates for the number of clusters."""
CLAIMS = Table(
    "claims.csv",
    "Claims about heads together",
    "a claim",
    (
        Column("claim", "Name of the claim, such as “same layer closer”.", str, "claim", terminal="narrow"),
        Column(
            "subject", "Subject of the claim, such as a role; “” for all heads.", str, "about",
            lambda value: value or "all heads",
        ),
        Column(
            "measure",
            "Name of the statistic: “R2”, “mantel r”, “adjusted Rand”, “stress” and the like.", str,
            "measure", terminal="narrow",
        ),
        Column(
            "estimate", "Value of the statistic.", float, f"estimate {ENDS}", three_decimals,
            ("low", "high"), terminal="narrow",
        ),
        Column("low", "Lower end of its 95 % interval from resampled units; NaN where there is none."),
        Column("high", "Upper end."),
        Column(
            "p",
            "Share of placements at least as extreme, the observed one included, so never 0; NaN where no p "
            "is allowed (labels and distances from the same attention).", float, "p", terminal="narrow",
            within=SHARE,
        ),
        counted("placements", "Number of placements behind p; 0 without p."),
        Column(
            "reference", "Set of placements behind p, in words; “” without p.", str, "p is a share of",
            cell=_share,
        ),
        counted("heads", "Number of heads that counted.", "heads"),
        counted("units", "Number of units behind the interval.", "units"),
    ),
    name="Claims",
)  # fmt: skip
"""Claims about groups of heads."""


def _rounded(name: str) -> Callable[[Row], Cell]:
    """Return what writes a number with two decimals that sorts by six."""
    return lambda row: Cell(two_decimals(getattr(row, name)), round(getattr(row, name), 6))


HEAD_CLUSTERS = Table(
    "clusters.csv",
    "The cluster of every head",
    "a head",
    (
        LAYER,
        HEAD,
        Column("cluster", "Number of its cluster, from 0; −1 for none.", int, "cluster"),
        Column(
            "silhouette", "Silhouette of the head, −1 to 1.", float, "silhouette",
            cell=_rounded("silhouette"), within=(-1.0, 1.0),
        ),
        Column(
            "stability", "How often resampled inputs keep it with its cluster, 0 to 1.", float, "stability",
            cell=_rounded("stability"), within=SHARE,
        ),
        Column("x", "Place on the map.", float, "x", cell=_rounded("x")),
        Column("y", "Place on the map.", float, "y", cell=_rounded("y")),
    ),
    name="All heads: the numbers behind the map",
)  # fmt: skip
"""The cluster of every head, and its place on the map."""
NEAR_HEADS = Table(
    "neighbours.csv",
    "The nearest heads of every head",
    "a head and a near head",
    (
        LAYER,
        HEAD,
        counted("rank", "1 for the nearest."),
        replace(LAYER, name="near_layer", meaning="Layer of the near head."),
        Column("near_head", "The near head in its layer.", int, within=COUNT),
        Column("distance", "Distance of the two.", float, within=COUNT),
        *interval_ends(),
    ),
)
"""The nearest heads of every head, nearest first."""


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
    choices: Table
    place: Float[np.ndarray, "heads 2"]
    cloud: Float[np.ndarray, "draws heads 2"]
    stress: float
    claims: Table
    neighbours: Neighbours | None = None

    __repr__ = brief

    @property
    def heads(self) -> Table:
        """The cluster of every head, and its place on the map, by places of layers."""
        layers, heads = np.indices((self.divergence.layers, self.divergence.heads)).reshape(2, -1)
        x, y = self.place.T
        return HEAD_CLUSTERS.of(
            layer=layers, head=heads, cluster=self.cluster, silhouette=self.silhouette,
            stability=self.stability, x=x, y=y,
        )  # fmt: skip

    def __post_init__(self) -> None:
        """Check shapes and types, and make the arrays read-only."""
        size = self.divergence.layers * self.divergence.heads
        axes = {"pairs": size * (size - 1) // 2, "heads": size, "merges": size - 1}
        seal_arrays(self, f"clusters of {size} heads", axes)
