"""Commands in forks of a warm process, interrupted before one of their changes of files.

A fork starts a command in milliseconds, because torch and headroles are imported before. Nothing has run in
the warm process, so it has one thread, and a fork is as good as a fresh process.
"""

import errno
import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any

from tests.support import PHASE

PATIENCE = 180.0
"""Seconds after which a command counts as one that never ends."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
FOLDERS_OF: dict[str, tuple[int | None, ...]] = {
    "os.rename": (2, 3), "os.link": (2, 3), "os.symlink": (None, 2), "os.remove": (1,), "os.rmdir": (1,),
    "os.mkdir": (2,), "os.truncate": (None,),
}  # fmt: skip
"""Audit events that change files: where the descriptor of the folder of each path argument stands."""
NAMES = ("ENOSPC", "EIO", "EACCES", "EROFS", "EDQUOT", "ESTALE", "EXDEV")
ERRORS: dict[str, int] = {name: getattr(errno, name) for name in NAMES}
"""Errors of disks, quotas, rights and network file systems."""
CROSSING = ("os.rename", "os.link")
"""The changes that can meet EXDEV, which is an error of two file systems."""
GROWING = ("open", "os.mkdir")
"""The changes that fail on a full disk, however long it stays full."""
PAGES = (
    "page", "surface_page", "probes_page", "clusters_page", "ablation_page", "why_page", "pruning_page",
    "comparison_page", "atlas_page",
)  # fmt: skip
"""Functions that draw a page."""
CRASHED = 70
"""Exit code of a command that ended with an exception."""


@dataclass(frozen=True, slots=True)
class Strike:
    """What happens to a command before one of its changes of files: an error, or a kill.

    An error may last for all later changes that need room, a kill may leave the processes alone that the
    command started, and it may come when so many shards are finished, instead of before a change.
    """

    change: int
    error: str | None = None
    lasting: bool = False
    alone: bool = False
    shards: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, with its changes of files and its modules; its code is None when it never did."""

    code: int | None
    said: str
    changes: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    group: int = 0

    @property
    def fault(self) -> str | None:
        """What is wrong with this end, whatever the command met; None for nothing."""
        if self.code is None:
            return f"never ended (stopped after {PATIENCE:.0f} s)"
        if self.code == CRASHED or "Traceback" in self.said:
            return f"traceback: {self.said.strip()[-1500:]}"
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        lines = PHASE.sub("", self.said).strip().splitlines()
        if self.code == 1 and len(lines) != 1:
            return f"{len(lines)} lines instead of a sentence: {self.said.strip()!r}"
        return None


def warm_up() -> None:
    """Import headroles, torch and what a small model needs, and run nothing."""
    import headroles

    for module in pkgutil.walk_packages(headroles.__path__, "headroles."):
        if "on_ray" not in module.name and module.name != "headroles.__main__":
            importlib.import_module(module.name)
    from transformers.conversion_mapping import get_checkpoint_conversion_mapping

    get_checkpoint_conversion_mapping("bert")  # type: ignore[no-untyped-call]  # compiles patterns for half a second, in every fork or here
    keep_warm(("transformers.models.bert.modeling_bert", "safetensors.torch", "tests.support.planted"))


def keep_warm(modules: Sequence[str]) -> None:
    """Import modules that a command had imported at its end, so that later forks start with them."""
    for name in modules:
        if name not in sys.modules and not name.startswith(("__", "ray", "_pytest")):
            with suppress(Exception):  # a module that only its package can import
                importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or every fork walks through all of it, and copies it


def run_command(
    words: Sequence[str], where: Path, strike: Strike | None = None, *, full_page: bool = False
) -> Ended:
    """Run ``headroles`` with some words in a fork, in a folder, and interrupt it where a strike says.

    Its report is a small page, unless the full page is wanted, which takes a second to draw.
    """

    def act() -> None:
        from headroles.cli.main import main

        sys.argv = ["headroles", *words]
        _count_time()
        if not full_page:
            _draw_small_pages()
        main()

    return run_in_fork(act, where, strike)


def _count_time() -> None:
    """Have the clock of what pruning gains count its readings, so that two runs write the same seconds."""
    for module in [*sys.modules.values()]:
        if {"measure_gain", "perf_counter"} <= vars(module).keys():
            vars(module)["perf_counter"] = count().__next__


