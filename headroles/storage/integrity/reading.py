"""Read folders in one state: finish what a killed command left, read through what may not be written.

Every file that is read is checked against the SHA-256 of the manifest. A second check in one process looks
at inode, size and times only.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from headroles.errors import HeadrolesError
from headroles.storage.folder import (
    ATLAS,
    COMPARISON,
    EARLIER_RUN,
    MANIFEST,
    RUN,
    SHARDS,
    Kind,
    read_manifest,
)
from headroles.storage.integrity.lock import repair_if_free
from headroles.storage.integrity.repair import holds_earlier_run, is_earlier_run_whole
from headroles.storage.integrity.switch import AFTER, file_names, is_switched, is_switching, switched_files

Read = TypeVar("Read")
Mark = tuple[int, int, int, int, int]
WAITS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds to wait before a folder is read again that another command changed meanwhile."""
TICK_NS = 2_000_000_000
"""Nanoseconds in which a file may change without another time; a hash of a younger file is not kept."""

_known_digests: dict[Path, tuple[Mark, str]] = {}


def read_settled(folder: Path, read: Callable[[Path], Read]) -> Read:
    """Read a folder in the state before or after a command, never between.

    What a killed command left is finished or undone first. Where the folder may not be written, the files are
    read from where they lie. Where another command changes the folder meanwhile, it is read again.

    Args:
        folder: Folder of a run or comparison.
        read: Reads it; the path that it gets may be that of a folder of links.

    Raises:
        HeadrolesError: What ``read`` raises while nothing changes.
    """
    for wait in WAITS:
        time.sleep(wait)
        before = _state(folder)
        try:
            with _settled(folder) as place:
                return read(place)
        except (HeadrolesError, OSError):
            if _state(folder) == before or wait == WAITS[-1]:
                raise
    raise AssertionError("the last time always ends")


def kind_of_folder(folder: Path) -> Kind:
    """Return the kind that a folder's manifest states; a run where it states none."""
    stated = read_settled(folder, read_manifest).get("kind")
    return next((kind for kind in (ATLAS, COMPARISON) if kind.name == stated), RUN)


@contextmanager
def _settled(folder: Path) -> Iterator[Path]:
    """Yield a folder without anything unfinished: itself, or one of links to its files."""
    if _is_unsettled(folder) or is_switched(folder):
        with suppress(HeadrolesError):
            repair_if_free(folder)
    if not _is_unsettled(folder):
        yield folder
        return
    with TemporaryDirectory(prefix="headroles-") as temporary:
        links = Path(temporary) / (folder.resolve().name or "run")
        for name, path in _files_that_count(folder).items():
            (links / name).parent.mkdir(parents=True, exist_ok=True)
            _link(path.absolute(), links / name)
        try:
            yield links
        except HeadrolesError as error:
            error.args = tuple(str(argument).replace(str(links), str(folder)) for argument in error.args)
            raise


def _is_unsettled(folder: Path) -> bool:
    return is_switching(folder) or ((folder / EARLIER_RUN).is_dir() and holds_earlier_run(folder))


def _files_that_count(folder: Path) -> dict[str, Path]:
    """Return where the files lie of the run that counts, by name."""
    files = switched_files(folder)
    aside = f"{EARLIER_RUN}/"
    own = {name: path for name, path in files.items() if not name.startswith(aside)}
    if not holds_earlier_run(folder):
        return own
    earlier = {name.removeprefix(aside): path for name, path in files.items() if name.startswith(aside)}
    if not is_earlier_run_whole(folder):
        return own | earlier
    return own if any((folder / SHARDS).glob("*.json")) else earlier


def _link(path: Path, link: Path) -> None:
    try:
        link.symlink_to(path)
    except OSError:  # Windows without the right to make links
        shutil.copyfile(path, link)


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


def check_files(folder: Path, files: Any, read: Callable[[str], bool]) -> None:
    """Check that files are those that a manifest names; nothing is checked where it names none.

    Args:
        folder: Their folder.
        files: SHA-256 by name, as the manifest has them; None for folders of older versions.
        read: Whether a file of this name is read. Such a file must not lie there unnamed, either.

    Raises:
        ValueError: Naming the first file that is missing, was altered, or does not belong to the folder.
        OSError: When a file cannot be read.
    """
    if files is None:
        return
    if not isinstance(files, Mapping):
        raise ValueError(f"the files in {MANIFEST} are not named")
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
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    _known_digests.pop(key, None)
    if mark is not None and mark == _mark(path) and time.time_ns() - max(mark[3:]) > TICK_NS:
        _known_digests[key] = (mark, digest)
    return digest
