"""Tokenise passages, and make examples of the pieces with their texts, words and special tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from headroles.errors import BadInput
from headroles.records.example import Arc, Example, Lexical
from headroles.records.passage import Passage, Words


@dataclass(frozen=True, slots=True, eq=False)
class Tokenised:
    """One passage as the model reads it.

    Attributes:
        passage: The passage.
        inputs: Inputs of the model by name, unpadded, such as token ids.
        tokens: The pieces, special tokens included.
        texts: The text that each piece belongs to; −1 on special tokens.
        spans: Character span of each piece in its text.
        class_id: Whether each piece is the class token by its id.
        truncated: Whether pieces were cut off.
        stack: For a joint input for cross attention, 0 for pieces that the decoder reads and 1 for those
            that the encoder reads; None for any other input.
        word: Word of each piece among the words of the passage, −1 for none, where a list of maps gives it;
            None where it is the word at the piece's characters.
    """

    passage: Passage
    inputs: dict[str, list[int]]
    tokens: tuple[str, ...]
    texts: Int[np.ndarray, " tokens"]
    spans: Int[np.ndarray, "tokens 2"]
    class_id: np.ndarray
    truncated: bool
    stack: Int[np.ndarray, " tokens"] | None = None
    word: Int[np.ndarray, " tokens"] | None = None

    @property
    def size(self) -> int:
        """Return the number of pieces."""
        return len(self.tokens)


@runtime_checkable
class PassageTokenizer(Protocol):
    """A tokenizer that tokenises whole passages by its own rule."""

    def tokenised(self, passages: Sequence[Passage], max_length: int) -> list[Tokenised]:
        """Return the passages as the model reads them."""


def tokenise(tokenizer: Any, passages: Sequence[Passage], max_length: int) -> list[Tokenised]:
    """Tokenise passages, truncating the longest text first.

    Texts and special tokens come from the tokenizer's sequence ids, never from ``token_type_ids``
    or lists of special tokens; special tokens written out in a text stay text.

    Raises:
        BadInput: When the tokenizer keeps no character offsets or makes no token of a text, or single
            texts and pairs are mixed.
    """
    if isinstance(tokenizer, PassageTokenizer):
        return tokenizer.tokenised(passages, max_length)
    if not getattr(tokenizer, "is_fast", False):
        raise BadInput(
            f"headroles needs a fast tokenizer, which keeps character offsets, "
            f"but {type(tokenizer).__name__} is not one; save the model with a tokenizer.json"
        )
    widths = {len(passage.texts) for passage in passages}
    if len(widths) > 1:
        raise BadInput("a run has single texts or pairs, but got both; split them into two files")
    columns = [[passage.texts[k] for passage in passages] for k in range(widths.pop() if widths else 0)]
    if not columns:
        return []
    batch = tokenizer(
        *columns,
        truncation="longest_first",
        max_length=max_length,
        split_special_tokens=True,
        return_offsets_mapping=False,
    )
    tokenised = []
    for k, (passage, encoding) in enumerate(zip(passages, batch.encodings, strict=True)):
        ids = encoding.sequence_ids
        if not ids:
            raise BadInput(
                f"every input has at least one token, but {type(tokenizer).__name__} makes none of "
                f"{passage.key!r} ({passage.texts[0][:40]!r}); mend or drop it"
            )
        tokenised.append(
            Tokenised(
                passage=passage,
                inputs={name: values[k] for name, values in batch.items()},
                tokens=tuple(encoding.tokens),
                texts=np.array([-1 if text is None else text for text in ids], dtype=np.int32),
                spans=np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2),
                class_id=np.array(encoding.ids) == getattr(tokenizer, "cls_token_id", None),
                truncated=bool(encoding.overflowing),
            )
        )
    return tokenised


def example_of(
    tokenised: Tokenised, words: Sequence[Words] | None, arcs: bool, lexical: Lexical | None = None
) -> Example:
    """Return the example of a tokenised passage.

    Args:
        tokenised: Its pieces.
        words: Words and trees of its texts; None when no sieve needs them. With those of the passage itself,
            the word of each piece is the one that a list of maps gives, if it does.
        arcs: Whether the example has arcs too.
        lexical: Facts about its words and tokens from outside the passage.
    """
    special = tokenised.texts < 0
    listed = tokenised.word if words is tokenised.passage.words else None
    word = np.full(tokenised.size, -1, dtype=np.int32) if listed is None else listed
    all_arcs: list[Arc] = []
    base = 0
    for text, own_words in enumerate(words or ()):
        if listed is None:
            pieces = np.flatnonzero(tokenised.texts == text)
            spans = tokenised.spans[pieces]
            word[pieces] = base + _align_pieces(tokenised.passage.texts[text], spans, own_words)
        if arcs:
            pairs = zip(own_words.heads.tolist(), own_words.relations, strict=True)
            all_arcs += [
                Arc(base + index, base + head, relation)
                for index, (head, relation) in enumerate(pairs)
                if head >= 0
            ]
        base += len(own_words.heads)
    return Example(
        key=tokenised.passage.key,
        tokens=tokenised.tokens,
        segment=tokenised.texts,
        special=special,
        first=first_token(tokenised),
        word=word,
        arcs=tuple(all_arcs) if arcs and words else None,
        group=tokenised.passage.group,
        mentions=tokenised.passage.mentions,
        lexical=lexical,
        stack=np.zeros_like(word) if tokenised.stack is None else tokenised.stack,
    )


def first_token(tokenised: Tokenised) -> Bool[np.ndarray, " tokens"]:
    """Mark the class token, by its id; without one, the special token that opens the input."""
    special = tokenised.texts < 0
    by_id: np.ndarray = special & tokenised.class_id
    if by_id.any():
        return by_id
    first = np.zeros_like(special)
    first[:1] = special[:1] & (not special.all())
    return first


def _align_pieces(text: str, spans: np.ndarray, words: Words) -> Int[np.ndarray, " pieces"]:
    """Return the word that holds each piece's first visible character.

    Blanks at the start of a piece are skipped. A piece without a visible character belongs to the next
    word (to the last one at the end of the text).
    """
    starts = np.array([_first_visible(text, int(start), int(end)) for start, end in spans], dtype=np.int64)
    ends = words.spans[:, 1]
    index = np.searchsorted(ends, starts, side="right")
    clipped: np.ndarray = np.minimum(index, len(ends) - 1)
    return clipped


def _first_visible(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start
