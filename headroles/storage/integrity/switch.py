"""Replace many files of a folder in one step, which a kill cannot stop half-way.

New files are written into a hidden folder within the destination, with a journal. One rename to ``.after``
decides: before it the old files count, after it the new ones. Then the files move to their places. Where a
command is killed while they move, ``finish_switch`` moves the rest, and ``switched_files`` tells where each
file lies.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from headroles.storage.integrity.leftovers import clear_leftovers, is_partial, partial_path

AFTER, JOURNAL = ".after", "journal.json"
"""Folder of new files that already count, and its list of the old files that go."""


def begin_switch(folder: Path) -> Path:
    """Make a folder for new files of a folder, and return it; ``commit_switch`` lets them count.

    Raises:
        OSError: When it cannot be made.
    """
    clear_leftovers(folder, lambda name: name == AFTER)
    staging = partial_path(folder / AFTER)
    staging.mkdir()
    return staging


def commit_switch(folder: Path, staging: Path, gone: Iterable[str] | None, last: str) -> None:
    """Let new files count, and move them to their places.

    Args:
        folder: The destination.
        staging: Folder of the new files, from ``begin_switch``.
        gone: Names of files that leave, relative to the destination; None: all that are not written anew.
        last: The file that moves last, because it marks the folder as finished.

    Raises:
        OSError: When something cannot be written. The folder then has its old files, or all new ones.
    """
    leaving = set(file_names(folder)) if gone is None else set(gone)
    journal = {"gone": sorted(leaving - set(file_names(staging))), "last": last}
    (staging / JOURNAL).write_text(json.dumps(journal), encoding="utf-8")
    _sync(staging)
    staging.rename(folder / AFTER)
    _sync_names(folder)
    finish_switch(folder)


def replace_files(folder: Path, contents: Mapping[str, str | bytes], gone: Iterable[str], last: str) -> None:
    """Write files, text as UTF-8, and remove others, all in one step.

    Args:
        folder: The destination, which exists.
        contents: New files by name, relative to the folder.
        gone: Names of files that leave.
        last: The file that moves last.

    Raises:
        OSError: When something cannot be written. The folder then has its old files, or all new ones.
    """
    staging = begin_switch(folder)
    try:
        for name, content in contents.items():
            path = staging / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.write_text(content, encoding="utf-8", newline="")
            else:
                path.write_bytes(content)
        commit_switch(folder, staging, gone, last)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def is_switching(folder: Path) -> bool:
    """Return whether new files count that have not all moved to their places."""
    return (folder / AFTER / JOURNAL).is_file()


def is_switched(folder: Path) -> bool:
    """Return whether all new files have moved, and only their empty folder is left."""
    after = folder / AFTER
    return after.is_dir() and not after.is_symlink() and all(path.is_dir() for path in after.rglob("*"))


def finish_switch(folder: Path) -> None:
    """Move new files that already count to their places, and remove the old ones that they replace.

    A folder ``.after`` of somebody else is left alone.

    Raises:
        OSError: When a file cannot be moved or removed; the rest moves at the next call.
    """
    after, journal = folder / AFTER, _journal_of(folder)
    if journal is None:
        _remove_empty(after)
        return
    gone, last = journal
    for name in gone:
        (folder / name).unlink(missing_ok=True)
        _remove_empty_parents(folder, name)
    for name in sorted(file_names(after), key=lambda name: (name == last, name)):
        if name != JOURNAL:
            _make_plain_parents(folder, name)
            (after / name).replace(folder / name)
    _sync_names(folder)
    (after / JOURNAL).unlink()
    _remove_empty(after)


def switched_files(folder: Path) -> dict[str, Path]:
    """Return where each file of a folder lies, by name, as if all new files had moved to their places."""
    after, journal = folder / AFTER, _journal_of(folder)
    gone = journal[0] if journal is not None else ()
    files = {name: folder / name for name in file_names(folder) if name not in gone}
    if journal is not None:
        files |= {name: after / name for name in file_names(after) if name != JOURNAL}
    return files


def file_names(folder: Path) -> list[str]:
    """Return names of all files of a folder and its subfolders, but of no half-written or waiting ones."""
    names = []
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        first = name.partition("/")[0]
        if (path.is_symlink() or not path.is_dir()) and first != AFTER and not is_partial(first):
            names.append(name)
    return names


def _journal_of(folder: Path) -> tuple[tuple[str, ...], str] | None:
    """Return the files that go and the file that moves last; None where no new files wait."""
    try:
        journal = json.loads((folder / AFTER / JOURNAL).read_text(encoding="utf-8"))
        return tuple(map(str, journal["gone"])), str(journal["last"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _make_plain_parents(folder: Path, name: str) -> None:
    """Make the folders of a file; a link in the place of one is removed: nothing behind it changes."""
    for parent in reversed(Path(name).parents[:-1]):
        if (folder / parent).is_symlink():
            (folder / parent).unlink()
        (folder / parent).mkdir(exist_ok=True)


def _remove_empty_parents(folder: Path, name: str) -> None:
    for parent in Path(name).parents[:-1]:
        with suppress(OSError):  # not empty
            (folder / parent).rmdir()


def _remove_empty(folder: Path) -> None:
    """Remove a folder with its subfolders where no file is in them."""
    if folder.is_dir() and not folder.is_symlink():
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_symlink() or not path.is_dir():
                return
        shutil.rmtree(folder)


def _sync(folder: Path) -> None:
    """Wait until all files of a folder are on the disk, or a power loss could keep names without bytes."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _sync_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
