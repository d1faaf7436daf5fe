"""Plans applied to plain attention arrays in numpy: the reference for every faster engine."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from numpy.lib.stride_tricks import as_strided

from headroles.plans.plan import Plan, Profile

CELLS = 2**8
"""Cells of a map that are summed in the precision of the attention; these sums are added in float64."""
ROWS = 16
"""Rows of a map whose sums by offset are in the precision of the attention, and added in float64."""
CACHED = 2**16
"""Cells of the heads that are read at a time, so that a cache holds them."""
SMALL = 2**18
"""Most multiplications of a product that linear algebra does not share among threads, which then wait."""
RUNS = 16
"""Most runs of tokens that are copied run by run; more are copied token by token, which is then as fast."""


def apply(
    plan: Plan, attention: Float[np.ndarray, "heads tokens tokens"]
) -> Float[np.ndarray, "columns heads"]:
    """Return the scores of heads on one example, one row per column of the plan.

    Args:
        plan: From ``headroles.sieves.weights.plan``, made for the same example and visible set.
        attention: Rows are queries; heads of one layer or of several.

    Returns:
        Scores in float64; NaN where a sieve has no value. With a plan in float64, attention in float32 gives
        scores within 1e-6 of those of the same cells in float64.
    """
    heads, tokens = attention.shape[:2]
    scores = np.full((plan.columns, heads), np.nan)
    flat = attention.reshape(heads, -1)
    columns, weights = [*plan.swaps], [plan.exchanged] if plan.swaps else []
    for profile in plan.profiles:
        columns += profile.columns
        weights.append(token_weights(profile, tokens).reshape(-1, tokens**2))
    if plan.divisor is None:
        columns += plan.linear.tolist()
        weights.append(plan.weight)
    else:
        exact = flat.astype(np.float64, copy=False)  # a ratio has the rounding of both of its sums
        values, base = weighted_sums(plan.weight, exact), weighted_sums(plan.divisor, exact)
        scores[plan.linear] = np.divide(values, base, out=np.full_like(values, np.nan), where=base > 0)
    if columns:
        scores[columns] = weighted_sums(np.concatenate(weights, dtype=flat.dtype, casting="same_kind"), flat)
    for profile in plan.profiles:
        scores[list(profile.columns)] -= expected_attention(profile, attention)
    return scores


def weighted_sums(
    weight: Float[np.ndarray, "sums cells"], flat: Float[np.ndarray, "heads cells"]
) -> Float[np.ndarray, "sums heads"]:
    """Return Σ weight · attention in float64, from sums of ``CELLS`` cells in the attention's precision."""
    weight = weight.astype(flat.dtype, copy=False)
    whole = flat.shape[1] // CELLS * CELLS
    sums: np.ndarray = (weight[:, whole:] @ flat[:, whole:].T).astype(np.float64)
    if whole:
        parts = (array[:, :whole].reshape(len(array), whole // CELLS, CELLS) for array in (weight, flat))
        own, attended = (part.transpose(1, 0, 2) for part in parts)
        sums += np.matmul(own, attended.transpose(0, 2, 1)).sum(axis=0, dtype=np.float64)
    return sums


def token_weights(profile: Profile, tokens: int) -> Float[np.ndarray, "contrasts tokens tokens"]:
    """Return the weights of the contrasts of a profile on cells between tokens.

    Attention between units is summed over attended pieces and averaged over attending ones.
    """
    weight = np.zeros((len(profile.columns), *profile.inside.shape), dtype=profile.weight.dtype)
    weight[profile.contrast, profile.query] = profile.weight
    if every_token(profile, tokens):
        return weight
    unit = np.full(tokens, -1)
    unit[profile.lead], unit[profile.extra] = np.arange(len(profile.lead)), profile.extra_unit
    inside = np.flatnonzero(unit >= 0)
    own = unit[inside]
    spread = np.zeros((len(weight), tokens, tokens), dtype=weight.dtype)
    spread[:, inside[:, None], inside] = (weight / profile.pieces[:, None])[:, own[:, None], own]
    return spread


def every_token(profile: Profile, tokens: int) -> bool:
    """Return whether every token is a unit."""
    return np.array_equal(profile.lead, np.arange(tokens))


def unit_attention(
    profile: Profile, attention: Float[np.ndarray, "heads tokens tokens"]
) -> Float[np.ndarray, "heads units units"]:
    """Return attention between units: summed over attended pieces, averaged over attending ones."""
    keys = attention.take(profile.lead, axis=2)
    for unit, token in zip(profile.extra_unit, profile.extra, strict=True):
        keys[:, :, unit] += attention[:, :, token]
    units = keys.take(profile.lead, axis=1)
    for unit, token in zip(profile.extra_unit, profile.extra, strict=True):
        units[:, unit] += keys[:, token]
    units /= profile.pieces[:, None]
    return units


def expected_attention(
    profile: Profile, attention: Float[np.ndarray, "heads tokens tokens"]
) -> Float[np.ndarray, "contrasts heads"]:
    """Return the attention on the counted pairs that each head's distance profile expects."""
    starts = np.flatnonzero(np.diff(profile.lead, prepend=-2) != 1)
    runs = [
        (slice(start, stop), slice(profile.lead[start], profile.lead[start] + stop - start))
        for start, stop in zip(starts, [*starts[1:], len(profile.lead)], strict=True)
    ]

    def write(first: int, stop: int, maps: np.ndarray) -> None:
        part = attention[first:stop]
        if profile.extra.size or len(runs) > RUNS:
            maps[...] = unit_attention(profile, part)
            return
        for rows, queries in runs:  # every unit is one token
            for columns, keys in runs:
                maps[:, rows, columns] = part[:, queries, keys]

    inside = profile.inside.astype(attention.dtype, copy=False)
    offsets, mass = sums_of_pairs(write, len(attention), inside)
    curve = _curve(offsets, profile.even)
    rate = _rate(mass[:, profile.query], _product(curve, profile.total[:, profile.query]))
    opens = np.searchsorted(profile.contrast, np.arange(len(profile.columns)))  # each has rows, in order
    expected: np.ndarray = np.add.reduceat(rate * _product(curve, profile.expected), opens, axis=1).T
    return expected


def sums_of_pairs(
    write: Callable[[int, int, np.ndarray], None], heads: int, inside: Float[np.ndarray, "units units"]
) -> tuple[Float[np.ndarray, "heads offsets"], Float[np.ndarray, "heads units"]]:
    """Return sums over pairs inside by offset, where offset d has index ``d + units − 1``, and by row.

    Maps of a few heads at a time are written with each row one place further left than the row above it.
    Blocks of ``ROWS`` rows so have offsets as columns; the cells between rows are 0.

    Args:
        write: Write the maps of heads from a first one up to a last one (excluded).
        heads: Number of heads.
        inside: 1 on the pairs that are summed, else 0.
    """
    units, dtype = len(inside), inside.dtype
    some = min(heads, max(1, CACHED // max(1, inside.size)))
    room, maps, rows = shifted_rows(some, units, dtype)
    counted, mask, _ = shifted_rows(1, units, dtype)
    mask[0] = inside
    blocks, width = rows.shape[1], rows.shape[3]
    by_block = np.empty((heads, blocks, width), dtype=dtype)
    mass, ones = np.empty((heads, units), dtype=dtype), np.ones(units, dtype=dtype)
    for first in range(0, heads, some):
        stop = min(first + some, heads)
        here = slice(stop - first)
        write(first, stop, maps[here])
        room[here] *= counted
        np.add.reduce(rows[here], axis=2, out=by_block[first:stop])
        np.matmul(maps[here], ones, out=mass[first:stop])
    sums = np.zeros((heads, blocks * ROWS + width))
    for block in range(blocks):
        place = (blocks - 1 - block) * ROWS
        sums[:, place : place + width] += by_block[:, block]
    return sums[:, blocks * ROWS - units + 1 : blocks * ROWS + units], mass.astype(np.float64)


def shifted_rows(
    heads: int, units: int, dtype: np.dtype[np.floating]
) -> tuple[np.ndarray, np.ndarray, Float[np.ndarray, "heads blocks rows columns"]]:
    """Return zeros, their view as maps of units × units, and their view as blocks of rows.

    Column c of block b holds the cells of the maps at offset ``c − ROWS (b + 1)``.
    """
    blocks, width = -(-units // ROWS), units + ROWS + 1
    room = np.zeros((heads, blocks * ROWS * (width - 1) + ROWS), dtype=dtype)
    head, cell = room.strides
    maps = as_strided(room[:, ROWS:], (heads, units, units), (head, (width - 1) * cell, cell))
    strides = (head, ROWS * (width - 1) * cell, width * cell, cell)
    return room, maps, as_strided(room, (heads, blocks, ROWS, width), strides)


def distance_profile(
    units: Float[np.ndarray, "heads units units"],
    inside: Float[np.ndarray, "units units"],
    even: Float[np.ndarray, " offsets"],
    total: Float[np.ndarray, "offsets units"],
) -> tuple[Float[np.ndarray, "heads offsets"], Float[np.ndarray, "heads units"]]:
    """Return f(d) and rate_i of each head: the head puts ``rate_i f(j−i) U_ij`` on a pair by distance alone.

    With A, R, U and f as in ``headroles.plans.plan.Profile``, ``rate_i = Σ_k A_ik / Σ_k f(k−i) U_ik`` over R.

    Args:
        units: A.
        inside: 1 on the pairs of R, else 0.
        even: Σ U over R at each offset.
        total: U on R by offset and query.
    """

    def write(first: int, stop: int, maps: np.ndarray) -> None:
        maps[...] = units[first:stop]

    offsets, mass = sums_of_pairs(write, len(units), inside.astype(units.dtype, copy=False))
    curve = _curve(offsets, even)
    return curve, _rate(mass, _product(curve, total))


def _product(
    curve: Float[np.ndarray, "heads offsets"], table: Float[np.ndarray, "offsets rows"]
) -> Float[np.ndarray, "heads rows"]:
    """Return ``curve @ table``, for a few heads at a time where that keeps products small."""
    some = SMALL // max(1, table.size) or len(curve)
    return np.concatenate([curve[head : head + some] @ table for head in range(0, len(curve), some)])


def _curve(
    offsets: Float[np.ndarray, "heads offsets"], even: Float[np.ndarray, " offsets"]
) -> Float[np.ndarray, "heads offsets"]:
    """Return f(d), 0 at offsets without pairs."""
    curve: np.ndarray = np.divide(offsets, even, out=np.zeros_like(offsets), where=even > 0)
    return curve


def _rate(
    mass: Float[np.ndarray, "heads units"], normaliser: Float[np.ndarray, "heads units"]
) -> Float[np.ndarray, "heads units"]:
    """Return rate_i, 0 for units without attention on pairs."""
    rate: np.ndarray = np.divide(mass, normaliser, out=np.zeros_like(mass), where=normaliser > 0)
    return rate
