"""Columns and results of a surface run in words.

These are names, values of even attention, extreme heads, and sentences about each statistic and layer; page
and terminal share them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headroles.records.findings import Findings, Labelling
from headroles.records.numbers import isolate, join_names, mean, number, plural, with_range
from headroles.records.rules.rule import Decision
from headroles.records.surface import LAYER_MEANS, NO_OPS, OUTCOMES, kind_name
from headroles.records.table import Row, Table
from headroles.reports.words.words import Interval
from headroles.stats.decision import ENOUGH_FOR_NOT

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
"""Importances in words, with a place for a kind of token."""
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
    "surface:first→first": "From the first token to itself",
    "surface:first→separator": "From the first token to separators",
    "surface:first→text": "From the first token to the texts",
    "surface:separator→first": "From separators to the first token",
    "surface:separator→self": "From separators to themselves",
    "surface:separator→own-text": "From separators to the text that they end",
    "surface:separator→other-text": "From separators to the other text",
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
    "surface:first→first": "first token → itself",
    "surface:first→separator": "first token → separators",
    "surface:first→text": "first token → texts",
    "surface:separator→first": "separators → first token",
    "surface:separator→self": "separators → themselves",
    "surface:separator→own-text": "separators → own text",
    "surface:separator→other-text": "separators → other text",
    "surface:entropy": "all rows",
    "surface:entropy-first": "first token's row",
}
ROWS = tuple(
    f"{GROUP}:{rows}"
    for rows in (
        "first→first", "first→separator", "first→text",
        "separator→first", "separator→self", "separator→own-text", "separator→other-text",
    )
)  # fmt: skip
"""Columns about the rows of special tokens, which have a table of their own in the terminal."""
DECISION_WORDS = ("above even", "below even", "undetermined", "untestable", "explained", "described")
"""Decisions in words where means are tested against even attention; the last: no test."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The head with the largest or smallest mean of a column.

    Attributes:
        layer: Position of its layer.
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
        """Return layer and head, as in ``3-7``."""
        return f"{self.layer}-{self.head}"


def column_name(column: str) -> str:
    """Return the name of a column in words.

    Example:
        >>> column_name("surface:separator")
        'To separators'
        >>> column_name("gradient:other")
        'Gradient of the loss with respect to attention to other tokens'
        >>> column_name("mine")
        'mine'
    """
    measure, _, kind = column.partition(":")
    if measure in MEASURES:
        return IMPORTANCES[measure].format(kind_name(kind))
    return NAMES.get(column, isolate(column))


def short_name(column: str) -> str:
    """Return a column in few words, for legends and headings next to others of its group.

    Example:
        >>> [short_name(column) for column in ("surface:next", "gradient:separator", "mine")]
        ['next token', 'separators', 'mine']
    """
    measure, _, kind = column.partition(":")
    return kind_name(kind) if measure in MEASURES else BRIEF.get(column, isolate(column))


def value_text(column: str, value: float) -> str:
    """Return a value of a column; importances can be tiny, so they have three digits.

    Example:
        >>> value_text("surface:self", 0.2512), value_text("gradient:other", 0.00001234)
        ('0.25', '1.23e-05')
        >>> value_text("surface:self", math.nan)
        '–'
    """
    return number(value) if column.partition(":")[0] in MEASURES else mean(value)


def interval_text(column: str, value: Interval) -> str:
    r"""Return a mean with its interval; alone where there is none.

    Example:
        >>> interval_text("surface:self", Interval(0.25, 0.2, 0.3))
        '0.25 [0.20,\xa00.30]'
    """
    return with_range(*(value_text(column, number) for number in (value.mean, value.low, value.high)))


def has_scores(findings: Findings, column: str) -> bool:
    """Return whether a run has a column with a mean of at least one head."""
    return column in findings.sieves and not np.isnan(findings.mean[findings.of(column)]).all()


def even_attention(findings: Findings, column: str) -> float:
    """Return the value of even attention in a column; NaN where it has none."""
    null = findings.null[findings.of(column)]
    return float(np.nanmean(null)) if column.startswith(GROUP) and not np.isnan(null).all() else math.nan


