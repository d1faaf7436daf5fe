"""Static pictures of attention as SVG of real text: lines, heat maps and shaded texts.

``draw`` writes every element, ``Panel`` is a picture, and ``join_panels`` puts pictures next to each other.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from jaxtyping import Float

from headroles.errors import BadInput, UnknownName
from headroles.records.example import Example
from headroles.records.numbers import isolate, join_names
from headroles.records.view import CROSS, DECODER, ENCODER, Maps
from headroles.reports.words import visible_pieces
from headroles.storage.integrity.origin import SVG_MARK

FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
INK, SOFT, RULE = "#1c2025", "#565e67", "#d5dae0"
TONES = ("#0063a8", "#b5480a", "#00755a", "#9b3e85", "#806000", "#147488", "#a3243b", "#57606b")
"""Colours of heads: the report's on a light ground."""
DASHES = ("", "6 2", "2 2", "8 2 2 2", "1 3", "12 3")
"""Dash patterns that distinguish heads of one colour."""
EDGE, SIZE, ROW = 8.0, 11.0, 17.0
"""Margin of a picture, size of its letters, and height of a row, in px."""
BETWEEN, WIDEST = 14.0, 1200.0
"""Space between two pictures, and the width that a row of several fills before the next begins, in px."""
MOST, MOST_CELLS, MOST_NAMED = 64, 128, 8
"""Most pictures in an SVG, most tokens of a side of a heat map, and most tokens that an error names."""
GAP, SWATCH = 190.0, 22.0
"""Width between the two columns of tokens, and of a line in the legend, in px."""
CELL, ACROSS, LINE = 13.0, 340.0, 21.0
"""Side of a cell of a heat map; width of a text, and height of its lines, in px."""
FAINTEST, STRONGEST = 0.01, 0.85
"""Least weight that draws a line; opacity of the token with most attention in a text, still readable."""
LONGEST = 28
"""Letters of a token that are shown."""
COLUMNS = ("attending", "attended to")
SNUG = 0.92
"""Width of letters by the estimate, which is rather too large."""
FORMS, LEVELS = ("lines", "heat", "text"), ("pieces", "words")
KINDS = {ENCODER: "Encoder attention", DECODER: "Decoder attention", CROSS: "Cross attention"}
"""Attention of an encoder-decoder in words."""
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML may hold."""


def clean(text: str) -> str:
    r"""Return text without characters that XML forbids, and in one line.

    Example:
        >>> clean("a\x00b\nc")
        'a�b c'
    """
    return re.sub(r"[\t\n\r]", " ", FORBIDDEN.sub("\ufffd", text))


def shorten(text: str, longest: int) -> str:
    """Return clean text, its end left out where it is long; a dot where there is nothing to see.

    Example:
        >>> shorten("antidisestablishment", 5), shorten("", 5)
        ('antid…', '·')
    """
    whole = clean(text[: longest + 1])
    return whole[:longest] + "…" if len(whole) > longest else whole if whole.strip() else "·"


def width_of(text: str, size: float = SIZE) -> float:
    """Return the estimated width of text in the unit of ``size``, whatever the font; rather too large.

    Example:
        >>> width_of("abc", 10.0) < width_of("語語", 10.0) < width_of("abcdef", 10.0)
        True
    """
    wide = 0.0
    for letter in text:
        if unicodedata.category(letter) not in ("Mn", "Me", "Cf"):
            ideograph = unicodedata.east_asian_width(letter) in "WF"  # and emoji
            wide += 1.05 if ideograph or letter in "mwMW@%—" else 0.62
    return wide * size


def draw(tag: str, inside: str | None = None, **attributes: float | str) -> str:
    """Return an element; attributes that are "" are left out, and floats have two decimals at most.

    Args:
        tag: Name of the element.
        inside: Its content as markup; None for none.
        attributes: With ``_`` for ``-``.

    Example:
        >>> draw("rect", x=0.126, width=1.0, fill="", fill_opacity="0.50")
        '<rect x="0.13" width="1" fill-opacity="0.50"/>'
    """
    listed = "".join(
        f" {name.replace('_', '-')}={quoteattr(at(value) if isinstance(value, float) else str(value))}"
        for name, value in attributes.items()
        if value != ""
    )
    return f"<{tag}{listed}/>" if inside is None else f"<{tag}{listed}>{inside}</{tag}>"


def group(parts: Iterable[str], tag: str = "g", **attributes: float | str) -> str:
    """Return an element around others, each on a line."""
    return draw(tag, "\n".join(["", *parts, ""]), **attributes)


def at(value: float) -> str:
    """Return a coordinate as text.

    Example:
        >>> at(1.0), at(0.126)
        ('1', '0.13')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")


