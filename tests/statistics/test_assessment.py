"""assess(): its whole result on made runs, from libraries, whole judgements and counting."""

from dataclasses import fields, replace
from functools import cache
from itertools import combinations
from math import isnan

import numpy as np
import pytest
from scipy import optimize
from scipy import stats as reference

from headroles.records import Decision, Findings, Rule, Scores, absent_heads, stronger_roles
from headroles.stats import (
    ENOUGH_FOR_NOT,
    TIE,
    Grid,
    adjust,
    assess,
    evidence_columns,
    fresh_roles,
    judge,
    significant,
)
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
    assert found.decision[0].tolist() == [
        [ROLE] * 4,
        [EXPLAINED, EXPLAINED, NOT, NOT],
        [ROLE, NOT, NOT, NOT],
    ]
    assert found.decision[3, 1].tolist() == [ROLE] * 4
    assert found.decision[3, 2].tolist()[:2] == [ROLE, 3]
    assert found.decision[4].tolist() == [[NOT] * 4, [ROLE] * 3 + [NOT], [NOT, NOT, UNDETERMINED, NOT]]
    assert (found.decision[1:3] == -1).all()
    strong = stronger_roles(found, Decision())
    assert np.argwhere(strong).tolist() == [[0, 0, head] for head in range(HEADS)]


def test_precision_is_that_of_the_libraries_head_by_head() -> None:
    import pingouin
    from statsmodels.stats.proportion import proportion_confint
    from statsmodels.stats.weightstats import DescrStatsW

    scores, found = _planted(), _judged()
    precision = assess(scores, RULES, Decision("t"), found, bayes=True).precision
    for k, layer, head in np.ndindex(5, LAYERS, HEADS):
        at, rule = (k, layer, head), RULES[k]
        column = _units(scores, k, layer, head)
        column = column[~np.isnan(column)]
        if not len(column):
            assert all(isnan(getattr(precision, field.name)[at]) for field in fields(precision)), at
            continue
        beyond = int((column > rule.margin).sum())
        low, high = proportion_confint(beyond, len(column), method="wilson")
        wanted = {"prevalence": beyond / len(column), "prevalence_low": low, "prevalence_high": high}
        if np.ptp(column) == 0:
            assert isnan(precision.largest_share[at])
            assert isnan(precision.hedges_g[at])
        else:
            n, t = len(column), reference.ttest_1samp(column, rule.margin).statistic
            examples = scores.values[at[0], :, layer, head].astype(float)
            examples = examples[~np.isnan(examples)]
            square = (column - column.mean()) ** 2
            g = pingouin.compute_effsize(column, rule.margin, eftype="hedges")
            wanted |= {
                "hedges_g": g,
                "bayes_factor": float(pingouin.bayesfactor_ttest(t, n)),
                "design_effect": column.var(ddof=1) / n / (examples.var(ddof=1) / len(examples)),
                "largest_share": square.max() / square.sum(),
                "mean_low": found.low[at],
                "mean_high": found.high[at],
            }
            wanted["g_low"], wanted["g_high"] = pingouin.compute_esci(g, nx=n, ny=1, decimals=10)
            if rule.role:
                wanted["p_absent"] = DescrStatsW(column).ttost_mean(-0.02, 0.02)[0]
        for name, number in wanted.items():
            assert getattr(precision, name)[at] == pytest.approx(number, rel=2e-3, abs=2e-6), (name, at)
        assert isnan(precision.stability[at]) == (not rule.role)
        assert isnan(precision.p_absent[at]) == (not rule.role)
    assert precision.stability[3, 2, 0] == 1.0  # a constant keeps its label
    left_out = assess(scores, RULES, Decision("t"), found).precision
    assert np.isnan(left_out.bayes_factor).all()


