"""What a sieve counts on one input as a static picture: queries as rows, keys as columns."""

from xml.sax.saxutils import escape

import numpy as np

from headroles.errors import BadInput
from headroles.plans.cells import SieveCells
from headroles.records.numbers import isolate, plural
from headroles.reports.views.units import clean, shorten, width_of
from headroles.reports.words.words import visible_pieces
from headroles.storage.integrity.origin import SVG_MARK

INK, SOFT, EDGE_TONE = "#1c2025", "#565e67", "#d5dae0"
COUNTED, COMPARED = "#0063a8", "#e3e8ee"
FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
CELL, MARGIN, SIZE, TITLE = 16.0, 12.0, 11.0, 13.0
"""Side of a cell, margin of the picture, and sizes of letters, in px."""
LINE = 17.0
NARROWEST = 520.0
CORNER = "query ↓ key →"
LONGEST = 18
"""Letters of a token that are shown."""
MOST = 128
"""Most tokens of a picture."""
FAINTEST = 0.35
"""Opacity of the cell with the least weight; the one with most has 1."""


def sieve_svg(cells: SieveCells) -> str:
    """Draw the cells that a sieve counts on one input: queries as rows, keys as columns.

    Counted cells are blue, as strong as their weight; cells that they are compared within are grey.
    Every counted cell names its tokens and its weight. Queries that ask nothing are written in grey.

    Args:
        cells: Of at most ``MOST`` tokens.

    Returns:
        An SVG of real text in fonts of the system, the same for the same cells.

    Raises:
        BadInput: For more tokens.

    Example:
        >>> from headroles.records.example import Example
        >>> from headroles.sieves.built_in.positions import following
        >>> from headroles.sieves.weights.cells import count_cells
        >>> picture = sieve_svg(count_cells(following, Example("note", ("it", "rains"))))
        >>> picture.count("<title>"), "it to rains" in picture
        (2, True)
    """
    size = cells.example.size
    if size > MOST:
        raise BadInput(f"a picture of a sieve has at most {MOST} tokens, but got {size}; shorten the text")
    pieces = [shorten(piece, LONGEST) for piece in visible_pieces(cells.example)]
    label = max(width_of(piece, SIZE) for piece in (*pieces, CORNER)) + 6
    across = max(2 * MARGIN + label + CELL * size, NARROWEST)
    heading = _heading(cells, across - 2 * MARGIN)
    above = max(width_of(piece, SIZE) for piece in pieces)
    left, top = MARGIN + label, MARGIN + LINE * (len(heading) + 0.5) + above + 6
    legend = _legend(cells, across, top + CELL * size + LINE)
    down = top + CELL * size + LINE * (1 + len(legend)) + MARGIN
    title, sentences = describe_cells(cells)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_at(across)}px" height="{_at(down)}px" '
        f'viewBox="0 0 {_at(across)} {_at(down)}" role="img" font-family="{FONTS}" '
        f'font-size="{_at(SIZE)}" fill="{INK}">',
        f"<title>{escape(clean(title))}</title>",
        f"<desc>{escape(clean(' '.join(sentences)))}</desc>",
        SVG_MARK,
        f'<rect width="{_at(across)}" height="{_at(down)}" fill="#ffffff"/>',
        *heading,
        f'<text x="{_at(left - 6)}" y="{_at(top - 6)}" text-anchor="end" fill="{SOFT}">{CORNER}</text>',
        *_tokens(cells, pieces, left, top),
        *_cells(cells, pieces, left, top),
        *legend,
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def describe_cells(cells: SieveCells) -> tuple[str, list[str]]:
    """Return a title, and a description: the number of cells, where there are some, and the notes."""
    title = f"What the sieve {isolate(cells.sieve)} counts"
    counted, compared = int(cells.counted.sum()), int(cells.compared.sum())
    queries = f"{int(cells.asking.sum())} of {plural(cells.example.size, 'token')} count as queries"
    numbers = [f"{queries}; {plural(counted, 'cell')} count, of {compared:,} compared."] if counted else []
    return title, [*numbers, *cells.notes]


