"""The progress of a run in a notebook: one line that changes in place, a bar in the phase that counts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from time import monotonic
from typing import Any
from warnings import filterwarnings

from headroles.progress import EXTRACT, Phases
from headroles.records.shown.kernel import display_in_place, in_notebook

PAUSE = 0.25
"""Seconds between two changes of what is shown, at least."""
STYLE = "font-variant-numeric:tabular-nums;margin:.3em 0"


class NotebookPhases(Phases):
    """Phases of a run as one line in a notebook. It is a callback for inputs done and their total, too.

    Attributes:
        clock: Returns the seconds of a clock.
    """

    def __init__(
        self,
        show: Callable[[Any], Callable[[Any], None]] = display_in_place,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Show nothing yet.

        Args:
            show: Shows a value, and returns a function that replaces it.
            clock: Returns the seconds of a clock.
        """
        super().__init__()
        self.clock = clock
        self._show = show
        self._replace: Callable[[Any], None] | None = None
        self._last = float("-inf")
        self._starts: dict[str, float] = {}
        self._times: dict[str, float] = {}

    def __call__(self, done: int, total: int) -> None:
        """Take the inputs done and their total, of a function that has no phases."""
        if EXTRACT not in self._starts:
            self.start(EXTRACT, total)
        self.reach(EXTRACT, done, total)

    def start(self, name: str, total: int = 0) -> None:
        """Show that a phase starts."""
        super().start(name, total)
        self._starts[name] = self.clock()
        self._draw(True)

    def reach(self, name: str, done: int, total: int) -> None:
        """Show the inputs that a phase has done so far."""
        super().reach(name, done, total)
        self._draw()

    def end(self, name: str) -> None:
        """Show how long a phase took."""
        super().end(name)
        self._times[name] = self.clock() - self._starts.get(name, self.clock())
        self._draw(True)

    def close(self, *, stopped: bool = False) -> None:
        """Show no bar: the times of all phases, or where the run stopped."""
        if not stopped:
            for name in [*self._counts]:
                self.end(name)
        elif self._replace is not None:
            self._replace(ProgressLine(dict(self._times), self._running(self.clock()), stopped=True))

    def _draw(self, now: bool = False) -> None:
        """Replace what is shown, unless that was just done."""
        moment = self.clock()
        if not now and moment - self._last < PAUSE:
            return
        self._last = moment
        line = ProgressLine(dict(self._times), self._running(moment))
        if self._replace is None:
            self._replace = self._show(line)
        else:
            self._replace(line)

    def _running(self, moment: float) -> tuple[tuple[str, int, int, float], ...]:
        """Return the phases that run: name, inputs done, their total, seconds left (NaN: unknown)."""
        running = []
        for name, (done, total) in self._counts.items():
            spent = moment - self._starts.get(name, moment)
            left = spent / done * (total - done) if 0 < done <= total else float("nan")
            running.append((name, done, total, left))
        return tuple(running)


class ProgressLine:
    """What the progress of a run looks like at one moment, as text and as HTML."""

    def __init__(
        self,
        times: Mapping[str, float],
        running: Sequence[tuple[str, int, int, float]],
        *,
        stopped: bool = False,
    ) -> None:
        """Keep what is shown.

        Args:
            times: Seconds of the phases that have ended.
            running: Name, inputs done, their total and seconds left of the phases that run.
            stopped: Whether the run stopped in them.
        """
        self._times, self._running, self._stopped = times, running, stopped

    def __repr__(self) -> str:
        """Return the line as text."""
        done = [f"{name} {duration(seconds)}" for name, seconds in self._times.items()]
        return " · ".join([*done, *map(self._state, self._running)])

    def _repr_html_(self) -> str:
        """Return the line with a bar for each phase that counts its inputs."""
        parts = [escape(f"{name} {duration(seconds)}") for name, seconds in self._times.items()]
        for phase in self._running:
            name, done, total, _ = phase
            bar = (
                f'<progress value="{done}" max="{total}" aria-label="{escape(name)}" '
                f'style="width:9em;vertical-align:middle"></progress> '
                if total and not self._stopped
                else ""
            )
            parts.append(bar + escape(self._state(phase)))
        return f'<div style="{STYLE}">{" · ".join(parts)}</div>'

    def _state(self, phase: tuple[str, int, int, float]) -> str:
        """Return a phase that runs, or in which the run stopped, as text."""
        name, done, total, left = phase
        if self._stopped:
            return f"{name} stopped" + (f" at {done:,} of {total:,}" if total else "")
        return _state(name, done, total, left)


def _state(name: str, done: int, total: int, left: float) -> str:
    """Return a phase that runs as text.

    Example:
        >>> _state("score", 96, 160, 21.4), _state("test", 0, 0, float("nan"))
        ('score 96 of 160, 0:21 left', 'test …')
    """
    if not total:
        return f"{name} {done:,}" if done else f"{name} …"
    time = f", {duration(left)} left" if left == left and done < total else ""
    return f"{name} {done:,} of {total:,}{time}"


def duration(seconds: float) -> str:
    """Return a time in minutes and seconds.

    Example:
        >>> duration(6.14), duration(80.0), duration(3725.0)
        ('0:06', '1:20', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def progress_or_bar(progress: Any) -> Iterator[Any]:
    """Yield the progress that a caller gave; a line in the notebook where none was given and one runs."""
    if progress is not None or not in_notebook():
        yield progress
        return
    filterwarnings("ignore", message="IProgress not found")  # of tqdm, whose bars need another package
    phases = NotebookPhases()
    try:
        yield phases
    except BaseException:
        phases.close(stopped=True)
        raise
    phases.close()
