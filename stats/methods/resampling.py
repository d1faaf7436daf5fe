"""Tests of a mean by resampling units: sign flips, and the studentised bootstrap.

One set of draws serves all heads, so that nothing depends on how heads are batched, and
``p = (1 + b) / (1 + N)`` with b of N draws at least as extreme (Davison and Hinkley 1997, eq. 4.11):
no p is ever 0.
"""

import numpy as np
from jaxtyping import Float

from headroles.stats.draws import bootstrap_counts, flips_are_exact, sign_flips
from headroles.stats.methods.closed_form import Outcome, student_skew
from headroles.stats.moments import Sample, complete_columns

TIE = 1e-12
"""Sums this close, as a part of the sum of absolute values, are equal but for rounding."""
SLICE = 1024
"""Columns bootstrapped at once, for memory."""


def sign_flip(
    values: Float[np.ndarray, "units columns"], sample: Sample, threshold: float, resamples: int, seed: int
) -> Outcome:
    """Test a mean by flipping the signs of ``score − θ``, unit by unit.

    Nulls: the mean is θ or less (p), θ or more (p_not). Unit: a row. The statistic is the mean,
    equivalent to t for a one-sided flip test. Assumption: scores are symmetric about θ under the
    null; then the level is exact at any number of units. Under skew it is that of t, no better.
    All 2^n patterns are used when they are no more than ``resamples``. Source: Fisher (1935), The
    design of experiments, § 21. The interval is that of ``student_skew``.

    Args:
        values: Scores, NaN where a unit has none.
        sample: Their moments.
        threshold: θ.
        resamples: Sign patterns drawn.
        seed: Of the draws.
    """
    p, p_not = np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    for units, columns in complete_columns(values):
        beyond = values[np.ix_(units, columns)] - threshold
        observed, slack = beyond.sum(axis=0), TIE * np.abs(beyond).sum(axis=0)
        above, below, total = np.zeros(columns.size), np.zeros(columns.size), 0
        for signs in sign_flips(int(units.sum()), resamples, seed):
            flipped = signs @ beyond
            above += (flipped >= observed - slack).sum(axis=0)
            below += (flipped <= observed + slack).sum(axis=0)
            total += len(signs)
        own = 0 if flips_are_exact(int(units.sum()), resamples) else 1  # exact: the data are a pattern
        p[columns], p_not[columns] = (above + own) / (total + own), (below + own) / (total + own)
    interval = student_skew(sample, threshold)
    statistic = np.where(np.isnan(p), np.nan, sample.mean - threshold)
    return Outcome(statistic, p, p_not, interval.low, interval.high)


def bootstrap_t(
    values: Float[np.ndarray, "units columns"], sample: Sample, threshold: float, resamples: int, seed: int
) -> Outcome:
    """Test a mean by the studentised bootstrap.

    The distribution of T = (mean − θ)/(sd/√n) at the null is taken from T* = (mean* − mean)/(sd*/√n)
    over resamples of the units. Nulls: the mean is θ or less (p), θ or more (p_not). Unit: a row.
    Assumptions: independent units with finite variance; second-order accurate under skew. A resample
    without spread has T* = ±∞ by the sign of mean* − mean, so few units cannot reach a small p. The
    interval is [mean − t*(0.975) sd/√n, mean − t*(0.025) sd/√n]. Source: Efron and Tibshirani (1993),
    An introduction to the bootstrap, §§ 12.5 and 16.4; Hall (1992), The bootstrap and Edgeworth
    expansion, § 3.10.

    Args:
        values: Scores, NaN where a unit has none.
        sample: Their moments.
        threshold: θ.
        resamples: Resamples drawn.
        seed: Of the draws.
    """
    ends = [np.full(values.shape[1], np.nan) for _ in range(4)]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = sample.sd / np.sqrt(np.maximum(sample.count, 1))
        statistic = (sample.mean - threshold) / error
    for units, known in complete_columns(values):
        for start in range(0, known.size, SLICE):
            columns = known[start : start + SLICE]
            drawn = _bootstrap_statistics(values[np.ix_(units, columns)], resamples, seed)
            own = statistic[columns]
            above, below = (drawn >= own).sum(axis=0), (drawn <= own).sum(axis=0)
            lowest, highest = _tails(drawn, 0.025)
            for end, value in zip(
                ends,
                (
                    (1 + above) / (1 + resamples),
                    (1 + below) / (1 + resamples),
                    sample.mean[columns] - highest * error[columns],
                    sample.mean[columns] - lowest * error[columns],
                ),
                strict=True,
            ):
                end[columns] = value
    return Outcome(statistic, *ends)


def _bootstrap_statistics(
    values: Float[np.ndarray, "units columns"], resamples: int, seed: int
) -> Float[np.ndarray, "resamples columns"]:
    centred = values - values.mean(axis=0)
    square = centred * centred
    drawn = np.empty((resamples, values.shape[1]))
    done = 0
    for counts in bootstrap_counts(len(values), resamples, seed):
        drawn[done : done + len(counts)] = studentise(counts @ centred, counts @ square, len(values))
        done += len(counts)
    return drawn


def studentise(
    first: Float[np.ndarray, "draws columns"],
    second: Float[np.ndarray, "#draws columns"],
    count: int | Float[np.ndarray, "#draws #columns"],
) -> Float[np.ndarray, "draws columns"]:
    """Return T* of resamples from their sums of centred values and of squares.

    ±∞ by the sign of the mean without spread or below two units; 0 where the mean is 0 then, too.
    """
    known = np.maximum(count, 2.0)
    mean, power = first / known, second / known
    variance = power - mean * mean
    variance[(variance <= 1e-12 * power) | (count < 2)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = mean / np.sqrt(variance / (known - 1))
    drawn[np.isnan(drawn)] = 0.0
    result: np.ndarray = drawn
    return result


def _tails(drawn: Float[np.ndarray, "resamples columns"], tail: float) -> tuple[np.ndarray, np.ndarray]:
    """Return order statistics at both tails, outwards, so that infinite ones are never averaged."""
    most = len(drawn) - 1
    low, high = int(np.floor(tail * most)), int(np.ceil((1 - tail) * most))
    ordered = np.partition(drawn, (low, high), axis=0)
    return ordered[low], ordered[high]
