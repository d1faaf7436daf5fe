"""Judge the damages of interventions: three questions, each with its own tests and corrections."""

from collections.abc import Sequence
from dataclasses import replace

from headroles.records.causal.ablation import SET_TESTS, Ablation, HeadSets, HeldRoles
from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.causal.damage import damage_tests, margin_rows, needed_roles, rules_with_margins
from headroles.stats.causal.groups import group_tests
from headroles.stats.causal.roles import role_tests
from headroles.stats.causal.sites import cell_tests, site_tests
from headroles.stats.engine import judge


def judge_ablation(
    scores: Scores,
    rules: Sequence[Rule],
    decision: Decision,
    share: float,
    held: HeldRoles | None = None,
    sets: HeadSets | None = None,
) -> tuple[tuple[Rule, ...], Findings, Ablation]:
    """Test the damage of every head, and whether roles say where and which heads matter.

    The first question (``causal.damage``) is about all heads and units. The others (``causal.sites``,
    ``causal.roles``, ``causal.groups``) are about heads with roles, and about units that decided no role.
    Below 20 units no question is decided.

    Args:
        scores: Columns of ``records.causal.columns``.
        rules: One per column; those of arms can be roles.
        decision: Test, correction, family, alpha, resamples, seed and interval.
        share: Smallest damage that counts: a share of the mean loss, or a change of another outcome.
        held: Roles that are asked about; None without a label run.
        sets: Sets of heads that were taken out together, of the examples of ``scores``; None where none were.

    Returns:
        The rules with thresholds as margins, findings ("role" is needed, "not" is below θ as a number; p and
        q are of the units alone), and the verdicts and tests.

    Raises:
        UnknownName: For a test, correction, family or interval that does not exist.
        BadInput: For numbers out of range, or too few resamples for the correction.
    """
    known = rules_with_margins(scores, rules, share)
    findings = judge(scores, known, decision)
    damage = damage_tests(scores, known, findings, decision)
    findings = needed_roles(findings, damage)
    margins = margin_rows(scores, known, decision, share)
    if held is None:
        return known, findings, Ablation(damage, margins=margins)
    apart = held.apart(scores.units, scores.examples)
    if not apart.any():
        return known, findings, Ablation(damage, held, margins=margins, sets=sets)
    rest = scores.take(apart)
    groups = SET_TESTS
    if sets is not None:
        groups = group_tests(rest, replace(sets, damage=sets.damage[..., apart]), decision)
    ablation = Ablation(
        damage=damage,
        held=held,
        sites=site_tests(rest, held, decision),
        cells=cell_tests(rest, held, decision),
        roles=role_tests(rest, held, damage, decision),
        groups=groups,
        margins=margins,
        sets=sets,
    )
    return known, findings, ablation
