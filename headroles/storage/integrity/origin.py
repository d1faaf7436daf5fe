"""Which files headroles wrote, so that single files of a user are replaced only on request.

A page is known by the line above its title, a figure by metadata (SVG, PNG) or a comment after its end (PDF),
a LaTeX table by its label, and a table in CSV or Markdown by its header row. A table in one of the last two
forms therefore replaces an earlier one with the same columns only. Figures without
metadata, which early builds wrote, are replaced on request only.

Whole folders of runs and comparisons are known by their manifest; see ``headroles.storage.folder``.
"""

from collections.abc import Mapping
from os.path import isfile
from pathlib import Path

from headroles.errors import BadInput
from headroles.storage.places import Place

PAGE_MARK = '<p class="kicker">headroles '
SVG_MARK = "<metadata>headroles</metadata>"
PNG_CHUNK = b"tEXtSoftware\0headroles"
"""Type, keyword and text of a chunk of PNG files."""
PDF_MARK = "%headroles"
LATEX_MARK = r"\label{tab:headroles-"
FIGURE_MARKS: Mapping[str, str | bytes] = {"svg": SVG_MARK, "png": PNG_CHUNK, "pdf": PDF_MARK}
"""The mark of a figure file by its form."""


def mark_of(content: str | bytes) -> bytes:
    r"""Return the bytes by which a file with this content is known to be of headroles.

    Args:
        content: What headroles is about to write: a page, figure or table.

    Example:
        >>> mark_of("layer,head\n0,1\n"), mark_of("Heads.\n\n| layer |\n| ---: |\n| 0 |\n")
        (b'\nlayer,head\n', b'\n| layer |\n| ---: |\n')
    """
    data = content.encode() if isinstance(content, str) else content
    for mark in (PAGE_MARK.encode(), SVG_MARK.encode(), PNG_CHUNK, PDF_MARK.encode(), LATEX_MARK.encode()):
        if mark in data:
            return mark
    before, table, after = data.partition(b"\n\n| ")
    header = b"| " + b"\n".join(after.split(b"\n")[:2]) if table else before.partition(b"\n")[0]
    return b"\n" + header + b"\n"


def check_replaceable(path: Path, mark: str | bytes, overwrite: bool) -> None:
    """Refuse to replace a file that headroles did not write.

    Args:
        path: File to write; it may be missing.
        mark: The bytes by which its new content is known, as from ``mark_of``.
        overwrite: Whether any file may be replaced.

    Raises:
        BadInput: When the file is there without the mark and ``overwrite`` is off, or cannot be read.
    """
    if overwrite or not isfile(path):
        return
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(
            f"'{path}' cannot be read ({error.strerror or error}), so it is not replaced; name another --out"
        ) from error
    if not _has_mark(data, mark):
        raise _foreign(str(path))


def check_replaceable_at(place: Place, name: str, mark: str | bytes, overwrite: bool) -> None:
    """Check a file at an address as ``check_replaceable`` does.

    Raises:
        BadInput: When the file is there without the mark and ``overwrite`` is off, or cannot be read.
    """
    if overwrite:
        return
    try:
        data = place.read(name)
    except FileNotFoundError:
        return
    if not _has_mark(data, mark):
        raise _foreign(f"{place.url}/{name}")


def _has_mark(data: bytes, mark: str | bytes) -> bool:
    return (mark.encode() if isinstance(mark, str) else mark) in b"\n" + data


def _foreign(where: str) -> BadInput:
    return BadInput(
        f"'{where}' is there and was not written by headroles; give --overwrite to replace it, or "
        f"another --out"
    )
