"""Divergences between heads, summed over inputs as attention passes by.

Jensen-Shannon divergence between all pairs of heads of one input.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from headroles.errors import BadInput, UnknownName
from headroles.extraction.capture.readers import Visible
from headroles.extraction.model.load import Model
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.clusters import WAYS, Divergence

CELLS = 4096
"""Cells of a map that are done together on a processor; sums of so few stay accurate in float32. Half as many
take a tenth less with one thread, and a fifth more with two, which wait for each other between calls."""
LATER = 24
"""Heads done together on a processor: three blocks of heads × cells (1.2 MB) nearly fit its second cache."""
DEVICE_CELLS = 2**14
"""Cells done together on a device."""
DEVICE_BLOCK = 2**26
"""Numbers in one block of heads × cells on a device (256 MB in float32)."""
SPARE = 0.05
"""Share of cells that are 0 in every head, from which on it pays to leave them out."""
TINY = 2.0**-101
"""Added to every half weight, so that 0 · log 0 is 0; of no weight beside any that is not."""


def pair_divergences(
    attention: Float[torch.Tensor, "heads tokens tokens"], *, smoothing: float = 0.0, threads: int = 1
) -> Float[np.ndarray, " pairs"]:
    """Jensen-Shannon divergence between the rows of every two heads, summed over query rows, in nats.

    JS(a, b) = H((a + b) / 2) − (H(a) + H(b)) / 2 with H the Shannon entropy of a row: 0 for equal rows,
    ln 2 for rows that share no key. All rows count, those of special tokens too. Cells that are 0 in all
    heads, as keys hidden by a causal mask are, say nothing and are left out.

    In float32 the error of a sum is some 1e-6 of it, more for heads that are nearly equal; in float64
    some 1e-13. Heads that are equal have exactly 0.

    Args:
        attention: Weights of one input, queries by keys; each row sums to 1. float32 or float64 says in
            what precision entropies are computed; sums over blocks of cells are always in float64.
        smoothing: Share ε of even attention mixed into every row before: ``(1 − ε) a + ε / tokens``.
        threads: On a processor: how many share the work.

    Returns:
        One float64 per pair in condensed order, (0, 1), (0, 2), …, (1, 2), …; from 0 to tokens × ln 2.
        NaN where weights are NaN.

    Source: Clark et al. (2019), section 6, whose released code sums with ε = 0.001; Lin (1991), equation
    4.1, for the divergence.

    Example:
        >>> one, other = torch.eye(4), torch.eye(4).flip(0)
        >>> pair_divergences(torch.stack([one, other, one])).round(3).tolist()  # 4 ln 2 = 2.773
        [2.773, 0.0, 2.773]
    """
    heads, tokens = attention.shape[:2]
    halves = _halves(attention.reshape(heads, tokens * tokens), smoothing, tokens)
    sums = _sums(halves.numpy(), threads) if halves.device.type == "cpu" else device_sums(halves)
    alone = sums.diagonal()
    rows, columns = np.triu_indices(heads, 1)
    divergences: np.ndarray = np.maximum((alone[rows] + alone[columns]) / 2 - sums[rows, columns], 0.0)
    return divergences


def _halves(cells: torch.Tensor, smoothing: float, tokens: int) -> torch.Tensor:
    """Half of every weight (heads, cells), so that halves of two heads add up to their mean."""
    empty = cells.amax(dim=0) == 0
    if float(empty.float().mean()) > SPARE:
        cells = cells[:, ~empty]
    halves = cells * (0.5 * (1 - smoothing))
    return halves.add_(0.5 * smoothing / tokens + TINY)


def _sums(halves: Float[np.ndarray, "heads cells"], threads: int) -> Float[np.ndarray, "heads heads"]:
    """Σ m log m over cells, m the mean of two heads' weights; the upper triangle, diagonal included."""
    starts = range(0, halves.shape[1], CELLS)
    if threads == 1 or len(starts) == 1:
        return _sums_at(halves, starts)
    shares = [starts[first::threads] for first in range(threads)]
    with ThreadPoolExecutor(threads, thread_name_prefix="divergence") as pool:
        sums: np.ndarray = sum(pool.map(lambda share: _sums_at(halves, share), shares), start=np.zeros(()))
    return sums


