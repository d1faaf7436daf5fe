"""Corpora of made-up rows in files of every kind, and what is read of them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from headroles.extraction.model.checkpoint import Checkpoint
from headroles.inputs.passages import read_corpus
from headroles.options.label import LabelOptions
from headroles.options.values import record_of

ROWS = [{"text": f"sentence number {n} is here", "from": f"document {n // 4}"} for n in range(50)]
NOWHERE = Checkpoint("none", "none", None, "nowhere")


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Rows as a file of the kind that its name says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
        return path
    tables = {".tsv": "\t", ".csv": ","}
    kind = path.suffixes[0]
    text = (
        pd.DataFrame(rows).to_csv(index=False, sep=tables[kind])
        if kind in tables
        else "".join(json.dumps(row) + "\n" for row in rows)
    )
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def options_for(data: Path | str, **more: Any) -> LabelOptions:
    return record_of(LabelOptions, **{"data": str(data), "text_a": "text", "group": "from"} | more)


def read(data: Path | str, **more: Any) -> list[tuple[str, tuple[str, ...], str | None]]:
    corpus = read_corpus(options_for(data, **more), frozenset(), NOWHERE)
    first, second = ([(each.key, each.texts, each.group) for each in corpus] for _ in range(2))
    assert first == second
    return first
