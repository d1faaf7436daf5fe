"""Entropies of the means of two heads in float32, by one compiled loop over all cells.

The module imports numba, which compiles the loop when it is first called and keeps it on disk. Import it
only where it is used.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from jaxtyping import Float

CELLS = 1024
"""Cells in one block: their sums in float32 stay accurate, and blocks of ``LATER`` heads stay in a cache."""
LATER = 16
"""Heads that are compared with every head up to them while they stay in a cache."""
UNIT = float(np.log(2) / 2**23)
"""Nats of a sum of 1: logarithms have base 2, and are counted in steps of the last bit of a float32."""

_EXPONENT = 23
_MANTISSA = np.int32(2**_EXPONENT - 1)
_ONE = np.int32(127 << _EXPONENT)
_START = np.int32((127 - 3) << _EXPONENT)
"""Bits of 2**-3, whose logarithm counts as 0: sums over sharp and even rows then stay small and accurate."""
_MIDDLE = np.float32(1.5)
_TERMS = (
    -0.0090889054184651022,
    0.014778805244051155,
    -0.020578753302818182,
    0.037462900647331461,
    -0.071299745393671337,
    0.14252637476085694,
    -0.32059682926240781,
    -0.038204028441316165,
)
"""Polynomial in μ − 1.5 next to log2(μ) − μ on 1 ≤ μ ≤ 2, without its constant: within 4.3e-8 by Remez."""
_C8, _C7, _C6, _C5, _C4, _C3, _C2, _C1 = (np.float32(term * 2**_EXPONENT) for term in _TERMS)


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function; keep it on disk where there is a folder for it."""
    try:
        compiled: Callable[..., Any] = numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # neither the package nor the cache of the user can be written
        compiled = numba.njit(nogil=True, **options)(function)
    return compiled


def _pair_sum(one: Float[np.ndarray, " cells"], other: Float[np.ndarray, " cells"]) -> Any:
    """Return Σ m (log m + c) over cells: m is the sum of both numbers, c a constant.

    As a whole number, the bits of m are log m with straight lines between powers of 2. A polynomial in the
    mantissa μ adds log μ − μ. NaN stays NaN, since m is a factor.
    """
    total = np.float32(0)
    for cell in range(one.size):
        mean = np.float32(one[cell] + other[cell])
        bits = np.float32(mean).view(np.int32)
        x = np.float32(np.int32((bits & _MANTISSA) | _ONE).view(np.float32) - _MIDDLE)
        curve = ((((((_C8 * x + _C7) * x + _C6) * x + _C5) * x + _C4) * x + _C3) * x + _C2) * x + _C1
        total += mean * (curve * x + np.float32(np.int32(bits - _START)))
    return total


def _add_pairs(
    halves: Float[np.ndarray, "heads cells"], sums: Float[np.ndarray, "heads heads"], first: int, step: int
) -> None:
    """Add the sums of the pairs whose earlier head is one of ``first``, ``first + step``, …"""
    heads, cells = halves.shape
    for start in range(0, cells, CELLS):
        stop = min(start + CELLS, cells)
        for low in range(0, heads, LATER):
            high = min(low + LATER, heads)
            for earlier in range(first, high, step):
                for later in range(max(earlier, low), high):
                    sums[earlier, later] += _pair_sum(halves[earlier, start:stop], halves[later, start:stop])


_pair_sum = _compiled(_pair_sum, fastmath={"reassoc", "contract", "nsz"})
_add_pairs = _compiled(_add_pairs)


def add_pairs(
    halves: Float[np.ndarray, "heads cells"], sums: Float[np.ndarray, "heads heads"], first: int, step: int
) -> None:
    """Add Σ m (log m + c) of pairs of heads to ``sums``: m is the mean of both weights, c a constant.

    In ``(sums[i, i] + sums[j, j]) / 2 − sums[i, j]`` the constant cancels. One call sums all cells of a pair,
    block after block. So a sum does not depend on how many calls share the pairs.

    Args:
        halves: Half of every weight, float32 and contiguous.
        sums: Float64; the upper triangle with the diagonal is added to, in units of ``UNIT`` nats.
        first: Earlier head of the first pairs.
        step: Step to the next earlier head.
    """
    _add_pairs(halves, sums, first, step)
