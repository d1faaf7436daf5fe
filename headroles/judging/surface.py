"""Surface statistics to findings, and to what can be said of layers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headroles.options.run import CommonOptions
from headroles.records.example import Decision, Rule, Scores
from headroles.records.findings import Findings, Labelling
from headroles.records.surface import Surface
from headroles.stats.assessment.assess import assess
from headroles.stats.engine import judge
from headroles.stats.surface import layer_means, noop_tests


def judged_surface(
    scores: Scores, rules: Sequence[Rule], options: CommonOptions, decision: Decision
) -> Labelling:
    """Test every head against even attention, in both directions, and describe the layers.

    Of the findings "role" reads "above even attention" and "not" reads "below even attention". Tests are
    of the differences from even attention, input by input; intervals are of the mean score itself, which
    lengths of inputs do not widen.

    Args:
        scores: Surface statistics, and importances where gradients were asked for.
        rules: One per column.
        options: What is said beyond the decisions.
        decision: How.

    Returns:
        A labelling whose ``surface`` holds layer means and tests of attention that does not matter.

    Raises:
        HeadrolesError: When the decision cannot be carried out.
    """
    findings = _with_own_intervals(judge(scores, rules, decision), scores, decision)
    assessment = assess(scores, rules, decision, findings, **options.assessed)
    surface = Surface(layers=layer_means(scores, rules), noop=noop_tests(scores, decision))
    return Labelling(scores, findings, decision, assessment=assessment, surface=surface)


def _with_own_intervals(findings: Findings, scores: Scores, decision: Decision) -> Findings:
    """The findings with intervals of mean scores, where the test's are of differences from even attention."""
    flat = replace(scores, null=np.where(np.isnan(scores.null), np.nan, 0.0))
    rules = [replace(rule, null=0.0) for rule in findings.rules]
    plain = judge(flat, rules, replace(decision, correction="none"))
    return replace(findings, low=plain.low, high=plain.high)
