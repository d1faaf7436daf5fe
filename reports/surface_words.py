"""What a surface run says of each statistic and of each layer, in sentences; page and terminal share them."""

from collections.abc import Sequence

from headroles.records.example import Decision
from headroles.records.findings import Findings, Labelling
from headroles.records.surface import OUTCOMES, NoOp
from headroles.reports.surface_columns import (
    ENTROPIES,
    GROUP,
    between,
    counts,
    even,
    kind_told,
    known,
    layers_of,
    peak,
    told_interval,
)
from headroles.reports.words import listing, number, plural


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
