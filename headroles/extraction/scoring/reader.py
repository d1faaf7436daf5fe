"""The reader that scores attention as it passes by, and the table that collects the scores of a shard."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int

from headroles.extraction.capture.readers import (
    Place,
    VisibleArray,
    VisibleMask,
    to_visible_mask,
    visible_key,
)
from headroles.extraction.fused.attention import FusedAttention
from headroles.extraction.scoring.batches.reading import BatchPlan, BatchScores
from headroles.extraction.scoring.blocks.sums import LongScorers, LongSums
from headroles.extraction.scoring.classes.sums import ClassSums
from headroles.extraction.scoring.classes.table import ClassTable
from headroles.extraction.scoring.finite import NotFiniteError
from headroles.extraction.scoring.fused import FusedSums
from headroles.extraction.scoring.pairing import Partners
from headroles.extraction.scoring.prepared import Prepared, SieveColumns, batch_plans_of, long_plan_of
from headroles.extraction.source import AttentionSource
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.plan import LEFT_OUT, LongPlan, Plan, beyond_bounds
from headroles.plans.scorers import SpreadScorer, score_layer, score_spread
from headroles.records.example import Example


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """Scores of consecutive passages, in their order.

    Attributes:
        examples: Keys.
        tokens: Lengths.
        truncated: Whether each was cut to the longest length allowed.
        values: Scores by column, example, layer and head.
        cells: Eligible queries or arcs by column and example, the most of any layer where what queries see
            differs between layers; NaN where unknown or not applicable.
        null: Chance values by scorer and example.
        low: Smallest value each column could take on any of the examples.
        high: Largest value.
        counts: Number of "pairs" of partners, and of inputs of two texts that are "alone", where inputs are
            paired; and of inputs left out of a column (``plans.plan.LEFT_OUT`` and its name).
    """

    examples: tuple[str, ...]
    tokens: Int[np.ndarray, " examples"]
    truncated: Bool[np.ndarray, " examples"]
    values: Float32[np.ndarray, "columns examples layers heads"]
    cells: Float[np.ndarray, "columns examples"]
    null: Float[np.ndarray, "scorers examples"]
    low: Float[np.ndarray, " columns"]
    high: Float[np.ndarray, " columns"]
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, tokenised: Sequence[Tokenised], **arrays: Any) -> "Shard":
        """Return a shard of these inputs.

        Args:
            tokenised: The inputs, which give keys, lengths and whether they were cut.
            **arrays: Other fields, by name.
        """
        return cls(
            examples=tuple(given.passage.key for given in tokenised),
            tokens=np.array([given.size for given in tokenised], dtype=np.int64),
            truncated=np.array([given.truncated for given in tokenised], dtype=np.bool_),
            **arrays,
        )


class Table:
    """The scores of one shard while they are computed."""

    def __init__(
        self,
        sieves: SieveColumns,
        tokenised: Sequence[Tokenised],
        model: AttentionSource,
        units: Sequence[str] = (),
    ) -> None:
        """Return empty scores.

        Args:
            sieves: Their columns.
            tokenised: The inputs of the shard.
            model: Gives the number of layers and heads.
            units: Unit of each input; empty where every input is a unit of its own.
        """
        columns, count = len(sieves.columns), len(tokenised)
        self.sieves = sieves
        self.tokenised = tokenised
        self.values = np.full((columns, count, model.layers, model.heads), np.nan, dtype=np.float32)
        self.cells = np.full((columns, count), np.nan)
        self.null = np.full((len(sieves.scorers), count), np.nan)
        self.low = np.full(columns, np.inf)
        self.high = np.full(columns, -np.inf)
        self.stated = np.array([sieves.bounds[name] for name in sieves.columns]).reshape(columns, 2)
        self.beyond = np.zeros((columns, count), dtype=np.bool_)
        own = units or [given.passage.key for given in tokenised]
        self.classes = [ClassTable(space, tokenised, own) for space in sieves.class_spaces]
        self.counts: dict[str, int] = {}
        second = sieves.by_norms
        self.by_norms = None if second is None else Table(second, tokenised, model, units)

    def note(self, place: int, plan: Plan | LongPlan) -> None:
        """Take the number of cells and the bounds from the plan of an example.

        An example has a plan for each set of keys that layers see (such as windows and all keys). The
        largest number of cells is kept, so that a column with a value in some layers has it.
        """
        self.cells[: plan.columns, place] = np.fmax(self.cells[: plan.columns, place], plan.cells)
        self._bound([place], plan.low[None], plan.high[None])

    def note_batch(self, places: Sequence[int], plan: BatchPlan) -> None:
        """Take the same from the plan of a batch, for its examples at these places."""
        cells, low, high = (values.double().cpu().numpy() for values in (plan.cells, plan.low, plan.high))
        count = cells.shape[1]
        self.cells[:count, places] = np.fmax(self.cells[:count, places], cells.T)
        self._bound(places, low, high)

    def _bound(
        self,
        places: Sequence[int],
        low: Float[np.ndarray, "examples columns"],
        high: Float[np.ndarray, "examples columns"],
    ) -> None:
        """Take the bounds of inputs; one that could score beyond the stated bounds is left out."""
        count = low.shape[1]
        stated_low, stated_high = self.stated[:count].T
        beyond = beyond_bounds(low, high, stated_low, stated_high)
        self.beyond[:count, places] |= beyond.T
        low, high = (np.where(beyond, np.nan, bound) for bound in (low, high))
        self.low[:count] = np.fmin(self.low[:count], np.fmin.reduce(low, axis=0))
        self.high[:count] = np.fmax(self.high[:count], np.fmax.reduce(high, axis=0))

    def leave_out(self) -> None:
        """Take the scores of inputs away that could lie beyond the stated bounds, and count the inputs."""
        self.values[self.beyond], self.cells[self.beyond] = np.nan, np.nan
        for name, count in zip(self.sieves.columns, self.beyond.sum(axis=1).tolist(), strict=True):
            if count:
                self.counts[f"{LEFT_OUT}{name}"] = count
        if self.by_norms is not None:
            self.by_norms.leave_out()

    def merge_partners(self, partners: Partners) -> None:
        """Put the value of each pair of partners at its first input, and count the pairs."""
        columns = list(self.sieves.layout.swaps)
        self.values[columns] = partners.merge(self.values[columns])
        silent = np.isnan(self.values[columns]).all(axis=(2, 3))
        self.cells[columns] = np.where(silent, np.nan, self.cells[columns])
        self.counts |= {"pairs": len(partners.first), "alone": partners.alone}

    def shard(self) -> Shard:
        """Return the finished scores."""
        for classes in self.classes:
            classes.finish(self.values, self.cells, self.low, self.high)
        if self.by_norms is not None:
            self._take_norms(self.by_norms)
        return Shard.of(
            self.tokenised,
            values=self.values,
            cells=self.cells,
            null=self.null,
            low=self.low,
            high=self.high,
            counts=self.counts,
        )

    def _take_norms(self, second: "Table") -> None:
        """Take minus the scores of norm-weighted attention, so that taking less is the larger number."""
        columns = list(self.sieves.norm_columns)
        self.values[columns], self.cells[columns] = -second.values, second.cells
        self.low[columns], self.high[columns] = -second.high, -second.low


class Reader:
    """Scores the attention of one batch as it passes by."""

    def __init__(self, model: AttentionSource, batch: list[Prepared], table: Table) -> None:
        self.device, self.heads = model.device, model.heads
        self.batch = batch
        self.table = table
        self.long: dict[tuple[int, bytes], LongSums] = {}
        self.scorers: dict[int, LongScorers] = {}
        self.fused: dict[tuple[int, bytes], FusedSums] = {}
        self._done: Counter[tuple[int, int]] = Counter()
        self._lock = Lock()
        second = table.by_norms
        seconds = [prepared.second() for prepared in batch] if second is not None else []
        self.norm_reader = None if second is None else Reader(model, seconds, second)
        together = batch_plans_of(model, table.sieves, batch)
        self.scores = None if together is None else BatchScores(together, model.layers, model.device)
        self.classes = [
            ClassSums(number, batch, classes, model) for number, classes in enumerate(table.classes)
        ]
        for prepared in batch:
            for row, scorer in enumerate(table.sieves.scorers):
                table.null[row, prepared.place] = scorer.null(prepared.example)

    @property
    def together(self) -> bool:
        """Return whether all examples are read as one."""
        return self.scores is not None

    def read_batch(self, layer: int, weights: torch.Tensor, visible: Sequence[VisibleArray]) -> None:
        """Read a layer of all examples: as one where they are short and of one stack, else one by one."""
        if self.scores is None:
            for example, prepared in enumerate(self.batch):
                size = prepared.tokenised.size
                self.read(layer, example, 0, weights[example, :, :size, :size], visible[example])
            return
        sieves, places = self.table.sieves, [prepared.place for prepared in self.batch]
        plans, cells = self.scores.add(weights, visible, keep=bool(self.classes))
        for part, plan in plans:
            self.table.note_batch(places[part], plan)
        for classes in self.classes:
            classes.add(layer, cells, weights.shape[3])
        first = sieves.layout.columns
        if self.scores.done:
            self.table.values[:first, places] = self.scores.values()
        for prepared, own, seen in zip(self.batch, weights, visible, strict=True) if sieves.scorers else ():
            size, values = prepared.tokenised.size, self.table.values[:, prepared.place, layer]
            self._score(values[first:], layer, own[:, :size, :size], prepared.example, seen)

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        """Read one example: all of its rows where it is a batch by itself, else a block of query rows."""
        if self.scores is not None:
            self.read_batch(layer, rows[None], [visible])
            return
        place = Place(layer, example, slice(0, rows.shape[0]), start, 0)
        self.read_rows(place, rows, to_visible_mask(visible))

    @property
    def by_heads(self) -> bool:
        """Return whether heads may be handed over in groups; scorers take all heads at once."""
        second = self.norm_reader
        return not self.table.sieves.scorers and (second is None or second.by_heads)

    def read_rows(self, place: Place, rows: torch.Tensor, visible: VisibleMask) -> None:
        """Add a block of query rows; after the last block of the last heads, write their scores.

        Different heads may be read by different threads.
        """
        layer, example, shown = place.layer, place.example, visible
        prepared, key = self.batch[example], (example, visible_key(shown))
        with self._lock:
            if key not in self.long:
                self.long[key] = LongSums(self._lay(prepared, shown), self.heads, self.device)
                self.scorers[example] = LongScorers(self.table.sieves.scorers, prepared.example)
        sums, scorers = self.long[key], self.scorers[example]
        if self.table.sieves.scorers and not bool(rows.sum().isfinite()):
            raise NotFiniteError(prepared.example.key, layer)
        sums.add(place.start, rows, place.first, place.heads)
        for classes in self.classes:
            classes.add_rows(place, rows)
        scorers.add(place.start, rows, place.first, shown)
        if place.start + rows.shape[1] < prepared.tokenised.size:
            return
        with self._lock:
            self._done[layer, example] += rows.shape[0]
            if self._done[layer, example] < self.heads:
                return
        values = self._write(prepared, layer, sums.finish())
        if self.table.sieves.scorers:
            values[sums.plan.columns :] = scorers.finish(shown)

    @property
    def also_rows(self) -> bool:
        """Return False: the fused path needs sums only, and no rows."""
        return False

    def read_fused(self, layer: int, example: int, attention: FusedAttention, shown: VisibleMask) -> None:
        """Write the scores of a layer of one example from attention that is never formed."""
        prepared, key = self.batch[example], (example, visible_key(shown))
        if key not in self.fused:
            self.fused[key] = FusedSums(self._lay(prepared, shown), self.heads, self.device)
        sums = self.fused[key]
        values = self._write(prepared, layer, sums.scores(attention))
        for classes in self.classes:
            classes.add_cells(layer, example, attention.cells)
        for place, scorer in enumerate(self.table.sieves.scorers, sums.plan.columns):
            assert isinstance(scorer, SpreadScorer), "sieves that need rows are refused before"
            sets = scorer.key_sets(prepared.example)
            masses, spread = attention.spread(
                torch.tensor(sets.keys, device=self.device),
                torch.tensor(sets.label, dtype=torch.int64, device=self.device),
            )
            if not bool(masses.isfinite().all()):
                raise NotFiniteError(prepared.example.key, layer)
            values[place] = score_spread(
                scorer, masses.cpu().numpy(), spread.cpu().numpy(), prepared.example, shown
            )

    def _lay(self, prepared: Prepared, shown: VisibleMask) -> LongPlan:
        """Return the plan of an example for a visible set, and note its bounds."""
        plan = long_plan_of(prepared, self.table.sieves, shown)
        self.table.note(prepared.place, plan)
        prepared.long_plans.clear()
        return plan

    def _write(
        self, prepared: Prepared, layer: int, scores: Float[np.ndarray, "columns heads"]
    ) -> Float32[np.ndarray, "columns heads"]:
        """Write the scores of mask sieves and contrasts; return a view of all scores of the layer."""
        values = self.table.values[:, prepared.place, layer]
        values[: len(scores)] = scores
        if np.isinf(scores).any():
            raise NotFiniteError(prepared.example.key, layer)
        return values

    def _score(
        self, values: np.ndarray, layer: int, attention: torch.Tensor, example: Example, visible: VisibleArray
    ) -> None:
        """Write the numbers of the scorers, a row each, for a layer of an example."""
        scorers = self.table.sieves.scorers
        if scorers:
            array = attention.cpu().numpy()
            if not np.isfinite(array).all():
                raise NotFiniteError(example.key, layer)
            array.flags.writeable = False
            for place, scorer in enumerate(scorers):
                values[place] = score_layer(scorer, array, example, visible)