def write(x: float, y: float, words: str, **attributes: float | str) -> str:
    """Return a line of text at a place."""
    return draw("text", escape(words), x=x, y=y, **attributes)


def heading(title: str, *lines: str, fill: str = "") -> list[str]:
    """Return the lines above a picture: its title in bold, and what follows in grey."""
    rows = [write(EDGE, EDGE + ROW * (place + 1) + SIZE, line, fill=SOFT) for place, line in enumerate(lines)]
    return [write(EDGE, EDGE + SIZE, title, font_weight="600", fill=fill), *rows]


def cell_label(
    word: str, place: int, field: tuple[float, float, float, float], *, upright: bool = False, **look: str
) -> str:
    """Return the name of a row of cells, left of them, or of a column, upright above them.

    ``field`` has the left and upper end of the cells, the side of a cell, and the distance of names.
    """
    left, top, cell, away = field
    along = cell * (place + 0.5) + SIZE / 3
    if upright:
        turned = f"translate({at(left + along)} {at(top - away)}) rotate(-90)"
        return draw("text", escape(word), transform=turned, **look)
    return write(left - away, top + along, word, text_anchor="end", **look)


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
    parts: Sequence[str]
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
        return whole_svg(panels[0], width)
    parts: list[str] = []
    across, y = 0.0, 0.0
    for caption, row in rows:
        if caption:
            parts.append(write(EDGE, y + EDGE + SIZE, clean(caption)))
            across = max(across, 2 * EDGE + width_of(caption))
            y += EDGE + ROW
        x, tall = 0.0, 0.0
        for panel in row:
            if x and x + panel.across > widest:
                x, y, tall = 0.0, y + tall + BETWEEN, 0.0
            parts.append(group(panel.parts, transform=f"translate({at(x)} {at(y)})"))
            across, tall = max(across, x + panel.across), max(tall, panel.down)
            x += panel.across + BETWEEN
        y += tall + BETWEEN
    title = "; ".join(dict.fromkeys(panel.title for panel in panels))
    words = " ".join(dict.fromkeys(panel.description for panel in panels))
    return whole_svg(Panel(across, y - BETWEEN, parts, title, words), width)


def whole_svg(panel: Panel, width: str = "") -> str:
    """Return a picture as the text of a file, with title and description.

    Args:
        panel: The picture.
        width: Such as "89mm" or "640px"; "" for its width in px. The height follows.

    Raises:
        BadInput: For an invalid width.
    """
    across, down = at(panel.across), at(panel.down)
    wide, high = f"{across}px", f"{down}px"
    if width:
        match = re.fullmatch(r"(\d{1,5}(?:\.\d{1,3})?)(mm|px)", width)
        if match is None or not float(match[1]):
            raise BadInput(
                f"a width is a number above 0 with its unit, such as 89mm or 640px, but got {width!r}"
            )
        wide, high = width, f"{at(float(match[1]) * panel.down / panel.across)}{match[2]}"
    inside = [
        draw("title", escape(clean(panel.title))),
        draw("desc", escape(clean(panel.description))),
        SVG_MARK,
        draw("rect", width=across, height=down, fill="#ffffff"),
        *panel.parts,
    ]
    whole = group(
        inside, "svg", xmlns="http://www.w3.org/2000/svg", width=wide, height=high,
        viewBox=f"0 0 {across} {down}", role="img", font_family=FONTS, font_size=SIZE, fill=INK,
    )  # fmt: skip
    return f"{whole}\n"


