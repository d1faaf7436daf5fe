"""Show a comparison in the terminal: both runs, outcomes by layer and by sieve, roles gained and lost."""

from textwrap import wrap

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.records.comparison import OUTCOMES, Comparison
from headroles.reports.sections.compare_sheets import SWAPPED, changes_sheet, layers_sheet
from headroles.reports.words.compare import (
    label_change_text,
    outcomes_sentence,
    role_change_sentence,
    score_change_sentence,
    test_line,
)
from headroles.reports.words.words import plural
from headroles.terminal.phrases import SPACE, describe_run
from headroles.terminal.sheets import terminal_table


def show_comparison(console: Console, comparison: Comparison, folder: str) -> None:
    """Print the two runs, their differences by layer and sieve, and the path of the report."""
    facts = comparison.manifest
    for name in ("a", "b"):
        _line(console, name.upper(), describe_run(facts[name]))
    counts = facts["counts"]
    source = plural(counts["examples"], "example")
    _line(console, "units", f"{counts['units']}, from {source} ({facts['matched']})")
    swaps = facts["settings"]["swaps"]
    swap_text = f"; {swaps:,} swaps, seed {comparison.decision.seed}" if swaps else ""
    _line(console, "tested", test_line(comparison.decision, comparison.bound) + swap_text)
    for remark in comparison.remarks:
        _line(console, "note", remark, style="yellow")
    console.print()
    console.print(terminal_table(layers_sheet(comparison)))
    console.print()
    console.print(_sieves(comparison))
    console.print()
    _line(console, "found", outcomes_sentence(comparison))
    if comparison.swaps:
        _line(console, "labels", f"of all roles: {label_change_text(comparison.swaps[-1])}")
    _line(console, "moved", f"{role_change_sentence(comparison)} {score_change_sentence(comparison)}")
    console.print(Text(f"report  {folder}/report.html"))


def _line(console: Console, name: str, words: str, style: str = "") -> None:
    """Print a named line; break it between words on a terminal, and keep it whole for other programs."""
    width = console.width - 8 if console.is_terminal and console.width > 40 else len(words) + 1
    for number_of_line, line in enumerate(wrap(words, width, break_long_words=False, break_on_hyphens=False)):
        console.print(Text(f"{'' if number_of_line else name:<8}{line.replace(SPACE, ' ')}", style=style))


def _sieves(comparison: Comparison) -> Table:
    """Return a table of outcomes of every sieve; for roles also labels, and changes by swaps of A and B."""
    names = {name: name for name in ("sieve", *OUTCOMES)} | {"labels A": "in A", "labels B": "in B"}
    names |= {"gained": "gained", "lost": "lost"}
    if comparison.swaps and comparison.swaps[-1].p == comparison.swaps[-1].p:
        names |= {SWAPPED: "by swaps", "p": "p"}
    return terminal_table(changes_sheet(comparison).pick(names))
