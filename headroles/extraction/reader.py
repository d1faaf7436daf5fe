"""Sieves laid over attention as it passes by, and the table their scores come together in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int

from headroles.asking import per_head
from headroles.extraction.annotate import Annotator
from headroles.extraction.kernels import DevicePlan, contrast, linear, to_device
from headroles.extraction.lexicon import Lexicon
from headroles.extraction.model import Model
from headroles.extraction.readers import Visible, key_of
from headroles.extraction.tokens import Tokenised, example_of
from headroles.plans import Plan
from headroles.records import Example


@runtime_checkable
class Columns(Protocol):
    """What the stream asks of the sieves."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, those of scorers last."""

    @property
    def needs(self) -> frozenset[str]:
        """Annotation the sieves read."""

    @property
    def scorers(self) -> Sequence["LayerScorer"]:
        """Sieves that see attention, one column each."""

    def plan(self, example: Example, visible: Bool[np.ndarray, "tokens tokens"] | None) -> Plan:
        """The mask sieves laid over one example."""


@runtime_checkable
class LayerScorer(Protocol):
    """A sieve that sees attention, one layer at a time."""

    def score(
        self, attention: Float[np.ndarray, "heads tokens tokens"], example: Example
    ) -> Float[np.ndarray, " heads"]:
        """One number per head."""

    def null(self, example: Example) -> float:
        """The score's chance value on this example."""


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """Scores of a run of passages, in their order.

    Attributes:
        examples: Keys.
        tokens: Lengths.
        truncated: Whether each was cut to the longest length allowed.
        values: Scores by column, example, layer and head.
        cells: Eligible queries or arcs by column and example; NaN where unknown or not applicable.
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


@dataclass(slots=True)
class Prepared:
    """One example ready for the model, with its plans by visible set."""

    place: int
    tokenised: Tokenised
    example: Example
    plans: dict[bytes, Plan] = field(default_factory=dict)


def planned(prepared: Prepared, sieves: Columns, visible: np.ndarray | None) -> Plan:
    key = key_of(visible)
    if key not in prepared.plans:
        prepared.plans[key] = sieves.plan(prepared.example, visible)
    return prepared.plans[key]


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

    def note(self, place: int, plan: Plan) -> None:
        """Take over what a plan says of its example besides scores."""
        self.cells[: plan.columns, place] = plan.cells
        self.low[: plan.columns] = np.fmin(self.low[: plan.columns], plan.low)
        self.high[: plan.columns] = np.fmax(self.high[: plan.columns], plan.high)

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
        for prepared in batch:
            for row, scorer in enumerate(table.sieves.scorers):
                table.null[row, prepared.place] = scorer.null(prepared.example)

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Visible) -> None:
        """Add a block of query rows; at the last one, write the layer's scores."""
        prepared = self.batch[example]
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
        values = self.table.values[:, prepared.place, layer]
        if len(plan.linear):
            inside, base = self.sums.pop(example)
            if base is not None:
                inside = torch.where(base > 0, inside / base, torch.nan)
            values[plan.linear.cpu().numpy()] = inside.cpu().numpy()
        for profile in plan.profiles:
            values[profile.columns] = contrast(profile, attention).cpu().numpy()
        scorers = self.table.sieves.scorers
        if scorers:
            array = attention.cpu().numpy()
            array.flags.writeable = False
            for row, scorer in enumerate(scorers, start=plan.columns):
                values[row] = per_head(scorer, array, prepared.example, visible)


class Sieving:
    """The job of scoring every head on every example by sieves."""

    def __init__(
        self, model: Model, sieves: Columns, annotator: Annotator | None, lexicon: Lexicon | None = None
    ) -> None:
        """Take a model, the sieves, what gives words and trees, and what knows of words (or None)."""
        self._model, self._sieves = model, sieves
        self._annotator, self._lexicon = annotator, lexicon

    def table(self, tokenised: Sequence[Tokenised]) -> Table:
        """Empty scores of a shard."""
        return Table(self._sieves, tokenised, self._model)

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Prepared]:
        """Annotate a batch and lay the sieves over it."""
        chosen = [tokenised[place] for place in places]
        passages = [each.passage for each in chosen]
        words = self._annotator.words(passages) if self._annotator else [None] * len(chosen)
        arcs, causal = "arcs" in self._sieves.needs, self._model.way.causal
        batch = []
        for place, each, own in zip(places, chosen, words, strict=True):
            known = self._lexicon.lexical(each, own) if self._lexicon else None
            prepared = Prepared(int(place), each, example_of(each, own, arcs, known))
            seen = np.tri(each.size, dtype=np.bool_) if causal and each.size > 1 else None
            planned(prepared, self._sieves, seen)
            batch.append(prepared)
        return batch

    def reader(self, batch: list[Prepared], table: Table) -> Reader:
        """What scores the batch as its attention passes by."""
        return Reader(self._model, batch, table)

    def result(self, table: Table) -> Shard:
        """The finished scores."""
        return table.shard()