def test_explained_and_absent_are_pairs_of_one_sided_tests_corrected_in_families_of_their_own() -> None:
    scores, found = _planted(), _judged()
    precision = assess(scores, RULES, Decision("t"), found).precision
    wanted = np.full((LAYERS, HEADS), np.nan)
    for place in np.ndindex(LAYERS, HEADS):
        score, contrast = (_units(scores, k, *place) for k in (0, 1))
        sides = (
            reference.ttest_1samp(score, 0.1, alternative="greater", nan_policy="omit").pvalue,
            reference.ttest_1samp(contrast, 0.02, alternative="less", nan_policy="omit").pvalue,
        )
        wanted[place] = max(sides)
    np.testing.assert_allclose(precision.p_explained[0], wanted, rtol=1e-6)
    q = adjust(wanted.ravel(), "fdr_bh").reshape(wanted.shape)
    np.testing.assert_allclose(precision.q_explained[0], q, rtol=1e-6)
    np.testing.assert_array_equal(found.decision[0] == EXPLAINED, precision.q_explained[0] <= 0.05)
    assert np.isnan(precision.p_explained[1:]).all()
    for k in (0, 3, 4):
        own = adjust(precision.p_absent[k].ravel(), "fdr_bh")
        np.testing.assert_allclose(precision.q_absent[k].ravel(), own, rtol=1e-9)
    absent = absent_heads(found, precision, Decision())
    np.testing.assert_array_equal(absent, (found.decision == NOT) & (precision.q_absent <= 0.05))
    assert 5 < absent.sum() < (found.decision == NOT).sum()


def test_decisions_are_those_of_the_q_that_are_written_under_every_test() -> None:
    for test, correction in (("t-skew", "fdr_bh"), ("t-skew", "maxT"), ("t", "maxT"),
                             ("sign", "holm"), ("bootstrap-t", "fdr_bh")):  # fmt: skip
        decision = Decision(test, correction, resamples=499)
        found = judge(_planted(), RULES, decision)
        precision = assess(_planted(), RULES, decision, found).precision
        explained = significant(precision.q_explained, 0.05, precision.p_explained)
        assert explained.any(), (test, correction)
        np.testing.assert_array_equal(found.decision == EXPLAINED, explained)


def test_absence_is_tested_where_chance_is_0_of_enough_units_that_are_not_pooled() -> None:
    values = np.random.default_rng(3).normal(0, 0.02, (1, 80, 2))
    for rule, null, units, tested in (
        (Rule("s"), 0.0, 50, True), (Rule("s"), 0.0, 49, False), (Rule("s", null=1.0), 1.0, 80, False),
        (Rule("s", pooled=True), 0.0, 80, False),
    ):  # fmt: skip
        scores = scored(values[:, :units] + null, [rule], null=null)
        found = judge(scores, [rule], Decision())
        precision = assess(scores, [rule], Decision(), found).precision
        assert np.isnan(precision.p_absent).all() == (not tested)
        assert not np.isnan(precision.prevalence).any()
        nothing = assess(scores, [rule], Decision(), found, absence=False)
        assert np.isnan(nothing.precision.q_absent).all()
        assert nothing.several == ()


def test_strong_roles_lie_beyond_all_three_margins_and_reach_alpha_as_every_decision_does() -> None:
    scores, found = _planted(), _judged()
    bare = judge(scores, [replace(rule, contrast="", stronger="") for rule in RULES], Decision("t"))
    np.testing.assert_array_equal(found.p[2], np.maximum.reduce(bare.p[:3]))
    np.testing.assert_array_equal(found.p[1], bare.p[1])
    np.testing.assert_allclose(found.q[2].ravel(), adjust(found.p[2].ravel(), "fdr_bh"))
    once = judge(scores, [replace(RULES[0], stronger=""), *RULES[1:]], Decision("t"))
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
    if correction != "fdr_tsbh":
        rules = [replace(rule, low=float("nan"), high=float("nan")) for rule in rules]
    roles = [k for k, rule in enumerate(rules) if rule.role]
    for family in ("sieve", "layer") if correction == "fdr_bh" else ("run",):
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
        for alpha in alphas:
            if correction != "maxT" or alpha > 0.002:
                found = judge(scores, rules, replace(decision, alpha=alpha))
                for k in roles:
                    assert curves[rules[k].sieve, "alpha", alpha] == (found.decision[k] == ROLE).sum()


