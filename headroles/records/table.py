"""Tables: one description of every column makes files, documentation, schemas, and what people read.

A ``Table`` is a description with arrays. Its methods write and read its file. ``sheet`` makes the texts that
page, terminal, notebook, Markdown and LaTeX show, so no output formats a number of its own.
"""

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from headroles.records.layers import LAYER_COLUMNS, Stack
from headroles.records.numbers import number, p_text, with_range

if TYPE_CHECKING:
    import pandas as pd

SHARE, COUNT, ANY = (0.0, 1.0), (0.0, math.inf), (-math.inf, math.inf)
"""Ranges of shares and chances, of numbers of things, and of all numbers."""
ENDS = "[95\u00a0%]"
"""In headings: an interval follows the number."""
Row = SimpleNamespace
"""One row of a table: its values are attributes."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as people read it.

    Attributes:
        text: What is shown.
        key: What it is sorted by; NaN comes last, and words sort by their text. A column without words holds
            numbers, and is right-aligned.
        note: A second, small line on the page; "" for none.
        strong: Whether a terminal prints it in bold.
    """

    text: str
    key: int | float | str
    note: str = ""
    strong: bool = False


MISSING = Cell("–", math.nan)
"""Where there is no number."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table as people read it.

    Attributes:
        name: What it holds, for readers who do not see it.
        header: Headings of the columns.
        rows: The first cell names the row.
        meanings: What each column means, for hover texts; () where it is not known.
    """

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    meanings: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """Return the rows as text."""
        return tuple(tuple(cell.text for cell in row) for row in self.rows)

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Return which columns hold numbers; the first names the rows, and a sheet without rows has none."""
        return tuple(
            place > 0 and bool(self.rows) and not any(isinstance(row[place].key, str) for row in self.rows)
            for place in range(len(self.header))
        )


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a file, and how people read it.

    Attributes:
        name: Its name in the file.
        meaning: Its meaning with its unit; documentation, schemas and hover texts show it.
        kind: Type of its values: float (NaN for none), int, str or bool; "int | None" for whole numbers that
            may be missing.
        heading: Its heading where people read it; "" for a column that only files have.
        text: Writes a value; None for the usual way of its kind.
        ends: Columns of the ends of its interval.
        cell: Makes the cell of a row, where it is not one value with its interval.
        terminal: Which terminals show it: "" for none, "wide" (at least 120 columns) or "narrow" (all).
        short: Heading in terminals, with line breaks; "" for ``heading``.
        within: Smallest and largest value that it can have.
        words: The words that it can have; () for any.
    """

    name: str
    meaning: str
    kind: type | str = float
    heading: str = ""
    text: Callable[[Any], str] | None = None
    ends: tuple[str, str] | tuple[()] = ()
    cell: Callable[[Row], Cell] | None = None
    terminal: str = ""
    short: str = ""
    within: tuple[float, float] = ANY
    words: tuple[str, ...] = ()

    def write(self, row: Row) -> Cell:
        """Return the cell of a row."""
        if self.cell is not None:
            return self.cell(row)
        value = getattr(row, self.name)
        write = self.text or WRITERS[str(getattr(self.kind, "__name__", self.kind))]
        if self.ends:
            return Cell(with_range(*map(write, (value, *(getattr(row, end) for end in self.ends)))), value)
        text = write(value)
        if value is None:
            return Cell(text, math.nan)
        return Cell(text, text if isinstance(value, str | bool) else value)


WRITERS: Mapping[str, Callable[[Any], str]] = {
    "float": number, "int": "{:,}".format, "str": str, "bool": lambda value: "yes" if value else "no",
    "int | None": lambda value: "–" if value is None else f"{value:,}",
}  # fmt: skip
"""How a value is written for people, by the kind of its column."""
DTYPES: Mapping[Any, Any] = {
    float: np.float64, int: np.int64, bool: np.bool_, str: object, "int | None": object
}  # fmt: skip


def _flag(cell: str) -> bool:
    if cell not in ("True", "False"):
        raise ValueError(f"a cell is True or False, but got {cell!r}")
    return cell == "True"


