"""Make the console for results, and the progress bar."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.segment import Segment
from rich.text import Span, Text

from headroles.errors import CONTROL, visible
from headroles.progress import Progress

PIPED = 140
"""Columns of a table where output goes to a file or a pipe."""


class VisibleConsole(Console):
    """A console that spells out control characters and direction marks of all that it prints."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as text, as wide as it is printed."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of anything that can be printed, after spelling out a text."""
        return super().render(_visible(renderable) if isinstance(renderable, Text) else renderable, options)


def _visible(text: Text) -> Text:
    """Return a text with its styles, and with control characters and direction marks spelled out."""
    plain = text.plain
    if CONTROL.search(plain) is None:
        return text
    places = [0, *accumulate(len(visible(character)) for character in plain)]
    spelled = text.blank_copy(visible(plain))
    spelled.spans = [
        Span(places[span.start], places[min(span.end, len(plain))], span.style) for span in text.spans
    ]
    return spelled


def console() -> Console:
    """Return a console on standard output, as wide as the terminal or as ``PIPED``."""
    output = VisibleConsole(highlight=False, soft_wrap=True)
    return output if output.is_terminal else VisibleConsole(highlight=False, soft_wrap=True, width=PIPED)


@contextmanager
def progress() -> Iterator[Progress]:
    """Show a bar with rate and time left on stderr; show none when stderr is not a terminal."""
    bar_console = Console(stderr=True)
    columns = (
        TextColumn("scoring"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=bar_console, disable=not bar_console.is_terminal, transient=True) as bar:
        task = bar.add_task("scoring", total=None, rate="")

        def advance(done: int, total: int) -> None:
            speed = bar.tasks[task].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:.0f}/s" if speed else "")

        yield advance
