"""A figure of the page prepared for print: white ground, light colours, a width in millimetres."""

import html
import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headroles.reports.document import template
from headroles.reports.figures.drawing import Figure

FONTS = "Arial, Helvetica, 'Liberation Sans', 'DejaVu Sans', sans-serif"
"""Fonts of figures; the first that a reader's machine has is used."""
TYPE = 9.0
"""Size of axis titles in points."""
PAGE_TYPE = 13.0
"""Size of axis titles in pixels, as figures are drawn for the page; everything else keeps its proportion."""
LONGEST = {"ticktext": 48, "name": 48, "text": 120}
"""Most letters of names at axes, in legends and inside a plot; longer ones are cut."""
LINE = 19
"""Height of a line of the legend in pixels."""
LETTER = 6.2
"""Width of a letter of the legend in pixels, rather too much than too little."""
MARK = 42
"""Width of a mark of the legend with its gaps in pixels."""


@cache
def palette() -> Mapping[str, str]:
    """Return colours of the page's light theme by variable name, read from its style; paper is white.

    Example:
        >>> palette()["tone-0"], palette()["paper"]
        ('#0063a8', '#ffffff')
    """
    first = re.search(r":root\s*{(.*?)}", template("shared/page.css"), flags=re.DOTALL)
    colours = re.findall(r"--([\w-]+):\s*(#[0-9a-fA-F]{6});", first.group(1) if first else "")
    return dict(colours) | {"paper": "#ffffff", "panel": "#ffffff"}


def scale_to(form: str = "svg") -> float:
    """Return the factor from drawn pixels to points of type, and for "png" to 300 dots an inch.

    Example:
        >>> round(PAGE_TYPE * scale_to() * 72 / 96, 6)
        9.0
    """
    vector = TYPE * 96 / 72 / PAGE_TYPE
    return vector * 300 / 96 if form == "png" else vector


def pixels(width: float) -> float:
    """Return the pixels in which a figure of a width in millimetres is drawn, before ``scale_to``.

    Example:
        >>> round(pixels(183.0) * scale_to() / 96 * 25.4, 6)
        183.0
    """
    return width / 25.4 * 96 / scale_to()


def dress_for_print(figure: Figure, width: float) -> go.Figure:
    """Return a figure of the page as plotly's own object, prepared for print.

    Args:
        figure: As the page has it; with ``layout.showlegend``, the traces that say so get a legend.
        width: In millimetres, ``NARROWEST`` to ``WIDEST``.

    Returns:
        White ground, the light theme's colours for CSS variables, long names cut, sizes in pixels that
        ``scale_to`` brings to points.
    """
    copy = go.Figure(_light(figure))
    copy.update_layout(template="none")
    wide = pixels(width)
    high = float(copy.layout.height or 400)
    if copy.layout.yaxis.scaleanchor:
        high = min(high, 1.2 * wide)
    copy.update_layout(
        width=wide, height=high, autosize=False, paper_bgcolor="#ffffff", plot_bgcolor="#ffffff",
        font={"family": FONTS},
    )  # fmt: skip
    copy.update_xaxes(title_font_size=PAGE_TYPE)
    copy.update_yaxes(title_font_size=PAGE_TYPE)
    if copy.layout.showlegend:
        _legend(copy, wide)
    return copy


def _legend(figure: go.Figure, wide: float) -> None:
    """Put a legend above the plot, and make room for it."""
    names = [trace.name or "" for trace in figure.data if trace.showlegend]
    longest = max((len(_bare(name)) for name in names), default=1)
    margin = figure.layout.margin
    entry = MARK + LETTER * longest
    across = max(1, int((wide - _axis_width(figure) - (margin.r or 16)) // entry))
    rows = math.ceil(len(names) / across) if names else 0
    room = LINE * rows + 12 * bool(rows)
    figure.update_layout(
        height=figure.layout.height + room,
        margin={"t": (margin.t or 0) + room},
        legend={
            "orientation": "h", "xref": "paper", "x": 0, "xanchor": "left", "yref": "container", "y": 1,
            "yanchor": "top", "entrywidth": entry - MARK, "font": {"size": 12, "color": palette()["ink"]},
            "bgcolor": "rgba(0,0,0,0)", "traceorder": "normal",
        },
    )  # fmt: skip


def _axis_width(figure: go.Figure) -> float:
    """Return the pixels that the names of the vertical axes take."""
    names = [text for axis in figure.select_yaxes() for text in (axis.ticktext or ())]
    longest = max((len(_bare(str(name))) for name in names), default=0)
    return max(float(figure.layout.margin.l or 0), 16 + LETTER * longest)


def _bare(text: str) -> str:
    """Return text as a reader sees it, without markup."""
    return html.unescape(re.sub("<[^>]*>", "", text))


def shorten(text: str, longest: int) -> str:
    """Return escaped text of limited length: whole letters, and isolates that are closed.

    Example:
        >>> shorten("local", 48), shorten("&lt;" * 60, 48).count("&lt;")
        ('local', 47)
    """
    bare = _bare(text)
    if len(bare) <= longest:
        return text
    shortened = bare[: longest - 1] + "…"
    open_isolates = sum(letter in "\u2066\u2067\u2068" for letter in shortened) - shortened.count("\u2069")
    return html.escape(shortened, quote=False) + "\u2069" * max(open_isolates, 0)


def _light(value: Any, key: str = "") -> Any:
    """Return the same value with colours for variables, and long names cut where text is shown."""
    if isinstance(value, dict):
        return {name: _light(inner, name) for name, inner in value.items() if name != "customdata"}
    if isinstance(value, list | tuple):
        return [_light(inner, key) for inner in value]
    if isinstance(value, np.ndarray):
        return _light(value.tolist(), key) if value.dtype.kind in "OU" else value
    if not isinstance(value, str):
        return value
    if value.startswith("var(--"):
        return palette()[value[6:-1]]
    return shorten(value, LONGEST[key]) if key in LONGEST and "<br>" not in value else value
