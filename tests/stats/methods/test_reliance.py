"""Labels that hinge on few units are withheld: of the spread of the sample, or not in the sample."""

import numpy as np
import pytest
from scipy.stats import kurtosis

from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.withheld import withheld, withheld_remarks
from headroles.stats.columns import Columns
from headroles.stats.engine import explained_p, judge
from headroles.stats.methods.names import METHODS
from headroles.stats.methods.reliance import largest_share, reliable_above, reliable_below
from headroles.stats.moments import describe, sample_from_sums
from headroles.stats.relabel import CentredPowers

ROLE, NOT, UNDETERMINED, EXPLAINED = 0, 1, 2, 4


def _scores(*columns: np.ndarray) -> Scores:
    """Return scores of one layer: each column (units, heads) is a sieve."""
    values = np.stack(columns)[:, :, None].astype(np.float32)
    keys = tuple(map(str, range(values.shape[1])))
    names = tuple(f"s{number}" for number in range(len(columns)))
    even = np.zeros(values.shape[:2])
    return Scores(names, keys, keys, np.full(len(keys), 9), even + 1, values, even)


def _spiky(units: int, level: float, outlier: float) -> np.ndarray:
    """Return scores that are nearly one value, but for one unit."""
    values = np.random.default_rng(3).normal(level, 0.001, (units, 1))
    values[5] = outlier
    return values


def test_carriers_are_units_over_scipys_kurtosis_with_and_without_weights() -> None:
    values = np.random.default_rng(0).gamma(0.3, size=(80, 5))
    values[3, 1] = np.nan
    sample = describe(values)
    assert sample.carriers is not None
    for head in range(5):
        known = values[~np.isnan(values[:, head]), head]
        assert sample.carriers[head] == pytest.approx(len(known) / kurtosis(known, fisher=False))
    weights = np.random.default_rng(1).multinomial(80, np.full(80, 1 / 80), 4).astype(float)
    weighted = sample_from_sums(*CentredPowers(values[:, [0]]).sums(weights)).carriers
    assert weighted is not None
    for row, found in zip(weights.astype(int), weighted[:, 0], strict=True):
        drawn = np.repeat(values[:, 0], row)
        assert found == pytest.approx(80 / kurtosis(drawn, fisher=False))


def test_the_largest_share_is_that_of_the_unit_farthest_from_the_mean() -> None:
    values = np.random.default_rng(0).normal(size=(30, 2))
    values[4, 0] = 50.0
    square = (values - values.mean(axis=0)) ** 2
    assert largest_share(values) == pytest.approx(square.max(axis=0) / square.sum(axis=0))
    assert largest_share(values)[0] > 0.9 > largest_share(values)[1]
    assert np.isnan(largest_share(np.ones((4, 1)))).all()


def test_a_role_whose_spread_one_unit_holds_needs_a_mean_that_three_more_units_leave_beyond() -> None:
    for level, may in ((0.112, False), (0.5, True)):  # three of 63 units at −0.1 take off 0.01 to 0.03
        sample = describe(_spiky(60, level, level + 0.4))
        assert reliable_above(sample, 0.11, -0.1).tolist() == [may]
    plain = describe(np.random.default_rng(0).normal(0.12, 0.01, (60, 1)))
    assert reliable_above(plain, 0.11, -0.1).tolist() == [True]


def test_without_bounds_a_role_whose_spread_one_unit_holds_must_lie_far_beyond() -> None:
    for level, may in ((0.112, False), (0.5, True)):
        sample = describe(_spiky(60, level, level + 0.4))
        assert reliable_above(sample, 0.11, float("nan")).tolist() == [may]


def test_a_not_must_stand_units_that_the_sample_lacks() -> None:
    for units, may in ((55, False), (400, True)):
        sample = describe(np.random.default_rng(0).normal(0.06, 0.01, (units, 1)))
        assert reliable_below(sample, 0.1, 1.0).tolist() == [may]
        assert reliable_below(sample, 0.1, float("nan")).tolist() == [True]


def test_an_outlier_makes_no_role_and_its_head_is_named() -> None:
    steady = np.random.default_rng(1).normal(0.2, 0.05, (60, 1))
    scores = _scores(np.concatenate([_spiky(60, 0.1008, 0.4), steady], axis=1))
    rules = [Rule("s0", low=-0.1, high=1.0)]
    bare = METHODS["t"](_spiky(60, 0.1008, 0.4), describe(_spiky(60, 0.1008, 0.4)), 0.1, 0, 0)
    decision = Decision(test="t-skew", correction="none")
    findings = judge(scores, rules, decision)
    assert bare.statistic[0] > 1
    assert findings.decision.ravel().tolist() == [UNDETERMINED, ROLE]
    assert findings.p.ravel()[0] == pytest.approx(0.038, abs=5e-4)  # of the test; it counts as 1 in q
    assert findings.q.ravel()[0] == 1.0
    (told,) = withheld_remarks(Columns(scores, rules), findings, decision)
    assert "s0 (role: 0-0)" in told


