"""Surface statistics of attention as it passes by: one product and one entropy for each layer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float

from headroles.extraction.capture.cross import expected_visible
from headroles.extraction.capture.readers import VisibleArray, visible_key
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.source import AttentionSource
from headroles.extraction.texts.tokens import Tokenised, example_of
from headroles.plans.plan import SurfacePlan
from headroles.records.example import Example


@dataclass(frozen=True, slots=True)
class SurfaceStatistics:
    """The statistics to count.

    Attributes:
        columns: Number of statistics, the entropy of all rows and of the first token's rows last.
        lay: Gives the plan of an example and the keys that its queries see, in single precision.
        smoothing: Share of each row that is spread evenly before entropies are taken.
    """

    columns: int
    lay: Callable[[Example, VisibleArray], SurfacePlan]
    smoothing: float


@dataclass(slots=True)
class Prepared:
    """One example ready for the model, with its plans by visible set."""

    place: int
    tokenised: Tokenised
    example: Example
    plans: dict[bytes, SurfacePlan] = field(default_factory=dict)


class SurfaceTable:
    """The statistics of one shard while they are computed."""

    def __init__(self, tokenised: Sequence[Tokenised], columns: int, model: AttentionSource) -> None:
        """Make room for the examples of one shard."""
        shape = (columns, len(tokenised), model.layers)
        self.tokenised = tokenised
        self.values = np.full((*shape, model.heads), np.nan, dtype=np.float32)
        self.even = np.full(shape, np.nan)
        self.cells = np.full(shape[:2], np.nan)
        self.low, self.high = np.full(columns, np.inf), np.full(columns, -np.inf)

    def note(self, place: int, layer: int, counted: SurfacePlan) -> None:
        """Take the values of even attention, the cells and the bounds from the plan of an example's layer."""
        plan = counted.plan
        self.even[:, place, layer] = counted.even
        self.cells[:, place] = np.fmax(self.cells[:, place], plan.cells)
        self.low, self.high = np.fmin(self.low, plan.low), np.fmax(self.high, plan.high)

    def unequal(self) -> int:
        """Return the number of examples whose layers differ in the values of even attention."""
        even = np.nan_to_num(self.even, nan=-1.0)
        return int((even != even[:, :, :1]).any(axis=(0, 2)).sum())

    def shard(self) -> Shard:
        """Return the finished statistics; the null is even attention, averaged over layers."""
        known = ~np.isnan(self.even)
        total, count = np.where(known, self.even, 0.0).sum(axis=2), known.sum(axis=2)
        return Shard.of(
            self.tokenised,
            values=self.values,
            cells=self.cells,
            null=np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0),
            low=self.low,
            high=self.high,
        )


class SurfaceReader:
    """Takes the statistics of the attention of one batch as it passes by."""

    def __init__(
        self, model: AttentionSource, counting: SurfaceStatistics, batch: list[Prepared], table: SurfaceTable
    ) -> None:
        """Take a batch, and the table that collects its statistics."""
        self._device, self._counting = model.device, counting
        self._batch, self._table = batch, table
        self._plans: dict[tuple[int, bytes], tuple[SurfacePlan, torch.Tensor]] = {}
        self._masses: dict[int, torch.Tensor] = {}
        self._spread: dict[int, list[torch.Tensor]] = {}

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        """Add a block of query rows; at the last one, write the layer's statistics."""
        counted, weight = self._plan_of(example, visible)
        if len(weight):
            heads, count, tokens = rows.shape
            part = slice(start * tokens, (start + count) * tokens)
            added = weight[:, part] @ rows.reshape(heads, -1).T
            before = self._masses.get(example)
            self._masses[example] = added if before is None else before + added
        own = rows[:, : max(counted.queries - start, 0), counted.keys :]
        self._spread.setdefault(example, []).append(entropies(own, self._counting.smoothing))
        if start + rows.shape[1] == self._batch[example].tokenised.size:
            self._write(layer, example, counted)

    def _plan_of(self, example: int, visible: VisibleArray) -> tuple[SurfacePlan, torch.Tensor]:
        """Return the plan, and its weights on the device, in memory that torch aligned.

        Products of the same numbers differ in their last bits with the alignment of their operands.
        """
        key = visible_key(visible)
        if (example, key) not in self._plans:
            prepared = self._batch[example]
            counted = prepared.plans.get(key) or self._counting.lay(prepared.example, visible)
            weight = torch.from_numpy(counted.plan.weight).to(self._device, copy=True)
            self._plans[example, key] = counted, weight
            prepared.plans.clear()  # the copy on the device is enough
        return self._plans[example, key]

    def _write(self, layer: int, example: int, counted: SurfacePlan) -> None:
        place = self._batch[example].place
        self._table.note(place, layer, counted)
        values = self._table.values[:, place, layer]
        masses = self._masses.pop(example, None)
        if masses is not None:
            values[counted.plan.linear] = masses.cpu().numpy()
        spread = torch.cat(self._spread.pop(example), dim=1)
        for column, rows in enumerate((spread, spread[:, counted.first]), start=counted.plan.columns - 2):
            if not np.isnan(counted.even[column]):
                values[column] = rows.mean(dim=1).cpu().numpy()


def entropies(
    rows: Float[torch.Tensor, "heads rows tokens"], smoothing: float = 0.0
) -> Float[torch.Tensor, "heads rows"]:
    """Return the entropy of every row in nats; the fast twin of ``headroles.sieves.spread.entropies``.

    Example:
        >>> entropies(torch.full((1, 1, 4), 0.25, dtype=torch.float64)).numpy().round(4).tolist()
        [[1.3863]]
    """
    smoothed = (1 - smoothing) * rows + smoothing / rows.shape[-1] if smoothing else rows
    logs = smoothed.clamp_min(torch.finfo(rows.dtype).tiny).log_()  # takes half as long as entr
    return logs.mul_(smoothed).sum(dim=-1).neg_()


class SurfaceJob:
    """The job of taking the surface statistics of every head on every example."""

    def __init__(self, model: AttentionSource, counting: SurfaceStatistics) -> None:
        """Take a model, and the statistics to count."""
        self._model, self._counting = model, counting
        self.unequal = 0
        """Examples so far whose layers see different keys, so that even attention differs by layer."""

    def table(self, tokenised: Sequence[Tokenised]) -> SurfaceTable:
        """Return the empty statistics of a shard."""
        return SurfaceTable(tokenised, self._counting.columns, self._model)

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Prepared]:
        """Lay the statistics over a batch, for the keys that its queries are expected to see."""
        batch = []
        for place in places:
            given = tokenised[place]
            example = example_of(given, None, arcs=False)
            visible = expected_visible(given, self._model.way.causal)
            plans = {visible_key(visible): self._counting.lay(example, visible)}
            batch.append(Prepared(int(place), given, example, plans))
        return batch

    def reader(self, batch: list[Prepared], table: SurfaceTable) -> SurfaceReader:
        """Return the reader that takes the statistics of the batch as its attention passes by."""
        return SurfaceReader(self._model, self._counting, batch, table)

    def result(self, table: SurfaceTable) -> Shard:
        """Return the finished statistics."""
        self.unequal += table.unequal()
        return table.shard()
