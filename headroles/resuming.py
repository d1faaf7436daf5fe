"""The folder of a run of shards while it is made: begun, taken up again, finished, or as it was before."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headroles.errors import BadInput
from headroles.folder import BEFORE, MANIFEST, PLAN, RUN, SCORES, SHARDS, manifest_in, writing
from headroles.identity import differing
from headroles.places import LocalPlace, Place
from headroles.shards import Memory

KEPT = (SHARDS, SCORES)
"""Folders that shards are written to."""


@dataclass(slots=True)
class Work:
    """A run in the making.

    Attributes:
        place: Where its shards are.
        folder: Where its results come; None where nothing is written.
        overwrite: Whether a run with other settings or inputs may be replaced.
        done: Shards that are done.
        made: Folders that were made for it.
    """

    place: Place
    folder: Path | None
    overwrite: bool = False
    done: int = 0
    made: list[Path] = field(default_factory=list)

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
                _put_aside(self.folder)
        self.place.write(PLAN, (json.dumps(plan, indent=1, sort_keys=True, default=str) + "\n").encode())

    def counted(self) -> None:
        """Note that a shard is done: from now on the run is kept, whatever happens."""
        self.done += 1
        if self.done == 1 and self.folder is not None:
            shutil.rmtree(self.folder / BEFORE, ignore_errors=True)

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
            restore(self.folder)
            if not (self.folder / MANIFEST).exists():
                _clear_new(self.folder)
            for each in self.made:
                each.rmdir()


@contextmanager
def work_in(folder: Path | None, apart: bool, overwrite: bool) -> Iterator[Work]:
    """A run in the making; what fails before its first shard is done leaves everything as it was.

    Args:
        folder: Its folder; None to write nothing that stays.
        apart: Whether its shards are written by other processes.
        overwrite: Whether a run with other settings or inputs may be replaced.

    Raises:
        BadInput: When the folder cannot be written.
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
        with writing(f"the run folder '{folder}'"):
            work.made = [each for each in (place, *place.parents) if not each.exists()]
            place.mkdir(parents=True, exist_ok=True)
        yield work
    except BaseException:
        work.abandon()
        raise


def differences(before: dict[str, Any], plan: dict[str, Any]) -> list[str]:
    """In what a plan differs from the one that is there, in words."""
    told = before.get("components")
    other = differing(told if isinstance(told, dict) else {}, plan["components"])
    return (["other inputs"] if before.get("inputs") != plan["inputs"] else []) + [
        f"other {each}" if number == 0 else each for number, each in enumerate(other)
    ]


def recovered(folder: Path) -> None:
    """Bring a folder into order in which a run was killed: nothing half-written, and one run, not two.

    A folder that is no run is left as it is.
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


def _put_aside(folder: Path) -> None:
    """Move an earlier run into ``.before`` within its folder, what marks it as a run last."""
    there = [each for each in folder.iterdir() if each.name in RUN.holds - {BEFORE}]
    if not there:
        return
    aside = folder / BEFORE
    aside.mkdir()
    for each in sorted(there, key=lambda each: (each.name == MANIFEST, each.name == PLAN)):
        each.rename(aside / each.name)


def restore(folder: Path) -> None:
    """Bring back an earlier run that was put aside, unless a shard of the one that replaces it is done.

    Whatever was moved completely is whole in ``.before``, and what lies beside it is of the new run; where
    moving stopped half-way, either direction, the rest is moved back.
    """
    aside = folder / BEFORE
    if not aside.is_dir():
        return
    whole = (aside / MANIFEST).exists() or ((aside / PLAN).exists() and not (folder / MANIFEST).exists())
    if whole and any((folder / SHARDS).glob("*.json")):
        shutil.rmtree(aside)
        return
    if whole:
        _clear_new(folder)
    for each in sorted(aside.iterdir(), key=lambda each: (each.name != MANIFEST, each.name != PLAN)):
        each.rename(folder / each.name)
    aside.rmdir()


def _clear_new(folder: Path) -> None:
    """Remove a run that has no shard yet."""
    clear_partial(folder)
    for name in KEPT:
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / PLAN).unlink(missing_ok=True)


def is_unfinished(folder: Path) -> bool:
    """Whether a folder holds a run that was begun and has no manifest yet."""
    return (folder / PLAN).is_file() and not manifest_in(folder)
