"""Spelling of tokens, without the marks that tokenizers add where words begin."""

from functools import lru_cache

OPENING = ("##", "Ġ", "▁", "Ċ", " ")
"""Marks before a piece that continues a word (WordPiece) or opens one (byte-level, SentencePiece)."""
CLOSING = ("</w>",)
"""Marks after a piece that ends a word."""


@lru_cache(maxsize=2**16)
def spelling_of(token: str) -> str:
    """Return the characters of a token, without the marks of word boundaries.

    Tokens of byte-level vocabularies spell bytes, which become characters where they are valid UTF-8. A
    token that is only such a mark stays as it is.

    Example:
        >>> [spelling_of(token) for token in ("##ing", "Ġthe", "▁,", ".</w>", "âĢľ", "##", "é")]
        ['ing', 'the', ',', '.', '“', '##', 'é']
    """
    bare = token
    for mark in OPENING:
        bare = bare.removeprefix(mark) or bare
    for mark in CLOSING:
        bare = bare.removesuffix(mark) or bare
    return bare if bare.isascii() else _from_bytes(bare)


def _from_bytes(bare: str) -> str:
    """Return the text of a token whose characters stand for bytes (Radford et al. 2019), or else itself."""
    if not all(sign in _BYTES for sign in bare):
        return bare
    try:
        return bytes(_BYTES[sign] for sign in bare).decode()
    except UnicodeDecodeError:
        return bare


def _byte_signs() -> dict[str, int]:
    """Return the byte of each character of a byte-level vocabulary: its own code, where it can be printed."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(0x100) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {
        chr(0x100 + place): byte for place, byte in enumerate(hidden)
    }


_BYTES = _byte_signs()
