"""Results of probes as the tables of a run folder, and back."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headroles.records.probes import (
    BASELINES,
    BEST_HEADS,
    CONDITION_GAPS,
    PROBE_CONTESTS,
    PROBE_WEIGHTS,
    TRAINED_PROBES,
    BaselineCounts,
    ProbeResults,
)
from headroles.storage.arrow.arrays import numbers, numbers_of, numbers_of_rows, rows, texts
from headroles.storage.arrow.files import parquet_bytes, read_parquet
from headroles.storage.folder import TALLIES
from headroles.storage.tables import read_table

TABLES = {
    "best": BEST_HEADS, "baselines": BASELINES, "gaps": CONDITION_GAPS, "trained": TRAINED_PROBES,
    "contests": PROBE_CONTESTS, "weights": PROBE_WEIGHTS,
}  # fmt: skip
"""Tables, by the field of ``ProbeResults``."""
NAMES = b"headroles.tallies"
"""Key of the schema's metadata with rows, baselines and rivals as JSON."""


def probe_texts(probed: ProbeResults) -> dict[str, str]:
    r"""Return the text of every table by file name; NaN is an empty cell, and empty tables are left out.

    Example:
        >>> weights = PROBE_WEIGHTS.rows([
        ...     {"classifier": "attention", "layer": 0, "head": 3, "direction": "→", "weight": 1.5}
        ... ])
        >>> probe_texts(ProbeResults(None, weights=weights))
        {'weights.csv': 'classifier,layer,head,direction,weight\nattention,0,3,→,1.5\n'}
    """
    known = (getattr(probed, field) for field in TABLES)
    return {table.file: table.csv() for table in known if table}


def probe_files(probed: ProbeResults, examples: Sequence[str]) -> dict[str, str | bytes]:
    """Return the tables by file name, and right answers of baselines by example, where there are any."""
    counts = {} if probed.tallies is None else {TALLIES: counts_bytes(probed.tallies, examples)}
    return {**probe_texts(probed), **counts}


def counts_bytes(tallies: BaselineCounts, examples: Sequence[str]) -> bytes:
    """Return right answers of baselines as Parquet: a row per example, three columns per row of the result.

    ``hits:ROW`` is a fixed-size list of int32, one per baseline (−1: does not apply); ``items:ROW``
    and ``lost:ROW`` are int32. The schema's metadata names rows, baselines and rivals as JSON.

    Args:
        tallies: Right answers of the baselines of a run.
        examples: Keys of its examples, in their order.
    """
    columns: dict[str, Any] = {"example": texts(examples)}
    size = len(tallies.baselines)
    for place, row in enumerate(tallies.rows):
        if size:
            columns[f"hits:{row}"] = rows(tallies.hits[place].astype(np.int32))
        columns[f"items:{row}"] = numbers(tallies.items[place].astype(np.int32))
        columns[f"lost:{row}"] = numbers(tallies.lost[place].astype(np.int32))
    names = {"rows": tallies.rows, "baselines": tallies.baselines, "rivals": tallies.rivals}
    metadata = {NAMES.decode(): json.dumps(names)}
    return parquet_bytes(columns, metadata)


def read_probes(folder: Path, examples: Sequence[str] | None = None) -> ProbeResults | None:
    """Read the results of probes from a run folder; None where it has none of their tables.

    Args:
        folder: Folder of the run.
        examples: Keys that the examples must have, in their order; None: not compared.

    Raises:
        KeyError: When a column is missing.
        ValueError: When a cell is no number, a file is no Parquet file, or examples differ.
    """
    tables = {field: read_table(table, folder / table.file) for field, table in TABLES.items()}
    tallies = (
        parse_counts((folder / TALLIES).read_bytes(), examples) if (folder / TALLIES).is_file() else None
    )
    return ProbeResults(tallies, **tables) if any(tables.values()) or tallies is not None else None


def parse_counts(data: bytes, examples: Sequence[str] | None = None) -> BaselineCounts:
    """Return right answers of baselines from the content of their file.

    Args:
        data: As ``counts_bytes`` gives it.
        examples: Keys that the examples must have, in their order; None: not compared.

    Raises:
        KeyError: When a column is missing.
        ValueError: When it is no Parquet file, or examples differ.
    """
    table = read_parquet(data)
    names = json.loads((table.schema.metadata or {})[NAMES])
    if examples is not None and table["example"].to_pylist() != list(examples):
        raise ValueError(f"the examples of {TALLIES} are not those of the run")
    asked, baselines = tuple(names["rows"]), tuple(names["baselines"])
    grid = (len(asked), table.num_rows)
    hits = [numbers_of_rows(table[f"hits:{row}"]) for row in asked] if baselines else []
    return BaselineCounts(
        rows=asked,
        baselines=baselines,
        rivals=tuple(tuple(indices) for indices in names["rivals"]),
        hits=_concatenate(hits).reshape(*grid, len(baselines)),
        items=_concatenate([numbers_of(table[f"items:{row}"]) for row in asked]).reshape(grid),
        lost=_concatenate([numbers_of(table[f"lost:{row}"]) for row in asked]).reshape(grid),
    )


def _concatenate(columns: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *columns])