def test_withheld_heads_are_roles_at_no_alpha_under_the_two_stage_rate() -> None:
    scores, rules = made(26, units=80, layers=3, heads=8)
    rules = [replace(rule, low=float("nan"), high=float("nan")) for rule in rules]
    decision = Decision(correction="fdr_tsbh")
    found = judge(scores, rules, decision)
    for row in assess(scores, rules, decision, found).moved:
        if (row.convention, row.value) == ("alpha", 0.05):
            assert row.heads == (found.decision[found.of(row.sieve)] == ROLE).sum()


# Roles together, over layers, and several of them.


def test_pairs_sets_and_depths_count_the_heads_of_the_findings() -> None:
    scores, rules = made(4, units=80, layers=4, heads=8)
    found = judge(scores, rules, Decision())
    bare = judge(scores, [replace(rule, contrast="") for rule in rules], Decision())
    said = assess(scores, rules, Decision(), found)
    position = {rule.sieve: k for k, rule in enumerate(rules)}
    without = {(pair.first, pair.second) for pair in said.together if pair.contrasts == "without"}
    assert without == {("s0", "s2"), ("s0", "s3"), ("s2", "s0"), ("s3", "s0")}
    for pair in said.together:
        labels = (found if pair.contrasts == "with" else bare).decision
        one, other = (labels[position[name]] == ROLE for name in (pair.first, pair.second))
        assert (pair.heads_first, pair.heads_second, pair.both) == (
            one.sum(),
            other.sum(),
            (one & other).sum(),
        )
        assert pair.expected == pytest.approx((one.sum(axis=1) * other.sum(axis=1) / 8).sum())
        assert pair.both_low <= pair.both_high
        assert pair.share == pytest.approx(pair.both / pair.heads_first)
    held = found.decision[[0, 2, 3]] == ROLE
    assert len(said.together) == 6 + 4
    for depth, row in zip(said.depth, held, strict=True):
        counts = row.sum(axis=1)
        assert depth.heads == counts.sum()
        assert depth.trend == pytest.approx(np.corrcoef(np.arange(4), counts)[0, 1])
        thirds = np.array([counts[0], counts[1:3].sum(), counts[3]]) / counts.sum()
        assert (depth.first, depth.middle, depth.last) == pytest.approx(tuple(thirds))
        assert depth.first_low <= depth.first_high
    names = np.array(["s0", "s2", "s3"])
    own = [";".join(names[column]) for column in held.reshape(3, -1).T if column.any()]
    assert {row.roles: row.heads for row in said.sets} == {name: own.count(name) for name in own}
    counts = held.sum(axis=0)
    wanted = {"all": counts} | {f"layer {layer}": counts[layer] for layer in range(4)}
    several = {row.scope: row for row in said.several}
    for scope, inside in wanted.items():
        assert (several[scope].heads, several[scope].mean) == (inside.size, pytest.approx(inside.mean()))
        assert several[scope].several == pytest.approx((inside >= 2).mean())
        assert isnan(several[scope].p)
    middle, shares = several["middle − others"], (counts >= 2).mean(axis=1)
    surplus = shares[1:3].mean() - shares[[0, 3]].mean()
    assert (middle.heads, middle.several) == (16, pytest.approx(surplus))
    assert middle.mean == pytest.approx(counts[1:3].mean() - counts[[0, 3]].mean())
    sums = [sum(shares[list(chosen)]) for chosen in combinations(range(4), 2)]
    assert middle.reference == np.mean([total >= sums[3] - 1e-12 for total in sums])
    assert 0 < middle.p <= 1
    fresh = fresh_roles(evidence_columns(scores, rules, Decision()), Grid(4, 8), Decision())
    drawn = fresh.sum(axis=0).reshape(-1, 4, 8)
    more = (drawn >= 2).mean(axis=2)
    below = (more[:, 1:3].mean(axis=1) - more[:, [0, 3]].mean(axis=1) <= 0).sum()
    assert middle.p == pytest.approx((1 + below) / (1 + len(drawn)))
    ends = np.quantile(drawn.mean(axis=(1, 2)), 0.025, method="lower")
    assert several["all"].mean_low == pytest.approx(ends)


