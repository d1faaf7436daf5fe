"""Pooled columns and sums over random groups: their means, errors, tests and remarks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headroles import stats
from headroles.records import Decision, Findings, Rule, Scores, moments_of
from headroles.stats import Columns, assess, judge
from tests.support.scores import scored

RULES = (Rule("a", low=-1.0, high=1.0, contrast="c"), Rule("b", margin=0.05), Rule("c", role=False))
ALONE = RULES[1:2]


def _take(scores: Scores, rows: Sequence[int] | np.ndarray) -> Scores:
    """The scores of some examples: what a run keeps beside its sums."""
    return scores.take(np.isin(np.arange(len(scores.examples)), rows))


def _drawn(examples: int = 2000, heads: int = 60, seed: int = 1) -> Scores:
    """Right-skewed scores of heads with means from far below to far above their margins."""
    rng = np.random.default_rng(seed)
    means = np.concatenate([np.linspace(-0.1, 0.3, heads - 6), np.full(6, 0.1)])
    values = means + 0.15 * (rng.exponential(1, (3, examples, heads)) - 1)
    values[1, rng.random(examples) < 0.3] = np.nan
    return scored(values, RULES)


# Pooled columns: ratios over all cells.


def _pooled(right: np.ndarray, document: np.ndarray) -> Any:
    """The pooled column of shares of right arcs, of documents that each have some."""
    cells = np.bincount(document).astype(float)
    sums = np.zeros((len(cells), right.shape[1]))
    np.add.at(sums, document, right)
    rule = Rule("r", margin=0.5, pooled=True)
    (column,) = Columns(scored((sums / cells[:, None])[None], [rule], cells=cells[None]), [rule])
    return column


@pytest.mark.parametrize("seed", range(5))
def test_a_pooled_mean_and_its_error_are_the_jackknifes_and_those_of_a_regression(seed: int) -> None:
    import statsmodels.api as sm

    rng, count = np.random.default_rng(seed), 25
    document = np.repeat(np.arange(count), rng.integers(1, 30, count))
    right = (rng.random((len(document), 3)) < rng.beta(2, 2, count)[document, None]).astype(float)
    sample = _pooled(right, document).sample
    without = np.array([right[document != name].mean(axis=0) for name in range(count)])
    error = np.sqrt((count - 1) / count * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    np.testing.assert_allclose(sample.mean, right.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(sample.sd / np.sqrt(count), error, rtol=1e-5, atol=1e-7)
    sizes = np.bincount(document)
    shares = np.array([right[document == name, 0].mean() for name in range(count)])
    fitted = sm.WLS(shares, np.ones(count), weights=sizes).fit(cov_type="HC3")
    moved = sizes * fitted.resid / (1 - sizes / sizes.sum()) / sizes.sum()
    variance = (count - 1) / count * (fitted.bse[0] ** 2 - moved.sum() ** 2 / count)
    assert sample.sd[0] ** 2 / count == pytest.approx(variance, rel=1e-5, abs=1e-9)


def test_units_without_cells_are_left_out_and_chance_is_pooled_too() -> None:
    rule = Rule("r", margin=0.0, pooled=True)
    values = np.array([[0.5], [np.nan], [1.0], [0.7]])
    cells = np.array([2.0, np.nan, 6.0, 0.0])
    null = np.array([0.1, 0.9, 0.3, 0.5])
    (column,) = Columns(scored(values[None], [rule], cells=cells[None], null=null[None]), [rule])
    assert np.isnan(column.values[:, 0]).tolist() == [False, True, False, True]
    assert column.null[0] == pytest.approx((0.1 * 2 + 0.3 * 6) / 8)
    assert np.nanmean(column.values) + column.null[0] == pytest.approx((0.5 * 2 + 1.0 * 6) / 8)


# Sums over random groups.


def test_effects_chance_and_counts_are_over_all_examples_and_ratios_over_cells() -> None:
    rng = np.random.default_rng(4)
    owner = np.repeat(np.arange(500), rng.integers(1, 9, 500))
    null, cells = rng.uniform(0.1, 0.4, (1, len(owner))), rng.integers(1, 9, (1, len(owner)))
    values = rng.gamma(2, 0.1, (1, len(owner), 3)) + null[..., None]
    scores = scored(values, ALONE, units=owner.tolist(), null=null, cells=cells)
    sums = moments_of(scores, ALONE, 0)
    found = judge(scores, ALONE, Decision(test="t"), sums)
    beyond = scores.values[0, :, 0].astype(float) - null[0][:, None]
    effect = (beyond.mean(axis=0) - 0.05) / beyond.std(axis=0, ddof=1)
    np.testing.assert_allclose(found.effect[0, 0], effect, rtol=1e-6)
    np.testing.assert_allclose(found.null, null.mean(), rtol=1e-9)
    np.testing.assert_allclose(found.cells, cells.mean(), rtol=1e-9)
    assert (found.count == len(owner)).all()
    (column,) = stats.evidence_columns(scores, ALONE, Decision("t"), sums)
    np.testing.assert_allclose(column.errors_beyond(), found.statistic[0, 0], rtol=1e-8)
    pooled = [replace(ALONE[0], pooled=True)]
    ratio = judge(scores, pooled, Decision("t"), moments_of(scores, pooled, 0))
    mean = np.average(scores.values[0, :, 0].astype(float), axis=0, weights=cells[0])
    np.testing.assert_allclose(ratio.mean[0, 0], mean, rtol=1e-9)
    np.testing.assert_allclose(ratio.null, np.average(null[0], weights=cells[0]), rtol=1e-9)


def _still(heads: int = 3) -> Scores:
    """3,000 scores of a head at 0.2, one at 0.05, one at 0.2 with a tiny spread, and of usual ones."""
    values = 0.1 + 0.2 * np.random.default_rng(3).normal(size=(3000, heads))
    values[:, 0], values[:, 1] = 0.2, 0.05
    values[:, 2] = 0.2 + 2e-6 * np.random.default_rng(4).normal(size=3000)
    return scored(values[None], RULES)


def test_constant_scores_have_no_exact_statement_and_tiny_spreads_are_tested() -> None:
    # All of 20,000 units are at 0.2 in 13.5 % of runs where one in 10,000 holds 10,000 examples at −1.
    scores, rules, decision = _still(), [replace(RULES[0], contrast="")], Decision(correction="none")
    sums = moments_of(scores, rules, 0)
    found = judge(scores, rules, decision, sums)
    assert found.decision[0, 0].tolist() == [3, 3, 0]
    for name in ("p", "p_not", "q", "q_not", "low", "high", "statistic", "effect"):
        assert np.isnan(getattr(found, name)[0, 0, :2]).all()
    assert found.effect[0, 0, 2] == pytest.approx(5e4, rel=0.1)
    said = assess(scores, rules, decision, found, bayes=True, moments=sums)
    assert any("the same on every example are untestable: a (2)." in remark for remark in said.remarks)
    for numbers in (said.precision.stability, said.precision.bayes_factor, said.precision.hedges_g):
        assert np.isnan(numbers[0, 0, :2]).all()
    whole = judge(scores, rules, decision)
    assert whole.decision[0, 0].tolist() == [0, 1, 0]  # of means over units bounds do say something
    values = np.random.default_rng(0).normal(0.3, 0.1, (3, 600, 4))
    values[2, :, 1] = 0.2  # a constant contrast
    scores = scored(values, RULES)
    found = judge(scores, RULES, Decision(), moments_of(scores, RULES, 0))
    assert found.decision[0, 0].tolist() == [0, 3, 0, 0]


def test_maxt_resamples_groups_and_leaves_constant_heads_out_of_the_family() -> None:
    scores, decision = _drawn(800, 20), Decision(correction="maxT", resamples=499)
    found = judge(scores, RULES, decision, moments_of(scores, RULES, 0))
    np.testing.assert_allclose(found.q, judge(scores, RULES, decision).q, atol=0.2)
    rules, still = [replace(RULES[0], contrast="")], _still(9)
    others = scored(still.values[:, :, 0, 2:], rules)
    joint, alone = (judge(of, rules, decision, moments_of(of, rules, 0)).q[0, 0] for of in (still, others))
    assert np.isnan(joint[:2]).all()
    np.testing.assert_array_equal(joint[2:], alone)
    assert joint[2] == 1 / 500  # as small as resamples allow, and not p times the heads


def test_what_is_said_beyond_tests_is_of_all_examples() -> None:
    rng = np.random.default_rng(6)
    owner = np.repeat(np.arange(2000), 5)
    shared = rng.normal(0, 1, (2000, 6))[owner]
    values = (0.12 + 0.2 * (shared + rng.normal(0, 1, (10_000, 6))))[None]
    scores, decision = scored(values, ALONE, units=owner.tolist()), Decision()
    sums = moments_of(scores, ALONE, 0)
    found = judge(scores, ALONE, decision, sums)
    said = assess(_take(scores, range(100)), ALONE, decision, found, bayes=True, moments=sums)
    whole = assess(scores, ALONE, decision, judge(scores, ALONE, decision), bayes=True)
    assert 2.2 < said.precision.design_effect.mean() < 3.8  # 1 + 4 × 0.5 = 3
    np.testing.assert_allclose(said.precision.hedges_g, found.effect, rtol=1e-3)
    np.testing.assert_allclose(said.precision.stability, whole.precision.stability, atol=0.35)
    assert np.isfinite(said.precision.bayes_factor).all()
    assert "sums over 256 random groups of all 10,000 examples were kept" in said.remarks[0]
    assert "the scores of a random 100" in said.remarks[0]
    known = (found.count / np.maximum(said.precision.design_effect, 1)).astype(int)
    ends = stats.effect_interval(said.precision.hedges_g, known)
    np.testing.assert_allclose((said.precision.g_low, said.precision.g_high), ends, rtol=1e-3)


def _few_groups(scores: Scores, rules: Sequence[Rule]) -> tuple[Findings, list[str]]:
    """Findings from sums, and the remarks on few groups."""
    sums = moments_of(scores, rules, 0)
    found = judge(scores, rules, Decision(), sums)
    remarks = assess(scores, rules, Decision(), found, moments=sums).remarks
    return found, [remark for remark in remarks if "few units, or a few large ones" in remark]


def test_no_head_is_not_where_scores_lie_in_few_or_unequal_units_and_a_remark_says_so() -> None:
    rng = np.random.default_rng(5)
    for owner in (np.arange(4000) % 30, np.minimum(np.arange(4000), 1000)):
        scores = scored(rng.normal(-0.2, 0.1, (1, 4000, 4)), ALONE, units=owner.tolist())
        found, (said,) = _few_groups(scores, ALONE)
        assert (found.decision == 2).all()
        assert (found.q_not < 1e-6).all()
        weight = moments_of(scores, ALONE, 0).weight[0, :, 0, 0]
        equal = int(weight.sum() ** 2 / (weight**2).sum())
        assert f"hold most scores of b ({equal}), or of their contrasts." in said
