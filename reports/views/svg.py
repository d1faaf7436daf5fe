"""Attention of one layer as a static picture: lines between tokens, heads laid over each other."""

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from jaxtyping import Float

from headroles.errors import BadInput, UnknownName
from headroles.records.view import CROSS, DECODER, ENCODER, Maps
from headroles.reports.views.units import Unit, clean, units_of, values_of, width_of
from headroles.reports.words.words import isolate
from headroles.storage.integrity.origin import SVG_MARK

TONES = ("#0063a8", "#b5480a", "#00755a", "#9b3e85", "#806000", "#147488", "#a3243b", "#57606b")
"""Colours of heads: the report's on a light ground."""
DASHES = ("", "6 2", "2 2", "8 2 2 2", "1 3", "12 3")
"""Dash patterns that distinguish heads of one colour."""
INK, SOFT = "#1c2025", "#565e67"
FAINTEST = 0.01
"""Weights below this draw no line."""
LEVELS = ("pieces", "words")
ROW, GAP, EDGE, SIZE = 17.0, 190.0, 8.0, 11.0
"""Height of a token's row, width between the two columns, margins, and size of letters, in px."""
SWATCH = 22.0
FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


def view_svg(
    maps: Maps,
    layer: int,
    heads: Sequence[int],
    *,
    level: str = "pieces",
    specials: bool = True,
    sink: bool = True,
    width: str = "",
) -> str:
    """Draw lines from every token (left) to the tokens it attends to (right), as strong as the weight.

    Heads differ in colour, and above eight of them also in dashes; lines of one pair lie side by side.

    Args:
        maps: Attention of one kind.
        layer: One of ``maps.layers``.
        heads: Some of ``maps.heads``, in the order of the legend.
        level: "pieces", or "words": weights summed over the pieces of a word attended to and averaged
            over the pieces that attend (Clark et al. 2019).
        specials: Whether special tokens are shown. Other weights stay as they are without them.
        sink: Whether the first token is shown.
        width: Such as "89mm" or "640px"; "" for the natural width in px. The height follows.

    Returns:
        An SVG of real text in fonts of the system, the same for the same maps.

    Raises:
        BadInput: For a layer or head that is not among the maps, or an invalid width.
        UnknownName: For another level.

    Example:
        >>> from headroles.records.example import Example
        >>> example = Example("note", ("it", "rains"))
        >>> weights = np.array([[255, 0], [102, 153]], dtype=np.uint8)[None, None]
        >>> view_svg(Maps("self", (0,), (3,), example, example, weights), 0, [3]).count("<line ")
        3
    """
    if level not in LEVELS:
        raise UnknownName("level", level, LEVELS)
    _check(maps, layer, heads)
    sides = [units_of(example, level, specials, sink) for example in (maps.queries, maps.keys)]
    chosen = maps.weights[maps.layers.index(layer)][[maps.heads.index(head) for head in heads]]
    values = values_of(chosen / 255, *sides)
    return _drawing(maps.kind, layer, heads, sides, values, width)


def _check(maps: Maps, layer: int, heads: Sequence[int]) -> None:
    """Check that there is a map of every layer and head."""
    for name, numbers, available in (("layer", [layer], maps.layers), ("head", heads, maps.heads)):
        unknown = [number for number in numbers if isinstance(number, bool) or number not in available]
        if unknown or not numbers:
            few = ", ".join(map(str, available[:12])) + ", …" * (len(available) > 12)
            raise BadInput(
                f"this view holds the {name}s {few}, but {name} {unknown[0] if unknown else 'none'} was "
                f"asked for; choose among them, or read another view"
            )


def _drawing(
    kind: str,
    layer: int,
    heads: Sequence[int],
    sides: list[list[Unit]],
    values: Float[np.ndarray, "heads rows columns"],
    width: str,
) -> str:
    """Put all parts together."""
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
        *_column(titles[0], sides[0], start, top, "end"),
        *_column(titles[1], sides[1], stop, top, "start"),
    ]
    for place, head in enumerate(heads):
        parts += _lines(head, place, values[place], len(heads), (start + 5, stop - 5, top + ROW))
    texts = _description(kind, layer, heads, sides, values)
    return "\n".join([*_head(across, down, width, texts), *parts, "</svg>"]) + "\n"


