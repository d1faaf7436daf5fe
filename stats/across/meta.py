"""Random-effects meta-analysis of the means of one head over many runs."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import special, stats
from statsmodels.stats.meta_analysis import combine_effects

FEWEST = 5
"""Fewest runs whose means are pooled: with less, the variance between runs is hardly known."""
GRID, QUANTILES, HALVINGS = 200, 100, 30
"""Values of τ² at which Q is computed, quantiles of τ², and steps of the search for an end."""
SMALLEST = 1e-300
"""In place of a scale of 0, which means that do not differ have."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """The pooled mean of one head.

    Attributes:
        mean: Mean over the population of runs.
        low: Lower end of its 95 % interval.
        high: Upper end.
        next_low: Lower end of the 95 % prediction interval of the mean in one more run.
        next_high: Upper end.
        between: Standard deviation of the true means between runs.
        heterogeneity: I², the part of the variance of the means that is not sampling error, in [0, 1].
    """

    mean: float
    low: float
    high: float
    next_low: float
    next_high: float
    between: float
    heterogeneity: float


NOTHING = Pooled(*[float("nan")] * 7)
"""Of a head with fewer than ``FEWEST`` runs."""


def pool_means(
    means: Float[np.ndarray, " runs"], errors: Float[np.ndarray, " runs"], confidence: float = 0.95
) -> Pooled:
    """Return the pooled mean of a head, with its interval and the prediction interval of one more run.

    Model: the true means of the runs are normal around one mean with variance τ²; each estimate is normal
    around its true mean. Unit: the run. τ² by Paule and Mandel (1982), the interval by Hartung and Knapp
    (t with k − 1 degrees of freedom). The prediction interval averages over what the runs leave open about
    τ², as in Nagashima, Noma and Furukawa (2019), with the Q profile of Viechtbauer (2007) as the confidence
    distribution of τ². Assumptions: runs are independent, and a sample of the corpora that are meant.
    statsmodels computes all but the prediction interval (``combine_effects``).

    Args:
        means: Mean score of every run; NaN where it has none.
        errors: Standard errors, above 0; runs without spread say nothing about theirs and are left out.
        confidence: Of both intervals.

    Returns:
        NaN in every field for fewer than ``FEWEST`` runs.

    Example:
        >>> pooled = pool_means(np.array([0.2, 0.3, 0.25, 0.3, 0.2]), np.full(5, 0.05))
        >>> round(pooled.mean, 3), pooled.between
        (0.25, 0.0)
    """
    known = ~np.isnan(means) & (errors > 0)
    if known.sum() < FEWEST:
        return NOTHING
    effects, variances = means[known].astype(np.float64), errors[known].astype(np.float64) ** 2
    scale = float(np.sqrt(variances.mean()))  # the iteration of τ² stops at an absolute distance
    with np.errstate(divide="ignore"):  # I² of equal means divides by 0
        found = combine_effects(effects / scale, variances / scale**2, method_re="iterated", use_t=True)
    half = float(stats.t.ppf((1 + confidence) / 2, len(effects) - 1) * np.sqrt(found.var_hksj_re))
    tau = max(float(found.tau2), 0.0)
    next_low, next_high = predict_mean(effects / scale, variances / scale**2, confidence)
    mean = float(found.mean_effect_re)
    return Pooled(
        mean=mean * scale,
        low=(mean - half) * scale,
        high=(mean + half) * scale,
        next_low=next_low * scale,
        next_high=next_high * scale,
        between=float(np.sqrt(tau)) * scale,
        heterogeneity=float(np.clip(found.i2, 0, 1)),
    )


def predict_mean(
    means: Float[np.ndarray, " runs"], variances: Float[np.ndarray, " runs"], confidence: float
) -> tuple[float, float]:
    """Return the prediction interval of the true mean in one more run.

    The Q statistic with weights 1 / (s² + τ²) is χ² with k − 1 degrees of freedom at the true τ². So its
    quantiles give quantiles of τ². At each of them the next mean is t around the weighted mean, with the
    variance τ² plus that of Hartung and Knapp. The interval has the quantiles of the average of these.

    Args:
        means: Of two runs or more.
        variances: Squares of their standard errors, above 0.
        confidence: Of the interval.

    Example:
        >>> ends = predict_mean(np.array([0.2, 0.3, 0.25, 0.3, 0.2]), np.full(5, 0.0025), 0.95)
        >>> [round(end, 2) for end in ends]
        [0.1, 0.4]
    """
    freedom = len(means) - 1
    span = np.ptp(means) ** 2 + variances.max()
    grid = np.concatenate([[0.0], span * np.logspace(-6, 4, GRID)])
    q = _weighted(means, variances, grid)[1]
    wanted = stats.chi2.ppf((np.arange(QUANTILES) + 0.5) / QUANTILES, freedom)
    tau = np.interp(wanted, q[::-1], grid[::-1])  # Q falls in τ²; beyond Q(0) it is 0
    centres, q_there, error = _weighted(means, variances, tau)
    scales = np.sqrt(tau + error * q_there / freedom)
    ends = []
    for level in ((1 - confidence) / 2, (1 + confidence) / 2):
        every = centres + scales * stats.t.ppf(level, freedom)
        low, high = every.min(), every.max()
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            below = special.stdtr(freedom, (middle - centres) / np.maximum(scales, SMALLEST)).mean()
            low, high = (middle, high) if below < level else (low, middle)
        ends.append(float((low + high) / 2))
    return ends[0], ends[1]


def _weighted(
    means: Float[np.ndarray, " runs"], variances: Float[np.ndarray, " runs"], tau: Float[np.ndarray, " taus"]
) -> tuple[Float[np.ndarray, " taus"], Float[np.ndarray, " taus"], Float[np.ndarray, " taus"]]:
    """Return the weighted mean, Q, and the variance of the mean, for some values of τ²."""
    weights = 1 / (variances + tau[:, None])
    total = weights.sum(axis=1)
    centre = weights @ means / total
    q: np.ndarray = (weights * (means - centre[:, None]) ** 2).sum(axis=1)
    return centre, q, 1 / total
