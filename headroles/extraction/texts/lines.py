"""Read numbered lines, and join words into texts, for all readers of gold annotation."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
from jaxtyping import Int

from headroles.extraction.texts.files import Location, open_text

MOST_DIGITS = 18
"""Most digits of a whole number in annotation; Python refuses to read numbers of over 4,300 digits."""


def number_lines(path: Location) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file, numbered from 1, without line ends (LF or CRLF) and byte-order mark.

    Raises:
        BadInput: When the file is missing, a folder, empty, binary or not UTF-8.
    """
    with open_text(path) as text:
        for number, line in enumerate(text, start=1):
            yield number, line.rstrip("\r\n")


def whole_number(cell: str) -> int | None:
    """Return the whole number that a cell spells; None for anything else, or beyond ``MOST_DIGITS`` digits.

    Example:
        >>> whole_number("12"), whole_number("-1"), whole_number("9" * 5000)
        (12, None, None)
    """
    return int(cell) if cell.isdecimal() and len(cell) <= MOST_DIGITS else None


def join_words(
    words: Sequence[str], spaces: Sequence[bool] | None = None
) -> tuple[str, Int[np.ndarray, "words 2"]]:
    """Join words into a text, and return it with the character span of each word.

    Args:
        words: None of them empty.
        spaces: Whether a blank follows each word; None for a blank after every word but the last.

    Example:
        >>> text, spans = join_words(["It", "rains", "."], [True, False, False])
        >>> text, spans.tolist()
        ('It rains.', [[0, 2], [3, 8], [8, 9]])
    """
    gaps = [True] * len(words) if spaces is None else spaces
    text = "".join(word + " " * space for word, space in zip(words, gaps, strict=True)).rstrip()
    lengths = [len(word) + space for word, space in zip(words, gaps, strict=True)]
    starts = list(accumulate(lengths, initial=0))[:-1]
    spans = [(start, start + len(word)) for start, word in zip(starts, words, strict=True)]
    return text, np.array(spans, dtype=np.int32).reshape(-1, 2)


def sentence_starts(lengths: Sequence[int]) -> Int[np.ndarray, " sentences"]:
    """Return the first word of each sentence, given the number of words of each.

    Example:
        >>> sentence_starts([3, 1, 2]).tolist()
        [0, 3, 4]
    """
    starts: np.ndarray = np.cumsum([0, *lengths], dtype=np.int32)[:-1]
    return starts