COLUMN_TITLES = ("attending", "attended to")


def _head(across: float, down: float, width: str, texts: tuple[str, str]) -> list[str]:
    """Return the opening of the SVG: its size, title and description."""
    wide, high = _size(across, down, width)
    title, description = (escape(clean(text)) for text in texts)
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        f'viewBox="0 0 {_at(across)} {_at(down)}" role="img" '
        f'font-family="{FONTS}" font-size="{_at(SIZE)}" fill="{INK}">',
        f"<title>{title}</title>",
        f"<desc>{description}</desc>",
        SVG_MARK,
        f'<rect width="{_at(across)}" height="{_at(down)}" fill="#ffffff"/>',
    ]


def _size(across: float, down: float, width: str) -> tuple[str, str]:
    """Return width and height with their unit."""
    if not width:
        return f"{_at(across)}px", f"{_at(down)}px"
    match = re.fullmatch(r"(\d{1,5}(?:\.\d{1,3})?)(mm|px)", width)
    if match is None or not float(match[1]):
        raise BadInput(f"a width is a number above 0 with its unit, such as 89mm or 640px, but got {width!r}")
    return width, f"{_at(float(match[1]) * down / across)}{match[2]}"


def _legend(layer: int, heads: Sequence[int], across: float) -> tuple[list[str], float]:
    """Return layer and heads in rows no wider than the picture, and where the rows end."""
    parts = [f'<text x="{_at(EDGE)}" y="{_at(EDGE + SIZE)}" font-weight="600">layer {layer}</text>']
    x, y = EDGE + width_of(f"layer {layer}", SIZE) + 10, EDGE + SIZE
    for place, head in enumerate(heads):
        wide = SWATCH + 5 + width_of(f"head {head}", SIZE) + 8
        if x + wide > across - EDGE and x > EDGE:
            x, y = EDGE, y + ROW
        parts.append(
            f'<path d="M{_at(x)} {_at(y - SIZE / 3)}h{_at(SWATCH)}" stroke="{_tone(place)}" '
            f'stroke-width="2.5"{_dash(place)}/>'
            f'<text x="{_at(x + SWATCH + 5)}" y="{_at(y)}">head {head}</text>'
        )
        x += wide
    return parts, y + ROW / 2


def _column(title: str, units: list[Unit], x: float, top: float, anchor: str) -> list[str]:
    """Return tokens below each other, one per line, with their title."""
    parts = [f'<g text-anchor="{anchor}">']
    parts.append(f'<text x="{_at(x)}" y="{_at(top + ROW * 0.7)}" fill="{SOFT}">{title}</text>')
    for place, unit in enumerate(units):
        colour = f' fill="{SOFT}"' if unit.special else ""
        y = top + ROW * (place + 1) + ROW * 0.5 + SIZE / 3
        parts.append(f'<text x="{_at(x)}" y="{_at(y)}"{colour}>{escape(unit.text)}</text>')
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
    rows, columns = np.nonzero(values >= FAINTEST)
    order = np.argsort(values[rows, columns], kind="stable")
    ends = top + ROW * (np.stack([rows, columns], axis=1)[order] + 0.5) + shift
    name = quoteattr(f"head {head}")
    parts = [f'<g aria-label={name} stroke="{_tone(place)}" stroke-width="1.5"{_dash(place)}>']
    for (start_y, stop_y), value in zip(ends.tolist(), values[rows, columns][order].tolist(), strict=True):
        parts.append(
            f'<line x1="{_at(start)}" y1="{_at(start_y)}" x2="{_at(stop)}" y2="{_at(stop_y)}" '
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
    what = {ENCODER: "Encoder attention", DECODER: "Decoder attention", CROSS: "Cross attention"}
    heads_text = ("heads " if len(heads) > 1 else "head ") + ", ".join(map(str, heads))
    title = f"{what.get(kind, 'Attention')} of layer {layer}, {heads_text}"
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


def _at(value: float) -> str:
    """Return a coordinate as text."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
