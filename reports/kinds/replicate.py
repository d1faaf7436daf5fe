"""The report of a replication: how many roles of run A hold on the inputs of run B, row by row."""

from dataclasses import replace

from headroles.records.numbers import join_names, mean, plural
from headroles.records.replication import Replication
from headroles.records.roles import role_marks
from headroles.records.rules.rule import FAMILIES
from headroles.records.table import Column
from headroles.reports.account import Named, describe_run, describe_test
from headroles.reports.answer import Answer
from headroles.reports.report import Grid, Page, Report

MARK = Column("mark", "Short mark of the row.", str, "mark")
SHOWN = (
    "name", "roles", "role", "not_role", "undetermined", "untestable", "explained", "heads", "correlation",
    "mark",
)  # fmt: skip
"""Columns of counts that a notebook shows."""


def report(found: Replication) -> Report:
    """Return the report of a replication, which has a terminal and a notebook, and no page."""
    decision, outcomes = found.decision, found.outcomes
    words = ", ".join(f"{number} {name}" for name, number in sorted(outcomes.items())) or "none"
    return Report(
        "headroles compare --replicate", "",
        Answer(
            f"{outcomes['role']} of {plural(len(found.replicates), 'label')} hold in both runs",
            f"{words}. {decision.test}, {decision.correction}, alpha {decision.alpha:g}.", (), found.notes,
        ),
        ((), ()), found.manifest, {}, page=lambda: Page("", (), {}, {}), screen=lambda detail: _screen(found),
        cell=lambda: [_counts(found)], facts=lambda detail: _facts(found),
    )  # fmt: skip


def _facts(found: Replication) -> list[Named]:
    """Return what was found in one line, the two runs, the test, and remarks."""
    runs, decision = found.manifest, found.decision
    over = FAMILIES.get(decision.family, decision.family)
    ways = " (both directions of a row)" * any(row.columns > 1 for row in found.rows)
    return [
        Named("found", summary(found), ""),
        *(Named(name.upper(), describe_run(runs[name]), "") for name in ("a", "b")),
        Named("tested", describe_test(decision, runs["a"].get("preset")), ""),
        Named("family", f"the roles of A, of {over}{ways}; fixed before B was read", ""),
        *(Named("note", note, "yellow") for note in found.notes),
    ]


def _screen(found: Replication) -> list[Grid | Named | str]:
    """Return the counts of every row with a role in A, its best heads and gaps, and what r is."""
    roles = found.rows.take(found.rows["roles"] > 0)
    bare = len(found.rows) - len(roles)
    return [
        Grid(roles, leave=() if roles["explained"].any() else ("explained",)),
        *([f"{bare} without a role in A"] if bare else []),
        Grid(found.best.take(found.best["decision"] != "")),
        Grid(found.gaps),
        Named("r", "correlation of head means in A and B, over all heads; described, not tested", ""),
    ]


def _counts(found: Replication) -> Grid:
    """Return roles of A by their decision in B for every row, for notebooks."""
    table = found.rows.extended(MARK, role_marks(found.rows["name"].tolist()))
    table = table.describe("roles", heading="roles of A").describe("heads", heading="heads")
    table = table.describe("correlation", heading="r of means", text=mean)
    return Grid(replace(table, name="Roles of A, tested in B").sheet(only=SHOWN))


def summary(found: Replication) -> str:
    """Return how many labels of A hold in B, too.

    Example:
        >>> from headroles.records.rules.rule import Decision
        >>> summary(Replication(Decision()))
        'A has no role in the columns of both, so there is nothing to replicate.'
    """
    counts, total = found.outcomes, len(found.replicates)
    if not total:
        return "A has no role in the columns of both, so there is nothing to replicate."
    words = {
        "not": "not in B", "explained": "explained in B", "undetermined": "open", "untestable": "untestable",
    }  # fmt: skip
    left = [f"{counts[name]} {word}" for name, word in words.items() if counts[name]]
    sentence = f"{counts['role']} of {plural(total, 'label')} of A hold in both runs."
    sentence += f" Of the others, {join_names(left)}." if left else ""
    claimed = [best for best in found.best if best.decision]
    if claimed:
        held = sum(best.decision == "beyond" for best in claimed)
        rows = plural(len(claimed), "row")
        sentence += f" Of the best heads of {rows} beyond their baselines in A, {held} are in B."
    if found.gaps:
        held = sum(gap.decision == "gap" for gap in found.gaps)
        sentence += f" Of {plural(len(found.gaps), 'gap')} between conditions in A, {held} hold in B."
    return sentence
