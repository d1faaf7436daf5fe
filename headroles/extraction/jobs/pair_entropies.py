"""Entropies of the means of two heads in float32, by one compiled loop over all cells.

The module imports numba, and compiles the loop or reads it from disk. Import it only where it is used.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.extraction.compiling import compiled, inner

CELLS = 1024
"""Cells in one block: their sums in float32 stay accurate, and five of them fit the nearest cache."""
GROUP = 4
"""Later heads that are compared with an earlier one at once, so that no sum waits for the one before it."""
LANES = 8
"""The last block is filled up with zeros, which add nothing, to a multiple of these cells."""
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
_C8, _C7, _C6, _C5, _C4, _C3, _C2, _C1 = ((np.float32(term * 2**_EXPONENT),) * GROUP for term in _TERMS)
_ZEROS = (np.float32(0),) * GROUP

Four = tuple[Any, ...]
"""A number of each head of a group."""


def _times_plus(one: Four, other: Four, term: Four) -> Four:
    """Return ``one × other + term`` of each head."""
    return (
        one[0] * other[0] + term[0],
        one[1] * other[1] + term[1],
        one[2] * other[2] + term[2],
        one[3] * other[3] + term[3],
    )


def _mantissa(bits: Any) -> Any:
    """Return μ − 1.5 of a number's bits, with μ from 1 to 2."""
    return np.float32(np.int32((bits & _MANTISSA) | _ONE).view(np.float32) - _MIDDLE)


def _line(bits: Any) -> Any:
    """Return the logarithm as straight lines between powers of 2: the bits of a number as a whole number."""
    return np.float32(np.int32(bits - _START))


_times_plus, _mantissa, _line = inner(_times_plus), inner(_mantissa), inner(_line)


def _group_sums(
    earlier: Float[np.ndarray, " cells"],
    later: tuple[Float[np.ndarray, " cells"], ...],
    cells: int,
) -> Four:
    """Return Σ m (log m + c) over cells of each later head, m the sum of both numbers, c one constant.

    The bits of m as a whole number are log m of straight lines between powers of 2; a polynomial in the
    mantissa μ adds log μ − μ. NaN stays NaN, since m is a factor. The steps of all heads alternate, because a
    processor finishes a step several cycles after it starts it.
    """
    a, b, c, d = later
    total = _ZEROS
    for cell in range(cells):
        own = earlier[cell]
        mean = (own + a[cell], own + b[cell], own + c[cell], own + d[cell])
        p = np.float32(mean[0]).view(np.int32)
        q = np.float32(mean[1]).view(np.int32)
        r = np.float32(mean[2]).view(np.int32)
        s = np.float32(mean[3]).view(np.int32)
        x = (_mantissa(p), _mantissa(q), _mantissa(r), _mantissa(s))
        curve = _times_plus(_C8, x, _C7)
        curve = _times_plus(curve, x, _C6)
        curve = _times_plus(curve, x, _C5)
        curve = _times_plus(curve, x, _C4)
        curve = _times_plus(curve, x, _C3)
        curve = _times_plus(curve, x, _C2)
        curve = _times_plus(curve, x, _C1)
        logarithm = _times_plus(curve, x, (_line(p), _line(q), _line(r), _line(s)))
        total = _times_plus(mean, logarithm, total)
    return total


_group_sums = inner(_group_sums)


def _add_pairs(
    cells: Float[np.ndarray, "heads cells"],
    factor: np.float32,
    floor: np.float32,
    sums: Float[np.ndarray, "heads heads"],
    first: int,
    step: int,
) -> None:
    """Add the sums of the pairs whose earlier head is one of ``first``, ``first + step``, …"""
    heads, count = cells.shape
    part = np.zeros((-(-heads // GROUP) * GROUP, CELLS), np.float32)
    for start in range(0, count, CELLS):
        size = min(CELLS, count - start)
        part[:, size:] = 0
        for head in range(heads):
            for cell in range(size):
                part[head, cell] = cells[head, start + cell] * factor + floor
        size = -(-size // LANES) * LANES
        for low in range(0, heads, GROUP):
            group = (part[low], part[low + 1], part[low + 2], part[low + 3])
            for earlier in range(first, min(low + GROUP, heads), step):
                found = _group_sums(part[earlier], group, size)
                for place in range(GROUP):
                    if earlier <= low + place < heads:
                        sums[earlier, low + place] += found[place]


_add_pairs = compiled(
    _add_pairs, "void(float32[:,::1], float32, float32, float64[:,::1], int64, int64)", fast=False
)


def add_pairs(
    cells: Float[np.ndarray, "heads cells"],
    factor: float,
    floor: float,
    sums: Float[np.ndarray, "heads heads"],
    first: int,
    step: int,
) -> None:
    """Add Σ m (log m + c) of pairs of heads to ``sums``: m is the mean of both weights, c a constant.

    In ``(sums[i, i] + sums[j, j]) / 2 − sums[i, j]`` the constant cancels. One call sums all cells of a pair,
    block after block. So a sum does not depend on how many calls share the pairs.

    Args:
        cells: Weights of each head, float32 and contiguous.
        factor: Half of a weight is ``factor × weight + floor``.
        floor: More than 0.
        sums: Float64; the upper triangle with the diagonal is added to, in units of ``UNIT`` nats.
        first: Earlier head of the first pairs.
        step: Step to the next earlier head.
    """
    _add_pairs(cells, np.float32(factor), np.float32(floor), sums, first, step)
