"""Findings of scores, and what they say together."""

from collections.abc import Sequence

from headroles.options.run import CommonOptions
from headroles.records.example import Decision, Rule, Scores
from headroles.records.findings import Labelling
from headroles.records.moments import Moments
from headroles.stats.assessment.assess import assess
from headroles.stats.engine import judge


def judged(
    scores: Scores,
    rules: Sequence[Rule],
    options: CommonOptions,
    decision: Decision,
    moments: Moments | None = None,
) -> Labelling:
    """Findings of scores, and what can be said about them beyond their tests.

    Args:
        scores: All, or a random subsample.
        rules: One per column.
        options: Of the run.
        decision: How its scores are judged.
        moments: Sums over all examples, where the scores are a subsample.
    """
    findings = judge(scores, rules, decision, moments)
    assessment = assess(scores, rules, decision, findings, **options.assessed, moments=moments)
    return Labelling(scores, findings, decision, assessment=assessment, moments=moments)
