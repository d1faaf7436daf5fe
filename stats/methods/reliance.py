"""The check whether a claim about a mean hinges on few units, in the sample or missing from it.

Every test of a mean takes its error from the spread of the sample. Two kinds of sample deceive it. In the
first, a few units hold most of the spread. In the second, rare units that hold much of the mean are missing.
The sample shows the first. Against the second only the bounds of the score help: an event that none of n
units shows can have a probability of up to 3/n, at 95 %. Source of this rule of three: Hanley and
Lippman-Hand (1983), "If nothing goes wrong, is everything all right?", JAMA 249(13), 1743-1745.
"""

import numpy as np
from jaxtyping import Bool, Float

from headroles.stats.methods.closed_form import has_no_spread
from headroles.stats.moments import Sample

CARRIERS = 15
"""Fewest units that must carry the spread, as if equally; below 60 units, a quarter of the units."""
UNSEEN = 3
"""Further units at the worst possible score with which a claim must still hold, by the rule of three."""
FAR = 6.0
"""Standard errors beyond θ that are enough for a role where no bound of the score is known."""
UNSEEN_BY_CONTRAST = 1
"""The same for a contrast below its margin, which is a hundredth of its range."""


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


def reliable_above(sample: Sample, threshold: float, low: float) -> Bool[np.ndarray, "*shape"]:
    """Return whether "beyond θ" may be claimed: it does not hinge on a few units.

    It may where at least ``CARRIERS`` units carry the spread, or where ``UNSEEN`` more units at the lowest
    possible score would leave the mean beyond θ. Without a known bound it may where the mean lies ``FAR``
    standard errors beyond θ. Scores without spread may: their p rests on bounds alone.
    Of the rules simulated on real scores (``docs/reference/calibration-tables.md``) this one loses the fewest
    roles.

    Args:
        sample: Moments of the scores, one entry per head.
        threshold: θ, on their scale.
        low: Lowest possible score; NaN where unknown.

    Example:
        >>> mean = np.array([0.2, 0.2])
        >>> rare = Sample(np.array([100, 100]), mean, mean / 2, mean * 40, carriers=np.array([1.2, 50.0]))
        >>> reliable_above(rare, 0.1, 0.0).tolist(), reliable_above(rare, 0.199, 0.0).tolist()
        ([True, True], [False, True])
    """
    if sample.carriers is None:
        return np.ones(sample.mean.shape, dtype=np.bool_)
    carried = sample.carriers >= np.minimum(CARRIERS, sample.count / 4)
    if np.isnan(low):
        safe = (sample.mean - threshold) * np.sqrt(sample.count) > FAR * sample.sd
    else:
        safe = mean_with(sample, low, UNSEEN) > threshold
    reliable: np.ndarray = carried | has_no_spread(sample) | safe
    return reliable


def reliable_below(
    sample: Sample, threshold: float, high: float, unseen: int = UNSEEN
) -> Bool[np.ndarray, "*shape"]:
    """Return whether "below θ" may be claimed: it does not hinge on units that the sample lacks by chance.

    It may where ``unseen`` more units at the highest possible score would leave the mean below θ. A spread
    that rests on many units does not help: where rare units hold the mean, samples without them have the
    smallest spread. Scores without spread may, as above. Where no bound is known, all may.

    Args:
        sample: Moments of the scores, one entry per head.
        threshold: θ, on their scale.
        high: Highest possible score; NaN where unknown.
        unseen: Number of further units.

    Example:
        >>> mean = np.array([0.05, 0.05])
        >>> reliable_below(Sample(np.array([50, 90]), mean, mean * 2, mean * 40), 0.1, 1.0).tolist()
        [False, True]
    """
    if np.isnan(high):
        return np.ones(sample.mean.shape, dtype=np.bool_)
    reliable: np.ndarray = has_no_spread(sample) | (mean_with(sample, high, unseen) < threshold)
    return reliable


def mean_with(sample: Sample, score: float, units: int) -> Float[np.ndarray, "*shape"]:
    """Return the mean with more units, all at one score.

    Example:
        >>> nothing = np.zeros(1)
        >>> mean_with(Sample(np.array([9]), nothing, nothing + 0.1, nothing), 1.0, 1).tolist()
        [0.1]
    """
    mean: np.ndarray = (sample.mean * sample.count + units * score) / (sample.count + units)
    return mean