def peak(labelling: Labelling, column: str, *, largest: bool = True) -> Peak:
    """Return the head with the largest (or smallest) mean of a column with scores; the first of equals."""
    findings = labelling.findings
    place = findings.of(column)
    means = findings.mean[place]
    flat = np.nanargmax(means) if largest else np.nanargmin(means)
    layer, head = (int(index) for index in np.unravel_index(int(flat), means.shape))
    at = (place, layer, head)
    ends = Interval(float(findings.mean[at]), float(findings.low[at]), float(findings.high[at]))
    return Peak(labelling.scores.stack.numbers[layer], head, ends, float(findings.q[at]))


def layers_of(labelling: Labelling, column: str) -> Table:
    """Return the layers of one column that have a mean, by their positions and in their order."""
    rows = (labelling.surface.layers if labelling.surface else LAYER_MEANS).where(column=column)
    rows = rows.take(np.argsort(rows["layer"], kind="stable"))
    return rows.take(~np.isnan(rows["mean"])).numbered(labelling.scores.stack)


def noop_of(labelling: Labelling) -> Table:
    """Return the tests of attention that does not matter, with the positions of their layers."""
    return (labelling.surface.noop if labelling.surface else NO_OPS).numbered(labelling.scores.stack)


def layer_interval(row: Row) -> Interval:
    """Return the mean of a layer with its interval."""
    return Interval(row.mean, row.low, row.high)


def decision_counts(findings: Findings, column: str) -> tuple[int, int, int, int]:
    """Count heads above even attention, below it, undetermined, and untestable."""
    decided = findings.decision[findings.of(column)]
    above, below, undetermined, untestable = (int((decided == code).sum()) for code in range(4))
    return above, below, undetermined, untestable


def column_sentence(labelling: Labelling, column: str) -> str:
    """Return the result of one column in words, without its name."""
    findings = labelling.findings
    if not has_scores(findings, column):
        return "Not applicable to these inputs and this model."
    if column in ENTROPIES:
        return " ".join([_spread(labelling, column), *_extreme(labelling, column, largest=False)])
    if not column.startswith(GROUP):
        return " ".join([*_extreme(labelling, column), f"Largest in head {_peak(labelling, column)}."])
    last = f"Strongest: head {_peak(labelling, column)}."
    return " ".join([_count_sentence(findings, column), *_extreme(labelling, column), last])


def _count_sentence(findings: Findings, column: str) -> str:
    """Return the numbers of heads above and below even attention as a sentence."""
    above, below, undetermined, untestable = decision_counts(findings, column)
    heads, level = above + below + undetermined + untestable, number(even_attention(findings, column))
    parts = [
        f"{above or 'None'} of {plural(heads, 'head')} above even attention ({level})",
        f"{below} below",
    ]
    parts += [f"{undetermined} undetermined"] * bool(undetermined)
    parts += [f"{untestable} untestable"] * bool(untestable)
    return ", ".join(parts) + "."


def _spread(labelling: Labelling, column: str) -> str:
    """Return the most focused and the broadest head of an entropy."""
    findings = labelling.findings
    _, below, *_ = decision_counts(findings, column)
    low, high = (peak(labelling, column, largest=largest) for largest in (False, True))
    heads = plural(findings.mean[0].size, "head")
    return (
        f"From {interval_text(column, low.mean)} nats in head {low.place}, the most focused, to "
        f"{interval_text(column, high.mean)} in head {high.place}, the broadest; even attention has "
        f"{number(even_attention(findings, column))}. {below} of {heads} below it."
    )


def _peak(labelling: Labelling, column: str) -> str:
    """Return the head with the largest mean, with its interval."""
    head = peak(labelling, column)
    return f"{head.place}, {interval_text(column, head.mean)}"


def _extreme(labelling: Labelling, column: str, *, largest: bool = True) -> list[str]:
    """Return the layer with the largest (or smallest) mean; nothing where there is one layer or none."""
    rows = layers_of(labelling, column)
    if len(rows) < 2:
        return []
    extreme = (max if largest else min)(rows, key=lambda row: row.mean)
    which = "largest" if largest else "smallest"
    mean = interval_text(column, layer_interval(extreme))
    return [f"The mean over a layer is {which} in layer {extreme.layer}, {mean}."]