def _sums_at(halves: np.ndarray, starts: range) -> np.ndarray:
    """The sums over the blocks of cells that begin at ``starts``.

    A block of later heads stays in the cache while every head up to them passes by. The logarithm is
    numpy's, which is several times as fast as torch's on processors with wide registers.
    """
    heads, cells = halves.shape
    log, unit = logarithm(halves.dtype)
    sums = np.zeros((heads, heads))
    room = np.empty((2, LATER * CELLS), dtype=halves.dtype)
    for start in starts:
        part = np.ascontiguousarray(halves[:, start : min(start + CELLS, cells)])
        for low in range(0, heads, LATER):
            later = part[low : low + LATER]
            high = low + len(later)
            means, logs = (each[: later.size].reshape(later.shape) for each in room)
            found = np.zeros((high, len(later)), dtype=halves.dtype)
            for head in range(high):
                own = max(0, head - low)  # pairs with itself and those after it
                mean, logged = (means, logs) if own == 0 else (means[own:], logs[own:])
                np.add(later[own:], part[head], out=mean)
                log(mean, out=logged)
                np.vecdot(mean, logged, out=found[head, own:])
            sums[:high, low:high] += found
    return sums * unit


def logarithm(kind: np.dtype[Any]) -> tuple[np.ufunc, float]:
    """Numpy's quickest logarithm of a precision on this processor, and what makes its values nats.

    That of base 2 where numpy has one for wide registers, as it does for AVX-512; else the natural one,
    which has more such versions.
    """
    told = getattr(np.lib, "introspect", None)  # not in the first numpy 2
    if told is None:
        return np.log, 1.0
    versions = told.opt_func_info(func_name="^log2$", signature=kind.name).get("log2", {})
    wide = any(not each["current"].startswith("baseline") for each in versions.values())
    return (np.log2, math.log(2)) if wide else (np.log, 1.0)


