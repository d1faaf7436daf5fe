"""Plans applied to plain attention arrays in numpy: the reference for every faster engine."""

import numpy as np
from jaxtyping import Float

from headroles.plans.plan import Plan, Profile


def apply(
    plan: Plan, attention: Float[np.ndarray, "heads tokens tokens"]
) -> Float[np.ndarray, "columns heads"]:
    """Return the scores of one layer's heads on one example, one row per column of the plan.

    Args:
        plan: From ``headroles.sieves.weights.plan``, made for the same example and visible set.
        attention: Rows are queries.

    Returns:
        Scores in the precision of the attention; NaN where a sieve has no value.
    """
    heads = len(attention)
    scores = np.full((plan.columns, heads), np.nan, dtype=attention.dtype)
    flat = attention.reshape(heads, -1)
    values = plan.weight @ flat.T
    if plan.divisor is not None:
        base = plan.divisor @ flat.T
        values = np.divide(values, base, out=np.full_like(values, np.nan), where=base > 0)
    scores[plan.linear] = values
    if plan.swaps:
        scores[list(plan.swaps)] = plan.exchanged @ flat.T
    for profile in plan.profiles:
        scores[list(profile.columns)] = contrast(profile, attention)
    return scores


def unit_attention(
    profile: Profile, attention: Float[np.ndarray, "heads tokens tokens"]
) -> Float[np.ndarray, "heads units units"]:
    """Return attention between units: summed over attended pieces, averaged over attending ones."""
    lead, tokens = profile.lead, attention.shape[-1]
    if np.array_equal(lead, np.arange(tokens)):  # every token is a unit
        return attention
    if not profile.extra.size:  # every unit is one token
        units: np.ndarray = attention.reshape(len(attention), -1).take(lead[:, None] * tokens + lead, axis=1)
        return units
    keys = attention.take(lead, axis=2)
    for unit, token in zip(profile.extra_unit, profile.extra, strict=True):
        keys[:, :, unit] += attention[:, :, token]
    units = keys.take(lead, axis=1)
    for unit, token in zip(profile.extra_unit, profile.extra, strict=True):
        units[:, unit] += keys[:, token]
    units /= profile.pieces[:, None]
    return units


def contrast(
    profile: Profile, attention: Float[np.ndarray, "heads tokens tokens"]
) -> Float[np.ndarray, "contrasts heads"]:
    """Return the attention on the counted pairs beyond that expected by the head's distance profile.

    Returns:
        One value per contrast and head; 0 for even attention, and for a fixed offset whose rows without such
        a key look at special tokens or at themselves.
    """
    units = unit_attention(profile, attention)
    curve, rate = distance_profile(units * profile.inside, profile.even, profile.total)
    observed = np.einsum("hrk,rk->hr", units.take(profile.query, axis=1), profile.weight)
    rows = observed - rate[:, profile.query] * (curve @ profile.expected)
    beyond: np.ndarray = np.zeros((len(profile.columns), len(attention)), dtype=rows.dtype)
    np.add.at(beyond, profile.contrast, rows.T)
    return beyond


def distance_profile(
    compared: Float[np.ndarray, "heads units units"],
    even: Float[np.ndarray, " offsets"],
    total: Float[np.ndarray, "offsets units"],
) -> tuple[Float[np.ndarray, "heads offsets"], Float[np.ndarray, "heads units"]]:
    """Return f(d) and rate_i of each head: the head puts ``rate_i f(j−i) U_ij`` on a pair by distance alone.

    With A, R, U and f as in ``headroles.plans.plan.Profile``, ``rate_i = Σ_k A_ik / Σ_k f(k−i) U_ik`` over R.

    Args:
        compared: A on R, 0 elsewhere.
        even: Σ U over R at each offset.
        total: U on R by offset and query.
    """
    offsets = _offset_sums(compared)
    curve = np.divide(offsets, even, out=np.zeros_like(offsets), where=even > 0)
    normaliser = curve @ total
    mass = compared.sum(axis=2)
    return curve, np.divide(mass, normaliser, out=np.zeros_like(mass), where=normaliser > 0)


def _offset_sums(compared: Float[np.ndarray, "heads units units"]) -> Float[np.ndarray, "heads offsets"]:
    """Return the sum over pairs at each signed offset; offset d has index ``d + units − 1``.

    A row is written one place before the end of the row above it, so that offsets are columns.
    """
    heads, units = compared.shape[:2]
    width = 2 * units - 1
    sheared = np.zeros((heads, units * width), dtype=compared.dtype)
    step = sheared.itemsize
    rows = np.lib.stride_tricks.as_strided(
        sheared[:, units - 1 :], compared.shape, (sheared.strides[0], (width - 1) * step, step)
    )
    rows[...] = compared
    sums: np.ndarray = sheared.reshape(heads, units, width).sum(axis=1)
    return sums
