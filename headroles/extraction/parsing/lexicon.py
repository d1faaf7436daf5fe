"""What is known of words and tokens from outside an input: lemmas, vectors, and how often tokens occur."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from jaxtyping import Float32

from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.records.example import Lexical
from headroles.records.passage import Passage, Words

PART = 256
"""Passages that are tokenised at a time to be counted."""


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Lemmas, vectors and frequencies for the inputs of a run; None where not asked for.

    Attributes:
        lemmas: Whether words bring lemmas that are wanted.
        places: Row of each word's vector, words in lower case.
        vectors: The vectors, of length 1, and a last row of zeros for words without one.
        frequency: How often each token occurs in all inputs.
    """

    lemmas: bool = False
    places: Mapping[str, int] | None = None
    vectors: Float32[np.ndarray, "rows dimensions"] | None = None
    frequency: Mapping[str, int] | None = None

    def lexical(self, tokenised: Tokenised, words: Sequence[Words] | None) -> Lexical:
        """What is known of one input.

        Args:
            tokenised: Its pieces.
            words: The words of its texts; None where no sieve reads them.
        """
        texts = list(zip(tokenised.passage.texts, words or (), strict=False))
        lemmas: tuple[str, ...] | None = None
        if self.lemmas and words is not None:
            lemmas = tuple(lemma for _, each in texts for lemma in each.lemmas or ("",) * len(each.relations))
        vectors = None
        if self.places is not None and self.vectors is not None and words is not None:
            spans = [(text, *span) for text, each in texts for span in each.spans.tolist()]
            unknown = len(self.vectors) - 1
            rows = [self.places.get(text[start:stop].lower(), unknown) for text, start, stop in spans]
            vectors = self.vectors[np.array(rows, dtype=np.int64)]
        often = None
        if self.frequency is not None:
            often = np.array([self.frequency.get(token, 0) for token in tokenised.tokens], dtype=np.int64)
        return Lexical(lemmas=lemmas, vectors=vectors, frequency=often)


def unit_rows(table: Float32[np.ndarray, "words dimensions"]) -> Float32[np.ndarray, "rows dimensions"]:
    """Vectors of length 1 (zeros stay zeros), and a last row of zeros.

    Example:
        >>> unit_rows(np.array([[3, 4], [0, 0]], dtype=np.float32)).tolist()
        [[0.6000000238418579, 0.800000011920929], [0.0, 0.0], [0.0, 0.0]]
    """
    length = np.linalg.norm(table.astype(np.float64), axis=1, keepdims=True)
    unit = np.divide(table, length, out=np.zeros(table.shape), where=length > 0)
    return np.concatenate([unit, np.zeros((1, table.shape[1]))]).astype(np.float32)


def token_frequencies(tokenizer: Any, passages: Iterable[Passage], max_length: int) -> Counter[str]:
    """How often each token occurs in inputs as the model gets them, special tokens among them.

    Raises:
        BadInput: As for ``tokenise``.
    """
    counted: Counter[str] = Counter()
    coming = iter(passages)
    while part := list(islice(coming, PART)):
        for each in tokenise(tokenizer, part, max_length):
            counted.update(each.tokens)
    return counted
