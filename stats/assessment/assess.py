"""Assess findings beyond their tests: precision, stability, sensitivity, overlaps, depth (``assess``)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.assessment import SENSITIVITY, SEVERAL, TOGETHER, Assessment, Precision
from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.moments import Moments
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.depth import role_depths
from headroles.stats.assessment.drops import value_drops
from headroles.stats.assessment.extent import absent_p, prevalence
from headroles.stats.assessment.remarks import large_remarks, moment_remarks, remarks, tail_remarks
from headroles.stats.assessment.sensitivity import sensitivity_to_alpha, sensitivity_to_margin
from headroles.stats.assessment.several import fresh_roles, relabels, several_roles
from headroles.stats.assessment.stability import stability
from headroles.stats.assessment.together import role_pairs, role_sets
from headroles.stats.assessment.withheld import withheld_remarks
from headroles.stats.columns import Column, Columns
from headroles.stats.draws import bootstrap_counts
from headroles.stats.effects import bayes_factors, effect_interval, hedges_g
from headroles.stats.engine import evidence_columns, explained_p, mean_intervals
from headroles.stats.families import adjust_own_families, family_members
from headroles.stats.grouped import GroupColumns
from headroles.stats.methods.reliance import largest_share
from headroles.stats.power import assumed_cut, detectable_effect
from headroles.stats.relabel import (
    Grid,
    closed_form_decision,
    deciding,
    gather_draws,
    p_of_draws,
    roles_from_p,
)

RELABELLINGS = 500
"""Resamples of the units behind intervals of overlaps and layers."""
POWER = 0.8


def assess(
    scores: Scores,
    rules: Sequence[Rule],
    decision: Decision,
    findings: Findings,
    *,
    bayes: bool = False,
    moments: Moments | None = None,
    absence: bool = True,
    nots: bool = True,
) -> Assessment:
    """Return precision and stability of every finding, sensitivity, roles together and over layers.

    Args:
        scores: The scores that were judged.
        rules: One per column.
        decision: How the scores were judged.
        findings: The outcome.
        bayes: Whether to compute Bayes factors.
        moments: As ``judge`` takes them; their random groups are then the units that are resampled.
        nots: Whether "not" is a verdict, so that a remark names heads where it is withheld.
        absence: Whether heads are tested for "absent", and their roles are counted; not so in surface runs.
    """
    grid = Grid(scores.layers, scores.heads)
    columns = evidence_columns(scores, rules, decision, moments)
    names = [rule.sieve for rule in rules if rule.role]
    held = findings.decision[[rule.role for rule in rules]].reshape(len(names), -1) == 0
    with_contrasts, without = _resample_roles(columns, grid, decision)
    together = role_pairs(names, held, with_contrasts, grid, "with")
    changed = {rule.sieve for rule in rules if rule.contrast}
    if changed:
        bare = role_pairs(names, without[:, 0], without[:, 1:], grid, "without")
        bare = bare.take([bool({pair.first, pair.second} & changed) for pair in bare])
        together = TOGETHER.joined([together, bare])
    more = _verdicts(columns, grid, decision, findings, absence) | _shares(columns, scores, rules)
    return Assessment(
        precision=_precision(columns, grid, decision, findings, bayes, more),
        moved=SENSITIVITY.joined(
            [
                sensitivity_to_margin(columns, grid, decision),
                sensitivity_to_alpha(columns, findings, decision),
            ]
        ),
        together=together,
        depth=role_depths(names, held, with_contrasts, grid, decision.seed, scores.stack),
        remarks=(
            *([] if moments is None else moment_remarks(moments, scores, columns, decision)),
            *remarks(decision, findings, len(scores.examples) if moments is None else moments.examples),
            *tail_remarks(columns, decision),
            *([] if moments is not None else large_remarks(scores, rules)),
            *withheld_remarks(columns, findings, decision, nots=nots),
        ),
        sets=role_sets(names, held, grid),
        several=(
            several_roles(
                names, held, fresh_roles(columns, grid, decision), grid, decision.seed, scores.stack
            )
            if absence and relabels(decision)
            else SEVERAL
        ),
        drops=value_drops(columns, decision, grid.heads),
    )


def _resample_roles(
    columns: Columns, grid: Grid, decision: Decision
) -> tuple[Bool[np.ndarray, "roles draws heads"], Bool[np.ndarray, "roles more_draws heads"]]:
    """Return roles under resamples of the units; and without contrasts, where draw 0 is the data."""
    plain, units = closed_form_decision(decision), len(columns[0].values)
    deciders = deciding(columns.rules)
    rules = [columns.rules[position] for position in deciders]
    bare = [replace(rule, contrast="") for rule in rules]
    drawn, undrawn = [], []
    counts = chain([np.ones((1, units))], bootstrap_counts(units, RELABELLINGS, decision.seed))
    for weights in gather_draws(counts, grid.layers * grid.heads):
        p = p_of_draws(columns, deciders, weights, plain)
        undrawn.append(roles_from_p(p, bare, grid, plain))
        drawn.append(roles_from_p(p, rules, grid, plain))
    return np.concatenate(drawn, axis=1)[:, 1:], np.concatenate(undrawn, axis=1)


def _precision(
    columns: Columns,
    grid: Grid,
    decision: Decision,
    findings: Findings,
    bayes: bool,
    more: Mapping[str, np.ndarray],
) -> Precision:
    shape = findings.count.shape
    share = np.full(shape, np.nan)
    share[[rule.role for rule in findings.rules]] = stability(columns, grid, decision, findings).reshape(
        -1, *shape[1:]
    )
    inflated = np.stack([columns.design_effects(k) for k in range(len(columns))]).reshape(shape)
    numbers = zip(*map(_column_numbers, columns), strict=True)
    g, student, units, largest = (np.stack(rows).reshape(shape) for rows in numbers)
    g[np.isnan(findings.effect)] = np.nan
    count = findings.count
    if isinstance(columns, GroupColumns):  # of examples: as many independent ones as are equally informative
        count = np.rint(count / np.fmax(inflated, 1.0)).astype(np.int64)
    low, high = effect_interval(g, count)
    mean_low, mean_high = mean_intervals(columns, findings, decision)
    return Precision(
        hedges_g=g,
        g_low=low,
        g_high=high,
        detectable=detectable_effect(count, _cuts(findings, grid, decision), POWER),
        design_effect=inflated,
        stability=share,
        bayes_factor=bayes_factors(student, units) if bayes else np.full(shape, np.nan),
        mean_low=mean_low,
        mean_high=mean_high,
        largest_share=largest,
        **more,
    )


def _verdicts(
    columns: Columns, grid: Grid, decision: Decision, findings: Findings, absence: bool
) -> dict[str, np.ndarray]:
    """Return p and q of "explained" and of "absent", each corrected over families of its own."""
    shape = findings.count.shape
    p_explained = explained_p(columns, findings, decision)
    p_absent = absent_p(columns, decision) if absence else np.full(p_explained.shape, np.nan)
    families = family_members(columns.rules, grid.layers, grid.heads, decision.family)
    numbers: dict[str, np.ndarray] = {}
    for name, p in (("explained", p_explained), ("absent", p_absent)):
        q = adjust_own_families(p, families, decision)
        numbers |= {f"p_{name}": p.reshape(shape), f"q_{name}": q.reshape(shape)}
    return numbers


def _shares(columns: Columns, scores: Scores, rules: Sequence[Rule]) -> dict[str, np.ndarray]:
    """Return the prevalence of every column and head, with its interval, over units that are not pooled."""
    shape = (len(rules), scores.layers, scores.heads)
    if isinstance(columns, GroupColumns) or any(rule.pooled for rule in rules):
        columns = Columns(scores, [replace(rule, pooled=False) for rule in rules])
    names = ("prevalence", "prevalence_low", "prevalence_high")
    return {name: numbers.reshape(shape) for name, numbers in zip(names, prevalence(columns), strict=True)}


def _column_numbers(column: Column) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return of one column, per head: Hedges' g, Student's statistic, its units, and the largest share."""
    sample, margin = column.sample, column.rule.margin
    g, student = hedges_g(column.counted(sample), margin), column.errors_beyond()
    return g, student, sample.count, largest_share(column.values)


def _cuts(findings: Findings, grid: Grid, decision: Decision) -> Float[np.ndarray, "sieves layers heads"]:
    """Return the unadjusted level a head had to reach, given how many of its family hold the role."""
    p = findings.p.reshape(len(findings.rules), -1)
    held = findings.decision.reshape(p.shape) == 0
    cuts = np.full(p.shape, np.nan)
    for family in family_members(findings.rules, grid.layers, grid.heads, decision.family):
        tests = sum(int((~np.isnan(p[k, part])).sum()) for k, part in family)
        found = sum(int(held[k, part].sum()) for k, part in family)
        if tests:
            cut = assumed_cut(decision.correction, decision.alpha, tests, max(found, 1) / tests)
            for k, part in family:
                cuts[k, part] = cut
    return cuts.reshape(findings.p.shape)
