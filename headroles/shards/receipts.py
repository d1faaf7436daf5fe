"""Receipts of the finished shards of a run, and the scores of the run assembled from their files.

No model is needed here.
"""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate, chain
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.records.example import Scores
from headroles.records.rules.rule import Rule
from headroles.records.stops.look import Look
from headroles.shards.files import altered_file_error, shard_name
from headroles.shards.work import Facts, Receipt
from headroles.storage.arrow.files import read_parquet
from headroles.storage.places import Place
from headroles.storage.scores import part_name, scores_from_tables

READERS = 2
"""Shards that are read at a time: most of that is decoding, which threads do beside each other."""


class Receipts:
    """Receipts of finished shards, counted in the order in which they arrive.

    Where only sums over all examples are kept, receipts are counted and not stored. Memory then does not
    grow with the number of shards.

    Attributes:
        shards: Number of finished shards without a gap, from the first.
        truncated: Number of truncated inputs.
        counts: Further counts of the kind of run, by name.
        low: Smallest value that each column could take in any shard; NaN where no shard states one.
        high: Largest value that each column could take in any shard; NaN where no shard states one.
        look: The last look of a run that may stop before its last shard; None for other runs.
        stopped: Whether no further shard is needed.
    """

    look: Look | None = None
    stopped = False

    def __init__(self, whole: bool) -> None:
        """Start without any finished shard.

        Args:
            whole: Whether receipts are stored, because the scores of all examples are kept.
        """
        self._receipts: dict[int, Receipt] | None = {} if whole else None
        self._after_gap: set[int] = set()
        self.shards = self.truncated = 0
        self.counts: Counter[str] = Counter()
        self.low: Float[np.ndarray, " columns"] = np.array(np.nan)
        self.high: Float[np.ndarray, " columns"] = np.array(np.nan)

    def add(self, receipt: Receipt) -> None:
        """Count a finished shard."""
        if self._receipts is not None:
            self._receipts[receipt.number] = receipt
        self._after_gap.add(receipt.number)
        while self.shards in self._after_gap:
            self._after_gap.remove(self.shards)
            self.shards += 1
        self.truncated += receipt.truncated
        self.counts.update(receipt.counts)
        low, high = (np.array(bound, dtype=np.float64) for bound in (receipt.low, receipt.high))
        self.low, self.high = np.fmin(self.low, low), np.fmax(self.high, high)

    def check(self, count: int) -> None:
        """Check that exactly this number of shards is finished.

        Raises:
            RuntimeError: When a shard is missing or there is one too many.
        """
        if self.shards != count or self._after_gap:
            raise RuntimeError(
                f"{count} shards were to be scored, but got receipts of the first {self.shards} and of "
                f"{sorted(self._after_gap)}"
            )

    @property
    def receipts(self) -> Sequence[Receipt]:
        """The receipts in the order of the shards.

        Raises:
            RuntimeError: When they were not stored.
        """
        if self._receipts is None:
            raise RuntimeError("receipts are stored only where all scores are kept")
        return [self._receipts[number] for number in sorted(self._receipts)]


def with_score_bounds(
    rules: Sequence[Rule],
    low: Float[np.ndarray, " columns"],
    high: Float[np.ndarray, " columns"],
    null: Float[np.ndarray, "columns examples"],
    scorers: int,
) -> tuple[Rule, ...]:
    """Add the bounds of masks and the mean chance values of scorers to rules.

    Args:
        rules: One per column, those of scorers last.
        low: Smallest value each column could take on any example; not finite where no example states one.
        high: Largest value each column could take on any example; not finite where no example states one.
        null: Chance values; NaN where a column has no value.
        scorers: Number of columns of scorers.

    Returns:
        The rules with ``low`` and ``high`` for masks, and with ``null`` for scorers.

    Example:
        >>> rules = (Rule("local"), Rule("odd"))
        >>> low, null = np.array([-0.5, np.inf]), np.full((2, 3), 0.25)
        >>> with_bounds = with_score_bounds(rules, low, np.ones(2), null, 1)
        >>> (with_bounds[0].low, with_bounds[0].high, with_bounds[0].null), with_bounds[1].null
        ((-0.5, 1.0, 0.0), 0.25)
    """
    with_bounds = []
    for column, rule in enumerate(rules):
        if column >= len(rules) - scorers:
            chance = float(np.nanmean(null[column])) if (~np.isnan(null[column])).any() else 0.0
            with_bounds.append(replace(rule, null=chance))
        elif np.isfinite([low[column], high[column]]).all():
            with_bounds.append(replace(rule, low=float(low[column]), high=float(high[column])))
        else:
            with_bounds.append(rule)
    return tuple(with_bounds)


def assemble_scores(
    place: Place, tally: Receipts, rules: Sequence[Rule], facts: Facts
) -> tuple[Scores, tuple[Rule, ...]]:
    """Read the scores of all shards, and add to the rules what only the examples state.

    Args:
        place: Where the shards are.
        tally: The stored receipts of all shards.
        rules: One per column.
        facts: Facts of the workers.

    Returns:
        The scores of all examples, and the rules with bounds and chance values.

    Raises:
        BadInput: When a file of a shard is not the one in its receipt.
    """
    receipts = tally.receipts
    count = sum(receipt.examples for receipt in receipts)
    shape = (len(rules), count)
    values = np.empty((*shape, facts.layers, facts.heads), dtype=np.float32)
    cells, null = np.empty(shape), np.empty(shape)
    tokens = np.empty(count, dtype=np.int64)
    names = [rule.sieve for rule in rules]

    def read(receipt: Receipt, stop: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        own, here = read_shard(place, receipt, names, facts), slice(stop - receipt.examples, stop)
        values[:, here], cells[:, here], null[:, here] = own.values, own.cells, own.null
        tokens[here] = own.tokens
        return own.examples, own.units

    stops = accumulate(receipt.examples for receipt in receipts)
    with ThreadPoolExecutor(READERS, thread_name_prefix="shards") as pool:
        read_names = [*pool.map(read, receipts, stops)]
    scores = Scores(
        sieves=tuple(names),
        examples=tuple(chain.from_iterable(examples for examples, _ in read_names)),
        units=tuple(chain.from_iterable(units for _, units in read_names)),
        tokens=tokens,
        cells=cells,
        values=values,
        null=null,
    )
    return scores, with_score_bounds(rules, tally.low, tally.high, null, facts.known.scorers)


def read_shard(place: Place, receipt: Receipt, names: Sequence[str], facts: Facts) -> Scores:
    """Read the scores of one shard.

    Args:
        place: Where the shards are.
        receipt: Of the shard.
        names: The columns of the run.
        facts: Facts of the workers.

    Raises:
        BadInput: When a file of the shard is not the one in its receipt.
    """
    part = _table(place, receipt, part_name(receipt.number))
    beside = _table(place, receipt, shard_name(receipt.number, "parquet"))
    return scores_from_tables(part, beside, names, (facts.layers, facts.heads))


def _table(place: Place, receipt: Receipt, name: str) -> Any:
    data = place.read(name)
    if sha256(data).hexdigest() != receipt.files[name]:
        raise altered_file_error(name)
    return read_parquet(data)