@dataclass(frozen=True, slots=True)
class Unit:
    """A row of the picture: a token, or all tokens of a word.

    Attributes:
        text: As it is shown, cut where it is long.
        places: Its tokens.
        special: Whether a tokenizer added it.
    """

    text: str
    places: tuple[int, ...]
    special: bool

    @property
    def fill(self) -> str:
        """Return the colour of its text; "" for the usual one."""
        return SOFT if self.special else ""


Weights = Float[np.ndarray, "rows columns"]
Sides = Sequence[Sequence[Unit]]
"""Tokens that attend, and tokens attended to."""


def units_of(example: Example, level: str, specials: bool, sink: bool) -> list[Unit]:
    """Return the rows that an example's tokens make, as the pages' script makes them.

    Example:
        >>> example = Example("note", ("rain", "##s", "!"), word=np.array([0, 0, 1]))
        >>> [unit.text for unit in units_of(example, "words", True, True)]
        ['rains', '!']
    """
    units: list[tuple[str, tuple[int, ...], int]] = []
    for place, piece in enumerate(visible_pieces(example)):
        special, word = bool(example.special[place]), int(example.word[place])
        if (special and not specials) or (place == 0 and not sink):
            continue
        words = level == "words" and word >= 0 and not special
        text = re.sub("^(##|▁)(?=.)", "", piece, flags=re.DOTALL) if words else piece
        if words and units and units[-1][2] == word:
            units[-1] = (units[-1][0] + text, (*units[-1][1], place), word)
        else:
            units.append((text, (place,), word if words else -1))
    return [
        Unit(shorten(text, LONGEST), places, bool(example.special[places[0]])) for text, places, _ in units
    ]


def values_of(
    weights: Float[np.ndarray, "heads queries keys"], sides: Sides
) -> Float[np.ndarray, "heads rows columns"]:
    """Return weights between units: summed over pieces attended to, averaged over pieces that attend."""
    members = [np.zeros((len(units), tokens)) for units, tokens in zip(sides, weights.shape[1:], strict=True)]
    for own, units in zip(members, sides, strict=True):
        for row, unit in enumerate(units):
            own[row, list(unit.places)] = 1.0
    attending, attended = members
    values: np.ndarray = attending @ weights @ attended.T / attending.sum(axis=1)[:, None]
    return values


def strongest_pair(values: Weights, sides: Sides) -> str:
    """Return the pair with the largest weight, and the weight."""
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    pair = f"“{isolate(sides[0][int(row)].text)}” to “{isolate(sides[1][int(column)].text)}”"
    return f"{pair}, {values[row, column]:.2f}."


def view_svg(
    maps: Sequence[Maps],
    layers: Sequence[int],
    heads: Sequence[int],
    *,
    captions: Sequence[str] = (),
    form: str = "lines",
    token: str | None = None,
    level: str = "pieces",
    specials: bool = True,
    sink: bool = True,
    width: str = "",
) -> str:
    """Draw some heads, in a row of pictures for every input and layer.

    As lines, a picture has all heads of a layer: lines go from every token (left) to the tokens it attends to
    (right), as strong as the weight. Heads differ in colour, and above eight of them also in dashes; lines of
    one pair lie side by side. As heat maps and texts, every head has a picture of its own.

    Args:
        maps: Attention of one kind, of each input.
        layers: Some of the layers of the maps.
        heads: Some of the heads of the maps, in the order of the legend.
        captions: A line above the pictures of each input; () for none.
        form: One of ``FORMS``.
        token: With "text", the token whose attention is shown, by number or itself; None for the mean of the
            tokens that attend.
        level: "pieces", or "words": weights summed over the pieces of a word attended to and averaged
            over the pieces that attend (Clark et al. 2019).
        specials: Whether special tokens are shown. Other weights stay as they are without them.
        sink: Whether the first token is shown.
        width: Such as "89mm" or "640px"; "" for the natural width in px. The height follows.

    Returns:
        An SVG of real text in fonts of the system, the same for the same maps.

    Raises:
        BadInput: For a layer, head or token that is not among the maps, an invalid width, or more than an
            SVG can show.
        UnknownName: For another form or level.

    Example:
        >>> from headroles.records.example import Example
        >>> example = Example("note", ("it", "rains"))
        >>> weights = np.array([[255, 0], [102, 153]], dtype=np.uint8)[None, None]
        >>> view_svg([Maps("self", (0,), (3,), example, example, weights)], [0], [3]).count("<line ")
        3
    """
    for what, value, known in (("level", level, LEVELS), ("form of an SVG", form, FORMS)):
        if value not in known:
            raise UnknownName(what, value, known)
    if token is not None and form != "text":
        raise BadInput("a token is for the text with shaded tokens; choose the form text, or leave it out")
    rows: list[tuple[str, list[Panel]]] = []
    for place, own in enumerate(maps):
        sides = [units_of(example, level, specials, sink) for example in (own.queries, own.keys)]
        for layer in layers:
            caption = captions[place] if layer == layers[0] and captions else ""
            panels = _panels(own, layer, heads, sides, form, token)
            if form == "lines" and rows and not caption:  # a picture a layer: all of an input in one row
                rows[-1][1].extend(panels)
            else:
                rows.append((caption, panels))
    return join_panels(rows, width)


