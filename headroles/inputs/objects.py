"""Read inputs that are given as Python objects: tables, and lists of texts, pairs or dictionaries."""

from collections.abc import Iterator
from typing import Any

from headroles.errors import BadInput
from headroles.extraction.texts.rows import Row, missing_column
from headroles.extraction.texts.sources import passages_of_rows
from headroles.inputs.corpora import StreamedCorpus
from headroles.options.inputs import InputOptions
from headroles.records.objects import GROUP, TEXT, TEXT_A, TEXT_B, DataObject
from headroles.records.passage import Passage
from headroles.tasks import task_of

USUAL = ((TEXT_A, TEXT_B), (TEXT_A,), (TEXT,))
"""Columns of texts that need no option; the first that are there are read."""


def object_corpus(options: InputOptions, data: DataObject, subset: dict[str, Any]) -> StreamedCorpus:
    """Return inputs that are given as an object as a corpus, which is read again in every pass.

    Args:
        options: Options of the run.
        data: The object.
        subset: Limit, seed and whether the first inputs are taken, as ``StreamedCorpus`` has them.

    Raises:
        BadInput: When the columns of the texts are not there, or not known.
    """
    columns, group = object_columns(options, data)
    usual = options.text_a is None and options.task is None and data.form == "dictionaries"

    def read() -> Iterator[Passage]:
        rows = data.rows([*columns, *([group] if group else [])])
        return passages_of_rows(_alike(rows, columns) if usual else rows, columns, group, options.name)

    return StreamedCorpus(read, {"kind": "object", "name": data.name}, gold=False, **subset)


def object_columns(options: InputOptions, data: DataObject) -> tuple[tuple[str, ...], str | None]:
    """Return the columns of the texts, and that of the groups; None where groups are not known.

    Columns that options name come first, then those of the task, under either of their names, then
    ``text_a`` and ``text_b``, or ``text``. With these, ``group`` is the column of the groups, if it exists.

    Raises:
        BadInput: When a named column is not there, or no column is known to hold texts.

    Example:
        >>> from headroles.options.label import LabelOptions
        >>> from headroles.options.values import record_of
        >>> options = record_of(LabelOptions, data=[{"text": "It rains.", "group": "notes"}])
        >>> object_columns(options, options.data)
        (('text',), 'group')
    """
    place, there = data.name, data.columns
    if data.form in ("texts", "pairs"):
        _refuse_columns(options, data)
        return there, None
    named = tuple(name for name in (options.text_a, options.text_b) if name is not None)
    tasks = () if options.task is None else (task_of(options.task).fields, task_of(options.task).columns)
    known = next((names for names in (*tasks, *USUAL) if {*names} <= {*there}), None)
    columns = named or known
    if columns is None and tasks:
        raise missing_column(place, next(name for name in tasks[0] if name not in there), there)
    if columns is None:
        raise BadInput(
            f"{place} has no column {TEXT!r} or {TEXT_A!r}, so the column of the text must be named; give "
            f"text_a and, for pairs, text_b; columns: {', '.join(there)}"
        )
    usual = not named and columns in USUAL and GROUP in there
    group = options.group or (GROUP if usual else None)
    absent = [name for name in (*columns, *([group] if group else [])) if name not in there]
    if absent:
        raise missing_column(place, absent[0], there)
    return tuple(columns), group


def _refuse_columns(options: InputOptions, data: DataObject) -> None:
    """Refuse names of columns where there are none."""
    for name in ("text_a", "text_b", "group"):
        if getattr(options, name) is not None:
            raise BadInput(
                f"{name} names a column of a table or a key of dictionaries, but data is a {data.name}; "
                f"leave {name} out"
            )


def _alike(rows: Iterator[Row], columns: tuple[str, ...]) -> Iterator[Row]:
    """Yield dictionaries, and refuse one that has other fields with texts than the first."""
    for place, row in rows:
        other = sorted({TEXT, TEXT_A, TEXT_B} & row.keys() - {*columns})
        if other:
            raise BadInput(
                f"{place}: all dictionaries need the same texts as the first, {' and '.join(columns)}, "
                f"but this one also has {other[0]!r}; make them alike, or name the columns with text_a "
                "and text_b"
            )
        yield place, row
