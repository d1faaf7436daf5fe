"""Explained, absent, prevalence and strong roles: held against other libraries, and their error rates."""

import numpy as np
import pytest
from jaxtyping import Float
from scipy import stats as reference
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from headroles.records.example import Scores
from headroles.records.findings import Findings, absent_heads, stronger_roles
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.assess import assess
from headroles.stats.assessment.extent import ABSENT, wilson_interval
from headroles.stats.correction import TIE, significant
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.stats.engine import judge

ROLE, NOT, UNDETERMINED, EXPLAINED = 0, 1, 2, 4
RULES = (
    Rule("s", contrast="s:matched", stronger="s:class"),
    Rule("s:matched", margin=0.02, role=False),
    Rule("s:class", margin=0.02, role=False),
)


def _scores(values: Float[np.ndarray, "sieves units heads"], null: float = 0.0) -> Scores:
    """Scores of one layer, a unit per example; sieves are named as the first of RULES."""
    sieves, units, _ = values.shape
    names = tuple(f"x{unit}" for unit in range(units))
    return Scores(
        sieves=tuple(rule.sieve for rule in RULES[:sieves]),
        examples=names,
        units=names,
        tokens=np.full(units, 9),
        cells=np.full((sieves, units), 5.0),
        values=values[:, :, None].astype(np.float32),
        null=np.full((sieves, units), null),
    )


def _draw(seed: int, means: list[list[float]], units: int = 80, sd: float = 0.1) -> Scores:
    """Normal scores with a mean per sieve and head."""
    rng = np.random.default_rng(seed)
    return _scores(np.array(means)[:, None] + rng.normal(0, sd, (len(means), units, len(means[0]))))


def test_p_of_explained_is_the_larger_of_two_tests_of_scipy() -> None:
    scores = _draw(0, [[0.2, 0.12, 0.05], [-0.1, 0.01, 0.1]])
    rules, decision = [Rule("s", contrast="s:matched"), RULES[1]], Decision("t", "holm")
    found = judge(scores, rules, decision)
    precision = assess(scores, rules, decision, found).precision
    score, contrast = scores.values.astype(np.float64)[:, :, 0]
    wanted = np.maximum(
        reference.ttest_1samp(score, 0.1, alternative="greater").pvalue,
        reference.ttest_1samp(contrast, 0.02, alternative="less").pvalue,
    )
    np.testing.assert_allclose(precision.p_explained[0, 0], wanted, rtol=1e-7)
    np.testing.assert_allclose(
        precision.q_explained[0, 0], multipletests(wanted, method="holm")[1], rtol=1e-7
    )
    assert np.isnan(precision.p_explained[1]).all()
    assert found.decision[0, 0, 0] == EXPLAINED
    np.testing.assert_array_equal(found.decision[0, 0] == EXPLAINED, precision.q_explained[0, 0] <= 0.05)


@pytest.mark.parametrize("test", ["t-skew", "t", "wilcoxon", "sign", "bootstrap-t"])
@pytest.mark.parametrize("correction", ["fdr_bh", "maxT"])
def test_decisions_are_those_of_the_q_that_are_written(test: str, correction: str) -> None:
    if correction == "maxT" and test in ("wilcoxon", "sign"):
        pytest.skip("maxT resamples means")
    run = (
        _draw(9, [[0.1, 0.15, 0.2, 0.3], [-0.1, -0.05, 0.1, -0.1]]),
        [Rule("s", contrast="s:matched"), RULES[1]],
    )
    decision = Decision(test, correction, resamples=499)
    found = judge(*run, decision)
    precision = assess(*run, decision, found).precision
    explained = significant(precision.q_explained, 0.05, precision.p_explained)
    assert explained.any()
    np.testing.assert_array_equal(found.decision == EXPLAINED, explained)


def test_explained_is_never_said_of_fewer_than_fifty_units() -> None:
    few, enough = (_draw(1, [[0.5], [-0.5]], units=units) for units in (ENOUGH_FOR_NOT - 1, ENOUGH_FOR_NOT))
    rules = [Rule("s", contrast="s:matched"), RULES[1]]
    assert judge(few, rules, Decision()).decision[0].item() == UNDETERMINED
    assert judge(enough, rules, Decision()).decision[0].item() == EXPLAINED


