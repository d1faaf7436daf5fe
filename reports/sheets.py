"""The one table of every output: page, terminal, Markdown, LaTeX and CSV write the same sheet.

A sheet is built once per kind of table. A writer may leave columns out and shorten headings (``Sheet.pick``);
it never formats a number.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

from headroles.records import table
from headroles.records.numbers import number, p_text, with_range
from headroles.records.table import MISSING as MISSING
from headroles.records.table import Cell as Cell

ENDS = "[95\u00a0%]"
"""In headings: an interval follows the number."""

Sheets = Mapping[str, Callable[[], Any]]
"""Functions that make the tables of a run, by name; the first is what the run is about."""


@dataclass(frozen=True, slots=True)
class Sheet(table.Sheet):
    """A table with what stands around it.

    Attributes:
        folded: Whether the page shows it on request only.
        caption: What it shows, with test, correction, alpha and units, where it stands in a paper.
        columns: Names of the columns with all digits.
        values: Their cells; NaN and None where there is no value.
    """

    folded: bool = False
    caption: str = ""
    columns: tuple[str, ...] = ()
    values: tuple[tuple[Any, ...], ...] = ()

    def pick(self, names: Iterable[str] | Mapping[str, str], first: str = "") -> "Sheet":
        """Return the sheet with its first column and those named, in the order of the names.

        Args:
            names: Headings, or new headings by the old ones; those that the sheet lacks are passed over.
            first: New heading of the first column; "" for its own.
        """
        headings = names if isinstance(names, Mapping) else {name: name for name in names}
        places = [0, *(self.header.index(name) for name in headings if name in self.header[1:])]
        chosen = (first or self.header[0], *(headings[self.header[place]] for place in places[1:]))
        return replace(self, header=chosen, rows=tuple(tuple(row[k] for k in places) for row in self.rows))


def word_cell(text: str) -> Cell:
    """Return a cell of words."""
    return Cell(text, text)


def count_cell(count: int) -> Cell:
    """Return a cell of a whole number, with separators of thousands."""
    return Cell(f"{count:,}", count)


def place_cell(layer: int, head: int) -> Cell:
    """Return the place of a head as a cell, which sorts by layer and then head.

    Example:
        >>> place_cell(2, 9).text
        '2-9'
    """
    return Cell(f"{layer}-{head}", layer + head / 10_000)


def range_cell(text: Callable[[float], str], value: float, low: float, high: float) -> Cell:
    r"""Return a cell of a number with its interval; ``text`` writes each of the three.

    Example:
        >>> range_cell("{:.1f}".format, 2.0, 1.5, 2.5)
        Cell(text='2.0 [1.5,\xa02.5]', key=2.0, note='')
    """
    return Cell(with_range(*map(text, (value, low, high))), value)


def number_cell(value: float) -> Cell:
    """Return a number with three significant digits as a cell.

    Example:
        >>> number_cell(0.12345).text
        '0.123'
    """
    return Cell(number(value), float(value))


def chance_cell(p: float) -> Cell:
    """Return a p or q value as a cell.

    Example:
        >>> chance_cell(1e-9).text
        '<0.001'
    """
    return Cell(p_text(p), float(p))


def columns_of_records(
    kind: type, rows: Iterable[Any]
) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Return columns and values of records of one kind."""
    return tuple(field.name for field in fields(kind)), tuple(astuple(record) for record in rows)


def with_digits(sheet: table.Sheet, digits: table.Table, columns: Iterable[str] = (), **more: Any) -> Sheet:
    """Return a sheet with the values of a table, for papers.

    Args:
        sheet: The texts.
        digits: The values.
        columns: Names of the columns that are written; () for all.
        **more: Further fields, such as the caption.
    """
    names = (*columns,) or tuple(column.name for column in digits.columns)
    values = tuple(tuple(getattr(row, name) for name in names) for row in digits)
    return Sheet(sheet.name, sheet.header, sheet.rows, columns=names, values=values, **more)
