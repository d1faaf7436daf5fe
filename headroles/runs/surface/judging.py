"""Judge surface statistics: findings of heads, means of layers, tests of attention without effect."""

from collections.abc import Sequence
from dataclasses import replace

from headroles.options.run import CommonOptions
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.records.surface import SurfaceResults


def judge_surface(
    scores: Scores, rules: Sequence[Rule], options: CommonOptions, decision: Decision
) -> Labelling:
    """Test every head against even attention, in both directions, and describe the layers.

    In the findings, "role" means "above even attention" and "not" means "below even attention". Tests use the
    differences from even attention, input by input. Intervals are those of the mean score itself, so
    the lengths of inputs do not widen them.

    Args:
        scores: Surface statistics, and importances where gradients were computed.
        rules: One per column.
        options: The options of the run, with those of the assessment.
        decision: Test, correction and level.

    Returns:
        A labelling whose ``surface`` holds layer means and tests of attention that does not matter.

    Raises:
        HeadrolesError: When the decision cannot be carried out.
    """
    from headroles.stats.assessment.assess import assess
    from headroles.stats.engine import judge
    from headroles.stats.surface import layer_means, noop_tests

    findings = judge(scores, rules, decision)
    assessment = assess(scores, rules, decision, findings, **options.assessed, absence=False)
    precision = assessment.precision
    findings = replace(findings, low=precision.mean_low, high=precision.mean_high)
    surface = SurfaceResults(layers=layer_means(scores, rules), noop=noop_tests(scores, decision))
    return Labelling(scores, findings, decision, assessment=assessment, surface=surface)