def device_sums(halves: Float[torch.Tensor, "heads cells"]) -> Float[np.ndarray, "heads heads"]:
    """Σ m log m as on a processor, in larger blocks and by torch, for accelerators.

    Args:
        halves: Half of every weight, none of them 0.

    Returns:
        The upper triangle of all pairs of heads, diagonal included; 0 below it.
    """
    heads, cells = halves.shape
    wide = torch.float32 if halves.device.type == "mps" else torch.float64
    sums = torch.zeros((heads, heads), dtype=wide, device=halves.device)
    later = max(1, DEVICE_BLOCK // DEVICE_CELLS)
    for start in range(0, cells, DEVICE_CELLS):
        part = halves[:, start : start + DEVICE_CELLS]
        for head in range(heads):
            for first in range(head, heads, later):
                means = part[first : first + later] + part[head]
                sums[head, first : first + later] += torch.xlogy(means, means).sum(dim=1, dtype=wide)
    found: np.ndarray = sums.cpu().double().numpy()
    return found


BUFFER = 2**28
"""Bytes that the attention of a batch's inputs may take while their layers come in."""
KEPT = 2**27
"""Bytes that the sums of all blocks may take in float32."""
FEWEST = 50
"""Blocks that are kept at least, where there are as many units."""


def fitting_batch(layers: int, heads: int, max_length: int, wanted: int) -> int:
    """The largest batch, up to ``wanted`` inputs, whose attention in all layers takes under 256 MB.

    One input where not even one fits; it is held whole then.

    Args:
        layers: Number of layers.
        heads: Heads in a layer.
        max_length: Longest input, in tokens.
        wanted: Largest batch.

    Example:
        >>> fitting_batch(12, 12, 128, 32), fitting_batch(32, 32, 128, 32)
        (28, 4)
    """
    return max(1, min(wanted, BUFFER // (4 * layers * heads * max_length**2)))


class Sums:
    """Divergences of all pairs of heads, summed by block of units as inputs come in.

    Memory grows with the square of the number of heads, and with the number of blocks, which is
    bounded: 12 bytes per block and pair, at most 400 MB up to 1,150 heads.
    """

    def __init__(
        self, units: Sequence[str], layers: int, heads: int, *, smoothing: float = 0.0, way: str = "mean"
    ) -> None:
        """Lay out the blocks: one for each unit where memory allows, else unit u goes to u modulo blocks.

        Args:
            units: The unit of each input, in the order of the inputs.
            layers: Number of layers.
            heads: Heads in a layer.
            smoothing: Share of even attention mixed into every row, from 0 to below 1.
            way: "mean", or "sum" over all rows of all inputs, as in ``Divergence``.

        Raises:
            UnknownName: For another way.
            BadInput: When there are no inputs, fewer than two heads, or the smoothing is out of range.
        """
        if way not in WAYS:
            raise UnknownName("way of summing divergences", way, WAYS)
        if not 0 <= smoothing < 1:
            raise BadInput(f"smoothing must be at least 0 and below 1, but {smoothing} came")
        if not units or layers * heads < 2:
            raise BadInput(
                f"divergences need at least one input and two heads, but {len(units)} inputs and "
                f"{layers * heads} heads came"
            )
        self.layers, self.heads, self.smoothing, self.way = layers, heads, smoothing, way
        pairs = layers * heads * (layers * heads - 1) // 2
        number = {name: place for place, name in enumerate(dict.fromkeys(units))}
        blocks = min(len(number), max(FEWEST, KEPT // (4 * pairs)))
        self._unit = np.array([number[name] for name in units], dtype=np.int64)
        self._inputs = np.bincount(self._unit)
        self._block = np.arange(len(number)) % blocks
        self._sums = np.zeros((blocks, pairs))
        self._done = np.zeros(len(units), dtype=np.bool_)

    def add(self, place: int, tokens: int, divergences: Float[np.ndarray, " pairs"]) -> None:
        """Add one input; adding it again changes nothing.

        Args:
            place: Which of the inputs it is.
            tokens: Its length, which is its number of query rows.
            divergences: Of all pairs of heads, summed over its rows (nats).
        """
        if self._done[place]:
            return
        unit = self._unit[place]
        share = 1.0 if self.way == "sum" else 1.0 / (tokens * self._inputs[unit])
        self._sums[self._block[unit]] += share * divergences
        self._done[place] = True

    def has(self, place: int) -> bool:
        """Whether an input has been added."""
        return bool(self._done[place])

    def divergence(self) -> Divergence:
        """The sums as a record, in float32.

        Raises:
            BadInput: When not all inputs have been added.
        """
        if not self._done.all():
            raise BadInput(
                f"a mean is over all inputs, but {int((~self._done).sum())} of {len(self._done)} were not "
                f"added; add them first"
            )
        blocks = len(self._sums)
        units = np.bincount(self._block, minlength=blocks).astype(np.float64)
        return Divergence(
            layers=self.layers,
            heads=self.heads,
            sums=self._sums.astype(np.float32),
            weight=units,
            block=self._block,
            smoothing=self.smoothing,
            way=self.way,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """One input ready for the model, and where it stands in its shard."""

    place: int
    tokenised: Tokenised


class Diverging:
    """The job of summing divergences between all heads; a shard's result is how many inputs it had.

    It counts inputs as ``stream`` brings them, so each stream needs a job of its own.
    """

    def __init__(self, model: Model, sums: Sums, *, threads: int | None = None) -> None:
        """Take a model, where divergences are added up, and how many threads share the work.

        Without a number of threads these are torch's, asked here: while attention is handed over it
        has one.
        """
        self.layers, self.heads = model.layers, model.heads
        self.sums = sums
        self.threads = threads or torch.get_num_threads()
        self._seen = 0

    def table(self, tokenised: Sequence[Tokenised]) -> range:
        """Places of a shard's inputs among all."""
        start, self._seen = self._seen, self._seen + len(tokenised)
        return range(start, self._seen)

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Whole]:
        """Nothing is laid over attention beforehand."""
        return [Whole(int(place), tokenised[place]) for place in places]

    def reader(self, batch: list[Whole], table: range) -> "Diverger":
        """What takes the attention of a batch."""
        return Diverger(self, batch, table)

    def result(self, table: range) -> int:
        """Inputs of the shard; their divergences are in the sums."""
        return len(table)


class Diverger:
    """Keeps the attention of each input until its last layer is in."""

    def __init__(self, job: Diverging, batch: list[Whole], table: range) -> None:
        """Take the job, the batch, and the places of its shard's inputs among all."""
        self._job, self._batch, self._table = job, batch, table
        self._held: dict[int, torch.Tensor] = {}

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Visible) -> None:
        """Take a block of query rows of one input; at its last one, compare the heads of all layers."""
        whole, job = self._batch[example], self._job
        place = self._table[whole.place]
        if job.sums.has(place):  # of a batch that was halved after this input was done
            return
        size = whole.tokenised.size
        held = self._held.get(example)
        if held is None:
            held = rows.new_empty((job.layers, job.heads, size, size))
            self._held[example] = held
        held[layer, :, start : start + rows.shape[1]] = rows
        if layer + 1 == job.layers and start + rows.shape[1] == size:
            attention = self._held.pop(example).flatten(0, 1)
            found = pair_divergences(attention, smoothing=job.sums.smoothing, threads=job.threads)
            job.sums.add(place, size, found)
