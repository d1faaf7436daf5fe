"""Read documents of running text without annotation, one at a time."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headroles.extraction.texts.files import open_text

HEADING = re.compile(r"\s*(=(?: =)*) (?!=)(\S.*?) (=(?: =)*)\s*")


@dataclass(frozen=True, slots=True)
class RunningText:
    """One document of running text.

    Attributes:
        name: Its title, or "document N" with N from 1 on.
        text: Its lines as in the file, without headings and blank lines.
        paragraphs: Parts of it that share no sentence: the lines of an article, each a paragraph, or else
            the whole document, whose lines may be broken anywhere.
    """

    name: str
    text: str
    paragraphs: tuple[str, ...]


def read_running_text(path: Path) -> Iterator[RunningText]:
    """Yield the documents of a file of plain text, gzipped or not, in their order.

    A file whose first non-blank line is a title in the layout of WikiText, `` = Title = ``, has
    one document from each such line to the next, and one paragraph per line. Its headings (any number of
    ``=``, the same on both sides) are left out. In any other file blank lines divide documents.

    Args:
        path: The file.

    Raises:
        BadInput: When it is missing, empty, binary or not UTF-8.
    """
    with open_text(path) as text:
        lines = iter(text)
        first = next((line for line in lines if line.strip()), "")
        rest = _chain_first(first, lines)
        yield from _split_at_titles(rest) if heading_level(first) == 1 else _split_at_blank_lines(rest)


def read_blocks(path: Path) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yield lines between blank lines, with the name of their document, and whether a blank line ends them.

    Names are titles in a file that begins with one, as for ``read_running_text``, and else "document N". A
    heading alone between blank lines is left out.

    Args:
        path: The file.

    Raises:
        BadInput: When it is missing, empty, binary or not UTF-8.
    """
    title, number, block, titled = "", 0, list[str](), None
    with open_text(path) as text:
        for line in itertools.chain(map(str.strip, text), (None,)):
            if line:
                level = heading_level(line)
                titled = level == 1 if titled is None else titled
                title = heading_title(line) if titled and level == 1 else title
                block.append(line)
            elif block:
                if len(block) > 1 or not (titled and heading_level(block[0])):
                    number += 1
                    yield title if titled else f"document {number}", tuple(block), line is not None
                block = []


def heading_level(line: str) -> int:
    """Return the number of ``=`` on each side of a heading in WikiText's layout; 0 for any other line.

    Example:
        >>> [heading_level(line) for line in (" = Lobster = ", " = = Life cycle = = ", "a = b", " = a = = ")]
        [1, 2, 0, 0]
    """
    heading = HEADING.fullmatch(line)
    return heading[1].count("=") if heading and heading[1] == heading[3] else 0


def heading_title(line: str) -> str:
    """Return the words of a heading; "" for any other line."""
    heading = HEADING.fullmatch(line)
    return heading[2] if heading else ""


def _chain_first(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _split_at_titles(lines: Iterator[str]) -> Iterator[RunningText]:
    name, lines_kept = "", list[str]()
    for line in lines:
        level = heading_level(line)
        if level == 1:
            if lines_kept:
                yield RunningText(name, "".join(lines_kept), tuple(lines_kept))
            name, lines_kept = heading_title(line), []
        elif level == 0 and line.strip():
            lines_kept.append(line)
    if lines_kept:
        yield RunningText(name, "".join(lines_kept), tuple(lines_kept))


def _split_at_blank_lines(lines: Iterator[str]) -> Iterator[RunningText]:
    number, lines_kept = 1, list[str]()
    for line in lines:
        if line.strip():
            lines_kept.append(line)
        elif lines_kept:
            yield _document(number, "".join(lines_kept))
            number, lines_kept = number + 1, []
    if lines_kept:
        yield _document(number, "".join(lines_kept))


def _document(number: int, text: str) -> RunningText:
    return RunningText(f"document {number}", text, (text,))
