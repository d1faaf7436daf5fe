"""The label matrix as a figure: layers as rows, heads as columns, a mark for each role in its cell."""

import math
from itertools import groupby

import numpy as np
from jaxtyping import Bool

from headroles.records.numbers import plural
from headroles.records.roles import without_wholes
from headroles.reports.figures.drawing import (
    INK,
    RULE,
    SYMBOLS,
    Figure,
    add_cells,
    add_scatter,
    add_shape,
    blank,
    layer_ticks,
    set_axis,
)
from headroles.reports.figures.panel import tone
from headroles.reports.print.dress import pixels
from headroles.reports.print.legend import Entry, matrix_entries, with_legend
from headroles.reports.records import Role, Summary

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

Mark = tuple[Role, float, float, bool]
"""A role with the centre of its mark in cells, and whether it is a strong one."""


def matrix(summary: Summary, width: float) -> Figure | None:
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
    rows = layer_ticks(summary.table.stack, step_of(layers), by_place=True)
    set_axis(figure, "xaxis", title="head", range=[-0.5, heads - 0.5], dtick=step_of(heads), **steps)
    set_axis(figure, "yaxis", title="layer", range=[layers - 0.5, -0.5], **steps | rows)
    figure["layout"]["meta"] = {"sentence": _sentence(summary)}
    return figure


def _sentence(summary: Summary) -> str:
    """Return the content of the matrix in one sentence."""
    heads = int(summary.held.any(axis=0).sum())
    return f"Label matrix: {heads} of {plural(summary.held[0].size, 'head')} hold a role, layers as rows."


def step_of(size: int) -> int:
    """Return the distance between tick labels."""
    return 1 if size <= 32 else 4


def _counts(summary: Summary) -> Figure:
    """Draw how many roles each head holds."""
    counts = summary.held.sum(axis=0)
    figure = blank(80 + 26 * summary.table.layers, margin={"l": 44, "r": 8, "t": 8, "b": 48})
    add_cells(
        figure, counts.astype(float), ("var(--panel)", "var(--tone-0)"), (0, max(int(counts.max()), 1)),
        text=[[str(count) if count else "" for count in row] for row in counts.tolist()], name="counts",
        size=11 if summary.table.heads <= 24 else 9,
        colorbar={"title": {"text": "roles", "font": {"size": 12}}},
    )  # fmt: skip
    return figure


def drawn_roles(summary: Summary) -> Bool[np.ndarray, "roles layers heads"]:
    """Return the roles to draw of every head: one with parts only where the head holds none of them."""
    return without_wholes([role.sieve for role in summary.roles], summary.held)


def _marks(summary: Summary, width: float) -> Figure | None:
    """Draw a mark per role and head; return None where no mark would have room on a page."""
    most = int(drawn_roles(summary).sum(axis=0).max(initial=0))
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
    entries = matrix_entries([role for role in summary.roles if role.tally.role], letters=letters)
    kinds = " or ".join(sorted({role.stronger for role in summary.roles if role.tally.strong}))
    strong = [Entry(f"framed: strong, beyond {kinds}")] if letters and kinds else []
    return with_legend(figure, [*entries, *strong])


def _cells(figure: Figure, layers: int, heads: int) -> None:
    """Draw the borders of all cells as one path."""
    lines = [f"M{place - 0.5},-0.5 V{layers - 0.5}" for place in range(heads + 1)]
    lines += [f"M-0.5,{place - 0.5} H{heads - 0.5}" for place in range(layers + 1)]
    add_shape(figure, type="path", path=" ".join(lines), line={"color": RULE, "width": 1}, layer="below")


def _place_marks(summary: Summary, across: int, rows: int) -> list[Mark]:
    """Return the place of every mark, row by row of its cell; few marks stand in the middle of their row."""
    marks, drawn = [], drawn_roles(summary)
    for layer in range(summary.table.layers):
        for head in range(summary.table.heads):
            roles = np.flatnonzero(drawn[:, layer, head]).tolist()
            lines = math.ceil(len(roles) / across)
            for place, role in enumerate(roles):
                row, column = divmod(place, across)
                in_row = min(across, len(roles) - row * across)
                x = head + (1 - 2 * EDGE) * (column - (in_row - 1) / 2) / across
                y = layer + (1 - 2 * EDGE) * (row - (lines - 1) / 2) / rows
                marks.append((summary.roles[role], x, y, bool(summary.strong[role, layer, head])))
    return marks


def _chips(figure: Figure, marks: list[Mark], size: tuple[float, float], letters: float) -> None:
    """Draw coloured fields with the roles' letters; all fields of a colour are one path."""
    wide, high = size[0] * 0.46, size[1] * 0.45
    for colour, colour_marks in groupby(
        sorted(marks, key=lambda mark: mark[0].tone), key=lambda mark: tone(mark[0])
    ):
        path = " ".join(_field(mark, wide, high) for mark in colour_marks)
        add_shape(figure, type="path", path=path, fillcolor=colour, line={"width": 0}, layer="below")
    strong = " ".join(_field(mark, wide, high) for mark in marks if mark[3])
    if strong:
        add_shape(figure, type="path", path=strong, line={"width": 1.5, "color": INK})
    add_scatter(
        figure, x=[x for _, x, *_ in marks], y=[y for _, _, y, _ in marks], mode="text", name="roles",
        text=[role.code for role, *_ in marks], textfont={"color": "var(--on-tone)", "size": letters},
        textposition="middle center",
    )  # fmt: skip


def _field(mark: Mark, wide: float, high: float) -> str:
    """Return the path around a mark's field, from half its width and half its height."""
    _, x, y, _ = mark
    return f"M{x - wide:.4f},{y - high:.4f} H{x + wide:.4f} V{y + high:.4f} H{x - wide:.4f} Z"


def _symbols(figure: Figure, marks: list[Mark], size: float) -> None:
    """Draw the roles' plot symbols, where letters would be too small; strong ones have a rim."""
    add_scatter(
        figure, x=[x for _, x, *_ in marks], y=[y for _, _, y, _ in marks], mode="markers", name="roles",
        marker={
            "symbol": [SYMBOLS[role.symbol] for role, *_ in marks], "size": size,
            "color": [tone(role) for role, *_ in marks],
            "line": {"color": INK, "width": [1.0 * strong for *_, strong in marks]},
        },
    )  # fmt: skip
