"""Show a run that takes heads out in the terminal: the answer, verdicts, roles, sites and sets of heads."""

from collections.abc import Mapping

from rich.console import Console

from headroles.records.findings import Labelling
from headroles.records.roles import phrase_of
from headroles.reports.causal.answer import answer_of
from headroles.reports.causal.sheets import (
    arms_sheet,
    cells_sheet,
    groups_sheet,
    margins_sheet,
    roles_sheet,
    sites_sheet,
)
from headroles.reports.causal.words import ablation_of, arm_of, glossary, measure_of
from headroles.reports.sheets import ENDS, Sheet
from headroles.terminal.answers import (
    all_notes,
    named_line,
    show_notes,
    show_report,
    show_sentences,
    show_title,
    title_of,
)
from headroles.terminal.console import EMPTY, SHORT, Detail, terminal_table
from headroles.terminal.label import show_account
from headroles.terminal.phrases import describe_test

WIDE = 120
"""Width of the terminal from which columns stand two spaces apart."""
ARMS = {
    "threshold": "threshold", "needed": "needed", "negligible": "negli-\ngible",
    "interfering": "inter-\nfering", "undetermined": "unde-\nter-\nmined", "untestable": "untest-\nable",
    "largest in head": "largest\nin head", f"its damage {ENDS}": f"damage {ENDS}",
}  # fmt: skip
ROLES = {
    "arm": "arm", "heads": "heads", "needed": "needed", "negligible": "negli-\ngible",
    f"area {ENDS}": f"area {ENDS}",
    "goes with": "goes with", f"mean damage {ENDS}": f"mean damage {ENDS}",
    "on average": "on average",
}  # fmt: skip
SITES = {
    "arm": "arm", "role": "role", f"at sites − elsewhere {ENDS}": f"at sites −\nelsewhere {ENDS}",
    f"beyond controls {ENDS}": f"beyond\ncontrols {ENDS}", "q": "q", "decision": "decision",
}  # fmt: skip
CELLS = {
    "outcome": "outcome", "role": "role", "its cells": "its\ncells", "other cells": "other\ncells",
    f"difference {ENDS}": f"difference {ENDS}", "q": "q", "decision": "decision",
}  # fmt: skip
GROUPS = {
    "arm": "arm", "heads": "heads", f"damage {ENDS}": f"damage {ENDS}",
    "random sets [2.5, 97.5\u00a0%]": "random sets\n[2.5, 97.5\u00a0%]", "q": "q", "decision": "decision",
    "sum of single heads": "sum of\nsingles",
}  # fmt: skip
NARROW = {
    "arm": ("needed", "negligible", "interfering", "undetermined", f"its damage {ENDS}"),
    "role": ("arm", "heads", "negligible", f"area {ENDS}", "goes with", "on average"),
    "together": ("arm", "heads", f"damage {ENDS}", "random sets [2.5, 97.5\u00a0%]", "decision"),
    "head": ("arm", "role", f"at sites − elsewhere {ENDS}", f"difference {ENDS}", "q", "decision"),
}
"""Columns that stand in a narrow terminal, by the first column."""
FEW = 12
"""Labelled heads that are listed without --verbose."""


def show_ablation(console: Console, labelling: Labelling, folder: str, detail: Detail = SHORT) -> None:
    """Print the answer, verdicts by arm, the tests of roles, and where the report is.

    Args:
        console: Of any width.
        labelling: Of a run that takes heads out.
        folder: Folder of the run, for the last line.
        detail: With ``verbose``, the test, every table and the meaning of words.
    """
    show_title(console, title_of(labelling))
    if detail.verbose:
        show_account(console, labelling.manifest)
        tested = describe_test(labelling.decision, labelling.manifest.get("preset")).replace("sieve", "arm")
        named_line(console, "tested", f"needed, negligible and interfering, each by itself; {tested}")
        named_line(console, "damage", measure_of(labelling, arm_of(labelling)))
    console.print()
    show_sentences(console, answer_of(labelling).sentences)
    _show(console, arms_sheet(labelling), ARMS, "arm")
    main = not detail.verbose
    held = ablation_of(labelling).held
    titles = {role: phrase_of(role).title for role in held.roles} if held else {}
    _show(console, roles_sheet(labelling, main=main), ROLES, "role", titles)
    _show(console, groups_sheet(labelling, main=main), GROUPS, "together", titles)
    for sheet, headings in ((sites_sheet(labelling, main=main), SITES), (cells_sheet(labelling), CELLS)):
        if sheet is not None and (detail.verbose or len(sheet.rows) <= FEW):
            _show(console, sheet, headings, "head", titles)
    if detail.verbose:
        _show(console, margins_sheet(labelling), None, "margin")
        console.print()
        for term, meaning in glossary(labelling):
            named_line(console, "word", f"{term}: {meaning}", "dim")
    console.print()
    show_notes(console, *all_notes(labelling))
    show_report(console, folder)


def _show(
    console: Console,
    sheet: Sheet | None,
    headings: Mapping[str, str] | None,
    corner: str,
    titles: Mapping[str, str] = EMPTY,
) -> None:
    """Print a table after a blank line, with roles by their titles; nothing where there is none."""
    if sheet is None:
        return
    wide = console.width >= WIDE
    if headings is not None:
        shown = headings if wide else {name: headings[name] for name in NARROW[corner] if name in headings}
        sheet = sheet.pick(shown, corner)
    console.print()
    console.print(terminal_table(sheet, strong="", words=titles, gap=2 if wide else 1))
