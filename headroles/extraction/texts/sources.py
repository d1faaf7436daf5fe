"""Read passages from samples, tables, CoNLL-U files and the hub, and draw reproducible random samples."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.extraction.texts.conllu import stream_conllu
from headroles.extraction.texts.files import Location, file_format
from headroles.extraction.texts.rows import TABLE_ENDINGS, Row, missing_column, read_table_rows
from headroles.records.passage import Passage
from headroles.tasks import Task

CONLLU_ENDING = ".conllu"


def read_sample(task: Task) -> list[Passage]:
    """Read the inputs written for this project, in the task's own layout."""
    with resources.as_file(resources.files("headroles") / "samples" / f"{task.name}.tsv") as path:
        return read_table(path, task.columns, name=task.name)


def read_file(where: Location, columns: Sequence[str] | None, group: str | None, name: str) -> list[Passage]:
    """Return all passages of ``stream_files`` for one file as a list."""
    return list(stream_files([where], columns, group, name))


def check_readable(where: Location, columns: Sequence[str] | None) -> None:
    """Check that a reader knows a file, and that the text columns of a table are named.

    Raises:
        BadInput: When no reader knows its ending, or it is a table without named columns.
    """
    kind = file_format(where)
    if kind not in (*TABLE_ENDINGS, CONLLU_ENDING):
        raise BadInput(
            f"data files end in .tsv, .csv, .json, .jsonl or .conllu, with or without .gz, or in .parquet, "
            f"but got '{where}'"
        )
    if kind in TABLE_ENDINGS and not columns:
        raise BadInput(
            f"'{where}' is a table, so a task or the column of the text must be named; "
            f"give --task, or --text-a COLUMN and, for pairs, --text-b COLUMN"
        )


def stream_files(
    files: Sequence[Location], columns: Sequence[str] | None, group: str | None, name: str
) -> Iterator[Passage]:
    """Yield the passages of a user's files while they are read, each file by its ending.

    Args:
        files: Tables (``.tsv``, ``.csv``, ``.json`` or ``.jsonl``, gzipped or not, or ``.parquet``), or
            CoNLL-U files.
        columns: Columns that hold the texts; needed for tables.
        group: Column that names the document or paragraph; a blank cell means unknown.
        name: First part of the keys; the second is a number that counts over all files.

    Raises:
        BadInput: For another ending, or when a file cannot be used.
    """
    number = 0
    for where in files:
        check_readable(where, columns)
        passages = (
            stream_conllu(where, name, number)
            if file_format(where) == CONLLU_ENDING
            else _stream_table(where, columns or (), group, name, number)
        )
        for passage in passages:
            number += 1
            yield passage
    if not number:
        reason = (
            f"'{files[0]}' has only a header" if len(files) == 1 else f"none of {len(files)} files has one"
        )
        raise BadInput(f"the data must hold at least one row, but {reason}")


def read_table(
    where: Location, columns: Sequence[str], *, group: str | None = None, name: str = "data"
) -> list[Passage]:
    """Return the passages of a table; ``.tsv`` is read without quoting, as GLUE's files need.

    Raises:
        BadInput: When a column is missing or a row lacks a text, naming the file and the line.
    """
    passages = list(_stream_table(where, columns, group, name, 0))
    if not passages:
        raise BadInput(f"the data must hold at least one row, but '{where}' has only a header")
    return passages


def _stream_table(
    where: Location, columns: Sequence[str], group: str | None, name: str, first: int
) -> Iterator[Passage]:
    rows = read_table_rows(where, columns, [group] if group else [])
    return passages_of_rows(rows, columns, group, name, first)


def passages_of_rows(
    rows: Iterable[Row], columns: Sequence[str], group: str | None, name: str, first: int = 0
) -> Iterator[Passage]:
    """Yield the passages of rows while they are read.

    Args:
        rows: Place and cells of each row.
        columns: Columns that hold the texts.
        group: Column that names the document or paragraph; a blank cell means unknown.
        name: First part of the keys; the second is the number of the row.
        first: Number of the first row.

    Raises:
        BadInput: When a column is missing or a row lacks a text, naming the place.
    """
    labels = [group] if group else []
    for number, (place, row) in enumerate(rows, start=first):
        for column in (*columns, *labels):
            if column not in row:
                raise missing_column(place, column, list(row))
        texts = tuple(_text(row[column], column, place) for column in columns)
        unit = None if group is None or row[group] is None else str(row[group]).strip() or None
        if unit is not None:
            check_surrogates(unit, str(group), place)
        yield Passage(f"{name}/{number}", texts, unit)


def _text(value: object, column: str, place: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadInput(
            f"{place}: every row has its texts, but {column!r} is missing, blank or no text; mend or drop it"
        )
    return check_surrogates(value, column, place)


def check_surrogates(text: str, column: str, place: str) -> str:
    """Return a text without lone surrogates, which JSON can spell but no file can hold.

    Raises:
        BadInput: When it has one; the message has the place and the name of the column.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{place}: every text is Unicode, but {column!r} holds half a character (a lone surrogate) at "
            f"{error.start}; mend or drop it"
        ) from error
    return text


def read_hub(task: Task, repository: str, name: str) -> list[Passage]:
    """Return all passages of ``stream_hub`` as a list."""
    return list(stream_hub(task, repository, name))


def stream_hub(task: Task, repository: str, name: str, *, stream: bool = False) -> Iterator[Passage]:
    """Yield passages of a dataset in GLUE's layout on the hub, or of a local folder in the hub's layout.

    Args:
        task: The task; its configuration, split and fields are read.
        repository: Name on the hub, or a folder.
        name: First part of the keys.
        stream: Whether rows are downloaded as they are read, instead of the whole dataset before.

    Raises:
        BadInput: When it cannot be reached or lacks a field of the task.
    """
    from headroles.extraction.texts.hub import load_split

    for number, row in enumerate(load_split(repository, task.config, task.split, stream=stream)):
        place = f"{repository} {task.config} {task.split}, row {number}"
        absent = [column for column in task.fields if column not in row]
        if absent:
            raise BadInput(
                f"{place}: the field {absent[0]!r} is needed but not there; fields: {', '.join(row)}"
            )
        yield Passage(f"{name}/{number}", tuple(_text(row[column], column, place) for column in task.fields))


def sample_passages(passages: Sequence[Passage], limit: int | None, seed: int) -> list[Passage]:
    """Return a random subset of at most ``limit`` passages in their own order; all if ``limit`` is None."""
    if limit is None or limit >= len(passages):
        return list(passages)
    return [passages[index] for index in draw_indices(len(passages), limit, seed)]


def draw_indices(count: int, limit: int, seed: int) -> Int[np.ndarray, " limit"]:
    """Draw the indices of a random subset of passages without replacement, sorted.

    Args:
        count: Number of passages.
        limit: Number of passages to draw, at most ``count``.
        seed: Seed of the draw.
    """
    chosen: np.ndarray = np.sort(np.random.default_rng(seed).choice(count, size=limit, replace=False))
    return chosen


def fingerprint(passages: Iterable[Passage]) -> str:
    """Return the SHA-256 of keys, groups and texts, which does not depend on the files that held them."""
    digest = hashlib.sha256()
    for passage in passages:
        digest.update(json.dumps([passage.key, passage.group, *passage.texts]).encode())
    return digest.hexdigest()
