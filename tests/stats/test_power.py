"""Power, detectable effects and numbers of units agree with pingouin, each other and simulation."""

import numpy as np
import pingouin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from headroles.errors import BadInput, UnknownName
from headroles.stats import power as power_module
from headroles.stats.correction import adjust
from headroles.stats.decision import ALL_CORRECTIONS
from headroles.stats.methods.closed_form import student, student_skew
from headroles.stats.moments import describe
from headroles.stats.power import (
    ASSUMED,
    FAR,
    assumed_cut,
    detectable_effect,
    harmonic,
    power_of,
    power_of_part,
    required_units,
)
from tests.support.reference import draws

quick = settings(max_examples=draws(40))
effects = st.floats(0.05, 3)
cuts = st.sampled_from([0.2, 0.05, 0.01, 0.05 / 144, 0.05 / 1440])
powers = st.sampled_from([0.5, 0.8, 0.9, 0.99])


@quick
@given(st.floats(-1, 4), st.integers(2, 3000), cuts)
def test_the_power_is_pingouins(effect: float, n: int, cut: float) -> None:
    theirs = pingouin.power_ttest(effect, n, None, cut, contrast="one-sample", alternative="greater")
    assert float(power_of(effect, n, cut)) == pytest.approx(theirs, rel=1e-9, abs=1e-10)


