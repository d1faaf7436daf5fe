"""Tables of what holds across the runs of an atlas: roles in at least u of k runs, training steps."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from headroles.records.atlas.atlas import Atlas
from headroles.records.table import Column, Table, counted
from headroles.reports.sections.atlas_sheets import of_names
from headroles.reports.sheets import Sheet, with_digits


def counts_sheet(atlas: Atlas, group: str = "") -> Sheet:
    """Return, per role, in at least how many runs heads hold it, by the test of partial conjunction.

    Args:
        atlas: Of some runs.
        group: Of the runs; "" for all groups.
    """
    chosen = atlas.consensus.where(group=group) if group else atlas.consensus
    most = int(chosen["runs"].max(initial=0))
    rows: list[dict[str, Any]] = []
    for own_group, role in dict.fromkeys((row.group, row.sieve) for row in chosen):
        own = chosen.where(group=own_group, sieve=role)
        runs = int(own["runs"].max())
        counts = {
            f"at_least_{u}": int((own["at_least"] >= u).sum()) if u <= runs else None
            for u in range(1, most + 1)
        }
        everywhere = int(((own["held"] == own["runs"]) & (own["runs"] == runs)).sum()) if runs else None
        rows.append({"role": role, "group": own_group, "runs": runs, **counts, "labelled_in_all": everywhere})
    table = Table("", "Heads by the runs in which they hold a role", "a role", (
        Column("role", "The role.", str, "role"), Column("group", "Model and rule of the runs.", str, "rule"),
        counted("runs", "Runs that could test the role.", "runs"),
        *(
            Column(f"at_least_{u}", f"Heads with the role in at least {u} runs.", "int | None",
                   f"in at least {u}")
            for u in range(1, most + 1)
        ),
        Column("labelled_in_all", "Heads with the label in all runs.", "int | None", "labelled in all"),
    )).rows(rows)  # fmt: skip
    return with_digits(table.sheet(leave=["group"] * bool(group)), table)


def consensus_sheet(atlas: Atlas) -> Sheet:
    """Return every role of every head over the runs of a group, those with a role in some run."""
    table = atlas.consensus
    chosen = table.take((table["held"] > 0) | (table["at_least"] > 0))
    empty = [name for name in ("r", "mean") if np.isnan(chosen[name]).all()]
    return with_digits(chosen.sheet(leave=empty), table)


def trends_sheet(atlas: Atlas) -> Sheet:
    """Return the roles of heads that change over the steps of a training, or hold at the last step."""
    table = atlas.steps
    moves = np.isin(table["trend"].astype(str), ("rises", "falls"))
    return with_digits(table.take((table["emerged"] != "") | (table["lost"] != "") | moves).sheet(), table)


def emerged_sheet(atlas: Atlas) -> Sheet:
    """Return, per role, how many heads hold it from each step until the last."""
    names, rows = [run.name for run in atlas.runs], []
    for role in dict.fromkeys(row.sieve for row in atlas.steps):
        own = [row for row in atlas.steps if row.sieve == role]
        counts, trends = Counter(row.emerged for row in own), Counter(row.trend for row in own)
        steps = {str(place): counts[name] for place, name in enumerate(names)}
        lost = sum(bool(row.lost) for row in own)
        rows.append({"role": role, **steps, "lost": lost, "rises": trends["rises"], "falls": trends["falls"]})
    table = Table("", "Heads by the step from which they hold a role", "a role", (
        Column("role", "The role.", str, "role"),
        *of_names(names, "from {}", "Heads that hold the role from this step until the last."),
        counted("lost", "Heads that lose it.", "lost"), counted("rises", "Heads whose score rises.", "rise"),
        counted("falls", "Heads whose score falls.", "fall"),
    )).rows(rows)  # fmt: skip
    return replace(with_digits(table.sheet(), table), columns=("role", *names, "lost", "rises", "falls"))
