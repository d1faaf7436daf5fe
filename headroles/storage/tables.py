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
from jaxtyping import Float

from headroles.records.assessment import (
    Assessment,
    Depth,
    Precision,
    RoleOverlap,
    RoleSet,
    SensitivityRow,
    SeveralRoles,
    ValueDrop,
)
from headroles.records.layers import LAYER_COLUMNS, Stack, other_layer
from headroles.records.table import Table
from headroles.storage.folder import DEPTH, PRECISION, SENSITIVITY, SETS, SEVERAL, TOGETHER, VALUES


def assessment_texts(assessment: Assessment, sieves: Sequence[str]) -> dict[str, str]:
    """Return the text of every table of an assessment by file name; NaN is an empty cell.

    Args:
        assessment: Assessment of a run.
        sieves: Its sieves, in the order of the findings.
    """
    precision = assessment.precision
    names = [field.name for field in fields(Precision)]
    columns = [getattr(precision, name).ravel().tolist() for name in names]
    places = [
        (sieves[sieve], layer, head) for sieve, layer, head in np.ndindex(precision.hedges_g.shape)
    ]  # fmt: skip
    rows = ((*place, *values) for place, values in zip(places, zip(*columns, strict=True), strict=True))
    return {PRECISION: _csv(("sieve", "layer", "head", *names), rows)} | summary_texts(assessment)


def summary_texts(assessment: Assessment) -> dict[str, str]:
    """Return the text of every assessment table that has no row per finding, by file name."""
    return {
        SENSITIVITY: csv_text(SensitivityRow, assessment.moved),
        TOGETHER: csv_text(RoleOverlap, assessment.together),
        SETS: csv_text(RoleSet, assessment.sets),
        DEPTH: csv_text(Depth, assessment.depth),
        SEVERAL: csv_text(SeveralRoles, assessment.several),
        **({VALUES: csv_text(ValueDrop, assessment.drops)} if assessment.drops else {}),
    }


def csv_text(kind: type, records: Iterable[Any]) -> str:
    """Return records of one kind as CSV text, their fields as header; NaN is an empty cell."""
    names = [field.name for field in fields(kind)]
    return _csv(names, ([getattr(record, name) for name in names] for record in records))


def columns_text(columns: Mapping[str, Any]) -> str:
    """Return columns of equal length as CSV text, as pandas writes them; NaN and None are empty cells."""
    cells = (column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values())
    return _csv(columns, zip(*cells, strict=True))


def _csv(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if cell != cell else cell for cell in row] for row in rows)  # only NaN is not itself
    return text.getvalue()


def read_assessment(
    folder: Path, shape: tuple[int, int, int], remarks: Sequence[str], halved: bool = False
) -> Assessment | None:
    """Read the assessment of a run folder; None where its tables are missing.

    Args:
        folder: Folder of the run.
        shape: Number of sieves, layers and heads.
        remarks: Remarks from the manifest.
        halved: Whether the run is of an older version, whose stability was a share of half-samples; it is
            NaN then.

    Raises:
        KeyError: When a column is missing.
        ValueError: When a cell is no number, or rows are missing.
    """
    if not all((folder / name).is_file() for name in (PRECISION, SENSITIVITY, TOGETHER, DEPTH)):
        return None
    rows = read_csv(folder / PRECISION)
    arrays = {field.name: _numbers(rows, field.name).reshape(shape) for field in fields(Precision)}
    if halved:
        arrays["stability"] = np.full(shape, np.nan)
    return Assessment(
        precision=Precision(**arrays),
        moved=tuple(read_records(SensitivityRow, folder / SENSITIVITY)),
        together=tuple(read_records(RoleOverlap, folder / TOGETHER)),
        depth=tuple(read_records(Depth, folder / DEPTH)),
        remarks=tuple(remarks),
        sets=tuple(read_records(RoleSet, folder / SETS)) if (folder / SETS).is_file() else (),
        several=_several(folder / SEVERAL),
        drops=tuple(read_records(ValueDrop, folder / VALUES)) if (folder / VALUES).is_file() else (),
    )


def _several(path: Path) -> tuple[SeveralRoles, ...]:
    """Read the number of roles a head by layer; nothing where an older version did not count it."""
    return tuple(read_records(SeveralRoles, path)) if path.is_file() else ()


ADDED = frozenset({
    "mean_low", "mean_high", "p_explained", "q_explained", "p_absent", "q_absent",
    "prevalence", "prevalence_low", "prevalence_high",
    "largest_share",
})  # fmt: skip
"""Columns of ``precision.csv`` that runs of older versions lack."""


def _numbers(rows: Sequence[Mapping[str, str]], name: str) -> Float[np.ndarray, " rows"]:
    """Return a column of numbers; NaN for empty cells, and for a column that older versions did not write."""
    if name in ADDED and rows and name not in rows[0]:
        return np.full(len(rows), np.nan)
    return np.array([_number(row[name]) for row in rows])


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


def _number(cell: str) -> float:
    return float(cell or "nan")


def _flag(cell: str) -> bool:
    if cell not in ("True", "False"):
        raise ValueError(f"a cell is True or False, but got {cell!r}")
    return cell == "True"


CELL_PARSERS: dict[str, Callable[[str], Any]] = {
    "float": _number,
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
    path: Path, sieves: Sequence[str], names: Sequence[str], grid: tuple[int, int] | None = None
) -> tuple[list[dict[str, str]], dict[str, np.ndarray]]:
    """Read a table with a row per sieve, layer and head: its rows, and columns of numbers as grids.

    Args:
        path: Path of the file.
        sieves: Names of the sieves, in the order of the rows.
        names: Names of the columns; "count" has whole numbers.
        grid: Number of layers and heads; None to take them from the rows.

    Raises:
        KeyError: When a column is missing.
        ValueError: When a cell is no number, or the rows are not all sieves, layers and heads in turn.
    """
    rows = read_csv(path)
    if grid is None:
        grid = (1 + max(int(row["layer"]) for row in rows), 1 + max(int(row["head"]) for row in rows))
    shape = (len(sieves), *grid)
    places = [(sieves[sieve], str(layer), str(head)) for sieve, layer, head in np.ndindex(shape)]
    if [(row["sieve"], row["layer"], row["head"]) for row in rows] != places:
        raise ValueError(f"the rows of {path.name} are not every sieve, layer and head in turn")
    arrays = {name: _numbers(rows, name).reshape(shape) for name in names}
    return rows, arrays | {"count": arrays["count"].astype(np.int64)}
