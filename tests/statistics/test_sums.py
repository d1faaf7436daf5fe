"""Pooled columns and sums over random groups: their means, errors, tests and remarks."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from headroles.records import GROUPS, Decision, Moments, Rule, Scores, moments_of
from headroles.stats import (
    Columns,
    assess,
    describe,
    effect_interval,
    evidence_columns,
    judge,
    select_examples,
    student,
    student_skew,
)
from tests.support.reference import draws
from tests.support.scores import scored

RULES = (Rule("a", low=-1.0, high=1.0, contrast="c"), Rule("b", margin=0.05), Rule("c", role=False))
ALONE = RULES[1:2]


def _take(scores: Scores, rows: Sequence[int] | np.ndarray) -> Scores:
    """The scores of some examples: what a run keeps beside its sums."""
    return select_examples(scores, np.isin(np.arange(len(scores.examples)), rows))


def _drawn(examples: int = 2000, heads: int = 60, seed: int = 1) -> Scores:
    """Right-skewed scores of heads with means from far below to far above their margins."""
    rng = np.random.default_rng(seed)
    means = np.concatenate([np.linspace(-0.1, 0.3, heads - 6), np.full(6, 0.1)])
    values = means + 0.15 * (rng.exponential(1, (3, examples, heads)) - 1)
    values[1, rng.random(examples) < 0.3] = np.nan
    return scored(values, RULES)


# Pooled columns: ratios over all cells.


def _arcs(seed: int, documents: int = 25) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right or wrong per arc, its sentence, and the document of each sentence."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(documents), rng.integers(1, 6, documents))
    sentence = np.repeat(np.arange(len(owner)), rng.integers(0, 9, len(owner)))
    level = rng.beta(2, 2, documents)
    right = (rng.random((len(sentence), 3)) < level[owner[sentence], None]).astype(float)
    return right, sentence, owner


def _pooled(right: np.ndarray, place: np.ndarray, owner: np.ndarray, margin: float = 0.5) -> Columns:
    """The pooled column of shares of right arcs; place names the example of each arc, owner its document."""
    cells = np.bincount(place, minlength=len(owner)).astype(float)
    sums = np.zeros((len(owner), right.shape[1]))
    np.add.at(sums, place, right)
    shares = np.full(sums.shape, np.nan)
    np.divide(sums, cells[:, None], out=shares, where=cells[:, None] > 0)
    cells[cells == 0] = np.nan
    rule = Rule("r", margin=margin, pooled=True)
    return Columns(scored(shares[None], [rule], units=owner.tolist(), cells=cells[None]), [rule])


@settings(max_examples=draws(20))
@given(st.integers(0, 2**32 - 1))
def test_a_pooled_mean_and_its_error_are_the_jackknifes_and_those_of_a_regression(seed: int) -> None:
    import statsmodels.api as sm

    right, sentence, owner = _arcs(seed)
    document = owner[sentence]
    (column,) = _pooled(right, sentence, owner)
    (whole,) = _pooled(right, document, np.arange(owner.max() + 1))
    sample, documents = column.sample, np.unique(document)
    np.testing.assert_allclose(describe(whole.values).sd, sample.sd, atol=2e-7)  # stored in float32
    without = np.array([right[document != name].mean(axis=0) for name in documents])
    count = len(documents)
    error = np.sqrt((count - 1) / count * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    assert (sample.count == count).all()
    np.testing.assert_allclose(sample.mean, right.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(sample.sd / np.sqrt(count), error, rtol=1e-5, atol=1e-7)
    sizes = np.array([(document == name).sum() for name in documents])
    shares = np.array([right[document == name, 0].mean() for name in documents])
    fitted = sm.WLS(shares, np.ones(count), weights=sizes).fit(cov_type="HC3")
    moved = sizes * fitted.resid / (1 - sizes / sizes.sum()) / sizes.sum()
    variance = (count - 1) / count * (fitted.bse[0] ** 2 - moved.sum() ** 2 / count)
    assert sample.sd[0] ** 2 / count == pytest.approx(variance, rel=1e-5, abs=1e-9)


def test_with_equal_units_a_pooled_test_is_a_regression_clustered_by_document() -> None:
    import statsmodels.api as sm

    right = (np.random.default_rng(0).random((24 * 7, 2)) < 0.4).astype(float)
    document = np.repeat(np.arange(24), 7)
    (column,) = _pooled(right, document, np.arange(24))
    outcome = student(column.sample, 0.5)
    for head in range(2):
        fitted = sm.OLS(right[:, head], np.ones(len(right))).fit(
            cov_type="cluster", cov_kwds={"groups": document, "use_correction": True}, use_t=True
        )
        assert outcome.statistic[head] == pytest.approx((fitted.params[0] - 0.5) / fitted.bse[0], rel=1e-5)
        assert (outcome.low[head], outcome.high[head]) == pytest.approx(tuple(fitted.conf_int()[0]), rel=1e-5)
        means = right[:, head].reshape(24, 7).mean(axis=1)
        np.testing.assert_allclose(column.values[:, head], means, atol=1e-6)


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


@pytest.mark.parametrize("test", ["t", "t-skew", "bootstrap-t"])
def test_findings_from_sums_are_those_of_all_scores(test: str) -> None:
    scores, decision = _drawn(), Decision(test=test, resamples=999)
    sums = moments_of(scores, RULES, 0)
    whole, found = judge(scores, RULES, decision), judge(_take(scores, range(50)), RULES, decision, sums)
    np.testing.assert_allclose(found.mean, whole.mean, atol=1e-9)
    np.testing.assert_allclose(found.effect, whole.effect, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(found.count, whole.count)
    np.testing.assert_array_equal(found.cells, whole.cells)
    ratio = (found.high - found.low) / (whole.high - whole.low)
    assert 0.8 < ratio.min() < ratio.max() < 1.25  # a standard error from 256 groups is known to 4.4 %
    roles, error = found.decision != -1, (whole.high - whole.low) / 4
    clear = np.abs(whole.mean - whole.margin) > 5 * error
    clear[0] &= clear[2]
    assert clear[roles[:, 0, 0]].mean() > 0.7
    np.testing.assert_array_equal(found.decision[clear & roles], whole.decision[clear & roles])
    assert {0, 1} <= set(found.decision[clear].tolist())


def test_the_statistic_is_scipys_on_the_jackknife_of_groups_and_means_are_over_examples() -> None:
    rng = np.random.default_rng(4)
    owner = np.repeat(np.arange(500), rng.integers(1, 9, 500))
    null, cells = rng.uniform(0.1, 0.4, (1, len(owner))), rng.integers(1, 9, (1, len(owner)))
    values = rng.gamma(2, 0.1, (1, len(owner), 3)) + null[..., None]
    scores = scored(values, ALONE, units=owner.tolist(), null=null, cells=cells)
    sums = moments_of(scores, ALONE, 0)
    weight, total = sums.weight[0, :, 0], sums.total[0, :, 0]
    held = weight[:, 0] > 0
    rest = (total.sum(axis=0) - total[held]) / (weight.sum(axis=0) - weight[held])
    mean, count = total.sum(axis=0) / weight.sum(axis=0), held.sum()
    pseudo = mean - (count - 1) * (rest - rest.mean(axis=0))
    expected = reference.ttest_1samp(pseudo, 0.05, alternative="greater")
    interval = reference.ttest_1samp(pseudo, 0.0).confidence_interval(0.95)
    found = judge(scores, ALONE, Decision(test="t"), sums)
    stored = scores.values[0, :, 0].astype(float)
    beyond = stored - null[0][:, None]
    for name, wanted in {
        "statistic": expected.statistic, "p": expected.pvalue, "mean": stored.mean(axis=0),
        "low": interval.low + null.mean(), "high": interval.high + null.mean(),
        "null": np.full(3, null.mean()), "cells": np.full(3, cells.mean()), "count": np.full(3, len(owner)),
        "effect": (beyond.mean(axis=0) - 0.05) / beyond.std(axis=0, ddof=1),
    }.items():  # fmt: skip
        np.testing.assert_allclose(getattr(found, name)[0, 0], wanted, rtol=1e-6, err_msg=name)
    (column,) = evidence_columns(scores, ALONE, Decision("t"), sums)
    np.testing.assert_allclose(column.errors_beyond(), expected.statistic, rtol=1e-8)
    pooled = [replace(ALONE[0], pooled=True)]
    ratio = judge(scores, pooled, Decision("t"), moments_of(scores, pooled, 0))
    np.testing.assert_allclose(ratio.null[0, 0], np.average(null[0], weights=cells[0]), rtol=1e-9)
    np.testing.assert_allclose(ratio.mean[0, 0], np.average(stored, axis=0, weights=cells[0]), rtol=1e-9)


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


def test_maxt_resamples_groups_and_leaves_constant_heads_out_of_the_family() -> None:
    scores, decision = _drawn(800, 20), Decision(correction="maxT", resamples=499)
    found = judge(scores, RULES, decision, moments_of(scores, RULES, 0))
    whole = judge(scores, RULES, decision)
    np.testing.assert_allclose(found.q, whole.q, atol=0.2)
    assert (found.decision == whole.decision).mean() > 0.85
    rules, still = [replace(RULES[0], contrast="")], _still(9)
    others = scored(still.values[:, :, 0, 2:], rules)
    joint = judge(still, rules, decision, moments_of(still, rules, 0))
    alone = judge(others, rules, decision, moments_of(others, rules, 0))
    assert np.isnan(joint.q[0, 0, :2]).all()
    np.testing.assert_array_equal(joint.q[0, 0, 2:], alone.q[0, 0])
    assert joint.q[0, 0, 2] == 1 / 500  # as small as resamples allow, and not p times the heads


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
    widths = [(one.precision.g_high - one.precision.g_low).mean() for one in (said, whole)]
    assert 0.6 < widths[0] / widths[1] < 1.1  # in standard deviations of examples and of units
    assert np.isfinite(said.precision.bayes_factor).all()
    assert "sums over 256 random groups of all 10,000 examples were kept" in said.remarks[0]
    assert "the scores of a random 100" in said.remarks[0]
    apart = np.repeat(0.2 * rng.normal(size=(1000, 3)), 2, axis=0) * np.tile([1.0, -1.0], 1000)[:, None]
    apart += 0.02 * np.repeat(rng.normal(size=(1000, 3)), 2, axis=0)
    pairs = scored((0.1 + apart)[None], ALONE, units=(np.arange(2000) // 2).tolist())
    kept = moments_of(pairs, ALONE, 0)
    judged = judge(pairs, ALONE, decision, kept)
    precision = assess(pairs, ALONE, decision, judged, moments=kept).precision
    assert precision.design_effect.max() < 0.3  # and yet it counts as many as there are
    ends = effect_interval(precision.hedges_g, judged.count)
    np.testing.assert_array_equal((precision.g_low, precision.g_high), ends)


def _few_groups(scores: Scores, rules: Sequence[Rule] = RULES) -> list[str]:
    sums = moments_of(scores, rules, 0)
    found = judge(scores, rules, Decision(), sums)
    remarks = assess(scores, rules, Decision(), found, moments=sums).remarks
    return [remark for remark in remarks if "few units, or a few large ones" in remark]


def test_no_head_is_not_where_scores_lie_in_few_or_unequal_units_and_a_remark_says_so() -> None:
    rng = np.random.default_rng(5)
    for owner in (np.arange(4000) % 30, np.minimum(np.arange(4000), 1000)):
        scores = scored(rng.normal(-0.2, 0.1, (1, 4000, 4)), ALONE, units=owner.tolist())
        sums = moments_of(scores, ALONE, 0)
        found = judge(scores, ALONE, Decision(), sums)
        assert (found.decision == 2).all()
        assert (found.q_not < 1e-6).all()
        weight = sums.weight[0, :, 0, 0]
        equal = int(weight.sum() ** 2 / (weight**2).sum())
        (said,) = _few_groups(scores, ALONE)
        assert f"hold most scores of b ({equal}), or of their contrasts." in said
    values = rng.normal(-0.2, 0.1, (3, 2000, 4))
    values[:, :, 1] = np.nan  # a head without scores is no reason
    assert _few_groups(scored(values, RULES)) == []
    values[2, 30:] = np.nan  # a contrast of 30 units is one
    (said,) = _few_groups(scored(values, RULES))
    assert "scores of a (30)" in said
    assert "b (" not in said
    assert "c (" not in said


def test_a_constant_contrast_leaves_its_role_untestable_with_a_remark() -> None:
    values = np.random.default_rng(0).normal(0.3, 0.1, (3, 600, 4))
    values[2, :, 1] = 0.2
    scores = scored(values, RULES)
    sums = moments_of(scores, RULES, 0)
    found = judge(scores, RULES, Decision(), sums)
    assert found.decision[0, 0].tolist() == [0, 3, 0, 0]
    said = assess(scores, RULES, Decision(), found, moments=sums).remarks
    assert any("the same on every example are untestable: a (1)." in remark for remark in said)


def test_medians_are_tested_on_the_subsample() -> None:
    scores = _drawn(600, 9)
    sample, sums = _take(scores, np.arange(0, 600, 3)), moments_of(scores, RULES, 0)
    for test in ("wilcoxon", "sign"):
        found, alone = (judge(sample, RULES, Decision(test), given) for given in (sums, None))
        np.testing.assert_array_equal(found.p, alone.p)
        assert found.count.max() == 200
    said = assess(sample, RULES, Decision("sign"), found, moments=sums).remarks
    assert "a random 200 of 600 examples were kept, and sign tests these" in said[0]


def _summed(total: np.ndarray, weight: np.ndarray, groups: np.ndarray) -> Moments:
    """Moments of units that come as sums, without making their examples."""
    heads = total.shape[1]
    sums = np.zeros((2, GROUPS, heads))
    np.add.at(sums[0], groups, np.broadcast_to(weight[:, None], total.shape))
    np.add.at(sums[1], groups, total)
    column, row = np.zeros(1), np.zeros((1, 1, heads))
    return Moments(
        sieves=("b",), start=0, stop=1, examples=int(weight.sum()), tokens=0, inputs="", cells=column,
        celled=column.astype(int), nulls=column, nulled=column.astype(int), spoke=column.astype(int),
        lowest=column, highest=column, count=np.full((1, 1, heads), int(weight.sum())), square=row + 1e9,
        chance=row, least=row - 9, most=row + 9, weight=sums[:1, :, None], total=sums[1:, :, None],
    )  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize(("units", "liberal"), [(100, 0.02), (400, 0.006), (3000, 0.003)])
def test_errors_are_nominal_for_skewed_scores_in_units_of_unequal_size(units: int, liberal: float) -> None:
    # Units of 1 to 50 examples, a tenth of them repeated, share half the variance; the mean is at θ.
    rng, heads, runs = np.random.default_rng(units), 40, 150
    wrong = {student: np.zeros(2), student_skew: np.zeros(2)}
    nothing = scored(np.zeros((1, 1, heads)), ALONE)
    for _ in range(runs):
        size = rng.integers(1, 51, units).astype(float)
        own = rng.gamma(size[:, None], 1.0, (units, heads)) - size[:, None]
        shared = (rng.exponential(1, (units, heads)) - 1) * size[:, None]
        total = 0.1 * size[:, None] + 0.2 * (own + shared)
        again = rng.random(units) < 0.1
        size[again] *= 2
        total[again] *= 2
        sums = _summed(total, size, rng.integers(0, GROUPS, units))
        (column,) = evidence_columns(nothing, ALONE, Decision(), sums)
        for test, counts in wrong.items():
            outcome = test(column.sample, 0.1)
            counts += (outcome.p < 0.05).sum(), (outcome.p_not < 0.05).sum()
    role, not_role = wrong[student_skew] / (runs * heads)
    error = np.sqrt(0.05 * 0.95 / (runs * heads))  # 0.0028
    assert abs(role - 0.05) < 3 * error
    assert -3 * error < not_role - 0.05 < liberal + 3 * error  # with few units skewness is hard to know
    plain = wrong[student] / (runs * heads)
    assert plain[0] < 0.05 + 3 * error  # conservative for roles under right skew, liberal for nots
    assert plain[1] < 0.1


@pytest.mark.ci
@pytest.mark.parametrize(("documents", "limit"), [(15, 0.066), (60, 0.062)])
def test_pooled_heads_at_the_margin_are_called_beyond_at_about_the_level(
    documents: int, limit: float
) -> None:
    wrong = []
    for seed in range(250):
        rng = np.random.default_rng(seed)
        cells = rng.integers(1, 40, documents)
        base = rng.binomial(cells, 0.4) / cells
        levels = np.clip(rng.beta(4, 4, (documents, 1, 20)) - 0.1, 0, 1)
        hits = rng.binomial(cells[:, None, None], levels) / cells[:, None, None]
        rules = [Rule("r", margin=0.0, pooled=True)]
        scores = scored(hits[None], rules, null=base[None], cells=cells[None])
        found = judge(scores, rules, Decision(test="t", correction="none"))
        wrong.append([(found.p[0] <= 0.05).mean(), (found.p_not[0] <= 0.05).mean()])
    for share in np.mean(wrong, axis=0):
        assert 0.03 < share < limit


@pytest.mark.ci
def test_power_from_sums_is_that_of_all_units() -> None:
    values = 0.1 + np.random.default_rng(2).normal(0.012, 0.2, (2000, 400))
    rules, decision = [Rule("a")], Decision(test="t", correction="none")
    scores = scored(values[None], rules)
    found = (judge(scores, rules, decision, sums) for sums in (None, moments_of(scores, rules, 0)))
    power, from_sums = ((findings.p <= 0.05).mean() for findings in found)
    assert 0.75 < power < 0.95
    assert abs(power - from_sums) < 0.03
