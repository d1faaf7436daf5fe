"""The one guard of every one-sided claim about a mean: units that the sample lacks must not reverse it.

Every test of a mean takes its error from the spread of the sample. Rare units that hold much of the mean
deceive it: samples without them have an extreme mean and a small spread at once. Only the bounds of the
scores help. Where the mean is on the wrong side of θ, and yet the units that are seen have the mean m, units
down to the worst possible value w are a share f of at least (m − θ)/(m − w). Then n units show none of them
with a probability of at most (1 − f)ⁿ. The p of a claim is at least that, and is corrected over heads with
it. The claim must also hold with three more units at the worst value: by the rule of three, n units miss a
share of 3/n with a probability of 0.05.

The rule is the same for both sides, and for labels, contrasts, damages and differences. Where no bound is
known, the most extreme value of any unit takes its place. That is weaker: units may be rarer and more extreme
than any that was seen. Tests from stated bounds (``methods.betting``) need no guard.

Source of the rule of three: Hanley and Lippman-Hand (1983), "If nothing goes wrong, is everything all
right?", JAMA 249(13), 1743-1745.
"""

import math

import numpy as np
from jaxtyping import Float

from headroles.stats.moments import Sample

UNSEEN = 3
"""Further units at the worst possible value with which a claim must still hold, by the rule of three."""


def largest_share(values: Float[np.ndarray, "units *shape"]) -> Float[np.ndarray, "*shape"]:
    """Return the share of the variance that the unit farthest from the mean holds.

    Args:
        values: Scores; NaN for units without one.

    Returns:
        From 1 divided by the number of units to 1; NaN without spread or scores.

    Example:
        >>> largest_share(np.array([[0.0], [0.0], [0.0], [1.0]])).tolist()
        [0.75]
    """
    known = ~np.isnan(values)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    square = np.where(known, values - mean, 0.0) ** 2
    total = square.sum(axis=0)
    share: np.ndarray = np.divide(
        square.max(axis=0, initial=0.0), total, out=np.full(total.shape, np.nan), where=total > 1e-30
    )
    return share


def missed_p(
    sample: Sample, threshold: float, worst: Float[np.ndarray, "*#shape"] | float, side: int
) -> Float[np.ndarray, "*shape"]:
    """Return the largest probability that a sample lacks the rare units that would reverse a claim.

    Null: the mean is on the wrong side of θ, though the units that were seen have the sample's mean m. Then
    units between θ and the worst value w are a share of at least (m − θ)/(m − w). They are missing from n
    independent units with a probability of at most ((θ − w)/(m − w))ⁿ, which is also the exact p of n equal
    scores (``closed_form.bounded_outcome``).

    Args:
        sample: Moments of the values, one entry per head.
        threshold: θ, on their scale.
        worst: The lowest possible value for a claim above θ, the highest for one below; NaN for heads
            without any value.
        side: 1 for a claim above θ, −1 for one below.

    Returns:
        From 0 to 1; 1 where ``UNSEEN`` more units at the worst value would leave the mean on the wrong side;
        0 where it is there already, so that p of the test itself is large.

    Example:
        >>> mean = np.array([0.12, 0.12])
        >>> sample = Sample(np.array([20, 90]), mean, mean / 9, mean * 0)
        >>> missed_p(sample, 0.1, 0.0, 1).round(3).tolist(), missed_p(sample, 0.2, 1.0, -1).round(4).tolist()
        ([0.026, 0.0], [1.0, 0.0002])
    """
    beyond, room = side * (sample.mean - threshold), side * (threshold - worst)
    holds = beyond * sample.count > UNSEEN * room
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        share = np.where(holds, np.where(room > 0, room / (room + beyond), 0.0), 1.0)
        missed: np.ndarray = np.where(beyond > 0, share**sample.count, 0.0)
    return missed


def with_further(values: Float[np.ndarray, "units *shape"], side: int) -> Float[np.ndarray, "more *shape"]:
    """Return values with 3 more units, all at the largest value of any (side 1) or the smallest (−1).

    Example:
        >>> with_further(np.array([[0.1], [0.5]]), -1).ravel().tolist()
        [0.1, 0.5, 0.1, 0.1, 0.1]
    """
    return np.concatenate([values, extreme(values, side)[None].repeat(UNSEEN, axis=0)])


def extreme(values: Float[np.ndarray, "units *shape"], side: int) -> Float[np.ndarray, "*shape"]:
    """Return the largest value of any unit (side 1) or the smallest (side −1); NaN where there is none.

    Example:
        >>> extreme(np.array([[1.0, np.nan], [3.0, np.nan]]), 1).tolist()
        [3.0, nan]
    """
    known = ~np.isnan(values)
    largest = np.where(known, side * values, -np.inf).max(axis=0, initial=-np.inf)
    most: np.ndarray = np.where(known.any(axis=0), side * largest, np.nan)
    return most


def units_needed(reach: float, bound: float, alpha: float) -> int:
    """Return the units without any difference from which equivalence can be claimed in one test.

    If differences can be at most ``reach`` in size, a mean of ±bound or more makes a unit differ with a
    probability of at least bound / reach, so n units without difference have a p of at most
    ``(1 − bound / reach)^n``.

    Example:
        >>> units_needed(2.0, 0.05, 0.05)
        119
    """
    if bound >= reach:
        return 2
    return max(2, math.ceil(math.log(alpha) / math.log1p(-bound / reach)))
