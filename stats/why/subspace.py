"""How many directions of queries and keys carry a role beyond distance? Singular values against re-deals.

A re-deal moves the role's cells of an input to random rows, at the same offsets. So distance explains as much
as before. The directions depend on no basis.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from headroles.records.causal.origins import Products

TIE = 1e-5
"""Singular values this close, as a part of the larger, are equal but for rounding of stored sums."""
ONE_IN = 20
"""A first direction is found by chance in one of so many families, where each query chooses its own cells."""
NOT_ASKED = -1
"""Rank without re-deals."""


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Directions beyond distance, one entry per family.

    Attributes:
        strongest: Largest singular value of the mean outer product; NaN where it is unknown.
        expected: 95 % point of the largest singular value over re-deals; NaN where there are too few.
        rank: Number of singular values above it; −1 where it is NaN.
    """

    strongest: Float[np.ndarray, " families"]
    expected: Float[np.ndarray, " families"]
    rank: Int[np.ndarray, " families"]


def ninety_five(redealt: Float[np.ndarray, "families redeals"]) -> Float[np.ndarray, " families"]:
    """Return the value that one more draw from the same source exceeds with a chance of at most 5 %.

    It is the largest of 19, and the k-th largest of 20 k − 1.

    Returns:
        NaN with fewer than 19 values, or where one is unknown.

    Example:
        >>> ninety_five(np.arange(39.0)[None]).tolist(), ninety_five(np.arange(18.0)[None]).tolist()
        ([37.0], [nan])
    """
    place = (redealt.shape[1] + 1) // ONE_IN
    if place < 1:
        return np.full(len(redealt), np.nan)
    point: np.ndarray = np.sort(redealt.astype(np.float64), axis=1)[:, -place]
    return np.where(np.isnan(redealt).any(axis=1), np.nan, point)


def find_directions(products: Products) -> Directions:
    """Count for every family the directions that carry it beyond distance.

    Null: each query takes its cells by chance, at their offsets in the same input. Alternative: their keys
    differ along some direction of the queries. Statistic: the singular values of ``outer``. All are compared
    with the 95 % point of the largest over re-deals. So a first direction is found by chance in about 5 %
    of families, and further ones more rarely. It is not corrected over families: 19 re-deals give no p below
    0.05. Unit: the re-deal of the cells of all inputs. A role that takes every cell at its offsets, such as
    the previous token, is its own re-deal. Its rank is 0. Assumption: queries choose their cells apart from
    each other. Where many share one key, a re-deal averages over many keys, and even a random key is found.

    Args:
        products: With at least 19 re-deals; else rank is −1.
    """
    known = np.isfinite(products.outer).all(axis=(1, 2))
    values = singular_values(np.where(known[:, None, None], products.outer, 0.0))
    strongest = np.where(known, values.max(axis=1, initial=0.0), np.nan)
    expected = np.where(known, ninety_five(products.redealt), np.nan)
    with np.errstate(invalid="ignore"):
        rank = (values > expected[:, None] * (1 + TIE)).sum(axis=1)
    return Directions(strongest, expected, np.where(np.isnan(expected), NOT_ASKED, rank))


def singular_values(outer: Float[np.ndarray, "families size size"]) -> Float[np.ndarray, "families size"]:
    """Return the singular values of every matrix, largest first."""
    values: np.ndarray = np.linalg.svd(outer.astype(np.float64), compute_uv=False)
    return values


def query_directions(outer: Float[np.ndarray, "size size"], rank: int) -> Float[np.ndarray, "size rank"]:
    """Return the orthonormal directions of queries with the largest singular values.

    Args:
        outer: Mean of query times difference of keys: left singular vectors are of queries.
        rank: Number of directions.

    Example:
        >>> np.abs(query_directions(np.array([[0.0, 2.0], [0.0, 0.0]]), 1)).tolist()
        [[1.0], [0.0]]
    """
    left: np.ndarray = np.linalg.svd(outer.astype(np.float64))[0][:, :rank]
    return left