def test_seeds_decide_about_draws_alone_and_betting_draws_no_fresh_samples() -> None:
    run = made(7, units=40, layers=4, heads=4)
    first, again, other = (
        assess(*run, decision, judge(*run, decision))
        for decision in (Decision(seed=1), Decision(seed=1), Decision(seed=2))
    )
    for field in fields(first.precision):
        np.testing.assert_array_equal(
            getattr(first.precision, field.name), getattr(again.precision, field.name)
        )
    for name in ("together", "depth", "several"):
        assert str(getattr(first, name)) == str(getattr(again, name)) != str(getattr(other, name))
    np.testing.assert_array_equal(first.precision.stability, other.precision.stability)
    rules = [replace(rule, stated_low=-1.0, stated_high=1.0) for rule in run[1]]
    decision = Decision("betting")
    assert assess(run[0], rules, decision, judge(run[0], rules, decision)).several == ()


# Drops of values.


@pytest.mark.parametrize("test", ["t", "t-skew"])
def test_drops_are_paired_over_the_units_that_have_both_scores(test: str) -> None:
    scores, decision = _planted(), Decision(test)
    drops = assess(scores, RULES, decision, _judged(test)).drops
    assert [(drop.sieve, drop.layer, drop.head) for drop in drops] == [
        ("parked", layer, head) for layer in range(LAYERS) for head in range(HEADS)
    ]
    for drop in drops:
        attention, minus = (_units(scores, k, drop.layer, drop.head) for k in (0, 1))
        both = ~np.isnan(attention) & ~np.isnan(minus)
        fall = (attention + minus)[both]
        assert drop.units == both.sum()
        assert drop.attention == pytest.approx(attention[both].mean())
        assert drop.norm == pytest.approx(-minus[both].mean())
        assert drop.drop == pytest.approx(fall.mean())
        ends = reference.ttest_1samp(fall, 0).confidence_interval(0.95)
        rounding = 1e-9 if test == "t" else 0.01
        assert (drop.low, drop.high) == pytest.approx((ends.low, ends.high), abs=rounding)
    counts = np.reshape([drop.units for drop in drops], (LAYERS, HEADS))
    assert counts[0].tolist() == [70, 60, 70, 70]  # 4 units lack one score, 7 the other, 1 both
    assert (counts[1:] == 70).all()


# Remarks.

PLAIN = {
    (): Decision(),
    ("pseudo-median",): Decision("wilcoxon"),
    ("median",): Decision("sign"),
    ("symmetric about the threshold", "use t with fdr_bh, not sign-flip with fdr_bh"): Decision("sign-flip"),
    ("fdr_tsbh assumes independent heads",): Decision(correction="fdr_tsbh"),
    ("holm-sidak assumes independent or positively",): Decision(correction="holm-sidak"),
    ("use t-skew with holm, not t-skew with maxT",): Decision(correction="maxT"),
    (
        "symmetric about the threshold", "jointly symmetric", "use t with holm, not sign-flip with maxT"
    ): Decision("sign-flip", "maxT"),
}  # fmt: skip


def test_remarks_say_what_a_reader_of_the_decisions_must_know() -> None:
    scores, rules = made(5, units=60)
    run = (scored(scores.values[[2], :, :1, :2], rules[2:3]), rules[2:3])
    for words, decision in PLAIN.items():
        decision = replace(decision, resamples=499)
        told = assess(*run, decision, judge(*run, decision)).remarks
        remarks = [remark for remark in told if "depend on few units" not in remark]
        assert len(remarks) == len(words), (words, remarks)
        for remark, part in zip(remarks, words, strict=True):
            assert part in remark


