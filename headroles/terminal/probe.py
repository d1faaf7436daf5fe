"""Show a run of probes in the terminal: the best head of every row, baselines, trained probes, gaps."""

import math
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from headroles.records.findings import Labelling
from headroles.records.probes import BestHead, ProbeResults
from headroles.reports.words.probes import (
    Published,
    accuracy,
    best_by_probe,
    beyond_rule,
    classifier_name,
    contrast,
    count_decisions,
    counts_text,
    difference,
    has_held_out_half,
    head_name,
    notable_gaps,
    percent,
    points,
    published_in,
    scheme_of,
    selection_text,
    split_row,
    windows_text,
    with_interval,
)
from headroles.reports.words.words import p_text, plural
from headroles.terminal.label import describe_inputs, named_line
from headroles.terminal.phrases import describe_test

WIDE = 136
"""Width of the terminal from which decimals are shown."""
GAPS = 5
"""Number of heads with the largest gaps to show, after the best head."""
BASELINES = 5
"""Largest number of baselines in a table; those of all offsets are in the file only."""
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
    for probe in dict.fromkeys(split_row(row.row)[0] for row in probed.baselines):
        table = _baselines(probe, probed, published)
        if table is not None:
            console.print()
            console.print(table)
    for table in (_trained(probed, published), _contests(probed), *_gaps(probed)):
        if table is not None:
            console.print()
            console.print(table)
    console.print()
    for probe, counts in count_decisions(labelling).items():
        named_line(console, "heads", f"{probe}: {counts_text(counts)} heads × rows × directions")
    for note in labelling.skipped:
        named_line(console, "note", note)
    console.print(Text(f"report  {folder}/report.html"))


def _account(console: Console, labelling: Labelling) -> None:
    """Print model, inputs, test, and how the best heads were chosen."""
    facts = labelling.manifest
    model, counts = facts["model"], facts["counts"]
    best = labelling.probed.best if labelling.probed is not None else ()
    names = scheme_of(facts, (row.row for row in best))
    console.print(Text(f"model   {model['name']} ({model['architecture']}), from {model['origin']}"))
    numbers = f"{plural(counts['examples'], 'example')}, {plural(counts['units'], 'unit')}"
    inputs = f"{describe_inputs(facts)}: {numbers}"
    console.print(Text(f"inputs  {inputs}{f', relations of {names}' if names else ''}"))
    if best:
        named_line(console, "best", selection_text(facts))
    if labelling.findings.roles:
        named_line(
            console, "tested", describe_test(labelling.decision, facts["preset"], labelling.findings.rules)
        )
    cut = windows_text(facts, losses=False)
    if cut:
        named_line(console, "windows", cut)
    remarks = labelling.assessment.remarks if labelling.assessment else ()
    for note in (*facts.get("notes", ()), *remarks):
        named_line(console, "note", note, style="yellow")


