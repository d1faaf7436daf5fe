"""Words of plain text, cut so that spans which are known by their characters are whole words."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Int

WORD = re.compile(r"(?<=\w)['’]\w+|\w+|[^\w\s]")
FEMININE = frozenset({"she", "her", "hers", "herself"})
MASCULINE = frozenset({"he", "him", "his", "himself"})
NEUTRAL = frozenset({"they", "them", "their", "theirs", "themself", "themselves", "it", "its", "itself"})
PRONOUNS = FEMININE | MASCULINE | NEUTRAL


def spotted(text: str, known: Sequence[tuple[int, int]]) -> Int[np.ndarray, "words 2"]:
    """Character spans of words: runs of letters and digits, endings such as 's, other marks one by one.

    Args:
        text: Any text.
        known: Character spans at whose ends words end, whatever stands there.

    Example:
        >>> text = "Ann's cat-flap."
        >>> [text[start:stop] for start, stop in spotted(text, []).tolist()]
        ['Ann', "'s", 'cat', '-', 'flap', '.']
        >>> [text[start:stop] for start, stop in spotted(text, [(1, 4)]).tolist()]
        ['A', 'nn', "'", 's', 'cat', '-', 'flap', '.']
    """
    cuts = sorted({0, len(text), *(end for span in known for end in span)})
    spans = [match.span() for start, stop in pairwise(cuts) for match in WORD.finditer(text, start, stop)]
    return np.array(spans, dtype=np.int32).reshape(-1, 2)


def words_of(spans: Int[np.ndarray, "words 2"], start: int, stop: int) -> tuple[int, int]:
    """First word of the characters from ``start`` to ``stop``, and one past the last."""
    return int(np.searchsorted(spans[:, 0], start)), int(np.searchsorted(spans[:, 1], stop, side="right"))
