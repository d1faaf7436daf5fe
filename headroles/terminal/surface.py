"""Show a surface run in the terminal: attention by layer, strongest heads, entropies, importance."""

import math
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.records.findings import Labelling
from headroles.records.numbers import number
from headroles.reports.answer.surface import answer_of
from headroles.reports.recorded import account_lines
from headroles.reports.sections.surface_sheets import statistics
from headroles.reports.words.surface import (
    ENTROPIES,
    GROUP,
    MEASURES,
    ROWS,
    column_name,
    column_sentence,
    even_attention,
    has_scores,
    layers_of,
    noop_sentences,
    short_name,
)
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

WIDE = 100
"""Width of the terminal from which means have three decimals."""
HEADINGS = {
    "surface:first": "first",
    "surface:separator": "sepa-\nrator",
    "surface:separator→separator": "sep.→\nsep.",
    "surface:other→separator": "other→\nsep.",
    "surface:punctuation": "punc-\ntuation",
    "surface:previous": "pre-\nvious",
    "surface:next": "next",
    "surface:self": "self",
    "surface:first→first": "first→\nitself",
    "surface:first→separator": "first→\nsep.",
    "surface:first→text": "first→\ntexts",
    "surface:separator→first": "sep.→\nfirst",
    "surface:separator→self": "sep.→\nitself",
    "surface:separator→own-text": "sep.→\nown",
    "surface:separator→other-text": "sep.→\nother",
    "surface:entropy": "entro-\npy",
    "surface:entropy-first": "first\nrow",
}


def show_surface(console: Console, labelling: Labelling, folder: str, detail: Detail = SHORT) -> None:
    """Print the answer, means by layer, the strongest heads, importance, and where the report is.

    Args:
        console: A console of any width; from 100 columns, means have three decimals.
        labelling: A labelling with ``surface``.
        folder: Folder of the run, for the last line.
        detail: With ``verbose``, the test, and sentences on entropies and losses.
    """
    show_title(console, title_of(labelling))
    if detail.verbose:
        _account(console, labelling)
    console.print()
    show_sentences(console, answer_of(labelling).sentences)
    findings = labelling.findings
    columns = [name for name in findings.sieves if name.startswith(GROUP) and has_scores(findings, name)]
    of_rows = [name for name in columns if name in ROWS]
    decimals = 3 if console.width >= WIDE else 2
    tables = [
        _layers(labelling, [name for name in columns if name not in ROWS], "layer", HEADINGS, decimals),
        *([_layers(labelling, of_rows, "rows", HEADINGS, decimals)] if of_rows else []),
        _strongest(labelling, [name for name in columns if name not in ENTROPIES]),
    ]
    for measure in MEASURES:
        measure_columns = [
            name
            for name in findings.sieves
            if name.partition(":")[0] == measure and has_scores(findings, name)
        ]  # fmt: skip
        tables += (
            [
                _layers(
                    labelling, measure_columns, measure, {name: short_name(name) for name in measure_columns}
                )
            ]
            if measure_columns
            else []
        )
    for table in tables:
        console.print()
        console.print(table)
    console.print()
    if detail.verbose:
        _show_sentences(console, labelling, [column for column in ENTROPIES if column in columns])
    show_notes(console, *all_notes(labelling))
    show_report(console, folder)


def _show_sentences(console: Console, labelling: Labelling, entropies: Sequence[str]) -> None:
    """Print sentences on entropies, and on attention that does not matter."""
    for column in entropies:
        words = _lower_first(column_sentence(labelling, column))
        named_line(console, "entropy", f"of {short_name(column)}: {words}")
    for line in noop_sentences(labelling):
        named_line(console, "loss", _lower_first(line))


def _lower_first(line: str) -> str:
    """Return a sentence with a small first letter, to follow a name."""
    return line[0].lower() + line[1:]


def _account(console: Console, labelling: Labelling) -> None:
    """Print model, inputs, test and notes."""
    facts = labelling.manifest
    for line in account_lines(labelling):
        named_line(console, line.name, line.text)
    tested = describe_test(labelling.decision, facts.get("preset")).replace("one sieve", "one statistic")
    named_line(console, "tested", f"against even attention, both ways; {tested}")
    loss = facts.get("surface", {}).get("loss")
    if loss:
        named_line(console, "loss", _lower_first(loss))


def _layers(
    labelling: Labelling,
    columns: Sequence[str],
    corner: str,
    headings: Mapping[str, str],
    decimals: int | None = None,
) -> Table:
    """Make a table of means by layer, the largest of each column in bold; then those of even attention."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(corner)
    for column in columns:
        table.add_column(Text(headings.get(column, short_name(column))), justify="right")
    means = {column: {row.layer: row.mean for row in layers_of(labelling, column)} for column in columns}
    for layer in labelling.scores.stack.numbers:
        cells = []
        for column in columns:
            value = means[column].get(layer, math.nan)
            largest = len(means[column]) > 1 and value == max(means[column].values())
            cells.append(Text(_formatted(value, decimals), style="bold" if largest else ""))
        table.add_row(str(layer), *cells)
    evens = [even_attention(labelling.findings, column) for column in columns]
    if not all(map(math.isnan, evens)):
        table.add_row("even", *(_formatted(value, decimals) for value in evens), style="dim")
    return table


def _formatted(value: float, decimals: int | None) -> str:
    """Return a value with so many decimals; a dash for NaN."""
    return "–" if math.isnan(value) else number(value) if decimals is None else f"{value:.{decimals}f}"


def _strongest(labelling: Labelling, columns: Sequence[str]) -> Table:
    """Return a table by kind of attention: heads above and below even attention, and the strongest head."""
    names = {name: short_name(name) if name in HEADINGS else column_name(name) for name in columns}
    return terminal_table(statistics(labelling, names).sheet("narrow"))
