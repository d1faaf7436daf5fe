"""Make the console for results, plain tables, and the progress bar."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from headroles.progress import Progress

PIPED = 140
"""Columns of a table where output goes to a file or a pipe."""


def console() -> Console:
    """Return a console on standard output, as wide as the terminal or as ``PIPED``."""
    output = Console(highlight=False, soft_wrap=True)
    return output if output.is_terminal else Console(highlight=False, soft_wrap=True, width=PIPED)


def plain_table(header: Sequence[str]) -> Table:
    """Make a plain table with names in the first column and numbers in the others."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for position, title in enumerate(header):
        table.add_column(title, justify="right" if position else "left")
    return table


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
