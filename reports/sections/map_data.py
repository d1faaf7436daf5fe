"""Tokens and arrays encoded for the scripts of a page."""

import base64
import zlib
from typing import Any

import numpy as np

from headroles.records.example import Example

LEVEL = 9
"""Of zlib's compression: the smallest page."""
BLANK, LINE = "▁", "⏎"
"""Signs for a blank and for a line's end within a piece."""


def pack(array: np.ndarray) -> str:
    r"""Return the bytes of an array, zlib at level 9, base64.

    Args:
        array: Of any shape and a fixed-size dtype; written in C order, as the dtype has its bytes.

    Returns:
        Text that ``attention.unpack`` of ``attention.js`` turns into the same bytes.

    Example:
        >>> zlib.decompress(base64.b64decode(pack(np.array([[1, 2], [3, 255]], dtype=np.uint8))))
        b'\x01\x02\x03\xff'
    """
    raw = np.ascontiguousarray(array).tobytes()
    return base64.b64encode(zlib.compress(raw, LEVEL)).decode("ascii")


def tokens_of(example: Example) -> dict[str, list[Any]]:
    """Return the tokens of an input as a drawing of attention needs them.

    Args:
        example: One input.

    Returns:
        ``pieces``: each token as it is shown; ``segment``: its text from 0, −1 on special tokens;
        ``special``: 1 on special tokens, else 0; ``word``: its word, −1 where none is known.

    Example:
        >>> tokens_of(Example("note", ("Ġit", "Ġrains"), word=np.array([0, 1])))["pieces"]
        ['▁it', '▁rains']
    """
    return {
        "pieces": list(visible_pieces(example)),
        "segment": example.segment.tolist(),
        "special": example.special.astype(int).tolist(),
        "word": example.word.tolist(),
    }


def visible_pieces(example: Example) -> tuple[str, ...]:
    r"""Return the tokens as readers see them: bytes of byte-level pieces become letters, blanks become ``▁``.

    Pieces of other tokenizers stay as they are. A byte-level piece that holds a part of a letter
    only shows its bytes, as in ``\xc3``.

    Example:
        >>> visible_pieces(Example("note", ("ol", "Ã©", "Ġ!")))
        ('ol', 'é', '▁!')
    """
    pieces = [token for token, special in zip(example.tokens, example.special, strict=True) if not special]
    letters = set("".join(pieces))
    if not (letters & {"Ġ", "Ċ"} and letters <= BYTES.keys()):
        return example.tokens
    return tuple(
        token if special else _decode(token)
        for token, special in zip(example.tokens, example.special, strict=True)
    )


def _decode(token: str) -> str:
    """Return a byte-level piece as text."""
    text = bytes(BYTES[letter] for letter in token).decode("utf-8", errors="backslashreplace")
    return text.replace(" ", BLANK).replace("\n", LINE)


def _bytes() -> dict[str, int]:
    """Return the byte of each letter of a byte-level vocabulary; printable bytes stand for themselves."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    return table | {chr(0x100 + place): byte for place, byte in enumerate(others)}


BYTES = _bytes()
"""Byte of each letter of a byte-level vocabulary."""
