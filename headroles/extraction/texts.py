"""Passages from samples, tables, CoNLL-U files and the hub; and a reproducible sample of them."""

import csv
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np

from headroles.errors import BadInput
from headroles.extraction.conllu import read_conllu
from headroles.extraction.files import opened
from headroles.extraction.passages import Passage
from headroles.tasks import Task

TABLES = (".tsv", ".csv", ".jsonl")
Row = tuple[str, dict[str, object]]


def read_sample(task: Task) -> list[Passage]:
    """The inputs written for this project, in the task's own layout."""
    with resources.as_file(resources.files("headroles") / "samples" / f"{task.name}.tsv") as path:
        return read_table(path, task.columns, name=task.name)


def read_file(path: Path, columns: Sequence[str] | None, group: str | None, name: str) -> list[Passage]:
    """Passages of a user's file, by its ending: ``.conllu``, ``.tsv``, ``.csv`` or ``.jsonl`` (or ``.gz``).

    Args:
        path: The file.
        columns: Columns that hold the texts; needed for tables.
        group: Column that names the document or paragraph; a blank cell means unknown.
        name: First part of the keys.

    Raises:
        BadInput: For another ending, or when the file cannot be used.
    """
    kind = kind_of(path)
    if kind == ".conllu":
        return read_conllu(path, name)
    if kind not in TABLES:
        raise BadInput(
            f"data files end in .tsv, .csv, .jsonl or .conllu, with or without .gz, but '{path}' came"
        )
    if not columns:
        raise BadInput(
            f"'{path}' is a table, so a task or the column of the text must be named; "
            f"give --task, or --text-a COLUMN and, for pairs, --text-b COLUMN"
        )
    return read_table(path, columns, group=group, name=name)


def kind_of(path: Path) -> str:
    """The ending that says what a file holds, ``.gz`` aside."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), "")


def read_table(
    path: Path, columns: Sequence[str], *, group: str | None = None, name: str = "data"
) -> list[Passage]:
    """Passages of a table; ``.tsv`` is read without quote handling, as GLUE's files must be.

    Raises:
        BadInput: When a column is missing or a row lacks a text, naming the file and the line.
    """
    kind = kind_of(path)
    rows = _json_rows(path) if kind == ".jsonl" else _table_rows(path, "\t" if kind == ".tsv" else ",")
    wanted = [*columns, *([group] if group else [])]
    passages: list[Passage] = []
    for place, row in rows:
        missing = [column for column in wanted if column not in row]
        if missing:
            raise BadInput(
                f"{place}: the column {missing[0]!r} is needed but not there; "
                f"columns: {', '.join(map(str, row)) or 'none'}"
            )
        texts = tuple(_text(row[column], column, place) for column in columns)
        unit = None if group is None or row[group] is None else str(row[group]).strip() or None
        if unit is not None:
            _whole(unit, str(group), place)
        passages.append(Passage(f"{name}/{len(passages)}", texts, unit))
    if not passages:
        raise BadInput(f"the data must hold at least one row, but '{path}' has only a header")
    return passages


def _text(value: object, column: str, place: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadInput(
            f"{place}: every row has its texts, but {column!r} is missing, blank or no text; mend or drop it"
        )
    return _whole(value, column, place)


def _whole(text: str, column: str, place: str) -> str:
    """The text, when no half of a surrogate pair is in it, which JSON can spell and no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{place}: every text is Unicode, but {column!r} holds half a character (a lone surrogate) at "
            f"{error.start}; mend or drop it"
        ) from error
    return text


def _table_rows(path: Path, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    with opened(path) as text:
        try:
            reader = csv.reader(text, delimiter=delimiter, quoting=quoting)
            header = next(reader)
            twice = sorted({name for name in header if name and header.count(name) > 1})
            if twice:
                raise BadInput(f"'{path}' has two columns called {twice[0]!r}; give each a name of its own")
            for cells in reader:
                if cells:
                    yield f"{path}, line {reader.line_num}", _row(cells, header, path, reader.line_num)
        except csv.Error as error:
            raise BadInput(f"'{path}' cannot be read as a table: {error}") from error


def _row(cells: list[str], header: list[str], path: Path, line: int) -> dict[str, object]:
    if len(cells) > len(header):
        raise BadInput(
            f"{path}, line {line}: a row has as many cells as the header ({len(header)}), "
            f"but {len(cells)} came"
        )
    blank: list[object] = [None] * (len(header) - len(cells))
    return dict(zip(header, [*cells, *blank], strict=True))


def _json_rows(path: Path) -> Iterator[Row]:
    with opened(path) as text:
        for number, line in enumerate(text, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise BadInput(f"{path}, line {number}: each line is one JSON object, but {error}") from error
            if not isinstance(row, dict):
                raise BadInput(
                    f"{path}, line {number}: each line is one JSON object, but a {type(row).__name__} came"
                )
            yield f"{path}, line {number}", row


def read_hub(task: Task, repository: str, name: str) -> list[Passage]:
    """Passages of a dataset in GLUE's layout on the hub, or of a local folder in the hub's layout.

    Raises:
        BadInput: When it cannot be reached or has not the task's fields.
    """
    from headroles.extraction.hub import load_split

    rows = load_split(repository, task.config, task.split)
    passages = []
    for number, row in enumerate(rows):
        place = f"{repository} {task.config} {task.split}, row {number}"
        missing = [column for column in task.fields if column not in row]
        if missing:
            raise BadInput(
                f"{place}: the field {missing[0]!r} is needed but not there; fields: {', '.join(row)}"
            )
        texts = tuple(_text(row[column], column, place) for column in task.fields)
        passages.append(Passage(f"{name}/{number}", texts))
    return passages


def sampled(passages: Sequence[Passage], limit: int | None, seed: int) -> list[Passage]:
    """A random subset of at most ``limit`` passages, in their own order; all when ``limit`` is None."""
    if limit is None or limit >= len(passages):
        return list(passages)
    chosen = np.random.default_rng(seed).choice(len(passages), size=limit, replace=False)
    return [passages[index] for index in np.sort(chosen)]


def fingerprint(passages: Sequence[Passage]) -> str:
    """SHA-256 over keys, groups and texts: what was read, whatever file it came from."""
    digest = hashlib.sha256()
    for passage in passages:
        digest.update(json.dumps([passage.key, passage.group, *passage.texts]).encode())
    return digest.hexdigest()
