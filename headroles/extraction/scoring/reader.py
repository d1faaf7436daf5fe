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
from headroles.extraction.scoring.kernels import DevicePlan, contrast, linear, to_device, unfit
from headroles.extraction.scoring.prepared import Columns, Prepared, long_planned, planned, together_of
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
        self.plans: dict[tuple[int, bytes], DevicePlan] = {}
        self.sums: dict[int, tuple[torch.Tensor, torch.Tensor | None]] = {}
        self.blocks: dict[int, list[torch.Tensor]] = {}
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
        """Add a block of query rows; at the last one, write the layer's scores."""
        prepared = self.batch[example]
        if prepared.long:
            self.read_rows(layer, example, start, rows, 0, shown_of(visible))
            return
        plan = self._plan(example, visible)
        if len(plan.linear):
            inside, base = linear(plan, rows, start)
            before = self.sums.get(example)
            if before is not None:
                inside = inside + before[0]
                base = None if base is None or before[1] is None else base + before[1]
            self.sums[example] = (inside, base)
        whole = rows.shape[1] == prepared.tokenised.size
        if not whole and (plan.profiles or self.table.sieves.scorers):
            self.blocks.setdefault(example, []).append(rows)
        if start + rows.shape[1] == prepared.tokenised.size:
            blocks = self.blocks.pop(example, [rows])
            attention = rows if whole else torch.cat(blocks, dim=1)
            self._write(layer, example, plan, attention, visible)

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
            raise unfit(prepared.example.key, layer)
        sums.add(start, rows, first)
        asked.add(start, rows, first, shown)
        if start + rows.shape[1] < prepared.tokenised.size:
            return
        values = self.table.values[:, prepared.place, layer]
        values[: sums.plan.columns] = sums.finish()
        if np.isinf(values[: sums.plan.columns]).any():
            raise unfit(prepared.example.key, layer)
        if self.table.sieves.scorers:
            values[sums.plan.columns :] = asked.finish(shown)

    def _plan(self, example: int, visible: np.ndarray | None) -> DevicePlan:
        key = (example, key_of(visible))
        if key not in self.plans:
            plan = planned(self.batch[example], self.table.sieves, visible)
            self.table.note(self.batch[example].place, plan)
            self.plans[key] = to_device(plan, self.device)
            self.batch[example].plans.clear()  # the copy on the device is enough
        return self.plans[key]

    def _write(
        self, layer: int, example: int, plan: DevicePlan, attention: torch.Tensor, visible: Visible
    ) -> None:
        prepared = self.batch[example]
        values, fine = self.table.values[:, prepared.place, layer], True
        if len(plan.linear):
            inside, base = self.sums.pop(example)
            found = inside.cpu().numpy()
            fine = bool(np.isfinite(found).all())
            if base is not None:
                found = torch.where(base > 0, inside / base, torch.nan).cpu().numpy()
            values[plan.linear.cpu().numpy()] = found
        for profile in plan.profiles:
            beyond = contrast(profile, attention).cpu().numpy()
            fine = fine and bool(np.isfinite(beyond).all())
            values[profile.columns] = beyond
        if not fine:
            raise unfit(prepared.example.key, layer)
        self._ask(values, layer, plan.columns, attention, prepared.example, visible)

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
                raise unfit(example.key, layer)
            array.flags.writeable = False
            for place, scorer in enumerate(scorers, start=row):
                values[place] = per_head(scorer, array, example, visible)
