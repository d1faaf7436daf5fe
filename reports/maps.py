"""Maps of all heads and the panel of one head as data: one script draws them, whatever the kind of run.

A map, and a row of the panel, tells of a head by small templates. ``{mean}`` is a column of the findings with
its interval, ``{word}`` the word of the head's code, ``{head}`` and ``{title}`` are names; others are own
values. ``{before|name|after|none}`` writes what stands around a value with it, or "none" without a value.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

import numpy as np
from jaxtyping import Bool
from markupsafe import Markup

from headroles.reports.embedded import script_json

MEAN, BEYOND, DIFFERENCE = "mean", "beyond", "difference"
"""What shades a cell: the mean, the mean beyond chance, or the signed difference of two runs."""
MARKS = {
    "role": "•", "not": "–", "absent": "0", "explained": "~", "undetermined": "▨", "untestable": "×",
    "changed": "Δ", "gained": "+", "lost": "−", "needed": "◆", "negligible": "○", "interfering": "▼",
    "vertical": "▮", "by query": "▬", "removed": "∅", "no cluster": "·", "identical": "=",
    "above": "↑", "below": "↓",
}  # fmt: skip
"""What a mark in a cell means, on pages of all kinds; ▨ stands in keys for a hatched cell."""
SQUARE = "M{x:g} {y:g}h{s:g}v{s:g}h-{s:g}z"
STRIPES = (
    "M{x:g} {middle:g}L{across:g} {y:g}M{x:g} {down:g}L{right:g} {y:g}"
    "M{across:g} {down:g}L{right:g} {middle:g}"
)
"""A cell as a path, and the stripes of one that stays undetermined."""
FEW_LABELS = 16
"""Layers or heads up to which each has its number."""


@dataclass(frozen=True, slots=True)
class CellLook:
    """The look of the cells with one code.

    Attributes:
        word: What the code means; "" for the word of the table of all numbers.
        mark: Drawn in the cell; "" for none.
        tone: Number of the cell's colour; None for the shade by its number.
        faint: Whether the colour is faint.
        hatched: Whether the cell is hatched.
        framed: Whether the cell has a frame.
        shade: How strong the colour is, from 0 to 1; None where a number says it.
    """

    word: str = ""
    mark: str = ""
    tone: int | None = None
    faint: bool = False
    hatched: bool = False
    framed: bool = False
    shade: float | None = None

    @property
    def told(self) -> tuple[str, str]:
        """Return mark and word for a key."""
        return self.mark or MARKS["undetermined"], self.word

    def data(self) -> dict[str, Any]:
        """Return the look for the script, with the classes of its cells."""
        kind = [f"toned tone-{self.tone}"] if self.tone is not None else []
        kind += ["faint"] * self.faint + [re.sub("[^a-z]+", "-", self.word)] * (self.shade == 1)
        known = {
            "word": self.word, "mark": self.mark, "kind": " ".join(kind), "open": self.hatched,
            "held": self.framed, "shade": self.shade,
        }  # fmt: skip
        return {name: value for name, value in known.items() if value not in ("", None, False)}


DECIDED = (
    CellLook(mark=MARKS["role"], framed=True), CellLook(), CellLook(hatched=True),
    CellLook(mark=MARKS["untestable"]), CellLook(mark=MARKS["explained"]),
)  # fmt: skip
"""Looks of decisions by their codes: a dot and a frame for a role, hatched where it stays undetermined."""


def key_of(**words: str) -> list[tuple[str, str]]:
    """Return the key of maps that have the looks of decisions.

    Args:
        **words: What marks mean on this page, such as ``role="beyond the baseline"``.
    """
    meanings = words | {word: word for word in ("undetermined", "untestable")}
    return [(MARKS[name], meaning) for name, meaning in meanings.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is told of a head: a row of the panel, or what a map adds to.

    Attributes:
        title: Its name.
        column: Its column in the findings; −1 for none.
        lines: Templates. Of a row: its value and its decision. Of a map: what a head is told with.
        outside: The same for heads that are not among ``heads``; () for ``lines``.
        heads: Numbers of the heads it is about, counted layer by layer; None for all.
        codes: Codes of heads by their numbers, which stand in place of their decisions; a list has all heads.
        values: Own values as text, by name and head; a list has all heads.
        percent: Whether numbers are parts of a hundred.
        plain: Whether a row is without a decision, and left out without a number.
    """

    title: str
    column: int = -1
    lines: Sequence[str] = ()
    outside: Sequence[str] = ()
    heads: Sequence[int] | None = None
    codes: Mapping[int, int] | Sequence[int] = field(default_factory=dict)
    values: Mapping[str, Mapping[int, str] | Sequence[str]] = field(default_factory=dict)
    percent: bool = False
    plain: bool = False

    def data(self) -> dict[str, Any]:
        """Return what the script reads: fields that differ from their defaults, and looks."""
        defaults = {each.name: {} if each.default is MISSING else each.default for each in fields(self)}
        content = {name: getattr(self, name) for name in defaults}
        known = {name: value for name, value in content.items() if value != defaults[name]}
        return known | {"looks": [look.data() for look in content["looks"]]} if "looks" in content else known


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadMap(Told):
    """A map of layers × heads.

    Attributes:
        name: Of its column or role, which sentences of the answer filter by.
        note: Beside its title.
        shade: What shades a cell; "" for the looks alone.
        largest: The number with the full shade.
        looks: Looks by code of the decision.
        framed: Numbers of further heads with a frame.
        tone: Number of the colour of its shades; None for that of all maps.
        label: What the map shows, for readers who do not see it; "" for its title and note.
        hidden: Whether it stands on the page only when it is chosen.
    """

    name: str = ""
    note: str = ""
    shade: str = ""
    largest: float = 0.0
    looks: Sequence[CellLook] = DECIDED
    framed: Sequence[int] = ()
    tone: int | None = None
    label: str = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadMaps:
    """Maps that stand at one place of a page.

    Attributes:
        id: Of their place.
        maps: The maps.
        first: What is chosen at first, in words; "" without a choice.
        key: Signs and what they mean.
        caption: Below the maps; "" for none.
        order: Order of maps that together fit the window, one of them large at request; () for others.
        scale: What the darkest cell means, of such maps.
    """

    id: str
    maps: Sequence[HeadMap]
    first: str = ""
    key: Sequence[tuple[str, str]] = ()
    caption: str = ""
    order: Sequence[int] = ()
    scale: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadPanel:
    """The panel of a head: its rows, and a sentence about it.

    Attributes:
        rows: Rows of every head.
        own: Further rows of single heads: name, value, decision, and whether they stand out.
        sentences: What is told of single heads, by their numbers.
        sentence: What is told of the others; ``{held}`` is how many rows stand out.
        ranked: Whether rows that stand out are first, then those with the largest means.
    """

    rows: Sequence[Told] = ()
    own: Mapping[int, Sequence[tuple[str, str, str, bool]]] = field(default_factory=dict)
    sentences: Mapping[int, str] | Sequence[str] = field(default_factory=dict)
    sentence: str = ""
    ranked: bool = False


