"""The tables of a comparison: what changed, sieve by sieve and head by head."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from headroles.records.comparison import OUTCOMES, Comparison, Swapped
from headroles.reports import compare_words
from headroles.reports.content import Interval
from headroles.reports.printed import Printed, Tables, framed
from headroles.reports.words import chance_of, count, interval, mean, plural, ranged

CAPTION = "Comparison of {} (A) and {} (B); differences are B − A. Test: {}; {}."


def compared_tables(comparison: Comparison) -> Tables:
    """The tables of a comparison by name, made when asked for.

    Args:
        comparison: Of two runs.
    """
    return {"changes": partial(_changes, comparison), "differences": partial(_differences, comparison)}


def _caption(comparison: Comparison) -> str:
    told = compare_words.tested(comparison.decision, comparison.bound)
    units = comparison.manifest.get("counts", {}).get("units")
    seen = plural(units, "unit") if isinstance(units, int) else "units as in the runs"
    return CAPTION.format(*compare_words.names(comparison), told, seen)


def _changes(comparison: Comparison) -> Printed:
    """Heads by outcome, and labels that came and went beside what swaps move."""
    found = comparison.differences
    swaps = {row.sieve: row for row in comparison.swaps if row.sieve}
    rows, values = [], []
    for place, name in enumerate(found.sieves):
        counts, row = found.counts(place), swaps.get(name)
        largest = _largest(comparison, place)
        told = "–" if largest is None else f"{largest[0]}-{largest[1]}, {interval(largest[2])}"
        rows.append((name, *map(str, counts), *_labels(row), told))
        ends = (None,) * 5 if largest is None else (*largest[:2], *_numbers(largest[2]))
        values.append((name, *counts, *_label_values(row), *ends))
    labels = ("labels_a", "labels_b", "gained", "lost", "swapped", "swapped_low", "swapped_high", "p", "q")
    return Printed(
        caption=_caption(comparison),
        header=(
            "sieve", *OUTCOMES, "labels A", "labels B", "gained", "lost", "moved by swaps [95\u00a0%]", "q",
            "largest change [95\u00a0%]",
        ),
        rows=tuple(rows),
        columns=("sieve", *OUTCOMES, *labels, "layer", "head", "difference", "low", "high"),
        values=tuple(values),
    )  # fmt: skip


def _labels(row: Swapped | None) -> tuple[str, ...]:
    if row is None:
        return ("–",) * 6
    moved = ranged(*(count(each) for each in (row.changed_mean, row.changed_low, row.changed_high)))
    return (*map(str, (row.labels_a, row.labels_b, row.gained, row.lost)), moved, chance_of(row.q))


def _label_values(row: Swapped | None) -> tuple[Any, ...]:
    if row is None:
        return (None,) * 9
    swapped = (row.changed_mean, row.changed_low, row.changed_high)
    return (row.labels_a, row.labels_b, row.gained, row.lost, *swapped, row.p, row.q)


def _largest(comparison: Comparison, place: int) -> tuple[int, int, Interval] | None:
    """The changed head with the largest difference; None where none changed."""
    found = comparison.differences
    size = np.where(found.outcome[place] == 0, np.abs(found.difference[place]), -np.inf)
    if not np.isfinite(size).any():
        return None
    layer, head = (int(each) for each in np.unravel_index(int(size.argmax()), size.shape))
    ends = (float(getattr(found, name)[place, layer, head]) for name in ("difference", "low", "high"))
    return layer, head, Interval(*ends)


def _numbers(ends: Interval) -> tuple[float, float, float]:
    return ends.mean, ends.low, ends.high


def _differences(comparison: Comparison) -> Printed:
    """Every difference."""
    columns, values = framed(comparison.frame())
    return Printed(
        caption=_caption(comparison),
        header=(
            "sieve", "head", "units", "mean A", "mean B", "difference [95\u00a0%]", "q", "q of equivalence",
            "outcome",
        ),
        rows=tuple(_difference(dict(zip(columns, row, strict=True))) for row in values),
        columns=columns,
        values=values,
    )  # fmt: skip


def _difference(row: Mapping[str, Any]) -> tuple[str, ...]:
    ends = Interval(row["difference"], row["low"], row["high"])
    return (
        row["sieve"],
        f"{row['layer']}-{row['head']}",
        f"{row['count']:,}",
        mean(row["mean_a"]),
        mean(row["mean_b"]),
        "–" if math.isnan(ends.mean) else interval(ends),
        chance_of(row["q"]),
        chance_of(row["q_equivalent"]),
        row["outcome"],
    )
