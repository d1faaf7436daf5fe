"""Tables of an atlas: its runs, heads with each role, agreement, p values, roles by layer, roles of heads."""

import math
from collections.abc import Sequence
from dataclasses import astuple, fields

import numpy as np

from headroles.records.assessment import SeveralRoles, count_extreme_p
from headroles.records.atlas.atlas import Agreement, Atlas
from headroles.records.numbers import count, mean, p_text, share, two_decimals
from headroles.records.roles import looks_of, without_wholes
from headroles.reports.answer.atlas import kappa_text
from headroles.reports.sections.several_sheets import P_COLUMNS, P_HEADER, p_cells, p_numbers, several_sheet
from headroles.reports.sheets import (
    ENDS,
    MISSING,
    Cell,
    Sheet,
    columns_of_frame,
    columns_of_records,
    count_cell,
    place_cell,
    range_cell,
    word_cell,
)
from headroles.reports.words.several import middle_row, middle_verdict, percent, surplus_text

ROW_COLUMNS = (
    "run", "group", "inputs", "units", "tokens", "roles_held", "roles_a_head", "roles_a_head_low",
    "roles_a_head_high", "several", "several_low", "several_high", "near_0_or_1", "middle_surplus",
    "middle_low", "middle_high", "middle_p", "middle_reference",
)  # fmt: skip


def models_of(atlas: Atlas) -> list[list[int]]:
    """Return the places of the runs of every model, which have the same heads; checkpoints are one model."""
    if atlas.steps:
        return [list(range(len(atlas.runs)))]
    models: dict[tuple[object, ...], list[int]] = {}
    for place, run in enumerate(atlas.runs):
        models.setdefault((run.weights or run.model, run.layers, run.heads), []).append(place)
    return list(models.values())


def runs_sheet(atlas: Atlas) -> Sheet:
    """Return one line per run: inputs, their length, roles a head, p near 0 or 1, and the middle layers."""
    rows: list[tuple[Cell, ...]] = []
    values: list[tuple[float | str | None, ...]] = []
    for place, run in enumerate(atlas.runs):
        several, found = atlas.several[place], atlas.findings[place]
        whole, middle = several[0], middle_row(several)
        near = count_extreme_p(atlas.p_values(place))
        rows.append(
            (
                Cell(run.name, place),
                word_cell(run.group),
                count_cell(run.examples),
                Cell(count(run.tokens), run.tokens),
                count_cell(int(found.held.any(axis=0).sum())),
                range_cell(two_decimals, whole.mean, whole.mean_low, whole.mean_high),
                range_cell(share, whole.several, whole.several_low, whole.several_high),
                Cell(percent(near.share), near.share),
                MISSING if middle is None else Cell(surplus_text(middle), middle.several),
                word_cell("–" if middle is None else middle_verdict(middle)),
                MISSING if middle is None else Cell(share(middle.reference), middle.reference),
            )
        )
        numbers = (whole.mean, whole.mean_low, whole.mean_high, whole.several, whole.several_low)
        surplus: tuple[float | None, ...] = (None,) * 5
        if middle is not None:
            surplus = (middle.several, middle.several_low, middle.several_high, middle.p, middle.reference)
        values.append(
            (
                run.name, run.group, run.examples, run.units, run.tokens, int(found.held.any(axis=0).sum()),
                *numbers, whole.several_high, near.share, *surplus,
            )
        )  # fmt: skip
    header = (
        "run", "rule", "inputs", "tokens an input", "heads with a role", f"roles a head {ENDS}",
        f"two or more roles {ENDS}", "p near 0 or 1", f"middle layers, points {ENDS}", "over inputs",
        "choices as large",
    )  # fmt: skip
    return Sheet("Runs", header, tuple(rows), columns=ROW_COLUMNS, values=tuple(values))


def roles_sheet(atlas: Atlas) -> Sheet:
    """Return heads with each role in every run, and those with the role in all of them."""
    rows: list[tuple[Cell, ...]] = []
    values: list[tuple[float | str | None, ...]] = []
    alike = len(models_of(atlas)) == 1
    for place, role in enumerate(atlas.roles):
        counts = [
            int(found.held[found.of(role)].sum()) if role in found.tested else None
            for found in atlas.findings
        ]
        everywhere = None
        if alike and None not in counts:
            held = np.stack([found.held[found.of(role)] for found in atlas.findings])
            everywhere = int(held.all(axis=0).sum())
        cells = [MISSING if number is None else count_cell(number) for number in counts]
        last = [MISSING if everywhere is None else count_cell(everywhere)] * alike
        rows.append((Cell(role, place), *cells, *last))
        values.append((role, *counts, *([everywhere] * alike)))
    names = [run.name for run in atlas.runs]
    return Sheet(
        "Heads with each role", ("role", *names, *["in all"] * alike), tuple(rows),
        columns=("role", *names, *["in_all"] * alike), values=tuple(values),
    )  # fmt: skip