def _panels(
    maps: Maps, layer: int, heads: Sequence[int], sides: Sides, form: str, token: str | None
) -> list[Panel]:
    """Return the pictures of one layer; BadInput for a layer, head or token that the maps do not have."""
    for name, numbers, available in (("layer", [layer], maps.layers), ("head", heads, maps.heads)):
        unknown = [number for number in numbers if isinstance(number, bool) or number not in available]
        if unknown or not numbers:
            few = ", ".join(map(str, available[:12])) + ", …" * (len(available) > 12)
            raise BadInput(
                f"this view holds the {name}s {few}, but {name} {unknown[0] if unknown else 'none'} was "
                "given; choose among them, or read another view"
            )
    chosen = maps.weights[maps.layers.index(layer)][[maps.heads.index(head) for head in heads]]
    values = values_of(chosen / 255, sides)
    if form == "lines":
        return [_lines_panel(maps.kind, layer, heads, sides, values)]
    longest = max(map(len, sides))
    if form == "heat" and longest > MOST_CELLS:
        raise BadInput(
            f"a heat map has up to {MOST_CELLS} tokens on a side, but got {longest}; shorten the text, or "
            f"draw lines"
        )
    row = None if token is None else _row_of(token, sides[0])
    framed = sides[0][row].places if row is not None and maps.keys is maps.queries else None
    panels = []
    for head, own in zip(heads, values, strict=True):
        part = f"{KINDS[maps.kind].partition(' ')[0].lower()}, " if maps.kind in KINDS else ""
        title, tone = f"{part}layer {layer}, head {head}", TONES[maps.heads.index(head) % len(TONES)]
        if form == "text":
            panels.append(_text_panel(title, tone, sides, own, row, framed))
        else:
            panel = _heat_panel(title, tone, sides, own)
            best = f"Strongest in head {head}: {strongest_pair(own, sides)}" if own.size else ""
            panels.append(replace(panel, description=f"{panel.description} {best}"))
    return panels


