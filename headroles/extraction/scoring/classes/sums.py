"""Sums of a batch for contrasts against word class, layer after layer, while its attention streams by."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock

import numpy as np
import torch
from jaxtyping import Float

from headroles.extraction.capture.readers import Place
from headroles.extraction.scoring.batches.cells import CellBags
from headroles.extraction.scoring.classes.layout import lay_pairs
from headroles.extraction.scoring.classes.table import ClassTable
from headroles.extraction.scoring.prepared import Prepared
from headroles.extraction.source import AttentionSource


class ClassSums:
    """The sums of one batch for one space; after the last layer they join those of the shard."""

    def __init__(
        self, space: int, batch: Sequence[Prepared], table: ClassTable, model: AttentionSource
    ) -> None:
        """Lay out the pairs of a batch.

        Args:
            space: Number of the space.
            batch: The inputs.
            table: The sums of the shard.
            model: Gives the numbers of layers and heads, and the device of the attention.
        """
        self._table, self._device, self._heads = table, model.device, model.heads
        self._layout = lay_pairs(space, batch, table.counts, table.halves)
        self._sizes = [prepared.tokenised.size for prepared in batch]
        self._layers: list[torch.Tensor | None] = [None] * model.layers
        self._open: dict[int, torch.Tensor] = {}
        self._done: Counter[int] = Counter()
        self._blocks: dict[tuple[int, ...], tuple[torch.Tensor, torch.Tensor]] = {}
        self._lock = Lock()
        self._cell_bags: tuple[int, CellBags] | None = None
        if self._layout is not None:
            index, weight, opens = self._layout.bags
            parts = (index, weight.astype(np.float32), opens)
            self._bags = CellBags(*(torch.from_numpy(own).to(self._device) for own in parts))

    def add(self, layer: int, cells: Float[torch.Tensor, "cells heads"], width: int) -> None:
        """Read a layer of all inputs, as attention by cell of a batch padded to ``width`` tokens."""
        if self._layout is None:
            return
        if self._cell_bags is None or self._cell_bags[0] != width:
            tokens, index = self._layout.tokens, self._layout.bags[0]
            own = ((tokens.row * width + tokens.query) * width + tokens.key)[index]
            self._cell_bags = width, replace(self._bags, index=torch.from_numpy(own).to(self._device))
        self._sum(layer, cells, self._cell_bags[1])

    def add_rows(self, place: Place, rows: torch.Tensor) -> None:
        """Read a block of rows (heads, rows, keys) of one input."""
        own = self._own(place.example)
        if own is None or self._layout is None:
            return
        heads, count, width = rows.shape
        values = self._held(place.layer, rows)
        block = (place.example, place.start, count, place.first, width)
        if block not in self._blocks:
            self._blocks[block] = self._cells_in(own, *block[1:])
        cell, there = self._blocks[block]
        found = rows.reshape(heads, -1).index_select(1, cell)
        values[:, place.heads].index_copy_(0, there, found.T)
        if place.start + count == self._sizes[place.example]:
            self._close(place.layer, heads)

    def _cells_in(
        self, own: slice, start: int, count: int, first: int, width: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the pairs of an input in a block, as places in the block and among all pairs."""
        assert self._layout is not None, "there are pairs"
        query, key = self._layout.tokens.query[own] - start, self._layout.tokens.key[own] - first
        inside = (query >= 0) & (query < count) & (key >= 0) & (key < width)
        where = np.flatnonzero(inside)
        places = query[where] * width + key[where], where + own.start
        cell, there = (torch.from_numpy(place).to(self._device) for place in places)
        return cell, there

    def add_cells(
        self, layer: int, example: int, cells: Callable[[np.ndarray, np.ndarray], torch.Tensor]
    ) -> None:
        """Read one input of a layer through ``cells``, the attention (heads, cells) on queries and keys."""
        own = self._own(example)
        if own is None or self._layout is None:
            return
        found = cells(self._layout.tokens.query[own], self._layout.tokens.key[own])
        self._held(layer, found)[own] = found.T
        self._close(layer, len(found))

    def _own(self, example: int) -> slice | None:
        """Return the pairs of tokens of an input; None for an input without pairs that count."""
        if self._layout is None:
            return None
        tokens = self._layout.tokens
        number = int(np.searchsorted(tokens.inputs, example))
        if number == len(tokens.inputs) or tokens.inputs[number] != example:
            return None
        return slice(int(tokens.opens[number]), int(tokens.opens[number + 1]))

    def _held(self, layer: int, like: torch.Tensor) -> torch.Tensor:
        """Return the attention of a layer that was read so far (pairs, heads)."""
        assert self._layout is not None, "there are pairs"
        with self._lock:
            if layer not in self._open:
                self._open[layer] = like.new_zeros((len(self._layout.tokens.row), self._heads))
            return self._open[layer]

    def _close(self, layer: int, heads: int) -> None:
        """Note that some heads of an input are read; sum when all heads of all inputs are."""
        assert self._layout is not None, "there are pairs"
        with self._lock:
            self._done[layer] += heads
            if self._done[layer] == len(self._layout.tokens.inputs) * self._heads:
                self._sum(layer, self._open.pop(layer), self._bags)

    def _sum(self, layer: int, values: torch.Tensor, bags: CellBags) -> None:
        """Sum a layer's attention (rows, heads) over bags of rows; after the last, add it to the shard."""
        assert self._layout is not None, "there are pairs"
        self._layers[layer] = bags.sums(values.float())
        done = [sums for sums in self._layers if sums is not None]
        if len(done) == len(self._layers):
            self._table.add(self._layout.meaning, torch.cat(done, dim=1).cpu())
            self._layers = [None] * len(self._layers)
