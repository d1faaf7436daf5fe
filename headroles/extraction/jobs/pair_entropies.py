"""Entropies of the means of two heads in float32, by one compiled loop over all cells.

The module imports numba, and compiles the loop or reads it from disk. Import it only where it is used.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from llvmlite import ir
from numba import types as numba_types
from numba.core import cgutils
from numba.extending import intrinsic

from headroles.extraction.compiling import compiled, inner

CELLS = 1024
"""Cells in one block: five heads of them fit the nearest cache."""
SPAN = 64
"""Cells in one span: their sums are in float32, and every span has gains of its own."""
LANES = 16
"""Cells of one instruction, where registers have 512 bits; narrower registers take several."""
GROUP = 4
"""Later heads that are compared with an earlier one at once, so that no sum waits for the one before it."""
FEW = 1024
"""Inputs with fewer cells are summed several times with other gains, and averaged."""
SPANS = 256
"""Spans until gains repeat."""
SCALE = -(2.0**127)
"""Factor of a weight in the loop: the bits of a sum of two are then a logarithm without a large offset."""
UNIT = float(np.log(2) / 2**22)
"""Nats of a sum of 1: logarithms have base 2 and steps of 2**-23, and a power counts half."""

_SIZE = np.int32(2**31 - 1)
_MANTISSA = 2**23 - 1
_ONE = 127 << 23
_LARGEST = np.int32(254 << 23)
"""Bits of 2**127: a weight of this size times its factor is no weight of attention, or no number."""
_TERMS = (-0.01655899364, 0.162337634, -0.7078572851, 1.033326319, -0.4045340061)
"""Of μ⁵, μ⁴, μ³, μ² and 1: they are μ log2 μ − μ (μ − 1) on 1 ≤ μ ≤ 2 but for a multiple of μ.

