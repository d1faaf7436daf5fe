"""Print the result of a command as its display options say, and open its report."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headroles.errors import BadInput, visible
from headroles.options.listed import DisplayOptions

if TYPE_CHECKING:
    from headroles.runs.feasibility import Outlook

WITH_ROLES = ("label", "cluster")
"""Kinds of run whose heads have roles of sieves."""


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
        from headroles.reports.facts import result_json

        click.echo(result_json(result, folder))
    else:
        _print_result(result, folder, display)
    if display.open:
        open_report(report)


def go_on(outlook: "Outlook | None", display: DisplayOptions) -> None:
    """Say what the inputs of a command cannot decide; ask whether to go on where that is everything.

    Nobody is asked with ``--yes``, and where no terminal can answer.

    Args:
        outlook: What they cannot decide; None for nothing.
        display: How much is printed.

    Raises:
        KeyboardInterrupt: When the answer is no; nothing was written.
    """
    if outlook is None:
        return
    if not display.quiet:
        click.echo(outlook.line, err=True)
    asking = outlook.hopeless and not display.yes and sys.stdin.isatty()
    if asking and not click.confirm("Go on?", default=False, err=True):
        raise KeyboardInterrupt


def _print_result(result: Any, folder: str, display: DisplayOptions) -> None:
    """Print a run, a comparison, an atlas or a pruning for people, and where its report is."""
    from headroles.kinds import kind_of, report_of
    from headroles.records.atlas.atlas import Atlas
    from headroles.records.causal.pruning import Pruning
    from headroles.records.comparison import Comparison
    from headroles.reports.console import console
    from headroles.reports.kinds.prune import show_pruning
    from headroles.reports.report import Detail
    from headroles.reports.terminal import show

    others = {Comparison: "a comparison", Atlas: "an atlas", Pruning: "a pruned model"}
    kind = None if type(result) in others else kind_of(result).name
    if display.grid and kind not in WITH_ROLES:
        name = others[type(result)] if kind is None else f"a run of {kind}"
        raise BadInput(f"--grid shows the roles of every head, but {name} has none; leave it out")
    out = console()
    detail = Detail(display.verbose, display.grid, out.width)
    if isinstance(result, Pruning):
        show_pruning(out, result, folder, detail)
    else:
        show(out, report_of(result), folder, detail)


def open_report(report: str) -> None:
    """Open a report in the browser; say where it is when there is no browser."""
    import webbrowser

    if not webbrowser.open(Path(report).resolve().as_uri()):
        click.echo(f"no browser could be opened; open {visible(report)} in one", err=True)
