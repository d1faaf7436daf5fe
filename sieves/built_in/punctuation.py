"""Keys that are punctuation marks."""

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadSieve
from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import MaskSieve
from headroles.sieves.language.spelling import spelling_of
from headroles.sieves.settings import ALL, USUAL, is_mark

JOINS = ";"
"""Joins the roles of a head in tables, so that no name may contain it."""
SOURCE = "Clark et al. 2019, section 3.2 (periods and commas)"
WORKS = ("clark2019what",)


def words_of(wanted: str) -> RoleWords:
    """Return the words of a punctuation sieve with other marks."""
    return RoleWords(f"punctuation {wanted}", f"looks at the marks {wanted}", "sinks", works=WORKS)


def marks(wanted: str) -> MaskSieve:
    """Make a punctuation sieve with other marks, such as ``punctuation:?!``, or ``punctuation:all`` for all.

    A token counts when it is one of the marks; for "all", when each of its characters is punctuation by
    its Unicode category.

    Raises:
        BadSieve: For anything but punctuation marks, and for ``;``, which joins roles in tables.
    """
    if wanted != ALL and (JOINS in wanted or not wanted or not all(is_mark(mark) for mark in wanted)):
        raise BadSieve(
            f"the marks of 'punctuation:{wanted}' must be punctuation other than {JOINS!r}, as in "
            f"punctuation:?!, or 'all' for every token that is only punctuation"
        )
    known = wanted if wanted == ALL else "".join(sorted(set(wanted)))
    return _marks(f"punctuation:{known}", known, words_of(known))


def mark_keys(example: Example, wanted: str = USUAL) -> Bool[np.ndarray, " tokens"]:
    """Return the tokens that are marks, special tokens with such a spelling included.

    For the usual marks and ``a , b . c .`` the keys of every query are::

        . 1 . 1 . 1
        . 1 . 1 . 1
        . 1 . 1 . 1
        . 1 . 1 . 1
        . 1 . 1 . 1
        . 1 . 1 . 1

    Args:
        example: The input.
        wanted: The marks, or "all".

    Example:
        >>> mark_keys(Example("six", ("a", ",", "b", ".", "c", "Ġ."))).astype(int).tolist()
        [0, 1, 0, 1, 0, 1]
    """
    spellings = [spelling_of(token) for token in example.tokens]
    marked = [is_mark(text) if wanted == ALL else len(text) == 1 and text in wanted for text in spellings]
    return np.array(marked, dtype=np.bool_)


def _marks(name: str, wanted: str, words: RoleWords) -> MaskSieve:
    def mask(example: Example) -> Bool[np.ndarray, " tokens"]:
        return mark_keys(example, wanted)

    what = "punctuation marks" if wanted == ALL else f"the marks {' '.join(wanted)}"
    return MaskSieve(
        name=name, mask=mask, question=f"Does the head look at {what}?", source=SOURCE, words=words
    )


punctuation = _marks(
    "punctuation",
    USUAL,
    RoleWords("periods and commas", "looks at periods and commas", "sinks", "Pu", WORKS, whole=False),
)
"""Tokens that are ``.`` or ``,``; ``mark_keys`` draws an example."""
