"""assess(): its whole result on made runs, from libraries, whole judgements and counting."""

import json
from dataclasses import fields, replace
from functools import cache
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as reference

from headroles.records import Decision, Findings, Rule, Scores, absent_heads, stronger_roles
from headroles.stats import TIE, assess, judge
from tests.support.scores import made, scored, spiky

ROLE, NOT, UNDETERMINED, EXPLAINED = 0, 1, 2, 4
RULES = [
    Rule("parked", contrast="parked:values", stronger="parked:class", low=-1.0, high=1.0),
    Rule("parked:values", margin=0.02, role=False, low=-2.0, high=2.0),
    Rule("parked:class", margin=0.02, role=False, low=-2.0, high=2.0),
    Rule("delimiter", low=-1.0, high=1.0),
    Rule("delimiter:cls", low=-1.0, high=1.0),
]
LAYERS, HEADS, UNITS = 3, 4, 70


@cache
def _planted() -> Scores:
    """Scores of 3 layers of 4 heads, two examples a unit: planted roles, nots, explained and odd heads."""
    rng = np.random.default_rng(1)
    means = np.full((5, LAYERS, HEADS), 0.0)
    means[0, 0], means[1, 0], means[2, 0] = 0.4, 0.2, 0.2  # layer 0: strong roles
    means[0, 1, :2], means[1, 1, :2] = 0.4, -0.2  # explained
    means[0, 2, 0], means[1, 2, 0], means[2, 2, 0] = 0.4, 0.2, -0.2  # a role, and no strong one
    means[3, 1], means[4, 1, :3] = 0.3, 0.3
    means[3, 2, 3] = 0.13
    common = np.repeat(rng.normal(0, 0.07, (5, UNITS, LAYERS, HEADS)), 2, axis=1)
    values = means[:, None] + common + rng.normal(0, 0.07, (5, 2 * UNITS, LAYERS, HEADS))
    values[0, :8, 0, 1] = values[1, 6:20, 0, 1] = np.nan
    values[0, 0, 0, 2] = np.nan
    values[3:, :, 0] *= 0.3  # so near 0 that they are absent
    values[3, :, 2, 0] = 0.5  # constant
    values[3, :, 2, 1] = np.nan
    values[4, :, 2, 2] = np.repeat(spiky(UNITS, 0.1003, 0.5)[:, 0], 2)
    return scored(values, RULES, units=(np.arange(2 * UNITS) // 2).tolist())


def _units(scores: Scores, column: int, layer: int, head: int) -> np.ndarray:
    """Means of the two examples of each unit; NaN where there is none."""
    pairs = scores.values[column, :, layer, head].astype(np.float64).reshape(-1, 2)
    known = ~np.isnan(pairs)
    sums = np.where(known, pairs, 0).sum(axis=1)
    means: np.ndarray = np.divide(
        sums, known.sum(axis=1), out=np.full(len(pairs), np.nan), where=known.any(1)
    )
    return means


@cache
def _judged(test: str = "t", correction: str = "fdr_bh") -> Findings:
    return judge(_planted(), RULES, Decision(test, correction))


def test_planted_heads_get_their_verdicts() -> None:
    found = _judged()
    parked = [[ROLE] * 4, [EXPLAINED, EXPLAINED, NOT, NOT], [ROLE, NOT, NOT, NOT]]
    assert found.decision[0].tolist() == parked
    assert found.decision[3, 1].tolist() == [ROLE] * 4
    assert found.decision[3, 2].tolist()[:2] == [ROLE, 3]
    assert found.decision[4].tolist() == [[NOT] * 4, [ROLE] * 3 + [NOT], [NOT, NOT, UNDETERMINED, NOT]]
    assert (found.decision[1:3] == -1).all()
    assert np.argwhere(stronger_roles(found, Decision())).tolist() == [[0, 0, head] for head in range(HEADS)]


def test_precision_is_told_of_every_head_that_has_scores_and_absence_where_it_is_corrected() -> None:
    scores, found = _planted(), _judged()
    precision = assess(scores, RULES, Decision("t"), found, bayes=True).precision
    for at in np.ndindex(5, LAYERS, HEADS):
        column = _units(scores, *at)
        column = column[~np.isnan(column)]
        if not len(column):
            assert all(isnan(getattr(precision, field.name)[at]) for field in fields(precision)), at
            continue
        square = (column - column.mean()) ** 2
        share = square.max() / square.sum() if np.ptp(column) else np.nan
        assert precision.largest_share[at] == pytest.approx(share, rel=1e-5, nan_ok=True)
        assert isnan(precision.bayes_factor[at]) == isnan(share)
        assert isnan(precision.stability[at]) == isnan(precision.p_absent[at]) == (not RULES[at[0]].role)
    assert precision.stability[3, 2, 0] == 1.0  # a constant keeps its label
    assert np.isnan(assess(scores, RULES, Decision("t"), found).precision.bayes_factor).all()
    absent = absent_heads(found, precision, Decision())
    np.testing.assert_array_equal(absent, (found.decision == NOT) & (precision.q_absent <= 0.05))
    assert not absent.any()  # of 70 units, three more at a bound would leave ± 0.02


BOUNDED = Rule("s", low=-1.0, high=1.0)


@pytest.mark.parametrize(
    ("rule", "units", "tested"),
    [(BOUNDED, 50, True), (BOUNDED, 49, False), (Rule("s"), 300, True), (Rule("s"), 299, False),
     (replace(BOUNDED, null=1.0), 80, False), (replace(BOUNDED, pooled=True), 80, False)],
)  # fmt: skip
def test_absence_is_tested_where_chance_is_0_of_enough_units_that_are_not_pooled(
    rule: Rule, units: int, tested: bool
) -> None:
    null = rule.null or 0.0
    scores = scored(np.random.default_rng(3).normal(null, 0.02, (1, units, 2)), [rule], null=null)
    found = judge(scores, [rule], Decision())
    precision = assess(scores, [rule], Decision(), found).precision
    assert np.isnan(precision.p_absent).all() == (not tested)
    assert not np.isnan(precision.prevalence).any()
    if tested and rule == BOUNDED:  # three more units at a bound would leave ± 0.02
        assert (precision.p_absent == 1).all()
    assert absent_heads(found, precision, Decision()).all() == (tested and rule != BOUNDED)
    nothing = assess(scores, [rule], Decision(), found, absence=False)
    assert np.isnan(nothing.precision.q_absent).all()
    assert not nothing.several


def test_strong_roles_reach_alpha_as_every_decision_does_and_change_no_other() -> None:
    found = _judged()
    once = judge(_planted(), [replace(RULES[0], stronger=""), *RULES[1:]], Decision("t"))
    np.testing.assert_array_equal(found.decision, once.decision)
    np.testing.assert_array_equal(found.q[:2], once.q[:2])
    assert not stronger_roles(once, Decision()).any()
    q, p = found.q.copy(), found.p.copy()
    q[2, 0], p[2, 0] = [0.05 * (1 + TIE / 2), 0.0500001, 0.04, 0.04], [0.05, 0.04, 0.06, np.nan]
    edge = stronger_roles(replace(found, q=q, p=p), Decision())
    assert edge[0, 0].tolist() == [True, False, False, False]


# Detectable effects.


def test_the_detectable_effect_is_found_with_the_power_it_says_at_the_level_that_is_left() -> None:
    run = made(3, units=60)
    for correction in ("bonferroni", "fdr_bh"):
        decision = Decision("t", correction)
        found = judge(*run, decision)
        least = assess(*run, decision, found).precision.detectable
        for k in (0, 2, 3):
            roles = int((found.decision[k] == ROLE).sum())
            cut = 0.05 / 12 * (max(roles, 1) if correction == "fdr_bh" else 1)
            critical = reference.t.isf(cut, 59)
            power = reference.nct.sf(critical, 59, least[k, 0, 0] * 60**0.5)
            assert power == pytest.approx(0.8, abs=1e-8), (correction, k)
        assert not np.isnan(least).any()


# Sensitivity.


@pytest.mark.parametrize("correction", ["fdr_bh", "holm", "fdr_tsbh", "none", "maxT"])
def test_every_margin_and_every_alpha_is_a_judgement_of_its_own(correction: str) -> None:
    scores, rules = made(26, units=80, layers=3, heads=8)
    if correction in ("holm", "maxT"):
        rules = [replace(rule, low=float("nan"), high=float("nan")) for rule in rules]
    roles = [k for k, rule in enumerate(rules) if rule.role]
    family = {"fdr_bh": "layer", "holm": "sieve"}.get(correction, "run")
    decision = Decision(correction=correction, family=family, alpha=0.03, resamples=999)
    moved = assess(scores, rules, decision, judge(scores, rules, decision)).moved
    curves = {(row.sieve, row.convention, row.value): row.heads for row in moved}
    steps = (0.0, 0.2, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0)
    alphas = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
    assert len(curves) == len(moved) == len(roles) * (len(steps) + len(alphas))
    plain = replace(decision, correction="holm") if correction == "maxT" else decision
    for step in steps:
        changed = [replace(rule, margin=rule.margin * step) if rule.role else rule for rule in rules]
        found = judge(scores, changed, plain)
        for k in roles:
            heads = curves[rules[k].sieve, "margin", round(0.1 * step, 6)]
            assert heads == (found.decision[k] == ROLE).sum(), (step, k)
    for alpha in alphas[3 if correction == "maxT" else 0 :]:  # with 999 resamples
        found = judge(scores, rules, replace(decision, alpha=alpha))
        for k in roles:
            assert curves[rules[k].sieve, "alpha", alpha] == (found.decision[k] == ROLE).sum()


# Drops of values.


@pytest.mark.parametrize("test", ["t", "t-skew"])
def test_drops_are_paired_over_the_units_that_have_both_scores(test: str) -> None:
    scores = _planted()
    drops = assess(scores, RULES, Decision(test), _judged(test)).drops
    places = list(np.ndindex(LAYERS, HEADS))
    assert [(drop.sieve, drop.layer, drop.head) for drop in drops] == [("parked", *place) for place in places]
    for drop, place in zip(drops, places, strict=True):
        attention, minus = (_units(scores, k, *place) for k in (0, 1))
        fall = attention + minus
        both = ~np.isnan(fall)
        assert drop.units == both.sum()
        assert drop.attention == pytest.approx(attention[both].mean())
        assert drop.norm == pytest.approx(-minus[both].mean())
        assert drop.drop == pytest.approx(fall[both].mean())
        ends = reference.ttest_1samp(fall[both], 0).confidence_interval(0.95)
        rounding = 1e-9 if test == "t" else 0.01
        assert (drop.low, drop.high) == pytest.approx((ends.low, ends.high), abs=rounding)
    # 4 units lack one score, 7 the other, 1 both
    assert [drop.units for drop in drops] == [70, 60, *[70] * 10]


# Remarks.


REMARKS = json.loads(Path(__file__).with_name("remarks.json").read_text("utf-8"))
"""Remarks by test, correction, resamples, units and heads of a layer."""


@pytest.mark.parametrize("case", REMARKS)
def test_remarks_say_what_a_reader_of_the_decisions_must_know(case: str) -> None:
    test, correction, *numbers = case.split()
    resamples, units, heads = map(int, numbers)
    scores, rules = made(6, units=units, heads=heads)
    if heads == 1:  # of each column, tests of medians call scipy in 500 resamples
        scores, rules = scored(scores.values[2:3], rules[2:3]), rules[2:3]
    decision = Decision(test, correction, resamples=resamples)
    assert list(assess(scores, rules, decision, judge(scores, rules, decision)).remarks) == REMARKS[case]
