"""A report in the terminal: heading, answer, tables, words, notes and the place of the page."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from headroles.reports import console as lines
from headroles.reports.account import Named
from headroles.reports.console import MARKS, named_line
from headroles.reports.report import Detail, Grid, Report, Words

WIDE = 120
"""Width of the terminal from which more columns are shown, two spaces apart where they fit."""


def show(console: Console, report: Report, folder: str | None, detail: Detail) -> None:
    """Print a report: its answer, its tables, what must be known, and where the page is.

    Args:
        console: Of any width.
        report: Of a result.
        folder: Folder of the result, for the last line; None where there is none.
        detail: With ``verbose``, the test, every table and the meaning of words.
    """
    if report.heading:
        lines.show_title(console, report.heading.translate(MARKS))
    for fact in report.facts(detail):
        named_line(console, fact.name, fact.text, fact.style)
    sentences, brief = report.answer.sentences, not detail.verbose
    if sentences:
        console.print()
    for sentence in sentences[: report.few] if report.few and brief else sentences:
        text = Text.assemble(
            (sentence.lead.translate(MARKS), "bold"), sentence.text[len(sentence.lead) :].translate(MARKS)
        )
        broken = text.wrap(console, console.width - 2) if lines.breaks_lines(console) else [text]
        for number, line in enumerate(broken):
            if line is not text:
                line.rstrip()
            console.print(Text("  " if number else "• ") + line)
    print_blocks(console, report.screen(detail), detail)
    if any(report.notes):
        console.print()
    lines.show_notes(console, *report.notes, verbose=detail.verbose)
    if folder is not None:
        lines.show_report(console, folder)


def print_blocks(console: Console, blocks: Iterable[Any], detail: Detail) -> None:
    """Print named lines, words, tables, texts, and whatever rich can print."""
    wide, before = detail.width >= WIDE, None
    for block in blocks:
        if isinstance(block, Named):
            if not isinstance(before, Named):
                console.print()
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
            tables = [
                lines.terminal_table(sheet, strong=block.strong, words=block.words, gap=gap) for gap in (2, 1)
            ]
            fits = wide and console.measure(tables[0]).maximum <= console.width
            console.print()
            console.print(tables[0 if fits else 1])
        before = block
