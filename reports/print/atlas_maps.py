"""The maps of an atlas as one figure for print: a row per role, a column per run."""

from typing import Any

import numpy as np

from headroles.records.atlas.atlas import Atlas
from headroles.records.layers import plain_stack
from headroles.records.numbers import plural
from headroles.records.roles import looks_of, phrase_of
from headroles.reports.figures.atlas import largest_means
from headroles.reports.figures.drawing import INK, Figure, blank
from headroles.reports.figures.panel import plain
from headroles.reports.print.dress import pixels
from headroles.reports.print.legend import Entry, with_legend
from headroles.reports.print.maps import add_map, add_map_axes, add_marks, add_title

TITLE, FOOT, TOP = 22, 6, 22
"""Pixels above and below the map of a row, and above the first row."""
ENTRIES = (
    Entry("holds the role", INK, "circle"),
    Entry("explained by distance or position", INK, "x-thin-open"),
    Entry("▨  undetermined"),
)
"""What the marks mean."""


def atlas_maps(atlas: Atlas, width: float) -> Figure:
    """Draw a map per role and run: the shade is the mean, a mark its decision.

    Args:
        atlas: Of two runs or more.
        width: Of the figure in millimetres.

    Returns:
        The figure in the page's colours.
    """
    roles, runs = atlas.roles, atlas.runs
    wide = pixels(width) - 24
    cell = max(3.0, min(12.0, wide / len(runs) / max(run.heads for run in runs) - 0.6))
    high = TITLE + FOOT + cell * max(len(run.layers) for run in runs)
    height = TOP + high * len(roles)
    figure = blank(round(height) + 12, margin={"l": 12, "r": 12, "t": 4, "b": 8}, barmode="overlay")
    for column, run in enumerate(runs):
        add_title(figure, f"<b>{plain(run.name)}</b>", column / len(runs), 1, color=INK)
    number = 0
    for row, (role, look) in enumerate(zip(roles, looks_of(roles), strict=True)):
        top = 1 - (TOP + row * high) / height
        bottom = 1 - (TOP + (row + 1) * high - FOOT) / height
        add_title(figure, plain(phrase_of(role).title), 0, top)
        for column, run in enumerate(runs):
            if role not in atlas.findings[column].tested:
                continue
            number += 1
            domain = [column / len(runs), (column + 1) / len(runs) - 6 / wide]
            axes = add_map_axes(
                figure, number, (domain, [bottom, top - TITLE / height]), plain_stack(len(run.layers)),
                run.heads, 0.6, visible=False,
            )  # fmt: skip
            _map(figure, atlas, column, role, look.tone, axes)
    figure["layout"]["meta"] = {"sentence": _sentence(atlas)}
    return with_legend(figure, ENTRIES)


def _map(figure: Figure, atlas: Atlas, place: int, role: str, tone: int, axes: dict[str, Any]) -> None:
    """Draw the cells of one role in one run, and their marks."""
    found = atlas.findings[place]
    number = found.of(role)
    mean, held, verdict = found.numbers["mean"][number], found.held[number], found.verdict[number].astype(str)
    top = largest_means(atlas, role)[atlas.runs[place].statistic] or 1.0
    colours = add_map(
        figure,
        mean,
        top,
        verdict == "undetermined",
        f"var(--tone-{tone})",
        fine=True,
        name=plain(role),
        **axes,
    )
    for symbol, chosen in (("circle", held), ("x-thin", np.char.startswith(verdict, "explained"))):
        colour = colours[chosen].tolist()
        line = {"width": 1 if symbol == "x-thin" else 0, "color": colour}
        mark = {"symbol": symbol, "size": 4, "color": colour, "line": line}
        add_marks(figure, chosen, mode="markers", marker=mark, **axes)


def _sentence(atlas: Atlas) -> str:
    """Return the content of the figure in one sentence."""
    return (
        f"One map per role and run ({plural(len(atlas.runs), 'run')}), layers as rows and heads as columns: "
        "a dot where the head holds the role, a cross where distance or position explains the score, "
        "hatching where it is undetermined; the stronger the shade, the larger the mean."
    )
