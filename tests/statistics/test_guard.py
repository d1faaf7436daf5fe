"""Labels that hinge on few units are withheld, and their heads are named."""

import numpy as np
import pytest
from scipy import stats as reference

from headroles.records import Decision, Findings, Rule, Scores
from headroles.stats import METHODS, assess, describe, judge
from tests.support.scores import scored, spiky

ROLE, NOT, UNDETERMINED, EXPLAINED = 0, 1, 2, 4
WIDE = Rule("s0", low=-0.1, high=1.0)
PAIR = [
    Rule("s0", contrast="s1", low=-0.1, high=1.0),
    Rule("s1", margin=0.02, role=False, low=-1.0, high=1.0),
]


def _remarks(scores: Scores, rules: list[Rule], decision: Decision, found: Findings) -> list[str]:
    """The remarks that name heads whose labels are withheld."""
    remarks = assess(scores, rules, decision, found).remarks
    return [remark for remark in remarks if "depend on few units are withheld" in remark]


def _allowed(values: np.ndarray, rule: Rule) -> tuple[bool, bool]:
    """The rule of docs/reference/statistics.md, section 2, for one column without holes."""
    n, total = len(values), values.sum()
    above = n / reference.kurtosis(values, fisher=False) >= min(15, n / 4)
    if np.isnan(rule.low):
        above |= (values.mean() - rule.margin) * np.sqrt(n) > 6 * values.std(ddof=1)
    else:
        above |= (total + 3 * rule.low) / (n + 3) > rule.margin
    unseen = 3 if rule.role else 1
    below = np.isnan(rule.high) or (total + unseen * rule.high) / (n + unseen) < rule.margin
    return bool(above), bool(below)


@pytest.mark.parametrize("bounded", [True, False])
def test_a_claim_counts_as_1_in_its_family_just_where_it_hinges_on_few_units(bounded: bool) -> None:
    columns = [spiky(60, level, level + 0.4)[:, 0] for level in (0.095, 0.1008, 0.112, 0.13, 0.5)]
    rng = np.random.default_rng(0)
    columns += [rng.normal(level, 0.01, 60) for level in (0.02, 0.06, 0.08, 0.095, 0.12)]
    columns += [rng.gamma(0.2, 0.7, 60), 0.2 - rng.gamma(0.3, 0.1, 60)]
    values = np.stack(columns, axis=1).astype(np.float32)
    rule = WIDE if bounded else Rule("s0")
    found = judge(scored(values[None]), [rule], Decision("t", "none"))
    bare = METHODS["t"](values.astype(float), describe(values.astype(float)), 0.1, 0, 0)
    np.testing.assert_allclose(found.p[0, 0], bare.p)
    allowed = np.array([_allowed(column.astype(float), rule) for column in values.T])
    assert {*allowed[:, 0]} == {True, False}
    assert {*allowed[:, 1]} == ({True, False} if bounded else {True})
    np.testing.assert_allclose(found.q[0, 0], np.where(allowed[:, 0], bare.p, 1.0))
    np.testing.assert_allclose(found.q_not[0, 0], np.where(allowed[:, 1], bare.p_not, 1.0))


def test_an_outlier_makes_no_role_and_rare_units_no_not_and_their_heads_are_named() -> None:
    steady = np.random.default_rng(1).normal(0.2, 0.05, (60, 1))
    low = np.random.default_rng(0).normal(0.08, 0.01, (60, 1))
    values = np.concatenate([spiky(60, 0.1008, 0.4), steady, low, low - 0.08], axis=1)
    scores, decision = scored(values[None]), Decision(correction="none")
    found = judge(scores, [WIDE], decision)
    assert found.decision.ravel().tolist() == [UNDETERMINED, ROLE, UNDETERMINED, NOT]
    assert found.p.ravel()[0] == pytest.approx(0.038, abs=5e-4)  # of the test; it counts as 1 in q
    assert (found.p_not.ravel()[2:] < 0.001).all()
    assert found.q.ravel()[0] == found.q_not.ravel()[2] == 1.0
    (told,) = _remarks(scores, [WIDE], decision, found)
    assert "s0 (role: 0-0); s0 (not: 0-2)" in told
    quiet = assess(scores, [WIDE], decision, found, nots=False).remarks
    assert "s0 (role: 0-0). 3 more units" in next(remark for remark in quiet if "withheld" in remark)


