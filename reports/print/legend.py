"""Legends of figures that stand without their page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headroles.reports.figures.drawing import SOFT, SYMBOLS, Figure, add_scatter
from headroles.reports.figures.panel import plain, tone
from headroles.reports.figures.surface import Series
from headroles.reports.marks import Entry
from headroles.reports.summary import Role


def with_legend(figure: Figure, entries: Iterable[Entry]) -> Figure:
    """Add a legend to a figure in place of any other; without entries, that of its own traces, if any.

    Args:
        figure: Is changed.
        entries: In their order.
    """
    lines = tuple(entries)
    if not lines:
        figure["layout"]["showlegend"] |= any(trace.get("showlegend") for trace in figure["data"])
        return figure
    for trace in figure["data"]:
        trace["showlegend"] = False
    for entry in lines:
        looks: dict[str, Any] = {}
        if entry.line:
            looks["line"] = {"color": entry.colour, "dash": entry.line, "width": 2}
        if entry.symbol or not entry.line:
            looks["marker"] = _mark(entry)
        mode = "+".join(f"{name}s" for name in ("line", "marker") if name in looks)
        add_scatter(figure, x=[None], y=[None], name=entry.name, showlegend=True, mode=mode, **looks)
    figure["layout"]["showlegend"] = True
    return figure


def _mark(entry: Entry) -> dict[str, object]:
    """Return the mark of an entry as properties of a trace."""
    if not entry.symbol:
        return {"size": 1, "color": "rgba(0,0,0,0)"}
    return {"symbol": entry.symbol, "color": entry.colour, "size": 10, "line": {"color": entry.colour}}


def matrix_entries(roles_held: Sequence[Role], *, letters: bool) -> list[Entry]:
    """Return roles of the label matrix with the numbers of their heads: by letters, or by symbols.

    Args:
        roles_held: The roles that heads hold.
        letters: Whether the cells bear letters.
    """
    return [
        Entry(
            plain(f"{f'{role.code}  ' * letters}{role.sieve} ({role.tally.role})"),
            tone(role),
            "square" if letters else SYMBOLS[role.symbol],
        )
        for role in roles_held
    ]


def series(columns: Sequence[Series], *, heads: bool, alone: bool) -> list[Entry]:
    """Return entries of a surface figure's columns and of its marks.

    Args:
        columns: The columns that are drawn.
        heads: Whether heads have marks, in addition to the means of layers.
        alone: Whether even attention is a line of its own, not one per column.
    """
    marks = [
        Entry(
            plain(column.label),
            column.colour,
            SYMBOLS[column.number % len(SYMBOLS)] if heads else "circle",
        )
        for column in columns
    ]
    heads_entries = [
        Entry("head above even attention", SOFT, "circle"),
        Entry("head not above it", SOFT, "circle-open"),
    ]
    layer_entries = [
        Entry("mean of a layer", SOFT, line="solid"),
        Entry("even attention", SOFT, line="dash" if alone else "dot"),
    ]
    return [*marks, *(heads_entries + layer_entries if heads else layer_entries[:1])]
