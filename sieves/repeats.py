"""Keys by the tokens that stand there: the same one, in which text, and what followed it.

Each role asks for a contrast against the head's own distance profile, over all pairs of tokens of the texts.
Measured on rows of QNLI and QQP, mean contrasts of planted heads, encoder and causal: fixed offsets within
0.02 (8 tokens away; near ones 0.007), decay with distance 0.008, absolute positions 0.02, separators 0.002,
own text or other text from anywhere 0.034; a head that looks at the sieve's keys and elsewhere at
separators has 0.35 to 0.72, and with as much even attention beside it 0.31 to 0.46. Not controlled: how
frequent tokens are; heads that look at frequent tokens, or at marks, from anywhere have a contrast of up to
0.07, with a selectivity of up to 0.08.
"""

import numpy as np
from jaxtyping import Bool, Int

from headroles.records import Example
from headroles.sieves.base import Contrast, MaskSieve
from headroles.sieves.block import both_texts

CONTRAST_MARGIN = 0.05

Square = Bool[np.ndarray, "tokens tokens"]


def identical_cells(example: Example) -> Square:
    """The same token elsewhere in the query's own text; for ``a b a c b a``::

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
    own: Square = example.segment[:, None] == example.segment[None, :]
    cells: Square = _same(example) & own & ~np.eye(example.size, dtype=np.bool_)
    return cells


def identical_other_cells(example: Example) -> Square:
    """The same token in the other text; for ``a b c`` and ``b a a`` without special tokens::

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
    other: Square = example.segment[:, None] != example.segment[None, :]
    cells: Square = _same(example) & other
    return cells


def duplicate_cells(example: Example) -> Square:
    """Earlier occurrences of the same token in any text; for ``a b a c b a``::

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
    earlier: Square = np.tri(example.size, k=-1, dtype=np.bool_)
    cells: Square = _same(example) & earlier
    return cells


def induction_cells(example: Example) -> Square:
    """Tokens right after an earlier occurrence of the query's token, the query left out; ``a b a c b a``::

        . . . . . .
        . . . . . .
        . 1 . . . .
        . . . . . .
        . . 1 . . .
        . 1 . 1 . .

    In ``a a`` the token after the first a is the second, and no key of its own.

    Example:
        >>> induction_cells(Example("six", tuple("abacba"))).astype(int)[4:].tolist()
        [[0, 0, 1, 0, 0, 0], [0, 1, 0, 1, 0, 0]]
    """
    after = np.zeros((example.size, example.size), dtype=np.bool_)
    after[:, 1:] = duplicate_cells(example)[:, :-1]
    return after & ~np.eye(example.size, dtype=np.bool_)


def _same(example: Example) -> Square:
    """Pairs of equal tokens of the texts; special tokens are in none."""
    names = _numbered(example.tokens)
    text = example.segment >= 0
    pairs: Square = (names[:, None] == names[None, :]) & text[:, None] & text[None, :]
    return pairs


def _numbered(tokens: tuple[str, ...]) -> Int[np.ndarray, " tokens"]:
    """One number per spelling."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(token, len(numbers)) for token in tokens], dtype=np.int64)


identical = MaskSieve(
    name="identical",
    mask=identical_cells,
    question="Does the head look at the same token elsewhere in its text, beyond what distance gives?",
    source="Vig 2019 (Deconstructing BERT), identical words in the same sentence",
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=identical_cells, scope=both_texts),
)

identical_other = MaskSieve(
    name="identical:other",
    mask=identical_other_cells,
    question="Does the head look at the same token in the other text, beyond what distance gives?",
    source="Vig 2019 (Deconstructing BERT), identical words in the other sentence",
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=identical_other_cells, scope=both_texts),
)

duplicate = MaskSieve(
    name="duplicate",
    mask=duplicate_cells,
    question="Does the head look at earlier occurrences of the token, beyond what distance gives?",
    source="Wang et al. 2023, duplicate token heads",
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=duplicate_cells, scope=both_texts),
)

induction = MaskSieve(
    name="induction",
    mask=induction_cells,
    question="Does the head look at what followed the token before, beyond what distance gives?",
    source="Olsson et al. 2022, induction heads",
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=induction_cells, scope=both_texts),
)