def agreement_sheet(atlas: Atlas, group: str = "") -> Sheet:
    """Return the agreement of pairs of runs and its means.

    Args:
        atlas: Of some runs.
        group: Of the runs; "" for all groups.
    """
    chosen = [row for row in atlas.agreement if not group or row.group == group]
    rows = tuple(_agreement_row(place, row, group) for place, row in enumerate(chosen))
    columns, values = columns_of_records(Agreement, chosen)
    named = ("role",) if group else ("role", "rule")
    header = (*named, "runs", "heads", "both", "either", f"kappa {ENDS}")
    return Sheet("Agreement", header, rows, columns=columns, values=values)


def _agreement_row(place: int, row: Agreement, group: str) -> tuple[Cell, ...]:
    """Return one line of the table of agreement."""
    return (
        Cell(row.sieve or "all roles, mean", place),
        *([] if group else [word_cell(row.group)]),
        word_cell(f"{row.run_a} – {row.run_b}" if row.run_a else "mean over pairs"),
        count_cell(row.heads),
        *(Cell(count(number), number) for number in (row.both, row.either)),
        MISSING if math.isnan(row.kappa) else Cell(kappa_text(row), row.kappa),
    )


def p_sheet(atlas: Atlas) -> Sheet:
    """Return p values near 0 or 1 by run and role, and those of all runs."""
    rows: list[tuple[Cell, ...]] = []
    values: list[tuple[float | str, ...]] = []
    for run, found in zip(atlas.runs, atlas.findings, strict=True):
        named = [(role, found.numbers["p"][found.of(role)]) for role in found.roles]
        for role, p in (*named, ("all roles", found.numbers["p"])):
            counts = count_extreme_p(p)
            rows.append((Cell(run.name, len(rows)), word_cell(role), *p_cells(counts)))
            values.append((run.name, role, *p_numbers(counts)))
    whole = count_extreme_p(np.concatenate([atlas.p_values(place) for place in range(len(atlas.runs))]))
    rows.append((Cell("all runs", len(rows)), word_cell("all roles"), *p_cells(whole)))
    values.append(("all runs", "all roles", *p_numbers(whole)))
    return Sheet(
        "p values near 0 or 1", ("run", "role", *P_HEADER[1:]), tuple(rows),
        columns=("run", *P_COLUMNS), values=tuple(values),
    )  # fmt: skip


def layers_sheet(atlas: Atlas) -> Sheet:
    """Return roles a head and the share of heads with several roles, by run and layer."""
    rows: list[tuple[Cell, ...]] = []
    values: list[tuple[object, ...]] = []
    header: tuple[str, ...] = ()
    for run, several in zip(atlas.runs, atlas.several, strict=True):
        own = several_sheet(several)
        header = own.header
        for line, row in zip(own.rows, several, strict=True):
            rows.append((Cell(run.name, len(rows)), word_cell(line[0].text), *line[1:]))
            values.append((run.name, *astuple(row)))
    columns = ("run", *(field.name for field in fields(SeveralRoles)))
    return Sheet("Roles by layer", ("run", *header), tuple(rows), columns=columns, values=tuple(values))


def heads_sheet(atlas: Atlas, places: Sequence[int]) -> Sheet:
    """Return the roles of every head in some runs of one model; wholes are left out where a part holds.

    Args:
        atlas: Of some runs.
        places: Runs of one model.
    """
    marks = {role: look.mark for role, look in zip(atlas.roles, looks_of(atlas.roles), strict=True)}
    first = atlas.runs[places[0]]
    drawn = [
        (atlas.findings[place].roles, without_wholes(atlas.findings[place].roles, atlas.findings[place].held))
        for place in places
    ]
    rows: list[tuple[Cell, ...]] = []
    values: list[tuple[int | str, ...]] = []
    for layer, head in np.ndindex(len(first.layers), first.heads):
        held = [
            [role for number, role in enumerate(roles) if grid[number, layer, head]] for roles, grid in drawn
        ]
        cells = [word_cell(" ".join(marks[role] for role in own) or "–") for own in held]
        rows.append((place_cell(first.layers[layer], head), *cells))
        values.append((first.layers[layer], head, *(";".join(own) for own in held)))
    names = [atlas.runs[place].name for place in places]
    return Sheet(
        "Roles of every head", ("head", *names), tuple(rows), columns=("layer", "head", *names),
        values=tuple(values),
    )  # fmt: skip


def findings_sheet(atlas: Atlas) -> Sheet:
    """Return every finding of every run."""
    columns, values = columns_of_frame(atlas.frame())
    place = {name: number for number, name in enumerate(columns)}
    rows = tuple(
        (
            Cell(row[place["run"]], number),
            word_cell(row[place["sieve"]]),
            Cell(f"{row[place['layer']]}-{row[place['head']]}", row[place["layer"]]),
            range_cell(mean, *(row[place[name]] for name in ("mean", "low", "high"))),
            Cell(p_text(row[place["q"]]), row[place["q"]]),
            word_cell(row[place["verdict"]]),
        )
        for number, row in enumerate(values)
    )
    header = ("run", "role", "head", f"mean {ENDS}", "q", "verdict")
    return Sheet("Findings", header, rows, columns=columns, values=values)
