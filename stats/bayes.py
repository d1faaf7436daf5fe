"""Bayes factors of a point null, beside the decisions and no part of them."""

import numpy as np
from jaxtyping import Float, Int

SCALE = 0.707
"""Scale of the Cauchy prior on the standardised effect, as in pingouin (about 1/√2)."""
NODES = np.linspace(-8.0, 60.0, 401)
"""Values of ln g: below, the prior is 0 in floats; above, it adds nothing up to statistics of 1e8."""


def bayes_factors(
    statistic: Float[np.ndarray, "*shape"], count: Int[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """BF10 of Student's t: how much likelier the scores are if the mean is not θ than if it is θ.

    The JZS Bayes factor of one sample, two-sided: under H0 the mean is exactly θ, under H1 its
    standardised distance from θ has a Cauchy prior of scale 0.707. This is a test of a *point* null,
    unlike the decisions, whose null is all means on one side of θ: a head far *below* θ has a large
    BF10, too, and the number says nothing about roles or many tests. Unit: the entries counted.
    Assumptions: independent units with normal scores. Source: Rouder, Speckman, Sun, Morey and
    Iverson (2009), "Bayesian t tests for accepting and rejecting the null hypothesis", Psychonomic
    Bulletin and Review 16, equation 1.

    The integral over g is a sum over ln g (trapezoid rule, error under 1e-10) in logarithms, for all
    heads at once. It is ``pingouin.bayesfactor_ttest`` where that holds: its integral has an absolute
    tolerance only, so that it is wrong by orders of magnitude, or warns, for statistics of hundreds.

    Args:
        statistic: Student's t of ``mean − θ``, which is effect × √count (not Hall's).
        count: Units of each.

    Returns:
        From 0 upwards, 1 = the scores do not tell; inf beyond the range of floats; NaN where the
        statistic is not finite or under 2 units.

    Example:
        >>> bayes_factors(np.array([0.0, 3.5]), np.array([20, 20])).round(3).tolist()
        [0.232, 17.185]
    """
    testable = np.isfinite(statistic) & (count > 1)
    n = np.where(testable, count, 2).astype(np.float64)
    square = np.where(testable, statistic, 0.0) ** 2 / (n - 1)
    likely = np.full(n.shape, -np.inf)
    for node in NODES:
        wide = 1 + n * np.exp(node) * SCALE**2
        prior = -0.5 * (np.log(2 * np.pi) + node + np.exp(-node))
        likely = np.logaddexp(likely, prior - 0.5 * np.log(wide) - n / 2 * np.log1p(square / wide))
    with np.errstate(over="ignore"):
        factor = np.exp(likely + np.log(NODES[1] - NODES[0]) + n / 2 * np.log1p(square))
    return np.where(testable, factor, np.nan)
