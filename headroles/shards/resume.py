"""The folder of a run of shards while it is made: begin, resume, finish, or restore the earlier run.

An earlier run waits in ``.before`` within its folder until the run that replaces it has finished a shard.
A run may be killed at any moment: the files in the folder then say what to do. When a run is moved aside,
moved back or deleted, the files that mark it as a run (its plan and, once finished, its manifest) are
always on the side that counts.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headroles.errors import BadInput
from headroles.shards.identity import name_differences
from headroles.storage.folder import (
    EARLIER_RUN,
    MANIFEST,
    PLAN,
    RUN,
    SCORES,
    SHARDS,
    read_manifest,
    write_errors,
)
from headroles.storage.places import LocalPlace, MemoryPlace, Place, is_partial

SHARD_FOLDERS = (SHARDS, SCORES)
"""The folders that shards are written to."""


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
    """Bring back an earlier run that was put aside, unless a shard of the run that replaces it is done.

    A run that was moved completely is whole in ``.before``, and the files beside it belong to the new run.
    Where moving stopped half-way, in either direction, the rest is moved back. A folder ``.before`` of
    somebody else is left alone.
    """
    aside = folder / EARLIER_RUN
    if not _is_ours(folder):
        return
    whole = (aside / MANIFEST).exists() or ((aside / PLAN).exists() and not (folder / MANIFEST).exists())
    if whole and any((folder / SHARDS).glob("*.json")):
        delete_earlier_run(folder)
        return
    if whole:
        delete_new_run(folder)
    for path in reversed(_marks_last(list(aside.iterdir()))):
        path.rename(folder / path.name)
    aside.rmdir()


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


def _marks_last(paths: list[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: (path.name == MANIFEST, path.name == PLAN))


def _is_ours(folder: Path) -> bool:
    """Return whether a folder is a run folder whose ``.before`` holds an earlier run or the rest of one."""
    aside = folder / EARLIER_RUN
    if not aside.is_dir() or aside.is_symlink():
        return False
    marks = [read_manifest(place, name) for place in (folder, aside) for name in (MANIFEST, PLAN)]
    files = [path.name for place in (folder, aside) for path in place.iterdir() if not is_partial(path.name)]
    return any("headroles" in mark for mark in marks) and RUN.holds.issuperset(files)


@dataclass(slots=True)
class Work:
    """A run in the making.

    Attributes:
        place: Where its shards are.
        folder: Where its results are written; None where nothing is written.
        overwrite: Whether a run with other settings or inputs may be replaced.
        done: Number of finished shards.
        aside: Whether an earlier run was put aside for this one.
    """

    place: Place
    folder: Path | None
    overwrite: bool = False
    done: int = 0
    aside: bool = False

    def begin(self, plan: dict[str, Any]) -> None:
        """Write the plan of the run, or resume the run that is there.

        Args:
            plan: In JSON types; ``components`` states what decides scores, ``inputs`` what is read.

        Raises:
            BadInput: When another run is there and may not be replaced; the message names the differences.
        """
        if self.folder is None:
            return
        with write_errors(f"the run folder '{self.folder}'"):
            clear_partial(self.folder)
            before = read_manifest(self.folder, PLAN)
            other = plan_differences(before, plan)
            if other and before and not self.overwrite:
                raise BadInput(
                    f"'{self.folder}' holds a run with {' and '.join(other)}; give --overwrite to replace "
                    f"it, or another --out"
                )
            if other:
                self.aside = move_aside_earlier_run(self.folder)
        self.place.write(PLAN, plan_bytes(plan))

    def counted(self) -> None:
        """Count a finished shard: from now on the run is kept, whatever happens."""
        self.done += 1
        if self.aside and self.folder is not None:
            with write_errors(f"the run folder '{self.folder}'"):
                delete_earlier_run(self.folder)
            self.aside = False

    def reopen(self) -> None:
        """Remove the manifest because some work has to be done again: the run is no longer finished."""
        if self.folder is not None:
            with write_errors(f"the run folder '{self.folder}'"):
                (self.folder / MANIFEST).unlink(missing_ok=True)

    def tidy(self, files: set[str]) -> None:
        """Remove files of shards that do not belong to this run.

        Args:
            files: All files of its shards, with the receipts.
        """
        for folder in SHARD_FOLDERS:
            for name in self.place.names(f"{folder}/"):
                if name not in files:
                    self.place.delete(name)

    def kept(self) -> int:
        """Return the number of finished shards that stay, with those whose receipt did not arrive."""
        if self.folder is None:
            return 0
        return sum(name.endswith(".json") for name in self.place.names(f"{SHARDS}/"))

    def publish(self) -> None:
        """Copy the results to the place of the run; nothing to do for a folder, where they are made."""

    def abandon(self) -> None:
        """Restore everything as it was before, unless a shard is done."""
        if self.folder is None or self.kept():
            return
        with suppress(OSError):
            clear_partial(self.folder)
            restore_earlier_run(self.folder)
            if not (self.folder / MANIFEST).exists():
                delete_new_run(self.folder)


@contextmanager
def open_work(folder: Path | None, apart: bool, overwrite: bool) -> Iterator[Work]:
    """Give a run in the making; a failure before its first finished shard leaves everything as it was.

    Args:
        folder: Its folder, which exists; None to write nothing that stays.
        apart: Whether its shards are written by other processes.
        overwrite: Whether a run with other settings or inputs may be replaced.
    """
    if folder is None and apart:
        with TemporaryDirectory(prefix="headroles-") as beside:
            yield Work(LocalPlace(Path(beside)), None)
        return
    if folder is None:
        yield Work(MemoryPlace(), None)
        return
    place = folder.resolve()
    work = Work(LocalPlace(place), place, overwrite)
    try:
        yield work
    except BaseException:
        work.abandon()
        raise
    for name in SHARD_FOLDERS:  # all workers are gone, and no other command writes here
        for partial in (place / name).glob(".*.partial"):
            with suppress(OSError):
                partial.unlink()


def plan_bytes(plan: dict[str, Any]) -> bytes:
    """Return the plan of a run as JSON."""
    return (json.dumps(plan, indent=1, sort_keys=True, default=str) + "\n").encode()


def plan_differences(before: dict[str, Any], plan: dict[str, Any]) -> list[str]:
    """Name the differences between the plan that is there and a new one."""
    components = before.get("components")
    names = name_differences(components if isinstance(components, dict) else {}, plan["components"])
    return (["other inputs"] if before.get("inputs") != plan["inputs"] else []) + [
        f"other {name}" if number == 0 else name for number, name in enumerate(names)
    ]


def repair_run_folder(folder: Path) -> None:
    """Repair a folder in which a run was killed: no half-written files, and one run instead of two.

    A folder that is not a run is left alone. No other command may write there, which
    ``headroles.shards.lock`` ensures.
    """
    with write_errors(f"the run folder '{folder}'"):
        if folder.is_dir():
            clear_partial(folder)
            restore_earlier_run(folder)


def clear_partial(folder: Path) -> None:
    """Remove half-written files of processes that have ended; files that are not of a run stay."""
    ours = [folder / name for name in SHARD_FOLDERS] if (folder / PLAN).is_file() else []
    for place in (folder, *ours):
        for path in place.glob(".*.partial"):
            name, _, process = path.name.removesuffix(".partial").removeprefix(".").rpartition(".")
            known = place != folder or name in RUN.holds
            if known and process.isdecimal() and not _runs(int(process)):
                path.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    """Return whether another process of this machine has this number and is running."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
