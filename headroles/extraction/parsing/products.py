"""Matrix products whose rows do not depend on each other, so that a text has the numbers that it has alone.

The last bits of a row of a product depend on how a library walks over the matrix, and so on the number of
its rows. Here a matrix is cut into tiles of fixed sizes, and a library walks over all tiles of a size in the
same way. Whether a row has the same bits at every place of every tile is checked when a parser is loaded.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float32
from thinc.api import NumpyOps

from headroles.extraction.model.threads import has_own_openblas, one_numpy_thread

LARGE, SMALL = 256, 32
"""Rows of the tiles: large ones are fast, small ones fill the rest."""
WIDE = 256
"""Number of outputs from which on large tiles are used; small products may have a way of their own."""


def multiply(
    rows: Float32[np.ndarray, "rows inputs"],
    weights: Float32[np.ndarray, "inputs outputs"],
    out: Float32[np.ndarray, "rows outputs"],
) -> None:
    """Multiply rows by weights, tile by tile; rows of zeros fill the last tile.

    Example:
        >>> out = np.empty((2, 1), dtype=np.float32)
        >>> multiply(np.eye(2, dtype=np.float32), np.array([[3], [4]], dtype=np.float32), out)
        >>> out.tolist()
        [[3.0], [4.0]]
    """
    start = 0
    for size in (LARGE, SMALL) if out.shape[1] >= WIDE else (SMALL,):
        for stop in range(start + size, len(rows) + 1, size):
            np.dot(rows[start:stop], weights, out=out[start:stop])
            start = stop
    if rest := len(rows) - start:
        tile = np.zeros((SMALL, rows.shape[1]), dtype=np.float32)
        tile[:rest] = rows[start:]
        out[start:] = np.dot(tile, weights)[:rest]


class TileOps(NumpyOps):  # type: ignore[misc]
    """Arithmetic of thinc with the products of ``multiply``."""

    def __init__(self) -> None:
        """Use the linear algebra of numpy, also where spaCy forms products of its own."""
        super().__init__(use_blis=False)

    def gemm(self, x: Any, y: Any, *, out: Any = None, trans1: bool = False, trans2: bool = False) -> Any:
        """Multiply two matrices; the first one is transposed in training only."""
        if trans1:
            return super().gemm(x, y, out=out, trans1=trans1, trans2=trans2)
        weights = y.T if trans2 else y
        result = np.empty((len(x), weights.shape[1]), dtype=np.float32) if out is None else out
        multiply(x, weights, result)
        return result


def rows_are_independent(matrices: Iterable[Float32[np.ndarray, "inputs outputs"]]) -> bool:
    """Return whether products by these weights have the same bits at every place of a tile of either size."""
    if not has_own_openblas():
        return False
    with one_numpy_thread():
        return all(map(_has_equal_rows, matrices))


def _has_equal_rows(weights: Float32[np.ndarray, "inputs outputs"]) -> bool:
    """Return whether equal rows have equal products, in tiles of both sizes and in one that is filled up."""
    row = np.random.default_rng(0).normal(size=(1, len(weights))).astype(np.float32)
    products = np.empty((LARGE + SMALL + 1, weights.shape[1]), dtype=np.float32)
    multiply(np.repeat(row, len(products), axis=0), weights, products)
    return bool((products == products[0]).all())
