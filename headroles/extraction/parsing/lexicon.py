"""Lemmas, word vectors and token frequencies: facts about words and tokens from outside an input."""

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
"""Number of passages that are tokenised at once for counting."""


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Lemmas, vectors and frequencies for the inputs of a run; None where they are not requested.

    Attributes:
        lemmas: Whether the words have lemmas and lemmas are requested.
        places: Row of the vector of each word, words in lower case.
        vectors: The vectors, of length 1, and a last row of zeros for words without a vector.
        frequency: Count of each token in all inputs.
    """

    lemmas: bool = False
    places: Mapping[str, int] | None = None
    vectors: Float32[np.ndarray, "rows dimensions"] | None = None
    frequency: Mapping[str, int] | None = None

    def lexical(self, tokenised: Tokenised, words: Sequence[Words] | None) -> Lexical:
        """Return lemmas, vectors and frequencies of one input.

        Args:
            tokenised: Its tokens.
            words: The words of its texts; None where no sieve reads them. Words of a list of maps have
                neither lemmas nor characters, and so no vectors.
        """
        if tokenised.word is not None and words is tokenised.passage.words:
            words = None
        texts = list(zip(tokenised.passage.texts, words or (), strict=False))
        lemmas: tuple[str, ...] | None = None
        if self.lemmas and words is not None:
            lemmas = tuple(
                lemma for _, parse in texts for lemma in parse.lemmas or ("",) * len(parse.relations)
            )
        vectors = None
        if self.places is not None and self.vectors is not None and words is not None:
            spans = [(text, *span) for text, parse in texts for span in parse.spans.tolist()]
            unknown = len(self.vectors) - 1
            rows = [self.places.get(text[start:stop].lower(), unknown) for text, start, stop in spans]
            vectors = self.vectors[np.array(rows, dtype=np.int64)]
        counts = None
        if self.frequency is not None:
            counts = np.array([self.frequency.get(token, 0) for token in tokenised.tokens], dtype=np.int64)
        return Lexical(lemmas=lemmas, vectors=vectors, frequency=counts)


def unit_rows(table: Float32[np.ndarray, "words dimensions"]) -> Float32[np.ndarray, "rows dimensions"]:
    """Scale vectors to length 1 (zeros stay zeros), and add a last row of zeros.

    Example:
        >>> unit_rows(np.array([[3, 4], [0, 0]], dtype=np.float32)).tolist()
        [[0.6000000238418579, 0.800000011920929], [0.0, 0.0], [0.0, 0.0]]
    """
    length = np.linalg.norm(table.astype(np.float64), axis=1, keepdims=True)
    unit = np.divide(table, length, out=np.zeros(table.shape), where=length > 0)
    return np.concatenate([unit, np.zeros((1, table.shape[1]))]).astype(np.float32)


def token_frequencies(tokenizer: Any, passages: Iterable[Passage], max_length: int) -> Counter[str]:
    """Count each token in the inputs as the model gets them, with special tokens.

    Raises:
        BadInput: As for ``tokenise``.
    """
    counts: Counter[str] = Counter()
    remaining = iter(passages)
    while part := list(islice(remaining, PART)):
        for tokenised in tokenise(tokenizer, part, max_length):
            counts.update(tokenised.tokens)
    return counts
