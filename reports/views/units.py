"""Rows of a picture of attention, the weights between them, and the text of their labels:

what XML can hold, cut where it is long, with an estimate of its width.
"""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headroles.records.example import Example
from headroles.reports.words.words import visible_pieces

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML may hold."""
NARROW, WIDE = 0.62, 1.05
"""Width of usual and of wide letters (ideographs, emoji), as a share of their size; rather too wide."""


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


def width_of(text: str, size: float) -> float:
    """Return the estimated width of text in the unit of ``size``, whatever the font; rather too large.

    Example:
        >>> width_of("abc", 10.0) < width_of("語語", 10.0) < width_of("abcdef", 10.0)
        True
    """
    return sum(_width(letter) for letter in text) * size


def _width(letter: str) -> float:
    """Return the width of a letter as a share of its size."""
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or letter in "mwMW@%—":
        return WIDE
    return NARROW


LONGEST = 28
"""Letters of a token that are shown."""


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
    weights: Float[np.ndarray, "heads queries keys"], rows: list[Unit], columns: list[Unit]
) -> Float[np.ndarray, "heads rows columns"]:
    """Return weights between rows: summed over pieces attended to, averaged over pieces that attend."""
    attending, attended = _members(rows, weights.shape[1]), _members(columns, weights.shape[2])
    lengths = attending.sum(axis=1)
    values: np.ndarray = attending @ weights @ attended.T / lengths[:, None]
    return values


def _members(units: list[Unit], tokens: int) -> Float[np.ndarray, "units tokens"]:
    """Return 1 where a token belongs to a unit, else 0."""
    members = np.zeros((len(units), tokens))
    for row, unit in enumerate(units):
        members[row, list(unit.places)] = 1.0
    return members
