"""Progress of a run: its phases by name, and the callback of callers in Python."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from headroles.records.stops.look import Look

LOAD, PARSE, SCORE, TEST, KEEP, TRAIN, KNOCK, REPORT, EXTRACT, JUDGE, COMPARE, COLLECT = PHASES = (
    "load model", "parse", "score", "test", "keep maps", "train probes", "knock out", "report",
    "extract", "judge", "compare", "collect",
)  # fmt: skip
"""Phases of a run in their order; those after "report" are single steps. "parse" and "score" overlap."""

Progress = Callable[[int, int], None]
"""Callback with the number of inputs done and their total."""


@runtime_checkable
class Advance(Protocol):
    """Function that takes the inputs done since its last call, scored or parsed."""

    def __call__(self, count: int, phase: str = SCORE) -> None:
        """Take the inputs that were done; a negative number where inputs must be done again."""


def ignore_progress(done: int, total: int) -> None:
    """Take the inputs done and their total, and do nothing; the progress of a caller that gives none."""


def ignore_look(look: "Look") -> None:
    """Take a look at the heads of a run, and do nothing; the watcher of a caller that gives none."""


def ignore_advance(count: int, phase: str = SCORE) -> None:
    """Take the inputs done, and do nothing; the listener of a worker that nobody watches."""


class Phases:
    """Phases of a run, which are called when each starts, advances and ends; this one calls a callback.

    The terminal shows them by a subclass.

    Attributes:
        on_look: Callback that gets every look of a run that may stop early.

    Example:
        >>> phases = Phases(lambda done, total: print(done, total))
        >>> with phases.during(SCORE, 5):
        ...     phases.advance(2)
        ...     phases.advance(3)
        2 5
        5 5
    """

    def __init__(self, progress: Progress = ignore_progress) -> None:
        """Keep the callback, which gets what is scored and trained."""
        self.on_look: Callable[[Look], None] = ignore_look
        self._progress = progress
        self._counts: dict[str, tuple[int, int]] = {}

    def start(self, name: str, total: int = 0) -> None:
        """Take notice that a phase starts.

        Args:
            name: One of ``PHASES``.
            total: Number of inputs; 0 where it is unknown, or where nothing is counted.
        """
        self._counts[name] = (0, total)

    def advance(self, count: int, phase: str = SCORE) -> None:
        """Take the inputs that a phase has done since the last call, if it has started."""
        if phase in self._counts:
            done, total = self._counts[phase]
            self.reach(phase, done + count, total)

    def watch(self, look: "Look") -> None:
        """Take a look at the heads of a run that may stop early, and call the callback for looks."""
        self.on_look(look)

    def reach(self, name: str, done: int, total: int) -> None:
        """Take the inputs that a phase has done so far, and their total."""
        self._counts[name] = (done, total)
        if name != PARSE:
            self._progress(done, total)

    def end(self, name: str) -> None:
        """Take notice that a phase ends."""
        self._counts.pop(name, None)

    @contextmanager
    def during(self, name: str, total: int = 0) -> Iterator[None]:
        """Start a phase, and end it after the block."""
        self.start(name, total)
        yield
        self.end(name)


def phases_of(progress: "Progress | Phases | None") -> Phases:
    """Return the phases that a caller watches: those given, or those that call a callback."""
    return progress if isinstance(progress, Phases) else Phases(progress or ignore_progress)


def progress_counter(progress: Progress, total: int) -> Callable[[int], None]:
    """Return a function that adds newly done inputs and calls ``progress`` with the sum and the total.

    Example:
        >>> advance = progress_counter(lambda done, total: print(done, total), 5)
        >>> advance(2), advance(3)
        2 5
        5 5
        (None, None)
    """
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress(done, total)

    return advance
