"""Attention between words from attention between word pieces, for whole batches on the device."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch.nn.functional import embedding_bag

from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.scoring.scratch import Scratch


@dataclass(frozen=True, slots=True, eq=False)
class WordSpace:
    """The words of the pieces of examples padded to one width.

    "Flat" numbers count examples and words, or examples and rows, together: example × words + word,
    example × rows + row.

    Attributes:
        words: Words of the widest example.
        word: Word of each piece, ``words`` where it is in no word (examples, 1, 1, tokens).
        member: 1 where a piece is part of a word (examples, tokens, words + 1), where sums are matrix
            products; None on the CPU.
        rows: The queries that are pieces of words (examples, rows); None where rows are all queries.
        first: Row of the first piece of each word, flat (examples × words).
        absent: Words without a piece, flat.
        several: Words of several pieces, flat.
        pieces: Number of pieces of each of these (several, 1).
        inner: Rows of all their pieces, flat, one word after another.
        starts: Place of the first piece of each word in ``inner``.
    """

    words: int
    word: torch.Tensor
    member: torch.Tensor | None
    rows: torch.Tensor | None
    first: torch.Tensor
    absent: torch.Tensor
    several: torch.Tensor
    pieces: torch.Tensor
    inner: torch.Tensor
    starts: torch.Tensor


def word_space(
    words: Sequence[Int[np.ndarray, "_"]], counts: Sequence[int], device: torch.device, *, pick: bool = False
) -> WordSpace:
    """Make the word space of some examples.

    Args:
        words: Word of each token, −1 on tokens of no word, per example.
        counts: Words of each example; a word without any token gets and gives no attention.
        device: The device of the attention.
        pick: Whether to leave out rows of tokens of no word; then apply ``word_rows``.
    """
    examples, tokens, most = len(words), max(map(len, words)), max(counts)
    word = np.full((examples, tokens), most)
    for place, own in enumerate(words):
        word[place, : len(own)] = np.where(own < 0, most, own)
    inside = word < most
    rows = None
    kept = np.broadcast_to(np.arange(tokens), word.shape)
    if pick:
        kept = np.argsort(~inside, axis=1, kind="stable")[:, : max(1, inside.sum(axis=1).max())]
        rows = torch.from_numpy(kept).to(device)
    example, row = np.nonzero(np.take_along_axis(inside, kept, axis=1))
    cell = example * most + word[example, kept[example, row]]
    order = np.argsort(cell, kind="stable")
    piece, cell = (example * kept.shape[1] + row)[order], cell[order]
    pieces = np.bincount(cell, minlength=examples * most)
    first = np.zeros(examples * most, dtype=np.int64)
    first[cell[::-1]] = piece[::-1]
    several = np.flatnonzero(pieces > 1)
    member = None
    if device.type != "cpu":
        member = torch.from_numpy(np.eye(most + 1, dtype=np.float32)[word]).to(device)
    index = [first, np.flatnonzero(pieces == 0), several, pieces[several, None].astype(np.float32)]
    index += [piece[pieces[cell] > 1], np.cumsum(pieces[several]) - pieces[several]]
    placed = torch.from_numpy(word[:, None, None]).to(device)
    return WordSpace(most, placed, member, rows, *(torch.from_numpy(array).to(device) for array in index))


def to_words(rows: torch.Tensor, space: WordSpace, scratch: Scratch | None = None) -> torch.Tensor:
    """Sum attention to words over their pieces, one piece after another.

    Args:
        rows: Attention of any queries to all pieces (examples, heads, rows, tokens).
        space: The words of the pieces.
        scratch: Memory for the result, which is then valid until the next call.

    Returns:
        (examples, heads, rows, words + 1); the last column is attention to pieces of no word.
    """
    examples, heads, count, _ = rows.shape
    if space.member is not None:
        sums: torch.Tensor = rows.flatten(1, 2) @ space.member
        return sums.view(examples, heads, count, -1)
    shape = (examples, count, heads, space.words + 1)
    keys = rows.new_empty(shape) if scratch is None else scratch.take("keys", shape)
    word = space.word.expand(-1, heads, count, -1)
    return keys.zero_().transpose(1, 2).scatter_add_(3, word, rows)


def from_words(keys: torch.Tensor, space: WordSpace, scratch: Scratch | None = None) -> torch.Tensor:
    """Average attention from words over their pieces.

    Args:
        keys: Attention of the rows of the word space to words, from ``to_words``.
        space: The words of the pieces.
        scratch: Memory for the result, which is then valid until the next call.

    Returns:
        (examples, heads, words, words), in memory one example and word after another.
    """
    examples, heads, _, width = keys.shape
    flat = keys.transpose(1, 2).reshape(-1, heads * width)
    shape = (examples * space.words, heads * width)
    units = keys.new_empty(shape) if scratch is None else scratch.take("units", shape)
    torch.index_select(flat, 0, space.first, out=units)
    if len(space.absent):
        units.index_fill_(0, space.absent, 0.0)
    if len(space.several):
        sums = embedding_bag(space.inner, flat, space.starts, mode="sum")
        units.index_copy_(0, space.several, sums / space.pieces)
    return units.view(examples, space.words, heads, width).transpose(1, 2)[..., : space.words]


def word_rows(attention: torch.Tensor, space: WordSpace, scratch: Scratch | None = None) -> torch.Tensor:
    """Select the rows of the word space (examples, heads, rows, …) from all queries (…, tokens, …)."""
    if space.rows is None:
        return attention
    examples, heads, _, width = attention.shape
    which = space.rows[:, None, :, None].expand(-1, heads, -1, width)
    shape = (examples, heads, space.rows.shape[1], width)
    rows = attention.new_empty(shape) if scratch is None else scratch.take("rows", shape)
    return torch.gather(attention, 2, which, out=rows)


def even_words(visible: Sequence[VisibleArray], sizes: Sequence[int], space: WordSpace) -> torch.Tensor:
    """Return attention between words (examples, words, words) that is even over the visible keys."""
    width = space.word.shape[3]
    even = np.zeros((len(sizes), 1, width, width), dtype=np.float32)
    for row, (given, size) in enumerate(zip(visible, sizes, strict=True)):
        own = np.ones((size, size), dtype=np.float32) if given is None else given.astype(np.float32)
        even[row, 0, :size, :size] = own / np.maximum(own.sum(axis=1, keepdims=True), 1)
    level = torch.from_numpy(even).to(space.word.device)
    return from_words(to_words(word_rows(level, space), space), space)[:, 0]
