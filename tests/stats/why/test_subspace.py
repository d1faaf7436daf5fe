"""Directions beyond distance: counted from numpy's singular values, by chance in at most 5 %."""

import numpy as np
import pytest

from headroles.records.causal.origins import Products
from headroles.stats.why.subspace import NOT_ASKED, find_directions, ninety_five, query_directions
from tests.support.causal.products import made_products


def _products(outer: np.ndarray, redealt: np.ndarray) -> Products:
    return made_products(np.zeros((1, *outer.shape[:2])), outer=outer, redealt=redealt)


def _largest(matrices: np.ndarray) -> np.ndarray:
    values: np.ndarray = np.linalg.norm(matrices, ord=2, axis=(-2, -1))
    return values


@pytest.mark.parametrize(("redeals", "place"), [(19, 1), (20, 1), (39, 2), (99, 5), (999, 50)])
def test_the_point_leaves_as_many_values_above_as_a_p_of_5_percent_allows(redeals: int, place: int) -> None:
    values = np.random.default_rng(0).normal(size=(3, redeals))
    point = ninety_five(values)
    assert ((values >= point[:, None]).sum(axis=1) == place).all()
    above = place - 1
    assert (1 + above) / (1 + redeals) <= 0.05 < (2 + above) / (1 + redeals)


def test_too_few_or_unknown_redeals_have_no_point() -> None:
    assert np.isnan(ninety_five(np.ones((2, 18)))).all()
    assert np.isnan(ninety_five(np.ones((2, 0)))).all()
    unknown = np.ones((2, 19))
    unknown[1, 3] = np.nan
    assert np.isnan(ninety_five(unknown)).tolist() == [False, True]


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_planted_directions_are_counted(rank: int) -> None:
    rng = np.random.default_rng(rank)
    noise = 0.01 * rng.normal(size=(20, 10, 10))
    left, right = (np.linalg.qr(rng.normal(size=(10, 10)))[0][:, :rank] for _ in range(2))
    outer = noise[0] + left @ right.T
    if rank == 0:
        outer = noise[1:].mean(axis=0)
    found = find_directions(_products(outer[None], _largest(noise[1:])[None]))
    assert found.rank.tolist() == [rank]
    assert found.strongest == pytest.approx(_largest(outer))
    assert found.expected == pytest.approx(_largest(noise[1:]).max())
    if rank:
        basis = query_directions(outer, rank)
        assert basis.T @ basis == pytest.approx(np.eye(rank))
        assert np.linalg.norm(left - basis @ (basis.T @ left)) < 0.1
        rest = outer - basis @ (basis.T @ outer)
        assert _largest(rest) == pytest.approx(np.linalg.svd(outer)[1][rank])


def test_a_first_direction_is_found_by_chance_in_5_percent_of_families() -> None:
    families = 1500
    matrices = np.random.default_rng(1).standard_t(3, size=(families, 20, 5, 5))
    largest = _largest(matrices)
    found = find_directions(_products(matrices[:, 0], largest[:, 1:]))
    share = (found.rank > 0).mean()
    assert abs(share - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / families)
    assert (found.rank > 1).mean() <= share


def test_a_role_that_is_its_own_redeal_has_rank_0_whatever_the_rounding() -> None:
    outer = np.random.default_rng(2).normal(size=(3, 6, 6))
    stored = _largest(outer.astype(np.float32)).astype(np.float32)[:, None].repeat(19, axis=1)
    assert (find_directions(_products(outer, stored)).rank == 0).all()


def test_without_redeals_or_products_the_rank_is_not_asked() -> None:
    outer = np.random.default_rng(3).normal(size=(3, 4, 4))
    found = find_directions(_products(outer, np.zeros((3, 0))))
    assert (found.rank == NOT_ASKED).all()
    assert np.isnan(found.expected).all()
    assert found.strongest == pytest.approx(_largest(outer))
    outer[1], outer[2] = np.nan, 0.0
    found = find_directions(_products(outer, np.full((3, 19), 1e-3)))
    assert found.rank.tolist() == [4, NOT_ASKED, 0]
    assert np.isnan(found.strongest).tolist() == [False, True, False]
