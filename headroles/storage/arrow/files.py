"""Parquet files of arrays of Arrow, written to bytes and read from a path or bytes."""

from io import BytesIO
from pathlib import Path
from typing import Any

MOST_IN_MEMORY, MOST_GROWTH = 2**29, 50
"""Bytes that any file may take in memory, and how many times its size a larger one may take."""
WIDTHS = {"BOOLEAN": 0.125, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 4}
"""Bytes of a value in memory by its type; texts and contents have more, which the file holds as they are."""


def parquet_bytes(
    columns: dict[str, Any],
    metadata: dict[str, str] | None = None,
    *,
    compression: str = "zstd",
    dictionary: bool = False,
) -> bytes:
    """Return a table as a Parquet file; equal columns give equal bytes.

    Args:
        columns: Arrays of Arrow of one length, by name.
        metadata: Of its schema; None for none.
        compression: As pyarrow names it; "none" where cells are compressed already.
        dictionary: Whether equal cells of a column are stored once.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, content = pa.table(columns), BytesIO()
    if metadata is not None:
        table = table.replace_schema_metadata(metadata)
    pq.write_table(table, content, compression=compression, use_dictionary=dictionary)
    return content.getvalue()


def check_growth(size: int, content: int) -> None:
    """Refuse a file that takes far more memory than room on the disk, before it takes any.

    Args:
        size: Bytes that it would take in memory.
        content: Bytes of the file.

    Raises:
        ValueError: When it would take more than ``MOST_IN_MEMORY``, and ``MOST_GROWTH`` times its size.
    """
    if size > max(MOST_IN_MEMORY, MOST_GROWTH * content):
        raise ValueError(
            f"a file of {content:,} bytes takes at most {MOST_GROWTH} times as many in memory, or "
            f"{MOST_IN_MEMORY:,}, but this one would take {size:,}"
        )


def size_in_memory(metadata: Any) -> int:
    """Return about how many bytes the table of a Parquet file takes, from what its end states.

    A column has a value for each row. The column of a group of rows is asked only for lists, which have more:
    where its bytes are damaged, asking ends the process.
    """
    total = 0
    for group in range(metadata.num_row_groups):
        rows, taken = metadata.row_group(group), 0.0
        for place in range(metadata.num_columns):
            kind = metadata.schema.column(place)
            count = rows.column(place).num_values if kind.max_repetition_level else rows.num_rows
            taken += count * (WIDTHS.get(kind.physical_type) or max(kind.length, 0))
        total += max(int(taken), rows.total_byte_size)
    return total


def read_parquet(data: Path | bytes) -> Any:
    """Return the table of a Parquet file, from its path or content, read by the thread that calls.

    Where memory is short, threads cannot start, and a reader that waits for one never ends.

    Raises:
        OSError: When the file is missing.
        ValueError: When it is no Parquet file, or would take far more memory than its size.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = len(data) if isinstance(data, bytes) else data.stat().st_size
    try:
        with pq.ParquetFile(BytesIO(data) if isinstance(data, bytes) else data, pre_buffer=False) as file:
            check_growth(size_in_memory(file.metadata), size)
            return file.read(use_threads=False)
    except pa.ArrowException as error:  # damaged bytes may name a type that Arrow does not know
        if isinstance(error, OSError | ValueError | MemoryError):
            raise
        raise ValueError(str(error)) from error
