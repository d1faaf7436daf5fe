"""The certificate of a set of removed heads: is its damage below a bound, with sets tested in sequence?"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq

from headroles.records.causal.columns import LOSS
from headroles.records.causal.pruning import FEW_UNITS, NOT_SHOWN, NOT_TESTED, WITHIN, PruneStep
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.stats.methods.closed_form import bounded_outcome, has_no_spread, student_skew
from headroles.stats.methods.reliance import extreme, missed_p
from headroles.stats.moments import Sample, describe

COVERED = 0.95
"""Coverage of the two-sided interval of a damage."""
HINGE = 0.05
"""Probability to miss units that would reverse a claim, above which the claim hinges on few."""
WIDEST = 60
"""Most doublings of the distance in which the end of an interval is looked for."""


def certify(
    sizes: Sequence[int],
    change: Float[np.ndarray, "steps units"],
    clean: Float[np.ndarray, " units"],
    bound: float,
    alpha: float,
    worst: float = float("nan"),
) -> tuple[PruneStep, ...]:
    """Test growing sets of heads in their order, until the first whose damage is not shown to be small.

    Null of a set: E[damage] >= bound × E[clean]. Alternative: it is below. Unit: an input, or a group of
    inputs. The damage of these units chose neither sets nor order. (Mean outputs that replace a head come
    from reference inputs, which may be among them.) Each test is one-sided at alpha. A set is tested only
    where all sets before it passed, so no correction is needed: some set passes wrongly in at most alpha of
    all certificates (fixed sequence; Maurer, Hothorn and Lehmacher 1995).

    The test is Student's with Hall's correction for skewness, of damage − bound × clean, whose mean is at
    least 0 under the null. So the mean of the clean loss is not taken as known. No set passes with fewer than
    50 units, nor where the claim hinges on few units (``hinges_on_few``).

    Assumptions: units are independent, and drawn from the inputs that the certificate speaks of. Damage of
    rare inputs, of which no test unit is one, stays unseen where ``worst`` is not known.

    Args:
        sizes: Heads in each set.
        change: Mean damage of every set and unit; NaN where a unit has none.
        clean: Loss of each unit without intervention, where the bound is a share of it; else 1.
        bound: The largest damage that is too small to count, per clean loss.
        alpha: Level of the tests.
        worst: Largest possible damage of a unit; NaN where there is none, as for losses.

    Returns:
        One step for each set; ``accuracy_before`` and ``accuracy_after`` are NaN.

    Example:
        >>> chance = np.random.default_rng(0)
        >>> change = np.stack([chance.normal(mean, 0.02, 100) for mean in (0.0, 0.004, 0.02, 0.0)])
        >>> [step.decision for step in certify([1, 2, 3, 4], change, np.ones(100), 0.01, 0.05)]
        ['within the bound', 'within the bound', 'not shown', 'not tested']
    """
    steps: list[PruneStep] = []
    for size, row in zip(sizes, change, strict=True):
        steps.append(in_sequence(steps, measure_set(size, row, clean, bound, alpha, worst)))
    return tuple(steps)


def in_sequence(earlier: Sequence[PruneStep], step: PruneStep) -> PruneStep:
    """Return a set as it stands in the fixed sequence: not tested where a set before it did not pass.

    Args:
        earlier: The sets before it, in their order.
        step: The set, tested alone.
    """
    passed = all(other.decision == WITHIN for other in earlier)
    return step if passed else replace(step, decision=NOT_TESTED)


def largest_damage(outcome: str) -> float:
    """Return the largest possible damage of a unit; NaN for losses, which have none.

    Example:
        >>> largest_damage("loss"), largest_damage("accuracy")
        (nan, 1.0)
    """
    return float("nan") if outcome == LOSS else 1.0


def measure_set(
    size: int,
    change: Float[np.ndarray, " units"],
    clean: Float[np.ndarray, " units"],
    bound: float,
    alpha: float,
    worst: float = float("nan"),
) -> PruneStep:
    """Test one set of heads alone; arguments, null and assumptions as of ``certify``.

    Example:
        >>> change = np.random.default_rng(0).normal(0.0, 0.02, 100)
        >>> step = measure_set(3, change, np.ones(100), 0.01, 0.05)
        >>> step.decision, step.count, step.upper < 0.01
        ('within the bound', 100, True)
    """
    known = ~np.isnan(change) & ~np.isnan(clean)
    change, clean = change[known], clean[known]
    count = len(change)
    if count < 2 or clean.mean() <= 0:
        nan = float("nan")
        return PruneStep(size, count, nan, nan, nan, nan, nan, nan, NOT_SHOWN)
    p, decision = decide_set(change, clean, bound, alpha, worst)
    tail = (1 - COVERED) / 2
    return PruneStep(
        size=size,
        count=count,
        damage=float(change.mean()),
        mean=float(change.mean() / clean.mean()),
        low=_bound_at(change, clean, 1 - tail, worst),
        high=_bound_at(change, clean, tail, worst),
        upper=_bound_at(change, clean, alpha, worst),
        p=p,
        decision=decision,
    )


def decide_set(
    change: Float[np.ndarray, " units"],
    clean: Float[np.ndarray, " units"],
    bound: float,
    alpha: float,
    worst: float = float("nan"),
) -> tuple[float, str]:
    """Return p and the decision of one set, without its interval; arguments as of ``certify``, none NaN.

    Example:
        >>> decide_set(np.random.default_rng(0).normal(0.01, 0.02, 100), np.ones(100), 0.01, 0.05)[1]
        'not shown'
    """
    p = small_p(change, clean, bound, worst)
    if p > alpha or len(change) < ENOUGH_FOR_NOT:
        return p, NOT_SHOWN
    return p, FEW_UNITS if hinges_on_few(change, clean, bound, worst) else WITHIN


def small_p(
    change: Float[np.ndarray, " units"], clean: Float[np.ndarray, " units"], bound: float, worst: float
) -> float:
    """Return p of "the damage is at least the bound", by t with Hall's correction for skewness.

    Without spread beyond rounding, p follows from the largest possible damage alone; it is 1 where that is
    not known. Null and assumptions as of ``certify``.

    Example:
        >>> small_p(np.zeros(100), np.ones(100), 0.05, 1.0).__round__(4)
        0.0059
    """
    sample = _excess(change, clean, bound)
    if bool(has_no_spread(sample)[0]):
        lowest = float(sample.mean[0]) - 1.0  # any number: it has no part in this p
        p = float(bounded_outcome(sample, 0.0, lowest, worst - bound).p_not[0])
        return 1.0 if np.isnan(p) else p
    return float(student_skew(sample, 0.0).p_not[0])


def hinges_on_few(
    change: Float[np.ndarray, " units"], clean: Float[np.ndarray, " units"], bound: float, worst: float
) -> bool:
    """Return whether "below the bound" may rest on few units, in the sample or missing from it.

    Units with the largest possible damage may be missing (``missed_p``); where that is not known, with the
    largest damage of any unit.

    Example:
        >>> rare = np.zeros(100)
        >>> rare[0] = 0.5
        >>> hinges_on_few(rare, np.ones(100), 0.02, 1.0), hinges_on_few(rare, np.ones(100), 0.1, 1.0)
        (True, False)
    """
    sample = _excess(change, clean, bound)
    most = extreme((change - bound * clean)[:, None], 1) if np.isnan(worst) else worst - bound
    return bool(missed_p(sample, 0.0, most, -1)[0] > HINGE)


def _excess(change: np.ndarray, clean: np.ndarray, bound: float) -> Sample:
    """Return the moments of the damage beyond the bound."""
    return describe((change - bound * clean)[:, None])


def _bound_at(change: np.ndarray, clean: np.ndarray, level: float, worst: float) -> float:
    """Return the bound at which p equals a level: an end of the interval that inverts the test.

    Returns:
        An end beyond the largest possible damage is that damage; NaN where p reaches the level nowhere.
    """
    centre = float(change.mean() / clean.mean())
    scale = float((change - centre * clean).std() / clean.mean()) + 1e-9
    up = level < small_p(change, clean, centre, worst)
    step = scale if up else -scale
    for _ in range(WIDEST):
        if (small_p(change, clean, centre + step, worst) <= level) == up:
            break
        step *= 2
    else:
        return float("nan")
    low, high = sorted((centre, centre + step))
    end = float(brentq(lambda at: small_p(change, clean, at, worst) - level, low, high, xtol=1e-12))
    return end if np.isnan(worst) else min(end, worst)
