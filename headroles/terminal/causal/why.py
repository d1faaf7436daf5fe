"""Show why heads attend where they do in the terminal: the answer, roles, and what removals do."""

from collections.abc import Mapping

from rich.console import Console

from headroles.records.findings import Labelling
from headroles.records.roles import phrase_of
from headroles.records.rules.rule import FAMILIES as NAMES
from headroles.records.table import Sheet
from headroles.reports.recorded import account_lines
from headroles.reports.terminal import WIDE
from headroles.reports.why.answer import answer_of
from headroles.reports.why.sheets import dimensions_sheet, heads_sheet, knockouts_sheet, roles_sheet
from headroles.reports.why.words import FAMILIES, glossary, origins_of
from headroles.terminal.console import (
    SHORT,
    Detail,
    named_line,
    show_notes,
    show_report,
    show_sentences,
    show_title,
    terminal_table,
)
from headroles.terminal.facts import all_notes, describe_test, title_of

WIDEST = 150
"""Width of the terminal from which columns stand two spaces apart."""
FEW = 12
"""Heads that are listed without --verbose."""


def show_why(console: Console, labelling: Labelling, folder: str, detail: Detail = SHORT) -> None:
    """Print the answer, the counts of roles, and where the report is.

    Args:
        console: Of any width.
        labelling: Of a run that asks where roles come from.
        folder: Folder of the run, for the last line.
        detail: With ``verbose``, the test, every table and the meaning of words.
    """
    origins = origins_of(labelling)
    show_title(console, title_of(labelling))
    if detail.verbose:
        for line in account_lines(labelling):
            named_line(console, line.name, line.text)
        named_line(console, "tested", f"each verdict by itself; {_tested(labelling)}")
    console.print()
    show_sentences(console, answer_of(labelling).sentences)
    titles = {role: phrase_of(role).title for role in origins.held.roles}
    width = "wide" if console.width >= WIDE else "narrow"
    if origins.origins:
        _show(console, roles_sheet(labelling, width), titles)
    if detail.verbose or len(origins.origins) <= FEW:
        _show(console, heads_sheet(labelling, width), titles)
    if detail.verbose:
        _show(console, dimensions_sheet(labelling, width, found=True), titles)
        _show(console, knockouts_sheet(labelling, width), titles)
        console.print()
        for term, meaning in glossary(labelling):
            named_line(console, "word", f"{term}: {meaning}", "dim")
    console.print()
    show_notes(console, *all_notes(labelling))
    show_report(console, folder)


def _tested(labelling: Labelling) -> str:
    """Return test and correction; it is over all roles of heads, whatever the family of the decision."""
    decision = labelling.decision
    words = describe_test(decision, labelling.manifest.get("preset"))
    return words.replace(NAMES.get(decision.family, decision.family), FAMILIES["run"])


def _show(console: Console, sheet: Sheet | None, titles: Mapping[str, str]) -> None:
    """Print a table after a blank line, with roles by their titles; nothing where there is none."""
    if sheet is not None:
        console.print()
        gap = 2 if console.width >= WIDEST else 1
        console.print(terminal_table(sheet, strong="", words=titles, gap=gap))
