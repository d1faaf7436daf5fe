"""The ``repr`` of records, a line for each fact, and what their fields mean."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from headroles.errors import describe_object, shorten, visible
from headroles.records.table import Table

MOST_LINES = 20
"""Most lines of a record."""
MOST_LETTERS = 98
"""Most characters of a line."""
LEAST_WIDTH, MOST_WIDTH = 9, 24
"""Width of the column of names."""
MOST_ANSWER = 9
"""Most lines of sentences."""
MOST_NAMES = 5
"""Most names of a sequence that are shown."""


def brief(record: Any) -> str:
    """Return the class of a record, and a line for each field: arrays by type and shape, the rest by size.

    Example:
        >>> from headroles.records.passage import Passage
        >>> print(Passage("note/0", ("It rains.",)))
        Passage
          key       'note/0'
          texts     1: It rains.
    """
    facts = [(field.name, getattr(record, field.name)) for field in fields(record)]
    return brief_lines(
        type(record).__name__, [(name, describe(value)) for name, value in facts if value is not None]
    )


def brief_lines(title: str, facts: Iterable[tuple[str, str]], sentences: Iterable[str] = ()) -> str:
    """Return a title, sentences and facts as lines of text, cut to ``MOST_LINES`` and ``MOST_LETTERS``.

    Args:
        title: The first line.
        facts: Name and text of each fact.
        sentences: What stands between them. See ``sentence_lines``.

    Example:
        >>> print(brief_lines("Labelling", [("model", "tiny"), ("heads", "72")]))
        Labelling
          model     tiny
          heads     72
    """
    listed = [(visible(name), text) for name, text in facts]
    width = min(max([LEAST_WIDTH, *(len(name) for name, _ in listed)]), MOST_WIDTH)
    lines = [title, *sentence_lines(sentences), *(f"  {name:<{width}} {text}" for name, text in listed)]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES - 1 :] = [f"  and {len(lines) - MOST_LINES + 1} more"]
    return "\n".join(_cut(visible(line.replace("\n", " "))) for line in lines)


def sentence_lines(sentences: Iterable[str]) -> list[str]:
    """Return sentences as lines of text, at most ``MOST_ANSWER`` of them.

    Example:
        >>> sentence_lines(["21 heads look at neighbouring tokens."])
        ['  21 heads look at neighbouring tokens.']
    """
    lines = [
        line
        for sentence in sentences
        for line in wrap(visible(sentence), MOST_LETTERS, initial_indent="  ", subsequent_indent="    ")
    ]
    if len(lines) > MOST_ANSWER:
        lines[MOST_ANSWER - 1 :] = [f"{lines[MOST_ANSWER - 1][: MOST_LETTERS - 2]} …"]
    return lines


def _cut(line: str) -> str:
    return line if len(line) <= MOST_LETTERS else f"{line[: MOST_LETTERS - 1]}…"


def describe(value: object) -> str:
    """Return a value in a few words: type and shape, number and first names, or the value itself.

    Example:
        >>> describe(np.zeros((2, 3))), describe(("local", "block")), describe({"a": 1})
        ('float64 (2, 3)', '2: local, block', '1: a')
        >>> describe(()), describe((np.zeros(2),) * 3)
        ('none', '3 of ndarray')
    """
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    if isinstance(value, str):
        return shorten(value)
    if isinstance(value, Table):
        return f"{len(value):,} rows" if value else "none"
    if is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__} {shorten(name)}" if (name := _name(value)) else describe_object(value)
    if not isinstance(value, Mapping | tuple | list | set | frozenset):
        return shorten(value)
    items = [*value]
    names = [*dict.fromkeys(item if isinstance(item, str) else _name(item) for item in items)]
    if all(names):
        more = ", …" if len(names) > MOST_NAMES else ""
        return f"{len(items):,}: {', '.join(map(_cut, names[:MOST_NAMES]))}{more}" if items else "none"
    if len(items) <= MOST_NAMES and all(isinstance(item, int | float) for item in items):
        return ", ".join(map(str, items))
    return f"{len(items):,} of {type(items[0]).__name__}"


def _name(item: object) -> str:
    """Return the name of a record; "" where it has none."""
    for attribute in ("name", "sieve", "key"):
        name = getattr(item, attribute, None)
        if isinstance(name, str) and name:
            return name
    return ""
