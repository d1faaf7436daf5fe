"""Show a comparison of two runs, or an atlas of several, in the terminal."""

from rich.console import Console
from rich.table import Table

from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import OUTCOMES, Comparison
from headroles.records.numbers import plural
from headroles.reports.answer.atlas import answer_of as atlas_answer
from headroles.reports.answer.comparison import answer_of
from headroles.reports.sections.across_sheets import counts_sheet, emerged_sheet, trends_sheet
from headroles.reports.sections.atlas_sheets import agreement_sheet, roles_sheet, runs_sheet
from headroles.reports.sections.compare_sheets import SWAPPED, changes_sheet, layers_sheet
from headroles.reports.sheets import ENDS
from headroles.reports.words.compare import (
    label_change_text,
    outcomes_sentence,
    role_change_sentence,
    score_change_sentence,
    test_line,
)
from headroles.terminal.console import (
    MARKS,
    SHORT,
    Detail,
    named_line,
    show_notes,
    show_report,
    show_sentences,
    show_title,
    terminal_table,
)
from headroles.terminal.facts import describe_run

RUN_COLUMNS = {
    "tokens an input": "tokens", "heads with a role": "heads", f"roles a head {ENDS}": f"roles a head {ENDS}",
    "p near 0 or 1": "p near 0, 1", f"middle layers, points {ENDS}": f"middle, points {ENDS}",
}  # fmt: skip
"""Columns of the table of runs that the terminal shows, with their headings there."""


def show_comparison(console: Console, comparison: Comparison, folder: str, detail: Detail = SHORT) -> None:
    """Print the two runs, what changed, and where the report is; all tables where they are asked for.

    Args:
        console: Of any width.
        comparison: Of two runs.
        folder: Folder of the comparison, for the last line.
        detail: With ``verbose``, the test, and outcomes by layer and by sieve.
    """
    facts, answer = comparison.manifest, answer_of(comparison)
    show_title(console, answer.title.translate(MARKS))
    for name in ("a", "b"):
        named_line(console, name.upper(), describe_run(facts[name]))
    show_sentences(console, answer.sentences)
    if detail.verbose:
        _show_tables(console, comparison)
    show_notes(console, comparison.remarks, brief=not detail.verbose)
    show_report(console, folder)


def _show_tables(console: Console, comparison: Comparison) -> None:
    """Print units and test, outcomes by layer and by sieve, and what moved."""
    facts = comparison.manifest
    counts = facts["counts"]
    source = plural(counts["examples"], "example")
    named_line(console, "units", f"{counts['units']}, from {source} ({facts['matched']})")
    swaps = facts["settings"]["swaps"]
    swap_text = f"; {swaps:,} swaps, seed {comparison.decision.seed}" if swaps else ""
    named_line(console, "tested", test_line(comparison.decision, comparison.bound) + swap_text)
    console.print()
    console.print(terminal_table(layers_sheet(comparison)))
    console.print()
    console.print(_sieves(comparison))
    console.print()
    named_line(console, "found", outcomes_sentence(comparison))
    if comparison.swaps:
        named_line(console, "labels", f"of all roles: {label_change_text(comparison.swaps[-1])}")
    named_line(console, "moved", f"{role_change_sentence(comparison)} {score_change_sentence(comparison)}")


def show_atlas(console: Console, atlas: Atlas, folder: str, detail: Detail = SHORT) -> None:
    """Print the runs of an atlas, what they have in common, and where the page is.

    Args:
        console: Of any width.
        atlas: Of two runs or more.
        folder: Folder of the atlas, for the last line.
        detail: With ``verbose``, heads with each role, and the agreement of labels.
    """
    answer = atlas_answer(atlas)
    show_title(console, answer.title.translate(MARKS))
    for place, run in enumerate(atlas.runs):
        named_line(console, "" if place else "runs", f"{run.name}: {run.folder}")
    show_sentences(console, answer.sentences)
    console.print()
    console.print(terminal_table(runs_sheet(atlas).pick(RUN_COLUMNS)))
    sheets = [emerged_sheet(atlas)] * bool(atlas.steps)
    if detail.verbose:
        sheets += [roles_sheet(atlas), agreement_sheet(atlas), counts_sheet(atlas), trends_sheet(atlas)]
    for sheet in sheets:
        if sheet.rows:
            console.print()
            console.print(terminal_table(sheet))
    show_notes(console, atlas.remarks, brief=not detail.verbose)
    show_report(console, folder)


def _sieves(comparison: Comparison) -> Table:
    """Return a table of outcomes of every sieve; for roles also labels, and changes by swaps of A and B."""
    names = {name: name for name in ("sieve", *OUTCOMES)} | {"labels A": "in A", "labels B": "in B"}
    names |= {"gained": "gained", "lost": "lost"}
    if comparison.swaps and comparison.swaps[-1].p == comparison.swaps[-1].p:
        names |= {SWAPPED: "by swaps", "p": "p"}
    return terminal_table(changes_sheet(comparison).pick(names))
