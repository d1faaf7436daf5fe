"""Sensitivity of labels: heads that keep a role at other margins and levels."""

from dataclasses import replace

import numpy as np

from headroles.records.assessment import SENSITIVITY
from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision, Rule
from headroles.records.table import Table
from headroles.stats.claims import label_p
from headroles.stats.columns import Columns
from headroles.stats.correction import significant
from headroles.stats.engine import counted_p
from headroles.stats.families import adjust_families, family_members
from headroles.stats.methods.names import METHODS
from headroles.stats.relabel import Grid, closed_form_decision, deciding, roles_from_p

STEPS = (0.0, 0.2, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Margins tried, as multiples of the one used."""
ALPHAS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Levels tried, besides the one used."""


def sensitivity_to_margin(columns: Columns, grid: Grid, decision: Decision) -> Table:
    """Return the number of labelled heads of every role at margins around the one used.

    Contrasts keep their margins. Each point is a whole judgement with its own correction; the curve
    describes how far the convention decides and is itself no test. Tests in closed form replace those
    that resample (``relabel.stand_in``).
    """
    plain = decision if METHODS[decision.test].bounded else closed_form_decision(decision)
    deciders = deciding(columns.rules)
    p = np.empty((len(STEPS), len(deciders), 1, grid.layers * grid.heads))
    rules: list[list[Rule]] = [[] for _ in STEPS]
    for position, decider in enumerate(deciders):
        column = columns[decider]
        sample = column.sample
        for number, step in enumerate(STEPS):
            moved = replace(column, rule=_with_margin(column.rule, step))
            rules[number].append(moved.rule)
            if number and not column.rule.role:
                p[number, position] = p[0, position]
                continue
            p[number, position, 0] = label_p(moved, sample, plain.test)
    rows = []
    for moved_rules, at_margin in zip(rules, p, strict=True):
        held = roles_from_p(at_margin, moved_rules, grid, plain)[:, 0].sum(axis=1)
        roles = [rule for rule in moved_rules if rule.role]
        rows += [
            {"sieve": rule.sieve, "convention": "margin", "value": round(rule.margin, 6), "heads": heads}
            for rule, heads in zip(roles, held, strict=True)
        ]
    return SENSITIVITY.rows(rows)


def _with_margin(rule: Rule, step: float) -> Rule:
    return replace(rule, margin=(rule.margin or 0.1) * step) if rule.role else rule


def sensitivity_to_alpha(columns: Columns, findings: Findings, decision: Decision) -> Table:
    """Return the number of labelled heads of every role at levels around the one used, by the run's p.

    Roles that are withheld, since they would hinge on few units (``engine.counted_p``), count at no level.
    """
    layers, heads = findings.count.shape[1:]
    families = family_members(findings.rules, layers, heads, decision.family)
    shape = (len(findings.rules), layers * heads)
    p, q = (p.reshape(shape) for p in (counted_p(columns, findings, decision)[0], findings.q))
    rows = []
    for alpha in sorted({*ALPHAS, decision.alpha}):
        if decision.correction == "fdr_tsbh":  # the only one whose adjusted p depend on alpha
            q = adjust_families(p, families, decision.correction, alpha)
        held = significant(q, alpha, p).sum(axis=1)
        rows += [
            {"sieve": rule.sieve, "convention": "alpha", "value": alpha, "heads": held[k]}
            for k, rule in enumerate(findings.rules)
            if rule.role
        ]
    return SENSITIVITY.rows(rows)
