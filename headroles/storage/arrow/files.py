"""Parquet files of arrays of Arrow, written to bytes and read from a path or bytes."""

from io import BytesIO
from pathlib import Path
from typing import Any


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


def read_parquet(data: Path | bytes) -> Any:
    """Return the table of a Parquet file, from its path or content, read by the thread that calls.

    Where memory is short, threads cannot start, and a reader that waits for one never ends.

    Raises:
        OSError: When the file is missing.
        ValueError: When it is no Parquet file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(BytesIO(data) if isinstance(data, bytes) else data, pre_buffer=False) as file:
            return file.read(use_threads=False)
    except pa.ArrowException as error:  # damaged bytes may name a type that Arrow does not know
        if isinstance(error, OSError | ValueError | MemoryError):
            raise
        raise ValueError(str(error)) from error
