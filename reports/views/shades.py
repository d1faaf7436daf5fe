"""One head's attention as a static picture of shades: a heat map, or the text with shaded tokens."""

from xml.sax.saxutils import escape

import numpy as np
from jaxtyping import Float

from headroles.errors import BadInput
from headroles.records.numbers import isolate, join_names
from headroles.records.view import Maps
from headroles.reports.views.panels import EDGE, INK, KINDS, ROW, RULE, SIZE, SOFT, TONES, Panel, at
from headroles.reports.views.units import Unit, width_of

CELL = 13.0
"""Side of a cell, in px."""
ACROSS = 340.0
"""Width of a text, in px."""
LINE = 21.0
"""Height of a line of text, in px."""
CORNER = "attending ↓ attended to →"
STRONGEST = 0.85
"""Opacity of the token with most attention: its letters stay readable."""
NAMED = 8
"""Most tokens that an error names."""


def heat_panel(
    maps: Maps, layer: int, head: int, sides: list[list[Unit]], values: Float[np.ndarray, "rows columns"]
) -> Panel:
    """Return a heat map: queries as rows, keys as columns, opacity is the weight.

    Args:
        maps: Where the values are from.
        layer: The layer.
        head: The head.
        sides: Tokens that attend, and tokens attended to.
        values: Weights between them, from 0 to 1.
    """
    rows, columns = sides
    label = max([width_of(unit.text, SIZE) for unit in rows] + [0.0]) + 6
    above = max([width_of(unit.text, SIZE) for unit in columns] + [0.0]) + 6
    title = _title(maps, layer, head)
    left, top = EDGE + label, EDGE + 2 * ROW + above
    wide, tall = CELL * len(columns), CELL * len(rows)
    across = max(left + wide + EDGE, 2 * EDGE + max(width_of(title, SIZE), width_of(CORNER, SIZE)))
    parts = [
        _heading(title),
        f'<text x="{at(EDGE)}" y="{at(EDGE + ROW + SIZE)}" fill="{SOFT}">{CORNER}</text>',
        *(
            f'<text x="{at(left - 5)}" y="{at(top + CELL * (place + 0.5) + SIZE / 3)}" text-anchor="end"'
            f"{_soft(unit)}>{escape(unit.text)}</text>"
            for place, unit in enumerate(rows)
        ),
        *(
            f'<text transform="translate({at(left + CELL * (place + 0.5) + SIZE / 3)} {at(top - 5)}) '
            f'rotate(-90)"{_soft(unit)}>{escape(unit.text)}</text>'
            for place, unit in enumerate(columns)
        ),
        f'<rect x="{at(left)}" y="{at(top)}" width="{at(wide)}" height="{at(tall)}" fill="none" '
        f'stroke="{RULE}"/>',
        f'<g fill="{_tone(maps, head)}">',
        *(
            f'<rect x="{at(left + CELL * column + 0.5)}" y="{at(top + CELL * row + 0.5)}" '
            f'width="{at(CELL - 1)}" height="{at(CELL - 1)}" '
            f'fill-opacity="{min(values[row, column], 1):.3f}"/>'
            for row, column in np.argwhere(values >= 0.5 / 255).tolist()
        ),
        "</g>",
    ]
    words = "A row is a token that attends, a column a token attended to; opacity is the weight."
    return Panel(across, top + tall + EDGE, tuple(parts), title, f"{words} {_strongest(head, sides, values)}")


