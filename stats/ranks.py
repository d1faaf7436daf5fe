"""Tests of a middle by ranks and signs, for comparison: neither tests a mean."""

import numpy as np
from jaxtyping import Float
from scipy import stats as scipy_stats

from headroles.stats.hypotheses import Outcome, student_skew
from headroles.stats.moments import Sample
from headroles.stats.patterns import complete


def wilcoxon(values: Float[np.ndarray, "units columns"], sample: Sample, threshold: float) -> Outcome:
    """Wilcoxon's signed-rank test of the pseudo-median (``scipy.stats.wilcoxon``).

    Nulls: the pseudo-median (median of the means of all pairs of units) is θ or less (p), θ or more
    (p_not). Assumption: scores symmetric about it. Under skew the pseudo-median is not the mean: a
    left-skewed score whose mean is θ was rejected in 45 % of samples of 200. Source: Wilcoxon (1945).
    The statistic is the sum of positive ranks; the interval is that of the mean (``student_skew``).
    """
    statistic, p, p_not = (np.full(values.shape[1], np.nan) for _ in range(3))
    for units, columns in complete(values):
        beyond = values[np.ix_(units, columns)] - threshold
        moves = (beyond != 0).any(axis=0)
        p[columns[~moves]] = p_not[columns[~moves]] = 1.0
        if moves.any():
            above = scipy_stats.wilcoxon(beyond[:, moves], alternative="greater", axis=0)
            below = scipy_stats.wilcoxon(beyond[:, moves], alternative="less", axis=0)
            statistic[columns[moves]] = above.statistic
            p[columns[moves]], p_not[columns[moves]] = above.pvalue, below.pvalue
    interval = student_skew(sample, threshold)
    return Outcome(statistic, p, p_not, interval.low, interval.high)


def sign(values: Float[np.ndarray, "units columns"], sample: Sample, threshold: float) -> Outcome:
    """The sign test of the median: a binomial test of the units above θ; units at θ are left out.

    Nulls: the median is θ or less (p), θ or more (p_not). Assumption: independent units, nothing
    else. The median of a skewed score is not its mean, and labels mean something else under it.
    The statistic is half the units above minus those below (as ``statsmodels`` has it); the
    interval is that of the mean (``student_skew``).
    """
    above, below = (values > threshold).sum(axis=0), (values < threshold).sum(axis=0)
    split = above + below
    interval = student_skew(sample, threshold)
    known = np.where(sample.count >= 2, 1.0, np.nan)
    return Outcome(
        statistic=known * (above - below) / 2.0,
        p=known * scipy_stats.binom.sf(above - 1, split, 0.5),
        p_not=known * scipy_stats.binom.cdf(above, split, 0.5),
        low=interval.low,
        high=interval.high,
    )
