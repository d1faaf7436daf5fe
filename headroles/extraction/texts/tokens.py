"""Tokenise passages, and make examples of the pieces with their texts, words and special tokens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from headroles.errors import BadInput
from headroles.records.example import Arc, Example, Lexical
from headroles.records.passage import Passage, Words

FAR, LONG = 100, 100_000
"""Characters for each token that fits beyond which a text is very long; characters of it that are counted."""
SPARE = 16
"""Tokens of a very long text that are kept for truncation, beyond those that fit."""
WORD = 200
"""Characters behind these in which a blank is looked for; longer words are cut."""
BLANK = re.compile(r"\s")
MARGIN = 4_000
"""Characters behind the last token of an input that was cut which a parser still reads."""


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
    or lists of special tokens; special tokens written out in a text stay text. Of a very long text only a
    start is tokenised that has more tokens than fit.

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
    if not passages:
        return []
    columns = zip(*(_starts_of(tokenizer, passage.texts, max_length) for passage in passages), strict=True)
    batch = tokenizer(
        *map(list, columns),
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


def _starts_of(tokenizer: Any, texts: tuple[str, ...], max_length: int) -> tuple[str, ...]:
    """Return the texts of a passage without what lies far behind the tokens that fit, if any is very long.

    They are cut at blanks, so that all tokens that fit are those of the whole texts, and so that the text
    with more tokens keeps more of them: it is truncated first. The library would pair every part of one
    text with every part of the other.
    """
    ends_left = getattr(tokenizer, "truncation_side", "right") == "left"  # keeps the end of a text
    if ends_left or max(map(len, texts)) <= FAR * max_length:
        return texts
    ends, counts = zip(*(_ends_of_tokens(tokenizer, text, max_length) for text in texts), strict=True)
    starts = []
    for text, own, count in zip(texts, ends, counts, strict=True):
        last = max_length + (4 * SPARE if count == max(counts) else SPARE)
        if len(own) <= last:
            starts.append(text)
            continue
        stop = int(own[last]) + WORD
        blank = BLANK.search(text, int(own[last]), stop)
        starts.append(text[: blank.start() if blank else stop])
    return tuple(starts)


def _ends_of_tokens(tokenizer: Any, text: str, max_length: int) -> tuple[Int[np.ndarray, " tokens"], float]:
    """Return the ends of the tokens of a text, or of a start that has far more than fit, and their number.

    The number is that of the whole text, estimated where only a start was tokenised.
    """
    size = max(LONG, FAR * max_length)
    while True:
        start = _cut_at_blank(text, size // 2, size)
        batch = tokenizer([start], add_special_tokens=False, split_special_tokens=True, verbose=False)
        offsets = np.array(batch.encodings[0].offsets, dtype=np.int64).reshape(-1, 2)
        if len(start) == len(text) or len(offsets) > max_length + 4 * SPARE:
            return offsets[:, 1], len(offsets) * len(text) / len(start)
        size *= 2


def _cut_at_blank(text: str, least: int, most: int) -> str:
    """Return the start of a text, cut at the last blank between two places, or at the second one.

    Example:
        >>> _cut_at_blank("it rains again", 2, 10), _cut_at_blank("it rains again", 4, 6)
        ('it rains', 'it rai')
    """
    if len(text) <= most:
        return text
    parts = text[least:most].rsplit(None, 1)
    return text[:least] + parts[0] if len(parts) == 2 else text[:most]


def parsed_part(tokenised: Tokenised) -> Passage:
    """Return the passage as a parser reads it: without what lies far behind the tokens of the input.

    Each text of an input that was cut ends at a blank at most ``MARGIN`` characters behind its last token.
    A parser reads on from the left, so words up to there get the heads that they have in the whole text,
    unless their sentence reaches beyond it. Texts with words of their own, and those that were not cut, are
    returned as they are.
    """
    passage = tokenised.passage
    if not tokenised.truncated or passage.words is not None:
        return passage
    ends = [int(tokenised.spans[tokenised.texts == k, 1].max(initial=0)) for k in range(len(passage.texts))]
    texts = (_cut_at_blank(text, end, end + MARGIN) for text, end in zip(passage.texts, ends, strict=True))
    return replace(passage, texts=tuple(texts))


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
        upos=_word_classes(words or ()),
        stack=np.zeros_like(word) if tokenised.stack is None else tokenised.stack,
    )


def _word_classes(words: Sequence[Words]) -> tuple[str, ...] | None:
    """Return the universal part of speech of the words of all texts; None where a text has none."""
    classes: list[str] = []
    for own in words:
        if own.upos is None:
            return None
        classes += own.upos
    return tuple(classes) if classes else None


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
    starts = np.array([_first_visible(text, start, end) for start, end in spans.tolist()], dtype=np.int64)
    ends = words.spans[:, 1]
    index = np.searchsorted(ends, starts, side="right")
    clipped: np.ndarray = np.minimum(index, len(ends) - 1)
    return clipped


def _first_visible(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start
