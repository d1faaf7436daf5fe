"""Text within an SVG: what XML can hold, cut where it is long, and about how wide it is."""

import re
import unicodedata

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML may hold."""
NARROW, WIDE = 0.62, 1.05
"""Width of usual and of wide letters (ideographs, emoji), as a share of their size; rather too wide."""


def clean(text: str) -> str:
    r"""Text without characters that XML forbids, and in one line.

    Example:
        >>> clean("a\x00b\nc")
        'a�b c'
    """
    return re.sub(r"[\t\n\r]", " ", FORBIDDEN.sub("\ufffd", text))


def cut(text: str, longest: int) -> str:
    """Clean text, its end left out where it is long; a dot where there is nothing to see.

    Example:
        >>> cut("antidisestablishment", 5), cut("", 5)
        ('antid…', '·')
    """
    whole = clean(text[: longest + 1])
    return whole[:longest] + "…" if len(whole) > longest else whole if whole.strip() else "·"


def width_of(text: str, size: float) -> float:
    """About how wide text is in the unit of ``size``, whatever the font; rather more than less.

    Example:
        >>> width_of("abc", 10.0) < width_of("語語", 10.0) < width_of("abcdef", 10.0)
        True
    """
    return sum(_width(letter) for letter in text) * size


def _width(letter: str) -> float:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or letter in "mwMW@%—":
        return WIDE
    return NARROW
