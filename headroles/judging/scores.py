"""Judge scores of sieves: findings, and the assessment of all findings together.

Kinds of run import this module early, so that statistics are imported when scores are judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headroles.options.run import JudgedOptions
    from headroles.records.example import Scores
    from headroles.records.findings import Labelling
    from headroles.records.moments import Moments
    from headroles.records.rules.rule import Decision, Rule


def judge_scores(
    scores: Scores,
    rules: Sequence[Rule],
    options: JudgedOptions,
    decision: Decision,
    moments: Moments | None = None,
) -> Labelling:
    """Return the findings of scores, and an assessment of them beyond the tests.

    Args:
        scores: All scores, or those of a random subsample.
        rules: One per column.
        options: The options of the run.
        decision: Test, correction and level.
        moments: Sums over all examples, where the scores are a subsample.
    """
    from headroles.records.findings import Labelling
    from headroles.stats.assessment.assess import assess
    from headroles.stats.engine import judge

    findings = judge(scores, rules, decision, moments)
    assessment = assess(scores, rules, decision, findings, **options.assessed, moments=moments)
    return Labelling(scores, findings, decision, assessment=assessment, moments=moments)