def _table(first: str, numbers: Sequence[str], gap: int = 2) -> Table:
    """Make a plain table with names in the first column and numbers in the others."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0))
    table.add_column(escape(first))
    for name in numbers:
        table.add_column(escape(name), justify="right")
    return table


def _best(probe: str, rows: Sequence[BestHead], published: Mapping[str, Published], wide: bool) -> Table:
    """Make a table with a line per row of a probe, like the published one; empty columns are left out."""
    decimals = 1 if wide else 0
    columns: dict[str, Callable[[BestHead], str]] = {
        "head": head_name,
        "chosen": lambda best: percent(best.selection, decimals),
        "tested": lambda best: accuracy(best, decimals),
        "baseline": lambda best: f"{best.baseline} {percent(best.baseline_accuracy, decimals)}",
        "difference": lambda best: difference(best, decimals),
        "q": lambda best: p_text(best.q),
        "decision": lambda best: best.decision if wide else SHORT.get(best.decision, best.decision),
    }
    if any(not math.isnan(best.contrast) for best in rows):
        columns["contrast"] = lambda best: contrast(best, ends=False)
    if any(best.row in published for best in rows):
        columns["published"] = lambda best: _published_text(published.get(best.row), decimals)
    table = _table(probe, list(columns), 2 if wide else 1)
    for best in rows:
        cells = [Text(cell(best)) for cell in columns.values()]
        table.add_row(Text(split_row(best.row)[1]), *cells, style="bold" if best.decision == "beyond" else "")
    return table


def _published_text(published: Published | None, decimals: int = 1) -> str:
    """Return a published accuracy, or "" where there is none."""
    return "" if published is None else percent(published.accuracy, decimals)


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


def _baselines(probe: str, probed: ProbeResults, published: Mapping[str, Published]) -> Table | None:
    """Make a table of the accuracy of every baseline on all data; None with too many baselines."""
    rows = [row for row in probed.baselines if split_row(row.row)[0] == probe]
    names = list(dict.fromkeys(row.baseline for row in rows))
    if len(names) > BASELINES:
        return None
    values = {(row.row, row.baseline): row.accuracy for row in rows}
    order = [row.row for row in best_by_probe(probed.best).get(probe, ())]
    bracketed = any(values.baselines for row, values in published.items() if split_row(row)[0] == probe)
    table = _table(f"{probe}, all data{' (published)' * bracketed}", names)
    for row in dict.fromkeys([*order, *(row.row for row in rows)]):
        published_values = published.get(row, Published(math.nan)).baselines
        cells = [
            _with_published(values.get((row, name), math.nan), published_values.get(name, math.nan))
            for name in names
        ]
        table.add_row(Text(split_row(row)[1]), *map(Text, cells))
    return table


def _with_published(value: float, published: float) -> str:
    """Return the accuracy of a baseline, with the published one in brackets."""
    return percent(value) if math.isnan(published) else f"{percent(value)} ({percent(published, 0)})"


def _trained(probed: ProbeResults, published: Mapping[str, Published]) -> Table | None:
    """Make a table of trained probes and their baselines; None without any."""
    if not probed.trained:
        return None
    published_uas = {row: published.get(f"trained:{classifier_name(row)}") for row in probed.trained}
    published_column = ["published"] if any(published_uas.values()) else []
    table = _table("trained probe", ["UAS [95 %]", "words", "trained on", "epochs", *published_column])
    for row in probed.trained:
        training_size = (f"{row.trained_on:,}", str(row.epochs)) if row.trained_on else ("–", "–")
        cells = [
            accuracy(row, field="uas"),
            f"{row.words:,}",
            *training_size,
            *[_published_text(published_uas[row])] * len(published_column),
        ]
        table.add_row(Text(classifier_name(row)), *map(Text, cells))
    return table


def _contests(probed: ProbeResults) -> Table | None:
    """Make a table of differences between trained probes; None without any."""
    if not probed.contests:
        return None
    table = _table("first − second", ["UAS [95 %]", "q"])
    for contest in probed.contests:
        gap = with_interval(*(points(value) for value in (contest.difference, contest.low, contest.high)))
        table.add_row(*map(Text, (f"{contest.first} − {contest.second}", gap, p_text(contest.q))))
    return table


def _gaps(probed: ProbeResults) -> list[Table]:
    """Make a table per pair of conditions: the best head, then heads whose accuracy differs most."""
    tables: dict[tuple[str, str, str], Table] = {}
    for gap, mark in notable_gaps(probed, GAPS):
        names = (gap.first, gap.second, gap.measure)
        header = [f"{gap.measure}, all", *names[:2], "difference [95 %]", "q"]
        table = tables.setdefault(names, _table("head", header))
        shares = (percent(value) for value in (gap.both, gap.first_value, gap.second_value))
        apart = with_interval(*(points(value) for value in (gap.difference, gap.low, gap.high)))
        cells = (f"{gap.layer}-{gap.head} {mark}", *shares, apart, p_text(gap.q))
        table.add_row(*map(Text, cells))
    return list(tables.values())
