"""Keys within a window around the query."""

import re

from headroles.errors import BadSieve
from headroles.plans.masks import Band, Every, Same
from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import MaskSieve

WINDOW = 2
LOWEST = -1.0
"""Lowest selectivity for the test ``betting``, which then takes texts of at least 9 tokens. Of 872 sentences
of SST-2, 7 % are shorter. At −0.5, 20 % would be, and heads would need as many units to be decided."""
SOURCE = "Pande et al. 2021, local sieve; compared within the query's own text"
WORKS = ("pande2021heads",)


def own_text(example: Example) -> Same:
    """Return the keys of the query's own text; special tokens belong to none."""
    return Same(example.segment)


def words_of(window: str) -> RoleWords:
    """Return the words of a local sieve with another window."""
    return RoleWords(
        f"neighbours (±{window})", f"looks at tokens at most {window} away", "position", works=WORKS
    )


def within(window: str) -> MaskSieve:
    """Make a local sieve with another window, such as ``local:4``.

    Raises:
        BadSieve: When the window is not a whole number of at least 1.
    """
    if not re.fullmatch(r"[1-9]\d{0,8}", window):
        raise BadSieve(
            f"the window of 'local:{window:.40}' must be a whole number of tokens from 1, as in local:4"
        )
    return _local(f"local:{window}", int(window), words_of(window))


def _local(name: str, window: int, words: RoleWords) -> MaskSieve:
    def mask(example: Example) -> Every:
        return Every((Band(-window, window, example.size), own_text(example)))

    return MaskSieve(
        name=name,
        mask=mask,
        question=f"Does the head look at keys at most {window} tokens away, within its own text?",
        source=SOURCE,
        scope=own_text,
        lowest=LOWEST,
        words=words,
    )


local = _local(
    "local",
    WINDOW,
    RoleWords("neighbours", "looks at neighbouring tokens", "position", "L", WORKS, whole=False),
)
