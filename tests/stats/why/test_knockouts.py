"""Scores after removals: scipy's t against the threshold, families of rows, what is removed, errors."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from headroles.records.causal.origins import (
    DIMENSIONS,
    FALLS,
    HOLDS,
    SUBSPACE,
    UNDETERMINED,
    UNTESTABLE,
    Knocked,
)
from headroles.records.rules.rule import Decision
from headroles.stats.why.judge import judge_origins, knockout_tests, removals_of
from tests.support.causal.products import ROLES, made_products, random_products, roles_of, with_worst

T = Decision(test="t", correction="holm")


def _knocked(
    after: np.ndarray, threshold: float = 0.3, by: tuple[str, ...] = (), scored: tuple[str, ...] = ()
) -> Knocked:
    rows, units = after.shape
    return Knocked(
        by=by or (SUBSPACE,) * rows,
        family=np.zeros(rows, dtype=np.int64),
        size=np.arange(rows) + 1,
        scored=scored or (ROLES[0],) * rows,
        units=tuple(f"v{k}" for k in range(units)),
        before=after + 0.5,
        after=after,
        threshold=np.full(rows, threshold),
    )


def test_p_is_that_of_scipy_on_both_sides_of_the_threshold() -> None:
    rng = np.random.default_rng(0)
    after = rng.beta(2, 5, size=(4, 60))
    knocked = _knocked(after)
    found = knockout_tests(random_products(0), knocked, T)
    below, above = (
        np.asarray(stats.ttest_1samp(with_worst(side * (after.T - 0.3)), 0, alternative="greater").pvalue)
        for side in (-1, 1)
    )
    ends = [stats.ttest_1samp(row, 0).confidence_interval(0.95) for row in after]
    for row, test in enumerate(found):
        assert (test.role, test.layer, test.head, test.removed) == (ROLES[0], 0, 0, row + 1)
        assert (test.p_falls, test.p_holds) == pytest.approx((below[row], above[row]), rel=1e-3)
        assert (test.before, test.after) == pytest.approx((after[row].mean() + 0.5, after[row].mean()))
        assert (test.low, test.high) == pytest.approx(tuple(ends[row]), rel=1e-4)
        assert (test.count, test.threshold) == (60, 0.3)
    q = multipletests([test.p_falls for test in found], method="holm")[1]
    assert [test.q_falls for test in found] == pytest.approx(q, rel=1e-6)


def test_a_family_is_the_rows_of_one_removal_that_score_the_same_thing() -> None:
    rng = np.random.default_rng(1)
    by = (SUBSPACE, SUBSPACE, DIMENSIONS, SUBSPACE, DIMENSIONS, SUBSPACE)
    scored = (ROLES[0], ROLES[1], ROLES[0], ROLES[0], ROLES[1], "induction")
    knocked = _knocked(rng.beta(4, 6, size=(6, 60)), by=by, scored=scored)
    for decision in (T, replace(T, family="run")):
        found = knockout_tests(random_products(1), knocked, decision)
        for members in ([0, 3], [1, 5], [2], [4]):
            for side in ("falls", "holds"):
                p = [getattr(found[row], f"p_{side}") for row in members]
                q = [getattr(found[row], f"q_{side}") for row in members]
                assert q == pytest.approx(multipletests(p, method="holm")[1], rel=1e-9)


def test_verdicts_say_on_which_side_of_the_threshold_the_score_lies() -> None:
    rng = np.random.default_rng(2)
    after = np.array([0.1, 0.5, 0.3, 0.1])[:, None] + 0.05 * rng.normal(size=(4, 50))
    after[2] += 0.3 - after[2].mean()
    after[3, 19:] = np.nan
    found = knockout_tests(random_products(2), _knocked(after), T)
    assert [test.verdict for test in found] == [FALLS, HOLDS, UNDETERMINED, UNTESTABLE]
    assert found[3].count == 19
    assert np.isfinite(found[3].q_falls)


def test_units_count_with_a_score_before_and_after() -> None:
    knocked = _knocked(np.random.default_rng(3).beta(2, 5, size=(1, 40)))
    before, after = knocked.before.copy(), knocked.after.copy()
    before[0, :5], after[0, 3:9] = np.nan, np.nan
    (found,) = knockout_tests(random_products(3), replace(knocked, before=before, after=after), T)
    assert found.count == 31
    assert found.before == pytest.approx(before[0, 9:].mean())
    assert found.after == pytest.approx(after[0, 9:].mean())


@pytest.mark.parametrize("units", [0, 1])
def test_too_few_units_are_untestable(units: int) -> None:
    (found,) = knockout_tests(random_products(4), _knocked(np.full((1, units), 0.5)), T)
    assert found.verdict == UNTESTABLE
    assert found.count == units
    assert np.isnan([found.p_falls, found.p_holds]).all()


def test_scores_without_spread_are_untestable_and_no_rows_have_no_tests() -> None:
    (found,) = knockout_tests(random_products(5), _knocked(np.full((1, 50), 0.5)), T)
    assert found.verdict == UNTESTABLE
    assert found.after == pytest.approx(0.5)
    assert knockout_tests(random_products(5), _knocked(np.zeros((0, 50))), T) == ()


@pytest.mark.parametrize("shape", ["symmetric", "skewed"])
def test_scores_at_the_threshold_fall_or_hold_in_at_most_alpha_of_rows(shape: str) -> None:
    rng = np.random.default_rng(6)
    rows = 2000
    a, b = (4, 4) if shape == "symmetric" else (2, 5)
    knocked = _knocked(rng.beta(a, b, size=(rows, 80)), threshold=a / (a + b))
    found = knockout_tests(random_products(6), knocked, Decision(correction="none"))
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / rows)
    for verdict in (FALLS, HOLDS):
        assert 0.001 < np.mean([test.verdict == verdict for test in found]) <= limit


def test_found_dimensions_and_directions_are_removed() -> None:
    rng = np.random.default_rng(7)
    parts = 0.01 + 0.02 * rng.normal(size=(60, 3, 6))
    parts[:, 0, 2] += 1.0
    parts[:, 2, 4] += 1.0
    left, right = (np.linalg.qr(rng.normal(size=(6, 6)))[0][:, :2] for _ in range(2))
    outer = np.stack([left @ np.diag([3.0, 2.0]) @ right.T, np.eye(6) / 2, np.eye(6) / 2])
    products = made_products(parts, outer=outer, redealt=np.full((3, 19), 1.0))
    removals = removals_of(products, *judge_origins(products, roles_of(products), 3, T))
    assert [(one.family, one.by) for one in removals] == [(0, DIMENSIONS), (0, SUBSPACE), (2, DIMENSIONS)]
    assert [one.basis.shape for one in removals] == [(6, 1), (6, 2), (6, 1)]
    assert removals[0].basis[:, 0].tolist() == [0, 0, 1, 0, 0, 0]
    queries = rng.normal(size=(5, 6)) @ left.T[:, :].T @ left.T
    basis = removals[1].basis
    assert queries - queries @ basis @ basis.T == pytest.approx(np.zeros((5, 6)), abs=1e-12)


def test_both_dimensions_of_a_frequency_pair_are_removed() -> None:
    parts = 0.01 + 0.02 * np.random.default_rng(8).normal(size=(60, 1, 6))
    parts[:, 0, 1] += 1.0
    products = made_products(parts, group=np.array([3, 5, 7, 3, 5, 7]))
    (removal,) = removals_of(products, *judge_origins(products, roles_of(products), 1, T))
    assert np.flatnonzero(removal.basis.any(axis=1)).tolist() == [1, 4]
    assert removal.basis.T @ removal.basis == pytest.approx(np.eye(2))


def test_directions_of_fewer_than_20_units_are_not_removed() -> None:
    products = random_products(9, units=19)
    origins, dimensions = judge_origins(products, roles_of(products), 4, T)
    assert max(origin.rank for origin in origins) > 0
    assert removals_of(products, origins, dimensions) == ()
