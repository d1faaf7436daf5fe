"""Collect shards into the scores of a run: one allocation with a slice for each shard, written when done."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headroles.extraction.scoring.reader import Shard
from headroles.extraction.source import AttentionSource
from headroles.inputs.units import unit_names
from headroles.records.example import Rule, Scores
from headroles.records.passage import Passage
from headroles.shards.receipts import with_score_bounds
from headroles.storage.run import write_part


@dataclass(frozen=True, slots=True)
class CollectedScores:
    """The scores of all shards.

    Attributes:
        scores: One number per column, example and head.
        rules: One per column, with the bounds its scores had on these examples.
        truncated: Inputs that were cut.
    """

    scores: Scores
    rules: tuple[Rule, ...]
    truncated: int


def collect(
    shards: Iterable[Shard],
    passages: Sequence[Passage],
    units: Sequence[str],
    rules: Sequence[Rule],
    model: AttentionSource,
    place: Path | None,
) -> CollectedScores:
    """Put shards together as they arrive, and write each into the unfinished run folder.

    Args:
        shards: In the order of the passages.
        passages: The inputs.
        units: The unit of each passage, from ``units_of``.
        rules: One per column; shards hold the bounds of masks and the chance values of scorers.
        model: The model whose heads are scored.
        place: The folder; None to write nothing.
    """
    table = _Table(rules, passages, units, model)
    for number, shard in enumerate(shards):
        part = table.add(shard)
        if place is not None:
            write_part(place, number, part)
    return CollectedScores(table.scores(0, len(passages)), table.bounded(), table.truncated)


def units_of(passages: Sequence[Passage]) -> list[str]:
    """Return the unit of each input; inputs of a single unit are scored, but nothing about them is tested."""
    return unit_names(
        [passage.group for passage in passages],
        [passage.texts for passage in passages],
        [passage.key for passage in passages],
    )


class _Table:
    """The scores of a run while its shards arrive."""

    def __init__(
        self, rules: Sequence[Rule], passages: Sequence[Passage], units: Sequence[str], model: AttentionSource
    ) -> None:
        count = len(passages)
        shape = (len(rules), count)
        self._rules = tuple(rules)
        self._scorers = 0
        self._keys = tuple(passage.key for passage in passages)
        self._units = tuple(units)
        self._tokens = np.zeros(count, dtype=np.int64)
        self._cells = np.full(shape, np.nan)
        self._values = np.full((*shape, model.layers, model.heads), np.nan, dtype=np.float32)
        self._null = np.repeat(np.array([[rule.null] for rule in rules]), count, axis=1)
        self._low, self._high = np.full(len(rules), np.inf), np.full(len(rules), -np.inf)
        self._done = 0
        self.truncated = 0

    def add(self, shard: Shard) -> Scores:
        """Store a shard, and return the scores of its examples."""
        start, stop = self._done, self._done + len(shard.examples)
        here = slice(start, stop)
        self._tokens[here] = shard.tokens
        self._cells[:, here] = shard.cells
        self._values[:, here] = shard.values
        self._scorers = len(shard.null)
        if len(shard.null):
            self._null[-len(shard.null) :, here] = shard.null
        self._low, self._high = np.minimum(self._low, shard.low), np.maximum(self._high, shard.high)
        self._done = stop
        self.truncated += int(shard.truncated.sum())
        return self.scores(start, stop)

    def scores(self, start: int, stop: int) -> Scores:
        """Return the scores of the examples from ``start`` to ``stop``."""
        here = slice(start, stop)
        return Scores(
            sieves=tuple(rule.sieve for rule in self._rules),
            examples=self._keys[here],
            units=self._units[here],
            tokens=self._tokens[here],
            cells=self._cells[:, here],
            values=self._values[:, here],
            null=self._null[:, here],
        )

    def bounded(self) -> tuple[Rule, ...]:
        """Return the rules with values that depend on the examples: bounds of masks, chance of scorers."""
        return with_score_bounds(self._rules, self._low, self._high, self._null, self._scorers)