def test_absent_is_statsmodels_two_one_sided_tests() -> None:
    scores = _draw(2, [[0.0, 0.015, 0.05, -0.04, 0.3]], units=90, sd=0.03)
    decision = Decision("t", "fdr_bh")
    found = judge(scores, [Rule("s")], decision)
    precision = assess(scores, [Rule("s")], decision, found).precision
    values = scores.values.astype(np.float64)[0, :, 0]
    wanted = DescrStatsW(values).ttost_mean(-ABSENT, ABSENT)[0]
    np.testing.assert_allclose(precision.p_absent[0, 0], wanted, rtol=1e-7)
    q = multipletests(wanted, method="fdr_bh")[1]
    np.testing.assert_allclose(precision.q_absent[0, 0], q, rtol=1e-7)
    absent = absent_heads(found, precision, decision)[0, 0]
    assert absent.tolist() == [True, False, False, False, False]
    assert found.decision[0, 0].tolist() == [NOT, NOT, NOT, NOT, ROLE]


@pytest.mark.parametrize(
    ("rule", "null", "units"),
    [(Rule("s", null=1.0), 1.0, 80), (Rule("s", pooled=True), 0.0, 80), (Rule("s"), 0.0, 49)],
    ids=["a ratio", "a probe", "few units"],
)
def test_absence_is_not_tested(rule: Rule, null: float, units: int) -> None:
    scores = _draw(3, [[null, null]], units=units)
    scores = _scores(scores.values[:, :, 0], null)
    found = judge(scores, [rule], Decision())
    precision = assess(scores, [rule], Decision(), found).precision
    assert np.isnan(precision.p_absent).all()
    assert np.isnan(precision.q_absent).all()


def test_prevalence_is_the_share_of_units_beyond_theta_with_wilsons_interval() -> None:
    scores = _draw(4, [[0.1, 0.0, 0.3]], units=70)
    values = scores.values.copy()
    values[0, :20, 0, 1] = values[0, :, 0, 2] = np.nan
    scores = _scores(values[:, :, 0])
    found = judge(scores, [Rule("s")], Decision())
    precision = assess(scores, [Rule("s")], Decision(), found).precision
    for head, units in ((0, values[0, :, 0, 0]), (1, values[0, 20:, 0, 1])):
        beyond = int((units.astype(np.float64) > 0.1).sum())
        low, high = proportion_confint(beyond, len(units), method="wilson")
        shown = (precision.prevalence, precision.prevalence_low, precision.prevalence_high)
        assert [part[0, 0, head] for part in shown] == pytest.approx([beyond / len(units), low, high])
    assert np.isnan(precision.prevalence[0, 0, 2])
    assert np.isnan(precision.prevalence_low[0, 0, 2])


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_wilsons_interval_is_that_of_statsmodels(alpha: float) -> None:
    units = np.array([1.0, 2, 7, 50, 160, 1e6, np.nan])
    for share in (0.0, 0.1, 0.5, 1.0):
        found = np.floor(np.nan_to_num(units) * share).astype(np.int64)
        theirs = proportion_confint(found, units, alpha=alpha, method="wilson")
        np.testing.assert_allclose(wilson_interval(found, units, alpha), theirs, rtol=1e-12, atol=1e-15)


def test_a_strong_role_lies_beyond_all_three_margins() -> None:
    scores = _draw(5, [[0.3, 0.3, 0.3, 0.0], [0.1, 0.1, -0.1, 0.1], [0.1, 0.0, 0.1, 0.1]])
    alone = judge(scores, [Rule("s"), *RULES[1:]], Decision())
    found = judge(scores, RULES, Decision())
    np.testing.assert_array_equal(found.p[2], np.maximum.reduce(alone.p))
    np.testing.assert_array_equal(found.p[1], alone.p[1])
    np.testing.assert_allclose(found.q[2].ravel(), multipletests(found.p[2].ravel(), method="fdr_bh")[1])
    assert found.decision[0, 0].tolist() == [ROLE, ROLE, EXPLAINED, NOT]
    assert found.decision[2].tolist() == [[-1] * 4]
    assert stronger_roles(found, Decision()).tolist() == [[[True, False, False, False]]]


def test_the_second_contrast_decides_nothing_about_the_role() -> None:
    scores = _draw(6, [[0.3, 0.15], [0.1, 0.03], [-0.2, 0.02]])
    with_it, without = (
        judge(scores, [rule, *RULES[1:]], Decision()) for rule in (RULES[0], Rule("s", contrast="s:matched"))
    )
    np.testing.assert_array_equal(with_it.decision, without.decision)
    np.testing.assert_array_equal(with_it.q[:2], without.q[:2])


def test_a_role_whose_second_contrast_was_not_scored_is_no_strong_one() -> None:
    found = judge(_draw(7, [[0.5], [0.5]]), RULES[:2], Decision())
    assert found.decision[0].item() == ROLE
    assert not stronger_roles(found, Decision()).any()


