"""Show a run of probes in the terminal: the best head of every row, baselines, trained probes, gaps."""

import math
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.records.findings import Labelling
from headroles.records.probes import BestHead, ProbeResults
from headroles.reports.sections.probe_sheets import (
    baselines_sheet,
    best_sheet,
    contests_sheet,
    gaps_sheets,
    trained_sheet,
)
from headroles.reports.sheets import ENDS, Sheet
from headroles.reports.words.probes import (
    Published,
    best_by_probe,
    beyond_rule,
    count_decisions,
    counts_text,
    has_held_out_half,
    published_in,
    scheme_of,
    selection_text,
    split_row,
    windows_text,
)
from headroles.terminal.label import named_line, show_account
from headroles.terminal.phrases import describe_test
from headroles.terminal.sheets import terminal_table

WIDE = 136
"""Width of the terminal from which decimals are shown."""
GAPS = 5
"""Number of heads with the largest gaps to show, after the top head."""
TOP_RULE = (
    "the top head has the highest measure over all items, on which it is chosen; it need not be a best head"
)
"""The definition of a top head."""
SHORT = {"undetermined": "?", "untestable": "×"}


def show_probe(console: Console, labelling: Labelling, folder: str) -> None:
    """Print the run, the best heads with baselines and published values, and the path of the report.

    Args:
        console: A console of any width; from 136 columns, accuracies have a decimal.
        labelling: A labelling with ``probed``.
        folder: Folder of the run, for the last line.
    """
    facts, probed = labelling.manifest, labelling.probed or ProbeResults(None)
    published = published_in(facts)
    _account(console, labelling)
    for probe, rows in best_by_probe(probed.best).items():
        console.print()
        console.print(_best(probe, rows, published, console.width >= WIDE))
    if probed.best:
        console.print()
        _legend(console, probed.best, published, has_held_out_half(facts))
    for sheet in _tables(probed, published):
        console.print()
        console.print(terminal_table(sheet, strong=""))
    console.print()
    if probed.gaps:
        named_line(console, "top", TOP_RULE, style="dim")
    for probe, counts in count_decisions(labelling).items():
        named_line(console, "heads", f"{probe}: {counts_text(counts)} heads × rows × directions")
    for note in labelling.skipped:
        named_line(console, "note", note)
    console.print(Text(f"report  {folder}/report.html"))


def _account(console: Console, labelling: Labelling) -> None:
    """Print model, inputs, test, and how the best heads were chosen."""
    facts = labelling.manifest
    best = labelling.probed.best if labelling.probed else ()
    names = scheme_of(facts, (row.row for row in best))
    show_account(console, facts, f", relations of {names}" if names else "")
    if best:
        named_line(console, "best", selection_text(facts))
    if labelling.findings.roles:
        tested = describe_test(labelling.decision, facts.get("preset"), labelling.findings.rules)
        named_line(console, "tested", tested)
    cut = windows_text(facts, losses=False)
    if cut:
        named_line(console, "windows", cut)
    remarks = labelling.assessment.remarks if labelling.assessment else ()
    for note in (*facts.get("notes", ()), *remarks):
        named_line(console, "note", note, style="yellow")


def _best(probe: str, rows: Sequence[BestHead], published: Mapping[str, Published], wide: bool) -> Table:
    """Return a table with a line per row of a probe, like the published one; narrow ones have no decimals."""
    sheet = best_sheet(probe, rows, published, 1 if wide else 0, brief=True)
    shown = sheet.pick(
        {
            "head": "head", "chosen": "chosen", f"tested {ENDS}": "tested", "baseline": "baseline",
            f"difference {ENDS}": "difference", "q": "q", "decision": "decision", "contrast": "contrast",
            "published": "published",
        }
    )  # fmt: skip
    return terminal_table(shown, words={} if wide else SHORT, gap=2 if wide else 1)


def _legend(
    console: Console, best: Sequence[BestHead], published: Mapping[str, Published], halves: bool
) -> None:
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
    if console.width < WIDE and any(row.decision in SHORT for row in best):
        parts.append("?: undetermined, ×: untestable")
    if any(row.row in published for row in best):
        parts.append("published: BERT-base, other data and scheme, chosen on the data it is reported on")
    named_line(console, "columns", "; ".join(parts), style="dim")


def _tables(probed: ProbeResults, published: Mapping[str, Published]) -> Iterator[Sheet]:
    """Return baselines where they are few, trained probes, these against each other, and gaps."""
    for probe in dict.fromkeys(split_row(row.row)[0] for row in probed.baselines):
        sheet = baselines_sheet(probe, probed, published, brief=True)
        if sheet is not None and not sheet.folded:
            bracketed = any(
                values.baselines for row, values in published.items() if split_row(row)[0] == probe
            )
            yield sheet.pick(sheet.header, f"{probe}, all data{' (published)' * bracketed}")
    trained, contests = trained_sheet(probed, published), contests_sheet(probed)
    if trained is not None:
        has_published = any(row[-1].text for row in trained.rows)
        yield trained.pick(
            {
                f"UAS, % {ENDS}": f"UAS {ENDS}", "words": "words", "sentences trained on": "trained on",
                "epochs": "epochs", **({"published": "published"} if has_published else {}),
            },
            "trained probe",
        )  # fmt: skip
    if contests is not None:
        yield contests.pick({f"UAS, points {ENDS}": f"UAS {ENDS}", "q": "q"})
    for sheet in gaps_sheets(probed, GAPS):
        headings = dict.fromkeys(sheet.header[1:4]) | {f"difference, points {ENDS}": f"difference {ENDS}"}
        yield sheet.pick({name: heading or name for name, heading in headings.items()} | {"q": "q"})
