"""Keys in the other text that are related to the query's word by lemma or by vector.

The contrast is that of ``headroles.sieves.built_in.repeats``, measured in the same way: heads of the role
0.65 to 0.87, keys alone and positions at most 0.01, the same length 0.18 to 0.24, the same class of frequency
0.16 to 0.26, the same first letter 0.38 to 0.42.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.errors import BadInput
from headroles.plans.masks import Same, Without
from headroles.records.example import Example, Lexical
from headroles.records.roles import RoleWords
from headroles.sieves.base import Contrast, MaskSieve, both_texts
from headroles.sieves.built_in.repeats import other_text
from headroles.sieves.built_in.syntactic import word_count
from headroles.sieves.language.spelling import spelling_of

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
    """A mask of the tokens of words that are related by lemma or by vector.

    Attributes:
        word: Word of each token; −1 for none.
        name: Number of each word's lemma; −1 for words without a letter.
        vectors: One vector of length 1 per word.
    """

    word: Int[np.ndarray, " tokens"]
    name: Int[np.ndarray, " words"]
    vectors: Float[np.ndarray, "words dimensions"]

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the mask of queries ``start`` to ``stop``."""
        own, content = self.word[start:stop], self.name >= 0
        words = slice(int(own.max(initial=0)) + 1)
        words = slice(int(own[own >= 0].min(initial=words.stop)), words.stop)
        alike = (self.name[words, None] == self.name) | (self.vectors[words] @ self.vectors.T >= LIKE)
        alike &= content[words, None] & content
        edged = np.pad(alike, ((0, 1), (0, 1)))  # tokens of no word are in the last row and column
        rows = np.where(own >= 0, own - words.start, -1)
        cells: np.ndarray = edged.take(rows, axis=0, mode="wrap").take(self.word, axis=1, mode="wrap")
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
    named = np.where(content, numbers, -1)
    if known.vectors is None:
        return Without(Same(np.append(named, -1)[example.word]), Same(example.segment))
    return Without(RelatedWords(example.word, named, known.vectors[:words]), Same(example.segment))


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
    words=RoleWords(
        "related words in the other text",
        "looks at related words in the other text",
        "sentence",
        "Ro",
        ("vig2019deconstructing",),
    ),
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=related_other_mask, scope=both_texts, others=other_text),
)
