"""Find the characters of a text that each piece of BERT's tokenizer stands for."""

import unicodedata
from collections.abc import Sequence

UNKNOWN = "[UNK]"
MARK = "##"
"""Mark of a piece that continues a word."""


def align_pieces(pieces: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Return the span of each piece in the text it was made of; None where they do not fit.

    Case and accents do not count, because models without case drop both. A piece for an unknown word stands
    for all characters up to the next blank.

    Args:
        pieces: Pieces of the text in order, without special tokens.
        text: The text.

    Example:
        >>> align_pieces(["cafe", "##s", "!", "[UNK]", "no"], "Cafés! ☃☃ no")
        [(0, 4), (4, 5), (5, 6), (7, 9), (10, 12)]
        >>> align_pieces(["it", "snows"], "It rains") is None
        True
    """
    signs = [(plain, place) for place, sign in enumerate(text) for plain in _plain_signs(sign)]
    spans, here = [], 0
    for piece in pieces:
        while here < len(signs) and signs[here][0].isspace():
            here += 1
        start = here
        if piece == UNKNOWN:
            while here < len(signs) and not signs[here][0].isspace():
                here += 1
        else:
            wanted = "".join(plain for sign in piece.removeprefix(MARK) for plain in _plain_signs(sign))
            here += len(wanted)
            if "".join(sign for sign, _ in signs[start:here]) != wanted:
                return None
        if start == here:
            return None
        spans.append((signs[start][1], signs[here - 1][1] + 1))
    return spans if all(sign.isspace() for sign, _ in signs[here:]) else None


def _plain_signs(sign: str) -> str:
    """Return a character in small letters without accents; "" for an accent or a control character."""
    letters = unicodedata.normalize("NFD", sign.lower())
    kept = (letter for letter in letters if unicodedata.category(letter) not in ("Mn", "Cc", "Cf"))
    return " " if sign.isspace() else "".join(kept)
