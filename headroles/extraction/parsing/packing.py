"""Words of a text as bytes, for the cache on disk and for the answers of parser processes."""

import hashlib
import json
import struct
import sys
from typing import Any

import numpy as np

from headroles.records.passage import Words

FORMAT = 3
"""Version of the format; to be raised when the bytes, or the words made from a document, change."""
HEAD = struct.Struct("<16sBI")
"""Checksum, format, number of words."""
CHECK = 16


def pack(words: Words, key: bytes) -> bytes:
    """Pack the words of a text with a checksum: spans and heads as integers, names as JSON.

    Args:
        words: The words of one text.
        key: Their key in the cache; the checksum covers it, so that words of another text never pass.

    Returns:
        A checksum, then the bytes that it covers.
    """
    names = json.dumps([words.relations, words.lemmas, words.upos], ensure_ascii=False).encode()
    arrays = words.spans.astype("<i4").tobytes() + words.heads.astype("<i4").tobytes()
    rest = struct.pack("<BI", FORMAT, len(words.heads)) + arrays + names
    return _check(key, rest) + rest


def unpack(packed: bytes, key: bytes) -> Words | None:
    """Return the words that were packed; None where the bytes are damaged or belong to another key.

    Arrays and strings equal those of the parser, with the same types.
    """
    if len(packed) < HEAD.size or packed[:CHECK] != _check(key, packed[CHECK:]):
        return None
    _, version, count = HEAD.unpack_from(packed)
    if version != FORMAT:
        return None
    spans = np.frombuffer(packed, "<i4", 2 * count, HEAD.size).astype(np.int32)
    heads = np.frombuffer(packed, "<i4", count, HEAD.size + spans.nbytes).astype(np.int32)
    relations, lemmas, upos = json.loads(packed[HEAD.size + spans.nbytes + heads.nbytes :])
    return Words(
        spans.reshape(-1, 2),
        heads,
        _interned(relations),
        None if lemmas is None else tuple(lemmas),
        None if upos is None else _interned(upos),
    )


def _check(key: bytes, rest: bytes) -> bytes:
    return hashlib.blake2b(rest, digest_size=CHECK, key=key[:64]).digest()


def _interned(names: list[Any]) -> tuple[str, ...]:
    """Return names of relations or classes with each string held once in memory."""
    return tuple(map(sys.intern, names))
