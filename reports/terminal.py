"""A report in the terminal: heading, answer, tables, words, notes and the place of the page."""

from rich.console import Console
from rich.text import Text

from headroles.reports.report import Detail, Grid, Named, Report, Words
from headroles.terminal.console import (
    MARKS,
    named_line,
    show_notes,
    show_report,
    show_sentences,
    show_title,
    terminal_table,
)

WIDE = 120
"""Width of the terminal from which more columns are shown, two spaces apart."""


def show(console: Console, report: Report, folder: str, detail: Detail) -> None:
    """Print a report: its answer, its tables, what must be known, and where the page is.

    Args:
        console: Of any width.
        report: Of a result.
        folder: Folder of the result, for the last line.
        detail: With ``verbose``, the test, every table and the meaning of words.
    """
    show_title(console, report.heading.translate(MARKS))
    for line in report.facts(detail):
        named_line(console, line.name, line.text, line.style)
    console.print()
    show_sentences(console, report.answer.sentences)
    wide = detail.width >= WIDE
    for block in report.screen(detail):
        if isinstance(block, Named):
            named_line(console, block.name, block.text, block.style)
        elif isinstance(block, Words):
            console.print()
            for term, meaning in block.terms:
                named_line(console, "word", f"{term}: {meaning}", "dim")
        elif not isinstance(block, Grid):
            console.print()
            console.print(Text(block, "dim") if isinstance(block, str) else block)
        elif len(block) and (detail.verbose or len(block) <= block.most):
            sheet = block.sheet("wide" if wide else "narrow")
            console.print()
            console.print(terminal_table(sheet, strong=block.strong, words=block.words, gap=2 if wide else 1))
    console.print()
    show_notes(console, *report.notes, brief=report.brief and not detail.verbose)
    show_report(console, folder)
