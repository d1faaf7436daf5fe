"""What a sieve counts on one input as a static picture: queries as rows, keys as columns."""

from xml.sax.saxutils import escape

import numpy as np

from headroles.errors import BadInput
from headroles.plans.cells import SieveCells
from headroles.records.numbers import isolate, plural
from headroles.reports import pictures
from headroles.reports.words import visible_pieces

LEGEND = {
    pictures.TONES[0]: "counted: the stronger, the more weight in the score",
    "#e3e8ee": "compared within",
}  # fmt: skip
"""Colours of cells, and what they mean."""
CELL, MARGIN, TITLE, LINE, NARROWEST = 16.0, 12.0, 13.0, 17.0, 520.0
"""Side of a cell, margin of the picture, size of its title, height of a line, and least width, in px."""
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
    pieces = [pictures.shorten(piece, LONGEST) for piece in visible_pieces(cells.example)]
    corner, side = "query ↓ key →", CELL * size
    label = max(map(pictures.width_of, (*pieces, corner))) + 6
    across = max(2 * MARGIN + label + side, NARROWEST)
    questions = _broken(cells.question, across)
    above = max(map(pictures.width_of, pieces))
    left, top = MARGIN + label, MARGIN + LINE * (len(questions) + 1.5) + above + 6
    (counted, blue), (compared, grey) = zip((cells.counted, cells.compared), LEGEND, strict=True)
    parts = [
        pictures.write(
            MARGIN, MARGIN + TITLE, pictures.clean(cells.sieve), font_size=TITLE, font_weight="600"
        )
    ]
    for number, line in enumerate(questions, start=1):
        parts.append(pictures.write(MARGIN, MARGIN + TITLE + LINE * number, line, fill=pictures.SOFT))
    parts.append(pictures.write(left - 6, top - 6, corner, text_anchor="end", fill=pictures.SOFT))
    for place, piece in enumerate(pieces):
        for upright, used in ((False, cells.asking[place]), (True, counted[:, place].any())):
            look = {} if used else {"fill": pictures.SOFT, "fill_opacity": "0.75"}
            parts.append(pictures.cell_label(piece, place, (left, top, CELL, 6.0), upright=upright, **look))
    parts.append(
        pictures.draw("rect", x=left, y=top, width=side, height=side, fill="none", stroke=pictures.RULE)
    )
    for row, inside in enumerate(compared):  # a rectangle for every run of cells in a row
        ends = np.flatnonzero(np.diff(inside.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
        y = top + CELL * row + 0.5
        for start, stop in ends.tolist():
            wide = CELL * (stop - start)
            parts.append(
                pictures.draw("rect", x=left + CELL * start, y=y, width=wide, height=CELL - 1, fill=grey)
            )
    most = float(cells.weight[counted].max(initial=0.0)) or 1.0
    for row, column in np.argwhere(counted).tolist():
        weight = float(cells.weight[row, column])
        opacity = FAINTEST + (1 - FAINTEST) * max(weight, 0.0) / most
        words = f"{isolate(pieces[row])} to {isolate(pieces[column])}, weight {weight:.3g}"
        parts.append(pictures.draw(
            "rect", pictures.draw("title", escape(words)), x=left + CELL * column + 1, y=top + CELL * row + 1,
            width=CELL - 2, height=CELL - 2, rx="2", fill=blue, fill_opacity=f"{opacity:.2f}",
        ))  # fmt: skip
    y = top + side + LINE
    for tone, words in LEGEND.items() if counted.any() else ():
        swatch = pictures.draw("rect", x=MARGIN, y=y - 10, width="12", height="12", rx="2", fill=tone)
        parts.append(swatch + pictures.write(MARGIN + 18, y, words))
        y += LINE
    for note in cells.notes:
        for line in _broken(note, across):
            parts.append(pictures.write(MARGIN, y, line, fill=pictures.SOFT))
            y += LINE
    title, sentences = describe_cells(cells)
    return pictures.whole_svg(pictures.Panel(across, y + MARGIN, parts, title, " ".join(sentences)))


def describe_cells(cells: SieveCells) -> tuple[str, list[str]]:
    """Return a title, and a description: the number of cells, where there are some, and the notes."""
    title = f"What the sieve {isolate(cells.sieve)} counts"
    counted, compared = int(cells.counted.sum()), int(cells.compared.sum())
    queries = f"{int(cells.asking.sum())} of {plural(cells.example.size, 'token')} count as queries"
    numbers = [f"{queries}; {plural(counted, 'cell')} count, of {compared:,} compared."] if counted else []
    return title, [*numbers, *cells.notes]


def _broken(text: str, across: float) -> list[str]:
    """Return text in lines that fit into a picture, broken between words."""
    lines: list[str] = []
    for word in pictures.clean(text).split():
        if lines and pictures.width_of(f"{lines[-1]} {word}") <= across - 2 * MARGIN:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
