"""Power, detectable effects, numbers of units and plans agree with libraries, each other and corrections."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from headroles import stats
from headroles.planning import study
from headroles.records import Decision, Rule
from headroles.stats import CORRECTIONS, assumed_cut, detectable_effect, judge, power_of, required_units
from tests.support import table
from tests.support.reference import draws
from tests.support.scores import scored

quick = settings(max_examples=draws(30))
cuts = st.sampled_from([0.2, 0.05, 0.01, 0.05 / 144, 0.05 / 1440])
powers = st.sampled_from([0.5, 0.8, 0.9, 0.99])
ALL = (*CORRECTIONS, "maxT")


# Power.


def test_the_power_is_that_of_scipys_noncentral_t_up_to_its_edges() -> None:
    usual = [(effect, n) for effect in (-0.1, 0.05, 0.3, 1.2, 6.0) for n in (2, 9, 128, 20_000)]
    for effect, n in (*usual, (-3.0, 58), (-0.5, 1972), (-5.26, 5), (-0.0029, 721_483)):
        for cut in (0.2, 0.05 / 144, 1e-9):
            theirs = reference.nct.sf(reference.t.isf(cut, n - 1), n - 1, effect * n**0.5)
            assert float(power_of(effect, n, cut)) == pytest.approx(theirs, rel=1e-6, abs=1e-13)
    for effect in (1e3, 1e300, float("inf")):
        assert power_of(effect, np.array([10, 1000]), 0.05).tolist() == [1.0, 1.0]
        assert power_of(-effect, np.array([10, 1000]), 0.05).tolist() == [0.0, 0.0]
        assert power_of(effect, 10, 0.7) == 1.0
    assert np.isnan(power_of(0.5, np.array([0, 1]), 0.05)).all()
    assert np.isnan(power_of(np.array([np.nan]), 20, np.array([0.05]))).all()
    assert np.isnan(power_of(np.array([-0.5, 0.5]), 20, float("nan"))).all()
    together = power_of(np.array([[0.1], [0.4]]), np.array([20, 100, 500]), 0.05 / 144)
    assert together.shape == (2, 3)
    assert together[1, 2] == pytest.approx(float(power_of(0.4, 500, 0.05 / 144)), abs=1e-14)


# Numbers of units, and detectable effects.


def test_the_numbers_of_units_are_those_of_the_field_notes_and_effects_have_the_shape_of_counts() -> None:
    for effect, *wanted in ((0.5, 27, 78, 101), (0.3, 71, 205, 267), (0.1, 620, 1798, 2331)):
        assert [required_units(effect, 0.05 / tests) for tests in (1, 144, 1440)] == wanted
    count = np.array([[1, 20, 20], [100, 0, 20]])
    ours = detectable_effect(count, 0.05 / 144)
    assert np.isnan(ours).tolist() == [[True, False, False], [False, True, False]]
    assert ours[0, 1] == ours[0, 2] == ours[1, 2] == detectable_effect(20, 0.05 / 144)
    each = detectable_effect(count, np.where(count == 100, 0.05, np.nan))
    assert np.isnan(each).sum() == 5
    assert each[1, 0] == detectable_effect(100, 0.05)
    assert detectable_effect(np.empty(0, dtype=np.int64), 0.05).shape == (0,)
    assert detectable_effect(30, 0.9, 0.8) == 0.0
    for cut in (0.05, 1e-5, 1e-9):  # of two units, which pingouin cannot solve
        assert float(power_of(float(detectable_effect(2, cut)), 2, cut)) == pytest.approx(0.8, abs=1e-7)


@quick
@given(st.floats(0.05, 3), st.integers(20, 2000), cuts, powers, st.sampled_from([0.0, 5.0]))
def test_the_number_of_units_is_the_smallest_that_suffices_and_the_detectable_effect_has_the_power(
    effect: float, count: int, cut: float, power: float, lowest: float
) -> None:
    import pingouin

    n = required_units(effect, cut, power, lowest)
    assert power_of(effect, n, cut, lowest) >= power
    assert float(detectable_effect(n, cut, power, lowest)) <= effect + 1e-9
    if n > 2:
        assert power_of(effect, n - 1, cut, lowest) < power
        assert not float(detectable_effect(n - 1, cut, power, lowest)) <= effect - 1e-9
    least = float(detectable_effect(count, cut, power, lowest))
    assert float(power_of(least, count, cut, lowest)) == pytest.approx(power, abs=1e-10)
    theirs = pingouin.power_ttest(None, count, power, cut, contrast="one-sample", alternative="greater")
    assert lowest or np.isnan(theirs) or least == pytest.approx(theirs, rel=1e-8, abs=1e-10)


def test_planned_units_find_a_head_whose_role_must_hold_with_missing_units_too() -> None:
    rng, decision = np.random.default_rng(5), Decision("t", "bonferroni")
    for effect, units in ((0.5, 100), (1.0, 50)):
        assert study(effect, 144, correction="bonferroni").examples == units  # 78 and 24 for the test alone
        values = 0.1 + 0.1 * rng.normal(effect, 1, (15, units, 144))
        rule = Rule("s0", margin=0.1, low=-0.4, high=2.0)
        found = np.mean([judge(scored(run[None]), [rule], decision).decision == 0 for run in values])
        power = float(power_of(effect, units, 0.05 / 144, 5.0))
        assert 0.8 <= power < 0.84
        assert found == pytest.approx(power, abs=0.03)


# The level that a correction leaves one head.


@pytest.mark.parametrize("correction", ALL)
def test_heads_survive_up_to_the_assumed_cut_and_not_beyond(correction: str) -> None:
    for tests in (1, 12, 160):
        for share in (None, 0.001, 0.1, 0.5, 1.0):
            cut = assumed_cut(correction, 0.05, tests, share)
            assert 0 < cut <= 0.05 * (1 + 1e-12)
            together = max(1, round(tests * (share or 0.0))) if correction.startswith("fdr") else 1
            whole = together / tests == max(share or 0.0, 1 / tests) or share in (None, 0.001)
            if correction == "maxT" or not whole:
                continue
            p = np.ones(tests)
            p[:together] = cut * (1 - 1e-9)
            assert (stats.adjust(p, correction, 0.05)[:together] <= 0.05).all(), (tests, share)
            p[:together] = cut * (1 + 1e-9)
            if correction != "fdr_tsbh":  # which finds at least what its cut says
                assert (stats.adjust(p, correction, 0.05)[:together] > 0.05).all(), (tests, share)
    assert assumed_cut(correction, 0.05, 1) == pytest.approx(0.05, rel=1e-12)
    assert assumed_cut("maxT", 0.05, 12) == assumed_cut("holm", 0.05, 12) == 0.05 / 12
    assert stats.harmonic(3) == pytest.approx(1 + 1 / 2 + 1 / 3)
    for parts in (1, 2, 3):  # of independent tests that have the power together
        assert stats.power_of_part(0.8, parts) ** parts == pytest.approx(0.8)


# Plans.


WORDS = """
    # correction | family | share | formula of the cut
    none       | sieve |       | alpha
    bonferroni | run   |       | alpha / 1,728 tests
    maxT       | layer |       | alpha / 12 heads of a layer
    sidak      | sieve |       | 1 − (1 − alpha)^(1 / 144 heads)
    fdr_bh     | sieve | 0.1   | alpha × expected share 0.1
    fdr_bh     | sieve | 0.001 | alpha / 144 heads
    fdr_by     | sieve | 0.1   | alpha × expected share 0.1 / harmonic sum 5.55
    fdr_by     | sieve |       | alpha / 144 heads / harmonic sum 5.55
"""


def test_the_cut_is_stated_as_a_formula_and_a_share_asks_for_fewer_examples() -> None:
    for correction, family, share, words in table(WORDS):
        plan = study(
            0.3, 144, 12, correction=correction, family=family, share=float(share) if share else None,
            layer_count=12 if family == "layer" else None,
        )  # fmt: skip
        assert plan.case.words == words
    guessed = study(0.3, 144, share=0.1)
    assert (study(0.3, 144).examples, guessed.examples, guessed.orientation) == (205, 134, None)
    assert study(0.3, 144, 10, family="run").examples == 267
    assert study(0.3, 1, correction="holm").case.words == "alpha / 1 head"
