"""Attention of some heads as one SVG: lines between tokens, heat maps, or texts with shaded tokens."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from jaxtyping import Float

from headroles.errors import BadInput, UnknownName
from headroles.records.numbers import isolate
from headroles.records.view import CROSS, DECODER, ENCODER, Maps
from headroles.reports.views.panels import EDGE, KINDS, ROW, SIZE, SOFT, TONES, Panel, at, join_panels
from headroles.reports.views.shades import heat_panel, text_panel
from headroles.reports.views.units import Unit, units_of, values_of, width_of

DASHES = ("", "6 2", "2 2", "8 2 2 2", "1 3", "12 3")
"""Dash patterns that distinguish heads of one colour."""
FAINTEST = 0.01
"""Weights below this draw no line."""
LEVELS = ("pieces", "words")
NONE: Mapping[int, str] = MappingProxyType({})
"""Colours of no token."""
FORMS = ("lines", "heat", "text")
GAP, SWATCH = 190.0, 22.0
"""Width between the two columns of tokens, and of a line in the legend, in px."""
MOST_CELLS = 128
"""Most tokens of a side of a heat map."""


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
            rows.append((caption, _row(own, layer, heads, sides, form, token)))
    return join_panels(_in_one_row(rows) if form == "lines" else rows, width)


def _in_one_row(rows: list[tuple[str, list[Panel]]]) -> list[tuple[str, list[Panel]]]:
    """Return the pictures of each input in one row, because lines of a layer are one picture."""
    joined: list[tuple[str, list[Panel]]] = []
    for caption, panels in rows:
        if caption or not joined:
            joined.append((caption, list(panels)))
        else:
            joined[-1][1].extend(panels)
    return joined


def _row(
    maps: Maps, layer: int, heads: Sequence[int], sides: list[list[Unit]], form: str, token: str | None
) -> list[Panel]:
    """Return the pictures of one layer.

    Raises:
        BadInput: For a layer, head or token that the maps do not have, or a heat map of too many tokens.
    """
    _check(maps, layer, heads)
    chosen = maps.weights[maps.layers.index(layer)][[maps.heads.index(head) for head in heads]]
    values = values_of(chosen / 255, *sides)
    if form == "lines":
        return [_lines_panel(maps.kind, layer, heads, sides, values)]
    if form == "text":
        return [
            text_panel(maps, layer, head, sides, own, token) for head, own in zip(heads, values, strict=True)
        ]
    if max(map(len, sides)) > MOST_CELLS:
        raise BadInput(
            f"a heat map has up to {MOST_CELLS} tokens on a side, but got {max(map(len, sides))}; shorten "
            f"the text, or draw lines"
        )
    return [heat_panel(maps, layer, head, sides, own) for head, own in zip(heads, values, strict=True)]


def _check(maps: Maps, layer: int, heads: Sequence[int]) -> None:
    """Check that there is a map of every layer and head."""
    for name, numbers, available in (("layer", [layer], maps.layers), ("head", heads, maps.heads)):
        unknown = [number for number in numbers if isinstance(number, bool) or number not in available]
        if unknown or not numbers:
            few = ", ".join(map(str, available[:12])) + ", …" * (len(available) > 12)
            raise BadInput(
                f"this view holds the {name}s {few}, but {name} {unknown[0] if unknown else 'none'} was "
                "given; choose among them, or read another view"
            )


def _lines_panel(
    kind: str,
    layer: int,
    heads: Sequence[int],
    sides: list[list[Unit]],
    values: Float[np.ndarray, "heads rows columns"],
) -> Panel:
    """Return the lines of a layer with their tokens and their legend."""
    names = {CROSS: ("decoder", "encoder"), ENCODER: ("encoder",) * 2, DECODER: ("decoder",) * 2}.get(kind)
    titles = tuple(
        f"{name}, {does}" if name else does
        for name, does in zip(names or ("", ""), COLUMN_TITLES, strict=True)
    )
    left, right = (
        max([width_of(unit.text, SIZE) for unit in units] + [width_of(title, SIZE)])
        for units, title in zip(sides, titles, strict=True)
    )
    across = 2 * EDGE + left + GAP + right
    legend, top = _legend(layer, heads, across)
    start, stop = EDGE + left, EDGE + left + GAP
    down = top + ROW * (1 + max(map(len, sides))) + EDGE
    parts = [
        *legend,
        *token_column(titles[0], sides[0], start, top, "end"),
        *token_column(titles[1], sides[1], stop, top, "start"),
    ]
    for place, head in enumerate(heads):
        parts += _lines(head, place, values[place], len(heads), (start + 5, stop - 5, top + ROW))
    return Panel(across, down, tuple(parts), *_description(kind, layer, heads, sides, values))


COLUMN_TITLES = ("attending", "attended to")


def _legend(layer: int, heads: Sequence[int], across: float) -> tuple[list[str], float]:
    """Return layer and heads in rows no wider than the picture, and where the rows end."""
    parts = [f'<text x="{at(EDGE)}" y="{at(EDGE + SIZE)}" font-weight="600">layer {layer}</text>']
    x, y = EDGE + width_of(f"layer {layer}", SIZE) + 10, EDGE + SIZE
    for place, head in enumerate(heads):
        wide = SWATCH + 5 + width_of(f"head {head}", SIZE) + 8
        if x + wide > across - EDGE and x > EDGE:
            x, y = EDGE, y + ROW
        parts.append(
            f'<path d="M{at(x)} {at(y - SIZE / 3)}h{at(SWATCH)}" stroke="{_tone(place)}" '
            f'stroke-width="2.5"{_dash(place)}/>'
            f'<text x="{at(x + SWATCH + 5)}" y="{at(y)}">head {head}</text>'
        )
        x += wide
    return parts, y + ROW / 2


def token_column(
    title: str, units: list[Unit], x: float, top: float, anchor: str, colours: Mapping[int, str] = NONE
) -> list[str]:
    """Return tokens below each other, one per line, with their title.

    Args:
        title: Above the tokens.
        units: The tokens.
        x: Where they start or end.
        top: Upper end of the title.
        anchor: "start" or "end".
        colours: Of some tokens, by their places; others have the usual one.
    """
    parts = [f'<g text-anchor="{anchor}">']
    parts.append(f'<text x="{at(x)}" y="{at(top + ROW * 0.7)}" fill="{SOFT}">{title}</text>')
    for place, unit in enumerate(units):
        own = colours.get(place, SOFT if unit.special else "")
        colour = f' fill="{own}"' if own else ""
        y = top + ROW * (place + 1) + ROW * 0.5 + SIZE / 3
        parts.append(f'<text x="{at(x)}" y="{at(y)}"{colour}>{escape(unit.text)}</text>')
    return [*parts, "</g>"]


def _lines(
    head: int,
    place: int,
    values: Float[np.ndarray, "rows columns"],
    heads: int,
    frame: tuple[float, float, float],
) -> list[str]:
    """Return one head's lines, the faint ones first; each head a little above or below the others."""
    start, stop, top = frame
    shift = (place - (heads - 1) / 2) * min(2.4, ROW * 0.7 / heads)
    return line_group(f"head {head}", values, (start, stop, top + shift), _tone(place), _dash(place))