def _lines_panel(
    kind: str,
    layer: int,
    heads: Sequence[int],
    sides: Sides,
    values: Float[np.ndarray, "heads rows columns"],
) -> Panel:
    """Return the lines of a layer with their tokens, their legend, and each head's strongest pair."""
    whose = {CROSS: ("decoder, ", "encoder, "), ENCODER: ("encoder, ",) * 2, DECODER: ("decoder, ",) * 2}
    titles = [first + does for first, does in zip(whose.get(kind, ("", "")), COLUMNS, strict=True)]
    left, right = (
        max(map(width_of, [*(unit.text for unit in units), title]))
        for units, title in zip(sides, titles, strict=True)
    )
    start, stop = EDGE + left, EDGE + left + GAP
    across = 2 * EDGE + left + GAP + right
    parts = [write(EDGE, EDGE + SIZE, f"layer {layer}", font_weight="600")]
    tones = [TONES[place % len(TONES)] for place in range(len(heads))]
    dashes = [DASHES[place // len(TONES) % len(DASHES)] for place in range(len(heads))]
    x, y = EDGE + width_of(f"layer {layer}") + 10, EDGE + SIZE
    for head, tone, dash in zip(heads, tones, dashes, strict=True):
        wide = SWATCH + 5 + width_of(f"head {head}") + 8
        if x + wide > across - EDGE and x > EDGE:
            x, y = EDGE, y + ROW
        swatch = f"M{at(x)} {at(y - SIZE / 3)}h{at(SWATCH)}"
        line = draw("path", d=swatch, stroke=tone, stroke_width=2.5, stroke_dasharray=dash)
        parts.append(line + write(x + SWATCH + 5, y, f"head {head}"))
        x += wide
    top = y + ROW / 2
    for name, units, x, anchor in zip(titles, sides, (start, stop), ("end", "start"), strict=True):
        parts.append(token_column(name, units, x, top, anchor))
    words = [
        f"Lines go from {len(sides[0])} tokens on the left to the {len(sides[1])} they attend to on the "
        f"right; opacity is the weight, and weights under {FAINTEST} draw no line."
    ]
    for place, (head, own) in enumerate(zip(heads, values, strict=True)):
        shift = (place - (len(heads) - 1) / 2) * min(2.4, ROW * 0.7 / len(heads))  # above or below others
        frame = (start + 5, stop - 5, top + ROW + shift)
        parts.append(line_group(f"head {head}", own, frame, tones[place], dashes[place]))
        words += [f"Strongest in head {head}: {strongest_pair(own, sides)}"] if own.size else []
    numbers = ("heads " if len(heads) > 1 else "head ") + ", ".join(map(str, heads))
    title = f"{KINDS.get(kind, 'Attention')} of layer {layer}, {numbers}"
    return Panel(across, top + ROW * (1 + max(map(len, sides))) + EDGE, parts, title, " ".join(words))


def token_column(
    title: str,
    units: Sequence[Unit],
    x: float,
    top: float,
    anchor: str,
    marked: Collection[int] = (),
    fill: str = "",
) -> str:
    """Return tokens below each other and their title; those at the marked places have a colour."""
    parts = [write(x, top + ROW * 0.7, title, fill=SOFT)]
    for place, unit in enumerate(units):
        y = top + ROW * (place + 1) + ROW * 0.5 + SIZE / 3
        parts.append(write(x, y, unit.text, fill=fill if place in marked else unit.fill))
    return group(parts, text_anchor=anchor)


def line_group(
    name: str, values: Weights, frame: tuple[float, float, float], colour: str, dash: str = ""
) -> str:
    """Return lines between two columns of tokens, as strong as their weights, the faint ones first.

    ``frame`` says where lines start and stop, and where the first token has its upper end.
    """
    start, stop, top = frame
    rows, columns = np.nonzero(values >= FAINTEST)
    order = np.argsort(values[rows, columns], kind="stable")
    ends = top + ROW * (np.stack([rows, columns], axis=1)[order] + 0.5)
    lines = [
        draw("line", x1=start, y1=from_y, x2=stop, y2=to_y, stroke_opacity=f"{min(value, 1):.3f}")
        for (from_y, to_y), value in zip(ends.tolist(), values[rows, columns][order].tolist(), strict=True)
    ]
    look = {"role": "group", "aria_label": name, "stroke": colour, "stroke_width": "1.5"}
    return group(lines, **look, stroke_dasharray=dash)


def _heat_panel(title: str, tone: str, sides: Sides, values: Weights) -> Panel:
    """Return a heat map: queries as rows, keys as columns, opacity is the weight."""
    rows, columns = sides
    corner = "attending ↓ attended to →"
    label, above = (max((width_of(unit.text) for unit in units), default=0.0) + 6 for units in sides)
    left, top = EDGE + label, EDGE + 2 * ROW + above
    wide, tall = CELL * len(columns), CELL * len(rows)
    across = max(left + wide + EDGE, 2 * EDGE + max(width_of(title), width_of(corner)))
    field = (left, top, CELL, 5.0)
    names = [
        cell_label(unit.text, place, field, upright=upright, fill=unit.fill)
        for upright, units in ((False, rows), (True, columns))
        for place, unit in enumerate(units)
    ]
    cells = [
        draw(
            "rect", x=left + CELL * column + 0.5, y=top + CELL * row + 0.5, width=CELL - 1, height=CELL - 1,
            fill_opacity=f"{min(values[row, column], 1):.3f}",
        )
        for row, column in np.argwhere(values >= 0.5 / 255).tolist()
    ]  # fmt: skip
    edge = draw("rect", x=left, y=top, width=wide, height=tall, fill="none", stroke=RULE)
    parts = [*heading(title, corner), *names, edge, group(cells, fill=tone)]
    words = "A row is a token that attends, a column a token attended to; opacity is the weight."
    return Panel(across, top + tall + EDGE, parts, title, words)


def _text_panel(
    title: str,
    tone: str,
    sides: Sides,
    values: Weights,
    row: int | None,
    framed: tuple[int, ...] | None,
) -> Panel:
    """Return the text attended to, shaded by the attention from a row, or from all; one token is framed."""
    rows, columns = sides
    got = np.zeros(0)
    if rows:
        got = values.mean(axis=0) if row is None else values[row]
    most = float(got.max(initial=0.0))
    whose = "attention that each token gets" if row is None else f"attention from “{isolate(rows[row].text)}”"
    parts = heading(title, whose)
    x, y = EDGE, EDGE + 2 * ROW
    for place, unit in enumerate(columns):
        text, goes_on = _plain(unit.text), unit.text.startswith("##") and not unit.special
        wide = width_of(text, SIZE + 2) * SNUG + 4
        gap = 4.0 if place and not goes_on else 0.0
        if x + gap + wide > EDGE + ACROSS and x > EDGE:
            x, y, gap = EDGE, y + LINE, 0.0
        x += gap
        opacity = STRONGEST * float(got[place]) / most if most > 0 else 0.0
        shade = draw(
            "rect", x=x, y=y, width=wide, height=LINE - 4, rx="2", fill=tone, fill_opacity=f"{opacity:.3f}",
            stroke=INK if unit.places == framed else "",
        )  # fmt: skip
        letters = unit.fill if opacity < 0.3 else "#ffffff" if opacity > 0.75 else ""
        middle = {"text_anchor": "middle", "font_size": at(SIZE + 2), "fill": letters}
        parts.append(shade + write(x + wide / 2, y + SIZE + 1.5, text, **middle))
        x += wide
    y += LINE + ROW - 4
    parts.append(write(EDGE, y, f"full colour: {most:.2f} of the attention", fill=SOFT))
    best = (
        f"Most on “{isolate(columns[int(got.argmax())].text)}”, {most:.2f}." if most > 0 else "No attention."
    )
    return Panel(2 * EDGE + ACROSS, y + EDGE, parts, title, f"The text, shaded by the {whose}. {best}")


def _row_of(token: str, units: Sequence[Unit]) -> int:
    """Return the row of a token that attends.

    Args:
        token: Number of a token of the input, from 0, or the text of a token or word.
        units: The rows.

    Raises:
        BadInput: When no row holds it.

    Example:
        >>> _row_of("rains", [Unit("it", (0,), False), Unit("Rains", (1, 2), False)])
        1
    """
    exact = [place for place, unit in enumerate(units) if unit.text == token]
    bare = _plain(token).casefold()
    alike = [place for place, unit in enumerate(units) if _plain(unit.text).casefold() == bare]
    number = int(token) if token.isdecimal() and len(token) < 10 else -1
    for place in (*exact, *alike, *(place for place, unit in enumerate(units) if number in unit.places)):
        return place
    shown = join_names([repr(unit.text) for unit in units[:MOST_NAMED]])
    more = f" and {len(units) - MOST_NAMED} more" if len(units) > MOST_NAMED else ""
    raise BadInput(
        f"a token is one of those shown, by its number from 0 or itself, but got {token!r}; the text has "
        f"{shown}{more}"
    )


def _plain(text: str) -> str:
    """Return a piece without the sign of its place in a word, unless it is nothing else."""
    return text.removeprefix("##").removeprefix("▁") or text
