"""Tests of the mean of bounded scores that hold for any shape and any number of units."""

import numpy as np
from jaxtyping import Float

STAKES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Stakes, as shares of the largest stake that cannot lose more than the whole wealth."""


def bounded_p(
    values: Float[np.ndarray, "units columns"], threshold: float, low: float, high: float
) -> tuple[Float[np.ndarray, " columns"], Float[np.ndarray, " columns"]]:
    """Return p of both directions for scores of any shape between two bounds.

    Nulls: the mean is θ or less (first p), θ or more (second p). Alternatives: above, below. Unit: a row.
    Assumption: independent units in [low, high], nothing else; the level holds at any number of units.
    A bettor who stakes the share s of the wealth on every unit ends with the product of
    1 + s (x − θ)/(θ − low). Its expectation is at most 1 under the null, and so is that of the mean over
    several shares. So the wealth reaches 1/p with a probability of at most p (Markov). Unlike tests of
    studentised means, it assumes nothing about far tails that the sample does not show. It has less power
    where scores are spread evenly.
    Source: Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B
    86, with stakes that do not depend on the scores.

    Args:
        values: Scores; NaN where a unit has none.
        threshold: θ.
        low: Smallest value that a score can take; NaN when unknown.
        high: Largest value; NaN when unknown.

    Returns:
        Values in [0, 1]; NaN where the bound that a direction needs is unknown.

    Example:
        >>> p, p_not = bounded_p(np.full((50, 1), 0.9), 0.1, -1.0, 1.0)
        >>> bool(p[0] < 1e-9), float(p_not[0])
        (True, 1.0)
    """
    return _p_above(values, threshold, low), _p_above(-values, -threshold, -high)


def _p_above(
    values: Float[np.ndarray, "units columns"], threshold: float, low: float
) -> Float[np.ndarray, " columns"]:
    """Return p of a mean of at most θ; 1 where no mean can be below it."""
    room = threshold - low
    if not room > 0:
        return np.full(values.shape[1], np.nan if np.isnan(room) else 1.0)
    gain = np.maximum(np.nan_to_num((values - threshold) / room), -1.0)
    won = np.stack([np.log1p(stake * gain).sum(axis=0) for stake in STAKES])
    most = won.max(axis=0)
    wealth = most + np.log(np.exp(won - most).mean(axis=0))
    p: np.ndarray = np.exp(-np.maximum(wealth, 0.0))
    return p
