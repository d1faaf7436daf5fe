"""Compute Jensen-Shannon divergences between all pairs of heads, and sum them over inputs by unit."""

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.lib.format import write_array_header_1_0

from headroles.errors import BadInput, UnknownName
from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.source import AttentionSource
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.clusters import Divergence
from headroles.records.rules.names import WAYS

CELLS = 2048
"""Cells of a map in one block of numpy, in float64."""
LATER = 24
"""Heads in one block of numpy: three blocks of heads × cells (1.2 MB) nearly fit the second-level cache."""
DEVICE_CELLS = 2**14
"""Cells in one block on another device."""
DEVICE_BLOCK = 2**26
"""Numbers in one block of heads × cells on another device (256 MB in float32)."""
SPARE = 0.05
"""Share of cells that are 0 in every head, above which it pays to leave them out."""
TINY = 2.0**-101
"""Added to every half weight, so that 0 · log 0 is 0; negligible against any weight that is not 0."""
BUFFER = 2**28
"""Most bytes of the attention of a batch while its layers are read."""
KEPT = 2**27
"""Most bytes of the sums of all blocks, in float32."""
FEWEST = 50
"""Fewest blocks, where there are as many units."""


def pair_divergences(
    attention: Float[torch.Tensor, "heads queries keys"], *, smoothing: float = 0.0, threads: int = 1
) -> Float[np.ndarray, " pairs"]:
    """Return the Jensen-Shannon divergence between the rows of every two heads, summed over rows, in nats.

    JS(a, b) = H((a + b) / 2) − (H(a) + H(b)) / 2 with H the Shannon entropy of a row: 0 for equal rows,
    ln 2 for rows that share no key. All rows count, those of special tokens too. Cells that are 0 in all
    heads, such as keys hidden by a causal mask, add nothing and are left out.

    In float32 the error of a sum is about 1e-7 nats a row, and in no case more than 5e-6; in float64 the
    relative error is about 1e-13. Equal heads have exactly 0.

    Args:
        attention: Weights of one input, queries by keys; each row sums to 1. Their dtype, float32 or
            float64, is the precision of entropies; sums of blocks of cells are always added in float64.
        smoothing: Share ε of even attention mixed into every row first: ``(1 − ε) a + ε / keys``.
        threads: Number of threads on a CPU.

    Returns:
        One float64 per pair in condensed order, (0, 1), (0, 2), …, (1, 2), …; from 0 to queries × ln 2.
        NaN where weights are NaN, or far above 1 in float32.

    Source: Clark et al. (2019), section 6, whose released code sums with ε = 0.001; Lin (1991), equation
    4.1, for the divergence.

    Example:
        >>> one, other = torch.eye(4), torch.eye(4).flip(0)
        >>> pair_divergences(torch.stack([one, other, one])).round(3).tolist()  # 4 ln 2 = 2.773
        [2.773, 0.0, 2.773]
    """
    heads, queries, keys = attention.shape
    cells = _cells_not_empty(attention.reshape(heads, queries * keys))
    factor, floor = 0.5 * (1 - smoothing), 0.5 * smoothing / keys + TINY  # halves of two add up to their mean
    if cells.device.type == "cpu":
        sums = entropy_sums(cells.numpy(), factor, floor, threads)
    else:
        sums = device_sums((cells * factor).add_(floor))
    alone = sums.diagonal()
    apart = ((alone[:, None] + alone) / 2 - sums)[~np.tri(heads, dtype=np.bool_)]
    divergences: np.ndarray = np.maximum(apart, 0.0)
    return divergences


def array_divergences(
    attention: Float[np.ndarray, "heads tokens tokens"], smoothing: float = 0.0
) -> Float[np.ndarray, " pairs"]:
    """Return what ``pair_divergences`` returns, for an array of numpy and with one thread.

    An array that torch does not take, a reversed view or one that is read-only, is copied first.
    """
    weights = np.require(attention, requirements=["C", "W"])
    return pair_divergences(torch.from_numpy(weights), smoothing=smoothing)


def _cells_not_empty(cells: torch.Tensor) -> torch.Tensor:
    """Return the cells (heads, cells) without those that are 0 in every head, where they are many."""
    if float((cells[0] == 0).float().mean()) <= SPARE:  # fewer are 0 in every head
        return cells
    empty = cells.amax(dim=0) == 0
    return cells[:, ~empty] if float(empty.float().mean()) > SPARE else cells


