"""What heads a model does without: the curve of damage, the answer in sentences, and the tables."""

import math
from collections.abc import Mapping

import numpy as np

from headroles.records.causal.columns import ACCURACY, OUTCOME_WORDS, arm_name, parse_column
from headroles.records.causal.pruning import FEW_UNITS, NOT_SHOWN, NOT_TESTED, WITHIN, PruneStep, Pruning
from headroles.records.causal.statement import amount, missed_sentence, statements
from headroles.records.numbers import isolate, number, p_text, plural, share
from headroles.reports.ablate import MEASURES
from headroles.reports.answer.records import Answer, Sentence
from headroles.reports.figures.drawing import (
    FAINT,
    INK,
    SOFT,
    SYMBOLS,
    Figure,
    add_scatter,
    add_stroke,
    blank,
    set_axis,
    tone,
)
from headroles.reports.figures.panel import Panel
from headroles.reports.sheets import ENDS, Cell, Sheet, columns_of_records, count_cell, place_cell, word_cell

LOOKS = {WITHIN: (0, 2), NOT_SHOWN: (2, 1), FEW_UNITS: (1, 4), NOT_TESTED: (0, 7)}
"""Symbol and colour of every decision about a set."""
CURVE = "pruning"
"""Key of the curve, which names its file."""


def measure_text(pruning: Pruning) -> str:
    """Return what the damage of a set is, as a noun phrase."""
    if pruning.outcome == ACCURACY:
        return "fall of the accuracy in percentage points (negative: a rise)"
    if pruning.relative:
        return "rise of the loss, as a share of it"
    return MEASURES[pruning.outcome].replace("the head", "the heads")


def bound_text(pruning: Pruning) -> str:
    """Return the bound in words, such as "the loss rises by at most 1 %"."""
    bound = amount(pruning, pruning.bound)
    if pruning.outcome == ACCURACY:
        return f"the accuracy falls by at most {bound}"
    if pruning.relative:
        return f"the loss rises by at most {bound}"
    return f"the {OUTCOME_WORDS[pruning.outcome]} changes by at most {bound}"


def step_text(pruning: Pruning, step: PruneStep) -> str:
    """Return the damage of a set with its interval; a dash where it has none."""
    if math.isnan(step.mean):
        return "–"
    ends = "" if math.isnan(step.low) else f" [{amount(pruning, step.low)}, {amount(pruning, step.high)}]"
    return f"{amount(pruning, step.mean)}{ends}"


def pruning_answer(pruning: Pruning) -> Answer:
    """Return how many heads can go, in a few sentences.

    Args:
        pruning: Heads with the certificate of their damage.
    """
    model = pruning.manifest.get("model")
    name = str(model.get("name") or "") if isinstance(model, Mapping) else ""
    short = isolate(name.replace("\\", "/").rstrip("/").rpartition("/")[2])
    units = plural(len(pruning.units), "unit")
    first, *others = [_sentence(text) for text in statements(pruning)]
    return Answer(
        title=f"How many heads can {short or 'the model'} do without?",
        line=" · ".join(
            [
                f"damage: {measure_text(pruning)}",
                f"bound {amount(pruning, pruning.bound)}",
                f"heads ordered by their damage alone ({arm_name(pruning.arm)}) on other units",
                f"tested on {units}",
                f"false certificates ≤ {share(pruning.alpha)}",
            ]
        ),
        sentences=(first, *_next(pruning), *others),
        warnings=pruning.remarks,
    )  # fmt: skip


def _sentence(text: str) -> Sentence:
    """Return a text whose words before its first full stop, colon or comma are shown in bold."""
    ends = [place for place in map(text.find, (". ", ": ", ", ")) if place > 0]
    lead = text[: min(ends)] if ends else text.rstrip(".")
    return Sentence(lead, text[len(lead) :])


def _next(pruning: Pruning) -> list[Sentence]:
    """Return the first set that did not pass; [] where all did, or none."""
    failed = next((step for step in pruning.steps if step.decision in (NOT_SHOWN, FEW_UNITS)), None)
    if failed is None or pruning.certified is None:
        return []
    why = "was not shown to stay within the bound" if failed.decision == NOT_SHOWN else "hinges on few units"
    return [
        Sentence(
            f"The next set, of {plural(failed.size, 'head')}, {why}",
            f": its damage is {step_text(pruning, failed)}.",
        )
    ]


