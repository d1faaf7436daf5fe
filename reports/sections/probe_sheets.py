"""Tables that sort, and those of probes: best heads, baselines, trained probes against each other, gaps."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headroles.records.probes import Baseline, BestHead, ProbeResults, ProbeWeight
from headroles.reports.words.probes import (
    Published,
    accuracy,
    contrast,
    difference,
    head_name,
    notable_gaps,
    percent,
    points,
    split_row,
    with_interval,
)
from headroles.reports.words.words import p_text, two_decimals

GAPS = 12
"""Heads with the largest gaps that are shown in addition to the best one."""
WEIGHTS = 30
"""Largest weights that are listed."""
FEW = 5
"""Most baselines whose table stands open."""


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


def best_sheet(probe: str, rows: Sequence[BestHead], published: Mapping[str, Published]) -> Sheet:
    """Return the best heads of a probe, one line per row; empty columns are left out."""
    contrasted = any(not math.isnan(best.contrast) for best in rows)
    has_published = any(best.row in published for best in rows)
    header = [
        probe, "head", "items", "units", "chosen", "tested [95\u00a0%]", "baseline", "difference [95\u00a0%]",
        "q", "decision",
    ]  # fmt: skip
    header += ["contrast [95\u00a0%]"] * contrasted + ["published"] * has_published
    lines = []
    for place, best in enumerate(rows):
        cells = [
            Cell(split_row(best.row)[1], place),
            Cell(head_name(best), best.layer + best.head / 1000 if best.layer >= 0 else math.nan),
            Cell(f"{best.items:,}", best.items),
            Cell(f"{best.units:,}", best.units),
            Cell(percent(best.selection), best.selection),
            Cell(accuracy(best), best.accuracy),
            Cell(f"{best.baseline}: {percent(best.baseline_accuracy)}", best.baseline_accuracy),
            Cell(difference(best), best.difference),
            Cell(p_text(best.q), best.q),
            Cell(best.decision, best.decision),
        ]
        cells += [Cell(contrast(best), best.contrast)] * contrasted
        cells += [_published(published.get(best.row))] * has_published
        lines.append(tuple(cells))
    return Sheet(f"Best head of every row of {probe}", tuple(header), tuple(lines))


def _published(result: Published | None) -> Cell:
    """Return an accuracy as published, with its head; heads are counted from 1 there."""
    if result is None:
        return Cell("", math.nan)
    return Cell(percent(result.accuracy) + f" (head {result.head})" * bool(result.head), result.accuracy)


def baselines_sheet(
    probe: str, baselines: Sequence[Baseline], order: Iterable[str], published: Mapping[str, Published]
) -> Sheet | None:
    """Return rows × baselines on all data, published values in brackets; None without baselines.

    Args:
        probe: Its name.
        baselines: Of this probe.
        order: Rows that come first.
        published: By row.
    """
    if not baselines:
        return None
    names = list(dict.fromkeys(baseline.baseline for baseline in baselines))
    by_cell = {(baseline.row, baseline.baseline): baseline for baseline in baselines}
    own_rows = dict.fromkeys(baseline.row for baseline in baselines)
    rows = [row for row in dict.fromkeys([*order, *own_rows]) if row in own_rows]
    lines = []
    for place, row in enumerate(rows):
        cells = [Cell(split_row(row)[1], place)]
        for name in names:
            baseline = by_cell.get((row, name))
            published_value = published[row].baselines.get(name, math.nan) if row in published else math.nan
            in_brackets = "" if math.isnan(published_value) else f" ({percent(published_value)})"
            cells.append(
                Cell("–", math.nan)
                if baseline is None
                else Cell(accuracy(baseline) + in_brackets, baseline.accuracy)
            )
        lines.append(tuple(cells))
    bracketed = ", published values in brackets" * any(
        published[row].baselines for row in rows if row in published
    )
    return Sheet(
        f"Baselines of {probe}, all data{bracketed}", (probe, *names), tuple(lines), folded=len(names) > FEW
    )


def contests_sheet(probed: ProbeResults) -> Sheet | None:
    """Return comparisons of trained probes with each other; None where there are none."""
    if not probed.contests:
        return None
    header = ("first − second", "UAS, points [95\u00a0%]", "statistic", "p", "q")
    lines = [
        (
            Cell(f"{contest.first} − {contest.second}", place),
            Cell(_points(contest.difference, contest.low, contest.high), contest.difference),
            Cell(two_decimals(contest.statistic), contest.statistic),
            Cell(p_text(contest.p), contest.p),
            Cell(p_text(contest.q), contest.q),
        )
        for place, contest in enumerate(probed.contests)
    ]
    return Sheet("Trained probes against each other", header, tuple(lines))


def gaps_sheets(probed: ProbeResults) -> tuple[Sheet, ...]:
    """Return heads under two conditions: the best one and those with the largest gaps, a table per pair."""
    tables: dict[tuple[str, str, str], list[tuple[Cell, ...]]] = {}
    for gap, mark in notable_gaps(probed, GAPS):
        place = gap.layer + gap.head / 1000
        line = (
            Cell(f"{gap.layer}-{gap.head} {mark}".rstrip(), place),
            Cell(percent(gap.both), gap.both),
            Cell(percent(gap.first_value), gap.first_value),
            Cell(percent(gap.second_value), gap.second_value),
            Cell(_points(gap.difference, gap.low, gap.high), gap.difference),
            Cell(p_text(gap.p), gap.p),
            Cell(p_text(gap.q), gap.q),
        )
        tables.setdefault((gap.first, gap.second, gap.measure), []).append(line)
    return tuple(
        Sheet(
            f"{measure}: {first} − {second}",
            ("head", f"{measure}, all", first, second, "difference, points [95\u00a0%]", "p", "q"),
            tuple(lines),
        )
        for (first, second, measure), lines in tables.items()
    )


def _points(*ends: float) -> str:
    """Return a difference with its interval, in points."""
    return with_interval(*(points(value) for value in ends))


def largest_weights(weights: Sequence[ProbeWeight]) -> tuple[tuple[str, ...], ...]:
    """Return the largest weights in either direction as text: head, direction, weight."""
    known = sorted(
        (weight for weight in weights if not math.isnan(weight.weight)),
        key=lambda weight: -abs(weight.weight),
    )
    return tuple(
        (f"{weight.layer}-{weight.head}", weight.direction, two_decimals(weight.weight))
        for weight in known[:WEIGHTS]
    )
