"""What is said of decisions that rest on sums over groups: too few of them, constant scores, medians."""

from collections.abc import Sequence

import numpy as np
import pytest

from headroles.records.example import Scores
from headroles.records.moments import moments_of
from headroles.records.rules.rule import Decision, Rule
from headroles.shards.moments import take_examples
from headroles.stats.assessment.assess import assess
from headroles.stats.assessment.remarks import moment_remarks
from headroles.stats.columns import Columns
from headroles.stats.engine import judge
from headroles.stats.grouped import equal_groups
from tests.stats.test_moment_findings import RULES, drawn, scored


def test_no_head_is_not_where_scores_lie_in_few_or_unequal_units() -> None:
    rng = np.random.default_rng(5)
    for owner in (np.arange(4000) % 30, np.minimum(np.arange(4000), 1000)):
        scores = scored(rng.normal(-0.2, 0.1, (1, 4000, 4)), owner)
        sums = moments_of(scores, RULES[1:2], 0)
        found = judge(scores, RULES[1:2], Decision(), sums)
        assert (found.decision == 2).all()
        assert (found.q_not < 1e-6).all()
        said = assess(scores, RULES[1:2], Decision(), found, moments=sums).remarks
        few = round(float(equal_groups(sums.weight[0, :, 0])[0]) - 0.5)
        told = f"few units, or a few large ones, hold most scores of b ({few}), or of their contrasts."
        assert any(told in each for each in said)
    assert equal_groups(np.ones((256, 1)))[0] == 256
    assert equal_groups(np.zeros((256, 1)))[0] == 0


def _few_told(scores: Scores, rules: Sequence[Rule] = RULES) -> list[str]:
    sums = moments_of(scores, rules, 0)
    found = judge(scores, rules, Decision(), sums)
    said = assess(scores, rules, Decision(), found, moments=sums).remarks
    return [each for each in said if "few units, or a few large ones" in each]


def test_a_role_whose_contrast_rests_on_few_groups_is_remarked_on() -> None:
    values = np.random.default_rng(9).normal(-0.2, 0.1, (3, 2000, 4))
    assert _few_told(scored(values)) == []
    values[2, 30:] = np.nan
    (said,) = _few_told(scored(values))
    assert "scores of a (2" in said  # of 30 units, some fall into one group
    assert "b (" not in said
    assert "c (" not in said


def test_a_head_without_scores_does_not_make_a_role_one_of_few_groups() -> None:
    values = np.random.default_rng(9).normal(-0.2, 0.1, (3, 2000, 4))
    values[:, :, 1] = np.nan
    assert _few_told(scored(values)) == []


def test_a_constant_contrast_leaves_its_role_untestable_with_a_remark() -> None:
    values = np.random.default_rng(0).normal(0.3, 0.1, (3, 600, 4))
    values[2, :, 1] = 0.2
    scores = scored(values)
    sums = moments_of(scores, RULES, 0)
    found = judge(scores, RULES, Decision(), sums)
    assert found.decision[0, 0].tolist() == [0, 3, 0, 0]
    said = assess(scores, RULES, Decision(), found, moments=sums).remarks
    assert any("the same on every example are untestable: a (1)." in each for each in said)


@pytest.mark.parametrize("test", ["wilcoxon", "sign"])
def test_medians_are_tested_on_the_subsample(test: str) -> None:
    scores, decision = drawn(600, 9), Decision(test=test)
    sample, sums = take_examples(scores, np.arange(0, 600, 3)), moments_of(scores, RULES, 0)
    found, alone = judge(sample, RULES, decision, sums), judge(sample, RULES, decision)
    np.testing.assert_array_equal(found.p, alone.p)
    assert found.count.max() == 200
    said = moment_remarks(sums, sample, Columns(sample, RULES), decision)
    assert f"examples were kept, and {test} tests these" in said[0]