def entropy_sums(
    cells: Float[np.ndarray, "heads cells"], factor: float, floor: float, threads: int = 1
) -> Float[np.ndarray, "heads heads"]:
    """Return Σ m (log m + c) over cells: m is the mean weight of two heads, c a constant that cancels.

    One thread sums all cells of a pair, block after block. So any number of threads gives the same sums.

    Args:
        cells: Weights of each head, from 0 to 1; float32 is summed by a compiled loop, float64 by numpy.
        factor: Half of every weight is ``factor × weight + floor``, in the precision of the weights.
        floor: More than 0, so that no logarithm is of 0.
        threads: Number of threads.

    Returns:
        The upper triangle of all pairs of heads, diagonal included; 0 below it.
    """
    heads = len(cells)
    sums = np.zeros((heads, heads))
    unit = 1.0
    if cells.dtype == np.float32:
        from headroles.extraction.jobs import pair_entropies

        add, unit = pair_entropies.add_pairs, pair_entropies.UNIT
        cells = np.ascontiguousarray(cells)
    else:
        add = _add_pairs
    if threads == 1:
        add(cells, factor, floor, sums, 0, 1)
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="divergence") as pool:
            for _ in pool.map(lambda first: add(cells, factor, floor, sums, first, threads), range(threads)):
                pass
    return sums * unit


def _add_pairs(
    cells: Float[np.ndarray, "heads cells"],
    factor: float,
    floor: float,
    sums: Float[np.ndarray, "heads heads"],
    first: int,
    step: int,
) -> None:
    """Add the sums of the pairs whose earlier head is one of ``first``, ``first + step``, … by numpy.

    A block of later heads stays in the cache while heads up to them are compared with it. The
    logarithm is numpy's, which is several times as fast as torch's on CPUs with wide registers.
    """
    heads, count = cells.shape
    log, unit = logarithm(cells.dtype)
    room = np.empty((2, LATER * CELLS), dtype=cells.dtype)
    for start in range(0, count, CELLS):
        part = cells[:, start : start + CELLS] * factor + floor
        for low in range(0, heads, LATER):
            later = part[low : low + LATER]
            means, logs = (array[: later.size].reshape(later.shape) for array in room)
            for head in range(first, low + len(later), step):
                own = max(0, head - low)  # pairs with itself and those after it
                mean, logged = means[own:], logs[own:]
                np.add(later[own:], part[head], out=mean)
                log(mean, out=logged)
                sums[head, low + own : low + len(later)] += np.vecdot(mean, logged) * unit


def logarithm(kind: np.dtype[Any]) -> tuple[np.ufunc, float]:
    """Return numpy's fastest logarithm of a precision on this CPU, and the factor that makes it nats.

    It is base 2 where numpy has a version for wide registers, as for AVX-512; else the natural logarithm,
    which has more such versions.
    """
    introspection = getattr(np.lib, "introspect", None)  # not in the first numpy 2
    if introspection is None:
        return np.log, 1.0
    versions = introspection.opt_func_info(func_name="^log2$", signature=kind.name).get("log2", {})
    wide = any(not version["current"].startswith("baseline") for version in versions.values())
    return (np.log2, math.log(2)) if wide else (np.log, 1.0)