def _heading(cells: SieveCells, width: float) -> list[str]:
    """Return name and question in lines no wider than the picture."""
    lines = [
        f'<text x="{_at(MARGIN)}" y="{_at(MARGIN + TITLE)}" font-size="{_at(TITLE)}" font-weight="600">'
        f"{escape(clean(cells.sieve))}</text>"
    ]
    for line in _broken(cells.question, width):
        y = MARGIN + TITLE + LINE * len(lines)
        lines.append(f'<text x="{_at(MARGIN)}" y="{_at(y)}" fill="{SOFT}">{escape(line)}</text>')
    return lines


def _broken(text: str, width: float) -> list[str]:
    """Return text in lines no wider than a width, broken between words."""
    lines: list[str] = []
    for word in clean(text).split():
        if lines and width_of(f"{lines[-1]} {word}", SIZE) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _tokens(cells: SieveCells, pieces: list[str], left: float, top: float) -> list[str]:
    """Return the tokens as labels of rows and of columns."""
    parts = []
    for place, piece in enumerate(pieces):
        y = top + CELL * (place + 0.5) + SIZE / 3
        tone = "" if cells.asking[place] else f' fill="{SOFT}" fill-opacity="0.75"'
        parts.append(f'<text x="{_at(left - 6)}" y="{_at(y)}" text-anchor="end"{tone}>{escape(piece)}</text>')
        x = left + CELL * (place + 0.5) + SIZE / 3
        tone = "" if cells.counted[:, place].any() else f' fill="{SOFT}" fill-opacity="0.75"'
        parts.append(
            f'<text transform="translate({_at(x)} {_at(top - 6)}) rotate(-90)"{tone}>{escape(piece)}</text>'
        )
    return parts


def _cells(cells: SieveCells, pieces: list[str], left: float, top: float) -> list[str]:
    """Return the frame, the compared cells as runs within rows, and the counted cells."""
    side = CELL * len(pieces)
    parts = [
        f'<rect x="{_at(left)}" y="{_at(top)}" width="{_at(side)}" height="{_at(side)}" fill="none" '
        f'stroke="{EDGE_TONE}"/>'
    ]
    for row, inside in enumerate(cells.compared):
        ends = np.flatnonzero(np.diff(inside.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
        for start, stop in ends.tolist():
            parts.append(
                f'<rect x="{_at(left + CELL * start)}" y="{_at(top + CELL * row + 0.5)}" '
                f'width="{_at(CELL * (stop - start))}" height="{_at(CELL - 1)}" fill="{COMPARED}"/>'
            )
    most = float(cells.weight[cells.counted].max(initial=0.0)) or 1.0
    for row, column in np.argwhere(cells.counted).tolist():
        weight = float(cells.weight[row, column])
        opacity = FAINTEST + (1 - FAINTEST) * max(weight, 0.0) / most
        parts.append(
            f'<rect x="{_at(left + CELL * column + 1)}" y="{_at(top + CELL * row + 1)}" '
            f'width="{_at(CELL - 2)}" height="{_at(CELL - 2)}" rx="2" fill="{COUNTED}" '
            f'fill-opacity="{opacity:.2f}"><title>{escape(isolate(pieces[row]))} to '
            f"{escape(isolate(pieces[column]))}, weight {weight:.3g}</title></rect>"
        )
    return parts


def _legend(cells: SieveCells, across: float, y: float) -> list[str]:
    """Return what the colours mean, and the notes, line by line."""
    entries = [
        (COUNTED, "counted: the stronger, the more weight in the score"),
        (COMPARED, "compared within"),
    ]
    lines: list[str] = []
    if cells.counted.any():
        for tone, words in entries:
            lines.append(
                f'<rect x="{_at(MARGIN)}" y="{_at(y + LINE * len(lines) - 10)}" width="12" height="12" '
                f'rx="2" fill="{tone}"/><text x="{_at(MARGIN + 18)}" y="{_at(y + LINE * len(lines))}">'
                f"{words}</text>"
            )
    for note in cells.notes:
        for line in _broken(note, across - 2 * MARGIN):
            lines.append(
                f'<text x="{_at(MARGIN)}" y="{_at(y + LINE * len(lines))}" fill="{SOFT}">'
                f"{escape(line)}</text>"
            )
    return lines


def _at(value: float) -> str:
    """Return a coordinate as text."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
