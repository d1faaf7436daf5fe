"""Passages to scores, shard by shard: annotation beside the model, attention read as it passes by."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int

from headroles.errors import BadInput
from headroles.extraction.annotate import Annotator
from headroles.extraction.capture import RETURNED, Visible, run
from headroles.extraction.kernels import DevicePlan, contrast, linear, to_device
from headroles.extraction.model import Model
from headroles.extraction.passages import Passage
from headroles.extraction.tokens import Tokenised, example_of, tokenise
from headroles.plans import Plan
from headroles.records import Example

SHARD = 256
"""Passages in a shard: what is sorted by length, held and written together."""
RETURNED_BATCH = 8
"""Largest batch when all layers' weights are alive at once."""


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


@dataclass(slots=True)
class _Prepared:
    """One example ready for the model, with its plans by visible set."""

    place: int
    tokenised: Tokenised
    example: Example
    plans: dict[bytes, Plan] = field(default_factory=dict)


def stream(
    model: Model,
    passages: Sequence[Passage],
    sieves: Columns,
    annotator: Annotator | None,
    *,
    batch_size: int,
    max_length: int,
    advance: Callable[[int], None],
) -> Iterator[Shard]:
    """Score passages shard by shard.

    Args:
        model: Ready to be read.
        passages: All of one width (single texts or pairs).
        sieves: What is scored.
        annotator: Gives words and trees; None when no sieve needs them.
        batch_size: Largest batch; a batch that does not fit in memory is halved.
        max_length: Longest input, in tokens.
        advance: Called with the number of examples done since the last call.
    """
    size = min(batch_size, RETURNED_BATCH) if model.way.name == RETURNED else batch_size
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="annotation") as beside:
        for start in range(0, len(passages), SHARD):
            part = passages[start : start + SHARD]
            tokenised = tokenise(model.tokenizer, part, max_length)
            table = _Table(sieves, tokenised, model)
            order = np.argsort([-each.size for each in tokenised], kind="stable")
            batches = [order[k : k + size] for k in range(0, len(order), size)]
            prepare = _preparer(tokenised, sieves, annotator)
            coming = [beside.submit(prepare, batch) for batch in batches[:2]]
            for number in range(len(batches)):
                if number + 2 < len(batches):
                    coming.append(beside.submit(prepare, batches[number + 2]))
                batch = coming[number].result()
                coming[number] = None  # type: ignore[call-overload]
                _score(model, batch, table)
                advance(len(batch))
            yield table.shard()


def _preparer(
    tokenised: Sequence[Tokenised], sieves: Columns, annotator: Annotator | None
) -> Callable[[np.ndarray], list[_Prepared]]:
    """A function that annotates a batch and lays the sieves over it, for the thread beside the model."""

    def prepare(places: np.ndarray) -> list[_Prepared]:
        chosen = [tokenised[place] for place in places]
        words = annotator.words([each.passage for each in chosen]) if annotator else [None] * len(chosen)
        arcs = "arcs" in sieves.needs
        batch = []
        for place, each, own in zip(places, chosen, words, strict=True):
            prepared = _Prepared(int(place), each, example_of(each, own, arcs))
            _plan(prepared, sieves, None)
            batch.append(prepared)
        return batch

    return prepare


def _plan(prepared: _Prepared, sieves: Columns, visible: np.ndarray | None) -> Plan:
    key = b"" if visible is None else np.packbits(visible).tobytes()
    if key not in prepared.plans:
        prepared.plans[key] = sieves.plan(prepared.example, visible)
    return prepared.plans[key]


def _score(model: Model, batch: list[_Prepared], table: "_Table") -> None:
    """Run a batch and write its scores; halve it and try again when memory does not suffice."""
    try:
        reader = _Reader(model, batch, table)
        lengths = [prepared.tokenised.size for prepared in batch]
        run(model.network, model.way, _padded(model, batch), lengths, reader)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not _out_of_memory(error):
            raise
        if len(batch) == 1:
            raise BadInput(
                f"one input of {batch[0].tokenised.size} tokens does not fit in the memory of "
                f"{model.device}; give a smaller --max-length, or another --device"
            ) from error
        half = len(batch) // 2
        _score(model, batch[:half], table)
        _score(model, batch[half:], table)


def _out_of_memory(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text or "not enough memory" in text


def _padded(model: Model, batch: list[_Prepared]) -> dict[str, torch.Tensor]:
    """The batch as tensors, padded on the right by ourselves: not every tokenizer can."""
    width = max(prepared.tokenised.size for prepared in batch)
    pad = getattr(model.tokenizer, "pad_token_id", None) or 0
    tensors = {}
    for name in batch[0].tokenised.inputs:
        array = np.full((len(batch), width), pad if name == "input_ids" else 0, dtype=np.int64)
        for row, prepared in enumerate(batch):
            values = prepared.tokenised.inputs[name]
            array[row, : len(values)] = values
        tensors[name] = torch.from_numpy(array).to(model.device)
    return tensors


class _Table:
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
        return Shard(
            examples=tuple(each.passage.key for each in self.tokenised),
            tokens=np.array([each.size for each in self.tokenised], dtype=np.int64),
            truncated=np.array([each.truncated for each in self.tokenised], dtype=np.bool_),
            values=self.values,
            cells=self.cells,
            null=self.null,
            low=self.low,
            high=self.high,
        )


class _Reader:
    """Scores one batch's attention as it passes by."""

    def __init__(self, model: Model, batch: list[_Prepared], table: _Table) -> None:
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
            self._write(layer, example, plan, attention)

    def _plan(self, example: int, visible: np.ndarray | None) -> DevicePlan:
        key = (example, b"" if visible is None else np.packbits(visible).tobytes())
        if key not in self.plans:
            plan = _plan(self.batch[example], self.table.sieves, visible)
            self.table.note(self.batch[example].place, plan)
            self.plans[key] = to_device(plan, self.device)
        return self.plans[key]

    def _write(self, layer: int, example: int, plan: DevicePlan, attention: torch.Tensor) -> None:
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
            for row, scorer in enumerate(scorers, start=plan.columns):
                values[row] = scorer.score(array, prepared.example)
