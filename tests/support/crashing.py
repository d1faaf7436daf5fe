"""Runs that are started to be killed, and workers that end in every way, for tests of what happens then."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from headroles.errors import BadInput, UnknownName
from headroles.shards.work import Facts, Known, Order, Receipt

NURSERY = """
import os, sys, json
import headroles.runs.label.run, headroles.shards.engines.processes, headroles.shards.moments, pyarrow.parquet
options = json.loads(sys.argv[1])
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        try:
            headroles.runs.label.run.label(**options)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Forks a run, says its process, waits for it, and says how it ended."""


class Nursery:
    """Starts the same run again and again."""

    def __init__(self, **options: Any) -> None:
        """Load everything that a run loads in its own process; workers are fresh ones each time."""
        import json

        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self) -> int:
        """Start a run; gives its process, which is a group of its own."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._line())

    def ended(self) -> int:
        """Wait for the run; gives its exit code, or minus its signal."""
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __enter__(self) -> "Nursery":
        """Nothing more to do."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait(240)


def killed(group: int, moment: Callable[[], bool], patience: float = 240.0) -> bool:
    """Kill a group of processes at a moment; False when the run ended before.

    Args:
        group: Of processes.
        moment: Asked every few milliseconds.
        patience: Seconds after which it is killed in any case.
    """
    until = time.monotonic() + patience
    while not moment() and time.monotonic() < until:
        try:
            os.kill(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.003)
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def after(seconds: float) -> Callable[[], bool]:
    """A moment some seconds from now."""
    until = time.monotonic() + seconds
    return lambda: time.monotonic() >= until


def after_shards(folder: Path, more: int, chance: random.Random) -> Callable[[], bool]:
    """A moment in which some more files of shards are there than now, and a little later."""
    wanted = len(_files(folder)) + more
    later: list[float] = []

    def moment() -> bool:
        if not later and len(_files(folder)) >= wanted:
            later.append(time.monotonic() + chance.uniform(0, 0.03))
        return bool(later) and time.monotonic() >= later[0]

    return moment


def _files(folder: Path) -> list[str]:
    """Files of shards and scores, those half-written, too."""
    return [name for part in ("shards", "scores") for name in _names(folder / part)]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _lost(order: Order) -> None:
    """End this process as one that is killed for memory ends, and leave a trace of it."""
    Path(str(order.place), f"lost {os.getpid()}").touch()
    os.kill(os.getpid(), signal.SIGKILL)


class Made:
    """A worker without a model that scores nothing; its name says how it ends. It travels by value."""

    def __init__(self, what: str, order: Order) -> None:
        if what == "cannot start":
            raise UnknownName("sieve", "locl", ("local",))
        if what == "is lost loading":
            _lost(order)
        self.what, self.order = what, order
        self.facts = Facts(2, 2, {"at": os.getcwd()}, "identity", (), {}, Known())

    def score(self, task: Any) -> Receipt:
        if self.what == "refuses" and task.number == 3:
            raise BadInput("input 'x/3' cannot be scored; drop it")
        if self.what == "breaks" and task.number == 3:
            raise ZeroDivisionError("a mistake of ours")
        if self.what == "is lost" and task.number == 3:
            _lost(self.order)
        time.sleep(0.05)
        name = f"{task.number}-{os.getpid()}"
        if self.order.place is not None and self.what != "elsewhere":
            Path(self.order.place, name).touch()
        told: dict[str, Any] = {"files": {name: "digest"}, "low": (None,), "high": (1.0,)}
        return Receipt(task.number, len(task.passages), 3, 0, task.digest, "identity", **told)
