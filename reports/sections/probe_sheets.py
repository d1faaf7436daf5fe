"""Tables of probes: best heads, baselines, trained probes, gaps of conditions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from headroles.records.numbers import percent, points
from headroles.records.probes import ProbeResults, baseline_cell, classifier_name
from headroles.records.table import MISSING, Cell, Column, Row, Table
from headroles.records.table import Sheet as Plain
from headroles.reports.sheets import Sheet
from headroles.reports.words.probes import (
    TOP,
    Published,
    accuracy,
    best_by_probe,
    notable_gaps,
    row_title,
    split_row,
)

GAPS = 12
"""Heads with the largest gaps that are shown in addition to the top head."""
WEIGHTS = 30
"""Largest weights that are listed."""
FEW = 5
"""Most baselines whose table stands open."""


def best_sheet(
    probe: str,
    rows: Table,
    published: Mapping[str, Published],
    width: str = "",
    *,
    decimals: int = 1,
    brief: bool = False,
    titled: bool = False,
) -> Plain:
    """Return the best heads of a probe, one line per row; empty columns are left out.

    Args:
        probe: Its name.
        rows: Its best heads.
        published: By row.
        width: As of ``Table.sheet``.
        decimals: Of accuracies in per cent.
        brief: Whether contrasts stand without intervals, and published values without heads.
        titled: Whether rows stand in plain words, too, and units under the items: notes on the cells.
    """
    table = rows.describe("row", heading=probe, cell=partial(_row, titled=titled))
    table = table.describe("q", heading=tested_heading(rows))
    for name in ("selection", "accuracy"):
        table = table.describe(name, text=partial(percent, decimals=decimals))
    table = table.describe("difference", text=partial(points, decimals=decimals))
    table = table.describe("baseline", cell=partial(baseline_cell, decimals=decimals))
    if brief:
        table = table.describe("contrast", heading="contrast", ends=())
    if titled:
        table = table.describe("items", cell=_items)
    leave = [
        *["units"] * titled,
        *["contrast"] * all(math.isnan(value) for value in rows["contrast"]),
    ]
    if any(row.row in published for row in rows):
        known = [published.get(row.row) for row in rows]
        table = _with_published(table, known, decimals=decimals, brief=brief)
    return replace(table, name=f"Best head of every row of {probe}").sheet(width, leave=leave)


def _row(row: Row, titled: bool) -> Cell:
    """Return a row of a probe, with its name in plain words where it has others."""
    name, title = split_row(row.row)[1], row_title(row.row, "")
    return Cell(name, name, title if titled and title != name else "")


def _with_published(
    table: Table, known: Sequence[Published | None], *, decimals: int = 1, brief: bool = True
) -> Table:
    """Return a table with accuracies as published at its end, and unless ``brief`` their heads, from 1.

    Args:
        table: Any.
        known: The published result of each row; None for none.
        decimals: Of per cent.
        brief: Whether heads are left out.
    """
    cells = iter(known)

    def cell(row: Row) -> Cell:
        result = next(cells)
        if result is None:
            return Cell("", math.nan)
        head = f" (head {result.head})" * (bool(result.head) and not brief)
        return Cell(percent(result.accuracy, decimals) + head, result.accuracy)

    column = Column("published", "As published.", float, "published", cell=cell, terminal="narrow")
    return replace(table, columns=(*table.columns, column))


def _items(row: Row) -> Cell:
    """Return the items of a row, with its units."""
    return Cell(f"{row.items:,}", row.items, f"{row.units:,} units")


def tested_heading(rows: Iterable[Row]) -> str:
    r"""Return the heading of q, with the difference that it is tested against.

    Example:
        >>> tested_heading([])
        'q'
    """
    margins = sorted({row.margin for row in rows if not math.isnan(row.margin)})
    return f"q (> {' or '.join(f'{100 * margin:g}' for margin in margins)} points)" if margins else "q"


def baselines_sheet(
    probe: str, probed: ProbeResults, published: Mapping[str, Published], *, brief: bool = False
) -> Sheet | None:
    """Return rows × baselines on all data, published values in brackets; None without baselines.

    Args:
        probe: Its name.
        probed: Results with the baselines; rows with a best head come first.
        published: By row.
        brief: Whether accuracies stand without intervals.
    """
    by_cell = {(row.row, row.baseline): row for row in probed.baselines if split_row(row.row)[0] == probe}
    if not by_cell:
        return None
    names = list(dict.fromkeys(baseline for _, baseline in by_cell))
    own_rows = dict.fromkeys(row for row, _ in by_cell)
    best = [row.row for row in best_by_probe(probed.best).get(probe, ()) if row.row in own_rows]
    lines = []
    for place, row in enumerate(dict.fromkeys([*best, *own_rows])):
        known = published[row].baselines if row in published else {}
        cells = [
            _baseline(by_cell.get((row, name)), known.get(name, math.nan), brief=brief) for name in names
        ]
        lines.append((Cell(split_row(row)[1], place), *cells))
    bracketed = any(published[row].baselines for row in own_rows if row in published)
    name = f"Baselines of {probe}, all data{', published values in brackets' * bracketed}"
    return Sheet(name, (probe, *names), tuple(lines), folded=len(names) > FEW)


def _baseline(baseline: Row | None, published: float, *, brief: bool) -> Cell:
    """Return the accuracy of a baseline, with the published one in brackets."""
    if baseline is None:
        return MISSING
    in_brackets = "" if math.isnan(published) else f" ({percent(published)})"
    text = percent(baseline.accuracy) if brief else accuracy(baseline)
    return Cell(text + in_brackets, baseline.accuracy)


def trained_sheet(probed: ProbeResults, published: Mapping[str, Published], width: str = "") -> Plain | None:
    """Return trained probes and baselines for them; None where none were trained.

    Args:
        probed: Results with the trained probes.
        published: Those of a probe stand under ``"trained:NAME"``.
        width: As of ``Table.sheet``; terminals leave out a column without published values.
    """
    known = [published.get(f"trained:{classifier_name(row)}") for row in probed.trained]
    if not known:
        return None
    leave = ["published"] if width and not any(known) else []
    return _with_published(probed.trained, known).sheet(width, leave=leave)


def gaps_sheets(probed: ProbeResults, most: int = GAPS, width: str = "") -> tuple[Plain, ...]:
    """Return heads under two conditions: the top head and those with the largest gaps, a table per pair.

    Args:
        probed: Results with the gaps.
        most: Heads with the largest gaps.
        width: As of ``Table.sheet``.
    """
    sheets = []
    for table in notable_gaps(probed.gaps, most):
        top = table[0]
        for name, heading in {
            "both": f"{top.measure}, all",
            "first_value": top.first,
            "second_value": top.second,
        }.items():
            table = table.describe(name, heading=heading)
        table = table.describe("head", cell=partial(_head, top=(top.layer, top.head)))
        sheets.append(replace(table, name=f"{top.measure}: {top.first} − {top.second}").sheet(width))
    return tuple(sheets)


def _head(row: Row, top: tuple[int, int]) -> Cell:
    """Return a head, with a mark on the top head."""
    mark = f" {TOP}" if (row.layer, row.head) == top else ""
    return Cell(f"{row.layer}-{row.head}{mark}", row.layer + row.head / 1000)


def largest_weights(weights: Table) -> tuple[tuple[str, ...], ...]:
    """Return the largest weights in either direction as text: head, direction, weight."""
    known = weights.take(~np.isnan(weights["weight"]))
    return known.take(np.argsort(-np.abs(known["weight"]), kind="stable")[:WEIGHTS]).sheet().texts
