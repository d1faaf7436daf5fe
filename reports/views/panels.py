"""Pictures of attention next to each other in one SVG: their sizes, places, titles and looks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from headroles.errors import BadInput
from headroles.records.view import CROSS, DECODER, ENCODER
from headroles.reports.views.units import clean, width_of
from headroles.storage.integrity.origin import SVG_MARK

TONES = ("#0063a8", "#b5480a", "#00755a", "#9b3e85", "#806000", "#147488", "#a3243b", "#57606b")
"""Colours of heads: the report's on a light ground."""
INK, SOFT, RULE = "#1c2025", "#565e67", "#d5dae0"
EDGE, SIZE, ROW = 8.0, 11.0, 17.0
"""Margin of a picture, size of its letters, and height of a row, in px."""
BETWEEN = 14.0
"""Space between two pictures, in px."""
WIDEST = 1200.0
"""Width in px that a row of several pictures fills before the next row begins."""
MOST = 64
"""Most pictures in an SVG."""
FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
KINDS = {ENCODER: "Encoder attention", DECODER: "Decoder attention", CROSS: "Cross attention"}
"""Attention of an encoder-decoder in words."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture.

    Attributes:
        across: Its width in px.
        down: Its height in px.
        parts: Its elements, from the upper left corner.
        title: What it shows, in words.
        description: What stands out in it, in sentences.
    """

    across: float
    down: float
    parts: tuple[str, ...]
    title: str
    description: str


def join_panels(rows: Sequence[tuple[str, Sequence[Panel]]], width: str = "", widest: float = WIDEST) -> str:
    """Return an SVG with pictures in rows; a row that is too wide goes on below.

    Args:
        rows: The pictures of each row, and a line above them; "" for none.
        width: Such as "89mm" or "640px"; "" for the natural width in px. The height follows.
        widest: Width in px that a row fills before the next row begins.

    Raises:
        BadInput: For an invalid width, or more pictures than an SVG holds.

    Example:
        >>> join_panels([("", [Panel(20, 10, (), "Nothing", "Here.")])]).splitlines()[1]
        '<title>Nothing</title>'
    """
    panels = [panel for _, row in rows for panel in row]
    if len(panels) > MOST:
        raise BadInput(
            f"an SVG holds up to {MOST} pictures, but these layers, heads and texts make {len(panels):,}; "
            f"choose fewer"
        )
    if len(panels) == 1 and not rows[0][0]:
        (panel,) = panels
        return _whole(panel.across, panel.down, panel.parts, panels, width)
    parts: list[str] = []
    across, y = 0.0, 0.0
    for caption, row in rows:
        if caption:
            parts.append(f'<text x="{at(EDGE)}" y="{at(y + EDGE + SIZE)}">{escape(clean(caption))}</text>')
            across = max(across, 2 * EDGE + width_of(caption, SIZE))
            y += EDGE + ROW
        x, tall = 0.0, 0.0
        for panel in row:
            if x and x + panel.across > widest:
                x, y, tall = 0.0, y + tall + BETWEEN, 0.0
            parts += [f'<g transform="translate({at(x)} {at(y)})">', *panel.parts, "</g>"]
            across, tall = max(across, x + panel.across), max(tall, panel.down)
            x += panel.across + BETWEEN
        y += tall + BETWEEN
    return _whole(across, y - BETWEEN, parts, panels, width)


def _whole(across: float, down: float, parts: Sequence[str], panels: Sequence[Panel], width: str) -> str:
    """Return an SVG: its size, title, description and elements."""
    wide, high = _size(across, down, width)
    title = "; ".join(dict.fromkeys(panel.title for panel in panels))
    words = " ".join(dict.fromkeys(panel.description for panel in panels))
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        f'viewBox="0 0 {at(across)} {at(down)}" role="img" '
        f'font-family="{FONTS}" font-size="{at(SIZE)}" fill="{INK}">',
        f"<title>{escape(clean(title))}</title>",
        f"<desc>{escape(clean(words))}</desc>",
        SVG_MARK,
        f'<rect width="{at(across)}" height="{at(down)}" fill="#ffffff"/>',
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


def _size(across: float, down: float, width: str) -> tuple[str, str]:
    """Return width and height with their unit."""
    if not width:
        return f"{at(across)}px", f"{at(down)}px"
    match = re.fullmatch(r"(\d{1,5}(?:\.\d{1,3})?)(mm|px)", width)
    if match is None or not float(match[1]):
        raise BadInput(f"a width is a number above 0 with its unit, such as 89mm or 640px, but got {width!r}")
    return width, f"{at(float(match[1]) * down / across)}{match[2]}"


def at(value: float) -> str:
    """Return a coordinate as text.

    Example:
        >>> at(1.0), at(0.126)
        ('1', '0.13')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")
