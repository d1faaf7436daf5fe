"""The scores of a run when all of its shards are done, with the facts that led to them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from headroles.records.example import Scores
from headroles.records.moments import Moments
from headroles.records.rules.rule import Rule
from headroles.records.stops.look import Look
from headroles.shards.files import read_checked_files
from headroles.shards.work import Facts
from headroles.storage.places import Place


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRun:
    """Scores of all inputs, their rules, and the model and annotation that gave them.

    Attributes:
        scores: One number per column, example and head.
        rules: One per column, with the bounds its scores had on these examples.
        facts: Facts of the workers.
        source: Source of the inputs, with the SHA-256 of those that were read.
        truncated: Number of inputs that were cut.
        counts: Further counts over all shards, by name.
        moments: Sums over all examples, where the scores are those of a random subsample.
        place: Where the shards are.
        shards: Number of shards.
        look: The last look of a run that may stop before all inputs are read; None for other runs.
    """

    scores: Scores
    rules: tuple[Rule, ...]
    facts: Facts
    source: dict[str, Any]
    truncated: int
    place: Place
    shards: int
    counts: dict[str, int] = field(default_factory=dict)
    moments: Moments | None = None
    look: Look | None = None

    def shard_files(self, ending: str) -> Iterator[bytes]:
        """Yield the file of this ending of every shard, in their order, checked against its receipt.

        Raises:
            BadInput: When a file is missing or was altered.
        """
        for number in range(self.shards):
            yield read_checked_files(self.place, number, (ending,))[0]
