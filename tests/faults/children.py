"""Commands in forks of a warm process, interrupted at one of their changes of files.

A fork starts a command in milliseconds, because torch and headroles are imported before. Nothing has run in
the warm process, so it has one thread, and a fork is as good as a fresh process. The library ``preload.c``
counts the calls that change files, of all processes of a command and of code in C, C++ and Rust, too.
"""

import ctypes
import errno
import gc
import importlib
import json
import os
import pkgutil
import signal
import struct
import subprocess
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

from tests.support import OUTLOOK, PHASE

PATIENCE = 180.0
"""Seconds after which a command counts as one that never ends."""
NAMES = ("ENOSPC", "EIO", "EACCES", "EROFS", "EDQUOT", "ESTALE", "EXDEV")
ERRORS: dict[str, int] = {name: getattr(errno, name) for name in NAMES}
"""Errors of disks, quotas, rights and network file systems."""
CROSSING = ("rename", "link")
"""The changes that can meet EXDEV, which is an error of two file systems."""
GROWING = ("open", "mkdir", "write", "truncate", "sync")
"""The changes that fail on a full disk, however long it stays full."""
LIBRARY, VARIABLE = "strike.so", "HEADROLES_STRIKE"
"""Name of the compiled library, and the variable by which a process finds what it does."""
PAGES = (
    "page_html", "surface_page", "probes_page", "comparison_page", "atlas_page",
)  # fmt: skip
"""Functions that draw a page."""
CRASHED = 70
"""Exit code of a command that ended with an exception."""


@dataclass(frozen=True, slots=True)
class Strike:
    """What happens to a command before one of its changes of files: an error, or a kill.

    A write may be done by half before the kill. An error may last for all later changes that need room, a
    kill may leave the processes alone that the command started, and it may come when so many shards are
    finished, instead of before a change.
    """

    change: int
    error: str | None = None
    lasting: bool = False
    alone: bool = False
    shards: int = 0
    half: bool = False


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
        lines = OUTLOOK.sub("", PHASE.sub("", self.said)).strip().splitlines()
        if self.code == 1 and len(lines) != 1:
            return f"{len(lines)} lines instead of a sentence: {self.said.strip()!r}"
        return None


def compile_library(folder: Path) -> Path:
    """Compile the library that counts changes; a process is warm with it only if it began with it."""
    library = folder / LIBRARY
    source = Path(__file__).with_name("preload.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


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
    files = [where.with_name(f"{where.name}.{kind}") for kind in ("said", "listed", "log", "strike")]
    said, listed, log, _ = files
    for file in files:
        file.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        _live(act, where, strike, files)
    code = _wait(child, where, strike)
    if strike is None or not strike.alone:
        end_group(child)  # what a command leaves behind is no part of the next one
    modules = json.loads(listed.read_text()) if listed.exists() else []
    changes = log.read_text(errors="replace").splitlines() if log.exists() else []
    return Ended(code, said.read_text(errors="replace"), tuple(changes), tuple(modules), child)


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


def _live(act: Callable[[], Any], where: Path, strike: Strike | None, files: Sequence[Path]) -> None:
    """Be the fork: run the function, list its modules, and leave without clearing up after the parent."""
    code, (said, listed, log, struck) = CRASHED, files
    try:
        os.setsid()
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, target in enumerate((nothing, nothing, out)):
            os.dup2(target, number)
        os.chdir(where)
        _begin_strike(where, strike or Strike(0), log, struck)
        try:
            act()
            code = 0
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        listed.write_text(json.dumps(sorted(sys.modules)))
    finally:
        os._exit(code)


def _begin_strike(where: Path, strike: Strike, log: Path, struck: Path) -> None:
    """Have the library count the changes below a folder, of this process and those that it starts."""
    change = 0 if strike.shards else strike.change
    error = 0 if strike.error is None else ERRORS[strike.error]
    facts = (0, change, strike.half, error, strike.lasting, os.getpid(), strike.alone)
    struck.write_bytes(struct.pack("7q4096s4096s", *facts, os.fsencode(where.resolve()), os.fsencode(log)))
    os.environ[VARIABLE] = str(struck)
    ctypes.CDLL(None).begin_strike(os.fsencode(struck))