@quick
@given(st.floats(-5, 20), st.integers(2, 100_000), cuts)
def test_the_power_is_that_of_scipys_noncentral_t(effect: float, n: int, cut: float) -> None:
    shift = effect * n**0.5
    theirs = reference.nct.sf(reference.t.isf(cut, n - 1), n - 1, shift)
    assert float(power_of(effect, n, cut)) == pytest.approx(theirs, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize(("effect", "n"), [(-3.0, 58), (-0.5, 1972), (-5.26, 5), (-0.0029, 721_483)])
@pytest.mark.parametrize("cut", [0.2, 0.05 / 144, 1e-9])
def test_an_effect_below_the_threshold_is_all_but_never_found(effect: float, n: int, cut: float) -> None:
    theirs = reference.nct.sf(reference.t.isf(cut, n - 1), n - 1, effect * n**0.5)
    assert float(power_of(effect, n, cut)) == pytest.approx(theirs, rel=1e-6, abs=1e-15)
    assert np.isnan(power_of(effect, n, float("nan")))


def test_power_of_many_heads_is_that_of_each() -> None:
    effect, count = np.array([[0.1], [0.4]]), np.array([20, 100, 500])
    together = power_of(effect, count, 0.05 / 144)
    assert together.shape == (2, 3)
    for place in np.ndindex(2, 3):
        alone = power_of(float(effect[place[0], 0]), int(count[place[1]]), 0.05 / 144)
        assert together[place] == pytest.approx(float(alone), abs=1e-14)


def test_power_without_an_effect_is_the_cut() -> None:
    levels = np.array([0.5, 0.05, 1e-4, 1e-8])
    np.testing.assert_allclose(power_of(0.0, 40, levels), levels, rtol=1e-9)


def test_power_passes_smoothly_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    effect = np.array([1.5, 2.5, 2.8845, 4.0]) * 1e3  # the last 0 to 1 of a test of two units at 1e-4
    exact = power_of(effect, 2, 1e-4)
    monkeypatch.setattr(power_module, "FAR", 1.0)
    np.testing.assert_allclose(power_of(effect, 2, 1e-4), exact, atol=1e-7)
    assert exact[0] < 0.5 < 0.8 < exact[3]


@pytest.mark.parametrize("effect", [1e3, 1e6, 1e300, float("inf")])
def test_huge_effects_are_found_for_sure_and_opposite_ones_never(effect: float) -> None:
    assert power_of(effect, np.array([10, 1000]), 0.05).tolist() == [1.0, 1.0]
    assert power_of(-effect, np.array([10, 1000]), 0.05).tolist() == [0.0, 0.0]
    assert power_of(effect, 10, 0.7) == 1.0
    assert FAR > 1e4


def test_power_is_unknown_without_two_units_or_a_number() -> None:
    assert np.isnan(power_of(0.5, np.array([0, 1]), 0.05)).all()
    assert np.isnan(power_of(np.array([np.nan]), 20, 0.05)).all()
    assert np.isnan(power_of(0.5, 20, np.array([np.nan]))).all()


@pytest.mark.parametrize(("effect", "n", "cut"), [(0.5, 27, 0.05), (0.3, 205, 0.05 / 144), (1.0, 12, 0.01)])
def test_so_many_samples_of_normal_scores_are_found(effect: float, n: int, cut: float) -> None:
    values = np.random.default_rng(n).normal(0.1 + effect, 1, size=(n, 10_000))
    sample = describe(values)
    expected = float(power_of(effect, n, cut))
    assert (student(sample, 0.1).p <= cut).mean() == pytest.approx(expected, abs=0.015)
    lost = expected - (student_skew(sample, 0.1).p <= cut).mean()
    assert abs(lost) < 0.015 if n > 20 else 0 < lost < 0.1


@pytest.mark.parametrize(("sign", "found"), [(1, 0.97), (-1, 0.50)])
def test_the_corrected_test_finds_skewed_scores_as_often_as_the_docstring_says(
    sign: int, found: float
) -> None:
    rng = np.random.default_rng(0)
    values = 0.5 + sign * (rng.gamma(2.0, size=(78, 10_000)) - 2) / np.sqrt(2)
    assert float(power_of(0.5, 78, 0.05 / 144)) == pytest.approx(0.80, abs=0.01)
    rejected = student_skew(describe(values), 0.0).p <= 0.05 / 144
    assert rejected.mean() == pytest.approx(found, abs=0.02)


@pytest.mark.parametrize(
    ("correlation", "planned", "alone"), [(0.0, 0.8, 0.64), (0.5, 0.82, 0.69), (0.8, 0.85, 0.73)]
)
def test_two_parts_of_the_planned_power_are_found_together_as_often_as_wanted(
    correlation: float, planned: float, alone: float
) -> None:
    rng, cut, runs = np.random.default_rng(int(10 * correlation)), 0.05 / 72, 6_000
    for power, expected in ((power_of_part(0.8), planned), (0.8, alone)):
        n = required_units(0.5, cut, power)
        shared = rng.normal(size=(n, runs))
        own = rng.normal(size=(2, n, runs))
        parts = 0.5 + np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
        found = [student(describe(part), 0.0).p <= cut for part in parts]
        assert (found[0] & found[1]).mean() == pytest.approx(expected, abs=0.025)


def test_parts_of_independent_tests_have_the_wanted_power_together() -> None:
    for parts in (1, 2, 3):
        assert power_of_part(0.8, parts) ** parts == pytest.approx(0.8)
    with pytest.raises(BadInput, match="parts must be a whole number of at least 1, but got 0"):
        power_of_part(0.8, 0)
    with pytest.raises(BadInput, match="power"):
        power_of_part(1.0)


MEASURED = {
    0.5: (27, 78, 101),
    0.3: (71, 205, 267),
    0.2: (156, 454, 589),
    0.1: (620, 1798, 2331),
}


@pytest.mark.parametrize("effect", MEASURED)
def test_the_numbers_of_units_are_those_of_the_field_notes(effect: float) -> None:
    assert tuple(required_units(effect, 0.05 / tests) for tests in (1, 144, 1440)) == MEASURED[effect]


@quick
@given(effects, cuts, powers)
def test_the_number_of_units_is_the_smallest_that_suffices(effect: float, cut: float, power: float) -> None:
    n = required_units(effect, cut, power)
    assert power_of(effect, n, cut) >= power
    assert n == 2 or power_of(effect, n - 1, cut) < power


@quick
@given(st.floats(0.05, 1), cuts, powers)
def test_the_number_of_units_is_pingouins(effect: float, cut: float, power: float) -> None:
    n = required_units(effect, cut, power)
    theirs = pingouin.power_ttest(effect, None, power, cut, contrast="one-sample", alternative="greater")
    assert np.isnan(theirs) or n == max(2, int(np.ceil(theirs - 1e-9)))


@quick
@given(st.integers(3, 2000), cuts, powers)
def test_the_detectable_effect_is_pingouins_and_has_the_power(n: int, cut: float, power: float) -> None:
    ours = float(detectable_effect(n, cut, power))
    assert float(power_of(ours, n, cut)) == pytest.approx(power, abs=1e-10)
    theirs = pingouin.power_ttest(None, n, power, cut, contrast="one-sample", alternative="greater")
    assert np.isnan(theirs) or ours == pytest.approx(theirs, rel=1e-8, abs=1e-10)


@quick
@given(effects, cuts, powers)
def test_detectable_and_needed_are_inverses(effect: float, cut: float, power: float) -> None:
    n = required_units(effect, cut, power)
    assert float(detectable_effect(n, cut, power)) <= effect + 1e-9
    if n > 2:
        assert float(detectable_effect(n - 1, cut, power)) > effect - 1e-9


def test_detectable_effects_keep_the_shape_of_their_counts() -> None:
    count = np.array([[1, 20, 20], [100, 0, 20]])
    ours = detectable_effect(count, 0.05 / 144)
    assert np.isnan(ours[[0, 1], [0, 1]]).all()
    assert ours[0, 1] == ours[0, 2] == ours[1, 2] == detectable_effect(20, 0.05 / 144)
    each = detectable_effect(count, np.where(count == 100, 0.05, np.nan))
    assert np.isnan(each).sum() == 5
    assert each[1, 0] == detectable_effect(100, 0.05)
    assert detectable_effect(np.empty(0, dtype=np.int64), 0.05).shape == (0,)
    assert detectable_effect(30, 0.9, 0.8) == 0.0


@pytest.mark.parametrize("cut", [0.05, 1e-5, 1e-9])
def test_two_units_detect_what_pingouin_cannot_solve(cut: float) -> None:
    effect = float(detectable_effect(2, cut))
    assert float(power_of(effect, 2, cut)) == pytest.approx(0.8, abs=1e-7)


def _survives(correction: str, p: np.ndarray) -> np.ndarray:
    found: np.ndarray = adjust(p, correction, 0.05) <= 0.05
    return found


@pytest.mark.parametrize("correction", ["none", "bonferroni", "sidak", "holm", "holm-sidak"])
@pytest.mark.parametrize("tests", [1, 12, 144])
def test_a_single_head_survives_up_to_the_assumed_cut_and_not_beyond(correction: str, tests: int) -> None:
    p = np.ones(tests)
    cut = assumed_cut(correction, 0.05, tests)
    for factor, survives in ((1 - 1e-9, True), (1 + 1e-9, False)):
        p[0] = cut * factor
        assert _survives(correction, p)[0] == survives


@pytest.mark.parametrize("correction", ["fdr_bh", "fdr_by"])
@pytest.mark.parametrize("share", [None, 0.001, 0.1, 0.5, 1.0])
def test_a_share_of_heads_survives_up_to_the_assumed_cut_and_not_beyond(
    correction: str, share: float | None
) -> None:
    tests, together = 160, max(1, round(160 * (share or 0.0)))
    p = np.ones(tests)
    cut = assumed_cut(correction, 0.05, tests, share)
    for factor, survives in ((1 - 1e-9, True), (1 + 1e-9, False)):
        p[:together] = cut * factor
        assert (_survives(correction, p)[:together] == survives).all()


def test_the_two_stage_correction_finds_at_least_what_its_cut_says() -> None:
    p = np.ones(160)
    for together in (1, 16, 80, 160):
        p[:together] = assumed_cut("fdr_tsbh", 0.05, 160, together / 160) * (1 - 1e-9)
        assert _survives("fdr_tsbh", p)[:together].all()


def test_every_correction_has_an_assumed_cut_between_nothing_and_alpha() -> None:
    assert set(ASSUMED) == set(ALL_CORRECTIONS)
    for correction in ASSUMED:
        for share in (None, 0.1, 1.0):
            assert 0 < assumed_cut(correction, 0.05, 144, share) <= 0.05
        assert assumed_cut(correction, 0.05, 1) == pytest.approx(0.05, rel=1e-12)
    assert harmonic(3) == pytest.approx(1 + 1 / 2 + 1 / 3)


def test_planning_with_a_share_finds_nearly_so_many_of_the_heads_that_hold_the_role() -> None:
    rng, tests, holding, rounds = np.random.default_rng(0), 144, 14, 400
    n = required_units(0.3, assumed_cut("fdr_bh", 0.05, tests, holding / tests))
    normal = rng.normal(size=(rounds, tests))
    normal[:, :holding] += 0.3 * np.sqrt(n)
    statistic = normal / np.sqrt(rng.chisquare(n - 1, size=(rounds, tests)) / (n - 1))
    found = adjust(reference.t.sf(statistic, n - 1), "fdr_bh") <= 0.05
    assert found[:, :holding].mean() == pytest.approx(0.785, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((0.0, 0.05, 0.8), "effect must be a number above 0"),
        ((-0.3, 0.05, 0.8), "effect must be a number above 0"),
        ((float("nan"), 0.05, 0.8), "but got nan"),
        ((float("inf"), 0.05, 0.8), "but got inf"),
        ((0.3, 0.0, 0.8), "cut must lie between 0 and 1, both excluded, but got 0.0"),
        ((0.3, 0.05, 1.0), "power must lie between 0 and 1, both excluded, but got 1.0"),
        ((1e-7, 0.05, 0.8), "needs at least 1,000,000,000 units; give a larger effect"),
    ],
)
def test_what_no_number_of_units_can_find_is_refused(
    arguments: tuple[float, float, float], told: str
) -> None:
    with pytest.raises(BadInput, match=told):
        required_units(*arguments)


def test_a_cut_of_no_family_or_correction_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'fdr_bh'"):
        assumed_cut("bh", 0.05, 144)
    with pytest.raises(BadInput, match=r"alpha must lie between 0 and 1, both excluded, but got 0\.0"):
        assumed_cut("holm", 0.0, 144)
    with pytest.raises(BadInput, match="tests must be a whole number of at least 1, but got 0"):
        assumed_cut("holm", 0.05, 0)
    for share in (0.0, 1.1, float("nan")):
        with pytest.raises(BadInput, match="share must lie above 0 and be at most 1"):
            assumed_cut("fdr_bh", 0.05, 144, share)
    with pytest.raises(BadInput, match="power must lie between 0 and 1"):
        detectable_effect(20, 0.05, 0.0)
