"""Plans applied to plain attention arrays in numpy: the reference for every faster engine."""

import numpy as np
from jaxtyping import Float, Int

from headroles.plans.plan import Plan, Profile

CELLS = 2**6
"""Cells of a map that are summed in the precision of the attention; these sums are added in float64."""
ROWS = 64
"""Rows of a map whose sums by offset are in the precision of the attention, and added in float64."""
CACHED = 2**19
"""Cells of the heads that are compared with their distance profiles at a time, so that a cache holds them."""
RUNS = 16
"""Most runs of keys that are copied run by run; more are copied key by key, which is then as fast."""


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
    heads = len(attention)
    scores = np.full((plan.columns, heads), np.nan)
    flat = attention.reshape(heads, -1)
    if plan.divisor is None:
        values = weighted_sums(plan.weight, flat)
    else:
        exact = flat.astype(np.float64, copy=False)  # a ratio has the rounding of both of its sums
        values, base = weighted_sums(plan.weight, exact), weighted_sums(plan.divisor, exact)
        values = np.divide(values, base, out=np.full_like(values, np.nan), where=base > 0)
    scores[plan.linear] = values
    if plan.swaps:
        scores[list(plan.swaps)] = weighted_sums(plan.exchanged, flat)
    for profile in plan.profiles:
        scores[list(profile.columns)] = contrasts(profile, attention)
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


def unit_attention(
    profile: Profile, attention: Float[np.ndarray, "heads tokens tokens"]
) -> Float[np.ndarray, "heads units units"]:
    """Return attention between units: summed over attended pieces, averaged over attending ones."""
    lead, tokens = profile.lead, attention.shape[-1]
    if np.array_equal(lead, np.arange(tokens)):  # every token is a unit
        return attention
    if not profile.extra.size:  # every unit is one token
        return _chosen_keys(attention.take(lead, axis=1), lead)
    keys = _chosen_keys(attention, lead)
    for unit, token in zip(profile.extra_unit, profile.extra, strict=True):
        keys[:, :, unit] += attention[:, :, token]
    units = keys.take(lead, axis=1)
    for unit, token in zip(profile.extra_unit, profile.extra, strict=True):
        units[:, unit] += keys[:, token]
    units /= profile.pieces[:, None]
    return units


def contrasts(
    profile: Profile, attention: Float[np.ndarray, "heads tokens tokens"]
) -> Float[np.ndarray, "contrasts heads"]:
    """Return the attention on the counted pairs beyond that expected by the head's distance profile.

    Returns:
        One value per contrast and head; 0 for even attention, and for a fixed offset whose rows without such
        a key look at special tokens or at themselves.
    """
    count = len(profile.columns)
    weight = np.zeros((count, *profile.inside.shape), dtype=attention.dtype)
    weight[profile.contrast, profile.query] = profile.weight
    opens = np.searchsorted(profile.contrast, np.arange(count))  # every contrast has rows, one after another
    beyond = np.empty((count, len(attention)))
    some = max(1, CACHED // max(1, attention[0].size))
    for head in range(0, len(attention), some):
        units = unit_attention(profile, attention[head : head + some])
        curve, rate = distance_profile(units, profile.inside, profile.even, profile.total)
        observed = weighted_sums(weight.reshape(count, -1), units.reshape(len(units), -1))
        expected = rate[:, profile.query] * (curve @ profile.expected)
        beyond[:, head : head + some] = observed - np.add.reduceat(expected, opens, axis=1).T
    return beyond


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
    inside = inside.astype(units.dtype, copy=False)
    offsets = _offset_sums(units, inside)
    curve = np.divide(offsets, even, out=np.zeros_like(offsets), where=even > 0)
    normaliser = curve @ total
    mass = np.vecdot(units, inside).astype(np.float64)
    return curve, np.divide(mass, normaliser, out=np.zeros_like(mass), where=normaliser > 0)


def _offset_sums(
    units: Float[np.ndarray, "heads units units"], inside: Float[np.ndarray, "units units"]
) -> Float[np.ndarray, "heads offsets"]:
    """Return the sum over the pairs inside at each signed offset; offset d has index ``d + units − 1``.

    Each row is written one place further left than the row above it, so that offsets are columns.
    """
    heads, count = units.shape[:2]
    sums = np.zeros((heads, 2 * count - 1))
    for start in range(0, count, ROWS):
        stop = min(start + ROWS, count)
        rows = stop - start
        width = count + rows - 1
        sheared = np.zeros((heads, rows * width), dtype=units.dtype)
        step = sheared.itemsize
        place = np.lib.stride_tricks.as_strided(
            sheared[:, rows - 1 :], (heads, rows, count), (sheared.strides[0], (width - 1) * step, step)
        )
        np.multiply(units[:, start:stop], inside[start:stop], out=place)
        sums[:, count - stop : count - stop + width] += _column_sums(sheared.reshape(heads, rows, width))
    return sums


def _column_sums(rows: Float[np.ndarray, "heads rows offsets"]) -> Float[np.ndarray, "heads offsets"]:
    """Return the sums over rows, which are overwritten: halves of them are added, so few roundings add up."""
    count = rows.shape[1]
    while count > 1:
        half = count // 2
        rows[:, :half] += rows[:, count - half : count]
        count -= half
    first: np.ndarray = rows[:, 0]
    return first


def _chosen_keys(
    attention: Float[np.ndarray, "heads tokens tokens"], keys: Int[np.ndarray, " units"]
) -> Float[np.ndarray, "heads tokens units"]:
    """Return the columns of some keys; keys that follow each other are copied together."""
    parts = np.split(keys, np.flatnonzero(np.diff(keys) != 1) + 1)
    if len(parts) > RUNS:
        return attention.take(keys, axis=2)
    chosen: np.ndarray = np.concatenate([attention[..., part[0] : part[-1] + 1] for part in parts], axis=2)
    return chosen
