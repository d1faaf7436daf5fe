"""Figures of a comparison: each sieve has its own traces, and the page shows one sieve at a time."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headroles.records.comparison import OUTCOMES, Comparison, Differences
from headroles.reports.figures.drawing import (
    ACCENT,
    FAINT,
    INK,
    SOFT,
    Figure,
    add_bar,
    add_cells,
    add_scatter,
    add_stroke,
    bar_width,
    blank,
    layer_axis,
    layer_ticks,
    set_axis,
)
from headroles.reports.figures.panel import plain

CHANGED, EQUIVALENT, UNDETERMINED = "var(--tone-1)", "var(--tone-0)", "var(--tone-7)"
LOOKS = ((CHANGED, "diamond"), (EQUIVALENT, "circle-open"), (UNDETERMINED, "x-thin-open"), (FAINT, "circle"))
"""Colour and symbol of each outcome; the page's key draws the same."""
MARKS = ("●", "", "?", "×")
"""Mark of a cell of the map, by outcome; gained and lost roles are added."""
GAINED, LOST = "+", "−"
PATTERNS = ("", "", "/", ".")


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """One figure of the page.

    Attributes:
        key: Stands in the figure's id.
        sentence: What it shows, in one sentence.
        figure: The plot.
    """

    key: str
    sentence: str
    figure: Figure


def plots(comparison: Comparison) -> tuple[Plot, ...]:
    """Draw differences, A against B, and outcomes by layer; then labels by layer of all roles together."""
    return (_map(comparison), _means(comparison), _layers(comparison), _label_changes(comparison))


def _map(comparison: Comparison) -> Plot:
    """Draw layers × heads, coloured by the difference on a scale symmetric around 0."""
    differences = comparison.differences
    _, layers, heads = differences.count.shape
    figure = blank(90 + (34 if layers <= 16 else 22) * layers)
    for place, name in enumerate(differences.sieves):
        difference = differences.difference[place]
        known = np.abs(difference[~np.isnan(difference)])
        reach = max(float(known.max(initial=0.0)), comparison.bound)
        shown = ~np.isnan(difference)
        add_cells(
            figure, difference, (EQUIVALENT, "var(--panel)", CHANGED), (-reach, reach),
            text=_marks(comparison, place), numbers=_hover_numbers(differences, place),
            layers=comparison.stack,
            colorbar={"tickfont": {"color": SOFT, "size": 12}}, meta={"role": place}, visible=place == 0,
            hovertext=np.array(OUTCOMES, dtype=object)[differences.outcome[place][shown]].tolist(),
            name=plain(name),
            hovertemplate="%{fullData.name}: %{hovertext}<br>layer %{customdata[0]} head %{customdata[1]}<br>"
            + _hover_text(3),
        )  # fmt: skip
    set_axis(figure, "yaxis", title="layer", **layer_ticks(comparison.stack, _step(layers), by_place=True))
    set_axis(figure, "xaxis", title="head", dtick=_step(heads))
    return Plot("map", "Difference B − A of every head, layers as rows and heads as columns.", figure)


def _step(size: int) -> int:
    """Return the distance between tick labels."""
    return 1 if size <= 16 else 4


def _hover_text(start: int) -> str:
    """Return the hover text of the numbers of one head, which stand in ``customdata`` from a place on."""
    a, b, change, low, high, q, equivalent = (f"%{{customdata[{start + place}]" for place in range(7))
    return (
        f"A {a}:.3f}}, B {b}:.3f}}<br>difference {change}:.3f}} [{low}:.3f}}, {high}:.3f}}]<br>"
        f"q {q}:.2e}}, q of equivalence {equivalent}:.2e}}<extra></extra>"
    )


def _hover_numbers(differences: Differences, place: int) -> Float[np.ndarray, "layers heads numbers"]:
    """Return the numbers of one sieve that a mark shows on hover."""
    names = ("mean_a", "mean_b", "difference", "low", "high", "q", "q_equivalent")
    return np.stack([getattr(differences, name)[place] for name in names], axis=-1).astype(np.float32)


def _marks(comparison: Comparison, place: int) -> list[list[str]]:
    """Return outcomes, and whether the role was gained or lost."""
    differences = comparison.differences
    before, after = (run.decision[place] == 0 for run in (comparison.before, comparison.after))
    return [
        [
            MARKS[differences.outcome[place, layer, head]]
            + GAINED * bool(after[layer, head] & ~before[layer, head])
            + LOST * bool(before[layer, head] & ~after[layer, head])
            for head in range(before.shape[1])
        ]
        for layer in range(before.shape[0])
    ]