def noop_sentence(rows: Sequence[Row], layers: Sequence[int]) -> str:
    """Return the layers in which attention to one kind matters less than to other tokens, and the rest.

    Args:
        rows: The layers of one measure and kind.
        layers: Positions of all layers that are read.

    Example:
        >>> row = Row(measure="gradient", kind="separator", layer=4, decision="less important")
        >>> noop_sentence([row], range(6))
        'In layer 4, changing the attention to separators matters less than changing that to other tokens.'
    """
    kind = kind_name(rows[0].kind)
    act = "taking away" if rows[0].measure == "attention×gradient" else "changing"
    claim = f"{act} the attention to {kind} matters less than {act} that to other tokens"
    less, more, rest, bare = (
        sorted(row.layer for row in rows if row.decision == outcome) for outcome in OUTCOMES
    )
    if not less and not more and not rest:
        return f"Whether {claim} could be tested in no layer."
    first = f"In {_span(less, layers)}, {claim}" if less else f"In no layer is it shown that {claim}"
    others = [(more, "not less"), (rest if less or more else [], "undetermined"), (bare, "untestable")]
    return (
        "; ".join([first, *(f"{_span(places, layers)}: {word}" for places, word in others if places)]) + "."
    )


def noop_sentences(labelling: Labelling) -> list[str]:
    """Return one sentence per measure and kind of the tests of attention that does not matter.

    Kinds that no input has are left out.
    """
    rows: dict[tuple[str, str], list[Row]] = {}
    for test in noop_of(labelling):
        rows.setdefault((test.measure, test.kind), []).append(test)
    layers = labelling.scores.stack.numbers
    return [noop_sentence(tests, layers) for tests in rows.values() if any(test.count for test in tests)]


def _span(places: Sequence[int], layers: Sequence[int]) -> str:
    """Return layers in words, runs of three and more by their ends.

    Example:
        >>> _span([0, 1, 2, 5], range(6)), _span([1], range(6)), _span([3, 7], (3, 7))
        ('layers 0–2 and 5', 'layer 1', 'both layers')
    """
    count = len(layers)
    if len(places) == count and count > 1:
        return "both layers" if count == 2 else f"all {count} layers"
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else [str(layer) for layer in run]
    return f"layer{'s' if len(places) > 1 else ''} {join_names(parts)}"


def promise(decision: Decision) -> str:
    """Return which error rates the correction controls for heads above and below even attention."""
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


def glossary(decision: Decision) -> tuple[tuple[str, str], ...]:
    """Return what the words of the page mean."""
    return (
        (
            "mean attention",
            "Over all rows of an input, then over inputs. Rows of the first token, of separators or of other "
            "tokens count alone only where the name says so.",
        ),
        (
            "own text of a separator",
            "The text that it ends. Its row is divided among first token, separators, own and other text.",
        ),
        (
            "even attention",
            "One over the number of visible tokens, the mean over the inputs. Each head is tested against it "
            "in both directions.",
        ),
        (
            "above, below",
            f"Significantly above or below even attention. “Below” needs at least {ENOUGH_FOR_NOT} units. "
            f"{promise(decision)}",
        ),
        ("undetermined", "The inputs do not decide, or the decision would depend on few units."),
        (
            "interval",
            "95\u00a0% interval of the mean; it is not adjusted for the choice of the largest head, whose "
            "mean tends to be a little high.",
        ),
        ("interval of a layer", "t over units of the mean over the layer’s heads."),
        (
            "entropy",
            "It cannot exceed that of even attention, so nearly every head lies below: read its size.",
        ),
        ("size", "A difference from even attention can be certain and small: read the means."),
    )


def map_title(column: str) -> str:
    """Return the title of a column's map of heads.

    Example:
        >>> map_title("surface:next"), map_title("surface:entropy")
        ('Next token', 'Entropy of all rows')
    """
    if column in ENTROPIES or not column.startswith(GROUP):
        return column_name(column)
    name = short_name(column)
    return f"{name[:1].upper()}{name[1:]}"