PARSERS: Mapping[Any, Callable[[str], Any]] = {
    float: lambda cell: float(cell or "nan"), int: int, str: str, bool: _flag,
    "int | None": lambda cell: int(cell) if cell else None,
}  # fmt: skip
"""Parser of a cell of a file, by the kind of its column."""
JSON_TYPES: Mapping[Any, Any] = {
    float: ["number", "null"], int: "integer", str: "string", bool: "boolean",
    "int | None": ["integer", "null"],
}  # fmt: skip
"""Type of a cell in JSON Schema; a number without a value is an empty cell, and null in JSON."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table: the description of its columns, and their values as arrays.

    Attributes:
        file: Name of its file; "" for a table that only people read.
        title: What it holds, for captions and documentation.
        row: What a row is, for documentation, such as "an arm and a head".
        columns: Descriptions of the columns, in the order of the file.
        data: One array for each column; none for a description without rows.
        name: Short name for readers who do not see it; "" for ``title``.
        first: Names of the columns that stand first where people read it; the first names the row.
        single: Names of columns that are left out where all rows show the same.
        note: Further sentences of the documentation; "" for none.
    """

    file: str
    title: str
    row: str
    columns: tuple[Column, ...]
    data: Mapping[str, np.ndarray] = field(default_factory=dict)
    name: str = ""
    first: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        """Give a description without rows an empty array for each column."""
        if not self.data:
            empty = {column.name: np.empty(0, DTYPES[column.kind]) for column in self.columns}
            object.__setattr__(self, "data", empty)

    def of(self, **data: Any) -> "Table":
        """Return the table with other values: a sequence of equal length for each column.

        Raises:
            KeyError: When a column is missing.
            ValueError: When a value is not of the kind of its column.
        """
        kinds = {column.name: DTYPES[column.kind] for column in self.columns}
        return replace(self, data={name: np.asarray(data[name], kind) for name, kind in kinds.items()})

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> "Table":
        """Return the table with rows that have a value for each column.

        Raises:
            KeyError: When a row lacks a column.
        """
        known = [*rows]
        return self.of(**{column.name: [row[column.name] for row in known] for column in self.columns})

    def joined(self, tables: Iterable["Table"]) -> "Table":
        """Return the table with the rows of others of its kind, one after the other."""
        known = [*tables]
        names = [column.name for column in self.columns] if known else []
        return replace(self, data={name: np.concatenate([table[name] for table in known]) for name in names})

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.data.values()), ()))

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, their values as Python's own numbers and texts."""
        lists = [values.tolist() for values in self.data.values()]
        for values in zip(*lists, strict=True):
            yield Row(**dict(zip(self.data, values, strict=True)))

    @overload
    def __getitem__(self, which: str) -> np.ndarray: ...
    @overload
    def __getitem__(self, which: int) -> Row: ...
    @overload
    def __getitem__(self, which: slice) -> "Table": ...
    def __getitem__(self, which: str | int | slice) -> "np.ndarray | Row | Table":
        """Return the values of a column, a row by its place, or the rows of a slice.

        Raises:
            IndexError: When there is no such row.
        """
        if isinstance(which, str):
            return self.data[which]
        if isinstance(which, slice):
            return self.take(range(len(self))[which])
        return next(iter(self.take([range(len(self))[which]])))

    def __repr__(self) -> str:
        """Return the name of the table and the number of its rows."""
        return f"Table({self.file or self.title!r}, {len(self)} rows)"

    def take(self, rows: Any) -> "Table":
        """Return some rows: those of a mask, or those of some places in that order."""
        places = np.asarray(rows)
        places = places if places.size else places.astype(np.int64)
        return replace(self, data={name: values[places] for name, values in self.data.items()})

    def where(self, **wanted: Any) -> "Table":
        """Return the rows with these values."""
        keep = np.ones(len(self), dtype=np.bool_)
        for name, value in wanted.items():
            keep &= np.asarray(self.data[name] == value, np.bool_)
        return self.take(keep)

    def replace(self, **columns: Any) -> "Table":
        """Return the table with other values in some columns."""
        return self.of(**{**self.data, **columns})

    def extended(self, column: Column, values: Any) -> "Table":
        """Return the table with one more column."""
        return replace(self, columns=(*self.columns, column)).of(**{**self.data, column.name: values})

    def numbered(self, stack: Stack) -> "Table":
        """Return the table with positions of layers in the model, where it has their places; −1 stays."""
        if stack.whole or not len(self):
            return self
        numbers = np.array((*stack.numbers, -1))
        return self.replace(**{name: numbers[self.data[name]] for name in LAYER_COLUMNS & self.data.keys()})

    def describe(self, column: str, **changes: Any) -> "Table":
        """Return the table with a column that is described otherwise, such as by another heading.

        Raises:
            TypeError: For a name that no description of a column has.
        """
        return replace(
            self,
            columns=tuple(replace(own, **changes) if own.name == column else own for own in self.columns),
        )

    def kept(self, names: Sequence[str]) -> "Table":
        """Return the table with some of its columns, in this order; cells may still use the others."""
        known = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(known[name] for name in names))

    def csv(self) -> str:
        """Return the content of its file; NaN and None are empty cells."""
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names = [column.name for column in self.columns]
        writer.writerow(names)
        lists = [self.data[name].tolist() for name in names]
        writer.writerows(["" if cell != cell else cell for cell in row] for row in zip(*lists, strict=True))
        return text.getvalue()

    def frame(self) -> "pd.DataFrame":
        """Return the table for pandas; whole numbers that may be missing are "Int64"."""
        import pandas as pd

        columns = {column.name: self.data[column.name] for column in self.columns}
        missing = {column.name: "Int64" for column in self.columns if column.kind == "int | None"}
        return pd.DataFrame(columns).astype(missing)

    def parse(self, cells: Sequence[Mapping[str, str]]) -> "Table":
        """Return the table with the cells of a file.

        Raises:
            KeyError: When a column is missing.
            ValueError: When a cell is no number, or no word of its column.
        """
        data = {}
        for column in self.columns:
            parser = PARSERS[column.kind]
            data[column.name] = [parser(row[column.name]) for row in cells]
            if column.words and (strange := {*data[column.name]} - {*column.words}):
                raise ValueError(f"there is a {column.name} {min(strange)!r}, which no test gives")
        return self.of(**data)

    def shown(self, width: str = "") -> list[Column]:
        """Return the columns that people read, in their order.

        Args:
            width: "" for those of pages and papers, "wide" or "narrow" for those of terminals.
        """
        chosen = [column for column in self.columns if column.heading]
        if width:
            chosen = [c for c in chosen if c.terminal in ((width, "narrow") if width == "wide" else (width,))]
        rank = {name: place for place, name in enumerate(self.first)}
        return sorted(chosen, key=lambda column: rank.get(column.name, len(rank)))

    def sheet(self, width: str = "", *, leave: Iterable[str] = (), only: Sequence[str] = ()) -> Sheet:
        """Return the table as people read it; the words that name the rows sort in the order of the table.

        Args:
            width: "" for pages and papers, "wide" or "narrow" for terminals.
            leave: Names of columns that are left out.
            only: Names of the columns that are shown, in this order; () for those of the width.
        """
        lines, known = [*self], {column.name: column for column in self.columns}
        kept = []
        for column in [known[name] for name in only] or self.shown(width):
            cells = [column.write(row) for row in lines]
            same = column.name in self.single and len({cell.text for cell in cells}) <= 1
            if column.name not in leave and not same:
                kept.append((column, cells))
        if kept:
            column, named = kept[0]
            named = [
                replace(cell, key=place) if isinstance(cell.key, str) else cell
                for place, cell in enumerate(named)
            ]
            kept[0] = (column, named)
        header = tuple(column.short or column.heading if width else column.heading for column, _ in kept)
        rows = tuple(zip(*(cells for _, cells in kept), strict=True))
        return Sheet(self.name or self.title, header, rows, tuple(column.meaning for column, _ in kept))

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a row."""
        properties = {}
        for column in self.columns:
            rule: dict[str, Any] = {"type": JSON_TYPES[column.kind], "description": column.meaning}
            if column.words:
                rule["enum"] = list(column.words)
            for name, end in zip(("minimum", "maximum"), column.within, strict=True):
                rule |= {name: int(end) if end == int(end) else end} if math.isfinite(end) else {}
            properties[column.name] = rule
        required = [*properties]
        return {
            "type": "object", "required": required, "additionalProperties": False, "properties": properties
        }  # fmt: skip


def head_cell(row: Row) -> Cell:
    """Return the head of a row as a cell, which sorts by layer and then head; a dash where the layer is −1.

    Example:
        >>> head_cell(Row(layer=2, head=9)).text
        '2-9'
    """
    return MISSING if row.layer < 0 else Cell(f"{row.layer}-{row.head}", row.layer + row.head / 10_000)


LAYER = Column(
    "layer", "Position of the layer in the model, from 0; layers without attention count.", int, within=COUNT
)
HEAD = Column(
    "head", "Head in the layer, from 0.", int, "head", cell=head_cell, terminal="narrow", within=COUNT
)
"""Columns of a head; people read them as one."""


def chance(name: str, meaning: str, heading: str = "", **more: Any) -> Column:
    """Return a column of p or q values."""
    return Column(name, meaning, float, heading, p_text, within=SHARE, **more)


def counted(name: str, meaning: str, heading: str = "", **more: Any) -> Column:
    """Return a column of numbers of things."""
    return Column(name, meaning, int, heading, within=COUNT, **more)


def interval_ends(low: str = "low", high: str = "high") -> tuple[Column, Column]:
    """Return the columns of the ends of a 95 % interval."""
    return Column(low, "Lower end of its 95 % interval."), Column(high, "Upper end.")
