"""Runs that are stopped in this process, and workers that end in every way."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headroles.errors import BadInput, UnknownName

TROUBLES = {
    "refuses": BadInput("input 'x/3' cannot be scored; drop it"),
    "breaks": ZeroDivisionError("a mistake of ours"),
}
"""What workers that end so raise at shard 3."""


def replace_everywhere(patch: pytest.MonkeyPatch, function: Any, other: Any) -> None:
    """Put another function in the place of one, in all modules that have imported it."""
    name: str = function.__name__
    for module in [*sys.modules.values()]:
        if vars(module).get(name) is function:
            patch.setattr(module, name, other)


class Shards:
    """Notes the numbers of shards as this process scores them, and does something before one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Watch the worker of this process."""
        from headroles.shards import Worker

        self.scored: list[int] = []
        self.before: Callable[[Any], None] = lambda task: None
        self._stop: tuple[int, BaseException] | None = None
        score = Worker.score

        def told(worker: Any, task: Any, advance: Any = None) -> Any:
            self.before(task)
            if self._stop is not None and len(self.scored) >= self._stop[0]:
                raise self._stop[1]
            self.scored.append(task.number)
            return score(worker, task, advance)

        monkeypatch.setattr(Worker, "score", told)

    def stopped(
        self, after: int, run: Callable[[], Any], trouble: BaseException | None = None
    ) -> "pytest.ExceptionInfo[BaseException]":
        """Begin a run that meets trouble after some shards, by default Ctrl-C; gives what it raised."""
        self._stop = (after, trouble or KeyboardInterrupt())
        with pytest.raises(type(self._stop[1])) as raised:
            self.by(run)
        self._stop = None
        return raised

    def by(self, run: Callable[[], Any]) -> list[int]:
        """Do a run, and return the shards that it scored."""
        self.scored.clear()
        run()
        return [*self.scored]


def lose(order: Any) -> None:
    """End this process as one that is killed for memory ends, and leave a trace of it."""
    Path(str(order.place), f"lost {os.getpid()}").touch()
    os.kill(os.getpid(), signal.SIGKILL)


class Made:
    """A worker without a model that scores nothing; its name says how it ends. It travels by value."""

    def __init__(self, what: str, order: Any) -> None:
        from headroles.shards import Facts, Known

        if what == "cannot start":
            raise UnknownName("sieve", "locl", ("local",))
        if what == "is lost loading":
            lose(order)
        self.what, self.order = what, order
        self.facts = Facts(2, 2, {"at": os.getcwd()}, "identity", (), {}, Known())

    def score(self, task: Any) -> Any:
        """Score a shard as the name says."""
        from headroles.shards import Receipt

        what = self.what if task.number == 3 else ""
        if what in TROUBLES:
            raise TROUBLES[what]
        if what == "is lost":
            lose(self.order)
        time.sleep(0.05)
        name = f"{task.number}-{os.getpid()}"
        if self.order.place is not None and self.what != "elsewhere":
            Path(self.order.place, name).touch()
        files = {name: "digest"}
        return Receipt(task.number, len(task.passages), 3, 0, task.digest, "identity", files, (None,), (1.0,))
