"""The label matrix as a figure: layers as rows, heads as columns, a mark for each role in its cell."""

import math
from itertools import groupby

import numpy as np
import plotly.graph_objects as go

from headroles.reports.figures.panel import RULE, SYMBOLS, blank, tone
from headroles.reports.print.dress import pixels
from headroles.reports.print.legend import matrix_entries, with_legend
from headroles.reports.records import Role, Summary
from headroles.reports.words.words import plural

EDGE = 0.07
"""Empty border of a cell, as a part of it."""
LETTERS = 17
"""Height of a mark with letters in pixels."""
SMALLEST = 8.0
"""Size in pixels below which letters are not written; the roles' plot symbols stand in their place."""
SMALL = 5.0
"""Size in pixels below which plot symbols look alike; the number of roles stands in their place."""
HIGHEST = 1.35
"""Height of a page by its width."""
SIDES = 76
"""Pixels of the margins left and right."""

Mark = tuple[Role, float, float]
"""A role with the centre of its mark in cells."""


def matrix(summary: Summary, width: float) -> go.Figure | None:
    """Draw every head with the roles it holds; their number where there are too many to mark each.

    Args:
        summary: What the page may say.
        width: Of the figure in millimetres; where letters would be too small, plot symbols stand for them,
            and where these would be, numbers of roles.

    Returns:
        The figure in the page's colours; None where no sieve can be a role.
    """
    if not summary.roles:
        return None
    marks = None if summary.many else _marks(summary, width)
    figure = _counts(summary) if marks is None else marks
    layers, heads = summary.table.layers, summary.table.heads
    steps = {"tickmode": "linear", "tick0": 0, "showgrid": False, "ticks": "", "showline": False}
    figure.update_xaxes(title_text="head", range=[-0.5, heads - 0.5], dtick=_step(heads), **steps)
    figure.update_yaxes(title_text="layer", range=[layers - 0.5, -0.5], dtick=_step(layers), **steps)
    figure.update_layout(meta={"sentence": _sentence(summary)})
    return figure


def _sentence(summary: Summary) -> str:
    """Return the content of the matrix in one sentence."""
    heads = int(summary.held.any(axis=0).sum())
    return f"Label matrix: {heads} of {plural(summary.held[0].size, 'head')} hold a role, layers as rows."


def _step(size: int) -> int:
    """Return the distance between tick labels."""
    return 1 if size <= 32 else 4


def _counts(summary: Summary) -> go.Figure:
    """Draw how many roles each head holds."""
    counts = summary.held.sum(axis=0)
    figure = blank(80 + 26 * summary.table.layers, margin={"l": 44, "r": 8, "t": 8, "b": 48})
    figure.add_heatmap(
        x=list(range(summary.table.heads)), y=list(range(summary.table.layers)), z=counts.astype(np.float32),
        zmin=0, zmax=max(int(counts.max()), 1), colorscale=[[0, "var(--panel)"], [1, "var(--tone-0)"]],
        xgap=2, ygap=2, text=[[str(count) if count else "" for count in row] for row in counts.tolist()],
        texttemplate="%{text}", textfont={"size": 11 if summary.table.heads <= 24 else 9},
        colorbar={"thickness": 12, "outlinewidth": 0, "title": {"text": "roles", "font": {"size": 12}}},
    )  # fmt: skip
    return figure


def _marks(summary: Summary, width: float) -> go.Figure | None:
    """Draw a mark per role and head; return None where no mark would have room on a page."""
    most = int(summary.held.sum(axis=0).max(initial=0))
    across = 1 if most < 2 else 2 if most <= 4 else 3 if most <= 9 else 4
    cell = (pixels(width) - SIDES) / summary.table.heads * (1 - 2 * EDGE)
    size = min(11.0, 0.62 * cell / across)
    letters = size >= SMALLEST
    if not letters:
        across = max(1, min(across, int(cell / (SMALL + 1))))
        size = min(9.0, cell / across - 1)
    rows = max(math.ceil(most / across), 1)
    high = 60 + summary.table.layers * ((LETTERS if letters else size + 2) * rows + 6)
    if not letters and (size < SMALL or high > HIGHEST * pixels(width)):
        return None
    figure = blank(round(high), margin={"l": 44, "r": 8, "t": 8, "b": 48})
    _cells(figure, summary.table.layers, summary.table.heads)
    marks = _place_marks(summary, across, rows)
    if letters:
        _chips(figure, marks, ((1 - 2 * EDGE) / across, (1 - 2 * EDGE) / rows), size)
    else:
        _symbols(figure, marks, size)
    return with_legend(
        figure, matrix_entries([role for role in summary.roles if role.tally.role], letters=letters)
    )


def _cells(figure: go.Figure, layers: int, heads: int) -> None:
    """Draw the borders of all cells as one path."""
    lines = [f"M{place - 0.5},-0.5 V{layers - 0.5}" for place in range(heads + 1)]
    lines += [f"M-0.5,{place - 0.5} H{heads - 0.5}" for place in range(layers + 1)]
    figure.add_shape(type="path", path=" ".join(lines), line={"color": RULE, "width": 1}, layer="below")


def _place_marks(summary: Summary, across: int, rows: int) -> list[Mark]:
    """Return the place of every mark, row by row of its cell; few marks stand in the middle of their row."""
    marks = []
    for layer in range(summary.table.layers):
        for head in range(summary.table.heads):
            roles = [
                role for role, cell in zip(summary.roles, summary.held[:, layer, head], strict=True) if cell
            ]
            lines = math.ceil(len(roles) / across)
            for place, role in enumerate(roles):
                row, column = divmod(place, across)
                in_row = min(across, len(roles) - row * across)
                x = head + (1 - 2 * EDGE) * (column - (in_row - 1) / 2) / across
                y = layer + (1 - 2 * EDGE) * (row - (lines - 1) / 2) / rows
                marks.append((role, x, y))
    return marks


def _chips(figure: go.Figure, marks: list[Mark], size: tuple[float, float], letters: float) -> None:
    """Draw coloured fields with the roles' letters; all fields of a colour are one path."""
    wide, high = size[0] * 0.46, size[1] * 0.45
    for colour, colour_marks in groupby(
        sorted(marks, key=lambda mark: mark[0].tone), key=lambda mark: tone(mark[0])
    ):
        path = " ".join(
            f"M{x - wide:.4f},{y - high:.4f} H{x + wide:.4f} V{y + high:.4f} H{x - wide:.4f} Z"
            for _, x, y in colour_marks
        )
        figure.add_shape(type="path", path=path, fillcolor=colour, line={"width": 0}, layer="below")
    figure.add_scatter(
        x=[x for _, x, _ in marks], y=[y for *_, y in marks], mode="text", name="roles",
        text=[role.code for role, *_ in marks], textfont={"color": "var(--on-tone)", "size": letters},
        textposition="middle center",
    )  # fmt: skip


def _symbols(figure: go.Figure, marks: list[Mark], size: float) -> None:
    """Draw the roles' plot symbols, where letters would be too small."""
    figure.add_scatter(
        x=[x for _, x, _ in marks], y=[y for *_, y in marks], mode="markers", name="roles",
        marker={
            "symbol": [SYMBOLS[role.symbol] for role, *_ in marks], "size": size,
            "color": [tone(role) for role, *_ in marks],
        },
    )  # fmt: skip
