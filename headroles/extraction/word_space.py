"""From attention between word pieces to attention between words, for whole batches on the device."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int

Visible = np.ndarray | None


@dataclass(frozen=True, slots=True, eq=False)
class WordSpace:
    """Which piece belongs to which word, for examples padded to one width.

    Attributes:
        member: 1 where a piece (second axis) is part of a word (third axis), else 0.
        pieces: Pieces of each word, at least 1.
        lead: First piece of each word, where there is one example; else None.
        extra: Pieces that continue a word, where there is one example.
        extra_word: The word each of them continues.
    """

    member: torch.Tensor
    pieces: torch.Tensor
    lead: torch.Tensor | None
    extra: torch.Tensor
    extra_word: torch.Tensor

    @property
    def words(self) -> int:
        """Words of the widest example."""
        return int(self.member.shape[2])


def word_space(
    words: Sequence[Int[np.ndarray, "_"]], counts: Sequence[int], device: torch.device
) -> WordSpace:
    """The word space of some examples.

    Args:
        words: Word of each token, −1 on special tokens, per example.
        counts: Words of each example; a word without any token gets and gives no attention.
        device: Where the attention lies.
    """
    member = np.zeros((len(words), max(map(len, words)), max(counts)), dtype=np.float32)
    for row, word in enumerate(words):
        tokens = np.flatnonzero(word >= 0)
        member[row, tokens, word[tokens]] = 1
    lead = None
    extra = extra_word = np.empty(0, dtype=np.int64)
    if len(words) == 1 and member.any(axis=1).all():
        first = member[0].argmax(axis=0)
        tokens = np.flatnonzero(words[0] >= 0)
        extra = np.setdiff1d(tokens, first)
        extra_word = words[0][extra].astype(np.int64)
        lead = torch.from_numpy(first).to(device)
    pieces = np.maximum(member.sum(axis=1), 1)
    return WordSpace(
        member=torch.from_numpy(member).to(device),
        pieces=torch.from_numpy(pieces).to(device),
        lead=lead,
        extra=torch.from_numpy(extra).to(device),
        extra_word=torch.from_numpy(extra_word).to(device),
    )


def to_words(rows: torch.Tensor, space: WordSpace) -> torch.Tensor:
    """Attention to words (examples, heads, rows, words): the sum over their pieces (…, tokens)."""
    if space.lead is None:
        return rows @ space.member[:, None]
    keys = rows.index_select(3, space.lead)
    if len(space.extra):
        keys.index_add_(3, space.extra_word, rows.index_select(3, space.extra))
    return keys


def from_words(keys: torch.Tensor, space: WordSpace) -> torch.Tensor:
    """Attention from words (examples, heads, words, words): the mean over their pieces (…, tokens, words)."""
    if space.lead is None:
        units = space.member.mT[:, None] @ keys
    else:
        units = keys.index_select(2, space.lead)
        if len(space.extra):
            units.index_add_(2, space.extra_word, keys.index_select(2, space.extra))
    return units / space.pieces[:, None, :, None]


def even_words(visible: Sequence[Visible], sizes: Sequence[int], space: WordSpace) -> torch.Tensor:
    """What attention even over the visible keys puts on each pair of words (examples, words, words)."""
    width = space.member.shape[1]
    even = np.zeros((len(sizes), 1, width, width), dtype=np.float32)
    for row, (seen, size) in enumerate(zip(visible, sizes, strict=True)):
        own = np.ones((size, size), dtype=np.float32) if seen is None else seen.astype(np.float32)
        even[row, 0, :size, :size] = own / np.maximum(own.sum(axis=1, keepdims=True), 1)
    level = torch.from_numpy(even).to(space.member.device)
    return from_words(to_words(level, space), space)[:, 0]
