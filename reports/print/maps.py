"""Small multiples for papers: one map of layers × heads per role, with the decision in every cell."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.findings import DECISIONS
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
from headroles.reports.figures.panel import plain, tone
from headroles.reports.print.dress import pixels
from headroles.reports.print.legend import Entry, with_legend
from headroles.reports.print.matrix import step_of
from headroles.reports.records import Role, Summary
from headroles.reports.words.words import plural

ACROSS = {8: 4, 16: 3, 32: 2}
"""Maps side by side over 183 mm, by the most heads of a layer with which they have room."""
COLUMN = 110.0
"""Width in millimetres below which at most half as many maps stand side by side."""
TITLE = 22
"""Pixels above a map for its title."""
FOOT = 20
"""Pixels below a map for the numbers of heads."""
SIDE = 26
"""Pixels at the left of a map for the numbers of layers."""
TALLEST = 1.3
"""Height of a cell by its width at most."""
DARK = 0.55
"""Part of the scale above which marks are white."""
QUIET: dict[str, Any] = {
    "showgrid": False, "ticks": "", "tickmode": "linear", "tick0": 0, "automargin": False
}  # fmt: skip
"""Settings of every axis of the maps."""


def maps(summary: Summary, width: float) -> Figure | None:
    """Draw a map per role: the shade is the mean, a mark its decision.

    Args:
        summary: What the page may say.
        width: Of the figure in millimetres.

    Returns:
        The figure in the page's colours; None where no sieve can be a role, or there are too many.
    """
    if not summary.roles or summary.many:
        return None
    layers, heads = summary.table.layers, summary.table.heads
    across = min(_across(heads, width), len(summary.roles))
    down = math.ceil(len(summary.roles) / across)
    wide = pixels(width) - 24
    cell = (wide / across - SIDE) / heads
    high = TITLE + FOOT + layers * max(min(cell * TALLEST, 18.0), 4.0)
    figure = blank(round(down * high) + 12, margin={"l": 12, "r": 12, "t": 4, "b": 8}, barmode="overlay")
    top = max(float(np.nanmax(_means(summary, role), initial=0.0)) for role in summary.roles) or 1.0
    for place, role in enumerate(summary.roles):
        row, column = divmod(place, across)
        _add_map(figure, summary, place, top)
        number = place + 1 if place else ""
        left, bottom = column / across + SIDE / wide, 1 - (row + 1) / down + FOOT / (down * high)
        set_axis(
            figure, f"xaxis{number}", anchor=f"y{number}", dtick=_ticks(heads), **QUIET,
            domain=[left, (column + 1) / across - 6 / wide], range=[-0.5, heads - 0.5],
        )  # fmt: skip
        set_axis(
            figure, f"yaxis{number}", anchor=f"x{number}", dtick=_ticks(layers), **QUIET,
            domain=[bottom, 1 - row / down - TITLE / (down * high)], range=[layers - 0.5, -0.5],
        )  # fmt: skip
        _title(figure, role, (left, 1 - row / down), (column + 1) / across - 6 / wide)
    figure["layout"]["meta"] = {"sentence": _sentence(summary)}
    return with_legend(figure, _entries(summary))


def _across(heads: int, width: float) -> int:
    """Return how many maps stand side by side.

    Example:
        >>> _across(12, 183.0), _across(12, 89.0), _across(32, 183.0)
        (3, 1, 2)
    """
    fitting = next((number for most, number in ACROSS.items() if heads <= most), 1)
    return max(1, fitting if width >= COLUMN else fitting // 2)


def _ticks(size: int) -> int:
    """Return the distance between the numbers of a small map."""
    return 1 if size <= 8 else 2 if size <= 16 else 4 * step_of(size)


def _means(summary: Summary, role: Role) -> Float[np.ndarray, "layers heads"]:
    """Return the mean score of every head."""
    means: np.ndarray = summary.table.of("mean", role.position)
    return means.reshape(summary.table.layers, summary.table.heads)


def _add_map(figure: Figure, summary: Summary, place: int, top: float) -> None:
    """Draw the cells of one role and their marks."""
    role, number = summary.roles[place], place + 1 if place else ""
    axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
    mean = _means(summary, role)
    decided = summary.table.decided(role.position).reshape(mean.shape)
    rows, columns = (index.ravel() for index in np.indices(mean.shape))
    shade = np.nan_to_num(mean.ravel().clip(0, top))
    hatched = decided.ravel() == DECISIONS.index("undetermined")
    add_bar(
        figure, x=columns, base=rows - 0.5 + GAP / 2, y=np.full(rows.size, 1 - GAP), width=1 - GAP,
        name=plain(role.sieve), hoverinfo="skip", meta={"role": place},
        marker={
            "color": shade, "cmin": 0, "cmax": top, "colorscale": [[0, "var(--panel)"], [1, tone(role)]],
            "line": {"width": 0.7, "color": RULE},
            "pattern": {
                "shape": ["/" if cell else "" for cell in hatched.tolist()], "fillmode": "overlay",
                "fgcolor": SOFT, "size": 4, "solidity": 0.2,
            },
        },
        **axes,
    )  # fmt: skip
    dark = shade.reshape(mean.shape) > DARK * top
    holds = decided == DECISIONS.index("role")
    signs = {"•": holds & ~summary.strong[place], "◆": summary.strong[place]}
    signs["~"] = decided == DECISIONS.index("explained")
    for sign, chosen in signs.items():
        _signs(figure, sign, chosen, dark, axes)


def _signs(
    figure: Figure,
    sign: str,
    chosen: Bool[np.ndarray, "layers heads"],
    dark: Bool[np.ndarray, "layers heads"],
    axes: Mapping[str, str],
) -> None:
    """Write one sign into the cells that bear it, white on dark ones."""
    layer, head = np.nonzero(chosen)
    if not layer.size:
        return
    colours = ["var(--on-tone)" if cell else INK for cell in dark[chosen].tolist()]
    marks = {"•": "circle", "◆": "diamond"}
    mark = {"symbol": marks.get(sign), "size": 4 if sign == "•" else 6, "color": colours}
    looks = (
        {"mode": "markers", "marker": mark}
        if sign in marks
        else {"mode": "text", "text": [sign] * layer.size, "textfont": {"size": 11, "color": colours}}
    )
    add_scatter(figure, x=head, y=layer, name=sign, hoverinfo="skip", **looks, **axes)


def _title(figure: Figure, role: Role, corner: tuple[float, float], right: float) -> None:
    """Write what a role is and how many heads hold it above its map."""
    left, top = corner
    place: dict[str, Any] = {"xref": "paper", "yref": "paper", "y": top, "yanchor": "top"}
    title = phrase_of(role.sieve).title
    add_note(figure, f"<b>{plain(title)}</b>", color=INK, x=left, xanchor="left", **place)
    add_note(figure, plural(role.tally.role, "head"), x=right, xanchor="right", **place)


def _entries(summary: Summary) -> list[Entry]:
    """Return what the marks mean, those that are drawn."""
    kinds = " or ".join(sorted({role.stronger for role in summary.roles if role.tally.strong}))
    parts = [part for role in summary.roles if role.tally.explained for part in role.control.split(" or ")]
    controls = " or ".join(dict.fromkeys(parts))
    entries = [Entry("holds the role", INK, "circle")]
    entries += [Entry(f"strong, beyond {kinds}", INK, "diamond")] if kinds else []
    entries += [Entry(f"~  explained by {controls}")] if controls else []
    open_heads = any(role.tally.undetermined for role in summary.roles)
    return entries + ([Entry("▨  undetermined")] if open_heads else [])


def _sentence(summary: Summary) -> str:
    """Return the content of the figure in one sentence."""
    heads = int(summary.held.any(axis=0).sum())
    return (
        f"{heads} of {plural(summary.held[0].size, 'head')} hold a role. One map per role, layers as rows; "
        f"the stronger the shade, the larger the mean {summary.account.statistic}."
    )
