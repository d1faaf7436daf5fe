"""Documents of running text without annotation, read one at a time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headroles.extraction.texts.files import opened

HEADING = re.compile(r"\s*(=(?: =)*) (?!=)(\S.*?) (=(?: =)*)\s*")


@dataclass(frozen=True, slots=True)
class RunningText:
    """One document of running text.

    Attributes:
        name: Its title, or "document N" with N from 1 on.
        text: Its lines as they stand in the file, headings and blank lines left out.
        paragraphs: Parts of it that share no sentence: the lines of an article, which hold a paragraph
            each, or the whole document, whose lines may be broken anywhere.
    """

    name: str
    text: str
    paragraphs: tuple[str, ...]


def read_running_text(path: Path) -> Iterator[RunningText]:
    """Documents of a file of plain text, ``.gz`` too, in their order.

    A file whose first line that is not blank is a title in the layout of WikiText, `` = Title = ``, has
    one document from each such line to the next, one paragraph per line; its headings (any number of
    ``=``, as many on both sides) are left out. In any other file blank lines divide documents.

    Args:
        path: The file.

    Raises:
        BadInput: When it is missing, empty, binary or not UTF-8.
    """
    with opened(path) as text:
        lines = iter(text)
        first = next((line for line in lines if line.strip()), "")
        rest = _with_first(first, lines)
        yield from _articles(rest) if level_of(first) == 1 else _divided(rest)


def level_of(line: str) -> int:
    """How many ``=`` stand on both sides of a heading in WikiText's layout; 0 for any other line.

    Example:
        >>> [level_of(line) for line in (" = Lobster = ", " = = Life cycle = = ", "a = b", " = a = = ")]
        [1, 2, 0, 0]
    """
    found = HEADING.fullmatch(line)
    return found[1].count("=") if found and found[1] == found[3] else 0


def title_of(line: str) -> str:
    """The words of a heading."""
    found = HEADING.fullmatch(line)
    return found[2] if found else ""


def _with_first(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _articles(lines: Iterator[str]) -> Iterator[RunningText]:
    name, kept = "", list[str]()
    for line in lines:
        level = level_of(line)
        if level == 1:
            if kept:
                yield RunningText(name, "".join(kept), tuple(kept))
            name, kept = title_of(line), []
        elif level == 0 and line.strip():
            kept.append(line)
    if kept:
        yield RunningText(name, "".join(kept), tuple(kept))


def _divided(lines: Iterator[str]) -> Iterator[RunningText]:
    number, kept = 1, list[str]()
    for line in lines:
        if line.strip():
            kept.append(line)
        elif kept:
            yield _document(number, "".join(kept))
            number, kept = number + 1, []
    if kept:
        yield _document(number, "".join(kept))


def _document(number: int, text: str) -> RunningText:
    return RunningText(f"document {number}", text, (text,))
