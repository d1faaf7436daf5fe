"""Products of matrices: those of numpy, with rows whose bits depend on no other row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from headroles.extraction.model.threads import has_own_openblas, one_numpy_thread
from headroles.extraction.parsing import products
from headroles.extraction.parsing.products import LARGE, SMALL, TileOps, multiply, rows_are_independent

WEIGHTS = [(24, 3), (24, 81), (128, 17), (128, 384)]
"""Inputs and outputs of products; the last one is wide enough for large tiles."""


def _normal(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


def _product(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    found = np.full((len(rows), weights.shape[1]), np.nan, dtype=np.float32)
    with one_numpy_thread():
        multiply(rows, weights, found)
    return found


@given(
    size=some.sampled_from(WEIGHTS), rows=some.integers(0, 2 * LARGE + SMALL + 5), seed=some.integers(0, 9)
)
def test_products_are_those_of_numpy(size: tuple[int, int], rows: int, seed: int) -> None:
    given_rows, weights = _normal(rows, size[0], seed), _normal(*size, seed + 1)
    expected = given_rows.astype(np.float64) @ weights.astype(np.float64)
    np.testing.assert_allclose(_product(given_rows, weights), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.skipif(not has_own_openblas(), reason="numpy comes without an OpenBLAS of its own")
@given(
    size=some.sampled_from(WEIGHTS),
    place=some.integers(0, 2 * LARGE),
    after=some.integers(0, LARGE),
    transposed=some.booleans(),
)
def test_a_row_has_the_bits_that_it_has_alone(
    size: tuple[int, int], place: int, after: int, transposed: bool
) -> None:
    weights = _normal(*size[::-1]).T if transposed else _normal(*size)
    if not rows_are_independent([weights]):
        pytest.skip("rows of products depend on each other on this machine")
    rows = _normal(place + 1 + after, size[0])
    (alone,) = _product(rows[place : place + 1], weights)
    np.testing.assert_array_equal(_product(rows, weights)[place], alone)


def test_rows_that_depend_on_their_number_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def multiply_otherwise(rows: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        multiply(rows, weights, out)
        out[-1, 0] = np.nextafter(out[-1, 0], np.float32(9))

    monkeypatch.setattr(products, "multiply", multiply_otherwise)
    assert not rows_are_independent([_normal(24, 3)])


def test_nothing_is_promised_without_a_library_whose_threads_can_be_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(products, "has_own_openblas", lambda: False)
    assert not rows_are_independent([])


def test_operations_of_thinc_multiply_in_tiles() -> None:
    ops, rows, weights = TileOps(), _normal(5, 24), _normal(24, 3)
    expected = _product(rows, weights)
    np.testing.assert_array_equal(ops.gemm(rows, weights), expected)
    own = np.empty_like(expected)
    assert ops.gemm(rows, np.ascontiguousarray(weights.T), out=own, trans2=True) is own
    np.testing.assert_allclose(own, expected, rtol=1e-5)
    np.testing.assert_allclose(ops.gemm(rows, rows, trans1=True), rows.T @ rows, rtol=1e-5)
