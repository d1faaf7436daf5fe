"""Read the rows of tables one by one: tab- or comma-separated files, JSON lines and Parquet files."""

import csv
import json
import math
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from headroles.errors import BadInput, shorten
from headroles.extraction.texts.files import LONGEST_LINE, Location, file_format, open_binary, open_text
from headroles.records.numbers import join_names
from headroles.records.objects import DataObject

if TYPE_CHECKING:
    import pyarrow as pa

JSON_ENDINGS = (".json", ".jsonl")
"""Endings of files of JSON objects, as a list or one a line, without ``.gz``."""
TABLE_ENDINGS = (".tsv", ".csv", *JSON_ENDINGS, ".parquet")
"""Endings of files of rows, without ``.gz``."""
HUB_ENDINGS = (".parquet",)
"""Endings of tables whose columns have the names of the hub's data sets, not those of GLUE's own files."""
ROWS_AT_ONCE = 512
"""Rows of a Parquet file in memory at a time."""

Row = tuple[str, dict[str, object]]
"""The place of a row, for errors, and its cells by column."""


def read_table_rows(where: Location, texts: Sequence[str] = (), labels: Sequence[str] = ()) -> Iterator[Row]:
    """Read the rows of a table by the ending of its file; ``.tsv`` without quoting, as GLUE's files need.

    Args:
        where: The file.
        texts: Columns that hold texts. Of a Parquet file only these and the labels are read.
        labels: Columns that hold names or numbers.

    Raises:
        BadInput: When the file cannot be read as a table, naming it and the line.
    """
    kind = file_format(where)
    if kind == ".parquet":
        return _parquet_rows(where, texts, labels)
    return (
        _json_rows(where, labels)
        if kind in JSON_ENDINGS
        else _table_rows(where, "\t" if kind == ".tsv" else ",")
    )


def _table_rows(where: Location, delimiter: str) -> Generator[Row, None, None]:
    csv.field_size_limit(LONGEST_LINE)
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    begins = 1
    with open_text(where) as text:
        try:
            lines = _Lines(text)
            reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
            header = next(reader)
            repeated = sorted({name for name in header if name and header.count(name) > 1})
            if repeated:
                raise BadInput(
                    f"'{where}' has two columns called {repeated[0]!r}; give each a name of its own"
                )
            begins = reader.line_num + 1
            for cells in reader:
                place = f"{where}, line {begins}"
                if lines.last.endswith("\r"):
                    raise BadInput(
                        f"{place}: a row ends with a line feed, but this one has a carriage return alone in "
                        f"it; replace it by a space, or save the file with the line ends of this system"
                    )
                if cells:
                    yield place, _row(cells, header, place)
                begins = reader.line_num + 1
        except csv.Error as error:
            quotes = "" if quoting else '; a text with a quote in it is quoted as a whole, with "" for each'
            raise BadInput(
                f"{where}, line {begins}: no row of a table begins here ({error}){quotes}"
            ) from error


class _Lines:
    """The lines of a file, of which the last one that was read is known."""

    def __init__(self, text: TextIO) -> None:
        """Begin before the first line."""
        self._text, self.last = text, ""

    def __iter__(self) -> Iterator[str]:
        """Return the lines."""
        return self

    def __next__(self) -> str:
        """Return the next line with its end."""
        self.last = next(self._text)
        return self.last


def _row(cells: list[str], header: list[str], place: str) -> dict[str, object]:
    if len(cells) != len(header):
        raise BadInput(
            f"{place}: a row has as many cells as the header ({len(header)}), but got {len(cells)}; mend it "
            f"(in .csv, a text with a comma stands in double quotes)"
        )
    return dict(zip(header, cells, strict=True))