def _few(scores: Scores, rules: list[Rule], decision: Decision) -> list[str]:
    remarks = assess(scores, rules, decision, judge(scores, rules, decision)).remarks
    return [remark for remark in remarks if "fewer than 50 units" in remark]


def test_few_units_of_a_role_a_head_or_a_contrast_are_remarked_on() -> None:
    for test in ("t", "t-skew", "bootstrap-t", "sign-flip"):
        decision = Decision(test, resamples=499)
        (few,) = _few(*made(6, units=ENOUGH_FOR_NOT - 1), decision)
        assert few.startswith(f"fewer than 50 units: s0 (49), s2 (49), s3 (49). With so few, {test} errs")
        assert _few(*made(6, units=ENOUGH_FOR_NOT), decision) == []
    scores, rules = made(6, units=60)
    values = scores.values.copy()
    values[1, 30:] = np.nan
    values[2, 5:, 0, 0] = np.nan
    (few,) = _few(replace(scores, values=values), rules, Decision())
    assert "fewer than 50 units: s0 (30), s2 (5). With so few" in few


COARSE = [
    (Decision("sign-flip", "holm"), 7, "with 7 units has no p below 0.0078. So no head can get the role"),
    (Decision("sign-flip", "fdr_bh"), 7, "So only 2 heads or more, together, can get the role. A single head "
     "needs more units"),
    (Decision("bootstrap-t", "fdr_bh", resamples=99), 60, "only 3 heads or more, together, can get the "
     "role. A single head needs 239"),
    (Decision("sign-flip", "holm"), 8, ""),
    (Decision("bootstrap-t", "fdr_bh", resamples=239), 60, ""),
]  # fmt: skip


def test_a_p_too_coarse_for_a_head_that_stands_alone_is_remarked_on() -> None:
    for decision, units, words in COARSE:
        run = made(6, units=units)  # 12 heads in a family
        remarks = assess(*run, decision, judge(*run, decision)).remarks
        coarse = [remark for remark in remarks if "has no p below" in remark]
        assert [remark.split(":")[0] for remark in coarse] == (["s0", "s2", "s3"] if words else [])
        assert all(words in remark for remark in coarse)


def _tails(values: np.ndarray, decision: Decision | None = None) -> list[str]:
    rules, decided = [Rule("local")], decision or Decision()
    scores = scored(values[None], rules)
    remarks = assess(scores, rules, decided, judge(scores, rules, decided)).remarks
    return [remark for remark in remarks if "have outliers" in remark]


def test_heavy_tails_are_told_of_heads_close_to_the_margin_of_the_default_decision_only() -> None:
    rng = np.random.default_rng(1)
    heavy = 0.1 * np.sign(rng.normal(size=(200, 3))) * rng.lognormal(0, 1.2, size=(200, 3)) + [0.1, 0.12, 5.0]
    normal = rng.normal(0.1, 0.1, size=(200, 2))
    (told,) = _tails(np.hstack([heavy, normal]))
    assert "heads near the threshold have outliers (kurtosis above 9): local (2 of 4 heads)." in told
    assert _tails(normal) == []
    assert _tails(heavy, Decision("t")) == []
    assert _tails(heavy, Decision(correction="maxT", resamples=99)) == []
    column = np.concatenate([np.tile([-1.0, 1.0], 99), [0.0, 0.0]])
    for wanted in (8.9, 9.1):  # one unit far out gives a kurtosis just below, and just above 9
        far = optimize.brentq(
            lambda far, wanted=wanted: reference.kurtosis([*column, far], fisher=False) - wanted, 2, 9
        )
        tailed = 0.1 + 0.1 * np.append(column, far)[:, None]
        assert bool(_tails(tailed)) == (wanted > 9)
