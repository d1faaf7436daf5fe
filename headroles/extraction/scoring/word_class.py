"""Contrasts against word class, from attention that streams by: sums of a batch, and the table of a shard.

``headroles.plans.class_profile`` has the formula, and what is computed once a shard is read. The sums of a
layer have one bag of pairs of tokens for each cell of the batch, each query that counts and each contrast of
each input.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch.nn.functional import embedding_bag

from headroles.extraction.capture.readers import Place
from headroles.extraction.scoring.prepared import Prepared
from headroles.extraction.source import AttentionSource
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.class_profile import (
    CellSums,
    ClassSpace,
    InputSums,
    class_contrasts,
    queries_of,
    split_in_halves,
)
from headroles.plans.word_pairs import WordPairs, occurrences_of, with_frequency


class ClassTable:
    """The sums of a shard for one space of contrasts."""

    def __init__(self, space: ClassSpace, tokenised: Sequence[Tokenised], units: Sequence[str]) -> None:
        """Split the inputs in halves, and count their tokens.

        Args:
            space: The columns.
            tokenised: All inputs of the shard.
            units: Unit of each.
        """
        self.space = space
        self.halves = split_in_halves(units, [given.size for given in tokenised])
        self.counts = Counter(token.lower() for given in tokenised for token in given.tokens)
        self.sums = (CellSums(), CellSums())
        self.inputs: list[InputSums] = []

    def finish(self, values: np.ndarray, cells: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Write the scores of the columns (columns, inputs, layers, heads), numbers of pairs and bounds."""
        contrasts = class_contrasts(self.inputs, self.halves, self.sums)
        space, shape = self.space, values.shape[2:]
        for given in self.inputs if contrasts else ():
            own = contrasts[given.place].reshape(-1, *shape)
            numbers = zip(space.columns, space.distance, space.share, given.pairs.counted, strict=True)
            for number, (column, distance, share, counted) in enumerate(numbers):
                values[column, given.place] = own[number] - share * values[distance, given.place]
                if len(counted):
                    cells[column, given.place] = len(counted)
                    low[column], high[column] = -1 - share, 1 + share


@dataclass(frozen=True, slots=True, eq=False)
class _Input:
    """The pairs of one input in a batch, as pairs of words and of tokens.

    Attributes:
        place: Place of the input in the shard.
        size: Its tokens.
        pairs: Its pairs of words.
        cell: Their cells, with the frequency of the key.
        query: Attending token of each pair of tokens, sorted by pairs of words.
        key: Attended token.
        pair: Pair of words of each pair of tokens.
        share: One over the tokens of the attending word.
        start: Number of pairs of tokens of earlier inputs of the batch.
    """

    place: int
    size: int
    pairs: WordPairs
    cell: Int[np.ndarray, " pairs"]
    query: Int[np.ndarray, " cells"]
    key: Int[np.ndarray, " cells"]
    pair: Int[np.ndarray, " cells"]
    share: Float[np.ndarray, " cells"]
    start: int


class ClassSums:
    """The sums of one batch for one space, layer after layer; at the end they join those of the shard."""

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
        self._inputs = _inputs_of(space, batch, table.counts)
        self._bags = _Bags(list(self._inputs.values()), table.halves, model.device)
        self._layers: list[torch.Tensor | None] = [None] * model.layers
        self._open: dict[int, tuple[torch.Tensor, int]] = {}
        self._cells: tuple[int, list[torch.Tensor]] | None = None

    def add(self, layer: int, weights: torch.Tensor) -> None:
        """Read a layer of all inputs (examples, heads, tokens, tokens)."""
        width = weights.shape[3]
        if self._cells is None or self._cells[0] != width:
            cells = [torch.from_numpy(given.query * width + given.key) for given in self._inputs.values()]
            self._cells = width, [own.to(self._device) for own in cells]
        flat = weights.flatten(2)
        parts = [
            flat[example].index_select(1, own)
            for example, own in zip(self._inputs, self._cells[1], strict=True)
        ]
        if parts:
            self._finish(layer, torch.cat(parts, dim=1).T)

    def add_rows(self, place: Place, rows: torch.Tensor) -> None:
        """Read a block of rows (heads, rows, keys) of one input."""
        given = self._inputs.get(place.example)
        if given is None:
            return
        heads, count, width = rows.shape
        values, done = self._open.get(place.layer, (None, 0))
        if values is None:
            values = rows.new_zeros((self._bags.pairs, self._heads))
        inside = (given.query >= place.start) & (given.query < place.start + count)
        where = np.flatnonzero(inside & (given.key >= place.first) & (given.key < place.first + width))
        cell = torch.from_numpy((given.query[where] - place.start) * width + given.key[where] - place.first)
        there = torch.from_numpy(where + given.start)
        found = rows.reshape(heads, -1).index_select(1, cell.to(self._device))
        values[:, place.heads].index_copy_(0, there.to(self._device), found.T)
        self._close(place.layer, values, done + heads * (place.start + count == given.size))

    def add_cells(
        self, layer: int, example: int, cells: Callable[[np.ndarray, np.ndarray], torch.Tensor]
    ) -> None:
        """Read one input of a layer through ``cells``, the attention (heads, cells) on queries and keys."""
        given = self._inputs.get(example)
        if given is None:
            return
        found = cells(given.query, given.key)
        values, done = self._open.get(layer, (None, 0))
        if values is None:
            values = found.new_zeros((self._bags.pairs, len(found)))
        values[given.start : given.start + len(given.query)] = found.T
        self._close(layer, values, done + len(found))

    def _close(self, layer: int, values: torch.Tensor, done: int) -> None:
        """Keep the attention that was read so far; sum it when all heads of all inputs are done."""
        self._open[layer] = values, done
        if done == len(self._inputs) * self._heads:
            del self._open[layer]
            self._finish(layer, values)

    def _finish(self, layer: int, values: torch.Tensor) -> None:
        """Sum a layer's attention on pairs of tokens (pairs, heads); after the last, add it to the shard."""
        self._layers[layer] = self._bags.sums(values.float().contiguous())
        done = [sums for sums in self._layers if sums is not None]
        if len(done) == len(self._layers):
            joined = torch.stack(done, dim=1).flatten(1).cpu().numpy()
            self._bags.share_out(joined, self._table)
            self._layers = [None] * len(self._layers)


