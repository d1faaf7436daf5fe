"""Open the user's files and addresses, and refuse missing, empty, binary and wrongly encoded ones."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from headroles.addresses import explain_errors, is_address, no_such_file, system_of
from headroles.errors import BadInput
from headroles.extraction.texts.hub import path_exists

Location = str | Path
"""A path of this machine, or an address such as ``s3://bucket/texts.jsonl.gz`` (as text)."""
LONGEST_LINE = 2**24
"""Most bytes of a line: a small compressed file could hold one line of gigabytes."""
PATTERN_CHARACTERS = frozenset("*?[")
"""Characters that make a path a pattern, unless a file has exactly that name."""


def file_format(where: Location) -> str:
    """Return the ending that states the format of a file, in lower case and without ``.gz``.

    Example:
        >>> file_format("s3://bucket/part-0.JSONL.gz")
        '.jsonl'
    """
    suffixes = [suffix.lower() for suffix in Path(where).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), "")


@contextmanager
def open_text(where: Location) -> Iterator[TextIO]:
    """Open a UTF-8 text file, plain or gzipped, without its byte-order mark.

    Raises:
        BadInput: When it is missing, a folder, empty, binary or not UTF-8.
    """
    try:
        with open_binary(where) as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
            start = _decompressed(raw, zipped).read(65536)
            if not start.strip(b"\xef\xbb\xbf \t\r\n"):
                raise BadInput(f"a file to read must hold text, but '{where}' is empty")
            source = io.BufferedReader(_Checked(_decompressed(raw, zipped), where))
            with io.TextIOWrapper(source, encoding="utf-8-sig", newline="") as text:
                yield text
    except UnicodeDecodeError as error:
        raise BadInput(
            f"the data must be text in UTF-8, but '{where}' holds the byte "
            f"0x{error.object[error.start]:02x}, which is not; save it as UTF-8"
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"the data file '{where}' cannot be read: {error}") from error


class _Checked(io.RawIOBase):
    """The bytes of a stream, refused at a zero byte, which no text has, and at a line without end."""

    def __init__(self, source: io.BufferedReader, where: Location) -> None:
        """Take the stream, and its file for errors."""
        self._source, self._where, self._line = source, where, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into a buffer, and return their number, 0 at the end.

        Raises:
            BadInput: When a zero byte is among them, or a line is longer than ``LONGEST_LINE``.
        """
        size = self._source.readinto1(buffer)
        read = memoryview(buffer)[:size].tobytes()
        feed = read.rfind(b"\n")
        self._line = self._line + size if feed < 0 else size - feed
        if self._line > LONGEST_LINE:
            raise BadInput(
                f"a line has at most {LONGEST_LINE:,} bytes, but '{self._where}' has a longer one; cut it"
            )
        if 0 in read:
            raise BadInput(
                f"the data must be text in UTF-8, but '{self._where}' is binary (it holds zero bytes)"
            )
        return size


def _decompressed(raw: io.BufferedReader, zipped: bool) -> io.BufferedReader:
    """Return a file from its start, decompressed while it is read."""
    raw.seek(0)
    return io.BufferedReader(gzip.GzipFile(fileobj=raw)) if zipped else raw


@contextmanager
def open_binary(where: Location) -> Iterator[io.BufferedReader]:
    """Open the bytes of a local file or of an address, with random access.

    Raises:
        BadInput: When it is missing, a folder, or cannot be read.
    """
    if isinstance(where, str) and is_address(where):
        with _open_remote(where) as raw:
            yield raw
        return
    path = Path(where)
    try:
        if not path.exists():
            raise no_such_file(path)
        if not (path.is_file() or path.is_dir()):
            raise BadInput(
                f"a file is read from its start more than once, but '{path}' is a pipe or a device; save "
                f"it as a file"
            )
        if path.is_dir():
            raise BadInput(f"a file to read must be no folder, but '{path}' is a folder; name a file in it")
        with path.open("rb") as raw:
            yield raw
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"the data file '{path}' cannot be read: {error}") from error


@contextmanager
def _open_remote(url: str) -> Iterator[io.BufferedReader]:
    """Open the bytes of a file at an address."""
    try:
        with explain_errors(f"'{url}'", "read"):
            system, path = system_of(url)
            with system.open(path, "rb") as raw:
                yield io.BufferedReader(raw)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise no_such_file(url) from error


def check_present(where: Location) -> None:
    """Refuse a local path without a file or folder; addresses and patterns are looked up when they are read.

    Raises:
        BadInput: When there is none.
    """
    if not (is_address(where) or PATTERN_CHARACTERS & {*str(where)} or path_exists(Path(where))):
        raise no_such_file(where)


def list_files(where: Location, kinds: tuple[str, ...], beside: tuple[str, ...] = ()) -> list[Location]:
    """List the files that a path, a folder or a pattern such as ``texts/*.parquet`` names, sorted by name.

    For a folder these are its files of one of the kinds, at any depth. Files and folders whose names begin
    with a point or an underscore are skipped.

    Args:
        where: What the user named; a path without such files in it names itself.
        kinds: Endings that readers know.
        beside: Endings of ``kinds`` that are skipped where files with another ending are there, because such
            files often only describe the others.

    Raises:
        BadInput: When there is no such file, or a folder or pattern holds none, or files of several kinds.
    """
    check_present(where)
    files = (
        _remote_files(where) if isinstance(where, str) and is_address(where) else _local_files(Path(where))
    )
    if files is None:
        return [where]
    known = [file for file, inside in files if file_format(file) in kinds and not _hidden(inside)]
    if not known:
        raise BadInput(
            f"a folder or pattern of data names files that end in {', '.join(kinds)}, with or without .gz, "
            f"but '{where}' names none"
        )
    known = [file for file in known if file_format(file) not in beside] or known
    several = sorted({file_format(file) for file in known})
    if len(several) > 1:
        raise BadInput(
            f"the files of one folder or pattern are of one kind, but '{where}' names "
            f"{' and '.join(several)}; name those of one kind, as in '*{several[0]}'"
        )
    return sorted(known, key=str)


def _hidden(inside: str) -> bool:
    return any(part.startswith((".", "_")) for part in inside.split("/"))


def _local_files(path: Path) -> list[tuple[Location, str]] | None:
    """Return the files of a folder or pattern, each with its path inside it; None for anything else."""
    try:
        if path.is_dir():
            return [(file, file.relative_to(path).as_posix()) for file in path.rglob("*") if file.is_file()]
        if path.exists() or not PATTERN_CHARACTERS & {*str(path)}:
            return None
        root = Path(path.anchor)
        parts = str(path.relative_to(root)) if path.anchor else str(path)
        return [(file, file.name) for file in root.glob(parts) if file.is_file()]
    except (OSError, ValueError) as error:
        raise BadInput(f"the data '{path}' cannot be read: {error}") from error


def _remote_files(url: str) -> list[tuple[Location, str]] | None:
    """Return what ``_local_files`` does, for an address."""
    try:
        with explain_errors(f"'{url}'", "read"):
            system, path = system_of(url)
            if PATTERN_CHARACTERS & {*path}:
                return [
                    (system.unstrip_protocol(file), file.rpartition("/")[2]) for file in system.glob(path)
                ]
            if not system.isdir(path):
                return None
            return [
                (system.unstrip_protocol(file), file[len(path) :].strip("/")) for file in system.find(path)
            ]
    except FileNotFoundError as error:
        raise no_such_file(url) from error
