"""Divergences between heads, summed over inputs as attention passes by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from headroles.errors import BadInput, UnknownName
from headroles.extraction.divergence import pair_divergences
from headroles.extraction.model import Model
from headroles.extraction.readers import Visible
from headroles.extraction.tokens import Tokenised
from headroles.records.clusters import WAYS, Divergence

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
