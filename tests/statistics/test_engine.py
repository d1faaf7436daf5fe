"""judge(): what a finding says, units, joint decisions, edges, and who is never decided about."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as reference

from headroles.records import Decision, Findings, Rule
from headroles.stats import (
    ENOUGH_FOR_NOT,
    Columns,
    bounded_outcome,
    describe,
    design_effect,
    judge,
    mean_intervals,
)
from tests.support import table
from tests.support.scores import made, scored

ROLE, NOT, UNDETERMINED, UNTESTABLE, EXPLAINED, PART = 0, 1, 2, 3, 4, -1
BOUNDED = Rule("s0", low=-0.5, high=1.0)
JOINT = [Rule("s0", contrast="s1"), Rule("s1", margin=0.02, role=False)]
TESTS = ("t-skew", "t", "bootstrap-t", "sign-flip", "wilcoxon", "sign", "t-published")


def _drawn(seed: int, means: Sequence[float], examples: int, sd: float = 0.1) -> np.ndarray:
    """Normal scores of one column, one layer, with a mean per head."""
    values = np.random.default_rng(seed).normal(0, sd, size=(1, examples, 1, len(means)))
    return np.asarray(means) + values


def _one(
    values: Sequence[float] | np.ndarray, rule: Rule = BOUNDED, decision: Decision | None = None
) -> Findings:
    """Findings of one head."""
    return judge(scored(np.reshape(values, (1, -1, 1, 1))), [rule], decision or Decision())


# What a finding says.


def test_a_finding_describes_the_scores_on_their_own_scale() -> None:
    import pingouin

    null = np.linspace(0.5, 1.5, 60)[None]
    values = _drawn(0, [1.3, 3.4], 60, sd=0.8)
    scores = scored(values, null=null, cells=np.where(np.arange(60) < 20, np.nan, np.arange(60.0))[None])
    found = judge(scores, [Rule("s0", null=1.0, margin=2.0)], Decision(test="t"))
    stored = scores.values.astype(np.float64)[0, :, 0]
    beyond = stored - null[0][:, None]
    ends = reference.ttest_1samp(beyond, 2.0).confidence_interval(0.95)
    for name, wanted in {
        "count": [60, 60], "cells": [39.5, 39.5], "null": [1.0, 1.0], "margin": [2.0, 2.0],
        "mean": stored.mean(axis=0), "effect": (beyond.mean(axis=0) - 2) / beyond.std(axis=0, ddof=1),
        "low": ends.low + 1, "high": ends.high + 1,
        "statistic": reference.ttest_1samp(beyond, 2.0).statistic,
        "p": reference.ttest_1samp(beyond, 2.0, alternative="greater").pvalue,
        "p_not": reference.ttest_1samp(beyond, 2.0, alternative="less").pvalue,
        "decision": [NOT, ROLE],
    }.items():  # fmt: skip
        np.testing.assert_allclose(getattr(found, name)[0, 0], wanted, rtol=1e-7, err_msg=name)
    size = pingouin.compute_effsize(beyond[:, 0], 2.0, eftype="cohen")
    assert found.effect[0, 0, 0] == pytest.approx(size, rel=1e-6)
    assert found.rules[0].sieve == "s0"


def test_where_chance_values_differ_the_mean_has_an_interval_of_its_own() -> None:
    null = np.stack([np.full(60, 0.2), np.linspace(0.1, 0.7, 60)])
    values = null[:, :, None, None] + np.random.default_rng(1).normal(0.3, 0.1, (2, 60, 1, 2))
    values[1, 3, 0, 1] = np.nan
    scores, rules = scored(values, null=null), [Rule("s0"), Rule("s1")]
    found = judge(scores, rules, Decision("t"))
    low, high = mean_intervals(Columns(scores, rules), found, Decision("t"))
    np.testing.assert_array_equal(low[0], found.low[0])  # the same chance value everywhere
    for head in range(2):
        known = scores.values[1, :, 0, head].astype(np.float64)
        ends = reference.ttest_1samp(known[~np.isnan(known)], 0).confidence_interval(0.95)
        assert (low[1, 0, head], high[1, 0, head]) == pytest.approx((ends.low, ends.high))
    assert (high[1] - low[1] > 1.2 * (found.high[1] - found.low[1])).all()


def test_the_interval_asked_for_is_shown_and_moves_no_p() -> None:
    scores, rules = made(8, units=40)
    values = scores.values.copy()
    values[2, :7, 0, 1] = np.nan
    scores = replace(scores, values=values)
    ends = {
        name: judge(scores, rules, Decision(interval=name, resamples=999)) for name in ("test", "t", "bca")
    }
    for head in (0, 1):
        column = scores.values[2, :, 0, head].astype(np.float64)
        column = column[~np.isnan(column)]
        student = reference.ttest_1samp(column, 0).confidence_interval(0.95)
        theirs = reference.bootstrap(
            (column,), np.mean, method="BCa", n_resamples=999, rng=np.random.default_rng(0)
        ).confidence_interval
        for name, wanted in (("t", student), ("bca", theirs)):
            assert ends[name].low[2, 0, head] == pytest.approx(wanted.low, rel=1e-9)
            assert ends[name].high[2, 0, head] == pytest.approx(wanted.high, rel=1e-9)
    assert len({round(float(found.low[2, 0, 0]), 9) for found in ends.values()}) == 3
    for found in ends.values():
        np.testing.assert_array_equal(found.p, ends["test"].p)


# Units.


def test_the_examples_of_a_group_are_one_unit_that_weighs_one() -> None:
    import pandas as pd

    rng = np.random.default_rng(6)
    owner = np.concatenate([[7], rng.integers(20, size=79)])
    values = rng.normal(0.15, 0.1, size=(2, 80, 2, 2))
    values[rng.random(values.shape) < 0.2] = np.nan
    values[:, rng.random(80) < 0.2] = np.nan  # examples without a score of any head
    null = rng.uniform(0.1, 0.3, (2, 80))
    scores, rules = scored(values, units=owner.tolist(), null=null), [Rule("s0"), Rule("s1")]
    found, columns = judge(scores, rules, Decision("t")), Columns(scores, rules)
    for k in range(2):
        beyond = pd.DataFrame(scores.values[k].astype(float).reshape(80, 4) - null[k][:, None])
        means = beyond.groupby(owner, sort=False).mean().to_numpy()
        np.testing.assert_allclose(columns[k].values, means, rtol=1e-12, atol=1e-12)
        levels = np.where(np.isnan(beyond), np.nan, null[k][:, None])
        chance = pd.DataFrame(levels).groupby(owner).mean().mean().to_numpy()
        np.testing.assert_allclose(columns[k].null, chance, rtol=1e-12)
        said = ~np.isnan(scores.values[k]).all(axis=(1, 2))
        assert np.isnan([columns[k].low, columns[k].high]).all() or said.any()
        np.testing.assert_array_equal(found.count[k].ravel(), (~np.isnan(means)).sum(axis=0))
        wanted = reference.ttest_1samp(means, 0.1, nan_policy="omit").statistic
        np.testing.assert_allclose(found.statistic[k].ravel(), wanted, rtol=1e-9)


def test_columns_state_the_possible_range_beyond_the_chance_values_of_examples_that_speak() -> None:
    scores, rules = made(0, units=10, per_unit=3)
    null = np.random.default_rng(0).uniform(0.1, 0.2, scores.null.shape)
    null[2, 0], null[2, 1] = 0.9, np.nan
    values = scores.values.copy()
    values[2, 0] = np.nan
    columns = list(Columns(replace(scores, values=values, null=null), rules))
    for k, column in enumerate(columns):
        told = null[k][2:] if k == 2 else null[k]
        assert (column.low, column.high) == pytest.approx((-1 - told.max(), 1 - told.min()))


def test_repeating_every_input_changes_nothing_when_copies_share_a_unit() -> None:
    values = _drawn(7, [0.12, 0.3], 60)
    units = list(range(60))
    once = judge(scored(values, units=units), [BOUNDED], Decision())
    five = judge(scored(np.concatenate([values] * 5, axis=1), units=units * 5), [BOUNDED], Decision())
    np.testing.assert_allclose(five.p, once.p, rtol=1e-6)
    np.testing.assert_array_equal(five.count, once.count)


@pytest.mark.parametrize("units", [3, 12])
def test_large_columns_are_made_anew_and_stay_the_same(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, rules = made(0, units=units, per_unit=24 // units)
    null = np.random.default_rng(1).uniform(0.1, 0.2, scores.null.shape)
    scores = replace(scores, null=null)
    small = Columns(scores, rules)
    import sys

    monkeypatch.setattr(sys.modules[Columns.__module__], "SMALL", 0)
    for read_before in (False, True):
        columns = Columns(scores, rules)
        if read_before:
            assert len(list(columns)) == len(rules)
            assert (columns[1] is columns[1]) == (units == 3)
        for k, column in enumerate(columns):
            np.testing.assert_array_equal(column.values, small[k].values)
            np.testing.assert_array_equal(column.sample.mean, describe(column.values).mean)
            beyond = (scores.values[k].astype(np.float64) - null[k][:, None, None]).reshape(24, 12)
            wanted = design_effect(beyond, np.arange(24) // (24 // units))
            np.testing.assert_array_equal(columns.design_effects(k), wanted)
        assert [column.rule for column in columns[1:3]] == rules[1:3]


# Edges: columns that hold nothing, one thing, or too little.


def _edges() -> np.ndarray:
    """Heads: all NaN, one unit, two units, constants at 0.5, 0 and θ, half of the units, normal scores."""
    values = np.random.default_rng(2).normal(0.3, 0.1, (60, 8))
    values[:, 0] = values[1:, 1] = values[2:, 2] = np.nan
    values[:, 3], values[:, 4], values[:, 5], values[:30, 6] = 0.5, 0.0, 0.1, np.nan
    return values


@pytest.mark.parametrize("test", TESTS)
def test_edges_are_decided_alike_by_every_test(test: str) -> None:
    values = _edges()[None]
    decided = [UNTESTABLE, UNTESTABLE, None, ROLE, NOT, UNDETERMINED, ROLE, ROLE]
    for bounded in (True, False):
        rule = Rule("s0", low=-0.5, high=1.0) if bounded else Rule("s0")
        found = judge(scored(values), [rule], Decision(test, resamples=1999))
        wanted = decided if bounded else [*decided[:3], *[UNTESTABLE] * 3, *decided[6:]]
        for head, code in enumerate(wanted):
            assert code is None or found.decision[0, 0, head] == code, head
        assert found.count[0, 0].tolist() == [0, 1, 2, 60, 60, 60, 30, 60]
        tested = [code != UNTESTABLE for code in wanted]
        for name in ("p", "q", "p_not", "q_not"):
            numbers = getattr(found, name)[0, 0]
            np.testing.assert_array_equal(~np.isnan(numbers), tested, err_msg=name)
            assert ((numbers[tested] >= 0) & (numbers[tested] <= 1)).all()
        assert np.isnan(found.effect[0, 0, [0, 1, 3, 4, 5]]).all()
        assert np.isnan(found.statistic[0, 0, [0, 1, 3, 4, 5]]).all()
        assert np.isnan(found.mean[0, 0]).tolist() == [True] + [False] * 7
        if bounded:
            exact = bounded_outcome(describe(values[0]), 0.1, -0.5, 1.0)
            for name in ("p", "p_not", "low", "high"):
                np.testing.assert_allclose(
                    getattr(found, name)[0, 0, 3:6], getattr(exact, name)[3:6], rtol=1e-6
                )


def test_q_has_a_value_just_where_p_has_under_joint_and_max_t_corrections() -> None:
    values = np.stack([_edges(), _edges() - 0.2, _edges() + 0.1])
    values[1, :, 7] = 0.0
    values[2, :, 6] = np.nan
    rules = [*JOINT, Rule("s2", low=-0.5, high=1.0)]
    for test in ("t-skew", "t", "bootstrap-t", "sign-flip"):
        found = judge(scored(values, rules), rules, Decision(test, "maxT", resamples=199))
        for p, q in ((found.p, found.q), (found.p_not, found.q_not)):
            np.testing.assert_array_equal(np.isnan(p), np.isnan(q))
            assert (q[~np.isnan(q)] >= p[~np.isnan(q)]).all()
            assert (q[~np.isnan(q)] <= 1).all()


def test_no_examples_or_one_are_untestable_and_two_are_tested() -> None:
    assert (judge(scored(np.empty((1, 0, 2, 3))), [BOUNDED], Decision()).decision == UNTESTABLE).all()
    scores, rules = made(0, units=1)
    for test in TESTS:
        found = judge(scores, rules, Decision(test))
        assert (found.decision[[0, 2, 3]] == UNTESTABLE).all()
        assert np.isnan(found.q).all()
    assert _one([0.7, 0.701]).decision.item() == ROLE


CONSTANTS = """
    # score | units | p           | p_not    | decision
    0.0     | 49    | 1           | 0.9**49  | 2
    0.0     | 50    | 1           | 0.9**50  | 1
    1.0     | 5     | .4**5       | 1        | 0
    0.11    | 50    | (.6/.61)**50| 1        | 2
    0.11    | 1000  | (.6/.61)**1000 | 1     | 0
    0.1     | 500   | 1           | 1        | 2
