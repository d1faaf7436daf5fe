"""Surface statistics of whole layers: layer means, and tests of attention that does not matter."""

from dataclasses import dataclass

from headroles.records.brief import brief

OUTCOMES = ("less important", "not less", "undetermined", "untestable")
"""Decisions of ``NoOp``, in the order of ``records.findings.DECISIONS``."""


@dataclass(frozen=True, slots=True)
class LayerMean:
    """The mean of one column over the heads of one layer.

    Attributes:
        column: Name of the surface statistic, or of the importance.
        layer: The layer.
        count: Units that counted.
        mean: Mean over heads and units.
        low: Lower end of its 95 % interval (t over units of the layer's mean over heads).
        high: Upper end.
        even: Value of even attention, mean over units; NaN where it is not defined (importance).
    """

    column: str
    layer: int
    count: int
    mean: float
    low: float
    high: float
    even: float


@dataclass(frozen=True, slots=True)
class NoOp:
    """Whether changing the attention to one kind of token matters less than to other tokens, in one layer.

    The score of an example is ``(o − k) / a``, with k the mean importance of cells whose key is of the
    kind, o that of cells whose key is another text token, and a the mean of both by their numbers of
    keys, all averaged over the layer's heads: 0 where both matter the same, positive where the kind
    matters less.
    Null: its mean is at most 0. Alternative: it is larger (the kind matters less). The other direction
    is tested as well: null, the mean is at least 0; alternative, it is smaller. Unit: as in the findings.
    The layers of one kind and measure are one family in each direction.

    Attributes:
        measure: "gradient" or "attention×gradient".
        kind: The kind of token, such as "separator".
        layer: The layer.
        count: Units that counted.
        mean: Mean score.
        low: Lower end of its 95 % interval.
        high: Upper end.
        statistic: Test statistic.
        p: One-sided p of "less important".
        q: ``p`` adjusted over the layers.
        decision: "less important" where ``q`` is at most alpha; "not less" where the other direction is
            significant (the mean lies below 0), which is corrected over the layers by itself and never
            given for fewer than 50 units; else "undetermined"; "untestable" below two units.
    """

    measure: str
    kind: str
    layer: int
    count: int
    mean: float
    low: float
    high: float
    statistic: float
    p: float
    q: float
    decision: str


@dataclass(frozen=True, slots=True)
class SurfaceResults:
    """Results of a surface run about layers.

    Attributes:
        layers: Means per column and layer.
        noop: Tests of attention that does not matter; empty without gradients.
    """

    layers: tuple[LayerMean, ...]
    noop: tuple[NoOp, ...] = ()

    __repr__ = brief
