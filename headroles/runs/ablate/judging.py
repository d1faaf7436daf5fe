"""Judge runs that take heads out: findings, verdicts, tests of roles, and the assessment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headroles.options.causal.ablate import AblateOptions
from headroles.records.causal.ablation import HeadSets, HeldRoles
from headroles.records.causal.columns import parse_column
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule

if TYPE_CHECKING:
    from headroles.runs.scored import ScoredRun


def judge_run(options: AblateOptions, scored: ScoredRun) -> Labelling:
    """Test the damages of a new run, with the roles of its label run.

    Args:
        options: Of the run.
        scored: Its scores, and the sets that were taken out together.

    Raises:
        HeadrolesError: When the decision cannot be carried out, or the label run was altered.
    """
    from headroles.runs.held.labels import held_roles

    sets = None
    if options.groups:
        from headroles.runs.ablate.sets import read_sets

        sets = read_sets(scored)
    return _judge(scored.scores, scored.rules, options, options.decision, held_roles(options), sets)


def judge_again(before: Labelling, decision: Decision, options: AblateOptions) -> Labelling:
    """Test stored damages again; the roles that are asked about, and their units, stay.

    Args:
        before: The stored run.
        decision: Test, correction and level.
        options: Of the run, with the margin.

    Raises:
        BadInput: When no damage reaches the margin.
    """
    ablated = before.ablated
    assert ablated is not None
    options.check_outcomes(tuple(dict.fromkeys(parse_column(arm).outcome for arm in ablated.damage.arms)))
    return _judge(before.scores, before.findings.rules, options, decision, ablated.held, ablated.sets)


def _judge(
    scores: Scores,
    rules: Sequence[Rule],
    options: AblateOptions,
    decision: Decision,
    held: HeldRoles | None,
    sets: HeadSets | None,
) -> Labelling:
    """Return a labelling with everything that the scores say."""
    from headroles.stats.assessment.assess import assess
    from headroles.stats.causal.damage import little_remarks
    from headroles.stats.causal.judge import judge_ablation

    known, findings, ablation = judge_ablation(scores, rules, decision, options.share, held, sets)
    assessment = assess(scores, known, decision, findings, **options.assessed, absence=False, nots=False)
    remarks = (*assessment.remarks, *little_remarks(ablation.damage, known, decision))
    assessment = replace(assessment, remarks=remarks)
    return Labelling(scores, findings, decision, assessment=assessment, ablated=ablation)