def _draw_small_pages() -> None:
    """Have every module of this process draw a page of the manifest alone."""

    def small(result: Any, *others: Any) -> str:
        return f"<!doctype html><pre>{json.dumps(dict(result.manifest), default=str)}</pre>"

    for name, module in list(sys.modules.items()):
        for drawing in PAGES if name.startswith("headroles.") else ():
            if isinstance(getattr(module, drawing, None), FunctionType):
                setattr(module, drawing, small)


def run_in_fork(act: Callable[[], Any], where: Path, strike: Strike | None = None) -> Ended:
    """Run a function in a fork, in a folder; changes of files below the folder are counted."""
    said, listed = (where.with_name(f"{where.name}.{kind}") for kind in ("said", "listed"))
    listed.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        _live(act, where, strike, said, listed)
    code = _wait(child, where, strike)
    if strike is None or not strike.alone:
        end_group(child)  # what a command leaves behind is no part of the next one
    facts = json.loads(listed.read_text()) if listed.exists() else {"changes": [], "modules": []}
    text = said.read_text(errors="replace")
    return Ended(code, text, tuple(facts["changes"]), tuple(facts["modules"]), child)


def end_group(group: int) -> None:
    """Kill what is left of a group of processes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def is_alive(group: int) -> bool:
    """Return whether a process of a group lives; one that has ended and was not waited for does not."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = file.read_text().rpartition(")")[2].split()[:3]
            if its_group == str(group) and state not in "ZX":
                return True
    return False


def _wait(child: int, where: Path, strike: Strike | None) -> int | None:
    """Wait for a process, and kill it at the number of shards of a strike; None when it takes too long."""
    until, pause = time.monotonic() + PATIENCE, 0.002
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if strike and strike.shards and len([*where.glob("run/shards/*.json")]) >= strike.shards:
            with suppress(ProcessLookupError):  # it has not made its group yet, or has ended
                (os.kill if strike.alone else os.killpg)(child, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.3, 0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _live(act: Callable[[], Any], where: Path, strike: Strike | None, said: Path, listed: Path) -> None:
    """Be the fork: run the function, list its changes, and leave without clearing up after the parent."""
    code = 0
    try:
        os.setsid()
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, target in enumerate((nothing, nothing, out)):
            os.dup2(target, number)
        os.chdir(where)
        changes = _count_changes(where, strike)
        try:
            act()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        except BaseException:
            traceback.print_exc()
            code = CRASHED
        sys.stderr.flush()
        listed.write_text(json.dumps({"changes": changes, "modules": sorted(sys.modules)}))
    finally:
        os._exit(code)


def _count_changes(root: Path, strike: Strike | None) -> list[str]:
    """List changes of files below a folder from now on, and strike before one of them."""
    inside, changes, myself = f"{root}/", list[str](), os.getpid()

    def see(event: str, arguments: tuple[Any, ...]) -> None:
        if (event != "open" and event not in FOLDERS_OF) or os.getpid() != myself:
            return
        paths = [path for path in _changed_paths(event, arguments) if f"{path}/".startswith(inside)]
        if not paths:
            return
        changes.append(f"{event} {' '.join(path.removeprefix(inside) for path in paths)}")
        if strike is None or strike.shards:
            return
        lasts = strike.lasting and len(changes) > strike.change and event in GROWING
        if len(changes) == strike.change or lasts:
            if strike.error is not None:
                raise OSError(ERRORS[strike.error], os.strerror(ERRORS[strike.error]), paths[-1])
            (os.kill if strike.alone else os.killpg)(myself, signal.SIGKILL)

    sys.addaudithook(see)
    return changes


def _changed_paths(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """Return the paths that an audit event is about to change; none where it only reads."""
    if event == "open":
        path, _, flags = arguments
        is_change = isinstance(path, str | bytes | os.PathLike) and isinstance(flags, int) and flags & WRITING
        return [os.path.abspath(os.fsdecode(path))] if is_change else []
    paths = []
    for number, place in enumerate(FOLDERS_OF[event]):
        path, folder = arguments[number], -1 if place is None else arguments[place]
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        is_open = isinstance(folder, int) and folder >= 0
        start = os.readlink(f"/proc/self/fd/{folder}") if is_open else os.getcwd()
        paths.append(os.path.normpath(os.path.join(start, os.fsdecode(path))))
    return paths
