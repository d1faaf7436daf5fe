"""Show a run of probes in the terminal: the best head of every row, baselines, trained probes, gaps."""

import math
from collections.abc import Iterable, Iterator, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.records.findings import Labelling
from headroles.records.probes import ProbeResults
from headroles.records.table import Row, Sheet
from headroles.records.table import Table as Records
from headroles.reports.answer.probes import answer_of
from headroles.reports.recorded import account_lines
from headroles.reports.sections.probe_sheets import (
    baselines_sheet,
    best_sheet,
    gaps_sheets,
    trained_sheet,
)
from headroles.reports.words.probes import (
    Published,
    best_by_probe,
    beyond_rule,
    count_decisions,
    counts_text,
    has_held_out_half,
    probes_of,
    published_in,
    scheme_of,
    selection_text,
    split_row,
    windows_text,
)
from headroles.terminal.console import SHORT as BRIEF
from headroles.terminal.console import (
    Detail,
    named_line,
    show_notes,
    show_report,
    show_sentences,
    show_title,
    terminal_table,
)
from headroles.terminal.facts import all_notes, describe_test, title_of

WIDE = 136
"""Width of the terminal from which decimals are shown."""
GAPS = 5
"""Number of heads with the largest gaps to show, after the top head."""
TOP_RULE = (
    "the top head has the highest measure over all items, on which it is chosen; it need not be a best head"
)
"""The definition of a top head."""
SHORT = {"undetermined": "?", "untestable": "×"}
MEANINGS = "?: undetermined, ×: untestable"
NARROW = 108
"""Width of the terminal below which columns are left out."""


def show_probe(console: Console, labelling: Labelling, folder: str, detail: Detail = BRIEF) -> None:
    """Print the answer, the best heads with baselines and published values, and where the report is.

    Args:
        console: A console of any width; from 136 columns, accuracies have a decimal.
        labelling: A labelling with ``probed``.
        folder: Folder of the run, for the last line.
        detail: With ``verbose``, the test, the meaning of columns, and counts of all heads.
    """
    facts, probed = labelling.manifest, probes_of(labelling)
    published = published_in(facts)
    show_title(console, title_of(labelling))
    if detail.verbose:
        _account(console, labelling)
    console.print()
    show_sentences(console, answer_of(labelling).sentences)
    for probe, rows in best_by_probe(probed.best).items():
        console.print()
        console.print(_best(probe, rows, published, console.width))
    if probed.best and detail.verbose:
        console.print()
        _legend(console, probed.best, published, has_held_out_half(facts))
    elif _has_short_words(console, probed.best):
        console.print(Text(MEANINGS, style="dim"))
    for sheet in _tables(probed, published):
        console.print()
        console.print(terminal_table(sheet, strong=""))
    console.print()
    if detail.verbose:
        if probed.gaps:
            named_line(console, "top", TOP_RULE, style="dim")
        for probe, counts in count_decisions(labelling).items():
            named_line(console, "heads", f"{probe}: {counts_text(counts)} heads × rows × directions")
    show_notes(console, *all_notes(labelling))
    show_report(console, folder)


def _account(console: Console, labelling: Labelling) -> None:
    """Print model, inputs, test, and how the best heads were chosen."""
    facts = labelling.manifest
    best = probes_of(labelling).best
    names = scheme_of(facts, (row.row for row in best))
    for line in account_lines(labelling, f", relations of {names}" if names else ""):
        named_line(console, line.name, line.text)
    if best:
        named_line(console, "best", selection_text(facts))
    if labelling.findings.roles:
        tested = describe_test(labelling.decision, facts.get("preset"), labelling.findings.rules)
        named_line(console, "tested", tested)
    cut = windows_text(facts, losses=False)
    if cut:
        named_line(console, "windows", cut)


def _best(probe: str, rows: Records, published: Mapping[str, Published], width: int) -> Table:
    """Return a table with a line per row of a probe; narrow ones have no decimals and fewer columns."""
    columns, decimals = "narrow" if width < NARROW else "wide", 1 if width >= WIDE else 0
    sheet = best_sheet(probe, rows, published, columns, decimals=decimals, brief=True)
    short = {} if width >= WIDE else SHORT
    return terminal_table(sheet, words=short, gap=2 if width >= WIDE else 1)


def _legend(console: Console, best: Iterable[Row], published: Mapping[str, Published], halves: bool) -> None:
    """Print the meaning of the columns in one paragraph."""
    parts = ["head: layer-head from 0"]
    if any(row.direction for row in best):
        parts.append("→ a word attends to its head most, ← its head is the word that attends to it most")
    if halves:
        parts.append("chosen: % right on the half that head and baseline were chosen on, which flatters them")
        parts.append(
            "tested: % right on the other half, with its own 95 % interval; difference: from the baseline, "
            "in points, with the interval of the difference"
        )
    else:
        parts.append(
            "chosen, tested: % right on all data, which head and baseline were chosen on: flattering"
        )
    if any(not math.isnan(row.contrast) for row in best):
        parts.append("contrast: attention on the right word beyond the head's own distance profile")
    parts.append(beyond_rule(best))
    if _has_short_words(console, best):
        parts.append(MEANINGS)
    if any(row.row in published for row in best):
        parts.append("published: BERT-base, other data and scheme, chosen on the data it is reported on")
    named_line(console, "columns", "; ".join(parts), style="dim")


def _has_short_words(console: Console, best: Iterable[Row]) -> bool:
    """Return whether a table shows short words for decisions."""
    return console.width < WIDE and any(row.decision in SHORT for row in best)


def _tables(probed: ProbeResults, published: Mapping[str, Published]) -> Iterator[Sheet]:
    """Return baselines where they are few, trained probes, these against each other, and gaps."""
    for probe in dict.fromkeys(split_row(row.row)[0] for row in probed.baselines):
        sheet = baselines_sheet(probe, probed, published, brief=True)
        if sheet is not None and not sheet.folded:
            bracketed = any(
                values.baselines for row, values in published.items() if split_row(row)[0] == probe
            )
            yield sheet.pick(sheet.header, f"{probe}, all data{' (published)' * bracketed}")
    trained = trained_sheet(probed, published, "narrow")
    if trained is not None:
        yield trained
    if probed.contests:
        yield probed.contests.sheet("narrow")
    yield from gaps_sheets(probed, GAPS, "narrow")
