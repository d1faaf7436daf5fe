"""Cut running text into pairs of consecutive segments, each pair within a number of tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from headroles.errors import BadInput


@dataclass(frozen=True, slots=True)
class Pair:
    """Two segments of one document, the second right after the first.

    Attributes:
        first: A slice of the document's text, without blanks at its ends.
        second: The next slice, with only blanks between them.
        tokens: Length of the input of both, special tokens included.
    """

    first: str
    second: str
    tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of a text.

    Attributes:
        text: The text.
        spans: Character span of each token.
        cuts: Where the text may be cut (``cuts_between``).
    """

    text: str
    spans: Int[np.ndarray, "tokens 2"]
    cuts: Bool[np.ndarray, " places"]

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.spans)

    def slice(self, start: int, stop: int) -> str:
        """Return the text of the words that lie wholly between two tokens, without blanks at its ends."""
        places = np.flatnonzero(self.cuts[start : stop + 1]) + start
        if places.size < 2:
            return ""
        return self.text[self.spans[places[0], 0] : self.spans[places[-1] - 1, 1]].strip()


class PairCutter:
    """Cuts documents into pairs by a tokenizer."""

    def __init__(self, tokenizer: Any, max_length: int) -> None:
        """Take a fast tokenizer, and the longest input in tokens, special tokens included.

        Raises:
            BadInput: When the tokenizer keeps no character offsets, or nothing but special tokens fits.
        """
        if not getattr(tokenizer, "is_fast", False):
            raise BadInput(
                f"headroles needs a fast tokenizer, which keeps character offsets, but "
                f"{type(tokenizer).__name__} is not one; name a model that has a tokenizer.json"
            )
        self._tokenizer = tokenizer
        self._special = special = int(tokenizer.num_special_tokens_to_add(pair=True))
        self.room = max_length - special
        if self.room < 2:
            raise BadInput(
                f"an input holds {special} special tokens and at least one more of each text, but "
                f"--max-length is {max_length}; give at least {special + 2}"
            )

    def pairs(self, text: str, rng: np.random.Generator) -> Iterator[Pair]:
        """Yield consecutive pairs of a document, each as long as fits; the rest at its end is the last pair.

        Cuts are between words where the tokenizer knows words, else at blanks, else between tokens. The
        first segment ends at a cut drawn evenly from those in the middle half of the pair's tokens (the
        one nearest the middle when none lies there). A remainder of fewer than half the tokens that fit
        is left out.

        Args:
            text: The document.
            rng: Draws where first segments end.
        """
        tokens = self.tokens(text)
        spans, cuts = tokens.spans, np.flatnonzero(tokens.cuts)
        start, end = 0, len(spans)
        while 2 * (end - start) >= self.room and end - start >= 2:
            pair_and_end = self._pair(
                text, spans, cuts[(cuts > start) & (cuts <= start + self.room)], start, rng
            )
            if pair_and_end is None:  # a word longer than an input
                beyond = cuts[cuts > start]
                start = int(beyond[0]) if beyond.size else end
                continue
            pair, start = pair_and_end
            yield pair

    def tokens(self, text: str) -> Tokens:
        """Return the tokens of a text, without special tokens."""
        encoding = self._encoded(text)
        spans = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        words = np.array([-1 if word is None else word for word in encoding.word_ids], dtype=np.int64)
        return Tokens(text, spans, cuts_between(text, spans, words))

    def pair(self, first: str, second: str) -> Pair:
        """Return two segments as a pair, with its number of tokens."""
        return Pair(first, second, len(self._encoded(first, second)) + self._special)

    def _pair(
        self,
        text: str,
        spans: Int[np.ndarray, "tokens 2"],
        cuts: Int[np.ndarray, "_"],
        start: int,
        rng: np.random.Generator,
    ) -> tuple[Pair, int] | None:
        """Return the pair that starts at a token, and the start of the next one; None when there is none.

        A slice can have more tokens alone than within its document: then the last cut is dropped.
        """
        while cuts.size >= 2:
            stop = int(cuts[-1])
            middle = int(_split(cuts[:-1], start, stop, rng))
            first = text[spans[start, 0] : spans[middle - 1, 1]].strip()
            second = text[spans[middle, 0] : spans[stop - 1, 1]].strip()
            if not first or not second:
                return None
            pair = self.pair(first, second)
            if pair.tokens <= self.room + self._special:
                return pair, stop
            cuts = cuts[:-1]
        return None

    def _encoded(self, *texts: str) -> Any:
        """Encode one or two texts without special tokens; special tokens spelled in a text stay text."""
        return self._tokenizer(
            *texts, add_special_tokens=False, split_special_tokens=True, verbose=False
        ).encodings[0]


def cuts_between(
    text: str, spans: Int[np.ndarray, "tokens 2"], words: Int[np.ndarray, " tokens"]
) -> Bool[np.ndarray, " places"]:
    """Return where a text may be cut: before each token, and after the last (tokens + 1 places).

    Cuts are between words where the tokenizer knows them, else at blanks where there are any. No cut is
    inside a character that several tokens share.

    Args:
        text: The text.
        spans: Character span of each token.
        words: Word of each token by the tokenizer; −1 where it gives none.

    Example:
        >>> spans = np.array([[0, 3], [3, 5], [6, 9]])
        >>> cuts_between("small cat", spans, np.array([0, 0, 1])).tolist()
        [True, False, True, True]
        >>> cuts_between("small cat", spans, np.array([0, 0, 0])).tolist()
        [True, False, True, True]
        >>> cuts_between("smallscat", spans, np.array([0, 0, 0])).tolist()
        [True, True, True, True]
    """
    places = np.ones(len(spans) + 1, dtype=np.bool_)
    if len(spans) > 1:
        whole = spans[1:, 0] >= np.maximum.accumulate(spans[:-1, 1])
        apart = words[1:] != words[:-1]
        if not apart.any():
            around = [text[max(start - 1, 0) : start + 1] for start in spans[1:, 0]]
            apart = np.array([any(sign.isspace() for sign in signs) for signs in around])
        places[1:-1] = whole & apart if apart.any() else whole
    return places


def _split(cuts: Int[np.ndarray, "_"], start: int, stop: int, rng: np.random.Generator) -> int:
    """Draw a cut from the middle half of a pair, or take the one nearest the middle."""
    quarter = (stop - start) / 4
    middle = cuts[(cuts >= start + quarter) & (cuts <= stop - quarter)]
    if middle.size:
        return int(rng.choice(middle))
    return int(cuts[np.abs(cuts - (start + stop) / 2).argmin()])
