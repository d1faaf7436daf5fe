"""Shards that are done, put together to the scores of a run; no model is needed."""

import io
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.bounding import bounded
from headroles.errors import BadInput
from headroles.places import Place
from headroles.records import Rule, Scores
from headroles.shards import shard_name
from headroles.store import part_name
from headroles.work import Facts, Receipt


def assembled(
    place: Place, receipts: Sequence[Receipt], rules: Sequence[Rule], facts: Facts
) -> tuple[Scores, tuple[Rule, ...]]:
    """The scores of all shards, and the rules with what only the examples say.

    Args:
        place: Where the shards are.
        receipts: Of all shards, in their order.
        rules: One per column.
        facts: Of the workers.

    Raises:
        BadInput: When a shard is not what its receipt says.
    """
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
        for column, name in enumerate(names):
            flat = part[name].combine_chunks().flatten().to_numpy()
            values[column, here] = flat.reshape(receipt.examples, facts.layers, facts.heads)
            cells[column, here] = beside[f"cells:{name}"].to_numpy()
            null[column, here] = beside[f"null:{name}"].to_numpy()
        tokens[here] = part["tokens"].to_numpy()
        examples += part["example"].to_pylist()
        units += part["group"].to_pylist()
    scores = Scores(
        sieves=tuple(names),
        examples=tuple(examples),
        units=tuple(units),
        tokens=tokens,
        cells=cells,
        values=values,
        null=null,
    )
    return scores, bounded(rules, *reaches(receipts), null, facts.scorers)


def _table(place: Place, receipt: Receipt, name: str) -> Any:
    import pyarrow.parquet as pq

    data = place.read(name)
    if sha256(data).hexdigest() != receipt.files[name]:
        raise BadInput(
            f"'{name}' was altered while the run was made; start the same command again, and it is done again"
        )
    return pq.read_table(io.BytesIO(data))


def reaches(
    receipts: Sequence[Receipt],
) -> tuple[Float[np.ndarray, " columns"], Float[np.ndarray, " columns"]]:
    """Smallest and largest value that each column could take in any shard; NaN where none says."""
    low, high = (
        np.array([getattr(each, end) for each in receipts], dtype=np.float64) for end in ("low", "high")
    )
    return np.fmin.reduce(low), np.fmax.reduce(high)