def test_a_not_that_rare_units_could_turn_is_withheld_and_named() -> None:
    values = np.random.default_rng(0).normal(0.08, 0.01, (60, 1))
    scores, rules = _scores(np.concatenate([values, values - 0.08], axis=1)), [Rule("s0", low=-0.1, high=1.0)]
    findings = judge(scores, rules, Decision())
    assert findings.decision.ravel().tolist() == [UNDETERMINED, NOT]
    assert (findings.p_not.ravel() < 0.001).all()
    assert findings.q_not.ravel()[0] == 1.0
    role, other = withheld(Columns(scores, rules), findings, Decision())
    assert (role.sum(), other.tolist()) == (0, [[True, False]])
    assert "s0 (not: 0-0)" in withheld_remarks(Columns(scores, rules), findings, Decision())[0]


def test_an_outlier_in_the_contrast_makes_no_role_either() -> None:
    main = np.random.default_rng(2).normal(0.5, 0.05, (60, 2))
    contrast = np.concatenate([_spiky(60, 0.0206, 0.3), main[:, :1] - 0.3], axis=1)
    rules = [
        Rule("s0", contrast="s1", low=-0.1, high=1.0),
        Rule("s1", margin=0.02, role=False, low=-1.0, high=1.0),
    ]
    findings = judge(_scores(main, contrast), rules, Decision(correction="none"))
    assert findings.decision[0].ravel().tolist() == [UNDETERMINED, ROLE]


@pytest.mark.parametrize("test", ["wilcoxon", "sign", "t-published"])
def test_tests_of_medians_and_the_released_one_keep_their_p(test: str) -> None:
    scores, rules = _scores(_spiky(60, 0.1008, 0.4)), [Rule("s0", low=-0.1, high=1.0)]
    findings = judge(scores, rules, Decision(test=test, correction="none"))
    sample = describe(scores.values[0, :, 0].astype(np.float64))
    bare = METHODS[test](scores.values[0, :, 0].astype(np.float64), sample, 0.1, 0, 0)
    assert findings.p.ravel() == pytest.approx(bare.p)
    assert withheld_remarks(Columns(scores, rules), findings, Decision(test=test, correction="none")) == []


def test_rare_units_that_hold_the_mean_make_fewer_false_nots_than_the_bare_test() -> None:
    # mean exactly 0.1 = θ: one unit in 150 reaches 1.0, all others lie near 0.094
    rng, runs, units = np.random.default_rng(4), 400, 100
    rare = rng.random((units, runs)) < 1 / 150
    values = np.where(rare, 1.0, (0.1 - 1 / 150) / (1 - 1 / 150) + rng.normal(0, 0.002, (units, runs)))
    rules = [Rule("s0", low=-0.1, high=1.0)]
    findings = judge(_scores(values), rules, Decision(correction="none"))
    bare = (findings.p_not <= 0.05).mean()
    assert bare > 0.4
    assert (findings.decision == NOT).mean() < 0.05


def test_a_withheld_not_lends_its_small_p_to_no_other_head() -> None:
    # 60 heads of 0.07 that three units could turn, and 12 whose mean is θ: every "not" is a false one
    rng, false = np.random.default_rng(5), []
    for _ in range(100):
        scores = _scores(
            np.concatenate([rng.normal(0.07, 0.02, (60, 60)), rng.normal(0.1, 0.3, (60, 12))], 1)
        )
        findings = judge(scores, [Rule("s0", low=-1.0, high=1.0)], Decision("t", "fdr_bh"))
        assert (findings.decision[..., :60] == UNDETERMINED).all()
        false.append((findings.decision[..., 60:] == NOT).any())
    assert np.mean(false) <= 0.05  # 0.44 where the corrected p of withheld heads are small


def test_heads_whose_contrast_is_withheld_stay_in_the_family_of_explained_heads() -> None:
    # contrasts at their margin, scores far beyond θ: every "explained" is a false one
    rng, false = np.random.default_rng(6), []
    rules = [
        Rule("s0", contrast="s1", low=-1.0, high=1.0),
        Rule("s1", margin=0.02, role=False, low=-2.0, high=2.0),
    ]
    decision = Decision("t", "holm")
    for run in range(100):
        scores = _scores(rng.normal(0.5, 0.05, (80, 72)), rng.normal(0.02, 0.1, (80, 72)))
        findings = judge(scores, rules, decision)
        false.append((findings.decision[0] == EXPLAINED).any())
        if run == 0:
            p = explained_p(Columns(scores, rules), findings, decision)[0]
            withheld_too = (p == 1.0).sum()
            assert not np.isnan(p).any()
            assert withheld_too > 36
    assert np.mean(false) <= 0.11  # 0.69 where withheld heads leave the family