"""


def test_constants_have_exact_p_from_their_bounds() -> None:
    for value, units, p, p_not, decided in table(CONSTANTS):
        found = _one(np.full(int(units), float(value)))
        assert found.p.item() == pytest.approx(eval(p), rel=1e-4), value
        assert found.p_not.item() == pytest.approx(eval(p_not), rel=1e-4), value
        assert found.decision.item() == int(decided), (value, units)
    rule = Rule("s0", low=0.0, high=1.0)  # a share whose chance is 0.5 lies in [−0.5, 0.5] beyond it
    assert judge(scored(np.full((1, 20, 1), 0.75), null=0.5), [rule], Decision()).p.item() == pytest.approx(
        (0.6 / 0.75) ** 20
    )
    null = np.linspace(0.25, 0.5, 20)[None]  # where chance varies the widest bounds are taken
    moved = judge(scored((null + 0.25)[..., None], null=null), [rule], Decision())
    assert moved.p.item() == pytest.approx((0.6 / 0.75) ** 20)


def test_float32_rounding_is_no_spread() -> None:
    rng = np.random.default_rng(24)
    for level, spread, known in ((0.1, 5e-7, False), (0.1, 5e-5, True), (200.0, 1e-5, False)):
        found = _one(level + rng.uniform(-spread, spread, size=128))
        assert np.isfinite(found.statistic.item()) == known, (level, spread)


# Decisions.


@pytest.mark.parametrize("correction", ["fdr_tsbh", "fdr_bh", "holm"])
def test_a_head_far_below_the_margin_is_no_role_whatever_the_others_are(correction: str) -> None:
    # The two-stage rate multiplies p by the share of true nulls: 1 becomes 1/72 among 71 true roles.
    found = judge(scored(_drawn(13, [0.5] * 71 + [-0.3], 100)), [BOUNDED], Decision(correction=correction))
    assert found.decision[0, 0].tolist() == [ROLE] * 71 + [NOT]
    assert found.p[0, 0, -1] == 1.0
    assert (found.q[0, 0, -1] < 0.05) == (correction == "fdr_tsbh")


def test_not_and_explained_need_fifty_units_and_a_role_does_not() -> None:
    for units, decided in ((ENOUGH_FOR_NOT - 1, UNDETERMINED), (ENOUGH_FOR_NOT, NOT)):
        found = _one(np.random.default_rng(9).normal(0, 0.05, size=units))
        assert found.p_not.item() < 1e-6
        assert found.decision.item() == decided
        pair = np.concatenate([_drawn(1, [0.5], units), _drawn(2, [-0.5], units)])
        explained = judge(scored(pair), JOINT, Decision()).decision[0].item()
        assert explained == (UNDETERMINED if decided == UNDETERMINED else EXPLAINED)
    grouped = scored(_drawn(10, [0.0], 200), units=[k % 49 for k in range(200)])
    assert judge(grouped, [BOUNDED], Decision()).decision.item() == UNDETERMINED
    assert _one(np.random.default_rng(12).normal(0.5, 0.05, size=10)).decision.item() == ROLE
    for mean, code in ((0.2, UNDETERMINED), (0.0, NOT)):  # 30 units of the contrast explain nothing
        pair = np.concatenate([_drawn(11, [mean], 80), _drawn(12, [-0.1], 80)])
        pair[1, 30:] = np.nan
        found = judge(scored(pair), JOINT, Decision())
        assert found.p_not[1].item() < 1e-3
        assert found.decision[0].item() == code


JOINT_CASES = """
    # score | contrast | decision
    0.5     | 0.2      | 0
    0.5     | 0.0      | 4
    0.0     | 0.2      | 1
    0.0     | 0.0      | 1
    0.5     | 0.02     | 2
    0.1     | 0.2      | 2
    0.1     | 0.0      | 2