class _Bags:
    """The bags of a batch: cells of the two halves, then queries, then contrasts of the inputs."""

    def __init__(self, inputs: Sequence[_Input], halves: np.ndarray, device: torch.device) -> None:
        self._inputs = inputs
        self.pairs = sum(len(given.query) for given in inputs)
        self._cells: list[tuple[np.ndarray, np.ndarray, int]] = []
        members, weights, sizes = [], [], []
        for half in (False, True):
            own = [given for given in inputs if halves[given.place] == half]
            cell = _joined([given.cell for given in own])
            known, pairs = np.unique(cell, return_counts=True)
            self._cells.append((known, pairs, sum(given.pairs.groups for given in own)))
            place = _joined([given.start + np.arange(len(given.query)) for given in own])
            bag = np.searchsorted(known, _joined([given.cell[given.pair] for given in own]))
            order = np.argsort(bag, kind="stable")
            scale = _joined([given.share * given.pairs.size[given.pair] for given in own])
            members.append(place[order])
            weights.append(scale[order])
            sizes.append(np.bincount(bag, minlength=len(known)))
        for given in inputs:
            asked = queries_of(given.pairs)
            word = given.pairs.query[given.pair]
            kept = np.flatnonzero(np.isin(word, asked))
            members.append(given.start + kept)
            weights.append(given.share[kept])
            sizes.append(np.bincount(np.searchsorted(asked, word[kept]), minlength=len(asked)))
        for given in inputs:
            for counted in given.pairs.counted:
                kept = np.flatnonzero(np.isin(given.pair, counted))
                members.append(given.start + kept)
                weights.append(given.share[kept] / max(len(counted), 1))
                sizes.append(np.array([len(kept)]))
        number = _joined(sizes)
        self._index = torch.from_numpy(_joined(members)).to(device)
        self._weights = torch.from_numpy(_joined(weights).astype(np.float32)).to(device)
        self._offsets = torch.from_numpy(np.cumsum(number) - number).to(device)

    def sums(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sums (bags, heads) of the attention on pairs of tokens (pairs, heads)."""
        bags: torch.Tensor = embedding_bag(
            self._index, values, self._offsets, mode="sum", per_sample_weights=self._weights
        )
        return bags

    def share_out(self, sums: np.ndarray, table: ClassTable) -> None:
        """Add the sums of all layers (bags, layers × heads) to those of the shard."""
        row = 0
        for half, (known, pairs, groups) in zip(table.sums, self._cells, strict=True):
            if len(known):
                half.add(known, sums[row : row + len(known)], pairs, groups)
            row += len(known)
        masses = []
        for given in self._inputs:
            stop = row + len(queries_of(given.pairs))
            masses.append(sums[row:stop])
            row = stop
        for given, mass in zip(self._inputs, masses, strict=True):
            stop = row + len(given.pairs.counted)
            lacking = np.array([len(counted) == 0 for counted in given.pairs.counted])
            seen = np.where(lacking[:, None], np.nan, sums[row:stop])
            table.inputs.append(InputSums(given.place, given.pairs, given.cell, mass, seen))
            row = stop


def _inputs_of(space: int, batch: Sequence[Prepared], counts: Counter[str]) -> dict[int, _Input]:
    """Return the inputs of a batch that have pairs to count, by their places in the batch."""
    inputs: dict[int, _Input] = {}
    total = 0
    for example, prepared in enumerate(batch):
        pairs = prepared.word_pairs[space]
        if pairs is None or not any(len(counted) for counted in pairs.counted):
            continue
        word = prepared.example.word
        occurrences = occurrences_of(prepared.example, counts)
        order = np.argsort(word, kind="stable")
        opens = np.searchsorted(word[order], np.arange(len(occurrences)))
        pieces = np.bincount(word[word >= 0], minlength=len(occurrences))
        across = pieces[pairs.key]
        number = pieces[pairs.query] * across
        pair = np.repeat(np.arange(len(number)), number)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(number) - number, number)
        inputs[example] = _Input(
            place=prepared.place,
            size=prepared.tokenised.size,
            pairs=pairs,
            cell=with_frequency(pairs.cell, occurrences[pairs.key]),
            query=order[opens[pairs.query[pair]] + within // across[pair]],
            key=order[opens[pairs.key[pair]] + within % across[pair]],
            pair=pair,
            share=1 / pieces[pairs.query[pair]],
            start=total,
        )
        total += len(pair)
    return inputs


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return arrays one after another; an empty array of whole numbers for none."""
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
