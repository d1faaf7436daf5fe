"""Words of a text as bytes: what the cache keeps on disk, and what parser processes send back."""

import hashlib
import json
import struct
import sys
from typing import Any

import numpy as np

from headroles.records.passage import Words

FORMAT = 1
"""Raised whenever the bytes, or the words that a parser's document becomes, change."""
HEAD = struct.Struct("<16sBI")
"""Checksum, format, number of words."""
CHECK = 16


def pack(words: Words, key: bytes) -> bytes:
    """The words of a text, whole and checked: spans and heads as they lie, relations and lemmas as JSON.

    Args:
        words: Of one text.
        key: What they are kept under; the checksum covers it, so that words of another text never pass.

    Returns:
        A checksum, then what it is taken over.
    """
    names = json.dumps([words.relations, words.lemmas], ensure_ascii=False).encode()
    arrays = words.spans.astype("<i4").tobytes() + words.heads.astype("<i4").tobytes()
    rest = struct.pack("<BI", FORMAT, len(words.heads)) + arrays + names
    return _check(key, rest) + rest


def unpack(packed: bytes, key: bytes) -> Words | None:
    """The words that ``pack`` was given; None where the bytes are damaged, or kept under another key.

    Arrays and strings equal the parser's own, types included.
    """
    if len(packed) < HEAD.size or packed[:CHECK] != _check(key, packed[CHECK:]):
        return None
    _, version, count = HEAD.unpack_from(packed)
    if version != FORMAT:
        return None
    spans = np.frombuffer(packed, "<i4", 2 * count, HEAD.size).astype(np.int32)
    heads = np.frombuffer(packed, "<i4", count, HEAD.size + spans.nbytes).astype(np.int32)
    relations, lemmas = json.loads(packed[HEAD.size + spans.nbytes + heads.nbytes :])
    return Words(spans.reshape(-1, 2), heads, _shared(relations), None if lemmas is None else tuple(lemmas))


def _check(key: bytes, rest: bytes) -> bytes:
    return hashlib.blake2b(rest, digest_size=CHECK, key=key[:64]).digest()


def _shared(names: list[Any]) -> tuple[str, ...]:
    """Names of relations, each string held once however many words bear it."""
    return tuple(map(sys.intern, names))
