"""Show a comparison of two runs in the terminal."""

from rich.console import Console
from rich.table import Table

from headroles.records.comparison import Comparison
from headroles.records.numbers import plural
from headroles.reports.answer.comparison import answer_of
from headroles.reports.sections.compare_sheets import changes_table, layers_sheet
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


def _sieves(comparison: Comparison) -> Table:
    """Return a table of outcomes of every sieve; for roles also labels, and changes by swaps of A and B."""
    swapped = comparison.swaps and comparison.swaps[-1].p == comparison.swaps[-1].p
    return terminal_table(
        changes_table(comparison).sheet("narrow", leave=[] if swapped else ["swapped", "p"])
    )
