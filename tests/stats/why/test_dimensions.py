"""Dimensions with more than twice their fair share: equal to scipy and statsmodels, errors at most alpha."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from headroles.records.causal.origins import DimensionTest
from headroles.records.rules.rule import Decision
from headroles.stats.why.dimensions import FAIR, dimension_tests, family_level, grouped_parts
from tests.support.causal.products import made_products, random_products, with_worst

T = Decision(test="t", correction="holm")
TESTED = 40


def _of_family(found: tuple[DimensionTest, ...], family: int, size: int) -> list[DimensionTest]:
    own = list(found[family * size : (family + 1) * size])
    assert [test.dimension for test in own] == list(range(size))
    return own


@pytest.mark.parametrize("group", [None, np.array([0, 1, 2, 0, 1, 2]), np.array([0, 0, 1, 1, 2, 2])])
def test_p_is_that_of_scipy_and_q_that_of_benjamini_and_hochberg_within_a_family(
    group: np.ndarray | None,
) -> None:
    products = random_products(0)
    if group is not None:
        products = replace(products, group=group, free=np.zeros(6, dtype=np.bool_))
    found = dimension_tests(products, np.ones(4, dtype=np.bool_), TESTED, T)
    parts = products.parts
    if group is not None:
        parts = np.stack([parts[:, :, group == k].sum(axis=2) for k in range(3)], axis=2)
    size = parts.shape[2]
    assert len(found) == 4 * size
    whole = products.parts.sum(axis=2)
    for family in range(4):
        own = _of_family(found, family, size)
        asked = parts[:, family] - 2 * whole[:, family, None] / size
        p = stats.ttest_1samp(with_worst(asked), 0, alternative="greater").pvalue
        q = multipletests(p, method="fdr_bh")[1]
        assert [test.p for test in own] == pytest.approx(p, rel=1e-3, abs=1e-12)
        assert [test.q for test in own] == pytest.approx(q, rel=1e-3, abs=1e-12)
        assert {test.level for test in own} == {family_level(0.05, 4, TESTED)}
        assert [test.found for test in own] == (q <= 0.05 * 4 / TESTED).tolist()
        means = parts[:, family].mean(axis=0)
        assert [test.mean for test in own] == pytest.approx(means, rel=1e-5)
        assert [test.share for test in own] == pytest.approx(means / means.sum(), rel=1e-5)
        low, high = stats.ttest_1samp(parts[:, family], 0).confidence_interval(0.95)
        assert [test.low for test in own] == pytest.approx(low, rel=1e-4, abs=1e-5)
        assert [test.high for test in own] == pytest.approx(high, rel=1e-4, abs=1e-5)
    assert group is not None or any(test.found for test in found)


def test_correction_and_family_of_the_decision_do_not_count() -> None:
    products, all_families = random_products(1), np.ones(4, dtype=np.bool_)
    usual = dimension_tests(products, all_families, TESTED, T)
    for other in (replace(T, correction="fdr_by"), replace(T, family="run"), replace(T, family="layer")):
        assert dimension_tests(products, all_families, TESTED, other) == usual


def test_dimensions_of_untestable_families_are_shown_and_not_tested() -> None:
    products = random_products(2)
    found = dimension_tests(products, np.array([True, False, True, True]), TESTED, T)
    for test in _of_family(found, 1, 6):
        assert np.isnan([test.p, test.q]).all()
        assert np.isfinite([test.mean, test.low, test.high]).all()
        assert not test.found
    assert np.isfinite([test.p for test in _of_family(found, 0, 6)]).all()


def test_planted_dimensions_are_found_and_shares_add_up() -> None:
    rng = np.random.default_rng(3)
    parts = 0.02 + 0.05 * rng.normal(size=(80, 2, 16))
    parts[:, 0, [3, 9]] += 0.5
    found = dimension_tests(made_products(parts), np.ones(2, dtype=np.bool_), 20, Decision())
    assert [test.dimension for test in found if test.found and test.head == 0 and test.role] == [3, 9]
    assert sum(test.share for test in _of_family(found, 0, 16)) == pytest.approx(1)


def test_a_part_that_one_unit_carries_is_not_found() -> None:
    parts = np.full((60, 1, 8), 0.1) + 1e-3 * np.random.default_rng(4).normal(size=(60, 1, 8))
    parts[0, 0, 2] = 60.0
    found = dimension_tests(made_products(parts), np.ones(1, dtype=np.bool_), 1, Decision(correction="none"))
    assert found[2].share > 0.25
    assert not any(test.found for test in found)


def test_the_level_of_a_family_is_never_above_alpha() -> None:
    assert family_level(0.05, 30, 300) == pytest.approx(0.005)
    assert family_level(0.05, 30, 30) == family_level(0.05, 30, 0) == 0.05


def test_parts_of_pairs_are_added_and_their_sum_stays() -> None:
    parts = np.random.default_rng(5).normal(size=(3, 2, 6))
    for group in (np.arange(6), np.array([0, 1, 2, 0, 1, 2]), np.array([7, 7, 7, 7, 9, 9])):
        sums = grouped_parts(parts, group)
        assert sums.shape == (3, 2, len(set(group.tolist())))
        assert sums.sum(axis=2) == pytest.approx(parts.sum(axis=2))


def test_dimensions_at_twice_their_fair_share_are_found_in_at_most_alpha_of_families() -> None:
    rng = np.random.default_rng(6)
    families, size = 800, 8
    means = np.where(np.arange(size) < size / FAIR, FAIR / size, 0.0)
    parts = means + 0.1 * rng.normal(size=(200, families, size))
    found = dimension_tests(made_products(parts), np.ones(families, dtype=np.bool_), families, Decision())
    false = np.array([test.found for test in found]).reshape(families, size).any(axis=1).mean()
    assert 0 < false <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / families)
