"""Runs in the making at an address: workers write shards there, and the results follow at the end."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headroles.addresses import is_address
from headroles.errors import BadInput, HeadrolesError
from headroles.options.run import CommonOptions
from headroles.shards.resume import Work, plan_bytes, plan_differences
from headroles.storage.folder import MANIFEST, PLAN, RUN, check_holds, read_manifest
from headroles.storage.places import Place, place_of
from headroles.storage.remote import name_address, put_back


@dataclass(slots=True)
class RemoteWork(Work):
    """A run in the making at an address; its results are made in ``folder`` on this machine.

    An object store cannot rename a folder. With ``overwrite`` an earlier run is therefore deleted once
    model, settings and inputs of the new run are known to be good, just before its first shard is scored.

    Attributes:
        plan: The plan of the run as written.
        fresh: Whether nothing of this run was there at its start.
        opened: Whether something had to be scored.
    """

    plan: bytes = b""
    fresh: bool = False
    opened: bool = False

    def begin(self, plan: dict[str, Any]) -> None:
        """Resume the run that is there, or make room for a new one where another may be replaced.

        Raises:
            BadInput: When another run is there and may not be replaced; the message names the differences.
        """
        before = json_in(self.place, PLAN)
        other = plan_differences(before, plan)
        if other and before and not self.overwrite:
            raise BadInput(
                f"'{self.place.url}' holds a run with {' and '.join(other)}; give --overwrite to replace it, "
                f"or another --out"
            )
        self.plan = plan_bytes(plan)
        self.fresh = bool(other)
        if self.fresh:
            self.reopen()
        else:
            self.place.write(PLAN, self.plan)

    def counted(self) -> None:
        """Count a finished shard."""
        self.done += 1

    def reopen(self) -> None:
        """Delete an earlier run, or the manifest of this one, and write the plan, before the first shard."""
        if self.opened:
            return
        self.opened = True
        gone = self.place.names() if self.fresh else [MANIFEST]
        for name in sorted(gone, key=lambda name: (name != MANIFEST, name == PLAN)):  # a run until the last
            self.place.delete(name)
        self.place.write(PLAN, self.plan)

    def publish(self) -> None:
        """Copy the results to the address, the manifest last, in place of earlier results."""
        folder = self.folder or Path()
        stays = {MANIFEST, *read_manifest(folder).get("files", {})}
        put_back(self.place, folder, {name: "" for name in self.place.names() if name not in stays})

    def abandon(self) -> None:
        """Delete all files of this run, unless a shard is done."""
        with suppress(HeadrolesError):
            if self.fresh and self.opened and not self.kept():
                for name in self.place.names():
                    self.place.delete(name)


def remote_place(chosen: CommonOptions, apart: bool) -> Place | None:
    """Return the place that ``out`` names, when it is an address that may be written; None for folders.

    Args:
        chosen: Options of the run.
        apart: Whether its shards are written by other processes.

    Raises:
        BadInput: When the address holds what may not be replaced, or cannot be read.
    """
    if chosen.out is None or not is_address(chosen.out):
        return None
    place = place_of(chosen.out)
    if apart and place.url.startswith("memory://"):
        raise BadInput(
            f"memory belongs to one process, but shards are written to '{place.url}' by several; "
            f"give another --out, or one worker"
        )
    check_room(place, chosen.settings(), chosen.overwrite)
    return place


@contextmanager
def remote_work(place: Place, overwrite: bool) -> Iterator[RemoteWork]:
    """Give a run in the making at an address; a failure before its first finished shard leaves nothing there.

    Args:
        place: The place at the address.
        overwrite: Whether a run with other settings or inputs may be replaced.

    Raises:
        BadInput: When the address cannot be written.
    """
    with TemporaryDirectory(prefix="headroles-") as beside, name_address(Path(beside), place.url):
        work = RemoteWork(place, Path(beside), overwrite)
        try:
            yield work
        except BaseException:
            work.abandon()
            raise


def check_room(place: Place, settings: dict[str, Any], overwrite: bool) -> None:
    """Refuse an address that cannot be replaced, before any work is done.

    Raises:
        BadInput: When it holds something other than a run, or a run with other settings while
            ``overwrite`` is off.
    """
    names = {name.partition("/")[0] for name in place.names()}
    if names:
        before = json_in(place, MANIFEST if MANIFEST in names else PLAN)
        check_holds(place.url, names, before, settings, overwrite, RUN)


def json_in(place: Place, name: str) -> dict[str, Any]:
    """Read a JSON object from a file; return an empty one when there is none or it is no JSON object."""
    try:
        content = json.loads(place.read(name))
    except (FileNotFoundError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