def _means(comparison: Comparison) -> Plot:
    """Draw the mean of A against the mean of B, one mark per head."""
    differences = comparison.differences
    heads = differences.count.shape[2]
    figure = blank(430)
    for place in range(len(differences.rules)):
        numbers = _hover_numbers(differences, place).reshape(-1, 7)
        index = np.arange(len(numbers))
        layer = comparison.stack.positions[index // heads]
        custom = np.column_stack([numbers, layer, index % heads]).astype(np.float32)
        _guides(figure, place, numbers[:, :2], comparison.bound)
        for code, (colour, symbol) in enumerate(LOOKS[:3]):
            chosen = differences.outcome[place].ravel() == code
            add_scatter(
                figure, x=numbers[chosen, 0], y=numbers[chosen, 1], customdata=custom[chosen], mode="markers",
                name=OUTCOMES[code], meta={"role": place}, visible=place == 0,
                marker={"color": colour, "symbol": symbol, "size": 9, "line": {"color": colour, "width": 2}},
                hovertemplate="%{fullData.name}<br>layer %{customdata[7]} head %{customdata[8]}<br>"
                + _hover_text(0),
            )  # fmt: skip
    set_axis(figure, "xaxis", title="mean in A", showline=True)
    set_axis(figure, "yaxis", title="mean in B", showline=True)
    return Plot(
        "means", "Mean score in A against mean score in B; the dashed lines lie at ± the bound.", figure
    )


def _guides(figure: Figure, place: int, means: Float[np.ndarray, "heads 2"], bound: float) -> None:
    """Draw where A and B are equal, and where they differ by the bound, as far as the means go."""
    known = means[~np.isnan(means)]
    if not known.size:
        return
    ends = np.array([float(known.min()), float(known.max())])
    for shift, colour, dash in ((0.0, SOFT, "solid"), (bound, FAINT, "dash"), (-bound, FAINT, "dash")):
        add_scatter(
            figure, x=ends, y=ends + shift, mode="lines", line={"color": colour, "width": 1, "dash": dash},
            hoverinfo="skip", meta={"role": place}, visible=place == 0,
        )  # fmt: skip


def _layers(comparison: Comparison) -> Plot:
    """Draw heads by outcome in each layer, stacked."""
    differences, stack = comparison.differences, comparison.stack
    figure = blank(430, barmode="stack", bargap=0.25)
    for place in range(len(differences.rules)):
        for code, (colour, _) in enumerate(LOOKS):
            heads = (differences.outcome[place] == code).sum(axis=1)
            add_bar(
                figure, x=list(stack.numbers), y=heads.tolist(), name=OUTCOMES[code], meta={"role": place},
                visible=place == 0, **bar_width(stack),
                marker={"color": colour, "pattern": {"shape": PATTERNS[code], "fillmode": "replace"}},
                hovertemplate="layer %{x}: %{y} %{fullData.name}<extra></extra>",
            )  # fmt: skip
    layer_axis(figure, stack, showgrid=False)
    set_axis(figure, "yaxis", title="heads", rangemode="tozero")
    return Plot("outcomes", "Heads in each layer that changed, are equivalent, or neither.", figure)


def _label_changes(comparison: Comparison) -> Plot:
    """Draw labels gained above 0 and labels lost below it, in each layer."""
    stack = comparison.stack
    places = {number: place for place, number in enumerate(stack.numbers)}
    gained, lost = np.zeros(len(places), dtype=int), np.zeros(len(places), dtype=int)
    for row in comparison.layers:
        gained[places[row.layer]] += row.gained or 0
        lost[places[row.layer]] += row.lost or 0
    figure = blank(280, barmode="relative", bargap=0.35)
    for name, counts, sign, colour in (
        ("gained", gained, 1, "var(--tone-2)"),
        ("lost", lost, -1, ACCENT),
    ):
        add_bar(
            figure, x=list(stack.numbers), y=(sign * counts).tolist(), name=name, marker={"color": colour},
            **bar_width(stack),
            text=[f"{GAINED if sign > 0 else LOST}{count}" if count else "" for count in counts],
            textposition="outside", cliponaxis=False, textfont={"color": INK, "size": 12},
            customdata=counts.tolist(),
            hovertemplate="layer %{x}: %{customdata} %{fullData.name}<extra></extra>",
        )  # fmt: skip
    reach = max(int(gained.max(initial=0)), int(lost.max(initial=0)), 1)
    layer_axis(figure, stack, showgrid=False)
    whole = {"dtick": 1} if reach <= 5 else {}
    set_axis(figure, "yaxis", title="labels", range=[-1.25 * reach, 1.25 * reach], **whole)
    add_stroke(figure, 0, along="y", color=FAINT, width=1)
    return Plot("moved", "Labels gained (up) and lost (down) in each layer, all roles together.", figure)
