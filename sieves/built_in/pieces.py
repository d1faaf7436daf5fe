"""Keys that are pieces of the query's own word.

Pieces lie side by side, so the roles ask for a contrast against the head's own distance profile, over all
pairs of tokens of the texts. Measured on rows of QNLI and QQP (mean selectivity, mean contrast): heads at the
next or previous token 0.57 to 0.76, within 0.001, other fixed offsets at most 0.004, decay with distance up
to 0.26, within 0.01, in a causal model up to 0.29, within 0.04; planted heads that look elsewhere at
separators 1, and 0.30 to 0.48, or with as much even attention beside it 0.5, and 0.40 to 0.46. Not
controlled: what the keys are. Heads that look at near rare tokens get 0.22 and 0.08, which is why the
margin of the contrast is 0.1, and heads that look at continuing pieces from anywhere to 0.22 and 0.21.
"""

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadInput
from headroles.plans.masks import Band, Every, Match, Same, Without
from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import Contrast, MaskSieve, both_texts

CONTRAST_MARGIN = 0.1
"""Twice that of other pairs, because of heads that look at near rare tokens."""
SOURCE = "Vig 2019 (Deconstructing BERT), pieces of one word; words as for the syntactic sieves"

Square = Bool[np.ndarray, "tokens tokens"]


def subword_cells(example: Example) -> Square:
    """Return other pieces of the query's word; for ``un able to see ing ly`` of 2, 1 and 3 pieces::

        . 1 . . . .
        1 . . . . .
        . . . . . .
        . . . . 1 1
        . . . 1 . 1
        . . . 1 1 .

    Raises:
        BadInput: When the example has no words.

    Example:
        >>> example = Example("six", tuple("abcdef"), word=np.array([0, 0, 1, 2, 2, 2]))
        >>> subword_cells(example).astype(int)[:4].tolist()
        [[0, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]]
    """
    return subword_mask(example).rows(0, example.size)


def completing_cells(example: Example) -> Square:
    """Return the last piece of the query's word, for its earlier pieces; for words of 2, 1 and 3 pieces::

        . 1 . . . .
        . . . . . .
        . . . . . .
        . . . . . 1
        . . . . . 1
        . . . . . .

    Raises:
        BadInput: When the example has no words.

    Example:
        >>> example = Example("six", tuple("abcdef"), word=np.array([0, 0, 1, 2, 2, 2]))
        >>> completing_cells(example).astype(int)[3:].tolist()
        [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0]]
    """
    return completing_mask(example).rows(0, example.size)


def subword_mask(example: Example) -> Without:
    """Return the cells of ``subword_cells``."""
    return Without(_own_word(example), Band(0, 0, example.size))


def completing_mask(example: Example) -> Every:
    """Return the cells of ``completing_cells``."""
    word = _own_word(example).labels
    last = np.full(int(word.max(initial=-1)) + 1, -1)
    inside = np.flatnonzero(word >= 0)
    np.maximum.at(last, word[inside], inside)
    ends = np.full(example.size, -1, dtype=np.int64)
    ends[last[last >= 0]] = word[last[last >= 0]]
    return Every((Match(word, ends), Band(1, example.size, example.size)))


def _own_word(example: Example) -> Same:
    """Return the pieces of one word, each with itself as well."""
    if (example.word < 0).all() and not example.special.all():
        raise BadInput(
            f"subword sieves need words, but example {example.key!r} has none; give the example the word of "
            f"each token, or leave the subword sieves out"
        )
    return Same(example.word)


subword = MaskSieve(
    name="subword",
    mask=subword_mask,
    question="Does the head look at the other pieces of a word, beyond what distance gives?",
    source=SOURCE,
    needs=frozenset({"words"}),
    words=RoleWords(
        "other pieces of the word",
        "looks at the other pieces of the word",
        mark="W",
        works=("vig2019deconstructing",),
    ),
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=subword_mask, scope=both_texts),
)

completing = MaskSieve(
    name="subword:completing",
    mask=completing_mask,
    question="Does the head look at the piece that completes the word, beyond what distance gives?",
    source=SOURCE,
    needs=frozenset({"words"}),
    words=RoleWords(
        "piece that completes the word",
        "looks at the piece that completes the word",
        mark="Wc",
        works=("vig2019deconstructing",),
    ),
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=completing_mask, scope=both_texts),
)
