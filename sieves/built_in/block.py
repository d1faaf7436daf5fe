"""Keys of the query's own text, against those of both texts.

The score has two contrasts: ``block:matched`` beyond distance, and ``block:swap`` beyond position. For the
swap, an input and its partner, of equal length, exchange layouts (``Swap``).
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Int

from headroles.plans.masks import Match
from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import Contrast, MaskSieve, Swap, both_texts
from headroles.sieves.built_in.local import own_text
from headroles.sieves.language.spelling import spelling_of
from headroles.sieves.settings import is_mark

CONTRAST_MARGIN = 0.02
LOWEST = -1.0
"""Lowest selectivity: where queries see both texts, chance is one half, whatever their lengths."""
TEXTS = 2
OPENING = 2
"""Words that open a text, in tokens, which no query of the swap looks at: some words often open texts."""


def text_of(example: Example) -> Int[np.ndarray, " tokens"]:
    """Return the text of each token; −1 on special tokens."""
    return example.segment


def shared_tokens(example: Example) -> Bool[np.ndarray, " tokens"]:
    """Return the places that hold a token of a text, and no punctuation, in an input and in its partner.

    A head that looks for the next full stop finds where texts end without knowing texts. So marks count in
    neither layout.

    Example:
        >>> other = Example("b", ("x", "[SEP]", "y", "."), segment=np.array([0, -1, 1, 1]))
        >>> shared_tokens(
        ...     Example("a", ("x", "?", "y", "z"), segment=np.array([0, 0, 1, 1]), partner=other)
        ... ).tolist()
        [True, False, True, False]
    """
    if example.partner is None:
        return np.zeros(example.size, dtype=np.bool_)
    inside: np.ndarray = _spoken(example) & _spoken(example.partner)
    return inside


def shared_keys(example: Example) -> Bool[np.ndarray, " tokens"]:
    """Return the shared places but for the first ``OPENING`` of each text, in an input and in its partner.

    A head that looks back for a word that often opens a text finds where texts begin without knowing texts.
    So these places are no keys. They are queries, since only what is looked at can tell such a head.

    Example:
        >>> other = Example("b", tuple("uvwxyz"), segment=np.array([0, 0, 0, 0, 0, 1]))
        >>> shared_keys(
        ...     Example("a", tuple("u.vwxy"), segment=np.array([0, 0, 0, 0, 1, 1]), partner=other)
        ... ).tolist()
        [False, False, False, True, False, False]
    """
    inside = shared_tokens(example)
    for own in (example, example.partner) if example.partner is not None else ():
        for text in range(TEXTS):
            inside[np.flatnonzero(_spoken(own) & (own.segment == text))[:OPENING]] = False
    return inside


def own_labels(example: Example) -> Int[np.ndarray, " tokens"]:
    """Return the text of each shared token in the input's own layout; −1 on all others."""
    return np.where(shared_tokens(example), example.segment, -1)


def partner_labels(example: Example) -> Int[np.ndarray, " tokens"]:
    """Return the text of each shared token in the layout of the partner; −1 on all others."""
    layout = example.segment if example.partner is None else example.partner.segment
    return np.where(shared_tokens(example), layout, -1)


def shared_pairs(example: Example) -> Match:
    """Return all pairs of shared tokens and shared keys."""
    return Match(np.where(shared_tokens(example), 0, -1), np.where(shared_keys(example), 0, -1))


def own_pairs(example: Example) -> Match:
    """Return the pairs of one text in the input's own layout."""
    labels = own_labels(example)
    return Match(labels, np.where(shared_keys(example), labels, -1))


def partner_pairs(example: Example) -> Match:
    """Return the pairs of one text in the layout of the partner."""
    labels = partner_labels(example)
    return Match(labels, np.where(shared_keys(example), labels, -1))


def _spoken(example: Example) -> Bool[np.ndarray, " tokens"]:
    """Return the tokens of texts that are no punctuation."""
    marks = np.array([_is_mark(token) for token in example.tokens], dtype=np.bool_)
    spoken: np.ndarray = (example.segment >= 0) & ~marks
    return spoken


@lru_cache(maxsize=2**16)
def _is_mark(token: str) -> bool:
    return is_mark(spelling_of(token))


SWAP = Swap(
    margin=CONTRAST_MARGIN,
    own=MaskSieve("block:own", own_pairs, scope=shared_pairs, groups=own_labels, lowest=LOWEST),
    partner=MaskSieve(
        "block:partner", partner_pairs, scope=shared_pairs, groups=partner_labels, lowest=LOWEST
    ),
)
"""The swap of ``block``."""

block = MaskSieve(
    name="block",
    mask=own_text,
    question="Does the head keep to the query's own text, not the other one, beyond what position gives?",
    source="Pande et al. 2021, block sieve; here Youden's J over the two texts",
    scope=both_texts,
    groups=text_of,
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=own_text, scope=both_texts, groups=text_of, most=TEXTS),
    swap=SWAP,
    lowest=LOWEST,
    words=RoleWords(
        "own text of the pair", "stays in the query's own text", "sentence", "B", ("pande2021heads",)
    ),
)
