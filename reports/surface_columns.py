"""The columns of a surface run: their names in words, what even attention gives, their extreme heads."""

import math
from dataclasses import dataclass

import numpy as np

from headroles.records.findings import Findings, Labelling
from headroles.records.surface import LayerMean
from headroles.reports.content import Interval
from headroles.reports.words import isolate, mean, number

GROUP = "surface"
MEASURES = {
    "gradient": "|∂loss/∂attention|",
    "attention×gradient": "|attention × ∂loss/∂attention|",
}
"""Importances by the first part of their columns' names, as formulas."""
IMPORTANCES = {
    "gradient": "Gradient of the loss with respect to attention to {}",
    "attention×gradient": "Attention to {} × gradient of the loss with respect to it",
}
"""The same in words, a kind of token to be put in."""
KINDS = {
    "first": "the first token",
    "separator": "separators",
    "punctuation": "punctuation",
    "other": "other tokens",
}
ENTROPIES = ("surface:entropy", "surface:entropy-first")
NAMES = {
    "surface:first": "To the first token",
    "surface:separator": "To separators",
    "surface:separator→separator": "From separators to separators",
    "surface:other→separator": "From other tokens to separators",
    "surface:punctuation": "To punctuation",
    "surface:previous": "To the previous token",
    "surface:next": "To the next token",
    "surface:self": "To the same token",
    "surface:entropy": "Entropy of all rows",
    "surface:entropy-first": "Entropy of the first token's row",
}
BRIEF = {
    "surface:first": "first token",
    "surface:separator": "separators",
    "surface:separator→separator": "separators → separators",
    "surface:other→separator": "other tokens → separators",
    "surface:punctuation": "punctuation",
    "surface:previous": "previous token",
    "surface:next": "next token",
    "surface:self": "same token",
    "surface:entropy": "all rows",
    "surface:entropy-first": "first token's row",
}
DECIDED = ("above even", "below even", "undetermined", "untestable", "described")
"""What a decision reads as where means are tested against even attention; the last: no test."""


@dataclass(frozen=True, slots=True)
class Peak:
    """A head and its mean, the largest or the smallest of a column.

    Attributes:
        layer: Its layer.
        head: Its head within the layer.
        mean: Its mean with the 95 % interval.
        q: Of the test above even attention; NaN where nothing was tested.
    """

    layer: int
    head: int
    mean: Interval
    q: float

    @property
    def place(self) -> str:
        """Layer and head, as in ``3-7``."""
        return f"{self.layer}-{self.head}"


def named(column: str) -> str:
    """A column in words.

    Example:
        >>> named("surface:separator"), named("gradient:other"), named("mine")
        ('To separators', 'Gradient of the loss with respect to attention to other tokens', 'mine')
    """
    measure, _, kind = column.partition(":")
    if measure in MEASURES:
        return IMPORTANCES[measure].format(kind_told(kind))
    return NAMES.get(column, isolate(column))


def brief(column: str) -> str:
    """A column in few words, for legends and headings beside others of its group.

    Example:
        >>> brief("surface:next"), brief("gradient:separator"), brief("mine")
        ('next token', 'separators', 'mine')
    """
    measure, _, kind = column.partition(":")
    return kind_told(kind) if measure in MEASURES else BRIEF.get(column, isolate(column))


def kind_told(kind: str) -> str:
    """A kind of token as it stands in a sentence."""
    return KINDS.get(kind, isolate(kind))


def told(column: str, value: float) -> str:
    """A value of a column: importances can be tiny, so they have three digits.

    Example:
        >>> told("surface:self", 0.2512), told("gradient:other", 0.00001234), told("surface:self", math.nan)
        ('0.25', '1.23e-05', '–')
    """
    return number(value) if column.partition(":")[0] in MEASURES else mean(value)


def told_interval(column: str, value: Interval) -> str:
    """A mean with its interval; alone where there is none.

    Example:
        >>> told_interval("surface:self", Interval(0.25, 0.2, 0.3))
        '0.25 [0.20, 0.30]'
    """
    ends = [told(column, each) for each in (value.mean, value.low, value.high)]
    return ends[0] if "–" in ends else f"{ends[0]} [{ends[1]}, {ends[2]}]"


def known(findings: Findings, column: str) -> bool:
    """Whether a run has a column, and any head a mean in it."""
    return column in findings.sieves and not np.isnan(findings.mean[findings.of(column)]).all()


def even(findings: Findings, column: str) -> float:
    """What even attention gives in a column; NaN where that is nothing."""
    null = findings.null[findings.of(column)]
    return float(np.nanmean(null)) if column.startswith(GROUP) and not np.isnan(null).all() else math.nan


def peak(findings: Findings, column: str, *, largest: bool = True) -> Peak:
    """The head with the largest (or smallest) mean of a column that is known; the first of equals."""
    place = findings.of(column)
    means = findings.mean[place]
    flat = np.nanargmax(means) if largest else np.nanargmin(means)
    layer, head = (int(each) for each in np.unravel_index(int(flat), means.shape))
    at = (place, layer, head)
    ends = Interval(float(findings.mean[at]), float(findings.low[at]), float(findings.high[at]))
    return Peak(layer, head, ends, float(findings.q[at]))


def layers_of(labelling: Labelling, column: str) -> tuple[LayerMean, ...]:
    """The layers of one column that have a mean, in their order."""
    rows = labelling.surface.layers if labelling.surface else ()
    found = [each for each in rows if each.column == column and not math.isnan(each.mean)]
    return tuple(sorted(found, key=lambda each: each.layer))


def between(each: LayerMean) -> Interval:
    """The mean of a layer with its interval."""
    return Interval(each.mean, each.low, each.high)


def counts(findings: Findings, column: str) -> tuple[int, int, int, int]:
    """Heads above even attention, below it, undetermined, and untestable."""
    decided = findings.decision[findings.of(column)]
    above, below, undetermined, untestable = (int((decided == code).sum()) for code in range(4))
    return above, below, undetermined, untestable