@dataclass(frozen=True, slots=True)
class StillMap:
    """A map that needs no script.

    Attributes:
        title: Above it; "" for none.
        note: Beside its title.
        drawing: As ``still_map`` draws it.
        width: In pixels at most; 0 for its part of the row.
    """

    title: str
    note: str
    drawing: Markup
    width: int = 0


@dataclass(frozen=True, slots=True)
class StillRow:
    """Maps side by side that need no script.

    Attributes:
        maps: The maps.
        title: Above them; "" for none.
        role: Name of their role; "" where the title says it.
        tone: Number of their colour; −1 for that of all maps.
    """

    maps: Sequence[StillMap]
    title: str = ""
    role: str = ""
    tone: int = -1


@dataclass(frozen=True, slots=True)
class StillMaps:
    """Maps that need no script, row by row.

    Attributes:
        rows: The rows.
        key: Signs and what they mean; "" for a frame.
        caption: Beside the key.
    """

    rows: Sequence[StillRow]
    key: Sequence[tuple[str, str]]
    caption: str = ""


def head_maps(places: Sequence[HeadMaps], panel: HeadPanel | None = None) -> Markup:
    """Return maps and panel as the JSON that the script reads; what many maps or rows share stands once."""
    content = {
        "places": [
            {"id": place.id, **({"order": place.order, "scale": place.scale} if place.order else {}),
             "maps": _together(place.maps)}
            for place in places
        ],
        "panel": panel and {
            "rows": _together(panel.rows), "own": panel.own, "sentences": panel.sentences,
            "sentence": panel.sentence, "ranked": panel.ranked,
        },
    }  # fmt: skip
    return Markup(script_json(json.dumps(content, separators=(",", ":"), ensure_ascii=False)))


