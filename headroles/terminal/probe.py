"""What probes found in the terminal: the best head of every row, baselines, trained probes, gaps."""

import math
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from headroles.records.findings import Labelling
from headroles.records.probes import Best, Probed
from headroles.reports.words.probes import (
    Published,
    accuracy,
    beyond,
    chosen,
    classifier,
    contrast,
    counted,
    difference,
    head_name,
    honest,
    ordered,
    outcomes,
    percent,
    points,
    published_in,
    scheme,
    split,
    told_gaps,
    windows,
    within,
)
from headroles.reports.words.words import chance_of, plural
from headroles.terminal.label import inputs_told, named_line
from headroles.terminal.phrases import how_tested

WIDE = 136
"""Columns from which on decimals are shown."""
GAPS = 5
"""Heads with the largest gaps, beside the best one."""
BASELINES = 5
"""Baselines of a row that a table shows at most; those of all offsets are in the file only."""
SHORT = {"undetermined": "?", "untestable": "×"}


def show_probe(console: Console, labelling: Labelling, folder: str) -> None:
    """Print what was asked, the best heads beside baselines and published values, and where the report is.

    Args:
        console: Of any width; from 136 columns on accuracies have a decimal.
        labelling: With ``probed``.
        folder: Of the run, as it is named in the last line.
    """
    facts, found = labelling.manifest, labelling.probed or Probed(None)
    published = published_in(facts)
    _account(console, labelling)
    for probe, rows in ordered(found.best).items():
        console.print()
        console.print(_best(probe, rows, published, console.width >= WIDE))
    if found.best:
        console.print()
        _legend(console, found.best, published, honest(facts))
    for probe in dict.fromkeys(split(each.row)[0] for each in found.baselines):
        table = _baselines(probe, found, published)
        if table is not None:
            console.print()
            console.print(table)
    for table in (_trained(found, published), _contests(found), *_gaps(found)):
        if table is not None:
            console.print()
            console.print(table)
    console.print()
    for probe, counts in outcomes(labelling).items():
        named_line(console, "heads", f"{probe}: {counted(counts)} heads × rows × directions")
    for note in labelling.skipped:
        named_line(console, "note", note)
    console.print(Text(f"report  {folder}/report.html"))


def _account(console: Console, labelling: Labelling) -> None:
    """What was run, on what, and how the best were chosen."""
    facts = labelling.manifest
    model, counts = facts["model"], facts["counts"]
    best = labelling.probed.best if labelling.probed is not None else ()
    names = scheme(facts, (each.row for each in best))
    console.print(Text(f"model   {model['name']} ({model['architecture']}), from {model['origin']}"))
    told = f"{inputs_told(facts)}: {plural(counts['examples'], 'example')}, {plural(counts['units'], 'unit')}"
    console.print(Text(f"inputs  {told}{f', relations of {names}' if names else ''}"))
    if best:
        named_line(console, "best", chosen(facts))
    if labelling.findings.roles:
        named_line(
            console, "tested", how_tested(labelling.decision, facts["preset"], labelling.findings.rules)
        )
    cut = windows(facts, losses=False)
    if cut:
        named_line(console, "windows", cut)
    remarks = labelling.assessment.remarks if labelling.assessment else ()
    for note in (*facts.get("notes", ()), *remarks):
        named_line(console, "note", note, style="yellow")


