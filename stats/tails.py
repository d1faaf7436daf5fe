"""Heads whose scores have heavy tails where a decision could go either way."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from headroles.records.example import Decision
from headroles.stats.columns import Column
from headroles.stats.moments import describe
from headroles.stats.naming import shortened

HEAVY = 9.0
"""Kurtosis above which a tail is called heavy: that of an exponential distribution; a normal one has 3."""
NEAR = 6.0
"""Standard errors from θ within which a head's decision could go either way."""


def tail_remarks(columns: Sequence[Column], decision: Decision) -> list[str]:
    """One sentence that names the roles with such heads; none for other tests, or under max-t.

    Args:
        columns: What was tested: scores of units, or random groups that stand in for them.
        decision: How.
    """
    if decision.test != "t-skew" or decision.correction == "maxT":
        return []
    told = []
    for column in columns:
        if not column.rule.role:
            continue
        near = np.abs(column.errors_beyond(describe(column.values))) < NEAR
        heavy = int((kurtosis(column.values[:, near]) > HEAVY).sum())
        if heavy:
            told.append(f"{column.rule.sieve} ({heavy} of {int(near.sum())} heads)")
    if not told:
        return []
    return [
        f"heavy tails (kurtosis above {HEAVY:g}) close to θ: {shortened(told)}; t-skew errs more often there "
        f"than alpha says (0.08 to 0.13 of families instead of 0.05 in simulations), so hold their labels "
        f"against those of maxT."
    ]


def kurtosis(values: Float[np.ndarray, "units heads"]) -> Float[np.ndarray, " heads"]:
    """Fourth central moment over the squared second, both divided by n (``scipy.stats.kurtosis`` plus 3).

    NaN units are left out; 0 for a head without spread or without scores.
    """
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0) / count
    square = np.where(known, values - mean, 0.0) ** 2
    second, fourth = square.sum(axis=0) / count, (square * square).sum(axis=0) / count
    found: np.ndarray = np.divide(fourth, second**2, out=np.zeros_like(second), where=second > 1e-15)
    return found
