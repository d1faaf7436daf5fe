"""The folder of a run of shards while it is made: begin, resume, finish, or restore the earlier run.

``headroles.storage.integrity.repair`` says how an earlier run waits, and what a kill leaves.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headroles.errors import BadInput
from headroles.shards.identity import name_differences
from headroles.storage.folder import (
    MANIFEST,
    PLAN,
    SHARDS,
    is_sealed_receipt,
    read_manifest,
    write_errors,
)
from headroles.storage.integrity.leftovers import partial_path
from headroles.storage.integrity.repair import (
    SHARD_FOLDERS,
    clear_partial,
    delete_earlier_run,
    delete_new_run,
    holds_earlier_run,
    move_aside_earlier_run,
    restore_earlier_run,
)
from headroles.storage.places import LocalPlace, MemoryPlace, Place, removed_error


@dataclass(slots=True)
class Work:
    """A run in the making.

    Attributes:
        place: Where its shards are.
        folder: Where its results are written; None where nothing is written.
        overwrite: Whether a run with other settings or inputs may be replaced.
        done: Number of finished shards.
        aside: Whether an earlier run was moved away for this one.
    """

    place: Place
    folder: Path | None
    overwrite: bool = False
    done: int = 0
    aside: bool = False

    def begin(self, plan: dict[str, Any]) -> None:
        """Write the plan of the run, or resume the run that is there.

        A finished run that differs only in its decision keeps its plan until its results are replaced.

        Args:
            plan: In JSON types; ``components`` states what decides scores, ``inputs`` what is read.

        Raises:
            BadInput: When another run is there and may not be replaced; the message names the differences.
        """
        if self.folder is None:
            return
        data, place = plan_bytes(plan), self.folder / PLAN
        with write_errors(f"the run folder '{self.folder}'"):
            clear_partial(self.folder)
            before = read_manifest(self.folder, PLAN)
            lost = "components" not in before and self.kept() > 0
            other = _identity_differences(self.folder, plan) if lost else plan_differences(before, plan)
            if other and (before or lost) and not self.overwrite:
                raise BadInput(
                    f"'{self.folder}' holds a run with {' and '.join(other)}; give --overwrite to replace "
                    f"it, or another --out"
                )
            if other and lost:  # without a plan, nothing would mark it as a run while it waits
                self.place.write(PLAN, plan_bytes({"headroles": plan["headroles"]}))
            if other:
                self.aside = move_aside_earlier_run(self.folder)
            elif (self.folder / MANIFEST).is_file() and place.is_file() and place.read_bytes() != data:
                partial_path(place).write_bytes(data)  # becomes the plan when the results are replaced
                return
        self.place.write(PLAN, data)

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
                if partial_path(self.folder / PLAN).is_file():
                    partial_path(self.folder / PLAN).replace(self.folder / PLAN)

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
        if self.folder is None:
            return
        with suppress(OSError):
            partial_path(self.folder / PLAN).unlink(missing_ok=True)
        if not self.folder.is_dir() or self.kept():
            return
        with suppress(OSError):
            clear_partial(self.folder)
            if holds_earlier_run(self.folder):
                restore_earlier_run(self.folder)
            elif not (self.folder / MANIFEST).exists():
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
    except FileNotFoundError as error:
        work.abandon()
        if Path(str(error.filename)).is_relative_to(place):
            raise removed_error(folder) from error
        raise
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


def _identity_differences(folder: Path, plan: dict[str, Any]) -> list[str]:
    """Return what differs from a new plan in a run whose plan is lost; its receipts say what scored them."""
    receipts = [path for path in (folder / SHARDS).glob("*.json") if is_sealed_receipt(path)]
    identities = {read_manifest(path.parent, path.name).get("identity") for path in receipts}
    return [] if identities == {plan["identity"]} else ["another model, code or settings, and no plan"]
