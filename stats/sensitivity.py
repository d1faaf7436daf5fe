"""How many heads keep a role when the margin or alpha moves."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headroles.records.assessment import Moved
from headroles.records.example import Decision, Rule
from headroles.records.findings import Findings
from headroles.stats.columns import Column, settled
from headroles.stats.correction import significant
from headroles.stats.families import adjust_families, members
from headroles.stats.methods import METHODS
from headroles.stats.moments import describe
from headroles.stats.relabel import Grid, roles_of, stand_in

STEPS = (0.0, 0.2, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Margins tried, as multiples of the one used."""
ALPHAS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Levels tried, besides the one used."""


def over_margins(columns: Sequence[Column], grid: Grid, decision: Decision) -> list[Moved]:
    """Number of labelled heads of every role at margins around the one used.

    Contrasts keep their margins. Each point is a whole judgement with its own correction; the curve
    describes how far the convention decides and is itself no test. Tests that resample are stood
    in for (``relabel.stand_in``).
    """
    plain = stand_in(decision)
    method = METHODS[plain.test]
    p = np.empty((len(STEPS), len(columns), 1, grid.layers * grid.heads))
    rules: list[list[Rule]] = [[] for _ in STEPS]
    for position, column in enumerate(columns):
        sample = describe(column.values)
        for number, step in enumerate(STEPS):
            moved = replace(column, rule=_moved(column.rule, step))
            outcome = method(moved.values, sample, moved.rule.margin, 0, 0)
            p[number, position, 0] = settled(outcome, moved, sample).p
            rules[number].append(moved.rule)
    found = []
    for own, each in zip(rules, p, strict=True):
        held = roles_of(each, own, grid, plain)[:, 0].sum(axis=1)
        roles = [rule for rule in own if rule.role]
        found += [
            Moved(rule.sieve, "margin", round(rule.margin, 6), int(heads))
            for rule, heads in zip(roles, held, strict=True)
        ]
    return found


def _moved(rule: Rule, step: float) -> Rule:
    return replace(rule, margin=(rule.margin or 0.1) * step) if rule.role else rule


def over_alphas(findings: Findings, decision: Decision) -> list[Moved]:
    """Number of labelled heads of every role at levels around the one used, with the run's own p."""
    layers, heads = findings.count.shape[1:]
    families = members(findings.rules, layers, heads, decision.family)
    shape = (len(findings.rules), 1, layers * heads)
    found = []
    for alpha in sorted({*ALPHAS, decision.alpha}):
        q = findings.q.reshape(shape)
        if decision.correction != "maxT":
            q = adjust_families(findings.p.reshape(shape), families, decision.correction, alpha)
        held = significant(q, alpha, findings.p.reshape(shape)).sum(axis=(1, 2))
        found += [
            Moved(rule.sieve, "alpha", alpha, int(held[k]))
            for k, rule in enumerate(findings.rules)
            if rule.role
        ]
    return found
