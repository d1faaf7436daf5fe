"""Results of a run that takes heads out, as tables that sort."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from headroles.records.causal.ablation import (
    VERDICTS,
    CellTest,
    GroupTest,
    MarginRow,
    RoleTest,
    SiteTest,
)
from headroles.records.findings import Labelling
from headroles.records.layers import by_position
from headroles.records.numbers import number
from headroles.reports.causal.words import (
    FAMILIES,
    Row,
    ablation_of,
    arm_name,
    arm_of,
    damage_text,
    rows_of,
    verdict_counts,
)
from headroles.reports.print.captions import decision_sentence, inputs_text, units_of
from headroles.reports.print.run_tables import findings_table
from headroles.reports.sheets import (
    ENDS,
    MISSING,
    Cell,
    Sheet,
    Sheets,
    chance_cell,
    columns_of_records,
    count_cell,
    number_cell,
    place_cell,
    word_cell,
)
from headroles.storage.causal.ablation import HeadDamage, damage_rows

DAMAGE = (
    "head", "arm", "units", f"damage {ENDS}", "q needed", "q negligible", "q interfering", "verdict", "roles",
)  # fmt: skip
ROLES = (
    "role", "arm", "heads", "needed", "negligible", "interfering", "units", f"area {ENDS}", "q more",
    "q less", "among random labels",
    "goes with", f"mean damage {ENDS}", "q negligible", "on average",
)  # fmt: skip
SITES = (
    "head", "role", "arm", "units", f"at sites − elsewhere {ENDS}", "p", "controls",
    f"beyond controls {ENDS}",
    "p controls", "q", "decision",
)  # fmt: skip
CELLS = (
    "head", "role", "outcome", "units", "its cells", "other cells", f"difference {ENDS}", "p", "q",
    "decision",
)  # fmt: skip
GROUPS = (
    "role", "arm", "heads", "units", f"damage {ENDS}", "random sets [2.5, 97.5\u00a0%]", "sets",
    "norm", "norm of random sets", "p", "q", "decision", "sum of single heads", f"beyond the sum {ENDS}",
    "q beyond the sum",
)  # fmt: skip


def arms_sheet(labelling: Labelling) -> Sheet:
    """Return one line per arm: its threshold, heads by verdict, and the head of the largest damage."""
    damage = ablation_of(labelling).damage
    rows = []
    for place, arm in enumerate(damage.arms):
        counts = verdict_counts(labelling, arm)
        cells = [word_cell(arm_name(arm)), number_cell(float(damage.threshold[place]))]
        cells += [count_cell(count) for count in counts]
        means = damage.mean[place]
        if np.isnan(means).all():
            cells += [MISSING] * 2
        else:
            layer, head = (int(index) for index in np.unravel_index(int(np.nanargmax(means)), means.shape))
            ends = (damage.low[place, layer, head], damage.high[place, layer, head])
            number = labelling.scores.stack.numbers[layer]
            cells += [place_cell(number, head), _ends(means[layer, head], *ends)]
        rows.append(tuple(cells))
    header = ("arm", "threshold", *VERDICTS, "largest in head", f"its damage {ENDS}")
    return Sheet("Verdicts by arm", header, tuple(rows))


def damage_sheet(labelling: Labelling) -> Sheet:
    """Return the damage of every head in every arm, with its three tests."""
    ablated, numbers = ablation_of(labelling), labelling.scores.stack.numbers
    damage, held = ablated.damage, ablated.held
    rows = []
    for place, arm in enumerate(damage.arms):
        for layer, head in np.ndindex(damage.mean.shape[1:]):
            at = (place, layer, head)
            roles = [name for name in held.roles if held.heads(name)[layer, head]] if held else []
            rows.append(
                (
                    place_cell(numbers[layer], head), word_cell(arm_name(arm)),
                    count_cell(int(damage.count[at])),
                    _ends(damage.mean[at], damage.low[at], damage.high[at]),
                    chance_cell(damage.q_needed[at]), chance_cell(damage.q_negligible[at]),
                    chance_cell(damage.q_interfering[at]),
                    word_cell(VERDICTS[int(damage.verdict[at])]), word_cell(", ".join(roles) or "–"),
                )
            )  # fmt: skip
    return _without("roles" if held is None else "", _one_arm(Sheet("Damage", DAMAGE, tuple(rows)), "arm"))


def roles_sheet(labelling: Labelling, *, main: bool = False) -> Sheet | None:
    """Return whether roles say which heads matter; None without a label run.

    Args:
        labelling: Of a run that takes heads out.
        main: Whether only the arm of the answer is listed.
    """
    rows = _listed(labelling, ablation_of(labelling).roles, main)
    return _sheet("Roles and damage", ROLES, [_role(row) for row in rows], "arm")


def _listed(labelling: Labelling, rows: tuple[Row, ...], main: bool) -> tuple[Row, ...]:
    """Return the tests of the arm of the answer, or those of all arms."""
    return rows_of(rows, arm_of(labelling)) if main else rows


def _role(row: RoleTest) -> tuple[Cell, ...]:
    """Return the line of one role."""
    counts = (row.heads, row.needed, row.negligible, row.interfering, row.count)
    return (
        word_cell(row.role), word_cell(arm_name(row.arm)), *map(count_cell, counts),
        _ends(row.area, row.low, row.high), *map(chance_cell, (row.q_more, row.q_less, row.p_labels)),
        word_cell(row.decision),
        _ends(row.damage, row.damage_low, row.damage_high), chance_cell(row.q_negligible),
        word_cell(row.no_damage),
    )  # fmt: skip


def sites_sheet(labelling: Labelling, *, main: bool = False) -> Sheet | None:
    """Return the damage of labelled heads at the sites of their roles; None where there are no sites.

    Args:
        labelling: Of a run that takes heads out.
        main: Whether only the arm of the answer is listed.
    """
    rows = _listed(labelling, ablation_of(labelling).sites, main)
    return _sheet("Sites", SITES, [_site(row) for row in rows], "arm")


def _site(row: SiteTest) -> tuple[Cell, ...]:
    """Return the line of one labelled head at sites."""
    return (
        place_cell(row.layer, row.head), word_cell(row.role), word_cell(arm_name(row.arm)),
        count_cell(row.count), _ends(row.mean, row.low, row.high), chance_cell(row.p),
        count_cell(row.controls),
        _ends(row.difference, row.difference_low, row.difference_high), chance_cell(row.p_difference),
        chance_cell(row.q), word_cell(row.decision),
    )  # fmt: skip


def cells_sheet(labelling: Labelling) -> Sheet | None:
    """Return the damage of removing the cells of a role; None where none were removed."""
    return _sheet("Cells", CELLS, [_removal(row) for row in ablation_of(labelling).cells], "outcome")


def _removal(row: CellTest) -> tuple[Cell, ...]:
    """Return the line of one labelled head without the cells of its role."""
    return (
        place_cell(row.layer, row.head), word_cell(row.role), word_cell(row.outcome), count_cell(row.count),
        number_cell(row.cells), number_cell(row.matched), _ends(row.difference, row.low, row.high),
        chance_cell(row.p), chance_cell(row.q), word_cell(row.decision),
    )  # fmt: skip


def groups_sheet(labelling: Labelling, *, main: bool = False) -> Sheet | None:
    """Return the damage of all heads of a role together; None where no sets were taken out.

    Args:
        labelling: Of a run that takes heads out.
        main: Whether only the arm of the answer is listed.
    """
    rows = _listed(labelling, ablation_of(labelling).groups, main)
    return _sheet("Sets of heads", GROUPS, [_group(row) for row in rows], "arm")


def _group(row: GroupTest) -> tuple[Cell, ...]:
    """Return the line of the heads of one role together."""
    known = not math.isnan(row.random_middle)
    middle = f"{number(row.random_middle)} [{number(row.random_low)}, {number(row.random_high)}]"
    return (
        word_cell(row.role), word_cell(arm_name(row.arm)), count_cell(row.heads), count_cell(row.count),
        _ends(row.damage, row.low, row.high), Cell(middle, row.random_middle) if known else MISSING,
        count_cell(row.sets), number_cell(row.norm), number_cell(row.random_norm),
        chance_cell(row.p), chance_cell(row.q), word_cell(row.decision), number_cell(row.singles),
        _ends(row.excess, row.excess_low, row.excess_high), chance_cell(row.q_excess),
    )  # fmt: skip


def margins_sheet(labelling: Labelling) -> Sheet | None:
    """Return heads by verdict under other margins; None where there are none."""
    rows = [
        (
            number_cell(row.margin), word_cell(arm_name(row.arm)),
            *map(count_cell, (row.needed, row.negligible, row.interfering)),
        )
        for row in ablation_of(labelling).margins
    ]  # fmt: skip
    return _sheet("Margins", ("margin", "arm", "needed", "negligible", "interfering"), rows, "arm")


def _sheet(name: str, header: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], one: str) -> Sheet | None:
    """Return a table without its column of arms where all rows have the same; None without rows."""
    return _one_arm(Sheet(name, header, tuple(rows)), one) if rows else None


def _one_arm(sheet: Sheet, column: str) -> Sheet:
    """Return a table without a column that is the same in all rows."""
    place = sheet.header.index(column)
    alone = len({row[place].text for row in sheet.rows}) <= 1
    return _without(column if alone else "", sheet)


def _without(column: str, sheet: Sheet) -> Sheet:
    """Return a table without a column; "" for all columns."""
    return sheet.pick(name for name in sheet.header if name != column)


def ablation_tables(labelling: Labelling) -> Sheets:
    """Return functions that make the tables of a run for papers, by name; the first is the main one.

    Args:
        labelling: Of a run that takes heads out.
    """
    ablated = ablation_of(labelling)
    tests: dict[str, tuple[Callable[[Labelling], Sheet | None], str, type, Sequence[Any]]] = {
        "prediction": (roles_sheet, "Roles and the damage of their heads", RoleTest, ablated.roles),
        "sites": (sites_sheet, "Damage at the sites of roles", SiteTest, ablated.sites),
        "cells": (cells_sheet, "Damage of removing the cells of roles", CellTest, ablated.cells),
        "groups": (groups_sheet, "Damage of all heads of a role together", GroupTest, ablated.groups),
        "margins": (margins_sheet, "Heads by verdict under other margins", MarginRow, ablated.margins),
    }
    return {
        "verdicts": partial(_verdicts_table, labelling),
        "damage": partial(_damage_table, labelling),
        **{name: partial(_test_table, labelling, *test) for name, test in tests.items() if test[-1]},
        "findings": partial(findings_table, labelling),
    }


def _caption(labelling: Labelling, title: str) -> str:
    """Return the caption of a table: what it shows, model, inputs, and how it was decided."""
    note = decision_sentence(labelling.decision, units_of(labelling), FAMILIES)
    return f"{title}{inputs_text(labelling.manifest)}, with 95\u00a0% intervals. {note}"


def _verdicts_table(labelling: Labelling) -> Sheet:
    """Return heads by verdict with caption and all digits."""
    damage = ablation_of(labelling).damage
    values = [
        (arm, float(damage.threshold[place]), *verdict_counts(labelling, arm))
        for place, arm in enumerate(damage.arms)
    ]
    return replace(
        arms_sheet(labelling),
        caption=_caption(labelling, "Heads by verdict"),
        columns=("arm", "threshold", *VERDICTS),
        values=tuple(values),
    )


def _damage_table(labelling: Labelling) -> Sheet:
    """Return the damage of every head with caption and all digits."""
    rows = by_position(damage_rows(ablation_of(labelling).damage), labelling.scores.stack)
    columns, values = columns_of_records(HeadDamage, rows)
    caption = _caption(labelling, "Damage of taking out one head at a time")
    return replace(damage_sheet(labelling), caption=caption, columns=columns, values=values)


def _test_table(
    labelling: Labelling,
    make: Callable[[Labelling], Sheet | None],
    title: str,
    kind: type,
    rows: Sequence[Any],
) -> Sheet:
    """Return a table of tests with caption and all digits.

    Raises:
        ValueError: When the run has no such tests.
    """
    sheet, (columns, values) = make(labelling), columns_of_records(kind, rows)
    if sheet is None:
        raise ValueError(f"the run has no tests for the table {title!r}")
    return replace(sheet, caption=_caption(labelling, title), columns=columns, values=values)


def _ends(value: float, low: float, high: float) -> Cell:
    """Return a number with its interval as a cell."""
    return Cell(damage_text(float(value), float(low), float(high)), float(value))