def _table(first: str, numbers: Sequence[str], gap: int = 2) -> Table:
    """A bare table: one column of names, the others of numbers."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0))
    table.add_column(escape(first))
    for name in numbers:
        table.add_column(escape(name), justify="right")
    return table


def _best(probe: str, rows: Sequence[Best], published: Mapping[str, Published], wide: bool) -> Table:
    """One line per row of a probe, in the shape of the published table; empty columns are left out."""
    decimals = 1 if wide else 0
    columns: dict[str, Callable[[Best], str]] = {
        "head": head_name,
        "chosen": lambda each: percent(each.selection, decimals),
        "tested": lambda each: accuracy(each, decimals),
        "baseline": lambda each: f"{each.baseline} {percent(each.baseline_accuracy, decimals)}",
        "difference": lambda each: difference(each, decimals),
        "q": lambda each: chance_of(each.q),
        "decision": lambda each: each.decision if wide else SHORT.get(each.decision, each.decision),
    }
    if any(not math.isnan(each.contrast) for each in rows):
        columns["contrast"] = lambda each: contrast(each, ends=False)
    if any(each.row in published for each in rows):
        columns["published"] = lambda each: _told(published.get(each.row), decimals)
    table = _table(probe, list(columns), 2 if wide else 1)
    for each in rows:
        cells = [Text(cell(each)) for cell in columns.values()]
        table.add_row(Text(split(each.row)[1]), *cells, style="bold" if each.decision == "beyond" else "")
    return table


def _told(published: Published | None, decimals: int = 1) -> str:
    return "" if published is None else percent(published.accuracy, decimals)


def _legend(console: Console, best: Sequence[Best], published: Mapping[str, Published], halves: bool) -> None:
    """What the columns are, in one paragraph."""
    told = ["head: layer-head from 0"]
    if any(each.direction for each in best):
        told.append("→ a word attends to its head most, ← its head is the word that attends to it most")
    if halves:
        told.append("chosen: % right on the half that head and baseline were chosen on, which flatters them")
        told.append("tested: % right on the other half [95 %], as are baseline and difference")
    else:
        told.append("chosen, tested: % right on all data, which head and baseline were chosen on: flattering")
    if any(not math.isnan(each.contrast) for each in best):
        told.append("contrast: attention on the right word beyond the head's own distance profile")
    told.append(beyond(best))
    if console.width < WIDE and any(each.decision in SHORT for each in best):
        told.append("?: undetermined, ×: untestable")
    if any(each.row in published for each in best):
        told.append("published: BERT-base, other data and scheme, chosen on the data it is reported on")
    named_line(console, "columns", "; ".join(told), style="dim")


def _baselines(probe: str, found: Probed, published: Mapping[str, Published]) -> Table | None:
    """Accuracy of every baseline on all data, by row; None where they are too many to read."""
    rows = [each for each in found.baselines if split(each.row)[0] == probe]
    names = list(dict.fromkeys(each.baseline for each in rows))
    if len(names) > BASELINES:
        return None
    values = {(each.row, each.baseline): each.accuracy for each in rows}
    order = [each.row for each in ordered(found.best).get(probe, ())]
    bracketed = any(each.baselines for row, each in published.items() if split(row)[0] == probe)
    table = _table(f"{probe}, all data{' (published)' * bracketed}", names)
    for row in dict.fromkeys([*order, *(each.row for each in rows)]):
        told = published.get(row, Published(math.nan)).baselines
        cells = [_beside(values.get((row, name), math.nan), told.get(name, math.nan)) for name in names]
        table.add_row(Text(split(row)[1]), *map(Text, cells))
    return table


def _beside(value: float, published: float) -> str:
    """A baseline's accuracy, and the published one in brackets."""
    return percent(value) if math.isnan(published) else f"{percent(value)} ({percent(published, 0)})"


def _trained(found: Probed, published: Mapping[str, Published]) -> Table | None:
    """Trained probes and the baselines beside them."""
    if not found.trained:
        return None
    told = {each: published.get(f"trained:{classifier(each)}") for each in found.trained}
    known = ["published"] if any(told.values()) else []
    table = _table("trained probe", ["UAS [95 %]", "words", "trained on", "epochs", *known])
    for each in found.trained:
        fitted = (f"{each.trained_on:,}", str(each.epochs)) if each.trained_on else ("–", "–")
        cells = [accuracy(each, field="uas"), f"{each.words:,}", *fitted, *[_told(told[each])] * len(known)]
        table.add_row(Text(classifier(each)), *map(Text, cells))
    return table


def _contests(found: Probed) -> Table | None:
    """Trained probes against each other."""
    if not found.contests:
        return None
    table = _table("first − second", ["UAS [95 %]", "q"])
    for each in found.contests:
        gap = within(*(points(value) for value in (each.difference, each.low, each.high)))
        table.add_row(*map(Text, (f"{each.first} − {each.second}", gap, chance_of(each.q))))
    return table


def _gaps(found: Probed) -> list[Table]:
    """Heads whose accuracy differs most between two conditions, after the best head; a table a pair."""
    tables: dict[tuple[str, str, str], Table] = {}
    for each, mark in told_gaps(found, GAPS):
        names = (each.first, each.second, each.measure)
        header = [f"{each.measure}, all", *names[:2], "difference [95 %]", "q"]
        table = tables.setdefault(names, _table("head", header))
        shares = (percent(value) for value in (each.both, each.first_value, each.second_value))
        apart = within(*(points(value) for value in (each.difference, each.low, each.high)))
        cells = (f"{each.layer}-{each.head} {mark}", *shares, apart, chance_of(each.q))
        table.add_row(*map(Text, cells))
    return list(tables.values())
