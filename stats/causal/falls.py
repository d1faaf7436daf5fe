"""Exact test and interval for the fall of accuracy, from the inputs whose answers changed.

An input falls (right before, wrong after), rises, or stays. The fall of accuracy is the probability of a fall
minus that of a rise. Unit: an input. Assumption: inputs are independent.

The statistic is the score statistic of Tango (1998), Statistics in Medicine 17, 891-908. Its p is the largest
probability of a statistic at most as large under any probability of a rise (unconditional exact test; Sidik
2003, Statistics in Medicine 22, 265-278). So it errs in at most alpha of all samples of any size.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import brentq
from scipy.special import betainc, gammaln, xlog1py, xlogy

NUISANCE = 32
"""Probabilities of a rise that are tried, twice: over their whole range, then around the worst of them."""
CUTS = 12
"""Places beyond an estimate where p is computed, to find where it reaches a level."""
ROUNDING = 1e-9
"""Difference of two statistics that counts as none."""


def score_statistic(
    falls: Float[np.ndarray, "*tables"], rises: Float[np.ndarray, "*tables"], count: int, fall: float
) -> Float[np.ndarray, "*tables"]:
    """Return Tango's score statistic of "accuracy falls by ``fall``": negative where it falls by less.

    Args:
        falls: Inputs that are right before and wrong after.
        rises: Inputs that are wrong before and right after.
        count: All inputs.
        fall: Difference of the two probabilities under the null, in (−1, 1).

    Example:
        >>> score_statistic(np.array([5.0]), np.array([2.0]), 100, 0.0).round(4).tolist()
        [1.1339]
    """
    linear = -falls - rises + (2 * count - falls + rises) * fall
    root = np.sqrt(np.maximum(linear**2 + 8 * count * rises * fall * (1 - fall), 0.0))
    rising = np.maximum((root - linear) / (4 * count), max(0.0, -fall))
    spread = np.sqrt(np.maximum(count * (2 * rising + fall * (1 - fall)), 1e-300))
    statistic: np.ndarray = (falls - rises - count * fall) / spread
    return statistic


@lru_cache(maxsize=4096)
def fall_p(falls: int, rises: int, count: int, fall: float) -> float:
    """Return the exact p of "accuracy falls by at least ``fall``"; small where it falls by less.

    Null: P(fall) − P(rise) >= ``fall``. Alternative: it is below. Unit and assumptions as of the module.

    Args:
        falls: Inputs that are right before and wrong after.
        rises: Inputs that are wrong before and right after.
        count: All inputs, at least 1.
        fall: The fall under the null, in [−1, 1].

    Returns:
        In [0, 1].

    Example:
        >>> round(fall_p(0, 0, 100, 0.05), 4), round(fall_p(3, 3, 100, 0.05), 3)
        (0.0138, 0.044)
    """
    if abs(fall) >= 1.0:
        return 1.0 if fall < 0 or falls == count else 0.0
    observed = float(score_statistic(np.array([float(falls)]), np.array([float(rises)]), count, fall)[0])
    most = _most_falls(count, fall, observed)
    lowest, highest = max(0.0, -fall), (1 - fall) / 2
    tried = lowest + (highest - lowest) * np.linspace(0.0, 1.0, NUISANCE) ** 3  # dense where rises are rare
    worst = 0.0
    for _ in range(2):
        p = _tail(most, count, fall, tried)
        place, worst = int(p.argmax()), max(worst, float(p.max()))
        tried = np.linspace(tried[max(place - 1, 0)], tried[min(place + 1, NUISANCE - 1)], NUISANCE)
    return min(worst, 1.0)


@lru_cache(maxsize=4096)
def fall_end(falls: int, rises: int, count: int, level: float) -> float:
    """Return the upper end of the exact interval of a fall: the largest fall whose p is above a level.

    Args:
        falls: Inputs that are right before and wrong after.
        rises: Inputs that are wrong before and right after; swapped with ``falls``, the result is minus the
            lower end.
        count: All inputs, at least 1.
        level: One minus the one-sided confidence, below 0.5.

    Returns:
        From the observed fall to 1.

    Example:
        >>> round(fall_end(0, 0, 100, 0.05), 4) == round(1 - 0.05**0.01, 4)
        True
    """
    centre, room = (falls - rises) / count, 1 - (falls - rises) / count
    if not room:
        return 1.0
    reach = min(3 * (np.sqrt(falls + rises + 4) + 2) / count, room)
    while reach < room and fall_p(falls, rises, count, centre + reach) > level:
        reach = min(2 * reach, room)
    places = [float(centre + reach * share) for share in np.linspace(1.0, 0.0, CUTS + 1)]
    for beyond, place in pairwise(places):  # from outside: p need not fall all the way
        if fall_p(falls, rises, count, place) > level:
            return float(brentq(lambda at: fall_p(falls, rises, count, at) - level, place, beyond, xtol=1e-6))
    return centre


def _most_falls(count: int, fall: float, observed: float) -> Int[np.ndarray, " rises"]:
    """Return the most falls whose statistic is at most the observed one, per number of rises; −1: none."""
    rises = np.arange(count + 1)
    low, high = np.full(count + 1, -1), count - rises
    while (low < high).any():
        middle = (low + high + 1) // 2
        statistic = score_statistic(middle.astype(float), rises.astype(float), count, fall)
        inside = statistic <= observed + ROUNDING
        low, high = np.where(inside, middle, low), np.where(inside, high, middle - 1)
    return low


def _tail(
    most: Int[np.ndarray, " rises"], count: int, fall: float, rising: Float[np.ndarray, " tried"]
) -> Float[np.ndarray, " tried"]:
    """Return the probability of at most so many falls for every number of rises, under each P(rise)."""
    rises = np.flatnonzero(most >= 0)
    if not len(rises):
        return np.zeros(len(rising))
    ways = gammaln(count + 1) - gammaln(rises + 1) - gammaln(count - rises + 1)
    inner = np.clip((rising + fall) / np.maximum(1 - rising, 1e-300), 0.0, 1.0)
    log_p = ways + xlogy(rises, rising[:, None]) + xlog1py(count - rises, -rising[:, None])
    row, column = np.nonzero(log_p > -40)
    spare = (count - rises - most[rises])[column]  # 0: every number of falls counts
    below = np.where(spare > 0, betainc(np.maximum(spare, 1), most[rises][column] + 1, 1 - inner[row]), 1.0)
    return np.bincount(row, np.exp(log_p[row, column]) * below, len(rising))
