"""Trends are least-squares slopes of units; steps are found by fixed sequences, and intervals cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import ttest_1samp

from headroles.stats.across.steps import NEVER, emergence, losses, trend_weights, trends
from headroles.stats.methods.closed_form import student_skew
from headroles.stats.moments import describe

YES, NO, OPEN = 1e-6, 1 - 1e-6, 0.5


@given(values=hnp.arrays(np.float64, st.integers(2, 7), elements=st.floats(-1, 1)))
def test_the_weights_give_the_least_squares_slope(values: np.ndarray) -> None:
    wanted = np.polyfit(np.arange(len(values)), values, 1)[0]
    assert trend_weights(len(values)) @ values == pytest.approx(wanted, abs=1e-9)
    assert trend_weights(len(values)).sum() == pytest.approx(0, abs=1e-12)


def test_slopes_are_tested_unit_by_unit() -> None:
    values = np.random.default_rng(1).gamma(1, size=(4, 30, 5)) + np.arange(4)[:, None, None] * 0.1
    own = np.polyfit(np.arange(4), values.reshape(4, -1), 1)[0].reshape(30, 5)
    slope, found = trends(values)
    np.testing.assert_allclose(slope, own.mean(axis=0))
    wanted = ttest_1samp(own, 0, axis=0, alternative="greater")
    np.testing.assert_allclose(found.statistic, wanted.statistic)
    np.testing.assert_allclose(found.p, wanted.pvalue)
    ends = ttest_1samp(own, 0, axis=0).confidence_interval(0.95)
    np.testing.assert_allclose(found.low, np.asarray(ends.low))
    np.testing.assert_allclose(found.high, np.asarray(ends.high))


def test_units_without_a_score_at_a_step_are_left_out_for_that_head() -> None:
    values = np.random.default_rng(2).normal(size=(3, 20, 2))
    holed = values.copy()
    holed[1, 4, 0] = np.nan
    slope, found = trends(holed)
    alone, wanted = trends(np.delete(values, 4, axis=1))
    whole, _ = trends(values)
    assert (slope[0], found.p[0]) == pytest.approx((alone[0], wanted.p[0]))
    assert slope[1] == pytest.approx(whole[1])


@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_a_slope_of_nothing_is_found_at_most_at_alpha_on_each_side(shape: str) -> None:
    chance = np.random.default_rng(3)
    level = chance.normal(size=(1, 80, 4000))  # units differ, and are the same at all steps
    draws = chance.normal if shape == "normal" else lambda size: chance.lognormal(0, 1.5, size=size)
    _, found = trends(level + draws(size=(5, 80, 4000)))
    for p in (found.p, found.p_not):
        assert (p <= 0.05).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)
    covered = ((found.low <= 0) & (found.high >= 0)).mean()
    assert covered >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 4000)


def test_a_role_holds_from_the_first_step_of_an_unbroken_row_to_the_last() -> None:
    p = np.array(
        [
            [YES, NO, YES, YES, OPEN],
            [YES, NO, NO, YES, NO],
            [YES, OPEN, YES, NO, np.nan],
            [YES, YES, YES, NO, YES],
        ]
    )
    found = emergence(p, 1 - p)
    assert found.step.tolist() == [0, 3, 2, NEVER, 3]
    assert found.earliest.tolist() == [0, 2, 0, 0, 0]
    assert found.latest.tolist() == [0, 3, 2, NEVER, 3]


def test_steps_before_the_last_are_tested_at_the_level_that_selection_leaves() -> None:
    p = np.array([[0.03, 0.03], [0.001, 0.9]])
    assert emergence(p, 1 - p).step.tolist() == [1, NEVER]  # one of two heads: level 0.025
    p[1, 1] = 0.001
    assert emergence(p, 1 - p).step.tolist() == [0, 0]


def test_a_role_is_lost_only_where_it_was_there_and_is_not_any_more() -> None:
    p = np.array(
        [
            [YES, OPEN, YES, YES],
            [YES, OPEN, NO, NO],
            [NO, NO, NO, OPEN],
            [NO, NO, NO, NO],
        ]
    )
    assert losses(p, 1 - p).tolist() == [2, NEVER, 1, 3]
    assert losses(1 - p, p).tolist() == [NEVER] * 4


def test_heads_are_judged_whatever_their_order() -> None:
    p = np.random.default_rng(4).uniform(size=(4, 30)) ** 3
    order = np.random.default_rng(5).permutation(30)
    found, turned = emergence(p, 1 - p), emergence(p[:, order], 1 - p[:, order])
    for name in ("step", "earliest", "latest"):
        assert getattr(found, name)[order].tolist() == getattr(turned, name).tolist()


def test_intervals_cover_the_step_and_few_heads_are_dated_too_early() -> None:
    rng = np.random.default_rng(6)
    covered, early = [], []
    for _ in range(200):
        true = rng.integers(0, 7, 20)  # 6: the role never comes
        level = np.where(np.arange(6)[:, None] >= true, 0.15, 0.05)
        values = level[:, None] + 0.12 * rng.normal(size=(6, 60, 20))
        tested = [student_skew(describe(step), 0.1) for step in values]
        found = emergence(np.stack([one.p for one in tested]), np.stack([one.p_not for one in tested]))
        latest = np.where(found.latest == NEVER, 6, found.latest)
        covered.append(((found.earliest <= true) & (true <= latest)).mean())
        held = found.step != NEVER
        early.append((held & (found.step < true)).sum() / max(held.sum(), 1))
    assert np.mean(covered) >= 0.95
    assert np.mean(early) <= 0.05
