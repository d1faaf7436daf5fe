"""Figure of heads with several roles: roles a head and the share of heads with several, by layer."""

from collections.abc import Sequence

from headroles.records.assessment import MIDDLE, SEVERAL
from headroles.records.layers import Stack
from headroles.records.table import Row, Table
from headroles.reports.figures.drawing import (
    FAINT,
    INK,
    SOFT,
    Figure,
    add_note,
    add_scatter,
    blank,
    error_bars,
    layer_axis,
    set_axis,
)
from headroles.reports.figures.panel import Panel
from headroles.reports.records import Summary
from headroles.reports.words.several import CAPTION, layers_sentence, middle_sentence

HEIGHT = 300
"""Height of the figure in pixels."""


def several(summary: Summary) -> Panel | None:
    """Draw roles a head and the share of heads with two or more roles, layer by layer.

    Args:
        summary: What the page may say.

    Returns:
        The figure; None where the run did not count roles by layer.
    """
    rows = summary.assessment.several if summary.assessment else SEVERAL
    if not rows:
        return None
    sheet = rows.sheet()
    return Panel(
        key="several",
        title="Heads with several roles",
        sentence=f"{layers_sentence(rows)} {middle_sentence(rows)}".strip(),
        caption=CAPTION,
        figure=several_figure(rows, summary.table.stack),
        header=sheet.header,
        rows=sheet.texts,
    )


def several_figure(rows: Table, stack: Stack) -> Figure:
    """Draw the rows of the layers, roles a head above the share of heads with several.

    Args:
        rows: Those of one run.
        stack: The layers by their positions.
    """
    layers = layer_rows(rows)
    figure = blank(HEIGHT, margin={"l": 56, "r": 16, "t": 24, "b": 48})
    parts = (("", "Roles a head", (0.58, 1.0)), ("2", "Heads with two or more roles, %", (0.0, 0.42)))
    for part, (axis, title, domain) in enumerate(parts):
        ends = ends_of(layers, part)
        add_means(figure, stack.numbers, ends, yaxis=f"y{axis}", colour=INK)
        top = max(high for _, _, high in ends)
        set_axis(
            figure, f"yaxis{axis}", domain=list(domain), range=[-0.06 * (top or 1), 1.15 * (top or 1)],
            nticks=4, anchor="x",
        )  # fmt: skip
        add_note(
            figure, title, color=SOFT, x=0, xref="paper", xanchor="left", y=1, yref=f"y{axis} domain",
            yanchor="bottom",
        )  # fmt: skip
    layer_axis(
        figure, stack, showgrid=False, range=[-0.6, stack.blocks - 0.4], tickmode="linear", anchor="free",
        position=0,
    )  # fmt: skip
    return figure


def layer_rows(rows: Table) -> list[Row]:
    """Return the rows of single layers."""
    return [row for row in rows if row.scope not in ("all", MIDDLE)]


def ends_of(rows: Sequence[Row], part: int) -> list[tuple[float, float, float]]:
    """Return roles a head (0) with their ends, or the share of heads with several roles in per cent (1)."""
    if part == 0:
        return [(row.mean, row.mean_low, row.mean_high) for row in rows]
    return [(100 * row.several, 100 * row.several_low, 100 * row.several_high) for row in rows]


def add_means(
    figure: Figure,
    layers: Sequence[int],
    ends: Sequence[tuple[float, float, float]],
    *,
    colour: str,
    **trace: object,
) -> None:
    """Add a line of means with their intervals, one per layer.

    Args:
        figure: Is changed.
        layers: Their positions.
        ends: Mean, lower and upper end.
        colour: Of marks and whiskers.
        trace: Further settings of the trace.
    """
    add_scatter(
        figure, x=list(layers), y=[mean for mean, _, _ in ends], mode="lines+markers",
        line={"color": FAINT, "width": 1}, marker={"color": colour, "size": 8},
        error_y=error_bars(ends, color=colour, thickness=1.4, width=3),
        customdata=[[low, high] for _, low, high in ends],
        hovertemplate="layer %{x}: %{y:.2f} [%{customdata[0]:.2f}, %{customdata[1]:.2f}]<extra></extra>",
        **trace,
    )  # fmt: skip
