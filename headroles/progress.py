"""Progress of a run: its phases by name, the callback of callers in Python, and the bars that rich draws.

Rich is imported when something is drawn. IPython is no part of headroles, and is used where a notebook has
imported it already.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from warnings import filterwarnings

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from headroles.records.stops.look import Look

LOAD, PARSE, SCORE, TEST, KEEP, TRAIN, KNOCK, REPORT, EXTRACT, JUDGE, COMPARE, COLLECT = PHASES = (
    "load model", "parse", "score", "test", "keep maps", "train probes", "knock out", "report",
    "extract", "judge", "compare", "collect",
)  # fmt: skip
"""Phases of a run in their order; those after "report" are single steps. "parse" and "score" overlap."""

BAR = 24
"""Width of a bar in columns."""
FRESH = 4
"""Times a second that bars are drawn anew at most."""
MARKS = {"role": ("█", "bold blue"), "not": ("·", "dim"), "explained": ("~", "yellow"), "open": ("?", "red")}
"""Mark and style of a head by its state, in the order of the legend; other heads are untestable."""
TITLE, LONGEST = 28, 96
"""Widest title of a role, and most heads that are drawn one by one; of more, a bar has the shares."""

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

    It is a callback itself, for functions that have no phases. ``ShownPhases`` shows what it is told.

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

    def __call__(self, done: int, total: int) -> None:
        """Take the inputs done and their total, of a function that has no phases."""
        if EXTRACT not in self._counts:
            self.start(EXTRACT, total)
        self.reach(EXTRACT, done, total)

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


class ShownPhases(Phases):
    """Phases that are shown: by bars, or by a line each when they end.

    Attributes:
        bars: A bar for each phase, with its time, inputs, and time left; rich draws it anywhere.
    """

    def __init__(self, write: Callable[[str], None] | None = None, *, watch: bool = False) -> None:
        """Show nothing yet.

        Args:
            write: Takes a line for each phase that ends, and for each look; None where bars are drawn.
            watch: Whether looks at the heads of a run that may stop are shown, too.
        """
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        super().__init__()
        name, words = (TextColumn(f"{{task.{field}}}") for field in ("description", "fields[words]"))
        self.bars = Progress(name, BarColumn(BAR), TimeElapsedColumn(), words, auto_refresh=False)
        self._write, self._watch = write, watch
        self._look: Look | None = None
        self._tasks: dict[str, Any] = {}

    def start(self, name: str, total: int = 0) -> None:
        """Show a phase; one that was shown before keeps its clock."""
        super().start(name, total)
        if name not in self._tasks:
            self.bars.add_task(name, total=None, words="")
            self._tasks[name] = self.bars.tasks[-1]
        self._draw(name, True, total=total or None)

    def reach(self, name: str, done: int, total: int) -> None:
        """Move the bar of a phase that has started."""
        super().reach(name, done, total)
        task = self._tasks[name]
        self.bars.update(task.id, completed=done, total=total or None)
        words = f"{done:,} of {total:,}" if total else f"{done:,}"
        if not total and task.speed:
            words += f", {task.speed:.0f}/s"
        elif task.time_remaining:
            words += f", {duration(task.time_remaining, rough=True)} left"
        self._draw(name, words=words)

    def end(self, name: str) -> None:
        """Mark a phase as done; write its line where there are no bars."""
        super().end(name)
        done = int(self._tasks[name].completed)
        count = f"{done:,} inputs" if done else ""
        self._draw(name, True, completed=done or 1, total=done or 1, words=count)
        if self._write is not None:
            line = f"{name:<12}{duration(self._tasks[name].finished_time):>8}  {count}"
            self._write(line.rstrip())

    def watch(self, look: "Look") -> None:
        """Show the heads of a run as they turn; write a line for each look where there are no bars."""
        super().watch(look)
        if self._watch:
            self._look = look
            if self._write is not None:
                self._write(look.line)

    def close(self, *, stopped: bool = False) -> None:
        """End the phases that run, or say where they were stopped."""
        for name, (done, total) in [*self._counts.items()]:
            if stopped:
                self.bars.stop_task(self._tasks[name].id)
                self._draw(name, True, words="stopped" + (f" at {done:,} of {total:,}" if total else ""))
            else:
                self.end(name)

    def drawn(self, width: int) -> "RenderableType":
        """Return the bars, and the latest look above them, in so many columns."""
        from rich.console import Group

        return self.bars if self._look is None else Group(look_table(self._look, width), self.bars)

    def _draw(self, name: str, now: bool = False, **changes: Any) -> None:
        """Change the bar of a phase; ``now`` says that it starts or ends."""
        self.bars.update(self._tasks[name].id, **changes)


class NotebookPhases(ShownPhases):
    """Phases as bars in the output of a notebook's cell, which change in place."""

    _replace: Callable[[Any], None] | None = None
    _last = 0.0

    def _draw(self, name: str, now: bool = False, **changes: Any) -> None:
        """Change the bar of a phase, and show it unless that was just done."""
        super()._draw(name, now, **changes)
        if self._replace is None:
            self._replace = import_module("IPython.display").display(self.bars, display_id=True).update
        elif now or monotonic() - self._last >= 1 / FRESH:
            self._replace(self.bars)
        else:
            return
        self._last = monotonic()


