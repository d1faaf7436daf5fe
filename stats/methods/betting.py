"""The test of a mean by betting: its p may be looked at after every unit.

A bettor starts with the capital 1 and stakes on every unit that its score lies beyond θ. Where the mean does
not, no bet can be expected to gain. So a large capital is evidence, however often one looks (Ville 1939).
"""

import numpy as np
from jaxtyping import Float

from headroles.errors import BadInput
from headroles.stats.methods.closed_form import Outcome
from headroles.stats.moments import Sample

BETS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
"""Bets, as shares of the largest that cannot lose more than the whole capital; each starts with an eighth."""
CONFIDENCE = 0.95
"""Probability that the interval holds the mean at every look."""
TOGETHER = 32
"""Units multiplied before their logarithm is taken; a product of so many lies far from 0."""
STEPS = 32
"""Halvings of the range in which an end of an interval lies."""
SLACK = 1e-4
"""Scores beyond their stated bounds by no more than this are at them but for rounding."""


def betting(
    values: Float[np.ndarray, "units columns"],
    sample: Sample,
    threshold: float,
    low: float,
    high: float,
    intervals: bool = True,
) -> Outcome:
    """Test a mean by betting on a fixed grid of bets.

    With x the scores and g a bet, the capital for "above" is E = Σ_g ⅛ Π_u (1 + λ_g (x_u − θ)),
    λ_g = g/(θ − low). That for "below" is E_not = Σ_g ⅛ Π_u (1 − λ_g (x_u − θ)), λ_g = g/(high − θ).
    p = min(1, 1/E), and p_not likewise. The statistic is ln E. It is a sum over units for every bet, so no
    order of the units changes it.

    Nulls: the mean is θ or less (p), θ or more (p_not). Alternatives: above, below. Unit: a row.
    Assumptions: each unit has such a mean, given the units before it, and scores in [low, high]; nothing
    about their shape. The bounds are stated before any data. Then E and E_not are never expected to exceed
    1, at any unit where one chooses to stop. So p errs with a probability of at most p there, and
    Benjamini-Hochberg over p is e-BH, which holds under any dependence between heads.
    Source: Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B
    86(1); Wang and Ramdas (2022), False discovery rate control with e-values, JRSS B 84(3).

    Args:
        values: Scores; NaN where a unit has none.
        sample: Their moments.
        threshold: θ.
        low: Smallest score that can occur, stated before any data; NaN where none is.
        high: Largest score that can occur, likewise.
        intervals: Whether the interval is found, which takes most of the time.

    Returns:
        ln E, p values, and as the 95 % interval the means against which no capital has reached 2/0.05.
        NaN where a bound is not stated, and below two units.

    Raises:
        BadInput: For scores beyond the stated bounds.

    Example:
        >>> from headroles.stats.moments import describe
        >>> values = np.full((50, 1), 0.3)
        >>> outcome = betting(values, describe(values), 0.1, -0.5, 1.0)
        >>> bool(outcome.p[0] < 1e-4), float(outcome.p_not[0]), outcome.low.round(2).tolist()
        (True, 1.0, [0.21])
    """
    known = (sample.count >= 2) & np.isfinite(low + high)
    if (values < low - SLACK).any() or (values > high + SLACK).any():
        raise BadInput(
            f"a test by betting takes scores between their stated bounds, {low:g} and {high:g}, but got "
            f"{np.nanmin(values):g} to {np.nanmax(values):g}; state wider bounds"
        )
    above = log_capital(values, threshold, low)
    below = log_capital(-values, -threshold, -high)
    ends = np.full((2, values.shape[1]), np.nan)
    if intervals and known.any():
        ends[0] = _smallest_mean(values, sample.mean, low)
        ends[1] = -_smallest_mean(-values, -sample.mean, -high)
    numbers = (above, np.exp(-np.maximum(above, 0.0)), np.exp(-np.maximum(below, 0.0)), *ends)
    return Outcome(*(np.where(known, number, np.nan) for number in numbers))


def log_capital(
    values: Float[np.ndarray, "units columns"],
    threshold: float | Float[np.ndarray, " columns"],
    low: float,
) -> Float[np.ndarray, " columns"]:
    """Return ln E of bets that the mean lies above θ.

    Args:
        values: Scores; NaN where a unit has none.
        threshold: θ, one or per column.
        low: Smallest score that can occur.

    Returns:
        NaN without a bound; 0 where θ is not above it, since no mean can be below.

    Example:
        >>> log_capital(np.array([[1.0], [np.nan]]), 0.5, 0.0).round(3).tolist()
        [0.302]
    """
    room = np.broadcast_to(np.asarray(threshold - low, dtype=np.float64), values.shape[1:])
    possible = room > 0
    gain = np.nan_to_num((values - threshold) / np.where(possible, room, np.inf))
    starts = np.arange(0, len(gain), TOGETHER)
    won = np.zeros((len(BETS), *gain.shape[1:]))
    with np.errstate(over="ignore"):
        for number, bet in enumerate(BETS if starts.size else ()):
            won[number] = np.log(np.multiply.reduceat(1 + bet * gain, starts, axis=0)).sum(axis=0)
    most = won.max(axis=0)
    shown = np.where(np.isfinite(most), most, 0.0)
    capital: np.ndarray = np.where(most == np.inf, np.inf, shown + np.log(np.exp(won - shown).mean(axis=0)))
    return np.where(np.isnan(room), np.nan, np.where(possible, capital, 0.0))


def _smallest_mean(
    values: Float[np.ndarray, "units columns"], mean: Float[np.ndarray, " columns"], low: float
) -> Float[np.ndarray, " columns"]:
    """Return the smallest θ that the capital for "above" has not refuted: the capital falls as θ rises."""
    goal = np.log(2 / (1 - CONFIDENCE))
    least, most = np.full(mean.shape, low), np.nan_to_num(mean, nan=low)
    for _ in range(STEPS):
        middle = (least + most) / 2
        refuted = log_capital(values, middle, low) >= goal
        least, most = np.where(refuted, middle, least), np.where(refuted, most, middle)
    return least
