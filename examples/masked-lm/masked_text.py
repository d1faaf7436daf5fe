"""Documents as token sequences with masked words, for training and for measuring."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int

from headroles.extraction.texts.running_text import read_running_text

WIKITEXT_MARK = re.compile(r" @(\S)@ ")
"""Mark that WikiText sets around a character inside a word or number, as in ``3 @.@ 7``."""
LENGTH = 128
"""Most tokens of a sequence, special tokens included."""
SHORTEST = 16
"""Fewest pieces of a sequence; a shorter rest of a document is left out."""
IGNORED = -100
"""Label of a token that is not masked."""


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One document as pieces.

    Attributes:
        name: Its title, or its place in the file.
        pieces: Token ids, without special tokens.
        starts: Whether a word begins at each piece.
    """

    name: str
    pieces: Int[np.ndarray, " pieces"]
    starts: Bool[np.ndarray, " pieces"]


@dataclass(frozen=True, slots=True, eq=False)
class TokenSequence:
    """One sequence that the model gets.

    Attributes:
        tokens: Token ids, special tokens included.
        types: Token types, 1 in the second segment.
        words: Number of the word of each token, from 0; -1 for special tokens.
    """

    tokens: Int[np.ndarray, " tokens"]
    types: Int[np.ndarray, " tokens"]
    words: Int[np.ndarray, " tokens"]


def read_documents(path: Path, tokenizer: Any) -> list[Document]:
    """Read the documents of a text file: divided by titles in the layout of WikiText, or by blank lines.

    Raises:
        BadInput: When the file is missing, empty, binary or not UTF-8.
    """
    documents = []
    for number, text in enumerate(read_running_text(path), start=1):
        lines = [WIKITEXT_MARK.sub(r"\1", line) for line in text.paragraphs]
        encoded = tokenizer(lines, add_special_tokens=False, verbose=False)
        pieces, starts = [], []
        for row, ids in enumerate(encoded.input_ids):
            words = np.array(encoded.word_ids(row), dtype=np.int64)
            pieces.append(np.array(ids, dtype=np.int64))
            starts.append(np.diff(words, prepend=-1) != 0)
        document = Document(f"{path.name}: {number}", np.concatenate(pieces), np.concatenate(starts))
        if len(document.pieces) >= SHORTEST:
            documents.append(document)
    return documents


def cut_document(
    document: Document, tokenizer: Any, draws: np.random.Generator | None = None
) -> Iterator[TokenSequence]:
    """Yield the sequences of a document, cut between words.

    Args:
        document: The document.
        tokenizer: The tokenizer, for its special tokens.
        draws: Draws the first cut, and which sequences have two segments (half of them); None for
            cuts from the start, and one segment each.
    """
    most = LENGTH - 3
    first = int(draws.integers(SHORTEST, most + 1)) if draws is not None else most
    word_starts = np.append(np.flatnonzero(document.starts), len(document.pieces))
    start, end = 0, first
    while start < len(document.pieces):
        end = int(word_starts[np.searchsorted(word_starts, end, side="right") - 1])
        if end <= start:  # a word that is longer than a sequence
            end = min(start + most, len(document.pieces))
        if end - start >= SHORTEST:
            divide = int(draws.integers(1, end - start)) if draws is not None and draws.random() < 0.5 else 0
            divide = divide if document.starts[start + divide] else 0
            yield _sequence(document.pieces[start:end], document.starts[start:end], divide, tokenizer)
        start, end = end, end + most


def _sequence(pieces: np.ndarray, starts: np.ndarray, divide: int, tokenizer: Any) -> TokenSequence:
    """Return pieces with [CLS] and [SEP], and a further [SEP] before the piece ``divide`` unless it is 0."""
    words = np.cumsum(starts) - 1
    words -= words[0]
    cls, sep = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
    none = [-1]
    if not divide:
        tokens = np.concatenate([cls, pieces, sep])
        return TokenSequence(tokens, np.zeros_like(tokens), np.concatenate([none, words, none]))
    tokens = np.concatenate([cls, pieces[:divide], sep, pieces[divide:], sep])
    types = (np.arange(len(tokens)) > divide + 1).astype(np.int64)
    return TokenSequence(tokens, types, np.concatenate([none, words[:divide], none, words[divide:], none]))


def draw_words(
    sequence: TokenSequence, share: float, draws: np.random.Generator
) -> Bool[np.ndarray, " tokens"]:
    """Draw whole words, a share of all and at least one, and return which tokens are pieces of them."""
    count = int(sequence.words.max()) + 1
    chosen = np.zeros(count + 1, dtype=bool)  # the last is for special tokens, whose word is -1
    chosen[draws.permutation(count)[: max(1, round(share * count))]] = True
    return chosen[sequence.words]


def replace_words(
    sequence: TokenSequence, hidden: Bool[np.ndarray, " tokens"], tokenizer: Any, draws: np.random.Generator
) -> Int[np.ndarray, " tokens"]:
    """Return the tokens with 8 of 10 hidden words as [MASK], 1 as random pieces and 1 as it is."""
    fate = draws.random(int(sequence.words.max()) + 2)[sequence.words]
    tokens = sequence.tokens.copy()
    tokens[hidden & (fate < 0.8)] = tokenizer.mask_token_id
    random = hidden & (fate >= 0.8) & (fate < 0.9)
    tokens[random] = draws.integers(tokenizer.vocab_size, size=int(random.sum()))
    return tokens


def pad_batch(
    tokens: Sequence[np.ndarray], sequences: Sequence[TokenSequence], hidden: Sequence[np.ndarray], pad: int
) -> dict[str, torch.Tensor]:
    """Return a batch as tensors, padded on the right; labels are the true pieces where words are hidden."""
    width = max(len(row) for row in tokens)

    def rows(values: Sequence[np.ndarray], fill: int) -> torch.Tensor:
        return torch.from_numpy(
            np.stack([np.pad(row, (0, width - len(row)), constant_values=fill) for row in values])
        )

    labels = [
        np.where(mask, sequence.tokens, IGNORED) for mask, sequence in zip(hidden, sequences, strict=True)
    ]
    return {
        "input_ids": rows(tokens, pad),
        "attention_mask": rows([np.ones_like(row) for row in tokens], 0),
        "token_type_ids": rows([sequence.types for sequence in sequences], 0),
        "labels": rows(labels, IGNORED),
    }
