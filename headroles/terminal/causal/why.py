"""Show why heads attend where they do in the terminal: the answer, roles, and what removals do."""

from collections.abc import Mapping

from rich.console import Console

from headroles.records.findings import Labelling
from headroles.records.shown.phrases import phrase_of
from headroles.reports.sheets import ENDS, Sheet
from headroles.reports.terminal import WIDE
from headroles.reports.why.answer import answer_of
from headroles.reports.why.sheets import dimensions_sheet, heads_sheet, knockouts_sheet, roles_sheet
from headroles.reports.why.words import FAMILIES, glossary, origins_of
from headroles.reports.words.words import FAMILIES as NAMES
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
from headroles.terminal.label import show_account

WIDEST = 150
"""Width of the terminal from which columns stand two spaces apart."""
ROLES = {
    "heads": "heads", "vertical": "verti-\ncal", "by query": "by\nquery",
    "undetermined": "unde-\nter-\nmined",
    "untestable": "untest-\nable", "vertical share": "vertical\nshare", "few neurons": "few\nneurons",
    "participation": "partici-\npation", "when rotated": "when\nrotated", "found": "found",
    "directions": "direc-\ntions", "falls without": "falls\nwithout",
}  # fmt: skip
HEADS = {
    "role": "role", f"contrast {ENDS}": f"contrast {ENDS}",
    f"vertical share {ENDS}": f"vertical\nshare {ENDS}",
    "verdict": "verdict", "participation": "partici-\npation", "when rotated": "when\nrotated",
    "neurons": "neurons", "found": "found", "directions": "direc-\ntions",
}  # fmt: skip
DIMENSIONS = {
    "role": "role", "dimension": "dimen-\nsion", "frequency pair": "fre-\nquency\npair",
    f"part {ENDS}": f"part {ENDS}", "share": "share", "q": "q", "level": "level",
}  # fmt: skip
KNOCKOUTS = {
    "removed": "removed", "of role": "of role", "scored": "scored", "before": "before",
    f"after {ENDS}": f"after {ENDS}", "threshold": "thres-\nhold", "verdict": "verdict",
}  # fmt: skip
NARROW = {
    "role": ("heads", "vertical", "by query", "vertical share", "few neurons", "falls without"),
    "head": ("role", f"vertical share {ENDS}", "verdict", "found"),
    "found in": ("role", "dimension", "frequency pair", "share", "q"),
    "in head": ("removed", "scored", "before", f"after {ENDS}", "verdict"),
}
"""Columns that stand in a narrow terminal, by the first column."""
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
        show_account(console, labelling.manifest)
        named_line(console, "tested", f"each verdict by itself; {_tested(labelling)}")
    console.print()
    show_sentences(console, answer_of(labelling).sentences)
    titles = {role: phrase_of(role).title for role in origins.held.roles}
    if origins.origins:
        _show(console, roles_sheet(labelling), ROLES, "role", titles)
    if detail.verbose or len(origins.origins) <= FEW:
        _show(console, heads_sheet(labelling), HEADS, "head", titles)
    if detail.verbose:
        _show(console, dimensions_sheet(labelling, found=True), DIMENSIONS, "found in", titles)
        _show(console, knockouts_sheet(labelling), KNOCKOUTS, "in head", titles)
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


def _show(
    console: Console,
    sheet: Sheet | None,
    headings: Mapping[str, str],
    corner: str,
    titles: Mapping[str, str],
) -> None:
    """Print a table after a blank line, with roles by their titles; nothing where there is none."""
    if sheet is None:
        return
    wide = console.width >= WIDE
    shown = headings if wide else {name: headings[name] for name in NARROW[corner]}
    console.print()
    console.print(
        terminal_table(
            sheet.pick(shown, corner), strong="", words=titles, gap=2 if console.width >= WIDEST else 1
        )
    )