def pruning_panel(pruning: Pruning) -> Panel:
    """Draw the damage of growing sets with its band, the bound, and the certified set.

    Args:
        pruning: Heads with the certificate of their damage.
    """
    figure = blank(380)
    scale = 100.0 if pruning.relative or pruning.outcome == ACCURACY else 1.0
    steps = sorted(pruning.steps, key=lambda step: step.size)
    known = [step for step in steps if not math.isnan(step.low)]
    sizes = [step.size for step in known]
    add_scatter(
        figure, x=[*sizes, *reversed(sizes)],
        y=[*(scale * step.high for step in known), *(scale * step.low for step in reversed(known))],
        mode="lines", fill="toself", fillcolor=SOFT, line={"width": 0, "color": SOFT}, opacity=0.22,
        name="95\u00a0% interval", hoverinfo="skip",
    )  # fmt: skip
    add_scatter(
        figure, x=[step.size for step in steps], y=[scale * step.upper for step in steps], mode="lines",
        name=f"upper bound ({share(1 - pruning.alpha)})", hoverinfo="skip",
        line={"color": SOFT, "width": 1.5, "dash": "dash"},
    )  # fmt: skip
    for word, (symbol, colour) in LOOKS.items():
        _dots(figure, [step for step in steps if step.decision == word], word, scale, (symbol, colour))
    add_stroke(figure, scale * pruning.bound, along="y", color=INK, width=1.5)
    certified = pruning.certified
    if certified is not None:
        add_stroke(figure, float(certified.size), color=FAINT, width=1.5, dash="dot")
    unit = " (%)" if pruning.relative else " (points)" if pruning.outcome == ACCURACY else ""
    name = OUTCOME_WORDS.get(pruning.outcome, pruning.outcome)
    set_axis(figure, "xaxis", title="heads removed", showgrid=False, rangemode="tozero", nticks=10)
    set_axis(figure, "yaxis", title=f"damage: {name}{unit}", nticks=7)
    chosen = (
        f"{plural(certified.size, 'head')} can go: on average, {bound_text(pruning)}"
        if certified
        else "No set is certified"
    )
    missed = f" {missed_sentence(certified)}" if certified else ""
    return Panel(
        key=CURVE,
        title="Damage of removing heads",
        sentence=f"Damage of removing growing sets of heads. {chosen}.{missed}",
        caption=(
            "Solid line: the bound. Band: 95\u00a0% intervals. Dashed: the largest damage that the test "
            "leaves possible (one-sided). Dotted: the certified set. Sets after the first failure are drawn, "
            "but not tested."
        ),
        figure=figure,
        header=("heads", "units", f"damage {ENDS}", "upper bound", "p", "decision"),
        rows=tuple(
            (
                f"{step.size:,}", f"{step.count:,}", step_text(pruning, step),
                amount(pruning, step.upper), p_text(step.p), step.decision,
            )
            for step in steps
        ),
    )  # fmt: skip


def _dots(figure: Figure, steps: list[PruneStep], word: str, scale: float, look: tuple[int, int]) -> None:
    """Add the sets of one decision."""
    if not steps:
        return
    symbol, colour = look
    suffix = "-open" if word == NOT_TESTED else ""
    add_scatter(
        figure, x=[step.size for step in steps], y=[scale * step.mean for step in steps], mode="markers",
        name=word,
        customdata=np.array([[scale * step.low, scale * step.high, scale * step.upper] for step in steps]),
        marker={
            "symbol": SYMBOLS[symbol] + suffix, "color": tone(colour), "size": 8,
            "line": {"width": 1.5, "color": tone(colour)},
        },
        hovertemplate="%{x} heads: %{fullData.name}<br>damage %{y:.3~g} [%{customdata[0]:.3~g}, "
        "%{customdata[1]:.3~g}], upper bound %{customdata[2]:.3~g}<extra></extra>",
    )  # fmt: skip


def steps_sheet(pruning: Pruning) -> Sheet:
    """Return every set with its damage, its test and, for classifiers, right answers before and after."""
    classes = any(not math.isnan(step.accuracy_after) for step in pruning.steps)
    header = ["heads", "units", f"damage {ENDS}", "upper bound", "p", "decision"]
    header += ["right before", "right after"] * classes
    columns, values = columns_of_records(PruneStep, pruning.steps)
    sure = share(1 - pruning.alpha)
    return Sheet(
        "Sets of heads",
        tuple(header),
        tuple(_step(pruning, step, classes) for step in pruning.steps),
        caption=(
            f"Damage ({measure_text(pruning)}) of removing growing sets of heads, with 95\u00a0% intervals "
            f"and the upper bound of {sure} confidence. Sets were tested in their order against the bound "
            f"{amount(pruning, pruning.bound)}, until the first that did not pass."
        ),
        columns=columns,
        values=values,
    )


def _step(pruning: Pruning, step: PruneStep, classes: bool) -> tuple[Cell, ...]:
    """Return the line of one set."""
    cells = [
        Cell(f"{step.size:,}", step.size), count_cell(step.count), Cell(step_text(pruning, step), step.mean),
        Cell(amount(pruning, step.upper), step.upper), Cell(p_text(step.p), step.p), word_cell(step.decision),
    ]  # fmt: skip
    if classes:
        parts = (step.accuracy_before, step.accuracy_after)
        cells += [Cell("–" if math.isnan(part) else f"{100 * part:.1f}\u00a0%", part) for part in parts]
    return tuple(cells)


def order_sheet(pruning: Pruning) -> Sheet:
    """Return the heads in the order in which they leave, with the damage of each alone."""
    unit = " nats" if parse_column(pruning.arm).outcome == "loss" else ""
    rows, numbers = [], pruning.stack.numbers
    for rank, (layer, head) in enumerate(pruning.order.tolist(), start=1):
        alone = float(pruning.single[layer, head])
        rows.append(
            (
                place_cell(numbers[layer], head), count_cell(rank),
                Cell(f"{number(alone)}{unit if not math.isnan(alone) else ''}", alone),
                word_cell("removed" if pruning.removed[layer, head] else "kept"),
            )
        )  # fmt: skip
    return Sheet("Order of heads", ("head", "order", "damage alone", "in the checkpoint"), tuple(rows))