The error is at most 2.6e-6 μ, the smallest that is possible (by linear programming on Chebyshev points).
"""
_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_WHOLE = ir.VectorType(ir.IntType(32), LANES)
_FUSED = ("contract",)
types: Any = numba_types  # numba has no annotations here
code: Any = cgutils


def made_gains() -> Float[np.ndarray, "spans lanes"]:
    """Return a factor from 1/2 to 1 for each lane of each span.

    Logarithms of lanes are shifted by all multiples of 1/16, and those of spans by multiples of the golden
    ratio. So weights that are equal, as in a head that looks at one key or evenly at many, have different
    errors, which cancel.
    """
    shift = np.arange(LANES) * 5 / LANES + np.arange(SPANS)[:, None] * (np.sqrt(5) - 1) / 2
    gains: np.ndarray = np.exp2(-(shift % 1)).astype(np.float32)
    return gains


_GAINS = made_gains()
_BACK = 1 / _GAINS


def _same(kind: ir.VectorType, number: float) -> ir.Constant:
    """Return a constant with one number in every lane."""
    return ir.Constant(kind, [number] * kind.count)


def _times_plus(builder: ir.IRBuilder, one: ir.Value, other: ir.Value, term: ir.Value) -> ir.Value:
    """Return ``one × other + term``, rounded once where the processor can."""
    return builder.fadd(builder.fmul(one, other, flags=_FUSED), term, flags=_FUSED)


def _add_entropies(builder: ir.IRBuilder, mean: ir.Value, total: ir.Value) -> ir.Value:
    """Return the total plus half of m (log2 m + c) in steps of 2**-23, m the mean weight of each lane.

    A mean m is a power of 2 times μ, with 1 ≤ μ < 2. The bits of m × ``SCALE``, as a whole number, are
    log2 m − 2 by straight lines between powers of 2. Without the highest bit of the exponent and the
    sign they are half the power. A polynomial in μ adds what the lines lack. Its term in μ itself is left
    out, which adds a multiple of m: c stays one constant. These are ten instructions for each lane.
    """
    bits = builder.bitcast(mean, _WHOLE)
    mantissa = builder.or_(builder.and_(bits, _same(_WHOLE, _MANTISSA)), _same(_WHOLE, _ONE))
    mantissa = builder.bitcast(mantissa, _FLOATS)
    power = builder.bitcast(builder.and_(bits, _same(_WHOLE, _ONE)), _FLOATS)
    line = builder.sitofp(bits, _FLOATS)
    terms = [_same(_FLOATS, float(np.float32(term * 2**23))) for term in _TERMS]
    curve = terms[0]
    for term in (*terms[1:-1], line, terms[-1]):
        curve = _times_plus(builder, curve, mantissa, term)
    return _times_plus(builder, power, curve, total)


def _sum_lanes(builder: ir.IRBuilder, total: ir.Value) -> ir.Value:
    """Return the sum of all lanes in float64: halves are added."""
    total, lanes = builder.fpext(total, _DOUBLES), LANES
    while lanes > 1:
        lanes //= 2
        indices = ir.VectorType(ir.IntType(32), lanes)
        low, high = (
            builder.shuffle_vector(total, total, ir.Constant(indices, [*range(first, first + lanes)]))
            for first in (0, lanes)
        )
        total = builder.fadd(low, high)
    return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))


def _build_sums(context: Any, part: Any, back: Any, span: Any, earlier: Any, low: Any, cells: Any) -> Any:
    """Return Σ m (log m + c) over cells of the earlier head with each head of a group, m the sum of both.

    Instructions for sixteen cells are written one by one: a compiler takes half of them, where wide registers
    once slowed processors down. The order of all sums is that of this text on any processor.
    """
    result = types.UniTuple(types.float64, GROUP)

    def build(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        rows = context.make_array(part)(context, builder, arguments[0])
        factors = context.make_array(back)(context, builder, arguments[1])
        span, earlier, low, cells = arguments[2:]

        def whole(number: int) -> ir.Constant:
            return ir.Constant(cells.type, number)

        def load(array: Any, row: ir.Value, place: ir.Value) -> ir.Value:
            width = builder.extract_value(array.shape, 1)
            first = builder.gep(array.data, [builder.add(builder.mul(row, width), place)])
            return builder.load(builder.bitcast(first, _FLOATS.as_pointer()), align=4)

        group = [builder.add(low, whole(place)) for place in range(GROUP)]
        sums = [code.alloca_once(builder, _FLOATS) for _ in group]
        for total in sums:
            builder.store(_same(_FLOATS, 0.0), total)
        with code.for_range_slice(builder, whole(0), cells, whole(SPAN), cells.type) as (start, turn):
            parts = [_same(_FLOATS, 0.0)] * GROUP
            for lane in range(0, SPAN, LANES):
                cell = builder.add(start, whole(lane))
                own = load(rows, earlier, cell)
                for place, head in enumerate(group):
                    mean = builder.fadd(own, load(rows, head, cell))
                    parts[place] = _add_entropies(builder, mean, parts[place])
            factor = load(factors, builder.add(span, turn), whole(0))
            for total, added in zip(sums, parts, strict=True):
                builder.store(_times_plus(builder, added, factor, builder.load(total)), total)
        found = [_sum_lanes(builder, builder.load(total)) for total in sums]
        return context.make_tuple(builder, result, found)

    return result(part, back, span, earlier, low, cells), build


_group_sums: Any = intrinsic(_build_sums)


def _fill(
    given: Float[np.ndarray, " cells"],
    gain: Float[np.ndarray, " cells"],
    factor: np.float32,
    floor: np.float32,
    row: Float[np.ndarray, " cells"],
) -> bool:
    """Write scaled weights to a row of a block, and return whether all are weights of attention."""
    largest = np.int32(0)
    for cell in range(len(given)):
        weight = np.float32((given[cell] * factor + floor) * gain[cell])
        row[cell] = weight
        size = np.int32(weight.view(np.int32) & _SIZE)
        largest = size if size > largest else largest
    row[len(given) :] = 0
    return bool(largest < _LARGEST)


_fill = inner(_fill)


def _add_pairs(
    cells: Float[np.ndarray, "heads cells"],
    gains: Float[np.ndarray, "spans lanes"],
    back: Float[np.ndarray, "spans lanes"],
    factor: np.float32,
    floor: np.float32,
    sums: Float[np.ndarray, "heads heads"],
    first: int,
    step: int,
) -> None:
    """Add the sums of the pairs whose earlier head is one of ``first``, ``first + step``, …"""
    heads, count = cells.shape
    rows = -(-heads // GROUP) * GROUP
    room = np.zeros(rows * CELLS + LANES, np.float32)
    skip = -room.ctypes.data // 4 % LANES  # rows then begin where registers load them fastest
    part = room[skip : skip + rows * CELLS].reshape((rows, CELLS))
    gain = np.empty(CELLS, np.float32)
    blocks, turns = -(-count // CELLS), max(1, FEW // max(SPAN, count))
    for block in range(turns * blocks):
        start, span = block % blocks * CELLS, block * (CELLS // SPAN) % SPANS
        size = min(CELLS, count - start)
        for cell in range(CELLS):
            gain[cell] = gains[span + cell // SPAN, cell % LANES]
        for head in range(heads):
            good = _fill(cells[head, start : start + size], gain, factor, floor, part[head])
            if not good and head % step == first:
                sums[head, head] = np.nan
        size = -(-size // SPAN) * SPAN
        for low in range(0, heads, GROUP):
            for earlier in range(first, min(low + GROUP, heads), step):
                found = _group_sums(part, back, span, earlier, low, size)
                for place in range(GROUP):
                    if earlier <= low + place < heads:
                        sums[earlier, low + place] += found[place] / turns


_add_pairs = compiled(
    _add_pairs,
    "void(float32[:,::1], float32[:,::1], float32[:,::1], float32, float32, float64[:,::1], int64, int64)",
    fast=False,
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
        cells: Weights of each head, float32 and contiguous, from 0 to 1.
        factor: Half of a weight is ``factor × weight + floor``.
        floor: More than 0.
        sums: Float64; the upper triangle with the diagonal is added to, in units of ``UNIT`` nats. The sum of
            a head with itself becomes NaN where the head has NaN or weights far above 1.
        first: Earlier head of the first pairs.
        step: Step to the next earlier head.
    """
    _add_pairs(cells, _GAINS, _BACK, np.float32(factor * SCALE), np.float32(floor * SCALE), sums, first, step)
