"""Figures as plain dictionaries in plotly's JSON, in the layout that all figures of a page share.

Colours are CSS variables, written as ``var(--name)``; the page fills in the colours of the reader's theme.
Nothing is checked while a figure is built, because that takes most of the time. Tests check every key.
"""

import base64
import html
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.records.layers import Stack
from headroles.records.numbers import isolate

INK, SOFT, FAINT, RULE, ACCENT = (f"var(--{name})" for name in ("ink", "soft", "faint", "rule", "accent"))
SYMBOLS = (
    "circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "hexagon", "x"
)  # fmt: skip
"""Plot symbols by ``Role.symbol``; the page's legend draws the same."""
LONGEST = 48
"""Characters of a name that a figure shows."""
GAP = 0.08
"""Empty part of a cell's width and height."""
STRONG = 0.55
"""Part of the scale above which text on a cell has the colour of text on strong colours."""
KINDS = {kind: kind for kind in ["f8", "f4", "i4", "u4", "i2", "u2", "i1", "u1"]} | {"i8": "i4"}
"""Number formats of plotly's JSON by those of numpy; whole numbers of 64 bits are written in 32."""

Figure = dict[str, Any]
"""A figure: "data", a list of traces, and "layout". Numbers may be arrays of numpy."""
Shade = tuple[str, ...]
"""Colours from the lowest value to the highest, at equal steps."""


def tone(place: int) -> str:
    """Return a colour of the page by its number."""
    return f"var(--tone-{place})"


def shortened(text: str) -> str:
    """Return a name whose direction is isolated, cut where it is very long."""
    return isolate(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def plain(text: str) -> str:
    """Return text that plotly shows as it is: markup escaped, direction isolated, very long names cut.

    Example:
        >>> plain("<b>local</b>"), len(plain("x" * 10_000))
        ('&lt;b&gt;local&lt;/b&gt;', 48)
    """
    return html.escape(shortened(text), quote=False)


def blank(height: int, **layout: Any) -> Figure:
    """Return an empty figure of a height in pixels, with the page's font and quiet axes.

    ``layout`` has settings that replace those of all figures.

    Example:
        >>> figure = blank(300, barmode="stack")
        >>> figure["data"], figure["layout"]["height"], sorted(figure["layout"])[-2:]
        ([], 300, ['xaxis', 'yaxis'])
    """
    settings = {
        "height": height, "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK},
        "margin": {"l": 56, "r": 16, "t": 12, "b": 52}, "showlegend": False,
        "hoverlabel": {"bgcolor": "var(--panel)", "bordercolor": RULE, "font": {"color": INK, "size": 13}},
        "hovermode": "closest", "dragmode": False, "shapes": [], "annotations": [],
    }  # fmt: skip
    return {"data": [], "layout": settings | layout | {"xaxis": _axis(), "yaxis": _axis()}}


def _axis() -> dict[str, Any]:
    """Return the settings of a quiet axis."""
    return {
        "gridcolor": RULE, "linecolor": FAINT, "tickcolor": FAINT, "zeroline": False, "automargin": True,
        "tickfont": {"color": SOFT, "size": 12},
    }  # fmt: skip


def set_axis(figure: Figure, name: str, *, title: str = "", **settings: Any) -> None:
    """Change an axis, or add one, by its name such as "yaxis2"; "" leaves its title as it is."""
    axis = figure["layout"].setdefault(name, _axis())
    axis |= settings
    if title:
        axis["title"] = {"text": title, "font": {"color": SOFT, "size": 13}, "standoff": 8}


def layer_ticks(stack: Stack, step: int, *, by_place: bool = False) -> dict[str, Any]:
    """Return settings of an axis of layers: a number at every so many of them.

    Args:
        stack: The layers by their positions.
        step: From one numbered layer to the next, in layers that are read.
        by_place: Whether layers stand at their places, as rows of a map do, and not at their positions.
    """
    if stack.whole:
        return {"dtick": step}
    numbers = stack.numbers[::step]
    values = range(0, len(stack.numbers), step) if by_place else numbers
    return {"tickmode": "array", "tickvals": list(values), "ticktext": [str(number) for number in numbers]}


def bar_width(stack: Stack) -> dict[str, Any]:
    """Return the width of bars at layers, where some layers between them are not read."""
    return {} if stack.whole else {"width": 0.75}


def add_scatter(figure: Figure, **trace: Any) -> None:
    """Add marks, lines or text."""
    figure["data"].append({"type": "scatter", **trace})


def error_bars(
    ends: Sequence[Sequence[float]], *, color: str, thickness: float, width: float
) -> dict[str, Any]:
    """Return intervals as error bars of a trace.

    Args:
        ends: Value, lower and upper end of each.
        color: Of the bars.
        thickness: Of the bars in pixels.
        width: Of the strokes at their ends in pixels; 0 for none.
    """
    above = [high - value for value, _, high in ends]
    below = [value - low for value, low, _ in ends]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below} | {
        "color": color, "thickness": thickness, "width": width,
    }  # fmt: skip


