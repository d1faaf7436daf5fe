"""Passages to examples: a tokenizer's pieces with their texts, words and special tokens."""

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
    """One passage as the model gets it.

    Attributes:
        passage: Where it comes from.
        inputs: What the tokenizer returned for the model, unpadded: token ids and the like.
        tokens: The pieces, special tokens included.
        texts: Which text each piece belongs to; −1 on special tokens.
        spans: Character span of each piece in its text.
        class_id: Whether each piece is the class token by its id.
        truncated: Whether pieces were cut off.
        stack: Of the pieces of a joint input for cross attention, 0 where the decoder reads them and 1
            where the encoder does; None of any other input.
    """

    passage: Passage
    inputs: dict[str, list[int]]
    tokens: tuple[str, ...]
    texts: Int[np.ndarray, " tokens"]
    spans: Int[np.ndarray, "tokens 2"]
    class_id: np.ndarray
    truncated: bool
    stack: Int[np.ndarray, " tokens"] | None = None

    @property
    def size(self) -> int:
        """Number of pieces."""
        return len(self.tokens)


@runtime_checkable
class OwnWay(Protocol):
    """A tokenizer that makes passages ready in a way of its own."""

    def tokenised(self, passages: Sequence[Passage], max_length: int) -> list[Tokenised]:
        """The passages as the model gets them."""


def tokenise(tokenizer: Any, passages: Sequence[Passage], max_length: int) -> list[Tokenised]:
    """Tokenise passages, truncating the longest text first.

    Texts and special tokens come from the tokenizer's sequence ids, never from ``token_type_ids``
    or lists of special tokens; special tokens written out in a text stay text.

    Raises:
        BadInput: When the tokenizer keeps no character offsets or makes nothing of a text, or single
            texts and pairs are mixed.
    """
    if isinstance(tokenizer, OwnWay):
        return tokenizer.tokenised(passages, max_length)
    if not getattr(tokenizer, "is_fast", False):
        raise BadInput(
            f"headroles needs a fast tokenizer, which keeps character offsets, "
            f"but {type(tokenizer).__name__} is not one; save the model with a tokenizer.json"
        )
    widths = {len(passage.texts) for passage in passages}
    if len(widths) > 1:
        raise BadInput("a run has single texts or pairs, but both came; split them into two files")
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
    made = []
    for k, (passage, encoding) in enumerate(zip(passages, batch.encodings, strict=True)):
        ids = encoding.sequence_ids
        if not ids:
            raise BadInput(
                f"every input has at least one token, but {type(tokenizer).__name__} makes none of "
                f"{passage.key!r} ({passage.texts[0][:40]!r}); mend or drop it"
            )
        made.append(
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
    return made


def example_of(
    tokenised: Tokenised, words: Sequence[Words] | None, arcs: bool, lexical: Lexical | None = None
) -> Example:
    """The example of a tokenised passage.

    Args:
        tokenised: Its pieces.
        words: Words and trees of its texts; None when no sieve needs them.
        arcs: Whether the arcs are wanted too.
        lexical: What is known of its words and tokens from outside it.
    """
    special = tokenised.texts < 0
    word = np.full(tokenised.size, -1, dtype=np.int32)
    found: list[Arc] = []
    base = 0
    for text, each in enumerate(words or ()):
        mine = np.flatnonzero(tokenised.texts == text)
        word[mine] = base + _aligned(tokenised.passage.texts[text], tokenised.spans[mine], each)
        if arcs:
            pairs = zip(each.heads.tolist(), each.relations, strict=True)
            found += [
                Arc(base + index, base + head, relation)
                for index, (head, relation) in enumerate(pairs)
                if head >= 0
            ]
        base += len(each.heads)
    return Example(
        key=tokenised.passage.key,
        tokens=tokenised.tokens,
        segment=tokenised.texts,
        special=special,
        first=opening(tokenised),
        word=word,
        arcs=tuple(found) if arcs and words is not None else None,
        group=tokenised.passage.group,
        mentions=tokenised.passage.mentions,
        lexical=lexical,
        stack=np.zeros_like(word) if tokenised.stack is None else tokenised.stack,
    )


def opening(tokenised: Tokenised) -> Bool[np.ndarray, " tokens"]:
    """The class token by its id; without one, the special token that opens the input."""
    special = tokenised.texts < 0
    by_id: np.ndarray = special & tokenised.class_id
    if by_id.any():
        return by_id
    first = np.zeros_like(special)
    first[:1] = special[:1] & (not special.all())
    return first


def _aligned(text: str, spans: np.ndarray, words: Words) -> Int[np.ndarray, " pieces"]:
    """The word that holds each piece's first visible character.

    Blanks at a piece's start are passed over; a piece without a visible character goes to the next
    word (the last one at the end of the text).
    """
    starts = np.array([_visible(text, int(start), int(end)) for start, end in spans], dtype=np.int64)
    ends = words.spans[:, 1]
    index = np.searchsorted(ends, starts, side="right")
    clipped: np.ndarray = np.minimum(index, len(ends) - 1)
    return clipped


def _visible(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start
