"""The folder of a run of shards while it is made: begun, taken up again, finished, or as it was before.

An earlier run that waits in ``.before`` within its folder until the one that replaces it has a shard.

Whatever moment a run is killed at, what is there says what to do: a run is moved aside, moved back and
deleted with what marks it as a run (its plan, and of a finished one its manifest) on the side that counts.
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
from headroles.shards.identity import differing
from headroles.storage.folder import BEFORE, MANIFEST, PLAN, RUN, SCORES, SHARDS, manifest_in, writing
from headroles.storage.places import LocalPlace, Memory, Place, is_partial

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


@dataclass(slots=True)
class Work:
    """A run in the making.

    Attributes:
        place: Where its shards are.
        folder: Where its results come; None where nothing is written.
        overwrite: Whether a run with other settings or inputs may be replaced.
        done: Shards that are done.
        aside: Whether an earlier run was put aside for it.
    """

    place: Place
    folder: Path | None
    overwrite: bool = False
    done: int = 0
    aside: bool = False

    def begin(self, plan: dict[str, Any]) -> None:
        """Write down what the run is, or take up the one that is there.

        Args:
            plan: In JSON types; ``components`` says what decides scores, ``inputs`` what is read.

        Raises:
            BadInput: When another run is there and may not be replaced, saying what differs.
        """
        if self.folder is None:
            return
        with writing(f"the run folder '{self.folder}'"):
            clear_partial(self.folder)
            before = manifest_in(self.folder, PLAN)
            other = differences(before, plan)
            if other and before and not self.overwrite:
                raise BadInput(
                    f"'{self.folder}' holds a run with {' and '.join(other)}; give --overwrite to replace "
                    f"it, or another --out"
                )
            if other:
                self.aside = put_aside(self.folder)
        self.place.write(PLAN, plan_bytes(plan))

    def counted(self) -> None:
        """Note that a shard is done: from now on the run is kept, whatever happens."""
        self.done += 1
        if self.aside and self.folder is not None:
            with writing(f"the run folder '{self.folder}'"):
                drop_aside(self.folder)
            self.aside = False

    def reopen(self) -> None:
        """Note that something has to be done again: the run is not finished until its manifest is back."""
        if self.folder is not None:
            with writing(f"the run folder '{self.folder}'"):
                (self.folder / MANIFEST).unlink(missing_ok=True)

    def tidy(self, files: set[str]) -> None:
        """Remove shards that are not of this run.

        Args:
            files: All files of its shards, receipts included.
        """
        for name in KEPT:
            for each in self.place.names(f"{name}/"):
                if each not in files:
                    self.place.delete(each)

    def kept(self) -> int:
        """How many shards are done and stay; a worker may have finished one that nobody heard of."""
        if self.folder is None:
            return 0
        return sum(name.endswith(".json") for name in self.place.names(f"{SHARDS}/"))

    def publish(self) -> None:
        """Bring the results to where the run is: they are made there, in a folder."""

    def abandon(self) -> None:
        """Leave everything as it was before, unless a shard is done."""
        if self.folder is None or self.kept():
            return
        with suppress(OSError):
            clear_partial(self.folder)
            restore(self.folder)
            if not (self.folder / MANIFEST).exists():
                clear_new(self.folder)


@contextmanager
def work_in(folder: Path | None, apart: bool, overwrite: bool) -> Iterator[Work]:
    """A run in the making; what fails before its first shard is done leaves everything as it was.

    Args:
        folder: Its folder, which is there; None to write nothing that stays.
        apart: Whether its shards are written by other processes.
        overwrite: Whether a run with other settings or inputs may be replaced.
    """
    if folder is None and apart:
        with TemporaryDirectory(prefix="headroles-") as beside:
            yield Work(LocalPlace(Path(beside)), None)
        return
    if folder is None:
        yield Work(Memory(), None)
        return
    place = folder.resolve()
    work = Work(LocalPlace(place), place, overwrite)
    try:
        yield work
    except BaseException:
        work.abandon()
        raise
    for name in KEPT:  # all workers are gone, and no other command writes here
        for each in (place / name).glob(".*.partial"):
            with suppress(OSError):
                each.unlink()


def plan_bytes(plan: dict[str, Any]) -> bytes:
    """What a run is written down as, in JSON."""
    return (json.dumps(plan, indent=1, sort_keys=True, default=str) + "\n").encode()


def differences(before: dict[str, Any], plan: dict[str, Any]) -> list[str]:
    """In what a plan differs from the one that is there, in words."""
    told = before.get("components")
    other = differing(told if isinstance(told, dict) else {}, plan["components"])
    return (["other inputs"] if before.get("inputs") != plan["inputs"] else []) + [
        f"other {each}" if number == 0 else each for number, each in enumerate(other)
    ]


def recovered(folder: Path) -> None:
    """Bring a folder into order in which a run was killed: nothing half-written, and one run, not two.

    A folder that is no run is left as it is. Nobody else may write there (``claiming.claimed``).
    """
    with writing(f"the run folder '{folder}'"):
        if folder.is_dir():
            clear_partial(folder)
            restore(folder)


def clear_partial(folder: Path) -> None:
    """Remove what writers that are gone left half-written; whatever is no file of a run stays."""
    ours = [folder / name for name in KEPT] if (folder / PLAN).is_file() else []
    for place in (folder, *ours):
        for each in place.glob(".*.partial"):
            name, _, process = each.name.removesuffix(".partial").removeprefix(".").rpartition(".")
            known = place != folder or name in RUN.holds
            if known and process.isdecimal() and not _runs(int(process)):
                each.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    """Whether a process of this machine runs, which is not this one."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