def test_an_outlier_in_the_contrast_makes_no_role_either() -> None:
    main = np.random.default_rng(2).normal(0.5, 0.05, (60, 2))
    contrast = np.concatenate([spiky(60, 0.0206, 0.3), main[:, :1] - 0.3], axis=1)
    found = judge(scored(np.stack([main, contrast])), PAIR, Decision(correction="none"))
    assert found.decision[0].ravel().tolist() == [UNDETERMINED, ROLE]


def test_tests_of_medians_the_released_one_and_pooled_columns_keep_their_p() -> None:
    scores = scored(spiky(60, 0.1008, 0.4)[None])
    values = scores.values[0, :, 0].astype(np.float64)
    for test in ("wilcoxon", "sign", "t-published"):
        decision = Decision(test=test, correction="none")
        found = judge(scores, [WIDE], decision)
        bare = METHODS[test](values, describe(values), 0.1, 0, 0)
        assert found.q.ravel() == pytest.approx(bare.p)
        if test != "wilcoxon":  # 500 resamples would call scipy's test each
            assert _remarks(scores, [WIDE], decision, found) == []
    pooled = judge(scores, [Rule("s0", pooled=True)], Decision("t", "none"))
    assert pooled.q.item() == pooled.p.item() < 0.2


def test_rare_units_that_hold_the_mean_make_fewer_false_nots_than_the_bare_test() -> None:
    # mean exactly 0.1 = θ: one unit in 150 reaches 1.0, all others lie near 0.094
    rng, runs, units = np.random.default_rng(4), 400, 100
    rare = rng.random((units, runs)) < 1 / 150
    values = np.where(rare, 1.0, (0.1 - 1 / 150) / (1 - 1 / 150) + rng.normal(0, 0.002, (units, runs)))
    found = judge(scored(values[None]), [WIDE], Decision(correction="none"))
    assert (found.p_not <= 0.05).mean() > 0.4
    assert (found.decision == NOT).mean() < 0.05


def test_a_withheld_not_lends_its_small_p_to_no_other_head() -> None:
    # 60 heads of 0.07 that three units could turn, and 12 whose mean is θ: every "not" is a false one
    rng, false = np.random.default_rng(5), []
    rules = [Rule("s0", low=-1.0, high=1.0)]
    for _ in range(60):
        values = np.concatenate([rng.normal(0.07, 0.02, (60, 60)), rng.normal(0.1, 0.3, (60, 12))], 1)
        found = judge(scored(values[None]), rules, Decision("t", "fdr_bh"))
        assert (found.decision[..., :60] == UNDETERMINED).all()
        false.append((found.decision[..., 60:] == NOT).any())
    assert np.mean(false) <= 0.07  # 0.44 where the corrected p of withheld heads are small


def test_heads_whose_contrast_is_withheld_stay_in_the_family_of_explained_heads() -> None:
    # contrasts at their margin, scores far beyond θ: every "explained" is a false one
    rng, false = np.random.default_rng(6), []
    rules = [
        Rule("s0", contrast="s1", low=-1.0, high=1.0),
        Rule("s1", margin=0.02, role=False, low=-2.0, high=2.0),
    ]
    decision = Decision("t", "holm")
    for number in range(60):
        values = np.stack([rng.normal(0.5, 0.05, (80, 72)), rng.normal(0.02, 0.1, (80, 72))])
        scores = scored(values)
        found = judge(scores, rules, decision)
        false.append((found.decision[0] == EXPLAINED).any())
        if number == 0:
            p = assess(scores, rules, decision, found).precision.p_explained[0]
            assert not np.isnan(p).any()
            assert (p == 1.0).sum() > 36
    assert np.mean(false) <= 0.12  # 0.69 where withheld heads leave the family
