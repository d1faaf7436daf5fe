"""Keys at a place: the next token, the previous one, the query itself, a fixed offset, the first of all."""

import re

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadSieve
from headroles.plans.masks import Band
from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import MaskSieve

SOURCE = "Clark et al. 2019, section 3.1"
WORKS = ("clark2019what",)


def words_of(offset: str) -> RoleWords:
    """Return the words of the sieve of an offset."""
    return RoleWords(f"offset {offset}", f"looks at the token at offset {offset}", "position", works=WORKS)


def at_offset(offset: str) -> MaskSieve:
    """Make the sieve of one signed offset, key minus query, such as ``offset:-3``.

    S of each query for ``offset:2`` over six tokens, rows are queries; the last two are no queries::

        . . 1 . . .
        . . . 1 . .
        . . . . 1 .
        . . . . . 1
        . . . . . .
        . . . . . .

    In a causal model no key after the query is visible, so that a positive offset does not apply.

    Raises:
        BadSieve: When the offset is no whole number, or 0.

    Example:
        >>> at_offset("2").mask(Example("six", tuple("abcdef"))).rows(0, 6).argmax(axis=1).tolist()
        [2, 3, 4, 5, 0, 0]
    """
    if not re.fullmatch(r"[+-]?[1-9]\d{0,8}", offset, flags=re.ASCII):
        raise BadSieve(
            f"the offset of 'offset:{offset:.40}' must be a whole number of tokens other than 0, negative "
            f"for keys before the query, as in offset:-3; the query's own place is the sieve 'self'"
        )
    tokens = abs(int(offset))
    side = "before" if int(offset) < 0 else "after"
    question = f"Does the head look at the key {tokens} token{'s' * (tokens > 1)} {side} the query?"
    return _at(f"offset:{int(offset)}", int(offset), question, words_of(offset))


def _at(name: str, offset: int, question: str, words: RoleWords) -> MaskSieve:
    def mask(example: Example) -> Band:
        return Band(offset, offset, example.size)

    return MaskSieve(name=name, mask=mask, question=question, source=SOURCE, words=words)


following = _at(
    "next",
    1,
    "Does the head look at the next token?",
    RoleWords("next token", "looks at the next token", "position", "N", WORKS),
)
"""The next token; of six tokens without special ones, where the last asks nothing::

    . 1 . . . .
    . . 1 . . .
    . . . 1 . .
    . . . . 1 .
    . . . . . 1
    . . . . . .
"""

previous = _at(
    "previous",
    -1,
    "Does the head look at the previous token?",
    RoleWords("previous token", "looks at the previous token", "position", "P", WORKS),
)
"""The previous token; of six tokens without special ones, where the first asks nothing::

    . . . . . .
    1 . . . . .
    . 1 . . . .
    . . 1 . . .
    . . . 1 . .
    . . . . 1 .
"""

itself = _at(
    "self",
    0,
    "Does the head look at the token itself?",
    RoleWords("the token itself", "looks at the token itself", "position", "Se", WORKS),
)
"""The query's own place; of six tokens::

    1 . . . . .
    . 1 . . . .
    . . 1 . . .
    . . . 1 . .
    . . . . 1 .
    . . . . . 1

In a causal model the first token sees nothing else, and asks nothing.
"""


def opening(example: Example) -> Bool[np.ndarray, " tokens"]:
    """The token at position 0, special or not; of six tokens, the first a class token::

        . . . . . .     the class token asks nothing, as no special token does
        1 . . . . .
        1 . . . . .
        1 . . . . .
        1 . . . . .
        1 . . . . .

    In cross attention it is the first token that the encoder reads.

    Example:
        >>> opening(Example("six", tuple("abcdef"))).tolist()
        [True, False, False, False, False, False]
    """
    keys: Bool[np.ndarray, " tokens"] = np.diff(example.stack, prepend=-1) != 0
    return keys


first = MaskSieve(
    name="first",
    mask=opening,
    question="Does the head look at the first token of the input, whatever it is (a sink)?",
    source="Xiao et al. 2024 (attention sinks); Clark et al. 2019, section 3.2",
    specials=True,
    words=RoleWords(
        "first token", "looks at the first token", "sinks", "F", ("xiao2024sinks", "clark2019what")
    ),
)
