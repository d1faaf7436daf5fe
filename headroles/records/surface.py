"""Surface statistics of whole layers: layer means, and tests of attention that does not matter."""

from dataclasses import dataclass, replace

from headroles.records.brief import brief
from headroles.records.numbers import isolate, two_decimals
from headroles.records.table import ENDS, LAYER, Cell, Column, Table, chance, counted, interval_ends

OUTCOMES = ("less important", "not less", "undetermined", "untestable")
"""Decisions about attention that does not matter, in the order of ``records.findings.DECISIONS``."""
KINDS = {
    "first": "the first token",
    "separator": "separators",
    "punctuation": "punctuation",
    "other": "other tokens",
}


def kind_name(kind: str) -> str:
    """Return a kind of token as it stands in a sentence."""
    return KINDS.get(kind, isolate(kind))


COUNTED = counted("count", "Units that counted.", "units")
LAYER_MEANS = Table(
    "layers.csv",
    "Means of layers",
    "a statistic and a layer",
    (
        Column("column", "Name of the surface statistic, or of the importance.", str, "statistic"),
        replace(LAYER, heading="layer", text=str),
        COUNTED,
        Column("mean", "Mean over heads and units.", float, f"mean {ENDS}", ends=("low", "high")),
        Column("low", "Lower end of its 95 % interval (t over units of the layer's mean over heads)."),
        Column("high", "Upper end."),
        Column(
            "even",
            "Value of even attention, mean over units; NaN where it is not defined (importance).",
            float,
            "even",
        ),
    ),
    name="Layers",
)
"""The mean of every column over the heads of every layer."""
NO_OPS = Table(
    "noop.csv",
    "Tests of attention that does not matter, with `--gradients`",
    "a test",
    (
        Column("measure", "`gradient` or `attention×gradient`.", str, "measure"),
        Column(
            "kind", "The kind of token, such as `separator`.", str, "attention to",
            cell=lambda row: Cell(kind_name(row.kind), row.kind),
        ),
        replace(LAYER, heading="layer", text=str),
        COUNTED,
        Column("mean", "Mean score.", float, f"score {ENDS}", two_decimals, ("low", "high")),
        *interval_ends(),
        Column("statistic", "Test statistic."),
        chance("p", "One-sided p of “less important”.", "p"),
        chance("q", "`p` adjusted over the layers.", "q"),
        Column(
            "decision",
            "“less important” where `q` is at most alpha; “not less” where the other direction is "
            "significant (the mean lies below 0), which is corrected over the layers by itself and never "
            "given for fewer than 50 units; else “undetermined”; “untestable” below two units.",
            str, "decision", words=OUTCOMES,
        ),
    ),
    name="Tests",
    note=(
        "The score of an input is `(o − k) / a`: k is the mean importance of cells whose key is of the kind, "
        "o that of cells whose key is another text token, a the mean of both by their numbers of keys. It is "
        "0 where both matter the same, and positive where the kind matters less."
    ),
)  # fmt: skip
"""Whether changing the attention to one kind of token matters less than to other tokens, layer by layer.

The score of an example is ``(o − k) / a``, with k the mean importance of cells whose key is of the kind, o
that of cells whose key is another text token, and a the mean of both by their numbers of keys, all averaged
over the layer's heads: 0 where both matter the same, positive where the kind matters less. Null: its mean
is at most 0. Alternative: it is larger (the kind matters less). The other direction is tested as well:
null, the mean is at least 0; alternative, it is smaller. Unit: as in the findings. The layers of one kind
and measure are one family in each direction.
"""


@dataclass(frozen=True, slots=True)
class SurfaceResults:
    """Results of a surface run about layers.

    Attributes:
        layers: Mean of every column and layer.
        noop: Tests of attention that does not matter; empty without gradients.
    """

    layers: Table
    noop: Table = NO_OPS

    __repr__ = brief
