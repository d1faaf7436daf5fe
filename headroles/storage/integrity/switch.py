"""Replace many files of a folder in one step, which a kill cannot stop half-way.

New files are written into a hidden folder within the destination, with a journal. One rename to ``.after``
decides: before it the old files count, after it the new ones. Then the files move to their places. Where a
command is killed while they move, ``finish_switch`` moves the rest. Whoever has only read access to a folder
finishes nothing: a journal may come from somebody else.
"""

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from headroles.errors import BadInput, shorten_quotes
from headroles.storage.integrity.leftovers import clear_leftovers, is_partial, partial_path
from headroles.storage.places import check_name, read_regular

AFTER, JOURNAL = ".after", "journal.json"
"""Folder of new files that already count, and its list of the old files that go."""


def after_name(name: str) -> str:
    """Return the name of the folder of new files for a single result among files of others.

    Example:
        >>> after_name("maps.npz")
        '.maps.npz.after'
    """
    return f".{name}{AFTER}"


def begin_switch(folder: Path, after: str = AFTER) -> Path:
    """Make a folder for new files of a folder, and return it; ``commit_switch`` lets them count.

    Args:
        folder: The destination.
        after: Name of the folder of new files that count.

    Raises:
        OSError: When it cannot be made.
    """
    clear_leftovers(folder, after.__eq__)
    staging = partial_path(folder / after)
    staging.mkdir()
    return staging


def commit_switch(
    folder: Path, staging: Path, gone: Iterable[str] | None, last: str, after: str = AFTER
) -> None:
    """Let new files count, and move them to their places.

    Args:
        folder: The destination.
        staging: Folder of the new files, from ``begin_switch``.
        gone: Names of files that leave, relative to the destination; None: all that are not written anew.
        last: The file that moves last, because it marks the folder as finished.
        after: As for ``begin_switch``.

    Raises:
        OSError: When something cannot be written. The folder then has its old files, or all new ones.
    """
    leaving = set(file_names(folder)) if gone is None else set(gone)
    journal = {"gone": sorted(leaving - set(file_names(staging))), "last": last}
    (staging / JOURNAL).write_text(json.dumps(journal), encoding="utf-8")
    _sync(staging)
    staging.rename(folder / after)
    _sync_names(folder)
    finish_switch(folder, after=after)


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


def is_switching(folder: Path, after: str = AFTER) -> bool:
    """Return whether new files count that have not all moved to their places."""
    return os.path.lexists(folder / after / JOURNAL)


def finish_switch(
    folder: Path, is_ours: Callable[[str], bool] = lambda name: True, after: str = AFTER
) -> None:
    """Move new files that already count to their places, and remove the old ones that they replace.

    A folder ``.after`` of somebody else is left alone. Only a command that holds the lock of the folder, and
    writes into it, may call this.

    Args:
        folder: The destination.
        is_ours: Whether headroles writes a file of this name; the journal may have come with the folder.
        after: As for ``begin_switch``.

    Raises:
        BadInput: When the journal or a new file is not one that headroles leaves; nothing is changed then.
        OSError: When a file cannot be moved or removed; the rest moves at the next call.
    """
    waiting = folder / after
    if not is_switching(folder, after):
        _remove_empty(waiting)
        return
    gone, last = _journal_of(folder, waiting, is_ours)
    for name in gone:
        (folder / name).unlink(missing_ok=True)
        _remove_empty_parents(folder, name)
    for name in sorted(file_names(waiting), key=lambda name: (name == last, name)):
        if name != JOURNAL:
            _make_plain_parents(folder, name)
            (waiting / name).replace(folder / name)
    _sync_names(folder)
    (waiting / JOURNAL).unlink()
    _remove_empty(waiting)


def file_names(folder: Path) -> list[str]:
    """Return names of all files of a folder and its subfolders, but of no half-written or waiting ones."""
    names = []
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        first = name.partition("/")[0]
        if (path.is_symlink() or not path.is_dir()) and first != AFTER and not is_partial(first):
            names.append(name)
    return names


def _journal_of(folder: Path, after: Path, is_ours: Callable[[str], bool]) -> tuple[tuple[str, ...], str]:
    """Return the files that go and the file that moves last, after checking every name and every new file.

    Raises:
        BadInput: When a name leaves the folder, goes through a link or is not of headroles; when a new file
            is no plain file; or when the journal cannot be read.
    """
    try:
        if after.is_symlink():
            raise ValueError("a link")
        journal = json.loads(read_regular(after / JOURNAL))
        gone, last = tuple(map(str, journal["gone"])), str(journal["last"])
        new = [name for name in file_names(after) if name != JOURNAL]
        for name in new:
            if not stat.S_ISREG((after / name).lstat().st_mode):
                raise ValueError(f"{name!r}, which is no plain file")
        for name in (*gone, *new, last):
            if not is_ours(check_name(name)):
                raise ValueError(f"the name {name!r}")
            if name in gone and any((folder / parent).is_symlink() for parent in Path(name).parents[:-1]):
                raise ValueError(f"{name!r}, which lies behind a link")
    except (OSError, ValueError, KeyError, TypeError, RecursionError, BadInput) as error:
        raise BadInput(
            f"a command of headroles leaves only its own files in '{after}', but it holds something else "
            f"({shorten_quotes(error)}); move '{after}' away"
        ) from error
    return gone, last


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
