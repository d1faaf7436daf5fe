"""Concentration against random bases: the formulas written out, scipy's rotations, p that are uniform."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headroles.records.causal.origins import AS_ROTATED, FEW, UNTESTABLE, Products
from headroles.records.rules.rule import Decision
from headroles.stats.correction import adjust, significant
from headroles.stats.why import rotations
from headroles.stats.why.rotations import (
    RotationTests,
    concentration_p,
    fewest_rotations,
    participation_ratio,
    rotated_ratios,
    rotation_squares,
    rotation_tests,
)
from tests.support.causal.products import made_products

ALONE = Decision(correction="none")


def _products(outer: np.ndarray) -> Products:
    return made_products(np.zeros((1, *outer.shape[:2])), outer=outer)


def _tested(products: Products, decision: Decision = ALONE, number: int = 999) -> RotationTests:
    return rotation_tests(products, np.ones(len(products.roles), dtype=np.bool_), number, decision)


@given(
    seed=st.integers(0, 10_000), size=st.integers(1, 40), scale=st.sampled_from([1e-200, 1e-3, 1.0, 1e150])
)
def test_the_ratio_is_that_of_the_formula_and_knows_no_sign_scale_or_order(
    seed: int, size: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=size)
    ratio = float(participation_ratio(scale * parts))
    assert ratio == pytest.approx(float((parts**2).sum() ** 2 / (parts**4).sum()))
    assert 1 - 1e-9 <= ratio <= size * (1 + 1e-9)
    assert float(participation_ratio(-rng.permutation(parts))) == pytest.approx(ratio)


def test_nothing_and_unknown_parts_have_no_ratio() -> None:
    assert np.isnan(participation_ratio(np.array([[0.0, 0.0], [1.0, np.nan]]))).all()


def test_random_ratios_are_those_of_scipys_rotations_of_the_whole_matrix() -> None:
    outer = np.random.default_rng(0).normal(size=(2, 7, 7)) + np.diag(np.arange(7.0))
    found = rotated_ratios(outer, 1500, seed=1)
    turns = stats.ortho_group.rvs(7, size=1500, random_state=2)
    for family in range(2):
        parts = np.diagonal(turns @ outer[family] @ turns.swapaxes(1, 2), axis1=1, axis2=2)
        written_out = (parts**2).sum(axis=1) ** 2 / (parts**4).sum(axis=1)
        assert stats.ks_2samp(found[family], written_out).pvalue > 0.01
        assert found[family].mean() == pytest.approx(written_out.mean(), rel=0.05)


def test_draws_are_the_same_whatever_the_batch_and_the_other_families(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outer = np.random.default_rng(3).normal(size=(3, 5, 5))
    whole = rotated_ratios(outer, 50, seed=4)
    np.testing.assert_allclose(rotated_ratios(outer[1:2], 50, seed=4)[0], whole[1], rtol=1e-12)
    assert not np.array_equal(rotated_ratios(outer, 50, seed=5), whole)
    monkeypatch.setattr(rotations, "BATCH", 175)
    assert len(list(rotation_squares(5, 50, 4))) == 8
    assert rotated_ratios(outer, 50, seed=4) == pytest.approx(whole, rel=1e-12)


def test_rows_and_columns_of_squares_add_up_to_1() -> None:
    squares = np.concatenate(list(rotation_squares(6, 40, 0)))
    assert squares.shape == (40, 6, 6)
    assert squares.sum(axis=1) == pytest.approx(1)
    assert squares.sum(axis=2) == pytest.approx(1)


@pytest.mark.parametrize("factor", [1.0, -0.3, 1e-12, 7e8])
def test_a_matrix_that_no_rotation_changes_has_a_p_of_1(factor: float) -> None:
    odd = np.random.default_rng(6).normal(size=(9, 9))
    outer = factor * np.stack([np.eye(9), np.eye(9) + odd - odd.T])
    found = _tested(_products(outer))
    assert found.p.tolist() == [1.0, 1.0]
    assert found.participation == pytest.approx([9, 9])
    assert found.rotated == pytest.approx([9, 9])
    assert found.few == (AS_ROTATED, AS_ROTATED)


def test_one_planted_dimension_is_few_neurons_and_its_rotated_copies_are_not() -> None:
    rng = np.random.default_rng(7)
    families, size = 400, 12
    planted = np.zeros((size, size))
    planted[4, 4] = 2.0
    planted += 0.02 * rng.normal(size=(size, size))
    turns = stats.ortho_group.rvs(size, size=families, random_state=8)
    copies = turns @ planted @ turns.swapaxes(1, 2)
    own = _tested(_products(planted[None]))
    assert own.few == (FEW,)
    assert own.p.tolist() == [1 / 1000]
    assert own.participation[0] < 1.1 < 2 < own.rotated[0]
    found = _tested(_products(copies))
    share = np.mean([said == FEW for said in found.few])
    assert share <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / families)
    assert stats.kstest(found.p, "uniform").pvalue > 0.01


def test_p_is_at_most_alpha_as_often_as_alpha_whatever_the_noise_of_few_units() -> None:
    rng = np.random.default_rng(9)
    outer = rng.normal(size=(1000, 6, 6)) * rng.gamma(1, size=(1000, 1, 1))
    turns = stats.ortho_group.rvs(6, size=1000, random_state=10)
    p = _tested(_products(turns @ outer @ turns.swapaxes(1, 2)), number=199).p
    for alpha in (0.05, 0.2, 0.5):
        assert abs((p <= alpha).mean() - alpha) <= 3.5 * np.sqrt(alpha * (1 - alpha) / 1000)


def test_all_families_are_corrected_together_by_holm_where_the_decision_has_max_t() -> None:
    rng = np.random.default_rng(11)
    products = _products(rng.normal(size=(6, 5, 5)))
    found = [_tested(products, Decision(correction=name)) for name in ("holm", "maxT", "bonferroni")]
    assert np.array_equal(found[0].q, found[1].q)
    assert found[2].q == pytest.approx(np.minimum(6 * found[2].p, 1))


def test_a_fixed_basis_is_untestable() -> None:
    products = _products(np.random.default_rng(12).normal(size=(2, 4, 4)))
    partly = replace(products, free=np.array([False, False, True, True]))
    pairs = replace(partly, group=np.array([0, 1, 0, 1]))
    for fixed in (partly, pairs):
        found = _tested(fixed)
        assert found.few == (UNTESTABLE, UNTESTABLE)
        assert np.isnan([found.rotated, found.p, found.q]).all()
    means = np.diagonal(products.outer, axis1=1, axis2=2)
    assert found.participation == pytest.approx(participation_ratio(means[:, :2] + means[:, 2:]))


def test_nothing_unknown_and_untestable_families_get_no_verdict() -> None:
    outer = np.random.default_rng(13).normal(size=(4, 5, 5))
    outer[0], outer[1, 2, 2] = 0.0, np.nan
    found = rotation_tests(_products(outer), np.array([True, True, False, True]), 99, Decision())
    assert np.isnan(found.p).tolist() == [True, True, False, False]
    assert np.isnan(found.participation).tolist() == [True, True, False, False]
    assert found.few[:3] == (UNTESTABLE,) * 3
    assert found.few[3] in (FEW, AS_ROTATED)
    assert np.isnan(_tested(_products(outer), number=0).p).all()


def test_ties_within_rounding_count_and_nothing_else_does() -> None:
    random = np.array([[2.0, 2.0 + 1e-12, 2.1, 1.9]])
    assert concentration_p(np.array([2.0]), random).tolist() == [4 / 5]
    assert concentration_p(np.array([1.0]), random).tolist() == [1 / 5]
    assert np.isnan(concentration_p(np.array([np.nan]), random)).all()


@pytest.mark.parametrize("correction", ["fdr_bh", "fdr_by", "holm", "holm-sidak", "bonferroni", "maxT"])
@pytest.mark.parametrize("families", [1, 7, 163])
def test_the_fewest_rotations_are_those_with_which_one_smallest_p_passes(
    correction: str, families: int
) -> None:
    decision = Decision(correction=correction)
    least = fewest_rotations(families, decision)
    for count, passes in ((least, True), (least - 1, False)):
        p = np.ones(families)
        p[0] = 1 / (count + 1)
        q = adjust(p, "holm" if correction == "maxT" else correction, decision.alpha)
        assert bool(significant(q, decision.alpha, p)[0]) == passes


def test_without_a_correction_alpha_alone_sets_the_fewest_rotations() -> None:
    assert fewest_rotations(163, Decision(correction="none")) == 19
    assert fewest_rotations(0, Decision()) == 0
