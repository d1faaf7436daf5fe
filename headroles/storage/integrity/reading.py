"""Read folders in one state, and change nothing in them: whoever reads a folder may have received it.

Every file that is read is checked against the SHA-256 of the manifest. A second check in one process looks
at inode, size and times only.
"""

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Any, TypeVar

from headroles.errors import BadInput, HeadrolesError
from headroles.storage.folder import (
    EARLIER_RUN,
    KINDS,
    MANIFEST,
    RUN,
    Kind,
    read_manifest,
)
from headroles.storage.integrity.repair import OURS, holds_earlier_run
from headroles.storage.integrity.switch import AFTER, file_names, is_switching
from headroles.storage.places import open_regular

Read = TypeVar("Read")
Mark = tuple[int, int, int, int, int]
WAITS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds to wait before a folder is read again that another command changed meanwhile."""
TICK_NS = 2_000_000_000
"""Nanoseconds in which a file may change without another time; a hash of a younger file is not kept."""

_known_digests: dict[Path, tuple[Mark, str]] = {}


def read_settled(folder: Path, read: Callable[[Path], Read]) -> Read:
    """Read a folder in the state before or after a command, never between; nothing in it is changed.

    Where another command changes the folder meanwhile, it is read again.

    Args:
        folder: Folder of a run or comparison.
        read: Reads it.

    Raises:
        BadInput: When a command was stopped while it changed the folder, or when a file that is read is a
            link, a pipe or a device.
        HeadrolesError: What ``read`` raises while nothing changes.
    """
    for wait in WAITS:
        time.sleep(wait)
        before, last = _state(folder), wait == WAITS[-1]
        if _is_unsettled(folder) and not last:
            continue
        try:
            _check_settled(folder)
            return read(folder)
        except (HeadrolesError, OSError):
            if last or _state(folder) == before:
                raise
    raise AssertionError("the last time always ends")


def kind_of_folder(folder: Path) -> Kind:
    """Return the kind that a folder's manifest states; a run where it states none."""
    stated = read_settled(folder, read_manifest).get("kind")
    return next((kind for kind in KINDS if kind.name == stated), RUN)


def _check_settled(folder: Path) -> None:
    """Refuse a folder that is half-changed, or in which a name of headroles is no plain file or folder.

    Raises:
        BadInput: In a sentence that names the command that finishes it, or the name.
    """
    if _is_unsettled(folder):
        is_run = read_manifest(folder).get("kind", RUN.name) == RUN.name
        again = f", or headroles judge {folder}" if is_run else ""
        raise BadInput(
            f"a command was stopped while it changed '{folder}', or is still at work, so no reader can tell "
            f"what counts; start that command again{again}, and it is finished"
        )
    for place, folders, files in os.walk(folder):
        if Path(place) == folder:
            folders[:] = [name for name in folders if name in OURS]
        for name in (*folders, *files):
            path = Path(place, name)
            kind = path.lstat().st_mode
            own = path.relative_to(folder).parts[0] in OURS
            if own and not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                raise BadInput(
                    f"a folder of headroles holds plain files, but '{path}' is a link, a pipe or a device; "
                    f"put the file in its place, or remove it"
                )


def _is_unsettled(folder: Path) -> bool:
    return is_switching(folder) or ((folder / EARLIER_RUN).is_dir() and holds_earlier_run(folder))


def _state(folder: Path) -> tuple[Any, ...]:
    """Return what changes when a command changes a folder."""
    return (*(_mark(folder / name) for name in (MANIFEST, AFTER, EARLIER_RUN)), _mark(folder))


def _mark(path: Path) -> Mark | None:
    """Return what tells one content of a file from another without reading it; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def check_files(folder: Path, files: Mapping[str, str], read: Callable[[str], bool]) -> None:
    """Check that files are those that a manifest names.

    Args:
        folder: Their folder.
        files: SHA-256 by name, as the manifest has them.
        read: Whether a file of this name is read. Such a file must not lie there unnamed, either.

    Raises:
        ValueError: Naming the first file that is missing, was altered, or does not belong to the folder.
        OSError: When a file cannot be read.
    """
    for name, digest in files.items():
        if read(name):
            try:
                actual = digest_of(folder / name)
            except FileNotFoundError as error:
                raise ValueError(f"{name} is missing, which {MANIFEST} promises") from error
            if actual != digest:
                raise ValueError(f"{name} was altered since it was written")
    for name in _foreign(file_names(folder), files, read):
        raise ValueError(f"{name} is no file of it; move it away")


def _foreign(names: Iterable[str], files: Mapping[str, Any], read: Callable[[str], bool]) -> Iterator[str]:
    return (name for name in sorted(names) if name not in files and name != MANIFEST and read(name))


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file; a file that was read before and did not change is not read again.

    Raises:
        OSError: When it cannot be read.
    """
    key, mark = path.resolve(), _mark(path)
    known = _known_digests.get(key)
    if known is not None and known[0] == mark:
        return known[1]
    with open_regular(path) as file:
        digest = file_digest(file, "sha256").hexdigest()
    _known_digests.pop(key, None)
    if mark is not None and mark == _mark(path) and time.time_ns() - max(mark[3:]) > TICK_NS:
        _known_digests[key] = (mark, digest)
    return digest
