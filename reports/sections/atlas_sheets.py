"""Tables of an atlas: its runs, heads with each role, p values, roles of heads."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headroles.records.assessment import count_extreme_p
from headroles.records.atlas.atlas import Atlas
from headroles.records.numbers import count, percent_text, share, two_decimals
from headroles.records.roles import looks_of, without_wholes
from headroles.records.table import COUNT, ENDS, HEAD, LAYER, SHARE, Cell, Column, Row, Table, counted
from headroles.reports.papers import P_VALUES, p_row
from headroles.reports.sheets import Sheet, with_digits
from headroles.reports.words.words import middle_row, middle_verdict, points

_P_OF_ROLES = P_VALUES.describe("role", heading="role")
P_OF_RUNS = replace(
    _P_OF_ROLES, columns=(Column("run", "Name of the run.", str, "run"), *_P_OF_ROLES.columns)
)


def _over_inputs(row: Row) -> Cell:
    """Return what the inputs say about the middle layers; a dash where they were not compared."""
    ends = Row(several_low=row.middle_low, several_high=row.middle_high)
    text = "–" if math.isnan(row.middle_surplus) else middle_verdict(ends)
    return Cell(text, text)


RUNS = Table("", "Runs", "a run", (
    Column("run", "Name of the run.", str, "run", terminal="narrow"),
    Column("group", "Its model and rule.", str, "rule"),
    counted("inputs", "Number of inputs.", "inputs"),
    counted("units", "Number of units."),
    Column("tokens", "Mean length of an input in tokens.", float, "tokens an input", count, terminal="narrow",
           short="tokens", within=COUNT),
    counted("roles_held", "Heads with a role.", "heads with a role", terminal="narrow", short="heads"),
    Column("roles_a_head", "Mean number of roles a head.", float, f"roles a head {ENDS}", two_decimals,
           ("roles_a_head_low", "roles_a_head_high"), terminal="narrow"),
    Column("roles_a_head_low", "Lower end of its 95 % interval over inputs."),
    Column("roles_a_head_high", "Upper end."),
    Column("several", "Share of heads with two or more roles.", float, f"two or more roles {ENDS}", share,
           ("several_low", "several_high")),
    Column("several_low", "Lower end of its 95 % interval over inputs."),
    Column("several_high", "Upper end."),
    Column("near_0_or_1", "Share of p values below 0.05 or above 0.95.", float, "p near 0 or 1", percent_text,
           terminal="narrow", short="p near 0, 1", within=SHARE),
    Column("middle_surplus", "Share of heads with two or more roles in the middle third of layers, less "
           "that in the others.", float, f"middle layers, points {ENDS}", points,
           ("middle_low", "middle_high"),
           terminal="narrow", short=f"middle, points {ENDS}"),
    Column("middle_low", "Lower end of its 95 % interval over inputs."), Column("middle_high", "Upper end."),
    Column("middle_p", "p of no surplus.", float, "over inputs", cell=_over_inputs),
    Column("middle_reference", "Share of choices of as many layers with a surplus as large.", float,
           "choices as large", share),
))  # fmt: skip


def models_of(atlas: Atlas) -> list[list[int]]:
    """Return the places of the runs of every model, which have the same heads; checkpoints are one model."""
    if atlas.steps:
        return [list(range(len(atlas.runs)))]
    models: dict[tuple[object, ...], list[int]] = {}
    for place, run in enumerate(atlas.runs):
        models.setdefault((run.weights or run.model, run.layers, run.heads), []).append(place)
    return list(models.values())


def runs_table(atlas: Atlas) -> Table:
    """Return one line per run: inputs, their length, roles a head, p near 0 or 1, and the middle layers."""
    rows = []
    for place, (run, several, found) in enumerate(
        zip(atlas.runs, atlas.several, atlas.findings, strict=True)
    ):
        whole, middle = several[0], middle_row(several)
        row = {
            "run": run.name, "group": run.group, "inputs": run.examples, "units": run.units,
            "tokens": run.tokens, "roles_held": found.held.any(axis=0).sum(),
            "near_0_or_1": count_extreme_p(atlas.p_values(place)).share,
        }  # fmt: skip
        for end in ("", "_low", "_high"):
            row[f"roles_a_head{end}"] = getattr(whole, f"mean{end}")
            row[f"several{end}"] = getattr(whole, f"several{end}")
        names = ("several", "several_low", "several_high", "p", "reference")
        for name, own in zip(("surplus", "low", "high", "p", "reference"), names, strict=True):
            row[f"middle_{name}"] = math.nan if middle is None else getattr(middle, own)
        rows.append(row)
    return RUNS.rows(rows)


def of_names(names: Iterable[str], heading: str, meaning: str, kind: type | str = int) -> tuple[Column, ...]:
    """Return a column for each run, named by its place, since runs may have any names."""
    return tuple(Column(str(place), meaning, kind, heading.format(name)) for place, name in enumerate(names))


def roles_sheet(atlas: Atlas) -> Sheet:
    """Return heads with each role in every run, and those with the role in all of them."""
    rows: list[dict[str, Any]] = []
    alike, names = len(models_of(atlas)) == 1, [run.name for run in atlas.runs]
    for role in atlas.roles:
        grids = [found.held[found.of(role)] if role in found.tested else None for found in atlas.findings]
        counts = {str(place): None if grid is None else int(grid.sum()) for place, grid in enumerate(grids)}
        known = [grid for grid in grids if grid is not None]
        everywhere = int(np.all(known, axis=0).sum()) if alike and len(known) == len(grids) else None
        rows.append({"role": role, **counts, "in_all": everywhere})
    columns = (
        Column("role", "The role.", str, "role"),
        *of_names(names, "{}", "Heads with the role in the run; none where it was not tested.", "int | None"),
        *[Column("in_all", "Heads with the role in all runs.", "int | None", "in all")] * alike,
    )
    table = Table("", "Heads with each role", "a role", columns).rows(rows)
    return replace(with_digits(table.sheet(), table), columns=("role", *names, *["in_all"] * alike))


def agreement_sheet(atlas: Atlas, group: str) -> Sheet:
    """Return the agreement of pairs of runs of a group, and its means."""
    chosen = atlas.agreement.where(group=group)
    return with_digits(chosen.sheet(leave=["group"]), chosen)


def p_table(atlas: Atlas) -> Table:
    """Return p values near 0 or 1 by run and role, and those of all runs."""
    rows = []
    for run, found in zip(atlas.runs, atlas.findings, strict=True):
        named = [(role, found.numbers["p"][found.of(role)]) for role in found.roles]
        rows += [
            {"run": run.name, **p_row(role, p)} for role, p in (*named, ("all roles", found.numbers["p"]))
        ]
    whole = np.concatenate([atlas.p_values(place) for place in range(len(atlas.runs))])
    return P_OF_RUNS.rows([*rows, {"run": "all runs", **p_row("all roles", whole)}])


def heads_sheet(atlas: Atlas, places: Sequence[int]) -> Sheet:
    """Return the roles of every head in some runs of one model; wholes are left out where a part holds.

    Args:
        atlas: Of some runs.
        places: Runs of one model.
    """
    marks = {role: look.mark for role, look in zip(atlas.roles, looks_of(atlas.roles), strict=True)}
    first, names = atlas.runs[places[0]], [atlas.runs[place].name for place in places]
    drawn = [
        (atlas.findings[place].roles, without_wholes(atlas.findings[place].roles, atlas.findings[place].held))
        for place in places
    ]
    rows = []
    for layer, head in np.ndindex(len(first.layers), first.heads):
        held = {
            str(place): ";".join(role for role, own in zip(roles, grid, strict=True) if own[layer, head])
            for place, (roles, grid) in enumerate(drawn)
        }
        rows.append({"layer": first.layers[layer], "head": head, **held})

    def marked(roles: str) -> str:
        return " ".join(marks[role] for role in roles.split(";") if role) or "–"

    runs = (replace(column, text=marked) for column in of_names(names, "{}", "Its roles in the run.", str))
    table = Table("", "Roles of every head", "a head", (LAYER, HEAD, *runs)).rows(rows)
    return replace(with_digits(table.sheet(), table), columns=("layer", "head", *names))
