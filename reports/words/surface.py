"""The columns of a surface run: their names in words, what even attention gives, their extreme heads.

What a surface run says of each statistic and of each layer, in sentences; page and terminal share them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headroles.records.example import Decision
from headroles.records.findings import Findings, Labelling
from headroles.records.surface import OUTCOMES, LayerMean, NoOp
from headroles.reports.content import Interval
from headroles.reports.words.words import isolate, listing, mean, number, plural

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


def sentence(labelling: Labelling, column: str) -> str:
    """What a run says of one column, without its name."""
    found = labelling.findings
    if not known(found, column):
        return "Not applicable to these inputs and this model."
    if column in ENTROPIES:
        return " ".join([_spread(found, column), *_extreme(labelling, column, largest=False)])
    if not column.startswith(GROUP):
        return " ".join([*_extreme(labelling, column), f"Largest in head {_peak(found, column)}."])
    last = f"Strongest: head {_peak(found, column)}."
    return " ".join([_counted(found, column), *_extreme(labelling, column), last])


def _counted(found: Findings, column: str) -> str:
    above, below, undetermined, untestable = counts(found, column)
    heads = above + below + undetermined + untestable
    parts = [
        f"{above or 'None'} of {plural(heads, 'head')} above even attention ({number(even(found, column))})",
        f"{below} below",
    ]
    parts += [f"{undetermined} undetermined"] * bool(undetermined)
    parts += [f"{untestable} untestable"] * bool(untestable)
    return ", ".join(parts) + "."


def _spread(found: Findings, column: str) -> str:
    """The most focused and the broadest head of an entropy."""
    _, below, *_ = counts(found, column)
    low, high = (peak(found, column, largest=largest) for largest in (False, True))
    return (
        f"From {told_interval(column, low.mean)} nats in head {low.place}, the most focused, to "
        f"{told_interval(column, high.mean)} in head {high.place}, the broadest; even attention has "
        f"{number(even(found, column))}. {below} of {plural(found.mean[0].size, 'head')} below it."
    )


def _peak(found: Findings, column: str) -> str:
    each = peak(found, column)
    return f"{each.place}, {told_interval(column, each.mean)}"


def _extreme(labelling: Labelling, column: str, *, largest: bool = True) -> list[str]:
    """The layer with the largest (or smallest) mean; nothing where there is one layer or none."""
    rows = layers_of(labelling, column)
    if len(rows) < 2:
        return []
    each = (max if largest else min)(rows, key=lambda row: row.mean)
    which = "largest" if largest else "smallest"
    mean = told_interval(column, between(each))
    return [f"The mean over a layer is {which} in layer {each.layer}, {mean}."]


def harmless(rows: Sequence[NoOp], layers: int) -> str:
    """In which layers attention to one kind matters less than that to other tokens, and in which not.

    Args:
        rows: The layers of one measure and kind.
        layers: Of the model.

    Example:
        >>> row = NoOp("gradient", "separator", 4, 50, 0.9, 0.8, 1.0, 30.0, 1e-9, 2e-9, "less important")
        >>> harmless([row], 6)
        'In layer 4, changing the attention to separators matters less than changing that to other tokens.'
    """
    kind = kind_told(rows[0].kind)
    act = "taking away" if rows[0].measure == "attention×gradient" else "changing"
    claim = f"{act} the attention to {kind} matters less than {act} that to other tokens"
    less, more, rest, bare = (
        sorted(each.layer for each in rows if each.decision == outcome) for outcome in OUTCOMES
    )
    if not less and not more and not rest:
        return f"Whether {claim} could be tested in no layer."
    first = f"In {_span(less, layers)}, {claim}" if less else f"In no layer is it shown that {claim}"
    others = [(more, "not less"), (rest if less or more else [], "undetermined"), (bare, "untestable")]
    return "; ".join([first, *(f"{_span(each, layers)}: {word}" for each, word in others if each)]) + "."


def harmless_lines(labelling: Labelling) -> list[str]:
    """One sentence per measure and kind of the tests of attention that does not matter.

    Kinds that no input has are left out.
    """
    rows: dict[tuple[str, str], list[NoOp]] = {}
    for each in labelling.surface.noop if labelling.surface else ():
        rows.setdefault((each.measure, each.kind), []).append(each)
    layers = labelling.findings.count.shape[1]
    return [harmless(each, layers) for each in rows.values() if any(row.count for row in each)]


def _span(places: Sequence[int], layers: int) -> str:
    """Layers in words, runs of three and more by their ends.

    Example:
        >>> _span([0, 1, 2, 5], 6), _span([1], 6), _span([0, 1], 2)
        ('layers 0–2 and 5', 'layer 1', 'both layers')
    """
    if len(places) == layers and layers > 1:
        return "both layers" if layers == 2 else f"all {layers} layers"
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else [str(each) for each in run]
    return f"layer{'s' if len(places) > 1 else ''} {listing(parts)}"


def promise(decision: Decision) -> str:
    """What the correction promises of heads above and of heads below even attention."""
    level = f"{100 * decision.alpha:g}\u00a0%"
    over = {"run": "all statistics together", "layer": "one statistic in one layer"}.get(
        decision.family, "one statistic"
    )
    if decision.correction == "none":
        return f"Nothing was corrected: of heads at even attention, {level} are called above it by chance."
    if decision.correction.startswith("fdr"):
        return (
            f"Of the heads called above even attention ({over}), at most {level} are expected not to be and, "
            f"separately, at most {level} of those called below it."
        )
    return (
        f"The chance of even one false “above even” ({over}) is at most {level} and, separately, that of one "
        f"false “below even”."
    )
