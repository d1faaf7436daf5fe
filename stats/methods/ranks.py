"""Tests of medians by ranks and signs, for comparison: neither tests a mean."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headroles.stats.methods.closed_form import Outcome, student_skew
from headroles.stats.moments import Sample, complete_columns

EXACT = 50
"""Units up to which the distribution of signed ranks is exact where nothing is tied."""
ROUNDING = 1e-6
"""Scores this close to θ, as a part of it where that exceeds 1, are at θ: they are stored as float32."""


def wilcoxon(values: Float[np.ndarray, "units columns"], sample: Sample, threshold: float) -> Outcome:
    """Return Wilcoxon's signed-rank test of the pseudo-median (``scipy.stats.wilcoxon``).

    Nulls: the pseudo-median (median of the means of all pairs of units) is θ or less (p), θ or more
    (p_not). Assumption: scores symmetric about it. Under skew the pseudo-median is not the mean: a
    left-skewed score whose mean is θ was rejected in 45 % of samples of 200. Source: Wilcoxon (1945).
    Up to 50 units without ties or scores at θ the distribution is exact, else normal, head by head.
    The statistic is the sum of positive ranks; the interval is that of the mean (``student_skew``).
    """
    from scipy import stats as scipy_stats

    statistic, p, p_not = (np.full(values.shape[1], np.nan) for _ in range(3))
    for units, columns in complete_columns(values):
        beyond = beyond_threshold(values[np.ix_(units, columns)], threshold)
        few, tied = len(beyond) <= EXACT, _tied(beyond)
        moves = (beyond != 0).any(axis=0)
        p[columns[~moves]] = p_not[columns[~moves]] = 1.0
        for chosen, method in (
            (moves & ~tied, "exact" if few else "asymptotic"),
            (moves & tied, "asymptotic"),
        ):
            if chosen.any():
                options: dict[str, Any] = {"axis": 0, "method": method}
                sides = [
                    scipy_stats.wilcoxon(beyond[:, chosen], alternative=side, **options)
                    for side in ("greater", "less")
                ]
                statistic[columns[chosen]] = sides[0].statistic
                p[columns[chosen]], p_not[columns[chosen]] = (side.pvalue for side in sides)
    interval = student_skew(sample, threshold)
    return Outcome(statistic, p, p_not, interval.low, interval.high)


def sign(values: Float[np.ndarray, "units columns"], sample: Sample, threshold: float) -> Outcome:
    """Return the sign test of the median: a binomial test of the units above θ; units at θ are left out.

    Nulls: the median is θ or less (p), θ or more (p_not). Assumption: independent units, nothing
    else. The median of a skewed score is not its mean, and labels mean something else under it.
    The statistic is half the units above minus those below (as ``statsmodels`` has it); the
    interval is that of the mean (``student_skew``).
    """
    from scipy.stats import binom

    beyond = beyond_threshold(values, threshold)
    above, below = (beyond > 0).sum(axis=0), (beyond < 0).sum(axis=0)
    split = above + below
    interval = student_skew(sample, threshold)
    known = np.where(sample.count >= 2, 1.0, np.nan)
    return Outcome(
        statistic=known * (above - below) / 2.0,
        p=known * binom.sf(above - 1, split, 0.5),
        p_not=known * binom.cdf(above, split, 0.5),
        low=interval.low,
        high=interval.high,
    )


def beyond_threshold(
    values: Float[np.ndarray, "units columns"], threshold: float
) -> Float[np.ndarray, "units columns"]:
    """Return scores less θ, with those at θ but for rounding as 0."""
    beyond = values - threshold
    beyond[np.abs(beyond) <= ROUNDING * max(1.0, abs(threshold))] = 0.0
    return beyond


def _tied(beyond: Float[np.ndarray, "units columns"]) -> Bool[np.ndarray, " columns"]:
    """Return whether a column holds a 0 or two equal distances."""
    ordered = np.sort(np.abs(beyond), axis=0)
    tied: np.ndarray = (ordered[0] == 0) | (np.diff(ordered, axis=0) == 0).any(axis=0)
    return tied