def text_panel(
    maps: Maps,
    layer: int,
    head: int,
    sides: list[list[Unit]],
    values: Float[np.ndarray, "rows columns"],
    token: str | None,
) -> Panel:
    """Return the text attended to, its tokens shaded by the attention they get.

    Args:
        maps: Where the values are from.
        layer: The layer.
        head: The head.
        sides: Tokens that attend, and tokens attended to.
        values: Weights between them, from 0 to 1.
        token: Token that attends, by number or itself; None for the mean over all tokens that attend.

    Raises:
        BadInput: When no token that is shown is called so.
    """
    rows, columns = sides
    row = None if token is None else place_of(token, rows)
    got = values.mean(axis=0) if row is None and len(rows) else values[row or 0] if len(rows) else np.zeros(0)
    most = float(got.max(initial=0.0))
    title = _title(maps, layer, head)
    whose = "attention that each token gets" if row is None else f"attention from “{isolate(rows[row].text)}”"
    parts = [
        _heading(title),
        f'<text x="{at(EDGE)}" y="{at(EDGE + ROW + SIZE)}" fill="{SOFT}">{escape(whose)}</text>',
    ]
    x, y = EDGE, EDGE + 2 * ROW
    for place, unit in enumerate(columns):
        text, joined = shown_text(unit, columns[place - 1] if place else None)
        wide = width_of(text, SIZE + 2) * 0.92 + 4
        gap = 0.0 if joined or not place else 4.0
        if x + gap + wide > EDGE + ACROSS and x > EDGE:
            x, y, gap = EDGE, y + LINE, 0.0
        x += gap
        same = row is not None and maps.keys is maps.queries and rows[row].places == unit.places
        edge = f' stroke="{INK}"' if same else ""
        opacity = STRONGEST * float(got[place]) / most if most > 0 else 0.0
        letters = _soft(unit) if opacity < 0.3 else _on(opacity)
        parts.append(
            f'<rect x="{at(x)}" y="{at(y)}" width="{at(wide)}" height="{at(LINE - 4)}" rx="2" '
            f'fill="{_tone(maps, head)}" fill-opacity="{opacity:.3f}"{edge}/>'
            f'<text x="{at(x + wide / 2)}" y="{at(y + SIZE + 1.5)}" text-anchor="middle" '
            f'font-size="{at(SIZE + 2)}"{letters}>{escape(text)}</text>'
        )
        x += wide
    y += LINE + ROW - 4
    parts.append(
        f'<text x="{at(EDGE)}" y="{at(y)}" fill="{SOFT}">full colour: {most:.2f} of the attention</text>'
    )
    best = (
        f"Most on “{isolate(columns[int(got.argmax())].text)}”, {most:.2f}." if most > 0 else "No attention."
    )
    return Panel(2 * EDGE + ACROSS, y + EDGE, tuple(parts), title, f"The text, shaded by the {whose}. {best}")


def place_of(token: str, units: list[Unit]) -> int:
    """Return the row of a token that attends.

    Args:
        token: Number of a token of the input, from 0, or the text of a token or word.
        units: The rows.

    Raises:
        BadInput: When no row holds it.

    Example:
        >>> place_of("rains", [Unit("it", (0,), False), Unit("Rains", (1, 2), False)])
        1
    """
    for same in (lambda unit: unit.text == token, lambda unit: _bare(unit.text) == _bare(token)):
        for place, unit in enumerate(units):
            if same(unit):
                return place
    if token.isdecimal() and len(token) < 10:
        for place, unit in enumerate(units):
            if int(token) in unit.places:
                return place
    shown = join_names([repr(unit.text) for unit in units[:NAMED]])
    more = f" and {len(units) - NAMED} more" if len(units) > NAMED else ""
    raise BadInput(
        f"a token is one of those shown, by its number from 0 or itself, but got {token!r}; the text has "
        f"{shown}{more}"
    )


def shown_text(unit: Unit, before: Unit | None) -> tuple[str, bool]:
    """Return a token as it stands in a text, and whether it goes on with the token before.

    Example:
        >>> shown_text(Unit("##s", (3,), False), Unit("rain", (2,), False))
        ('s', True)
    """
    if unit.special or before is None:
        return _plain(unit.text), False
    return _plain(unit.text), unit.text.startswith("##")


def _plain(text: str) -> str:
    """Return a piece without the sign of its place in a word, unless it is nothing else."""
    return text.removeprefix("##").removeprefix("▁") or text


def _bare(text: str) -> str:
    return _plain(text).casefold()


def _on(opacity: float) -> str:
    """Return the colour of letters on a shade."""
    return ' fill="#ffffff"' if opacity > 0.75 else ""


def _soft(unit: Unit) -> str:
    return f' fill="{SOFT}"' if unit.special else ""


def _tone(maps: Maps, head: int) -> str:
    """Return the colour of a head: the same as in pictures of lines of all heads."""
    return TONES[maps.heads.index(head) % len(TONES)]


def _title(maps: Maps, layer: int, head: int) -> str:
    """Return the name of a head, with its part of an encoder-decoder."""
    name = f"layer {layer}, head {head}"
    return f"{KINDS[maps.kind].partition(' ')[0].lower()}, {name}" if maps.kind in KINDS else name


def _heading(title: str) -> str:
    return f'<text x="{at(EDGE)}" y="{at(EDGE + SIZE)}" font-weight="600">{escape(title)}</text>'


def _strongest(head: int, sides: list[list[Unit]], values: Float[np.ndarray, "rows columns"]) -> str:
    """Return a sentence on the strongest weight of a head; "" without any."""
    if not values.size:
        return ""
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    pair = f"“{isolate(sides[0][row].text)}” to “{isolate(sides[1][column].text)}”"
    return f"Strongest in head {head}: {pair}, {values[row, column]:.2f}."