def add_bar(figure: Figure, **trace: Any) -> None:
    """Add bars."""
    figure["data"].append({"type": "bar", **trace})


def add_shape(figure: Figure, **shape: Any) -> None:
    """Add a line, a rectangle or a path."""
    figure["layout"]["shapes"].append(shape)


def add_note(figure: Figure, text: str, *, size: int = 12, color: str = SOFT, **place: Any) -> None:
    """Add escaped text without an arrow, its letters ``size`` pixels high, at a place as plotly names it."""
    note = {"text": text, "showarrow": False, "font": {"size": size, "color": color}, **place}
    figure["layout"]["annotations"].append(note)


def add_cells(
    figure: Figure, values: Float[np.ndarray, "rows columns"], shade: Shade, ends: tuple[float, float], *,
    text: Sequence[Sequence[str]] | None = None,
    numbers: Float[np.ndarray, "rows columns numbers"] | None = None,
    layers: Stack | None = None, along: str = "y", colorbar: Mapping[str, Any] | None = None, size: int = 12,
    **trace: Any,
) -> None:  # fmt: skip
    """Add a field of cells, shaded by their values: a bar from edge to edge of every cell.

    Cells without a number (NaN) are left out. On hover, ``customdata`` has row, column and value, then the
    cell's own numbers. The first row lies at 0 of the y axis, which therefore runs downwards.

    Args:
        figure: Is changed.
        values: By row and column.
        shade: Colours of the lowest value, those between, and the highest.
        ends: Values of the first and the last colour.
        text: Written in the cells.
        numbers: Further numbers of every cell for its hover text.
        layers: Layers that rows or columns are, which have their positions in place of row or column.
        along: "y" where rows are layers, "x" where columns are.
        colorbar: Settings of a key of colours; None for no key.
        size: Of the text in pixels.
        trace: Further settings of the trace.
    """
    rows, columns = np.nonzero(~np.isnan(values))
    shown = values[rows, columns]
    places = {"y": rows, "x": columns}
    if layers is not None:
        places[along] = layers.positions[places[along]]
    custom = [places["y"], places["x"], shown, *(numbers[rows, columns].T if numbers is not None else ())]
    marker: dict[str, Any] = {
        "color": shown.astype(np.float32), "cmin": ends[0], "cmax": ends[1], "line": {"width": 0},
        "colorscale": [[place / (len(shade) - 1), colour] for place, colour in enumerate(shade)],
        "showscale": colorbar is not None,
    }  # fmt: skip
    if colorbar is not None:
        marker["colorbar"] = {"thickness": 12, "outlinewidth": 0, **colorbar}
    written: dict[str, Any] = {"textposition": "none"}
    if text is not None:  # the first of three shades is as strong as the last
        part = (shown - ends[0]) / ((ends[1] - ends[0]) or 1)
        strength = np.abs(2 * part - 1) if len(shade) == 3 else part
        inks = ["var(--on-tone)" if strong else INK for strong in (strength > STRONG).tolist()]
        written = {
            "text": [text[row][column] for row, column in zip(rows.tolist(), columns.tolist(), strict=True)],
            "textposition": "inside", "insidetextanchor": "middle", "textangle": 0, "constraintext": "none",
            "textfont": {"size": size, "color": inks}, "cliponaxis": False,
        }  # fmt: skip
    add_bar(
        figure, x=columns.astype(np.int16), base=(rows - 0.5 + GAP / 2).astype(np.float32),
        y=np.full(len(rows), 1 - GAP, dtype=np.float32), width=1 - GAP, marker=marker,
        customdata=np.column_stack(custom).astype(np.float32), **written, **trace,
    )  # fmt: skip
    figure["layout"]["barmode"] = "overlay"
    set_axis(figure, "xaxis", range=[-0.5, values.shape[1] - 0.5], showgrid=False)
    set_axis(figure, "yaxis", range=[values.shape[0] - 0.5, -0.5], showgrid=False)


def figure_json(figure: Figure) -> str:
    """Return a figure as JSON that plotly's script reads: arrays in base64, null for numbers that are none.

    Example:
        >>> figure_json({"data": [{"x": [1, None, float("nan")]}]})
        '{"data":[{"x":[1,null,null]}]}'
        >>> figure_json({"x": np.arange(2, dtype=np.uint8)})
        '{"x":{"dtype":"u1","bdata":"AAE="}}'
    """
    return json.dumps(_jsonable(figure), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _jsonable(value: Any) -> Any:
    """Return a value of a figure with what JSON knows only; arrays of numbers as plotly packs them."""
    if isinstance(value, dict):
        return {name: _jsonable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(inner) for inner in value]
    if isinstance(value, np.ndarray):
        kind = KINDS.get(value.dtype.str[1:])
        if kind is None:
            return _jsonable(value.tolist())
        data = np.ascontiguousarray(value, dtype=f"<{kind}" if kind[1] != "1" else kind)
        packed = {"dtype": kind, "bdata": base64.b64encode(data.tobytes()).decode("ascii")}
        return packed if value.ndim < 2 else packed | {"shape": ", ".join(map(str, value.shape))}
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
