"""Print the result of a command as its display options say, and open its report."""

from pathlib import Path
from typing import Any

import click

from headroles.errors import visible
from headroles.options.listed import DisplayOptions


def print_result(result: Any, folder: str, display: DisplayOptions) -> None:
    """Print a run or a comparison, and open its report where that is asked for.

    Args:
        result: The run, or the comparison.
        folder: Its folder or address, as it was given.
        display: How much is printed.

    Raises:
        BadInput: For a grid of roles of a result that has none.
    """
    report = f"{folder.rstrip('/')}/report.html"
    if display.quiet:
        click.echo(visible(report))
    elif display.json:
        from headroles.terminal.facts import result_json

        click.echo(result_json(result, folder))
    else:
        from headroles.terminal.console import Detail, console
        from headroles.terminal.run import show_result

        show_result(console(), result, folder, Detail(display.verbose, display.grid))
    if display.open:
        open_report(report)


def open_report(report: str) -> None:
    """Open a report in the browser; say where it is when there is no browser."""
    import webbrowser

    if not webbrowser.open(Path(report).resolve().as_uri()):
        click.echo(f"no browser could be opened; open {visible(report)} in one", err=True)
