"""What probes found as tables that sort."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headroles.records.probes import Baseline, Best, Probed, Weight
from headroles.reports.words.probes import (
    Published,
    accuracy,
    contrast,
    difference,
    head_name,
    percent,
    points,
    split,
    told_gaps,
    within,
)
from headroles.reports.words.words import chance_of, two

GAPS = 12
"""Heads with the largest gaps that are shown beside the best one."""
WEIGHTS = 30
"""Largest weights that are listed."""
FEW = 5
"""Baselines up to which their table stands open."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table that sorts.

    Attributes:
        text: What is shown.
        key: What it is sorted by; NaN comes last, and words sort by their text.
    """

    text: str
    key: int | float | str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table that sorts.

    Attributes:
        name: What it holds, for readers who do not see it.
        header: Column names.
        rows: The first cell names the row.
        folded: Whether it is shown on request only.
    """

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folded: bool = False


def best_sheet(probe: str, rows: Sequence[Best], published: Mapping[str, Published]) -> Sheet:
    """The best heads of a probe, one line per row; columns in which nothing is said are left out."""
    contrasted = any(not math.isnan(each.contrast) for each in rows)
    told = any(each.row in published for each in rows)
    header = [
        probe, "head", "items", "units", "chosen", "tested [95\u00a0%]", "baseline", "difference [95\u00a0%]",
        "q", "decision",
    ]  # fmt: skip
    header += ["contrast [95\u00a0%]"] * contrasted + ["published"] * told
    lines = []
    for place, each in enumerate(rows):
        cells = [
            Cell(split(each.row)[1], place),
            Cell(head_name(each), each.layer + each.head / 1000 if each.layer >= 0 else math.nan),
            Cell(f"{each.items:,}", each.items),
            Cell(f"{each.units:,}", each.units),
            Cell(percent(each.selection), each.selection),
            Cell(accuracy(each), each.accuracy),
            Cell(f"{each.baseline}: {percent(each.baseline_accuracy)}", each.baseline_accuracy),
            Cell(difference(each), each.difference),
            Cell(chance_of(each.q), each.q),
            Cell(each.decision, each.decision),
        ]
        cells += [Cell(contrast(each), each.contrast)] * contrasted
        cells += [_published(published.get(each.row))] * told
        lines.append(tuple(cells))
    return Sheet(f"Best head of every row of {probe}", tuple(header), tuple(lines))


def _published(each: Published | None) -> Cell:
    """An accuracy as published, with its head; heads are counted from 1 there."""
    if each is None:
        return Cell("", math.nan)
    return Cell(percent(each.accuracy) + f" (head {each.head})" * bool(each.head), each.accuracy)


def baselines_sheet(
    probe: str, baselines: Sequence[Baseline], order: Iterable[str], published: Mapping[str, Published]
) -> Sheet | None:
    """Rows × baselines, on all data, published values in brackets; None where there are no baselines.

    Args:
        probe: Its name.
        baselines: Of this probe.
        order: Rows that come first.
        published: By row.
    """
    if not baselines:
        return None
    names = list(dict.fromkeys(each.baseline for each in baselines))
    held = {(each.row, each.baseline): each for each in baselines}
    known = dict.fromkeys(each.row for each in baselines)
    rows = [row for row in dict.fromkeys([*order, *known]) if row in known]
    lines = []
    for place, row in enumerate(rows):
        cells = [Cell(split(row)[1], place)]
        for name in names:
            each = held.get((row, name))
            told = published[row].baselines.get(name, math.nan) if row in published else math.nan
            beside = "" if math.isnan(told) else f" ({percent(told)})"
            cells.append(
                Cell("–", math.nan) if each is None else Cell(accuracy(each) + beside, each.accuracy)
            )
        lines.append(tuple(cells))
    bracketed = ", published values in brackets" * any(
        published[row].baselines for row in rows if row in published
    )
    return Sheet(
        f"Baselines of {probe}, all data{bracketed}", (probe, *names), tuple(lines), folded=len(names) > FEW
    )


def contests_sheet(found: Probed) -> Sheet | None:
    """Trained probes against each other; None where there are none."""
    if not found.contests:
        return None
    header = ("first − second", "UAS, points [95\u00a0%]", "statistic", "p", "q")
    lines = [
        (
            Cell(f"{each.first} − {each.second}", place),
            Cell(_points(each.difference, each.low, each.high), each.difference),
            Cell(two(each.statistic), each.statistic),
            Cell(chance_of(each.p), each.p),
            Cell(chance_of(each.q), each.q),
        )
        for place, each in enumerate(found.contests)
    ]
    return Sheet("Trained probes against each other", header, tuple(lines))


def gaps_sheets(found: Probed) -> tuple[Sheet, ...]:
    """Heads under two conditions: the best one and those with the largest gaps, a table per pair."""
    tables: dict[tuple[str, str, str], list[tuple[Cell, ...]]] = {}
    for each, mark in told_gaps(found, GAPS):
        place = each.layer + each.head / 1000
        line = (
            Cell(f"{each.layer}-{each.head} {mark}".rstrip(), place),
            Cell(percent(each.both), each.both),
            Cell(percent(each.first_value), each.first_value),
            Cell(percent(each.second_value), each.second_value),
            Cell(_points(each.difference, each.low, each.high), each.difference),
            Cell(chance_of(each.p), each.p),
            Cell(chance_of(each.q), each.q),
        )
        tables.setdefault((each.first, each.second, each.measure), []).append(line)
    return tuple(
        Sheet(
            f"{measure}: {first} − {second}",
            ("head", f"{measure}, all", first, second, "difference, points [95\u00a0%]", "p", "q"),
            tuple(lines),
        )
        for (first, second, measure), lines in tables.items()
    )


def _points(*ends: float) -> str:
    """A difference with its interval, in points."""
    return within(*(points(value) for value in ends))


def largest(weights: Sequence[Weight]) -> tuple[tuple[str, ...], ...]:
    """The largest weights in either direction as text: head, direction, weight."""
    known = sorted(
        (each for each in weights if not math.isnan(each.weight)), key=lambda each: -abs(each.weight)
    )
    return tuple((f"{each.layer}-{each.head}", each.direction, two(each.weight)) for each in known[:WEIGHTS])
