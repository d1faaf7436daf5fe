"""An earlier run that waits in ``.before`` within its folder until the one that replaces it has a shard.

Whatever moment a run is killed at, what is there says what to do: a run is moved aside, moved back and
deleted with what marks it as a run (its plan, and of a finished one its manifest) on the side that counts.
"""

import shutil
from pathlib import Path

from headroles.errors import BadInput
from headroles.storage.folder import BEFORE, MANIFEST, PLAN, RUN, SCORES, SHARDS, manifest_in
from headroles.storage.places import is_partial

KEPT = (SHARDS, SCORES)
"""Folders that shards are written to."""


def put_aside(folder: Path) -> bool:
    """Move an earlier run into ``.before`` within its folder, what marks it as a run last.

    Returns:
        Whether there was one.

    Raises:
        BadInput: When something else is called so.
    """
    there = [each for each in folder.iterdir() if each.name in RUN.holds - {BEFORE}]
    if not there:
        return False
    aside = folder / BEFORE
    if aside.exists():
        raise BadInput(
            f"an earlier run waits in '{BEFORE}' until it is replaced, but '{aside}' holds something else; "
            f"move it away, or name another --out"
        )
    aside.mkdir()
    for each in _marks_last(there):
        each.rename(aside / each.name)
    return True


def restore(folder: Path) -> None:
    """Bring back an earlier run that was put aside, unless a shard of the one that replaces it is done.

    Whatever was moved completely is whole in ``.before``, and what lies beside it is of the new run; where
    moving stopped half-way, either direction, the rest is moved back. What others call ``.before`` is left.
    """
    aside = folder / BEFORE
    if not _is_ours(folder):
        return
    whole = (aside / MANIFEST).exists() or ((aside / PLAN).exists() and not (folder / MANIFEST).exists())
    if whole and any((folder / SHARDS).glob("*.json")):
        drop_aside(folder)
        return
    if whole:
        clear_new(folder)
    for each in reversed(_marks_last(list(aside.iterdir()))):
        each.rename(folder / each.name)
    aside.rmdir()


def drop_aside(folder: Path) -> None:
    """Delete the earlier run, what marks it as one last, or the rest would be taken for half of a move."""
    aside = folder / BEFORE
    for each in _marks_last(list(aside.iterdir())):
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        else:
            each.unlink()
    aside.rmdir()


def clear_new(folder: Path) -> None:
    """Remove a run that has no shard yet."""
    for name in KEPT:
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / PLAN).unlink(missing_ok=True)


def _marks_last(there: list[Path]) -> list[Path]:
    return sorted(there, key=lambda each: (each.name == MANIFEST, each.name == PLAN))


def _is_ours(folder: Path) -> bool:
    """Whether a folder is that of a run, and its ``.before`` holds an earlier one, or the rest of it."""
    aside = folder / BEFORE
    if not aside.is_dir() or aside.is_symlink():
        return False
    marks = [manifest_in(place, name) for place in (folder, aside) for name in (MANIFEST, PLAN)]
    files = [each.name for place in (folder, aside) for each in place.iterdir() if not is_partial(each.name)]
    return any("headroles" in each for each in marks) and RUN.holds.issuperset(files)
