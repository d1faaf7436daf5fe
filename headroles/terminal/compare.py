"""Show a comparison in the terminal: both runs, outcomes by layer and by sieve, roles gained and lost."""

from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.records.comparison import OUTCOMES, Comparison
from headroles.reports.words.compare import (
    LAYER_HEADER,
    label_change_text,
    layer_rows,
    outcomes_sentence,
    role_change_sentence,
    score_change_sentence,
    test_line,
)
from headroles.reports.words.words import count, number, plural, with_range
from headroles.terminal.console import plain_table
from headroles.terminal.phrases import SPACE, describe_run


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
    console.print(_layers(comparison))
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


def _layers(comparison: Comparison) -> Table:
    """Make a table of outcomes and labels of every layer, over its heads and roles."""
    table = plain_table(LAYER_HEADER)
    for row in layer_rows(comparison):
        table.add_row(*row)
    return table


def _sieves(comparison: Comparison) -> Table:
    """Make a table of outcomes of every sieve; for roles also labels, and changes by swaps of A and B."""
    differences, moved_labels = comparison.differences, {row.sieve: row for row in comparison.swaps}
    has_swaps = comparison.swaps and comparison.swaps[-1].p == comparison.swaps[-1].p
    table = plain_table(
        ("sieve", *OUTCOMES, "in A", "in B", "gained", "lost", *(["by swaps", "p"] * bool(has_swaps)))
    )
    for position, rule in enumerate(differences.rules):
        cells: list[Any] = [Text(rule.sieve), *map(str, differences.counts(position))]
        row = moved_labels.get(rule.sieve) if rule.role else None
        if row is not None:
            cells += [str(value) for value in (row.labels_a, row.labels_b, row.gained, row.lost)]
            low, high = count(row.changed_low), count(row.changed_high)
            reference = with_range(count(row.changed_mean), low, high).replace(SPACE, " ")
            cells += [reference, number(row.p)] if has_swaps else []
        table.add_row(*cells)
    return table
