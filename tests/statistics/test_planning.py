"""Power, detectable effects, numbers of units and plans agree with libraries, each other and corrections."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from headroles.planning import study
from headroles.stats import (
    CORRECTIONS,
    FAMILIES,
    adjust,
    assumed_cut,
    describe,
    detectable_effect,
    harmonic,
    power_of,
    power_of_part,
    required_units,
    student,
    student_skew,
)
from tests.support import table
from tests.support.reference import draws

Command = Callable[..., tuple[int, str, str]]
quick = settings(max_examples=draws(30))
cuts = st.sampled_from([0.2, 0.05, 0.01, 0.05 / 144, 0.05 / 1440])
powers = st.sampled_from([0.5, 0.8, 0.9, 0.99])
ALL = (*CORRECTIONS, "maxT")


# Power.


@quick
@given(st.floats(-5, 20), st.integers(2, 100_000), cuts)
def test_the_power_is_that_of_scipys_noncentral_t_and_pingouins(effect: float, n: int, cut: float) -> None:
    import pingouin

    ours = float(power_of(effect, n, cut))
    theirs = reference.nct.sf(reference.t.isf(cut, n - 1), n - 1, effect * n**0.5)
    assert ours == pytest.approx(theirs, rel=1e-10, abs=1e-13)
    if -1 < effect < 4 and n < 3000:
        other = pingouin.power_ttest(effect, n, None, cut, contrast="one-sample", alternative="greater")
        assert ours == pytest.approx(other, rel=1e-9, abs=1e-10)


def test_power_at_its_edges() -> None:
    for effect, n in ((-3.0, 58), (-0.5, 1972), (-5.26, 5), (-0.0029, 721_483)):
        for cut in (0.2, 0.05 / 144, 1e-9):
            theirs = reference.nct.sf(reference.t.isf(cut, n - 1), n - 1, effect * n**0.5)
            assert float(power_of(effect, n, cut)) == pytest.approx(theirs, rel=1e-6, abs=1e-15)
    for effect in (1e3, 1e6, 1e300, float("inf")):
        assert power_of(effect, np.array([10, 1000]), 0.05).tolist() == [1.0, 1.0]
        assert power_of(-effect, np.array([10, 1000]), 0.05).tolist() == [0.0, 0.0]
        assert power_of(effect, 10, 0.7) == 1.0
    assert np.isnan(power_of(0.5, np.array([0, 1]), 0.05)).all()
    assert np.isnan(power_of(np.array([np.nan]), 20, 0.05)).all()
    assert np.isnan(power_of(0.5, 20, np.array([np.nan]))).all()
    assert np.isnan(power_of(-0.5, 20, float("nan")))
    levels = np.array([0.5, 0.05, 1e-4, 1e-8])
    np.testing.assert_allclose(
        power_of(0.0, 40, levels), levels, rtol=1e-9
    )  # without an effect it is the cut
    effects, count = np.array([[0.1], [0.4]]), np.array([20, 100, 500])
    together = power_of(effects, count, 0.05 / 144)
    assert together.shape == (2, 3)
    for row, column in np.ndindex(2, 3):
        alone = power_of(float(effects[row, 0]), int(count[column]), 0.05 / 144)
        assert together[row, column] == pytest.approx(float(alone), abs=1e-14)


def test_power_passes_smoothly_to_its_limit() -> None:
    # Two units at a cut of 1e-4: the power goes from 0 to 1 on both sides of the non-centrality 50,000.
    effect = 5e4 / np.sqrt(2) * np.array([0.999, 1.0001, 1.001])
    near, at, far = power_of(effect, 2, 1e-6)
    assert near < at < far
    assert far - near < 2e-3
    chi = reference.chi2.cdf((effect * np.sqrt(2) / reference.t.isf(1e-6, 1)) ** 2, 1)
    np.testing.assert_allclose([near, at, far], chi, atol=1e-6)


# Numbers of units, and detectable effects.


def test_the_numbers_of_units_are_those_of_the_field_notes() -> None:
    for effect, *wanted in (
        (0.5, 27, 78, 101),
        (0.3, 71, 205, 267),
        (0.2, 156, 454, 589),
        (0.1, 620, 1798, 2331),
    ):
        assert [required_units(effect, 0.05 / tests) for tests in (1, 144, 1440)] == wanted


@quick
@given(st.floats(0.05, 3), cuts, powers)
def test_the_number_of_units_is_the_smallest_that_suffices_and_pingouins(
    effect: float, cut: float, power: float
) -> None:
    import pingouin

    n = required_units(effect, cut, power)
    assert power_of(effect, n, cut) >= power
    assert float(detectable_effect(n, cut, power)) <= effect + 1e-9
    if n > 2:
        assert power_of(effect, n - 1, cut) < power
        assert float(detectable_effect(n - 1, cut, power)) > effect - 1e-9
    if effect <= 1:
        theirs = pingouin.power_ttest(effect, None, power, cut, contrast="one-sample", alternative="greater")
        assert np.isnan(theirs) or n == max(2, int(np.ceil(theirs - 1e-9)))


@quick
@given(st.integers(2, 2000), cuts, powers)
def test_the_detectable_effect_has_the_power_and_is_pingouins(n: int, cut: float, power: float) -> None:
    import pingouin

    ours = float(detectable_effect(n, cut, power))
    assert float(power_of(ours, n, cut)) == pytest.approx(power, abs=1e-7 if n == 2 else 1e-10)
    if n > 2:
        theirs = pingouin.power_ttest(None, n, power, cut, contrast="one-sample", alternative="greater")
        assert np.isnan(theirs) or ours == pytest.approx(theirs, rel=1e-8, abs=1e-10)


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
    for cut in (0.05, 1e-5, 1e-9):  # of two units, which pingouin cannot solve
        assert float(power_of(float(detectable_effect(2, cut)), 2, cut)) == pytest.approx(0.8, abs=1e-7)


def test_parts_of_independent_tests_have_the_wanted_power_together() -> None:
    for parts in (1, 2, 3):
        assert power_of_part(0.8, parts) ** parts == pytest.approx(0.8)
    assert power_of_part(0.8) == power_of_part(0.8, 2)


# The level that a correction leaves one head.


def _survives(correction: str, p: np.ndarray) -> np.ndarray:
    found: np.ndarray = adjust(p, correction, 0.05) <= 0.05
    return found


@pytest.mark.parametrize("correction", ALL)
def test_heads_survive_up_to_the_assumed_cut_and_not_beyond(correction: str) -> None:
    for tests in (1, 12, 160):
        for share in (None, 0.001, 0.1, 0.5, 1.0):
            cut = assumed_cut(correction, 0.05, tests, share)
            assert 0 < cut <= 0.05 * (1 + 1e-12)
            together = max(1, round(tests * (share or 0.0))) if correction.startswith("fdr") else 1
            if correction == "maxT" or (
                together / tests != max(share or 0.0, 1 / tests) and share not in (None, 0.001)
            ):
                continue
            p = np.ones(tests)
            p[:together] = cut * (1 - 1e-9)
            assert _survives(correction, p)[:together].all(), (tests, share)
            p[:together] = cut * (1 + 1e-9)
            if correction != "fdr_tsbh":  # which finds at least what its cut says
                assert not _survives(correction, p)[:together].any(), (tests, share)
    assert assumed_cut(correction, 0.05, 1) == pytest.approx(0.05, rel=1e-12)
    assert assumed_cut("maxT", 0.05, 12) == assumed_cut("holm", 0.05, 12) == 0.05 / 12
    assert harmonic(3) == pytest.approx(1 + 1 / 2 + 1 / 3)


# Plans.


@quick
@given(st.floats(0.05, 3), st.sampled_from(ALL), st.sampled_from(FAMILIES), st.floats(0.3, 0.95))
def test_a_plan_holds_together(effect: float, correction: str, family: str, power: float) -> None:
    layers = 12 if family == "layer" else None
    plan = study(effect, 144, 10, power=power, correction=correction, family=family, layer_count=layers)
    assert plan.tests == {"sieve": 144, "run": 1440, "layer": 12}[family]
    assert plan.case.cut == assumed_cut(correction, 0.05, plan.tests)
    assert plan.examples == plan.case.examples == required_units(effect, plan.case.cut, power)
    assert plan.joint.examples == required_units(effect, plan.case.cut, power_of_part(power))
    assert (plan.joint.cut, plan.joint.share) == (plan.case.cut, plan.case.share)
    sizes, found = zip(*plan.curve, strict=True)
    assert list(sizes) == sorted(
        {max(2, round(step * plan.examples)) for step in (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2)}
    )
    np.testing.assert_allclose(found, power_of(effect, np.array(sizes), plan.case.cut), rtol=1e-9, atol=1e-12)
    assert dict(plan.curve)[plan.examples] >= power
    for size, least in plan.detectable:
        assert float(power_of(least, size, plan.case.cut)) == pytest.approx(power, abs=1e-9)
    assert [size for size, _ in plan.detectable] == [50, 100, 128, 200, 500, 1000]
    assert (plan.orientation is None) != correction.startswith("fdr")
    if plan.orientation is not None:
        assert (
            plan.orientation
            == study(
                effect,
                144,
                10,
                power=power,
                correction=correction,
                family=family,
                layer_count=layers,
                share=0.1,
            ).case
        )
        assert plan.orientation.examples <= plan.examples
    assert ('"not" needs at least 50 units.' in plan.notes) == (plan.examples < 50)


WORDS = """
    # correction | family | share | formula of the cut
    none      | sieve |       | alpha
    holm      | sieve |       | alpha / 144 heads
    bonferroni | run  |       | alpha / 1,728 tests
    maxT      | layer |       | alpha / 12 heads of a layer
    sidak     | sieve |       | 1 − (1 − alpha)^(1 / 144 heads)
    fdr_bh    | sieve |       | alpha / 144 heads
    fdr_bh    | sieve | 0.1   | alpha × expected share 0.1
    fdr_bh    | sieve | 0.001 | alpha / 144 heads
    fdr_by    | sieve | 0.1   | alpha × expected share 0.1 / harmonic sum 5.55
    fdr_by    | sieve |       | alpha / 144 heads / harmonic sum 5.55
