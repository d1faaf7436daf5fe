"""Passages from samples, tables, CoNLL-U files and the hub, as they are read; and a reproducible sample."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.extraction.texts.conllu import stream_conllu
from headroles.extraction.texts.files import Where, kind_of
from headroles.extraction.texts.rows import TABLES, missing, rows_of
from headroles.records.passage import Passage
from headroles.tasks import Task

__all__ = [
    "CONLLU", "check_readable", "drawn", "fingerprint", "kind_of", "passages_in", "read_file", "read_hub",
    "read_sample", "read_table", "sampled", "stream_hub",
]  # fmt: skip

CONLLU = ".conllu"


def read_sample(task: Task) -> list[Passage]:
    """The inputs written for this project, in the task's own layout."""
    with resources.as_file(resources.files("headroles") / "samples" / f"{task.name}.tsv") as path:
        return read_table(path, task.columns, name=task.name)


def read_file(where: Where, columns: Sequence[str] | None, group: str | None, name: str) -> list[Passage]:
    """As ``passages_in``, all at once."""
    return list(passages_in([where], columns, group, name))


def check_readable(where: Where, columns: Sequence[str] | None) -> None:
    """Refuse a file that no reader knows, or a table whose texts are in columns that no one named.

    Raises:
        BadInput: In one sentence.
    """
    kind = kind_of(where)
    if kind not in (*TABLES, CONLLU):
        raise BadInput(
            f"data files end in .tsv, .csv, .jsonl or .conllu, with or without .gz, or in .parquet, but "
            f"'{where}' came"
        )
    if kind in TABLES and not columns:
        raise BadInput(
            f"'{where}' is a table, so a task or the column of the text must be named; "
            f"give --task, or --text-a COLUMN and, for pairs, --text-b COLUMN"
        )


def passages_in(
    files: Sequence[Where], columns: Sequence[str] | None, group: str | None, name: str
) -> Iterator[Passage]:
    """Passages of a user's files as they are read, each file by its ending; none is held.

    Args:
        files: Tables (``.tsv``, ``.csv``, ``.jsonl``, with ``.gz`` too, or ``.parquet``), or CoNLL-U.
        columns: Columns that hold the texts; needed for tables.
        group: Column that names the document or paragraph; a blank cell means unknown.
        name: First part of the keys; the second is a number that goes on over all files.

    Raises:
        BadInput: For another ending, or when a file cannot be used.
    """
    number = 0
    for where in files:
        check_readable(where, columns)
        own = (
            stream_conllu(where, name, number)
            if kind_of(where) == CONLLU
            else _table(where, columns or (), group, name, number)
        )
        for passage in own:
            number += 1
            yield passage
    if not number:
        what = f"'{files[0]}' has only a header" if len(files) == 1 else f"none of {len(files)} files has one"
        raise BadInput(f"the data must hold at least one row, but {what}")


def read_table(
    where: Where, columns: Sequence[str], *, group: str | None = None, name: str = "data"
) -> list[Passage]:
    """Passages of a table; ``.tsv`` is read without quote handling, as GLUE's files must be.

    Raises:
        BadInput: When a column is missing or a row lacks a text, naming the file and the line.
    """
    passages = list(_table(where, columns, group, name, 0))
    if not passages:
        raise BadInput(f"the data must hold at least one row, but '{where}' has only a header")
    return passages


def _table(
    where: Where, columns: Sequence[str], group: str | None, name: str, first: int
) -> Iterator[Passage]:
    labels = [group] if group else []
    for number, (place, row) in enumerate(rows_of(where, columns, labels), start=first):
        for column in (*columns, *labels):
            if column not in row:
                raise missing(place, column, list(row))
        texts = tuple(_text(row[column], column, place) for column in columns)
        unit = None if group is None or row[group] is None else str(row[group]).strip() or None
        if unit is not None:
            _whole(unit, str(group), place)
        yield Passage(f"{name}/{number}", texts, unit)


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


def read_hub(task: Task, repository: str, name: str) -> list[Passage]:
    """As ``stream_hub``, all at once."""
    return list(stream_hub(task, repository, name))


def stream_hub(task: Task, repository: str, name: str, *, stream: bool = False) -> Iterator[Passage]:
    """Passages of a dataset in GLUE's layout on the hub, or of a local folder in the hub's layout, as read.

    Args:
        task: Whose configuration, split and fields are read.
        repository: Name on the hub, or a folder.
        name: First part of the keys.
        stream: Whether rows are fetched as they are read, instead of the whole dataset before.

    Raises:
        BadInput: When it cannot be reached or has not the task's fields.
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


def sampled(passages: Sequence[Passage], limit: int | None, seed: int) -> list[Passage]:
    """A random subset of at most ``limit`` passages, in their own order; all when ``limit`` is None."""
    if limit is None or limit >= len(passages):
        return list(passages)
    return [passages[index] for index in drawn(len(passages), limit, seed)]


def drawn(count: int, limit: int, seed: int) -> Int[np.ndarray, " limit"]:
    """Which passages are a random subset, drawn without replacement, in their own order.

    Args:
        count: How many passages there are.
        limit: How many are drawn, at most ``count``.
        seed: Of the draw.
    """
    chosen: np.ndarray = np.sort(np.random.default_rng(seed).choice(count, size=limit, replace=False))
    return chosen


def fingerprint(passages: Iterable[Passage]) -> str:
    """SHA-256 over keys, groups and texts: what was read, whatever file it came from; none is held."""
    digest = hashlib.sha256()
    for passage in passages:
        digest.update(json.dumps([passage.key, passage.group, *passage.texts]).encode())
    return digest.hexdigest()