def test_strong_roles_reach_alpha_as_every_decision_does() -> None:
    found = judge(_draw(8, [[0.3] * 6, [0.1] * 6, [0.1] * 6]), RULES, Decision())
    q = np.array([0.05, 0.05 * (1 + TIE / 2), 0.0500001, 0.04, np.nan, 0.01]).reshape(1, 6)
    p = np.array([0.05, 0.05, 0.04, 0.06, 0.01, np.nan]).reshape(1, 6)
    at = Findings(
        **{name: getattr(found, name) for name in Findings.__dataclass_fields__ if name not in ("p", "q")},
        p=np.stack([found.p[0], found.p[1], p]),
        q=np.stack([found.q[0], found.q[1], q]),
    )
    assert (at.decision[0] == ROLE).all()
    np.testing.assert_array_equal(stronger_roles(at, Decision())[0], significant(q, 0.05, p))


# Error rates: 1,000 families of 24 heads each, t-skew and holm, normal scores and skewed ones.


def _family_errors(
    means: list[list[float]], code: int, shape: str, runs: int = 1000, units: int = 80
) -> float:
    """Share of families of 24 heads with at least one head of a decision."""
    rng = np.random.default_rng(11)
    rules = [Rule("s", contrast="s:matched"), RULES[1]][: len(means)]
    errors = 0
    for _ in range(runs):
        size = (len(means), units, 24)
        noise = rng.normal(0, 0.1, size) if shape == "normal" else rng.gamma(2.0, 0.07, size) - 0.14
        scores = _scores(np.array(means)[:, None] + noise)
        errors += bool((judge(scores, rules, Decision("t-skew", "holm")).decision[0] == code).any())
    return errors / runs


SLACK = 3 * np.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["normal", "gamma"])
@pytest.mark.parametrize(
    ("score", "contrast"),
    [(0.1, -0.2), (0.4, 0.02), (0.1, 0.02)],
    ids=["score at theta", "contrast at its margin", "both at the edge"],
)
def test_explained_is_false_in_at_most_alpha_of_families(score: float, contrast: float, shape: str) -> None:
    rate = _family_errors([[score] * 24, [contrast] * 24], EXPLAINED, shape)
    print(f"explained, {shape}, score {score}, contrast {contrast}: {rate:.3f}")
    assert rate <= 0.05 + SLACK + 0.03 * (shape == "gamma")


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["normal", "gamma"])
@pytest.mark.parametrize("mean", [ABSENT, -ABSENT])
def test_absent_is_false_in_at_most_alpha_of_families(mean: float, shape: str) -> None:
    rng, false, runs = np.random.default_rng(12), 0, 1000
    from headroles.stats.assessment.extent import absent_p
    from headroles.stats.columns import Columns
    from headroles.stats.families import adjust_own_families, family_members

    families, decision = family_members([Rule("s")], 1, 24, "sieve"), Decision("t-skew", "holm")
    for _ in range(runs):
        noise = (
            rng.normal(0, 0.03, (1, 80, 24))
            if shape == "normal"
            else rng.gamma(2.0, 0.02, (1, 80, 24)) - 0.04
        )
        p = absent_p(Columns(_scores(mean + noise), [Rule("s")]), decision)
        false += bool((adjust_own_families(p, families, decision) <= 0.05).any())
    print(f"absent, {shape}, mean {mean}: {false / runs:.3f}")
    assert false / runs <= 0.05 + SLACK + 0.03 * (shape == "gamma")


@pytest.mark.slow
def test_the_share_of_false_explained_heads_is_at_most_alpha_under_fdr_bh() -> None:
    rng, shares = np.random.default_rng(13), []
    truly = np.arange(24) < 8
    means = np.array([np.where(truly, 0.3, 0.1), np.where(truly, -0.1, -0.1)])
    for _ in range(1000):
        scores = _scores(means[:, None] + rng.normal(0, 0.1, (2, 80, 24)))
        said = (
            judge(scores, [Rule("s", contrast="s:matched"), RULES[1]], Decision()).decision[0, 0] == EXPLAINED
        )
        assert said[truly].all()
        shares.append((said & ~truly).sum() / said.sum())
    print(f"explained, fdr_bh, a third true: {np.mean(shares):.3f}")
    assert np.mean(shares) <= 0.05


@pytest.mark.slow
def test_looking_at_several_sizes_multiplies_the_error() -> None:
    values = np.random.default_rng(14).normal(0.1, 0.1, (1500, 4000))
    looks = [50, 100, 200, 400, 800, 1500]
    t = np.stack([reference.ttest_1samp(values[:size], 0.1).statistic for size in looks])
    above = np.stack([reference.t.sf(row, size - 1) for row, size in zip(t, looks, strict=True)])
    sides = {name: float((p.min(axis=0) <= 0.05).mean()) for name, p in (("role", above), ("not", 1 - above))}
    print(f"six looks: {sides}")
    assert all(0.15 < error < 0.21 for error in sides.values())
