"""Show the phases of a run on stderr: one bar each on a terminal, one line each elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from headroles.progress import PHASES, Phases
from headroles.records.stops.look import Look
from headroles.terminal.stops.looks import look_line, look_table

BAR = 24
"""Width of a bar in columns."""
FRESH = 8
"""Times a second that the bars are drawn anew."""


@dataclass(slots=True)
class Phase:
    """What is known of a phase.

    Attributes:
        begun: Second at which it started.
        done: Inputs that are done.
        total: Number of inputs; 0 where it is unknown, or where nothing is counted.
        latest: Second of the last input.
        over: Second at which it ended; None while it runs.
    """

    begun: float
    done: int = 0
    total: int = 0
    latest: float = 0.0
    over: float | None = None

    @property
    def seconds(self) -> float:
        """Return how long it took, or has taken so far; after its last input it is over."""
        if self.total and self.done >= self.total and self.latest:
            return self.latest - self.begun
        return (monotonic() if self.over is None else self.over) - self.begun

    @property
    def whole(self) -> bool:
        """Return whether all is done."""
        return self.over is not None or bool(self.total and self.done >= self.total)


class ShownPhases(Phases):
    """Phases that are shown: as bars in ``console``, or as a line each when they end."""

    def __init__(self, console: Console, watch: bool = False) -> None:
        """Keep the console, on stderr.

        Args:
            console: Of any width.
            watch: Whether looks at the heads of a run that may stop are shown, too.
        """
        super().__init__()
        self._console, self._watch = console, watch
        self._look: Look | None = None
        self._bars = console.is_terminal and not console.is_dumb_terminal
        self._phases: dict[str, Phase] = {}

    def start(self, name: str, total: int = 0) -> None:
        """Show a phase; one that was shown before keeps its clock."""
        super().start(name, total)
        self._phases.setdefault(name, Phase(monotonic())).total = total

    def reach(self, name: str, done: int, total: int) -> None:
        """Move the bar of a phase."""
        super().reach(name, done, total)
        phase = self._phases.setdefault(name, Phase(monotonic()))
        phase.done, phase.total, phase.latest = done, total, monotonic()

    def end(self, name: str) -> None:
        """Mark a phase as done; write its line where there are no bars."""
        super().end(name)
        phase = self._phases[name]
        phase.over = monotonic()
        if not self._bars:
            count = f"  {phase.done:,} inputs" if phase.done else ""
            line = Text(f"{name:<12}{duration(phase.seconds):>8}{count}")
            self._console.print(line, soft_wrap=True)

    def watch(self, look: Look) -> None:
        """Show the heads of a run as they turn; write a line for each look where there are no bars."""
        super().watch(look)
        if self._watch:
            self._look = look
            if not self._bars:
                self._console.print(Text(look_line(look)), soft_wrap=True)

    @contextmanager
    def shown(self) -> Iterator["ShownPhases"]:
        """Draw the bars within the block; after an error none stay."""
        if not self._bars:
            yield self
            return
        live = Live(console=self._console, refresh_per_second=FRESH, get_renderable=self._drawn)
        with live:
            try:
                yield self
            except BaseException:
                live.transient = True
                raise

    def _drawn(self) -> RenderableType:
        """Return a line for every phase that has started, in the order of phases."""
        grid = Table.grid(padding=(0, 1, 0, 0))
        for _ in range(3):
            grid.add_column(no_wrap=True)
        order = {name: place for place, name in enumerate(PHASES)}
        for name in sorted(self._phases, key=lambda name: order.get(name, len(order))):
            grid.add_row(name, *_cells(self._phases[name]))
        return grid if self._look is None else Group(look_table(self._look, self._console.width), grid)


def _cells(phase: Phase) -> tuple[RenderableType, str]:
    """Return the bar of a phase, or its mark when it is done, and words beside it."""
    if phase.whole:
        return Text(f"✓ {duration(phase.seconds)}", style="green"), ""
    counted = phase.total or None
    bar = ProgressBar(total=counted, completed=phase.done, width=BAR, pulse=counted is None)
    if not phase.done:
        return bar, duration(phase.seconds)
    seconds = max(phase.seconds, 0.001)
    if counted is None:
        return bar, f"{phase.done:,}  {phase.done / seconds:.0f}/s"
    left = (counted - phase.done) * (phase.latest - phase.begun) / phase.done
    left -= monotonic() - phase.latest
    return bar, f"{phase.done:,}/{counted:,}  {duration(max(left, 0.0), rough=True)} left"


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
    """Give phases that are shown on stderr.

    Args:
        quiet: Whether none are shown.
        watch: Whether looks at heads are shown, too.
    """
    if quiet:
        yield Phases()
        return
    with ShownPhases(Console(stderr=True, highlight=False), watch).shown() as phases:
        yield phases