def _together(told: Sequence[Told]) -> dict[str, Any]:
    """Return the data of maps or rows, with what all of them have in common apart."""
    each = [one.data() for one in told]
    first = each[0].items() if each else ()
    common = {name: value for name, value in first if all(one.get(name) == value for one in each)}
    own = [{name: value for name, value in one.items() if name not in common} for one in each]
    return {"common": common, "each": own}


def largest_of(values: np.ndarray, least: float = 0.0) -> float:
    """Return the largest number, NaN aside; ``least`` where none is larger."""
    return max(least, float(np.nanmax(values, initial=least)))


def short_number(value: float) -> str:
    """Return a number as the page's script writes it: three significant digits, two where it is tiny or huge.

    Example:
        >>> short_number(0.12345), short_number(-0.000012), short_number(0.0), short_number(123456.0)
        ('0.123', '−1.2e-5', '0', '1.2e+5')
    """
    if math.isnan(value):
        return "–"
    size = abs(value)
    digits, _, power = f"{size:.1e}".partition("e")
    text = f"{digits}e{int(power):+d}" if size and not 1e-3 <= size < 1e5 else f"{float(f'{size:.3g}'):.15g}"
    return f"−{text}" if value < 0 else text


def still_map(
    layers: Sequence[int],
    heads: int,
    label: str,
    drawn: Sequence[tuple[str, float, Bool[np.ndarray, "layers heads"]]],
    signs: Mapping[str, Bool[np.ndarray, "layers heads"]],
    *,
    small: bool = False,
) -> Markup:
    """Return a map as SVG that needs no script, in the look of the others.

    Args:
        layers: Positions of its layers.
        heads: Heads of a layer.
        label: What it shows, for readers who do not see it.
        drawn: Class, opacity and heads of every kind of cell, in the order of drawing.
        signs: Heads with each mark.
        small: Whether cells are small: without lines between them, with numbers at the ends only.
    """
    cell, side, gap, size = (10, 16, 0.8, 8.4) if small else (20, 24, 0.0, 18.0)
    wide, high = cell * heads, cell * len(layers)
    path = Markup('<path class="{}" fill-opacity="{:g}" d="{}"/>').format
    text = Markup('<text class="{}" x="{:g}" y="{:g}"{}>{}</text>').format
    parts = [path("cell", 1, f"M{side} 0h{wide}v{high}h-{wide}z")] if small else []

    def corners(chosen: np.ndarray) -> list[tuple[int, int]]:
        return [(side + cell * head, cell * layer) for layer, head in np.argwhere(chosen).tolist()]

    def numbered(size: int) -> Sequence[int]:
        return sorted({0, size - 1}) if small else range(0, size, 1 if size <= FEW_LABELS else 4)

    for kind, opacity, chosen in drawn:
        form = STRIPES if kind == "open" else SQUARE
        cells = [
            form.format(
                x=x + gap, y=y + gap, s=size, across=x + gap + size / 2, middle=y + gap + size / 2,
                right=x + gap + size, down=y + gap + size,
            )
            for x, y in corners(chosen)
        ]  # fmt: skip
        parts += [path(kind, opacity, "".join(cells))] if cells else []
    for sign, chosen in signs.items():
        parts += [text("mark", x + cell / 2, y + cell / 2, "", sign) for x, y in corners(chosen)]
    end, middle = (Markup(f' text-anchor="{anchor}"') for anchor in ("end", "middle"))
    for layer in numbered(len(layers)):
        parts.append(text("axis", side - 4, cell * (layer + 0.5) + 4, end, layers[layer]))
    for head in numbered(heads):
        parts.append(text("axis", side + cell * head + size / 2, high + 11, middle, head))
    box = f"0 0 {side + wide} {high + 12}" if small else f"0 -1 {side + wide} {high + 15}"
    whole = Markup('<svg viewBox="{}" role="img" aria-label="{}">{}</svg>')
    return whole.format(box, label, Markup("\n").join(parts))
