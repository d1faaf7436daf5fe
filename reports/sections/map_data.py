"""Tokens and arrays as the scripts of a page read them."""

import base64
import zlib
from typing import Any

import numpy as np

from headroles.records.example import Example

LEVEL = 9
"""Of zlib's compression: the smallest page."""
BLANK, LINE = "▁", "⏎"
"""What stands for a blank and for a line's end within a piece."""


def packed(array: np.ndarray) -> str:
    r"""The bytes of an array, zlib at level 9, base64.

    Args:
        array: Of any shape and a fixed-size dtype; written in C order, as the dtype has its bytes.

    Returns:
        Text that ``attention.unpacked`` of ``attention.js`` turns into the same bytes.

    Example:
        >>> zlib.decompress(base64.b64decode(packed(np.array([[1, 2], [3, 255]], dtype=np.uint8))))
        b'\x01\x02\x03\xff'
    """
    raw = np.ascontiguousarray(array).tobytes()
    return base64.b64encode(zlib.compress(raw, LEVEL)).decode("ascii")


def tokens_of(example: Example) -> dict[str, list[Any]]:
    """What a drawing of attention needs to know of its tokens.

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
        "pieces": list(shown(example)),
        "segment": example.segment.tolist(),
        "special": example.special.astype(int).tolist(),
        "word": example.word.tolist(),
    }


def shown(example: Example) -> tuple[str, ...]:
    r"""The tokens as readers see them: bytes of byte-level pieces become letters, blanks become ``▁``.

    Pieces of other tokenizers stay as they are. A byte-level piece that holds a part of a letter
    only shows its bytes, as in ``\xc3``.

    Example:
        >>> shown(Example("note", ("ol", "Ã©", "Ġ!")))
        ('ol', 'é', '▁!')
    """
    own = [token for token, special in zip(example.tokens, example.special, strict=True) if not special]
    letters = set("".join(own))
    if not (letters & {"Ġ", "Ċ"} and letters <= BYTES.keys()):
        return example.tokens
    return tuple(
        token if special else _spelled(token)
        for token, special in zip(example.tokens, example.special, strict=True)
    )


def _spelled(token: str) -> str:
    text = bytes(BYTES[letter] for letter in token).decode("utf-8", errors="backslashreplace")
    return text.replace(" ", BLANK).replace("\n", LINE)


def _bytes() -> dict[str, int]:
    """Byte of each letter of a byte-level vocabulary; printable bytes stand for themselves."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    return table | {chr(0x100 + place): byte for place, byte in enumerate(others)}


BYTES = _bytes()
"""Byte of each letter of a byte-level vocabulary."""
