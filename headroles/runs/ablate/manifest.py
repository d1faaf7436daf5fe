"""Record everything that reproduces a run that takes heads out, and what the run left out."""

from typing import Any

import numpy as np

from headroles.options.causal.ablate import AblateOptions
from headroles.records.causal.ablation import (
    ENOUGH_FOR_LITTLE,
    FEWEST_UNITS,
    Ablation,
)
from headroles.records.causal.columns import CELLS, MATCHED, SITES, parse_column
from headroles.records.findings import Labelling
from headroles.records.table import Table
from headroles.runs.held.manifest import record_of_questions
from headroles.runs.manifest import (
    column_notes,
    few_unit_notes,
    truncation_notes,
)
from headroles.runs.scored import ScoredRun

TOO_FEW = "no head is decided"
FEW = "no head is called negligible or interfering"
NOTHING = "no input has such an output"
SILENT = {
    SITES: "No site is tested of {roles}: no input that measures damage has a site and a token like it.",
    CELLS: "No cells were removed of {roles}: no input that measures damage has any.",
    MATCHED: "No matched cells were removed for {roles}: on every input, other cells at the same offsets "
    "have less than 90 % of the attention of the cells of the role.",
}
"""By what a column of roles holds, why it has no value on any input."""


def manifest_of(options: AblateOptions, scored: ScoredRun) -> dict[str, Any]:
    """Return everything needed to reproduce a run that takes heads out, in JSON types."""
    return record_of_questions(options, scored, "ablation", "damage")


def omission_notes(options: AblateOptions, scored: ScoredRun, judged: Labelling) -> list[str]:
    """Return what was cut, was not applicable or has too few units, one sentence each."""
    notes = truncation_notes(scored.truncated, len(scored.scores.examples), options.max_length)
    notes += scored.facts.known.omitted
    few: dict[str, int] = {}
    silent: dict[str, dict[str, None]] = {}
    for position, rule in enumerate(scored.rules):
        column = parse_column(rule.sieve)
        if column.arm:
            notes += column_notes(
                rule.sieve, scored.scores, position, nothing=NOTHING, few=few, enough=ENOUGH_FOR_LITTLE
            )
        elif column.what in SILENT and np.isnan(scored.scores.values[position]).all():
            silent.setdefault(column.what, {})[column.role] = None
    notes += [SILENT[what].format(roles=", ".join(roles)) for what, roles in silent.items()]
    none = {name: units for name, units in few.items() if units < FEWEST_UNITS}
    some = {name: units for name, units in few.items() if name not in none}
    notes += few_unit_notes(none, TOO_FEW, FEWEST_UNITS) + few_unit_notes(some, FEW, ENOUGH_FOR_LITTLE)
    return notes + (role_notes(judged.ablated) if judged.ablated is not None else [])


def role_notes(ablated: Ablation) -> list[str]:
    """Return which tests of roles have too few units to decide, one sentence each.

    Args:
        ablated: Its tests.
    """
    tables: dict[str, Table] = {
        "sites": ablated.sites, "cells": ablated.cells, "areas": ablated.roles, "sets": ablated.groups,
    }  # fmt: skip
    few = {
        name: sum(row.decision != "untestable" and row.count < FEWEST_UNITS for row in rows)
        for name, rows in tables.items()
    }
    counted = [f"{count:,} of {len(tables[name]):,} tests of {name}" for name, count in few.items() if count]
    notes = [f"below {FEWEST_UNITS} units, no question about a role is decided: {', '.join(counted)}."]
    little = {row.role: row.count for row in ablated.roles if 0 < row.count < ENOUGH_FOR_LITTLE}
    notes = notes if counted else []
    return notes + few_unit_notes(little, "no role is shown to do no damage", ENOUGH_FOR_LITTLE)
