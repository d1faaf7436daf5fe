"""What the receipts of a run say together, and in runs that keep all scores the receipts themselves.

Rules of columns with what only the examples of a run say.

Shards that are done, put together to the scores of a run; no model is needed.
"""

import io
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.records.example import Rule, Scores
from headroles.shards.files import altered, shard_name
from headroles.shards.work import Facts, Receipt
from headroles.storage.places import Place
from headroles.storage.scores import part_name, scores_of


class Tally:
    """Shards that are done, counted as they come, in any order.

    Where sums are kept of all examples, receipts are counted and let go, so that memory does not grow with
    the shards.

    Attributes:
        shards: Shards that are done without a gap, from the first.
        truncated: Inputs that were cut.
        low: Smallest value that each column could take in any shard; NaN where none says.
        high: Largest.
    """

    def __init__(self, whole: bool) -> None:
        """Nothing is done yet.

        Args:
            whole: Whether receipts are held, because the scores of all examples are kept.
        """
        self._held: dict[int, Receipt] | None = {} if whole else None
        self._beyond: set[int] = set()
        self.shards = self.truncated = 0
        self.low: Float[np.ndarray, " columns"] = np.array(np.nan)
        self.high: Float[np.ndarray, " columns"] = np.array(np.nan)

    def add(self, receipt: Receipt) -> None:
        """Count a shard."""
        if self._held is not None:
            self._held[receipt.number] = receipt
        self._beyond.add(receipt.number)
        while self.shards in self._beyond:
            self._beyond.remove(self.shards)
            self.shards += 1
        self.truncated += receipt.truncated
        low, high = (np.array(each, dtype=np.float64) for each in (receipt.low, receipt.high))
        self.low, self.high = np.fmin(self.low, low), np.fmax(self.high, high)

    def check(self, count: int) -> None:
        """See that so many shards are done, and no others.

        Raises:
            RuntimeError: When one is missing, or was not asked for.
        """
        if self.shards != count or self._beyond:
            raise RuntimeError(
                f"{count} shards were to be scored, but receipts came of the first {self.shards} and of "
                f"{sorted(self._beyond)}"
            )

    @property
    def receipts(self) -> Sequence[Receipt]:
        """The receipts in the order of the shards.

        Raises:
            RuntimeError: When they were not held.
        """
        if self._held is None:
            raise RuntimeError("receipts are held only where all scores are kept")
        return [self._held[number] for number in sorted(self._held)]


def bounded(
    rules: Sequence[Rule],
    low: Float[np.ndarray, " columns"],
    high: Float[np.ndarray, " columns"],
    null: Float[np.ndarray, "columns examples"],
    scorers: int,
) -> tuple[Rule, ...]:
    """Rules with bounds of masks and mean chance values of scorers.

    Args:
        rules: One per column, those of scorers last.
        low: Smallest value each column could take on any of the examples; not finite where none says.
        high: Largest value.
        null: Chance values; NaN where a column says nothing.
        scorers: Columns of scorers.

    Example:
        >>> rules = (Rule("local"), Rule("odd"))
        >>> made = bounded(rules, np.array([-0.5, np.inf]), np.ones(2), np.full((2, 3), 0.25), 1)
        >>> (made[0].low, made[0].high, made[0].null), made[1].null
        ((-0.5, 1.0, 0.0), 0.25)
    """
    made = []
    for column, rule in enumerate(rules):
        if column >= len(rules) - scorers:
            chance = float(np.nanmean(null[column])) if (~np.isnan(null[column])).any() else 0.0
            made.append(replace(rule, null=chance))
        elif np.isfinite([low[column], high[column]]).all():
            made.append(replace(rule, low=float(low[column]), high=float(high[column])))
        else:
            made.append(rule)
    return tuple(made)


def assembled(
    place: Place, tally: Tally, rules: Sequence[Rule], facts: Facts
) -> tuple[Scores, tuple[Rule, ...]]:
    """The scores of all shards, and the rules with what only the examples say.

    Args:
        place: Where the shards are.
        tally: Of all shards, whose receipts it holds.
        rules: One per column.
        facts: Of the workers.

    Raises:
        BadInput: When a shard is not what its receipt says.
    """
    receipts = tally.receipts
    count = sum(receipt.examples for receipt in receipts)
    shape = (len(rules), count)
    values = np.empty((*shape, facts.layers, facts.heads), dtype=np.float32)
    cells, null = np.empty(shape), np.empty(shape)
    tokens = np.empty(count, dtype=np.int64)
    examples: list[str] = []
    units: list[str] = []
    names = [rule.sieve for rule in rules]
    for receipt in receipts:
        here = slice(len(examples), len(examples) + receipt.examples)
        part = _table(place, receipt, part_name(receipt.number))
        beside = _table(place, receipt, shard_name(receipt.number, "parquet"))
        own = scores_of(part, beside, names, (facts.layers, facts.heads))
        values[:, here], cells[:, here], null[:, here] = own.values, own.cells, own.null
        tokens[here] = own.tokens
        examples += own.examples
        units += own.units
    scores = Scores(
        sieves=tuple(names),
        examples=tuple(examples),
        units=tuple(units),
        tokens=tokens,
        cells=cells,
        values=values,
        null=null,
    )
    return scores, bounded(rules, tally.low, tally.high, null, facts.scorers)


def _table(place: Place, receipt: Receipt, name: str) -> Any:
    import pyarrow.parquet as pq

    data = place.read(name)
    if sha256(data).hexdigest() != receipt.files[name]:
        raise altered(name)
    return pq.read_table(io.BytesIO(data))
