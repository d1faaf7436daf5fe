"""Keys in the other text that are akin to the query's word by lemma or by vector.

The contrast is that of ``headroles.sieves.repeats``, and so are the measured values: planted heads 0.32 to
0.58, positional ones within 0.013, absolute positions 0.021, marks from anywhere below 0.
"""

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadInput
from headroles.lexical import Lexical
from headroles.records import Example
from headroles.sieves.base import Contrast, MaskSieve
from headroles.sieves.block import both_texts
from headroles.sieves.spelling import spelled
from headroles.sieves.syntactic import word_count

LIKE = 0.6
"""Smallest cosine of the vectors of two related words."""
CONTRAST_MARGIN = 0.05

Square = Bool[np.ndarray, "tokens tokens"]


def related_other_cells(example: Example) -> Square:
    """Words of the other text with the same lemma, or whose vectors have a cosine of at least ``LIKE``.

    A word whose lemma is unknown has its spelling in its place, capitals aside. Words without a
    letter are left out. For ``cats ran ,`` and ``, cat runs`` with lemmas, without special tokens::

        . . . . 1 .
        . . . . . 1
        . . . . . .
        . . . . . .
        1 . . . . .
        . 1 . . . .

    Raises:
        BadInput: When the example carries neither lemmas nor vectors, or not one for each word.

    Example:
        >>> example = Example(
        ...     "six",
        ...     ("cats", "ran", ",", ",", "cat", "runs"),
        ...     segment=np.array([0, 0, 0, 1, 1, 1]),
        ...     word=np.arange(6),
        ...     lexical=Lexical(lemmas=("cat", "run", ",", ",", "cat", "run")),
        ... )
        >>> related_other_cells(example).astype(int)[:3].tolist()
        [[0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0]]
    """
    known, words = _likeness(example), word_count(example)
    spellings = [""] * words
    for token, word in zip(example.tokens, example.word.tolist(), strict=True):
        if word >= 0:
            spellings[word] += spelled(token).lower()
    lemmas = known.lemmas or ("",) * words
    names = [lemma.lower() or own for lemma, own in zip(lemmas, spellings, strict=False)]
    numbers = np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1]
    alike = numbers[:, None] == numbers[None, :]
    if known.vectors is not None:
        vectors = known.vectors[:words]
        alike |= vectors @ vectors.T >= LIKE
    content = np.array([any(sign.isalpha() for sign in each) for each in spellings], dtype=np.bool_)
    alike &= content[:, None] & content[None, :]
    inside = np.flatnonzero(example.word >= 0)
    own, segment = example.word[inside], example.segment[inside]
    cells = np.zeros((example.size, example.size), dtype=np.bool_)
    cells[np.ix_(inside, inside)] = alike[np.ix_(own, own)] & (segment[:, None] != segment[None, :])
    return cells


def _likeness(example: Example) -> Lexical:
    """What says which words are alike, when something does and for each word.

    Raises:
        BadInput: Otherwise.
    """
    known, words = example.lexical, word_count(example)
    if known is None or (known.lemmas is None and known.vectors is None):
        raise BadInput(
            f"the sieve 'related:other' needs lemmas or vectors of words, but example {example.key!r} has "
            f"neither; give it Lexical(lemmas=…) or Lexical(vectors=…), or leave the sieve out"
        )
    for what, found in (("lemmas", known.lemmas), ("vectors", known.vectors)):
        if found is not None and len(found) < words:
            raise BadInput(
                f"every word has one entry among the {what}, but example {example.key!r} has {words} words "
                f"and {len(found)} {what}"
            )
    return known


related_other = MaskSieve(
    name="related:other",
    mask=related_other_cells,
    question="Does the head look at related words in the other text, beyond what distance gives?",
    source="Vig 2019 (Deconstructing BERT), related words in the other sentence",
    needs=frozenset({"likeness"}),
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=related_other_cells, scope=both_texts),
)
