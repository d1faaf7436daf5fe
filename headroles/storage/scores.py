"""Scores as Parquet and back: files of scores, and one file of cells and chance values per example."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headroles.records.example import Scores
from headroles.storage.arrow.arrays import numbers, numbers_of, numbers_of_rows, rows, texts
from headroles.storage.arrow.files import parquet_bytes
from headroles.storage.folder import SCORES


def part_name(number: int) -> str:
    """Return the name of a shard's file of scores within its run folder.

    Example:
        >>> part_name(7)
        'scores/part-00007.parquet'
    """
    return f"{SCORES}/part-{number:05d}.parquet"


def part_bytes(scores: Scores) -> bytes:
    """Return the scores of some examples as Parquet; equal scores give equal bytes.

    One row per example: key, unit, length, and per sieve a fixed-size list of layers × heads
    float32, layer-major; NaN, never null.
    """
    columns: dict[str, Any] = {
        "example": texts(scores.examples),
        "group": texts(scores.units),
        "tokens": numbers(scores.tokens.astype(np.int32)),
    }
    for name, values in zip(scores.sieves, scores.values, strict=True):
        columns[name] = rows(np.asarray(values, dtype=np.float32))
    return parquet_bytes(columns)


def examples_bytes(scores: Scores) -> bytes:
    """Return cells and chance values per example as Parquet, which the files of scores do not have."""
    columns: dict[str, Any] = {"example": texts(scores.examples)}
    for kind, table in (("cells", scores.cells), ("null", scores.null)):
        for name, values in zip(scores.sieves, table, strict=True):
            columns[f"{kind}:{name}"] = numbers(np.asarray(values, dtype=np.float64))
    return parquet_bytes(columns, dictionary=True)


def scores_from_tables(table: Any, extra: Any, sieves: Sequence[str], grid: tuple[int, int]) -> Scores:
    """Return the scores of some examples from the two tables of the files.

    Args:
        table: Table that ``part_bytes`` writes.
        extra: Table that ``examples_bytes`` writes, of the same examples.
        sieves: Columns to read.
        grid: Number of layers and heads.

    Raises:
        ValueError: When the two have other examples, or other layers or heads.
        KeyError: When a column is missing.
    """
    examples = table["example"].to_pylist()
    if examples != extra["example"].to_pylist():
        raise ValueError("the two tables of scores have different examples")
    shape = (len(examples), *grid)
    return Scores(
        sieves=tuple(sieves),
        examples=tuple(examples),
        units=tuple(table["group"].to_pylist()),
        tokens=numbers_of(table["tokens"]).astype(np.int64),
        cells=np.stack([numbers_of(extra[f"cells:{name}"]) for name in sieves]),
        values=np.stack([numbers_of_rows(table[name]).reshape(shape) for name in sieves]),
        null=np.stack([numbers_of(extra[f"null:{name}"]) for name in sieves]),
    )