def line_group(
    name: str,
    values: Float[np.ndarray, "rows columns"],
    frame: tuple[float, float, float],
    colour: str,
    dash: str = "",
) -> list[str]:
    """Return lines between two columns of tokens, as strong as their weights, the faint ones first.

    Args:
        name: Of the group of lines.
        values: Weights, from 0 to 1; those below ``FAINTEST`` draw no line.
        frame: Where lines start and stop, and the upper end of the first token.
        colour: Of all lines.
        dash: Attribute of their dashes; "" for none.
    """
    start, stop, top = frame
    rows, columns = np.nonzero(values >= FAINTEST)
    order = np.argsort(values[rows, columns], kind="stable")
    ends = top + ROW * (np.stack([rows, columns], axis=1)[order] + 0.5)
    parts = [f'<g role="group" aria-label={quoteattr(name)} stroke="{colour}" stroke-width="1.5"{dash}>']
    for (start_y, stop_y), value in zip(ends.tolist(), values[rows, columns][order].tolist(), strict=True):
        parts.append(
            f'<line x1="{at(start)}" y1="{at(start_y)}" x2="{at(stop)}" y2="{at(stop_y)}" '
            f'stroke-opacity="{min(value, 1):.3f}"/>'
        )
    return [*parts, "</g>"]


def _description(
    kind: str,
    layer: int,
    heads: Sequence[int],
    sides: list[list[Unit]],
    values: Float[np.ndarray, "heads rows columns"],
) -> tuple[str, str]:
    """Return the title, and a description with each head's strongest pair."""
    heads_text = ("heads " if len(heads) > 1 else "head ") + ", ".join(map(str, heads))
    title = f"{KINDS.get(kind, 'Attention')} of layer {layer}, {heads_text}"
    words = [
        f"Lines go from {len(sides[0])} tokens on the left to the {len(sides[1])} they attend to on the "
        f"right; opacity is the weight, and weights under {FAINTEST} draw no line."
    ]
    for head, head_values in zip(heads, values, strict=True):
        if head_values.size:
            row, column = np.unravel_index(int(head_values.argmax()), head_values.shape)
            pair = f"“{isolate(sides[0][row].text)}” to “{isolate(sides[1][column].text)}”"
            words.append(f"Strongest in head {head}: {pair}, {head_values[row, column]:.2f}.")
    return title, " ".join(words)


def _tone(place: int) -> str:
    """Return the colour of a head."""
    return TONES[place % len(TONES)]


def _dash(place: int) -> str:
    """Return the dashes of a head."""
    dashes = DASHES[place // len(TONES) % len(DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""
