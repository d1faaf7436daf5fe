"""Sieves laid over attention as it passes by, and the table their scores come together in."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int

from headroles.extraction.capture.readers import Shown, Visible, key_of, shown_of
from headroles.extraction.model.load import Model
from headroles.extraction.scoring.batches.reading import BatchPlan, BatchScores
from headroles.extraction.scoring.blocks.sums import LongScorers, LongSums
from headroles.extraction.scoring.finite import not_finite
from headroles.extraction.scoring.prepared import Columns, Prepared, long_planned, together_of
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.plan import LongPlan, Plan
from headroles.plans.scorers import per_head
from headroles.records.example import Example


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """Scores of a run of passages, in their order.

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
    """

    examples: tuple[str, ...]
    tokens: Int[np.ndarray, " examples"]
    truncated: Bool[np.ndarray, " examples"]
    values: Float32[np.ndarray, "columns examples layers heads"]
    cells: Float[np.ndarray, "columns examples"]
    null: Float[np.ndarray, "scorers examples"]
    low: Float[np.ndarray, " columns"]
    high: Float[np.ndarray, " columns"]

    @classmethod
    def of(cls, tokenised: Sequence[Tokenised], **arrays: np.ndarray) -> "Shard":
        """A shard of these inputs.

        Args:
            tokenised: The inputs, which say keys, lengths and whether they were cut.
            **arrays: Everything else, by name.
        """
        return cls(
            examples=tuple(each.passage.key for each in tokenised),
            tokens=np.array([each.size for each in tokenised], dtype=np.int64),
            truncated=np.array([each.truncated for each in tokenised], dtype=np.bool_),
            **arrays,
        )


class Table:
    """The scores of one shard while they come in."""

    def __init__(self, sieves: Columns, tokenised: Sequence[Tokenised], model: Model) -> None:
        columns, count = len(sieves.columns), len(tokenised)
        self.sieves = sieves
        self.tokenised = tokenised
        self.values = np.full((columns, count, model.layers, model.heads), np.nan, dtype=np.float32)
        self.cells = np.full((columns, count), np.nan)
        self.null = np.full((len(sieves.scorers), count), np.nan)
        self.low = np.full(columns, np.inf)
        self.high = np.full(columns, -np.inf)

    def note(self, place: int, plan: Plan | LongPlan) -> None:
        """Take over what a plan says of its example besides scores.

        An example has a plan for each set of keys that layers see (such as windows and all): of cells the
        most is kept, so that a column that speaks in some layers has them.
        """
        self.cells[: plan.columns, place] = np.fmax(self.cells[: plan.columns, place], plan.cells)
        self.low[: plan.columns] = np.fmin(self.low[: plan.columns], plan.low)
        self.high[: plan.columns] = np.fmax(self.high[: plan.columns], plan.high)

    def note_batch(self, places: Sequence[int], plan: BatchPlan) -> None:
        """The same for some examples that were planned together."""
        said = {name: getattr(plan, name).double().cpu().numpy() for name in ("cells", "low", "high")}
        count = said["cells"].shape[1]
        self.cells[:count, places] = np.fmax(self.cells[:count, places], said["cells"].T)
        self.low[:count] = np.fmin(self.low[:count], np.fmin.reduce(said["low"], axis=0))
        self.high[:count] = np.fmax(self.high[:count], np.fmax.reduce(said["high"], axis=0))

    def shard(self) -> Shard:
        """The finished scores."""
        return Shard.of(
            self.tokenised,
            values=self.values,
            cells=self.cells,
            null=self.null,
            low=self.low,
            high=self.high,
        )


class Reader:
    """Scores one batch's attention as it passes by."""

    def __init__(self, model: Model, batch: list[Prepared], table: Table) -> None:
        self.device = model.device
        self.batch = batch
        self.table = table
        self.long: dict[tuple[int, bytes], LongSums] = {}
        self.asked: dict[int, LongScorers] = {}
        together = together_of(model, table.sieves, batch)
        self.scores = None if together is None else BatchScores(together, model.layers, model.device)
        for prepared in batch:
            for row, scorer in enumerate(table.sieves.scorers):
                table.null[row, prepared.place] = scorer.null(prepared.example)

    @property
    def together(self) -> bool:
        """Whether all examples are read as one."""
        return self.scores is not None

    def read_batch(self, layer: int, weights: torch.Tensor, visible: Sequence[Visible]) -> None:
        """Read all examples of a layer as one, where they are short and of one stack; else one by one."""
        if self.scores is None:
            for example, prepared in enumerate(self.batch):
                size = prepared.tokenised.size
                self.read(layer, example, 0, weights[example, :, :size, :size], visible[example])
            return
        sieves, places = self.table.sieves, [prepared.place for prepared in self.batch]
        for part, plan in self.scores.add(weights, visible):
            self.table.note_batch(places[part], plan)
        row = sieves.asking.columns
        if self.scores.done:
            self.table.values[:row, places] = self.scores.values()
        for prepared, own, seen in zip(self.batch, weights, visible, strict=True) if sieves.scorers else ():
            size, values = prepared.tokenised.size, self.table.values[:, prepared.place, layer]
            self._ask(values, layer, row, own[:, :size, :size], prepared.example, seen)

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Visible) -> None:
        """Read one example: all of its rows where it is a batch by itself, else a block of query rows."""
        if self.scores is not None:
            self.read_batch(layer, rows[None], [visible])
            return
        self.read_rows(layer, example, start, rows, 0, shown_of(visible))

    def read_rows(
        self, layer: int, example: int, start: int, rows: torch.Tensor, first: int, shown: Shown
    ) -> None:
        """Add a block of a long example; at its last one, write the layer's scores."""
        prepared, key = self.batch[example], (example, key_of(shown))
        if key not in self.long:
            plan = long_planned(prepared, self.table.sieves, shown)
            self.table.note(prepared.place, plan)
            self.long[key] = LongSums(plan, self.device)
            self.asked[example] = LongScorers(self.table.sieves.scorers, prepared.example)
            prepared.long_plans.clear()
        sums, asked = self.long[key], self.asked[example]
        if self.table.sieves.scorers and not bool(rows.isfinite().all()):
            raise not_finite(prepared.example.key, layer)
        sums.add(start, rows, first)
        asked.add(start, rows, first, shown)
        if start + rows.shape[1] < prepared.tokenised.size:
            return
        values = self.table.values[:, prepared.place, layer]
        values[: sums.plan.columns] = sums.finish()
        if np.isinf(values[: sums.plan.columns]).any():
            raise not_finite(prepared.example.key, layer)
        if self.table.sieves.scorers:
            values[sums.plan.columns :] = asked.finish(shown)

    def _ask(
        self,
        values: np.ndarray,
        layer: int,
        row: int,
        attention: torch.Tensor,
        example: Example,
        visible: Visible,
    ) -> None:
        """Ask the scorers for their rows of a layer's values, from one on."""
        scorers = self.table.sieves.scorers
        if scorers:
            array = attention.cpu().numpy()
            if not np.isfinite(array).all():
                raise not_finite(example.key, layer)
            array.flags.writeable = False
            for place, scorer in enumerate(scorers, start=row):
                values[place] = per_head(scorer, array, example, visible)