"""


def test_the_cut_is_stated_as_a_formula_and_a_share_asks_for_fewer_examples() -> None:
    for correction, family, share, words in table(WORDS):
        plan = study(
            0.3, 144, 12, correction=correction, family=family, share=float(share) if share else None,
            layer_count=12 if family == "layer" else None,
        )  # fmt: skip
        assert plan.case.words == words
    cautious, guessed = study(0.3, 144), study(0.3, 144, share=0.1)
    assert (cautious.examples, guessed.examples, study(0.3, 144, 10, family="run").examples) == (
        205,
        134,
        267,
    )
    assert guessed.orientation is None
    assert cautious.orientation == guessed.case
    assert study(0.3, 1, correction="holm").case.words == "alpha / 1 head"


def test_the_command_draws_the_curve_of_the_function_and_has_its_defaults(command: Command) -> None:
    code, out, err = command("plan", "--effect", 0.3, "--head-count", 144)
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines() if "█" in line]
    curve = dict(study(0.3, 144).curve)
    assert [(int(row[0]), row[1]) for row in rows] == [(n, f"{power:.3f}") for n, power in curve.items()]
    for row in rows:
        assert len(row[2]) == pytest.approx(40 * curve[int(row[0])], abs=1)
    assert [row[0] for row in rows if row[-1] == "enough"] == ["205"]
    usage, out, err = command("plan", "--effect", "much", "--head-count", "144")
    assert (usage, out) == (2, "")


# Simulations.


@pytest.mark.ci
def test_so_many_samples_of_normal_and_of_skewed_scores_are_found() -> None:
    for effect, n, cut in ((0.5, 27, 0.05), (0.3, 205, 0.05 / 144), (1.0, 12, 0.01)):
        values = np.random.default_rng(n).normal(0.1 + effect, 1, size=(n, 10_000))
        sample, expected = describe(values), float(power_of(effect, n, cut))
        assert (student(sample, 0.1).p <= cut).mean() == pytest.approx(expected, abs=0.015)
        lost = expected - (student_skew(sample, 0.1).p <= cut).mean()
        assert abs(lost) < 0.015 if n > 20 else 0 < lost < 0.1
    for sign, found in ((1, 0.97), (-1, 0.50)):  # as the docstring says
        rng = np.random.default_rng(0)
        values = 0.5 + sign * (rng.gamma(2.0, size=(78, 10_000)) - 2) / np.sqrt(2)
        rejected = student_skew(describe(values), 0.0).p <= 0.05 / 144
        assert rejected.mean() == pytest.approx(found, abs=0.02)
