"""Scores as Parquet and back: files of scores, and one file of cells and chance values per example."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from headroles.records.example import Scores
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
    import pyarrow as pa

    size = scores.layers * scores.heads
    columns: dict[str, Any] = {
        "example": pa.array(scores.examples, pa.string()),
        "group": pa.array(scores.units, pa.string()),
        "tokens": pa.array(scores.tokens, pa.int32()),
    }
    for name, values in zip(scores.sieves, scores.values, strict=True):
        flat = pa.array(np.ascontiguousarray(values).ravel(), pa.float32(), from_pandas=False)
        columns[name] = pa.FixedSizeListArray.from_arrays(flat, size)
    return _parquet(columns, use_dictionary=False)


def examples_bytes(scores: Scores) -> bytes:
    """Return cells and chance values per example as Parquet, which the files of scores do not have."""
    import pyarrow as pa

    columns: dict[str, Any] = {"example": pa.array(scores.examples, pa.string())}
    for kind, table in (("cells", scores.cells), ("null", scores.null)):
        for name, values in zip(scores.sieves, table, strict=True):
            columns[f"{kind}:{name}"] = pa.array(values, pa.float64(), from_pandas=False)
    return _parquet(columns)


def read_parquet(data: Path | bytes) -> Any:
    """Return the table of a Parquet file, from its path or content, read by the thread that calls.

    Where memory is short, threads cannot start, and a reader that waits for one never ends.

    Raises:
        OSError: When the file is missing.
        ValueError: When it is no Parquet file.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(io.BytesIO(data) if isinstance(data, bytes) else data, pre_buffer=False) as file:
        return file.read(use_threads=False)


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
        tokens=_numbers(table["tokens"].chunks).astype(np.int64),
        cells=np.stack([_numbers(extra[f"cells:{name}"].chunks) for name in sieves]),
        values=np.stack([_flat(table[name]).reshape(shape) for name in sieves]),
        null=np.stack([_numbers(extra[f"null:{name}"].chunks) for name in sieves]),
    )


def _flat(column: Any) -> Float32[np.ndarray, " values"]:
    """Return all values of a column of lists, one after the other."""
    return _numbers([chunk.flatten() for chunk in column.chunks])


def _numbers(chunks: Sequence[Any]) -> np.ndarray:
    """Return the numbers of arrays of Arrow without null; ``to_numpy`` would import pandas.

    Raises:
        TypeError: Where a number is missing.
    """
    arrays = [np.from_dlpack(chunk) for chunk in chunks]
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=np.float32)


def _parquet(columns: dict[str, Any], **settings: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression="zstd", **settings)
    data: bytes = sink.getvalue().to_pybytes()
    return data