def read_json_objects(lines: Iterable[str], where: Location) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield the objects of JSON lines or of a JSON list, each with the number of the line where it begins.

    Lines are read one by one, and blank ones are skipped. A file that opens with ``[`` is one list, which is
    read whole.

    Args:
        lines: The lines of the file, with their ends.
        where: The file, for errors.

    Raises:
        BadInput: For a line or an item of the list that is no object, naming it.

    Example:
        >>> list(read_json_objects(['[{"a": 1},\n', ' {"a": 2}]\n'], "x.json"))
        [(1, {'a': 1}), (2, {'a': 2})]
        >>> list(read_json_objects(['{"a": 1}', "", '{"a": 2}'], "x.jsonl"))
        [(1, {'a': 1}), (3, {'a': 2})]
    """
    numbered, listed = enumerate(lines, start=1), None
    for number, line in numbered:
        if not line.strip():
            continue
        listed = line.lstrip().startswith("[") if listed is None else False
        if listed:
            yield from _listed_objects(line + "".join(rest for _, rest in numbered), number, where)
            return
        place = f"{where}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # also numbers of too many digits
            raise BadInput(f"{place}: each line is one JSON object, but {error}") from error
        if not isinstance(row, dict):
            raise BadInput(f"{place}: each line is one JSON object, but got a {type(row).__name__}")
        yield number, row


def _listed_objects(text: str, line: int, where: Location) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON list, each with the number of its line, of a text that begins on a line."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers of too many digits
        raise BadInput(f"'{where}' must be a list of JSON objects, or one a line, but {error}") from error
    if not values:
        raise BadInput(f"'{where}' must hold at least one object, but its list is empty")
    decoder, stop = json.JSONDecoder(), text.index("[") + 1
    for number, row in enumerate(values):
        if not isinstance(row, dict):
            raise BadInput(f"{where}, object {number}: each is a JSON object, but got a {type(row).__name__}")
        start = text.index("{", stop)
        line += text.count("\n", stop, start)
        yield line, row
        stop = decoder.raw_decode(text, start)[1]
        line += text.count("\n", start, stop)


def object_rows(data: DataObject) -> list[dict[str, Any]]:
    """Return inputs that are given as an object as JSON objects; fields without a value are left out.

    Raises:
        BadInput: For a row of another form than the first.
    """
    return [{name: value for name, value in row.items() if value is not None} for _, row in data.rows()]


def _json_rows(where: Location, labels: Sequence[str]) -> Iterator[Row]:
    with open_text(where) as text:
        for number, row in read_json_objects(text, where):
            place = f"{where}, line {number}"
            for label in labels:
                value = row.get(label)
                if isinstance(value, float) and not math.isfinite(value):
                    raise BadInput(
                        f"{place}: {label!r} is a name or a number, or null where it is unknown, "
                        f"but got {value}"
                    )
            yield place, row


def _parquet_rows(where: Location, texts: Sequence[str], labels: Sequence[str]) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    with open_binary(where) as raw:
        try:
            file = pq.ParquetFile(raw, pre_buffer=False)
            _check_types(where, file.schema_arrow, texts, labels)
            for batch in file.iter_batches(
                batch_size=ROWS_AT_ONCE, columns=[*dict.fromkeys([*texts, *labels])]
            ):
                for row in batch.to_pylist():
                    yield f"{where}, row {number}", row
                    number += 1
        except (pa.ArrowException, OSError) as error:
            reason = " ".join(str(error).split())[:200]
            raise BadInput(f"'{where}' cannot be read as a Parquet file: {reason}") from error
        except UnicodeDecodeError as error:
            raise BadInput(
                f"the data must be text in UTF-8, but '{where}' holds the byte "
                f"0x{error.object[error.start]:02x} in one of the {ROWS_AT_ONCE} rows "
                f"from {number} on, which is "
                f"not; save it as UTF-8"
            ) from error


def _check_types(where: Location, schema: "pa.Schema", texts: Sequence[str], labels: Sequence[str]) -> None:
    """Check that columns exist and have an allowed type, before any row is read."""
    names: list[str] = schema.names
    for column in (*texts, *labels):
        if names.count(column) != 1:
            raise (
                missing_column(f"'{where}'", column, names)
                if column not in names
                else BadInput(f"'{where}' has two columns called {column!r}; give each a name of its own")
            )
        column_type = schema.field(column).type
        if not _allows_type(column_type, label=column in labels):
            allowed = "names or whole numbers" if column in labels else "texts"
            raise BadInput(
                f"'{where}': the column {column!r} must hold {allowed}, but it holds {column_type}"
            )


def _allows_type(column_type: Any, *, label: bool) -> bool:
    """Return whether a type, dictionary-encoded or not, is text, or for labels also whole numbers."""
    from pyarrow import types

    plain = column_type.value_type if types.is_dictionary(column_type) else column_type
    text = types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain)
    return bool(text or (label and (types.is_integer(plain) or types.is_boolean(plain))))


def missing_column(place: str, column: str, columns: Sequence[object]) -> BadInput:
    """Return the error for a column that is not there.

    Args:
        place: The file, or the row in it.
        column: Its name.
        columns: The columns that are there.
    """
    known = ", ".join(map(str, columns)) or "none"
    return BadInput(f"{place}: the column {column!r} is needed but not there; columns: {known}")


def find_text_column(where: Location, others: Collection[str | None] = ()) -> str:
    """Return the only column of a tab- or comma-separated file that holds texts, by its first rows.

    A column holds texts if its cells have at least three words on average, and most of them differ. A file
    with a single column holds texts there.

    Args:
        where: The file.
        others: Columns that are known to hold something else.

    Raises:
        BadInput: When no column holds texts, or several do, or the first line of the file is a text itself.
    """
    with closing(_table_rows(where, "\t" if file_format(where) == ".tsv" else ",")) as rows:
        first = [row for _, row in islice(rows, ROWS_AT_ONCE)]
    names = [*first[0]] if first else []
    found = [name for name in names if name not in others and (len(names) == 1 or _holds_texts(first, name))]
    if len(found) != 1:
        texts = f"the columns {join_names(list(map(repr, found)))} do" if found else "no column does"
        raise BadInput(
            f"the column of the text is taken where only one holds texts, but in '{where}' {texts}; give "
            f"--text-a COLUMN and, for pairs, --text-b COLUMN; columns: {', '.join(names) or 'none'}"
        )
    if len(found[0].split()) > 3:
        raise BadInput(
            f"the first line of a table names its columns, but that of '{where}' reads like a text: "
            f"{shorten(found[0])}; put a name such as text above it, or give --text-a COLUMN if it is one"
        )
    return found[0]


def _holds_texts(rows: Sequence[dict[str, object]], column: str) -> bool:
    """Return whether the cells of a column have at least three words on average, and most of them differ."""
    cells = [str(row[column]) for row in rows]
    return sum(len(cell.split()) for cell in cells) >= 3 * len(cells) and len({*cells}) > len(cells) / 2


def check_columns(where: Location, columns: Sequence[str]) -> None:
    """Check the columns of a local tab- or comma-separated file by its first row; other data are left alone.

    Raises:
        BadInput: When a column is not there, or the file cannot be read so far.
    """
    if not columns or file_format(where) not in (".tsv", ".csv") or not Path(where).is_file():
        return
    with closing(_table_rows(where, "\t" if file_format(where) == ".tsv" else ",")) as rows:
        for place, row in rows:
            for column in columns:
                if column not in row:
                    raise missing_column(place, column, list(row))
            return
