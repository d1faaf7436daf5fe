"""CSV tables of a run folder: writing and reading records, head grids and the assessment."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, fields
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from headroles.records.assessment import (
    DEPTH,
    PRECISION,
    SENSITIVITY,
    SETS,
    SEVERAL,
    TOGETHER,
    VALUES,
    Assessment,
    Precision,
)
from headroles.records.layers import LAYER_COLUMNS, Stack, other_layer
from headroles.records.table import Table

TABLES = {
    "moved": SENSITIVITY, "together": TOGETHER, "sets": SETS, "depth": DEPTH, "several": SEVERAL,
    "drops": VALUES,
}  # fmt: skip
"""Tables of an assessment by their fields."""


def assessment_texts(assessment: Assessment, sieves: Sequence[str], stack: Stack) -> dict[str, str]:
    """Return the text of every table of an assessment by file name.

    Args:
        assessment: Assessment of a run.
        sieves: Its sieves, in the order of the findings.
        stack: The layers by their positions.
    """
    precision = assessment.precision
    sieve, layer, head = (index.ravel() for index in np.indices(precision.hedges_g.shape))
    arrays = {column.name: getattr(precision, column.name).ravel() for column in PRECISION.columns[3:]}
    names = np.array(sieves, dtype=object)[sieve]
    table = PRECISION.of(sieve=names, layer=stack.positions[layer], head=head, **arrays)
    return {table.file: table.csv()} | summary_texts(assessment, stack)


def summary_texts(assessment: Assessment, stack: Stack) -> dict[str, str]:
    """Return the text of every assessment table that has no row per finding, by file name.

    Args:
        assessment: Assessment of a run.
        stack: The layers by their positions.
    """
    tables = [getattr(assessment, field) for field in TABLES]
    return {table.file: table.numbered(stack).csv() for table in tables if table or table.file != VALUES.file}


def csv_text(kind: type, records: Iterable[Any]) -> str:
    """Return records of one kind as CSV text, their fields as header; NaN is an empty cell."""
    names = [field.name for field in fields(kind)]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    rows = ([getattr(record, name) for name in names] for record in records)
    writer.writerows(["" if cell != cell else cell for cell in row] for row in rows)  # only NaN is not itself
    return text.getvalue()


def read_assessment(
    folder: Path, grid: tuple[int, int], sieves: Sequence[str], remarks: Sequence[str]
) -> Assessment | None:
    """Read the assessment of a run folder; None where its tables are missing.

    Args:
        folder: Folder of the run.
        grid: Number of layers and heads.
        sieves: Names of the sieves, in the order of the findings.
        remarks: Remarks from the manifest.

    Raises:
        KeyError: When a column is missing.
        ValueError: When a cell is no number, or rows are missing.
    """
    if not all((folder / table.file).is_file() for table in (PRECISION, SENSITIVITY, TOGETHER, DEPTH)):
        return None
    arrays = read_head_grids(PRECISION, folder, sieves, grid)
    tables = {name: read_table(table, folder / table.file) for name, table in TABLES.items()}
    return Assessment(precision=Precision(**arrays), remarks=tuple(remarks), **tables)


_PLACES: ContextVar[Mapping[str, str] | None] = ContextVar("places_of_layers", default=None)


@contextmanager
def places_of_layers(stack: Stack) -> Iterator[None]:
    """Let tables that are read have layers by their places, while files have their positions.

    Args:
        stack: The layers of the run that the tables are of.
    """
    places = {str(number): str(place) for place, number in enumerate(stack.numbers)}
    token = _PLACES.set(places)
    try:
        yield
    finally:
        _PLACES.reset(token)


def read_csv(path: Path, columns: Iterable[str] = ()) -> list[dict[str, str]]:
    """Read the rows of a CSV file.

    Args:
        path: Path of the file.
        columns: Columns that its header has, also where it has no rows.

    Raises:
        KeyError: When such a column is missing.
        ValueError: When a row does not have one cell per column, or a layer is none of the run's.
    """
    with path.open(encoding="utf-8", newline="") as text:
        header, *rows = [row for row in csv.reader(text) if row] or [[]]
    for name in columns:
        if name not in header:
            raise KeyError(name)
    if any(len(row) != len(header) for row in rows):
        raise ValueError(f"a row of {path.name} has not one cell per column")
    places, found = _PLACES.get(), [dict(zip(header, row, strict=True)) for row in rows]
    if places is None:
        return found
    for name in LAYER_COLUMNS.intersection(header):
        for row in found:
            row[name] = other_layer(row[name], places)
    return found


def _flag(cell: str) -> bool:
    if cell not in ("True", "False"):
        raise ValueError(f"a cell is True or False, but got {cell!r}")
    return cell == "True"


CELL_PARSERS: dict[str, Callable[[str], Any]] = {
    "float": lambda cell: float(cell or "nan"),
    "int": int,
    "str": str,
    "bool": _flag,
    "int | None": lambda cell: int(cell) if cell else None,
}
"""Parser of a cell, by the type of its field."""


def read_records(kind: type, path: Path) -> list[Any]:
    """Read records of one kind from a CSV file, in its order.

    Args:
        kind: A dataclass whose fields are text, whole or other numbers. Files of older versions can lack
            columns of fields with a default.
        path: Path of the file; an empty cell of a number is NaN, or None where the field allows it.

    Raises:
        KeyError: When a column is missing.
        ValueError: When a cell is no number.
    """
    parsers = {field.name: CELL_PARSERS[_type_name(field.type)] for field in fields(kind)}
    rows = read_csv(path, [field.name for field in fields(kind) if field.default is MISSING])
    return [
        kind(**{name: parse(row[name]) for name, parse in parsers.items() if name in row}) for row in rows
    ]


def read_table(table: Table, path: Path) -> Table:
    """Read the file of a table, in its order; a table without rows where there is no file.

    Args:
        table: Its description.
        path: Path of the file; an empty cell of a number is NaN, or None where the column allows it.

    Raises:
        KeyError: When a column is missing.
        ValueError: When a cell is no number, or no word of its column.
    """
    if not path.is_file():
        return table
    return table.parse(read_csv(path, [column.name for column in table.columns]))


def _type_name(annotation: Any) -> str:
    """Return the type of a field as text, from an annotation that is a type or text."""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def read_head_grids(
    table: Table, folder: Path, sieves: Sequence[str], grid: tuple[int, int] | None = None
) -> dict[str, np.ndarray]:
    """Read a table with a row per sieve, layer and head: its other columns as grids.

    Args:
        table: Its description.
        folder: Folder with its file.
        sieves: Names of the sieves, in the order of the rows.
        grid: Number of layers and heads; None to take them from the rows.

    Raises:
        OSError: When the file cannot be read.
        KeyError: When a column is missing.
        ValueError: When a cell is no number, or the rows are not all sieves, layers and heads in turn.
    """
    read = table.parse(read_csv(folder / table.file))
    if grid is None:
        grid = (1 + int(read["layer"].max()), 1 + int(read["head"].max()))
    shape = (len(sieves), *grid)
    places = [(sieves[sieve], layer, head) for sieve, layer, head in np.ndindex(shape)]
    if [*zip(*(read[name].tolist() for name in ("sieve", "layer", "head")), strict=True)] != places:
        raise ValueError(f"the rows of {table.file} are not every sieve, layer and head in turn")
    return {column.name: read[column.name].reshape(shape) for column in table.columns[3:]}