def look_table(look: "Look", width: int) -> "Table":
    """Return a line for each role with its number of open heads and the state of every head, and a legend.

    Heads stand in the order of layers. A head is open until it is decided, and may be open again later.

    Args:
        look: The latest look.
        width: Columns of the terminal.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=TITLE)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, overflow="crop")
    legend = Text.assemble(*(part for name, mark in MARKS.items() for part in (mark, f" {name}  ")))
    table.add_row(Text(f"look {look.number}"), "open", legend)
    room = max(1, width - min(TITLE, max(map(len, look.titles), default=0)) - len(f"{look.tests:,}") - 3)
    for place, title in enumerate(look.titles):
        states = look.states(place).ravel().tolist()
        count = states.count("open")
        if len(states) > min(LONGEST, room):
            states.sort(key=[*MARKS, "untestable"].index)
            cells = min(LONGEST // 2, room)
            states = [states[cell * len(states) // cells] for cell in range(cells)]
        marks = (MARKS.get(state, (" ", "dim")) for state in states)
        table.add_row(Text(title), f"{count:,}", Text.assemble(*marks))
    table.add_row("", "", Text(look.line.partition(": ")[2].partition(";")[0]))
    return table


def duration(seconds: float, rough: bool = False) -> str:
    """Return a time as people say it.

    Args:
        seconds: Not negative.
        rough: Whether whole seconds are enough.

    Example:
        >>> duration(6.13), duration(6.13, rough=True), duration(161.7), duration(7322.0)
        ('6.1 s', '6 s', '2 min 42 s', '2 h 2 min')
    """
    if round(seconds, 1) < 60:
        return f"{seconds:.{0 if rough else 1}f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@contextmanager
def show_phases(quiet: bool = False, watch: bool = False) -> Iterator[Phases]:
    """Give phases that are shown on stderr: one bar each on a terminal, one line each elsewhere.

    After an error no bars stay.

    Args:
        quiet: Whether none are shown.
        watch: Whether looks at heads are shown, too.
    """
    if quiet:
        yield Phases()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        yield ShownPhases(lambda line: console.print(line, markup=False, soft_wrap=True), watch=watch)
        return
    phases = ShownPhases(watch=watch)
    live = Live(console=console, refresh_per_second=FRESH, get_renderable=lambda: phases.drawn(console.width))
    with live:
        try:
            yield phases
        except BaseException:
            live.transient = True
            raise


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook.

    Example:
        >>> in_notebook()
        False
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def progress_or_bars(progress: Any) -> Iterator[Any]:
    """Yield the progress that a caller gave; bars in the notebook where none was given and one runs."""
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
