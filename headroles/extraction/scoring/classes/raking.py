"""Profiles raked to the sums of further tables, by one compiled loop over pairs of words.

The module imports numba, and compiles the loop or reads it from disk. Import it only where it is used.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from headroles.extraction.compiling import compiled, inner
from headroles.plans.class_profile import RAKED, SHRINKAGE


def _add_products(
    first: Float[np.ndarray, "cells heads"],
    factor: Float[np.ndarray, "factors heads"],
    place: Int[np.ndarray, "pairs tables"],
    weight: Float[np.ndarray, " pairs"],
    into: Int[np.ndarray, " pairs"],
    sums: Float[np.ndarray, "rows heads"],
) -> None:
    """Add the weighted profile of each pair to a row of sums; see ``products``."""
    heads = first.shape[1]
    for pair in range(len(place)):  # with places from 0 on, the compiler multiplies several heads at a time
        own, one = np.uint32(place[pair, 0]), np.uint32(place[pair, 1])
        two, three = np.uint32(place[pair, 2]), np.uint32(place[pair, 3])
        row, share = np.uint32(into[pair]), weight[pair]
        for head in range(heads):
            found = first[own, head] * factor[one, head] * factor[two, head] * factor[three, head]
            sums[row, head] += share * found


_inner: Any = inner(_add_products)


def _rake_table(
    first: Float[np.ndarray, "cells heads"],
    factor: Float[np.ndarray, "factors heads"],
    place: Int[np.ndarray, "pairs tables"],
    weight: Float[np.ndarray, " pairs"],
    rows: Int[np.ndarray, "3"],
    observed: Float[np.ndarray, "factors heads"],
    sums: Float[np.ndarray, "factors heads"],
    shrinkage: float,
) -> None:
    """Rake the factors of one table; ``rows`` are its number, its first row, and one past its last."""
    table, low, high = rows[0], rows[1], rows[2]
    sums[low:high] = 0
    _inner(first, factor, place, weight, place[:, table], sums)
    for row in range(low, high):
        for head in range(sums.shape[1]):
            factor[row, head] *= (observed[row, head] + shrinkage) / (sums[row, head] + shrinkage)


_compiled: Any = compiled(
    _add_products, "void(f4[:, ::1], f4[:, ::1], i4[:, ::1], f4[::1], i4[::1], f8[:, ::1])"
)
_raked: Any = compiled(
    _rake_table,
    "void(f4[:, ::1], f4[:, ::1], i4[:, ::1], f4[::1], i8[::1], f8[:, ::1], f8[:, ::1], f8)",
)


def products(
    first: Float[np.ndarray, "cells heads"],
    factor: Float[np.ndarray, "factors heads"],
    place: Int[np.ndarray, "pairs tables"],
    weight: Float[np.ndarray, " pairs"],
    into: Int[np.ndarray, " pairs"],
    rows: int,
) -> Float[np.ndarray, "rows heads"]:
    """Return sums of the profile g of some pairs, weighted.

    Args:
        first: f of each cell of the first table, in float32.
        factor: r of the cells of the other tables, in float32.
        place: Row of each pair in ``first``, then its rows in ``factor``, in int32.
        weight: Weight of each pair, in float32.
        into: The row of sums that each pair joins, in int32.
        rows: Number of these rows.

    Example:
        >>> given = np.array([[2.0], [3.0]], np.float32), np.array([[1.0], [0.5]], np.float32)
        >>> place, ones = np.array([[0, 0, 0, 0], [1, 0, 1, 1]], np.int32), np.ones(2, np.float32)
        >>> products(*given, place, ones, np.zeros(2, np.int32), 1).tolist()
        [[2.75]]
    """
    sums = np.zeros((rows, first.shape[1]))
    _compiled(first, factor, place, weight, into, sums)
    return sums


def rake(
    first: Float[np.ndarray, "cells heads"],
    place: Int[np.ndarray, "pairs tables"],
    weight: Float[np.ndarray, " pairs"],
    observed: Float[np.ndarray, "factors heads"],
    opens: Int[np.ndarray, "_"],
) -> Float[np.ndarray, "factors heads"]:
    """Return r of ``headroles.plans.class_profile`` for the cells of the other tables; 1 without pairs.

    Args:
        first: f of each cell of the first table, in float32.
        place: Row of each pair of the half in ``first``, then its rows in ``observed``, in int32.
        weight: 1/n of each pair, in float32.
        observed: Σ A of each cell of the other tables; 0 without pairs.
        opens: First row in ``observed`` of each of the other tables, and one past the last of all.
    """
    factor = np.ones(observed.shape, dtype=np.float32)
    sums = np.empty(observed.shape)
    for table in RAKED:
        rows = np.array([table, opens[table - 1], opens[table]], dtype=np.int64)
        _raked(first, factor, place, weight, rows, observed, sums, SHRINKAGE)
    return factor