"""


def test_a_score_beyond_its_margin_is_a_role_or_explained_by_its_contrast() -> None:
    for score, contrast, decided in table(JOINT_CASES):
        values = np.random.default_rng(19).normal(0, 0.03, (2, 200, 1))
        values += np.array([float(score), float(contrast)])[:, None, None]
        values -= values.mean(axis=1, keepdims=True) - [[[float(score)]], [[float(contrast)]]]
        found = judge(scored(values), JOINT, Decision())
        assert found.decision[:, 0, 0].tolist() == [int(decided), PART], (score, contrast)


def test_the_joint_p_is_the_larger_and_all_else_is_that_of_the_column_alone() -> None:
    values = np.random.default_rng(20).normal(0.1, 0.1, size=(2, 60, 3, 4))
    values[0, :, 0, 2] -= 0.6
    values[1, :, 0, [0, 2]] = np.nan
    found = judge(scored(values), JOINT, Decision())
    alone = judge(scored(values), [Rule("s0"), Rule("s1", margin=0.02)], Decision())
    np.testing.assert_array_equal(found.p[0], np.maximum(alone.p[0], alone.p[1]))
    for name in ("count", "mean", "effect", "low", "high", "statistic", "p_not"):
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
    assert found.decision[0, 0, [0, 2]].tolist() == [UNTESTABLE, NOT]
    assert (found.decision[1] == PART).all()
    turned = judge(scored(values[::-1], JOINT[::-1]), JOINT[::-1], Decision())
    for name in ("p", "q", "p_not", "q_not", "decision"):
        np.testing.assert_array_equal(getattr(found, name), getattr(turned, name)[::-1])


def test_an_adjusted_p_of_exactly_alpha_is_a_role_and_scores_stay_as_they_are() -> None:
    scores = scored(_drawn(18, [0.13], 40), null=0.01)
    before = scores.values.copy()
    p = judge(scores, [BOUNDED], Decision()).q.item()
    assert judge(scores, [BOUNDED], Decision(alpha=p)).decision.item() == ROLE
    below = float(np.nextafter(p, 0))
    assert judge(scores, [BOUNDED], Decision(alpha=below)).decision.item() == UNDETERMINED
    np.testing.assert_array_equal(scores.values, before)


def test_betting_over_benjamini_hochberg_is_e_bh_and_may_leave_intervals_out() -> None:
    rules = [replace(rule, stated_low=-0.5, stated_high=1.0) for rule in JOINT]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        values = -0.5 + 1.5 * rng.beta(0.5, 0.5 + 3 * rng.random(8), size=(2, 90, 8))
        scores = scored(values)
        found = judge(scores, rules, Decision("betting"))
        quickly = judge(scores, rules, Decision("betting"), intervals=False)
        capital = 1 / found.p[0, 0]
        ordered, ranks = np.sort(capital)[::-1], np.arange(1, 9)
        most = max(ranks[ranks * ordered / 8 >= 1 / 0.05], default=0)
        wanted = np.argsort(-capital, kind="stable")[:most]
        assert set(np.flatnonzero(found.decision[0, 0] == ROLE)) == set(wanted)
        np.testing.assert_array_equal(found.decision, quickly.decision)
        np.testing.assert_array_equal(found.p, quickly.p)
        assert np.isnan(quickly.low).all()
        assert not np.isnan(found.low).any()
