"""The interval of a mean itself, beside that of its difference from chance values that differ."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from headroles.records.example import Scores
from headroles.records.moments import moments_of
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.assess import assess
from headroles.stats.columns import Columns
from headroles.stats.engine import judge, mean_intervals
from headroles.stats.grouped import GroupColumns
from headroles.stats.oracles.recompute import recompute_findings
from tests.support.reference import draws

DECISION = Decision(test="t", correction="none")


def _answers(seed: int, *, documents: int, heads: int, likeness: float = 0.9) -> Scores:
    """Right answers of heads and of a baseline that is mostly right on the same items; one column.

    Answers depend within documents of unequal size: each document has its own level, and heads repeat the
    answer of the baseline with probability ``likeness``.
    """
    rng = np.random.default_rng(seed)
    items = np.maximum(np.rint(rng.lognormal(2.5, 0.7, documents)), 1).astype(int)
    owner = np.repeat(np.arange(documents), items)
    level = rng.beta(4, 4, (documents, heads))[owner]
    baseline = rng.random((len(owner), heads)) < level
    own = np.where(rng.random(level.shape) < likeness, baseline, rng.random(level.shape) < level)
    shares, null = (
        np.stack([np.bincount(owner, column, documents) for column in answers.T]).T / items[:, None]
        for answers in (own, baseline[:, :1])
    )
    names = tuple(map(str, range(documents)))
    return Scores(
        sieves=("probe",),
        examples=names,
        units=names,
        tokens=items,
        cells=items[None].astype(float),
        values=shares[None, :, None, :].astype(np.float32),
        null=null[:, 0][None],
    )


RULE = Rule("probe", "", 0.5, 0.05, low=0.0, high=1.0, pooled=True)


def test_the_interval_of_an_accuracy_is_students_of_the_delete_one_jackknife() -> None:
    scores = _answers(1, documents=30, heads=3)
    found = judge(scores, [RULE], DECISION)
    low, high = mean_intervals(Columns(scores, [RULE]), found, DECISION)
    items = scores.cells[0]
    right = scores.values[0, :, 0].astype(float) * items[:, None]
    without = (right.sum(axis=0) - right) / (items.sum() - items)[:, None]
    count = len(items)
    error = np.sqrt((count - 1) / count * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    reach = stats.t.ppf(0.975, count - 1) * error
    accuracy = right.sum(axis=0) / items.sum()
    np.testing.assert_allclose(found.mean[0, 0], accuracy, rtol=1e-6)
    np.testing.assert_allclose(low[0, 0], accuracy - reach, rtol=1e-6)
    np.testing.assert_allclose(high[0, 0], accuracy + reach, rtol=1e-6)


def test_the_interval_of_the_difference_is_narrower_where_hard_items_are_hard_for_both() -> None:
    scores = _answers(2, documents=60, heads=1)
    found = judge(scores, [RULE], DECISION)
    low, high = mean_intervals(Columns(scores, [RULE]), found, DECISION)
    assert ((high - low) > 1.5 * (found.high - found.low)).all()


def test_one_chance_value_gives_one_interval() -> None:
    scores = replace(_answers(3, documents=20, heads=2), null=np.full((1, 20), 0.5))
    found = judge(scores, [RULE], DECISION)
    ends = mean_intervals(Columns(scores, [RULE]), found, DECISION)
    np.testing.assert_array_equal(ends, (found.low, found.high))


def test_sums_of_differences_have_no_interval_of_the_mean() -> None:
    scores = _answers(4, documents=40, heads=2)
    moments = moments_of(scores, [RULE], 0)
    found = judge(scores, [RULE], DECISION, moments)
    assert np.isnan(mean_intervals(GroupColumns(moments, [RULE]), found, DECISION)).all()


def test_the_interval_of_an_accuracy_covers_it_in_95_of_100_samples() -> None:
    heads = 40 * draws(30)
    scores = _answers(5, documents=80, heads=heads)
    found = judge(scores, [RULE], DECISION)
    low, high = (ends[0, 0] for ends in mean_intervals(Columns(scores, [RULE]), found, DECISION))
    covered = ((low <= 0.5) & (high >= 0.5)).mean()
    assert covered == pytest.approx(0.95, abs=4 * (0.05 * 0.95 / heads) ** 0.5 + 0.01)


def test_the_assessment_holds_the_intervals_and_their_oracle_agrees() -> None:
    scores = _answers(6, documents=25, heads=2)
    found = judge(scores, [RULE], DECISION)
    precision = assess(scores, [RULE], DECISION, found).precision
    checks = {
        check.quantity: check for check in recompute_findings(scores, found, DECISION, precision=precision)
    }
    assert checks["mean_low"].compared == 2
    assert checks["mean_low"].fits
    assert checks["mean_high"].fits
    wrong = replace(precision, mean_low=precision.mean_low + 1e-4)
    broken = recompute_findings(scores, found, DECISION, precision=wrong)
    assert not next(check for check in broken if check.quantity == "mean_low").fits
