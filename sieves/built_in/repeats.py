"""Keys by their tokens: the same token in one text or the other, and the token after an earlier one.

Each role asks for a contrast against the head's own distance profile, over all pairs of tokens of the texts.
``induction`` needs it as it is. The others compare keys with themselves, too: what a key gets from other
queries of the same text, of the other text, or after it is subtracted. ``benchmarks/calibration/fakes.py``
measures planted heads on pairs of QNLI, QQP, MRPC and EWT. Mean contrasts: heads that look at the same keys
from everywhere at most 0.02, functions of position at most 0.02, heads that hold the role 0.65 to 0.94, and
half of that with as much even attention beside it. Not controlled: heads that look at tokens of the same
length have 0.14 to 0.27, of the same class of frequency 0.17 to 0.49, with the same initial 0.38 to 0.59.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Int

from headroles.plans.masks import Band, Every, Match, Same, Without
from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import Contrast, MaskSieve, both_texts
from headroles.sieves.built_in.local import own_text

CONTRAST_MARGIN = 0.05

Square = Bool[np.ndarray, "tokens tokens"]


def identical_cells(example: Example) -> Square:
    """Return the same token elsewhere in the query's own text; for ``a b a c b a``::

        . . 1 . . 1
        . . . . 1 .
        1 . . . . 1
        . . . . . .
        . 1 . . . .
        1 . 1 . . .

    Example:
        >>> identical_cells(Example("six", tuple("abacba"))).astype(int)[1:3].tolist()
        [[0, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 1]]
    """
    return identical_mask(example).rows(0, example.size)


def identical_other_cells(example: Example) -> Square:
    """Return the same token in the other text; for ``a b c`` and ``b a a`` without special tokens::

        . . . . 1 1
        . . . 1 . .
        . . . . . .
        . 1 . . . .
        1 . . . . .
        1 . . . . .

    Example:
        >>> pair = Example("six", tuple("abcbaa"), segment=np.array([0, 0, 0, 1, 1, 1]))
        >>> identical_other_cells(pair).astype(int)[:2].tolist()
        [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0]]
    """
    return identical_other_mask(example).rows(0, example.size)


def duplicate_cells(example: Example) -> Square:
    """Return earlier occurrences of the same token in any text; for ``a b a c b a``::

        . . . . . .
        . . . . . .
        1 . . . . .
        . . . . . .
        . 1 . . . .
        1 . 1 . . .

    Example:
        >>> duplicate_cells(Example("six", tuple("abacba"))).astype(int)[4:].tolist()
        [[0, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0]]
    """
    return duplicate_mask(example).rows(0, example.size)


def induction_cells(example: Example) -> Square:
    """Return the tokens right after an earlier occurrence of the query's token; for ``a b a c b a``::

        . . . . . .
        . . . . . .
        . 1 . . . .
        . . . . . .
        . . 1 . . .
        . 1 . 1 . .

    The query itself is left out: in ``a a`` the token after the first a is the second, which has no key.

    Example:
        >>> induction_cells(Example("six", tuple("abacba"))).astype(int)[4:].tolist()
        [[0, 0, 1, 0, 0, 0], [0, 1, 0, 1, 0, 0]]
    """
    return induction_mask(example).rows(0, example.size)


def identical_mask(example: Example) -> Without:
    """Return the cells of ``identical_cells``."""
    return Without(Every((_same(example), Same(example.segment))), _diagonal(example))


def identical_other_mask(example: Example) -> Without:
    """Return the cells of ``identical_other_cells``."""
    return Without(_same(example), Same(example.segment))


def duplicate_mask(example: Example) -> Every:
    """Return the cells of ``duplicate_cells``."""
    return Every((_same(example), _earlier(example)))


def induction_mask(example: Example) -> Every:
    """Return the cells of ``induction_cells``."""
    labels = _same(example).labels
    return Every((Match(labels, np.concatenate([[-1], labels[:-1]])[: len(labels)]), _earlier(example)))


def other_text(example: Example) -> Match:
    """Return the keys of the other text; special tokens see none, and none sees them."""
    return Match(np.where(example.segment >= 0, 1 - example.segment, -1), example.segment)


def earlier_in_texts(example: Example) -> Every:
    """Return earlier keys of both texts."""
    return Every((both_texts(example), _earlier(example)))


@lru_cache(maxsize=64)
def _same(example: Example) -> Same:
    """Return the pairs of equal tokens of the texts; special tokens are in none."""
    return Same(np.where(example.segment >= 0, _token_numbers(example.tokens), -1))


def _diagonal(example: Example) -> Band:
    return Band(0, 0, example.size)


def _earlier(example: Example) -> Band:
    return Band(-example.size, -1, example.size)


def _token_numbers(tokens: tuple[str, ...]) -> Int[np.ndarray, " tokens"]:
    """Return one number per spelling."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(token, len(numbers)) for token in tokens], dtype=np.int64)


identical = MaskSieve(
    name="identical",
    mask=identical_mask,
    question="Does the head look at the same token elsewhere in its text, beyond what distance gives?",
    source="Vig 2019 (Deconstructing BERT), identical words in the same sentence",
    words=RoleWords(
        "same token elsewhere",
        "looks at the same token elsewhere in its text",
        "sentence",
        "Id",
        ("vig2019deconstructing",),
        whole=False,
    ),
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=identical_mask, scope=both_texts, others=own_text),
)

identical_other = MaskSieve(
    name="identical:other",
    mask=identical_other_mask,
    question="Does the head look at the same token in the other text, beyond what distance gives?",
    source="Vig 2019 (Deconstructing BERT), identical words in the other sentence",
    words=RoleWords(
        "same token in the other text",
        "looks at the same token in the other text",
        "sentence",
        "Io",
        ("vig2019deconstructing",),
    ),
    contrast=Contrast(
        margin=CONTRAST_MARGIN, cells=identical_other_mask, scope=both_texts, others=other_text
    ),
)

duplicate = MaskSieve(
    name="duplicate",
    mask=duplicate_mask,
    question="Does the head look at earlier occurrences of the token, beyond what distance gives?",
    source="Wang et al. 2023, duplicate token heads",
    words=RoleWords(
        "earlier copies of the token",
        "looks at earlier copies of the token",
        mark="Du",
        works=("wang2023interpretability",),
    ),
    contrast=Contrast(
        margin=CONTRAST_MARGIN, cells=duplicate_mask, scope=both_texts, others=earlier_in_texts
    ),
)

induction = MaskSieve(
    name="induction",
    mask=induction_mask,
    question="Does the head look at what followed the token before, beyond what distance gives?",
    source="Olsson et al. 2022, induction heads",
    words=RoleWords(
        "what followed the token before",
        "looks at what followed the token before",
        mark="I",
        works=("olsson2022induction",),
    ),
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=induction_mask, scope=both_texts),
)
