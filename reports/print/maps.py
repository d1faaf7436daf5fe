"""Small multiples for papers: one map of layers × heads per role, with the decision in every cell."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.findings import DECISIONS
from headroles.records.layers import Stack
from headroles.records.numbers import plural
from headroles.records.shown.controls import explained_list
from headroles.records.shown.phrases import phrase_of
from headroles.reports.figures.drawing import (
    GAP,
    INK,
    RULE,
    SOFT,
    STRONG,
    Figure,
    add_bar,
    add_note,
    add_scatter,
    blank,
    layer_ticks,
    set_axis,
)
from headroles.reports.figures.panel import plain, tone
from headroles.reports.maps import CellLook
from headroles.reports.print.dress import pixels
from headroles.reports.print.legend import Entry, with_legend
from headroles.reports.print.matrix import step_of
from headroles.reports.records import Role, Summary

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
    figure, frames = map_frames(summary.table.stack, summary.table.heads, len(summary.roles), width)
    top = max(float(np.nanmax(_means(summary, role), initial=0.0)) for role in summary.roles) or 1.0
    for place, (role, frame) in enumerate(zip(summary.roles, frames, strict=True)):
        _map(figure, summary, place, top, frame.axes)
        map_title(figure, phrase_of(role.sieve).title, plural(role.tally.role, "head"), frame)
    figure["layout"]["meta"] = {"sentence": _sentence(summary)}
    return with_legend(figure, _entries(summary))


@dataclass(frozen=True, slots=True)
class MapFrame:
    """Where a small map stands in its figure.

    Attributes:
        axes: Names of its axes, as traces name them.
        left: Left end of its title, as a part of the width.
        top: Upper end of its title, as a part of the height.
        right: Right end of its title.
    """

    axes: Mapping[str, str]
    left: float
    top: float
    right: float


def look_entry(look: CellLook) -> Entry:
    """Return the line of a look in a legend."""
    words = f"{look.mark or '▨'}  {look.word}"
    return Entry(words) if look.tone is None else Entry(words, f"var(--tone-{look.tone})", "square")


def add_verdicts(
    figure: Figure, codes: Int[np.ndarray, "layers heads"], frame: MapFrame, looks: Sequence[CellLook]
) -> None:
    """Draw the verdicts of one map with their marks.

    Args:
        figure: Is changed.
        codes: Place of each verdict in the looks; cells of the code −1 stay empty.
        frame: Of the map.
        looks: By code.
    """
    for code, look in enumerate((CellLook("without the role"), *looks), start=-1):
        rows, columns = np.nonzero(codes == code)
        if not rows.size:
            continue
        colour = "" if look.tone is None else f"var(--tone-{look.tone})"
        faint = look.faint and bool(colour)
        add_bar(
            figure, x=columns, base=rows - 0.5 + GAP / 2, y=np.full(rows.size, 1 - GAP), width=1 - GAP,
            name=look.word, hoverinfo="skip", opacity=0.45 if faint else 1.0,
            marker={
                "color": colour or "var(--panel)", "line": {"width": 0.7, "color": RULE},
                "pattern": {
                    "shape": "/" if look.hatched else "", "fillmode": "overlay", "fgcolor": SOFT,
                    "size": 4, "solidity": 0.2,
                },
            },
            **frame.axes,
        )  # fmt: skip
        if look.mark:
            add_scatter(
                figure, x=columns, y=rows, mode="text", text=[look.mark] * rows.size, name=look.word,
                textfont={
                    "size": 9, "color": "var(--on-tone)" if colour and not faint else INK
                },
                hoverinfo="skip", **frame.axes,
            )  # fmt: skip


def map_frames(stack: Stack, heads: int, number: int, width: float) -> tuple[Figure, tuple[MapFrame, ...]]:
    """Return a figure of empty maps side by side, with layers as rows, and where each map stands.

    Args:
        stack: The layers by their positions.
        heads: Heads of a layer.
        number: Of maps, at least one.
        width: Of the figure in millimetres.
    """
    layers = len(stack.layers)
    across = min(_across(heads, width), number)
    down = math.ceil(number / across)
    wide = pixels(width) - 24
    cell = (wide / across - SIDE) / heads
    high = TITLE + FOOT + layers * max(min(cell * TALLEST, 18.0), 4.0)
    figure = blank(round(down * high) + 12, margin={"l": 12, "r": 12, "t": 4, "b": 8}, barmode="overlay")
    frames = []
    for place in range(number):
        row, column = divmod(place, across)
        left, right = column / across + SIDE / wide, (column + 1) / across - 6 / wide
        upper, lower = 1 - row / down, 1 - (row + 1) / down + FOOT / (down * high)
        domains = [left, right], [lower, upper - TITLE / (down * high)]
        axes = add_map_axes(figure, place + 1, domains, stack, heads, **QUIET)
        frames.append(MapFrame(axes, left, upper, right))
    return figure, tuple(frames)


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


def _map(figure: Figure, summary: Summary, place: int, top: float, axes: Mapping[str, Any]) -> None:
    """Draw the cells of one role and their marks."""
    role, mean = summary.roles[place], _means(summary, summary.roles[place])
    decided = summary.table.decided(role.position).reshape(mean.shape)
    open_heads = decided == DECISIONS.index("undetermined")
    colours = add_map(
        figure, mean, top, open_heads, tone(role), name=plain(role.sieve), meta={"role": place}, **axes
    )
    holds = decided == DECISIONS.index("role")
    strong, explained = summary.strong[place], decided == DECISIONS.index("explained")
    for sign, symbol, size, chosen in (("•", "circle", 4, holds & ~strong), ("◆", "diamond", 6, strong)):
        mark = {"symbol": symbol, "size": size, "color": colours[chosen].tolist()}
        add_marks(figure, chosen, mode="markers", marker=mark, name=sign, **axes)
    font = {"size": 11, "color": colours[explained].tolist()}
    text = ["~"] * int(explained.sum())
    add_marks(figure, explained, mode="text", text=text, textfont=font, name="~", **axes)


def add_map_axes(
    figure: Figure,
    number: int,
    domains: tuple[list[float], list[float]],
    stack: Stack,
    heads: int,
    edge: float = 0.5,
    **settings: Any,
) -> dict[str, str]:
    """Add the axes of a map, layers downwards, and return their names for its traces.

    Args:
        figure: Is changed.
        number: Of the map, from 1.
        domains: Where it lies in the figure, from left to right and from bottom to top.
        stack: The layers by their positions.
        heads: Heads of a layer.
        edge: Cells from the centre of an outer cell to the end of its axis.
        settings: Of both axes, as plotly names them.
    """
    name, layers = number if number > 1 else "", len(stack.layers)
    ranges = [-edge, heads - 1 + edge], [layers - 1 + edge, -edge]
    ticks = {"dtick": _ticks(heads)}, layer_ticks(stack, _ticks(layers), by_place=True)
    for along, other, steps, domain, ends in zip("xy", "yx", ticks, domains, ranges, strict=True):
        anchors: dict[str, Any] = {"anchor": f"{other}{name}", "domain": domain, "range": ends}
        set_axis(figure, f"{along}axis{name}", **anchors | settings | steps)
    return {"xaxis": f"x{name}", "yaxis": f"y{name}"}


def add_map(
    figure: Figure,
    mean: Float[np.ndarray, "layers heads"],
    top: float,
    hatched: Bool[np.ndarray, "layers heads"],
    colour: str,
    *,
    fine: bool = False,
    **trace: Any,
) -> np.ndarray:
    """Draw a cell for every head, and return the colours of marks on them, white on dark ones.

    Args:
        figure: Is changed.
        mean: Is the shade of the cells.
        top: Mean of the full colour.
        hatched: Which cells are hatched.
        colour: The full colour.
        fine: Whether lines and hatching are fine, as small cells need.
        trace: Further settings of the trace.
    """
    rows, columns = (index.ravel() for index in np.indices(mean.shape))
    shade = np.nan_to_num(mean.clip(0, top))
    add_bar(
        figure, x=columns, base=rows - 0.5 + GAP / 2, y=np.full(rows.size, 1 - GAP), width=1 - GAP,
        hoverinfo="skip",
        marker={
            "color": shade.ravel(), "cmin": 0, "cmax": top,
            "colorscale": [[0, "var(--panel)"], [1, colour]],
            "line": {"width": 0.6 if fine else 0.7, "color": RULE},
            "pattern": {
                "shape": np.where(hatched.ravel(), "/", "").tolist(), "fillmode": "overlay",
                "fgcolor": SOFT, "size": 3 if fine else 4, "solidity": 0.2,
            },
        },
        **trace,
    )  # fmt: skip
    return np.where(shade > STRONG * top, "var(--on-tone)", INK)


def add_marks(figure: Figure, chosen: Bool[np.ndarray, "layers heads"], **trace: Any) -> None:
    """Add a trace with a mark in every chosen cell; nothing where none is chosen."""
    layer, head = np.nonzero(chosen)
    if layer.size:
        add_scatter(figure, x=head, y=layer, hoverinfo="skip", **trace)


def map_title(figure: Figure, title: str, note: str, frame: MapFrame) -> None:
    """Write what a map shows above it, and a note at its right end."""
    add_title(figure, f"<b>{plain(title)}</b>", frame.left, frame.top, color=INK)
    add_title(figure, note, frame.right, frame.top, xanchor="right")


def add_title(
    figure: Figure, text: str, x: float, y: float, *, xanchor: str = "left", color: str = SOFT
) -> None:
    """Write a line above maps, with its upper corner at a part of the width and of the height."""
    place: dict[str, Any] = {
        "x": x,
        "xref": "paper",
        "xanchor": xanchor,
        "y": y,
        "yref": "paper",
        "yanchor": "top",
    }
    add_note(figure, text, color=color, **place)


def _entries(summary: Summary) -> list[Entry]:
    """Return what the marks mean, those that are drawn."""
    kinds = " or ".join(sorted({role.stronger for role in summary.roles if role.tally.strong}))
    verdicts = explained_list(role.control for role in summary.roles if role.tally.explained)
    entries = [Entry("holds the role", INK, "circle")]
    entries += [Entry(f"strong, beyond {kinds}", INK, "diamond")] if kinds else []
    entries += [Entry(f"~  {verdicts}")] if verdicts else []
    open_heads = any(role.tally.undetermined for role in summary.roles)
    return entries + ([Entry("▨  undetermined")] if open_heads else [])


def _sentence(summary: Summary) -> str:
    """Return the content of the figure in one sentence."""
    heads = int(summary.held.any(axis=0).sum())
    return (
        f"{heads} of {plural(summary.held[0].size, 'head')} hold a role. One map per role, layers as rows; "
        f"the stronger the shade, the larger the mean {summary.account.statistic}."
    )
