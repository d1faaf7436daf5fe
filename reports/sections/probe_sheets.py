"""Tables of probes: best heads, baselines, trained probes, these against each other, gaps, weights."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from headroles.records.numbers import p_text, percent, points, two_decimals
from headroles.records.probes import Baseline, BestHead, ProbeResults, ProbeWeight
from headroles.reports.sheets import ENDS, MISSING, Cell, Sheet, count_cell, word_cell
from headroles.reports.words.probes import (
    Published,
    accuracy,
    best_by_probe,
    classifier_name,
    contrast,
    difference,
    head_name,
    notable_gaps,
    row_title,
    split_row,
    with_interval,
)

GAPS = 12
"""Heads with the largest gaps that are shown in addition to the top head."""
WEIGHTS = 30
"""Largest weights that are listed."""
FEW = 5
"""Most baselines whose table stands open."""


def best_sheet(
    probe: str,
    rows: Sequence[BestHead],
    published: Mapping[str, Published],
    decimals: int = 1,
    *,
    brief: bool = False,
    titled: bool = False,
) -> Sheet:
    """Return the best heads of a probe, one line per row; empty columns are left out.

    Args:
        probe: Its name.
        rows: Its best heads.
        published: By row.
        decimals: Of accuracies in per cent.
        brief: Whether contrasts stand without intervals, and published values without heads.
        titled: Whether rows stand in plain words, too, and units under the items: notes on the cells.
    """
    contrasted = any(not math.isnan(best.contrast) for best in rows)
    has_published = any(best.row in published for best in rows)
    header = [
        probe, "head", "items", "units", "chosen", f"tested {ENDS}", "baseline", f"difference {ENDS}",
        tested_heading(rows), "decision",
    ]  # fmt: skip
    if titled:
        header.remove("units")
    header += ["contrast" if brief else f"contrast {ENDS}"] * contrasted + ["published"] * has_published
    lines = []
    for place, best in enumerate(rows):
        baseline = f"{best.baseline}: {percent(best.baseline_accuracy, decimals)}" if best.baseline else "–"
        cells = [
            Cell(split_row(best.row)[1], place),
            Cell(head_name(best), best.layer + best.head / 1000 if best.layer >= 0 else math.nan),
            count_cell(best.items),
            count_cell(best.units),
            Cell(percent(best.selection, decimals), best.selection),
            Cell(accuracy(best, decimals), best.accuracy),
            Cell(baseline, best.baseline_accuracy),
            Cell(difference(best, decimals), best.difference),
            Cell(p_text(best.q), best.q),
            word_cell(best.decision),
        ]
        if titled:
            units = cells.pop(header.index("items") + 1)
            cells[0] = replace(cells[0], note=_words_of(best.row))
            cells[header.index("items")] = replace(count_cell(best.items), note=f"{units.text} units")
        cells += [Cell(contrast(best, ends=not brief), best.contrast)] * contrasted
        cells += [_published(published.get(best.row), decimals, brief)] * has_published
        lines.append(tuple(cells))
    return Sheet(f"Best head of every row of {probe}", tuple(header), tuple(lines))


def _words_of(row: str) -> str:
    """Return a row in plain words; "" where these are its name."""
    title = row_title(row, "")
    return "" if title == split_row(row)[1] else title


def tested_heading(rows: Sequence[BestHead]) -> str:
    r"""Return the heading of q, with the difference that it is tested against.

    Example:
        >>> tested_heading([])
        'q'
    """
    margins = sorted({row.margin for row in rows if not math.isnan(row.margin)})
    return f"q (> {' or '.join(f'{100 * margin:g}' for margin in margins)} points)" if margins else "q"


def _published(result: Published | None, decimals: int = 1, brief: bool = True) -> Cell:
    """Return an accuracy as published, and unless ``brief`` its head; heads are counted from 1 there."""
    if result is None:
        return Cell("", math.nan)
    head = f" (head {result.head})" * (bool(result.head) and not brief)
    return Cell(percent(result.accuracy, decimals) + head, result.accuracy)


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
    baselines = [row for row in probed.baselines if split_row(row.row)[0] == probe]
    if not baselines:
        return None
    order = [best.row for best in best_by_probe(probed.best).get(probe, ())]
    names = list(dict.fromkeys(baseline.baseline for baseline in baselines))
    by_cell = {(baseline.row, baseline.baseline): baseline for baseline in baselines}
    own_rows = dict.fromkeys(baseline.row for baseline in baselines)
    lines = []
    for place, row in enumerate(row for row in dict.fromkeys([*order, *own_rows]) if row in own_rows):
        known = published[row].baselines if row in published else {}
        cells = [
            _baseline(by_cell.get((row, name)), known.get(name, math.nan), brief=brief) for name in names
        ]
        lines.append((Cell(split_row(row)[1], place), *cells))
    bracketed = any(published[row].baselines for row in own_rows if row in published)
    name = f"Baselines of {probe}, all data{', published values in brackets' * bracketed}"
    return Sheet(name, (probe, *names), tuple(lines), folded=len(names) > FEW)


def _baseline(baseline: Baseline | None, published: float, *, brief: bool) -> Cell:
    """Return the accuracy of a baseline, with the published one in brackets."""
    if baseline is None:
        return MISSING
    in_brackets = "" if math.isnan(published) else f" ({percent(published)})"
    text = percent(baseline.accuracy) if brief else accuracy(baseline)
    return Cell(text + in_brackets, baseline.accuracy)


def trained_sheet(probed: ProbeResults, published: Mapping[str, Published]) -> Sheet | None:
    """Return trained probes and baselines for them; None where none were trained."""
    if not probed.trained:
        return None
    lines = []
    for place, trained in enumerate(probed.trained):
        fitted = (count_cell(trained.trained_on), *(Cell(str(n), n) for n in (trained.epochs, trained.seed)))
        lines.append(
            (
                Cell(classifier_name(trained), place),
                Cell(accuracy(trained, field="uas"), trained.uas),
                count_cell(trained.words),
                count_cell(trained.units),
                *(fitted if trained.trained_on else (MISSING,) * 3),
                _published(published.get(f"trained:{classifier_name(trained)}")),
            )
        )
    header = (
        "probe", f"UAS, % {ENDS}", "words", "units", "sentences trained on", "epochs", "seed", "published"
    )  # fmt: skip
    return Sheet("Trained probes", header, tuple(lines))


def contests_sheet(probed: ProbeResults) -> Sheet | None:
    """Return comparisons of trained probes with each other; None where there are none."""
    if not probed.contests:
        return None
    header = ("first − second", f"UAS, points {ENDS}", "statistic", "p", "q")
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


def gaps_sheets(probed: ProbeResults, most: int = GAPS) -> tuple[Sheet, ...]:
    """Return heads under two conditions: the top head and those with the largest gaps, a table per pair.

    Args:
        probed: Results with the gaps.
        most: Heads with the largest gaps.
    """
    tables: dict[tuple[str, str, str], list[tuple[Cell, ...]]] = {}
    for gap, mark in notable_gaps(probed, most):
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
            ("head", f"{measure}, all", first, second, f"difference, points {ENDS}", "p", "q"),
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
