"""Repair a folder in which a command was killed: one run instead of two, and nothing half-written.

An earlier run waits in ``.before`` within its folder until the run that replaces it has finished a shard.
A run may be killed at any moment: the files in the folder then say what to do. When a run is moved aside,
moved back or deleted, the files that mark it as a run (its plan and, once finished, its manifest) are
always on the side that counts.
"""

import shutil
from pathlib import Path

from headroles.errors import BadInput
from headroles.storage.folder import (
    EARLIER_RUN,
    FIGURE_ENDINGS,
    FIGURES,
    KINDS,
    MANIFEST,
    PLAN,
    RUN,
    SCORES,
    SHARDS,
    read_manifest,
    write_errors,
)
from headroles.storage.integrity.leftovers import clear_leftovers, is_partial
from headroles.storage.integrity.switch import AFTER, finish_switch

SHARD_FOLDERS = (SHARDS, SCORES)
"""The folders that shards are written to."""
OURS = frozenset({AFTER}).union(*(kind.holds for kind in KINDS))
"""Names of which half-written files may lie in a folder."""


def repair_run_folder(folder: Path) -> None:
    """Finish or undo what a killed command left in a folder.

    A folder that is not a run is left alone. No other command may write there, which
    ``headroles.storage.integrity.lock`` ensures.

    Raises:
        BadInput: When the folder cannot be written, or what waits in it is not of headroles.
    """
    with write_errors(f"the run folder '{folder}'"):
        if folder.is_dir():
            finish_switch(folder, _is_own)
            clear_partial(folder)
            restore_earlier_run(folder)


def _is_own(name: str) -> bool:
    """Return whether headroles writes a file of this name; notes among figures are a user's."""
    first, *rest = name.split("/")
    figure = first != FIGURES or (len(rest) == 1 and Path(name).suffix in FIGURE_ENDINGS)
    return first in OURS - {AFTER} and figure


def clear_partial(folder: Path) -> None:
    """Remove half-written files of processes that have ended; files that are not of a run stay."""
    clear_leftovers(folder, OURS.__contains__)
    for name in SHARD_FOLDERS if (folder / PLAN).is_file() else ():
        if not (folder / name).is_symlink():
            clear_leftovers(folder / name, lambda written: True)


def move_aside_earlier_run(folder: Path) -> bool:
    """Move an earlier run into ``.before`` within its folder, the files that mark it as a run last.

    Returns:
        Whether there was an earlier run.

    Raises:
        BadInput: When ``.before`` exists and holds something else.
    """
    paths = [path for path in folder.iterdir() if path.name in RUN.holds - {EARLIER_RUN}]
    if not paths:
        return False
    aside = folder / EARLIER_RUN
    if aside.exists():
        raise BadInput(
            f"an earlier run waits in '{EARLIER_RUN}' until it is replaced, but '{aside}' holds "
            f"something else; "
            f"move it away, or name another --out"
        )
    aside.mkdir()
    for path in _marks_last(paths):
        path.rename(aside / path.name)
    return True


def restore_earlier_run(folder: Path) -> None:
    """Bring back an earlier run that was moved away, unless a shard of the run that replaces it is done.

    A run that was moved completely is whole in ``.before``, and the files next to it belong to the new run.
    Where moving stopped half-way, in either direction, the rest is moved back. A folder ``.before`` of
    somebody else is left alone.
    """
    aside = folder / EARLIER_RUN
    if not holds_earlier_run(folder):
        return
    whole = is_earlier_run_whole(folder)
    if whole and any((folder / SHARDS).glob("*.json")):
        delete_earlier_run(folder)
        return
    if whole:
        delete_new_run(folder)
    for path in reversed(_marks_last(list(aside.iterdir()))):
        path.rename(folder / path.name)
    aside.rmdir()


def is_earlier_run_whole(folder: Path) -> bool:
    """Return whether all of an earlier run was moved away: the files next to it belong to another one."""
    aside = folder / EARLIER_RUN
    return (aside / MANIFEST).exists() or ((aside / PLAN).exists() and not (folder / MANIFEST).exists())


def delete_earlier_run(folder: Path) -> None:
    """Delete the earlier run in ``.before``.

    The files that mark it as a run go last, or the rest would be mistaken for a move that stopped half-way.
    """
    aside = folder / EARLIER_RUN
    for path in _marks_last(list(aside.iterdir())):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    aside.rmdir()


def delete_new_run(folder: Path) -> None:
    """Remove a run that has no finished shard yet."""
    for name in SHARD_FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / PLAN).unlink(missing_ok=True)


def holds_earlier_run(folder: Path) -> bool:
    """Return whether a folder is a run folder whose ``.before`` holds an earlier run or the rest of one."""
    aside = folder / EARLIER_RUN
    if not aside.is_dir() or aside.is_symlink():
        return False
    marks = [read_manifest(place, name) for place in (folder, aside) for name in (MANIFEST, PLAN)]
    files = [path.name for place in (folder, aside) for path in place.iterdir() if not is_partial(path.name)]
    return any("headroles" in mark for mark in marks) and RUN.holds.issuperset(files)


def _marks_last(paths: list[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: (path.name == MANIFEST, path.name == PLAN))
