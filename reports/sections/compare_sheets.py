"""Tables of a comparison: changes sieve by sieve, every difference, outcomes by layer."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from headroles.records.comparison import LAYERS, OUTCOMES, Comparison
from headroles.records.numbers import count, mean, number, p_text, with_range
from headroles.records.roles import phrase_of
from headroles.records.table import COUNT, ENDS, MISSING, Cell, Column, Row, Sheet, Table, counted
from headroles.reports import sheets
from headroles.reports.words.compare import swap_p

LABELS = ("labels_a", "labels_b", "gained", "lost")


def _swap_cell(name: str, text: Any) -> Any:
    """Return the writer of p or q of the swap test, which is none where a single label differs."""

    def cell(row: Row) -> Cell:
        p, q = swap_p(row)
        value = p if name == "p" else q
        return Cell(text(value), value)

    return cell


def _largest_cell(row: Row) -> Cell:
    if row.layer is None:
        return MISSING
    ends = with_range(*map(mean, (row.difference, row.low, row.high)))
    return Cell(f"{row.layer}-{row.head}, {ends}", abs(row.difference))


CHANGES = Table("", "Changes", "a sieve", (
    Column("sieve", "Name of the sieve.", str, "sieve", terminal="narrow"),
    *(counted(word, f"Heads that are {word}.", word, terminal="narrow") for word in OUTCOMES),
    Column("labels_a", "Heads with the role in A; none for contrasts.", "int | None", "labels A",
           terminal="narrow", short="in A", within=COUNT),
    Column("labels_b", "Heads with the role in B.", "int | None", "labels B", terminal="narrow", short="in B",
           within=COUNT),
    Column("gained", "Heads with the role in B alone.", "int | None", "gained", terminal="narrow",
           within=COUNT),
    Column("lost", "Heads with the role in A alone.", "int | None", "lost", terminal="narrow", within=COUNT),
    Column("swapped", "Mean of labels that random swaps of A and B gain or lose.", float,
           f"moved by swaps {ENDS}", count, ("swapped_low", "swapped_high"), terminal="narrow",
           short="by swaps", within=COUNT),
    Column("swapped_low", "2.5 % point over the swaps."), Column("swapped_high", "97.5 % point."),
    Column("p", "p of the swaps.", float, "p", cell=_swap_cell("p", number), terminal="narrow"),
    Column("q", "`p` adjusted over the roles.", float, "q", cell=_swap_cell("q", p_text)),
    Column("layer", "Layer of the largest change; none where nothing changed.", "int | None"),
    Column("head", "Its head.", "int | None"),
    Column("difference", "The largest change.", float, f"largest change {ENDS}", cell=_largest_cell),
    Column("low", "Lower end of its 95 % interval."), Column("high", "Upper end."),
))  # fmt: skip


def changes_table(comparison: Comparison) -> Table:
    """Return heads by outcome, labels gained and lost with those that swaps move, and the largest change."""
    differences = comparison.differences
    swaps, rows = {row.sieve: row for row in comparison.swaps if row.sieve}, []
    for place, name in enumerate(differences.sieves):
        row: dict[str, Any] = {"sieve": name} | dict(zip(OUTCOMES, differences.counts(place), strict=True))
        row |= dict.fromkeys(LABELS)
        row |= dict.fromkeys(("swapped", "swapped_low", "swapped_high", "p", "q"), math.nan)
        if swap := swaps.get(name):
            row |= {label: getattr(swap, label) for label in (*LABELS, "p", "q")}
            row |= {
                f"swapped{end}": getattr(swap, f"changed{end or '_mean'}") for end in ("", "_low", "_high")
            }
        rows.append(row | _largest(comparison, place))
    return CHANGES.rows(rows)


def _largest(comparison: Comparison, place: int) -> dict[str, Any]:
    """Return the changed head with the largest difference, by its position; none where none changed."""
    differences, names = comparison.differences, ("difference", "low", "high")
    size = np.where(differences.outcome[place] == 0, np.abs(differences.difference[place]), -np.inf)
    if not np.isfinite(size).any():
        return {"layer": None, "head": None} | dict.fromkeys(names, math.nan)
    layer, head = (int(index) for index in np.unravel_index(int(size.argmax()), size.shape))
    ends = {name: getattr(differences, name)[place, layer, head] for name in names}
    return {"layer": comparison.stack.numbers[layer], "head": head} | ends


def _title_cell(row: Row) -> Cell:
    title = phrase_of(row.sieve).title
    return Cell(title, title, row.sieve if title != row.sieve else "")


def outcome_sheets(comparison: Comparison) -> tuple[Sheet, ...]:
    """Return heads by outcome with the largest change: roles in plain words, then contrasts, folded."""
    table, names = changes_table(comparison), ("sieve", *OUTCOMES, "difference")
    roles = np.array([rule.role for rule in comparison.differences.rules], dtype=np.bool_)
    contrasts = table.take(~roles).describe("sieve", heading="contrast").sheet(only=names)
    name = f"Contrasts of roles ({len(contrasts.rows)})"
    return (
        table.take(roles).describe("sieve", heading="role", cell=_title_cell).sheet(only=names),
        *[sheets.Sheet(name, contrasts.header, contrasts.rows, folded=True)] * bool(contrasts.rows),
    )


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
    table = replace(comparison.table.take(order), name="Largest changes")
    table = table.describe("sieve", heading="role").describe("q", heading="q (≠ 0)")
    return table.sheet(only=("head", "sieve", "mean_a", "mean_b", "difference", "q")) if order else None


def layers_sheet(comparison: Comparison) -> Sheet:
    """Return outcomes, mean absolute difference and labels of every layer over its heads and roles."""
    differences, rows = comparison.differences, []
    roles = [rule.role for rule in differences.rules]
    for place, layer in enumerate(comparison.stack.numbers):
        in_layer = [row for row in comparison.layers if row.layer == layer and row.labels_a is not None]
        size = np.abs(differences.difference[roles, place])
        known = size[~np.isnan(size)]
        sums = {name: sum(getattr(row, name) for row in in_layer) for name in (*OUTCOMES, *LABELS)}
        moved = float(known.mean()) if known.size else math.nan
        rows.append({"sieve": "", "layer": layer, "difference": math.nan, "absolute": moved, **sums})
    table = replace(LAYERS, name="Layers").describe("absolute", text=mean).rows(rows)
    for name, heading in zip(LABELS, ("labels in A", "labels in B", "gained", "lost"), strict=True):
        table = table.describe(name, heading=heading)
    return table.sheet(only=("layer", *OUTCOMES, "absolute", *LABELS))
