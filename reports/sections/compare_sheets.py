"""Tables of a comparison: changes sieve by sieve, every difference, outcomes by layer."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from headroles.records.comparison import OUTCOMES, Comparison, RoleChange
from headroles.records.numbers import count, mean, number, p_text, with_range
from headroles.records.roles import phrase_of
from headroles.reports.records import Interval
from headroles.reports.sheets import (
    ENDS,
    MISSING,
    Cell,
    Sheet,
    columns_of_frame,
    count_cell,
    place_cell,
    word_cell,
)
from headroles.reports.words.compare import swap_p
from headroles.reports.words.words import interval

SWAPPED = f"moved by swaps {ENDS}"
"""Heading of labels that random swaps of A and B gain or lose."""
CHANGED = ("mean_a", "mean_b", "difference", "low", "high", "q")
"""Numbers of a changed head."""
LABELS = ("labels_a", "labels_b", "gained", "lost", "swapped", "swapped_low", "swapped_high", "p", "q")


def changes_sheet(comparison: Comparison) -> Sheet:
    """Return heads by outcome, labels gained and lost with those that swaps move, and the largest change."""
    differences = comparison.differences
    swaps = {row.sieve: row for row in comparison.swaps if row.sieve}
    rows, values = [], []
    for place, name in enumerate(differences.sieves):
        counts, row = differences.counts(place), swaps.get(name)
        largest = _largest(comparison, place)
        rows.append((Cell(name, place), *map(count_cell, counts), *_labels(row), _change(largest)))
        ends = (None,) * 5 if largest is None else (*largest[:2], *_numbers(largest[2]))
        values.append((name, *counts, *_label_values(row), *ends))
    header = (
        "sieve", *OUTCOMES, "labels A", "labels B", "gained", "lost", SWAPPED, "p", "q",
        f"largest change {ENDS}",
    )  # fmt: skip
    columns = ("sieve", *OUTCOMES, *LABELS, "layer", "head", "difference", "low", "high")
    return Sheet("Changes", header, tuple(rows), columns=columns, values=tuple(values))


def outcome_sheets(comparison: Comparison) -> tuple[Sheet, ...]:
    """Return heads by outcome with the largest change: roles in plain words, then contrasts, folded."""
    sheet = changes_sheet(comparison).pick((*OUTCOMES, f"largest change {ENDS}"))
    roles, contrasts = list[tuple[Cell, ...]](), list[tuple[Cell, ...]]()
    for rule, row in zip(comparison.differences.rules, sheet.rows, strict=True):
        title = phrase_of(rule.sieve).title
        named = replace(row[0], text=title, note=rule.sieve) if title != rule.sieve else row[0]
        if rule.role:
            roles.append((named, *row[1:]))
        else:
            contrasts.append(row)
    name = f"Contrasts of roles ({len(contrasts)})"
    folded = replace(
        sheet, name=name, header=("contrast", *sheet.header[1:]), rows=tuple(contrasts), folded=True
    )
    return (
        replace(sheet, header=("role", *sheet.header[1:]), rows=tuple(roles)),
        *[folded] * bool(contrasts),
    )


def _labels(row: RoleChange | None) -> tuple[Cell, ...]:
    """Return the labels of one sieve."""
    if row is None:
        return (MISSING,) * 7
    swapped = with_range(*map(count, (row.changed_mean, row.changed_low, row.changed_high)))
    p, q = swap_p(row)
    return (
        *map(count_cell, (row.labels_a, row.labels_b, row.gained, row.lost)),
        Cell(swapped, row.changed_mean),
        Cell(number(p), p),
        Cell(p_text(q), q),
    )


def _label_values(row: RoleChange | None) -> tuple[Any, ...]:
    """Return the labels of one sieve with all digits."""
    if row is None:
        return (None,) * len(LABELS)
    swapped = (row.changed_mean, row.changed_low, row.changed_high)
    return (row.labels_a, row.labels_b, row.gained, row.lost, *swapped, row.p, row.q)


def _largest(comparison: Comparison, place: int) -> tuple[int, int, Interval] | None:
    """Return the changed head with the largest difference, by its position; None where none changed."""
    differences = comparison.differences
    size = np.where(differences.outcome[place] == 0, np.abs(differences.difference[place]), -np.inf)
    if not np.isfinite(size).any():
        return None
    layer, head = (int(index) for index in np.unravel_index(int(size.argmax()), size.shape))
    ends = (float(getattr(differences, name)[place, layer, head]) for name in ("difference", "low", "high"))
    return comparison.stack.numbers[layer], head, Interval(*ends)


def _change(largest: tuple[int, int, Interval] | None) -> Cell:
    """Return the largest change with its head."""
    if largest is None:
        return MISSING
    layer, head, ends = largest
    return Cell(f"{layer}-{head}, {interval(ends)}", abs(ends.mean))


def changed_sheet(comparison: Comparison, most: int) -> Sheet | None:
    """Return the largest changes of roles, one line per head and role; None where nothing changed.

    Args:
        comparison: Of two runs.
        most: Lines at most.
    """
    differences = comparison.differences
    roles = np.array([rule.role for rule in differences.rules])[:, None, None]
    changed = (differences.outcome == OUTCOMES.index("changed")) & roles
    size = np.where(changed, np.abs(differences.difference), -1.0).ravel()
    order = [flat for flat in np.argsort(-size, kind="stable").tolist()[:most] if size[flat] >= 0]
    rows = []
    for flat in order:
        place, layer, head = (int(index) for index in np.unravel_index(flat, changed.shape))
        row = {name: float(getattr(differences, name)[place, layer, head]) for name in CHANGED}
        ends = Interval(row["difference"], row["low"], row["high"])
        rows.append(
            (
                place_cell(comparison.stack.numbers[layer], head),
                word_cell(differences.sieves[place]),
                *(Cell(mean(row[name]), row[name]) for name in ("mean_a", "mean_b")),
                Cell(interval(ends), ends.mean),
                Cell(p_text(row["q"]), row["q"]),
            )
        )
    header = ("head", "role", "mean A", "mean B", f"difference {ENDS}", "q (≠ 0)")
    return Sheet("Largest changes", header, tuple(rows)) if rows else None


def _numbers(ends: Interval) -> tuple[float, float, float]:
    """Return mean and ends of an interval."""
    return ends.mean, ends.low, ends.high


def differences_sheet(comparison: Comparison) -> Sheet:
    """Return every difference."""
    columns, values = columns_of_frame(comparison.frame())
    header = (
        "sieve", "head", "units", "mean A", "mean B", f"difference {ENDS}", "q", "q of equivalence",
        "outcome",
    )  # fmt: skip
    rows = tuple(_difference(dict(zip(columns, row, strict=True))) for row in values)
    return Sheet("Differences", header, rows, columns=columns, values=values)


def _difference(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return one difference."""
    ends = Interval(row["difference"], row["low"], row["high"])
    return (
        word_cell(row["sieve"]),
        place_cell(row["layer"], row["head"]),
        count_cell(row["count"]),
        *(Cell(mean(row[name]), row[name]) for name in ("mean_a", "mean_b")),
        MISSING if math.isnan(ends.mean) else Cell(interval(ends), ends.mean),
        *(Cell(p_text(row[name]), row[name]) for name in ("q", "q_equivalent")),
        word_cell(row["outcome"]),
    )


def layers_sheet(comparison: Comparison) -> Sheet:
    """Return outcomes, mean absolute difference and labels of every layer over its heads and roles."""
    differences, rows = comparison.differences, []
    roles = [rule.role for rule in differences.rules]
    for place, layer in enumerate(comparison.stack.numbers):
        in_layer = [row for row in comparison.layers if row.layer == layer and row.labels_a is not None]
        size = np.abs(differences.difference[roles, place])
        known = size[~np.isnan(size)]
        moved = float(known.mean()) if known.size else math.nan
        counts, labels = (
            [count_cell(sum(getattr(row, name) for row in in_layer)) for name in names]
            for names in (OUTCOMES, LABELS[:4])
        )
        rows.append((Cell(str(layer), layer), *counts, Cell(mean(moved), moved), *labels))
    header = ("layer", *OUTCOMES, "mean |difference|", "labels in A", "labels in B", "gained", "lost")
    return Sheet("Layers", header, tuple(rows))