def device_sums(halves: Float[torch.Tensor, "heads cells"]) -> Float[np.ndarray, "heads heads"]:
    """Return Σ m log m as on a CPU, in larger blocks and by torch, for accelerators.

    Args:
        halves: Half of every weight, without zeros.

    Returns:
        The upper triangle of all pairs of heads, diagonal included; 0 below it.
    """
    heads, cells = halves.shape
    dtype = torch.float32 if halves.device.type == "mps" else torch.float64
    sums = torch.zeros((heads, heads), dtype=dtype, device=halves.device)
    later = max(1, DEVICE_BLOCK // DEVICE_CELLS)
    for start in range(0, cells, DEVICE_CELLS):
        part = halves[:, start : start + DEVICE_CELLS]
        for head in range(heads):
            for first in range(head, heads, later):
                means = part[first : first + later] + part[head]
                sums[head, first : first + later] += torch.xlogy(means, means).sum(dim=1, dtype=dtype)
    array: np.ndarray = sums.cpu().double().numpy()
    return array


def max_batch_size(layers: int, heads: int, max_length: int, wanted: int) -> int:
    """Return the largest batch, up to ``wanted`` inputs, whose attention in all layers takes at most 256 MB.

    It is at least 1: a single input is held whole even where it takes more.

    Args:
        layers: Number of layers.
        heads: Heads in a layer.
        max_length: Longest input, in tokens.
        wanted: Largest batch.

    Example:
        >>> max_batch_size(12, 12, 128, 32), max_batch_size(32, 32, 128, 32)
        (28, 4)
    """
    return max(1, min(wanted, BUFFER // (4 * layers * heads * max_length**2)))


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """The blocks that units are summed in, so that memory does not grow with the number of units.

    Consecutive units share a block: one block for each unit where memory allows (12 bytes per block and
    pair of heads, at most 400 MB up to 1,150 heads), else ``count`` blocks of nearly equal size.

    Attributes:
        units: Number of units.
        count: Number of blocks.
    """

    units: int
    count: int

    @classmethod
    def of(cls, units: int, layers: int, heads: int) -> "BlockLayout":
        """Lay out the blocks.

        Raises:
            BadInput: When there are no units, or fewer than two heads.
        """
        size = layers * heads
        if not units or size < 2:
            raise BadInput(
                f"divergences need at least one input and two heads, but got {units} units and {size} heads"
            )
        return cls(units, min(units, max(FEWEST, KEPT // (2 * size * (size - 1)))))

    def block(self, places: Int[np.ndarray, " _"]) -> Int[np.ndarray, " _"]:
        """Return the block of each unit, by its place among all units."""
        blocks: np.ndarray = places * self.count // self.units
        return blocks


class DivergenceSums:
    """Divergences of all pairs of heads, summed by block of units while the inputs of a shard are read."""

    def __init__(
        self,
        blocks: Int[np.ndarray, " inputs"],
        members: Int[np.ndarray, " inputs"],
        layers: int,
        heads: int,
        *,
        smoothing: float = 0.0,
        way: str = "mean",
    ) -> None:
        """Make room for the blocks of these inputs.

        Args:
            blocks: The block of each input's unit.
            members: Number of inputs of each input's unit in the whole run.
            layers: Number of layers.
            heads: Heads in a layer.
            smoothing: Share of even attention mixed into every row, from 0 to below 1.
            way: "mean", or "sum" over all rows of all inputs, as in ``Divergence``.

        Raises:
            UnknownName: For another way.
            BadInput: When the smoothing is out of range.
        """
        if way not in WAYS:
            raise UnknownName("way of summing divergences", way, WAYS)
        if not 0 <= smoothing < 1:
            raise BadInput(f"smoothing must be at least 0 and below 1, but got {smoothing}")
        self.smoothing, self.way = smoothing, way
        self.blocks, self._row = np.unique(blocks, return_inverse=True)
        self._members = members
        self._sums = np.zeros((len(self.blocks), layers * heads * (layers * heads - 1) // 2))
        self._done = np.zeros(len(blocks), dtype=np.bool_)

    def add(self, place: int, tokens: int, divergences: Float[np.ndarray, " pairs"]) -> None:
        """Add one input; adding it again changes nothing.

        Args:
            place: Place of the input in the shard.
            tokens: Its number of query rows.
            divergences: Divergences of all pairs of heads, summed over its rows, in nats.
        """
        if not self._done[place]:
            share = 1.0 if self.way == "sum" else 1.0 / (tokens * int(self._members[place]))
            self._sums[self._row[place]] += share * divergences
            self._done[place] = True

    def has(self, place: int) -> bool:
        """Return whether an input has been added."""
        return bool(self._done[place])

    def content(self) -> bytes:
        """Return the sums as a file of two arrays: ``block`` (int64) and ``sums`` (float32, a row per block).

        Raises:
            BadInput: When not all inputs have been added.
        """
        if not self._done.all():
            raise BadInput(
                f"a mean is over all inputs, but {int((~self._done).sum())} of {len(self._done)} were not "
                f"added; add them first"
            )
        file = BytesIO()
        with ZipFile(file, "w") as archive:  # row by row: the sums of many heads are not copied whole
            for name, array, kind in (("block", self.blocks, np.int64), ("sums", self._sums, np.float32)):
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    header = {"descr": np.dtype(kind).str, "fortran_order": False, "shape": array.shape}
                    write_array_header_1_0(member, header)
                    for row in array:
                        member.write(row.astype(kind).tobytes())
        return file.getvalue()


def merge_divergences(
    shards: Iterable[bytes], layout: BlockLayout, layers: int, heads: int, *, smoothing: float, way: str
) -> Divergence:
    """Add the sums of all shards, one shard in memory at a time.

    Args:
        shards: Files as ``DivergenceSums.content`` gives them, in the order of the shards.
        layout: The blocks.
        layers: Number of layers.
        heads: Heads in a layer.
        smoothing: As the shards were summed.
        way: As the shards were summed.

    Raises:
        BadInput: When a shard has blocks or heads that the run does not have.
    """
    pairs = layers * heads * (layers * heads - 1) // 2
    sums = np.zeros((layout.count, pairs), dtype=np.float32)
    for number, content in enumerate(shards):
        try:
            with np.load(BytesIO(content), allow_pickle=False) as arrays:
                for block, added in zip(arrays["block"], arrays["sums"], strict=True):
                    sums[block] += added
        except (ValueError, KeyError, IndexError, OSError) as error:
            raise BadInput(
                f"the divergences of shard {number} are those of its own run, but they do not fit "
                f"({type(error).__name__}: {error}); start the same command again"
            ) from error
    blocks = layout.block(np.arange(layout.units))
    weight = np.bincount(blocks, minlength=layout.count).astype(np.float64)
    return Divergence(layers, heads, sums=sums, weight=weight, block=blocks, smoothing=smoothing, way=way)


@dataclass(frozen=True, slots=True, eq=False)
class DivergenceInput:
    """One input that is ready for the model, and its place in its shard."""

    place: int
    tokenised: Tokenised

    @property
    def queries(self) -> int:
        """Number of queries, which come first: the decoder's tokens in cross attention, else all tokens."""
        stack = self.tokenised.stack
        return self.tokenised.size if stack is None else int((stack == 0).sum())


class DivergenceJob:
    """The job of summing divergences between all heads of one shard; its result is the sums' file."""

    def __init__(self, model: AttentionSource, sums: DivergenceSums, *, threads: int | None = None) -> None:
        """Take a model, the sums to add to, and the number of threads.

        By default it is torch's number of threads now: while attention is handed over, torch has one.
        """
        self.layers, self.heads = model.layers, model.heads
        self.sums = sums
        self.threads = threads or torch.get_num_threads()

    def table(self, tokenised: Sequence[Tokenised]) -> DivergenceSums:
        """Return the sums of the shard."""
        return self.sums

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[DivergenceInput]:
        """Return the batch; nothing else is prepared."""
        return [DivergenceInput(int(place), tokenised[place]) for place in places]

    def reader(self, batch: list[DivergenceInput], table: DivergenceSums) -> "DivergenceReader":
        """Return the reader of a batch's attention."""
        return DivergenceReader(self, batch)

    def result(self, table: DivergenceSums) -> bytes:
        """Return the file of the sums."""
        return table.content()


class DivergenceReader:
    """Keeps the attention of each input until its last layer has been read."""

    def __init__(self, job: DivergenceJob, batch: list[DivergenceInput]) -> None:
        """Take the job and the batch."""
        self._job, self._batch = job, batch
        self._held: dict[int, torch.Tensor] = {}

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        """Take a block of query rows of one input; after the last one, compare the heads of all layers."""
        prepared, job = self._batch[example], self._job
        if job.sums.has(prepared.place):  # its batch was halved after this input was done
            return
        size, queries = prepared.tokenised.size, prepared.queries
        own = rows[:, : max(queries - start, 0), queries % size :]  # rows and columns that hold weights
        held = self._held.get(example)
        if held is None:
            held = rows.new_empty((job.layers, job.heads, queries, own.shape[2]))
            self._held[example] = held
        held[layer, :, start : start + own.shape[1]] = own
        if layer + 1 == job.layers and start + rows.shape[1] == size:
            attention = self._held.pop(example).flatten(0, 1)
            divergences = pair_divergences(attention, smoothing=job.sums.smoothing, threads=job.threads)
            job.sums.add(prepared.place, queries, divergences)
