"""Keys in the other text that are related to the query's word by lemma or by vector.

The contrast is that of ``headroles.sieves.built_in.repeats``, measured in the same way: heads of the role
0.65 to 0.87, keys alone and positions at most 0.01, the same length 0.18 to 0.24, the same class of frequency
0.16 to 0.26, the same first letter 0.38 to 0.42.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.errors import BadInput
from headroles.records.example import Example, Lexical
from headroles.sieves.base import Contrast, MaskSieve, both_texts
from headroles.sieves.built_in.repeats import other_text
from headroles.sieves.built_in.syntactic import word_count
from headroles.sieves.language.spelling import spelling_of
from headroles.sieves.masks import Same, Without

LIKE = 0.6
"""Smallest cosine of the vectors of two related words."""
CONTRAST_MARGIN = 0.05

Square = Bool[np.ndarray, "tokens tokens"]


def related_other_cells(example: Example) -> Square:
    """Return words of the other text with the same lemma, or with a cosine of vectors of at least ``LIKE``.

    The spelling in lower case stands for a lemma that is unknown. Words without a
    letter are left out. For ``cats ran ,`` and ``, cat runs`` with lemmas, without special tokens::

        . . . . 1 .
        . . . . . 1
        . . . . . .
        . . . . . .
        1 . . . . .
        . 1 . . . .

    Raises:
        BadInput: When the example has neither lemmas nor vectors, or fewer than words.

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
    return related_other_mask(example).rows(0, example.size)


@dataclass(frozen=True, slots=True, eq=False)
class RelatedWords:
    """A mask of the tokens of related words.

    Attributes:
        word: Word of each token; −1 for none.
        name: Number of each word's lemma.
        content: Whether a word has a letter.
        vectors: One vector of length 1 per word; None for none.
    """

    word: Int[np.ndarray, " tokens"]
    name: Int[np.ndarray, " words"]
    content: Bool[np.ndarray, " words"]
    vectors: Float[np.ndarray, "words dimensions"] | None

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the mask of queries ``start`` to ``stop``."""
        own = self.word[start:stop]
        rows, columns = np.flatnonzero(own >= 0), np.flatnonzero(self.word >= 0)
        cells = np.zeros((stop - start, len(self.word)), dtype=np.bool_)
        if rows.size:
            words = slice(int(own[rows].min()), int(own[rows].max()) + 1)
            alike = self.name[words, None] == self.name[None, :]
            if self.vectors is not None:
                alike |= self.vectors[words] @ self.vectors.T >= LIKE
            alike &= self.content[words, None] & self.content[None, :]
            cells[np.ix_(rows, columns)] = alike[np.ix_(own[rows] - words.start, self.word[columns])]
        return cells


def related_other_mask(example: Example) -> Without:
    """Return the cells of ``related_other_cells``."""
    known, words = _likeness(example), word_count(example)
    spellings = [""] * words
    for token, word in zip(example.tokens, example.word.tolist(), strict=True):
        if word >= 0:
            spellings[word] += spelling_of(token).lower()
    lemmas = known.lemmas or ("",) * words
    names = [lemma.lower() or own for lemma, own in zip(lemmas, spellings, strict=False)]
    numbers = np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1]
    content = np.array([any(sign.isalpha() for sign in word) for word in spellings], dtype=np.bool_)
    vectors = None if known.vectors is None else known.vectors[:words]
    return Without(RelatedWords(example.word, numbers, content, vectors), Same(example.segment))


def _likeness(example: Example) -> Lexical:
    """Return the lemmas and vectors that tell which words are related, when there is one for each word.

    Raises:
        BadInput: Otherwise.
    """
    known, words = example.lexical, word_count(example)
    if known is None or (known.lemmas is None and known.vectors is None):
        raise BadInput(
            f"the sieve 'related:other' needs lemmas or vectors of words, but example {example.key!r} has "
            f"neither; give it Lexical(lemmas=…) or Lexical(vectors=…), or leave the sieve out"
        )
    for what, given in (("lemmas", known.lemmas), ("vectors", known.vectors)):
        if given is not None and len(given) < words:
            raise BadInput(
                f"every word has one entry among the {what}, but example {example.key!r} has {words} words "
                f"and {len(given)} {what}"
            )
    return known


related_other = MaskSieve(
    name="related:other",
    mask=related_other_mask,
    question="Does the head look at related words in the other text, beyond what distance gives?",
    source="Vig 2019 (Deconstructing BERT), related words in the other sentence",
    needs=frozenset({"likeness"}),
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=related_other_mask, scope=both_texts, others=other_text),
)
