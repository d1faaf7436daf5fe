"""Shards that are done, put together to the scores of a run; no model is needed."""

import io
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from headroles.bounding import bounded
from headroles.records.example import Rule, Scores
from headroles.shards import altered, shard_name
from headroles.storage.places import Place
from headroles.storage.scores import part_name, scores_of
from headroles.tally import Tally
from headroles.work import Facts, Receipt


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
