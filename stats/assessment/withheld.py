"""Labels that are withheld because they would hinge on few units, and the remark that names their heads."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from headroles.records.findings import Findings
from headroles.records.layers import Stack
from headroles.records.rules.rule import Decision
from headroles.stats.assessment.remarks import join_names
from headroles.stats.columns import Column, lets_not, lets_role
from headroles.stats.correction import significant
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.stats.engine import informative_units
from headroles.stats.families import adjust_own_families, family_members, joint_above
from headroles.stats.methods.reliance import UNSEEN


def withheld(
    columns: Sequence[Column], findings: Findings, decision: Decision
) -> tuple[Bool[np.ndarray, "sieves heads"], Bool[np.ndarray, "sieves heads"]]:
    """Return which heads get no role, and which no "not", because it would hinge on few units.

    A role is withheld where p of its test is at most alpha, and the claim hinges on few units; a "not" where
    its q would be at most alpha without the guard, by Holm's correction in place of maxT.

    Args:
        columns: The columns that were tested.
        findings: Their outcome.
        decision: As they were judged.
    """
    shape = (len(columns), findings.count[0].size)
    rows = {name: getattr(findings, name).reshape(shape) for name in ("p", "p_not", "decision")}
    each = [_reliance(column, decision) for column in columns]
    above, unreliable = (np.stack(rows) for rows in zip(*each, strict=True))
    role = (rows["p"] <= decision.alpha) & ~joint_above(above, findings.rules) & (rows["decision"] == 2)
    layers, heads = findings.count.shape[1:]
    families = family_members(findings.rules, layers, heads, decision.family)
    q_not = adjust_own_families(rows["p_not"], families, decision)
    claimed = significant(q_not, decision.alpha, rows["p_not"]) & (rows["decision"] == 2)
    return role, claimed & unreliable


def _reliance(
    column: Column, decision: Decision
) -> tuple[Bool[np.ndarray, " heads"], Bool[np.ndarray, " heads"]]:
    """Return which heads may have a role, and which have enough units for "not" but would hinge on few."""
    sample = column.sample
    unreliable = (informative_units(column) >= ENOUGH_FOR_NOT) & ~lets_not(column, sample, decision.test)
    return lets_role(column, sample, decision.test), unreliable


def withheld_remarks(
    columns: Sequence[Column], findings: Findings, decision: Decision, stack: Stack, *, nots: bool = True
) -> list[str]:
    """Return a remark that names the heads whose labels are withheld; no remark without such heads.

    Args:
        columns: The columns that were tested.
        findings: Their outcome.
        decision: As they were judged.
        stack: The layers by their positions.
        nots: Whether "not" is a verdict of its own.
    """
    heads, named = findings.count.shape[2], []

    def name(cell: int) -> str:
        return stack.name(*divmod(cell, heads))

    labels = ("role", "not") if nots else ("role",)
    for label, rows in zip(labels, withheld(columns, findings, decision), strict=False):
        for rule, row in zip(findings.rules, rows, strict=True):
            if rule.role and row.any():
                places = join_names([name(cell) for cell in np.flatnonzero(row).tolist()])
                named.append(f"{rule.sieve} ({label}: {places})")
    if not named:
        return []
    return [
        f"labels that would depend on few units are withheld, so these heads stay undetermined: "
        f"{'; '.join(named)}. {UNSEEN} more units with extreme scores could reverse them."
    ]
