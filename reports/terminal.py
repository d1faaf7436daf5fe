"""A report in the terminal: title, answer, tables, words, notes and the place of the page."""

from rich.console import Console

from headroles.records.findings import Labelling
from headroles.reports.report import Grid, Report
from headroles.terminal.answers import (
    all_notes,
    named_line,
    show_notes,
    show_report,
    show_sentences,
    show_title,
    title_of,
)
from headroles.terminal.console import SHORT, Detail, terminal_table
from headroles.terminal.label import show_account

WIDE = 120
"""Width of the terminal from which more columns are shown, two spaces apart."""


def show(console: Console, report: Report, run: Labelling, folder: str, detail: Detail = SHORT) -> None:
    """Print a report: its answer, its tables, what must be known, and where the page is.

    Args:
        console: Of any width.
        report: Of the run.
        run: The run.
        folder: Folder of the run, for the last line.
        detail: With ``verbose``, the test, every table and the meaning of words.
    """
    show_title(console, title_of(run))
    if detail.verbose:
        show_account(console, run.manifest)
        for name, text in report.facts():
            named_line(console, name, text)
    console.print()
    show_sentences(console, report.answer.sentences)
    wide = console.width >= WIDE
    for block in report.screen(detail.verbose):
        if not isinstance(block, Grid):
            console.print()
            for term, meaning in block.terms:
                named_line(console, "word", f"{term}: {meaning}", "dim")
        elif len(block) and (detail.verbose or len(block) <= block.most):
            sheet = block.sheet("wide" if wide else "narrow")
            console.print()
            console.print(terminal_table(sheet, strong=block.strong, words=block.words, gap=2 if wide else 1))
    console.print()
    show_notes(console, *all_notes(run))
    show_report(console, folder)
