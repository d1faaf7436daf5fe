"""The maps of an atlas as one figure for print: a row per role, a column per run."""

import numpy as np

from headroles.records.atlas.atlas import Atlas
from headroles.records.shown.looks import looks_of
from headroles.records.shown.phrases import phrase_of
from headroles.reports.figures.drawing import (
    GAP,
    INK,
    RULE,
    SOFT,
    Figure,
    add_bar,
    add_note,
    add_scatter,
    blank,
    set_axis,
)
from headroles.reports.figures.panel import plain
from headroles.reports.print.dress import pixels
from headroles.reports.print.legend import Entry, with_legend
from headroles.reports.words.words import plural

TITLE, FOOT, TOP = 22, 6, 22
"""Pixels above and below the map of a row, and above the first row."""
ENTRIES = (
    Entry("holds the role", INK, "circle"),
    Entry("explained by distance or position", INK, "x-thin-open"),
    Entry("▨  undetermined"),
)
"""What the marks mean."""
DARK = 0.55
"""Part of the scale above which marks are white."""


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
    high = TITLE + FOOT + cell * max(run.layers for run in runs)
    height = TOP + high * len(roles)
    figure = blank(round(height) + 12, margin={"l": 12, "r": 12, "t": 4, "b": 8}, barmode="overlay")
    for column, run in enumerate(runs):
        add_note(
            figure, f"<b>{plain(run.name)}</b>", color=INK, x=column / len(runs), xref="paper",
            xanchor="left", y=1, yref="paper", yanchor="top",
        )  # fmt: skip
    number = 0
    for row, (role, look) in enumerate(zip(roles, looks_of(roles), strict=True)):
        top = 1 - (TOP + row * high) / height
        _title(figure, phrase_of(role).title, top)
        for column, run in enumerate(runs):
            if role not in atlas.findings[column].tested:
                continue
            number += 1
            name = number if number > 1 else ""
            bottom = 1 - (TOP + (row + 1) * high - FOOT) / height
            set_axis(
                figure, f"xaxis{name}", anchor=f"y{name}", visible=False,
                domain=[column / len(runs), (column + 1) / len(runs) - 6 / wide],
                range=[-0.6, run.heads - 0.4],
            )  # fmt: skip
            set_axis(
                figure, f"yaxis{name}", anchor=f"x{name}", visible=False,
                domain=[bottom, top - TITLE / height], range=[run.layers - 0.4, -0.6],
            )  # fmt: skip
            _map(figure, atlas, column, role, look.tone, {"xaxis": f"x{name}", "yaxis": f"y{name}"})
    figure["layout"]["meta"] = {"sentence": _sentence(atlas)}
    return with_legend(figure, ENTRIES)


def _title(figure: Figure, title: str, top: float) -> None:
    """Write what a role is above its row."""
    add_note(
        figure,
        plain(title),
        color=SOFT,
        x=0,
        xref="paper",
        xanchor="left",
        y=top,
        yref="paper",
        yanchor="top",
    )


def _map(figure: Figure, atlas: Atlas, place: int, role: str, tone: int, axes: dict[str, str]) -> None:
    """Draw the cells of one role in one run, and their marks."""
    found = atlas.findings[place]
    number = found.of(role)
    mean, held, verdict = found.numbers["mean"][number], found.held[number], found.verdict[number].astype(str)
    top = _largest(atlas, role, atlas.runs[place].statistic)
    rows, columns = (index.ravel() for index in np.indices(mean.shape))
    shade = np.nan_to_num(mean).clip(0, top)
    hatched = (verdict == "undetermined").ravel()
    add_bar(
        figure, x=columns, base=rows - 0.5 + GAP / 2, y=np.full(rows.size, 1 - GAP), width=1 - GAP,
        name=plain(role), hoverinfo="skip",
        marker={
            "color": shade.ravel(), "cmin": 0, "cmax": top,
            "colorscale": [[0, "var(--panel)"], [1, f"var(--tone-{tone})"]],
            "line": {"width": 0.6, "color": RULE},
            "pattern": {
                "shape": ["/" if cell else "" for cell in hatched.tolist()], "fillmode": "overlay",
                "fgcolor": SOFT, "size": 3, "solidity": 0.2,
            },
        },
        **axes,
    )  # fmt: skip
    dark = shade > DARK * top
    marks = (
        ("circle", held),
        ("x-thin", np.char.startswith(verdict, "explained")),
    )
    for symbol, chosen in marks:
        layer, head = np.nonzero(chosen)
        if not layer.size:
            continue
        colours = ["var(--on-tone)" if cell else INK for cell in dark[chosen].tolist()]
        line = {"width": 1 if symbol == "x-thin" else 0, "color": colours}
        add_scatter(
            figure, x=head, y=layer, mode="markers", hoverinfo="skip",
            marker={"symbol": symbol, "size": 4, "color": colours, "line": line}, **axes,
        )  # fmt: skip


def _largest(atlas: Atlas, role: str, statistic: str) -> float:
    """Return the largest mean of a role over the runs of one statistic; 1 where none is above 0."""
    means = [
        found.numbers["mean"][found.of(role)]
        for run, found in zip(atlas.runs, atlas.findings, strict=True)
        if role in found.roles and run.statistic == statistic
    ]
    return float(np.nanmax(np.stack(means), initial=0.0)) or 1.0


def _sentence(atlas: Atlas) -> str:
    """Return the content of the figure in one sentence."""
    return (
        f"One map per role and run ({plural(len(atlas.runs), 'run')}), layers as rows and heads as columns: "
        "a dot where the head holds the role, a cross where distance or position explains the score, "
        "hatching where it is undetermined; the stronger the shade, the larger the mean."
    )
