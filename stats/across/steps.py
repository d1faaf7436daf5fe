"""Checkpoints of one training: whether a score rises, and the first step from which a role holds.

All steps read the same units, so that a step is compared with another unit by unit.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.stats.claims import withhold
from headroles.stats.correction import adjust, significant
from headroles.stats.methods.closed_form import Outcome, student_skew
from headroles.stats.methods.reliance import UNSEEN, extreme, missed_p
from headroles.stats.moments import describe

NEVER = -1
"""In place of a step where nothing could be said."""


def trend_weights(steps: int) -> Float[np.ndarray, " steps"]:
    """Return the weights of a linear trend over the order of the steps: with the order they sum to 1.

    They sum to 0. A weighted sum is the slope of the least-squares line: the mean rise from step to step.

    Example:
        >>> trend_weights(3).tolist()
        [-0.5, 0.0, 0.5]
    """
    place = np.arange(steps) - (steps - 1) / 2
    weights: np.ndarray = place / (place**2).sum()
    return weights


def trends(
    values: Float[np.ndarray, "steps units heads"], low: float = float("nan"), high: float = float("nan")
) -> tuple[Float[np.ndarray, " heads"], Outcome]:
    """Test whether the mean score of each head rises or falls over the steps.

    Null (p): the slope of the mean over the steps is at most 0; (p_not): at least 0. Unit: an input or
    group, whose own slope is Σ_t c_t x_t. Test: t with Hall's correction for skewness on the slopes of the
    units, and of the units with three more at the slope of any that speaks most against the trend: the larger
    p. Assumptions: independent units; the same units at all steps. Units without a score at some step
    are left out for that head.

    A few units that rise can be missing from a sample in which the others fall. So p is at least the
    probability that units with the worst possible slope are missing (``methods.reliance``), which is
    (high − low) Σ_t |c_t| / 2 the other way. Without bounds, both take the worst slope of any unit and head,
    and units like none of these are not guarded against. p is 1 below 20 units, too.

    Args:
        values: Scores of the same units at every step; NaN without a score.
        low: Smallest possible score; NaN where unknown.
        high: Largest possible score.

    Returns:
        The mean slope per step; and its test against 0, with a 95 % interval. NaN below two units.
    """
    weights = trend_weights(len(values))
    slopes = np.tensordot(weights, values, axes=1)
    sample = describe(slopes)
    outcome, farthest = student_skew(sample, 0.0), (high - low) * float(np.abs(weights).sum()) / 2
    p: dict[str, np.ndarray] = {}
    for name, side in (("p", 1), ("p_not", -1)):
        seen = extreme(slopes, -side)
        worst = np.full(seen.shape, -side * farthest)
        if np.isnan(farthest):
            worst = seen = np.where(np.isnan(seen), np.nan, extreme(slopes.reshape(-1, 1), -side))
        more = student_skew(describe(np.concatenate([slopes, seen[None].repeat(UNSEEN, axis=0)])), 0.0)
        tests = (getattr(outcome, name), getattr(more, name), missed_p(sample, 0.0, worst, side))
        p[name] = withhold(np.maximum.reduce(tests), sample.count >= FEWEST_UNITS)
    return sample.mean, replace(outcome, **p)


@dataclass(frozen=True, slots=True, eq=False)
class Emergence:
    """The first step from which each head holds a role until the end.

    Attributes:
        step: Earliest step from which the role holds in an unbroken row of tests to the last; ``NEVER``
            where the last step does not hold it.
        earliest: Lower end of the 95 % interval of the true step: one past the steps that are "not", in an
            unbroken row from the first.
        latest: Upper end: the same as ``step`` at half the level; ``NEVER`` where there is none.
    """

    step: Int[np.ndarray, " heads"]
    earliest: Int[np.ndarray, " heads"]
    latest: Int[np.ndarray, " heads"]


def emergence(
    p: Float[np.ndarray, "steps heads"],
    p_not: Float[np.ndarray, "steps heads"],
    correction: str = "fdr_bh",
    alpha: float = 0.05,
) -> Emergence:
    """Return the first step of each head's role by tests in a fixed sequence, and an interval of that step.

    The true step E is the first one from which the mean lies above the threshold at all later steps. Null at
    step t, from the last step backwards: the mean at t is at most the threshold. Each is tested at the full
    level until the first that is not rejected, which needs no correction over steps (Maurer, Hothorn and
    Lehmacher 1995; Westfall and Krishen 2001). Heads are selected by their last step, corrected over the
    heads of the role; R of m selected heads are then tested at alpha R / m (Benjamini and Bogomolov 2014).
    The interval of one head is not adjusted for selection: half of alpha on each side. Its lower end tests
    "not", from the first step on: a step below the threshold says that E lies later.
    Unit: that of the runs. Assumptions: those of the tests that gave p.

    Args:
        p: p of "above the threshold" at each step; NaN where it was not tested, which ends a sequence.
        p_not: p of "below the threshold".
        correction: A name of ``stats.correction``, over heads at the last step.
        alpha: The level.

    Returns:
        Places of steps, from 0.

    Example:
        >>> p = np.array([[0.9], [0.4], [0.001], [0.001]])
        >>> found = emergence(p, 1 - p)
        >>> found.step.tolist(), found.earliest.tolist(), found.latest.tolist()
        ([2], [0], [2])
    """
    last = significant(adjust(p[-1], correction, alpha), alpha, p[-1])
    tested = max(int((~np.isnan(p[-1])).sum()), 1)
    level = alpha * last.sum() / tested
    step = _first_of_last_row(p, level)
    step[~last] = NEVER
    below = np.logical_and.accumulate(p_not <= alpha / 2, axis=0)
    return Emergence(step, below.sum(axis=0), _first_of_last_row(p, alpha / 2))


def _first_of_last_row(p: Float[np.ndarray, "steps heads"], level: float) -> Int[np.ndarray, " heads"]:
    """Return the first of the rejected steps that lead unbroken to the last; ``NEVER`` for none."""
    row = np.logical_and.accumulate(p[::-1] <= level, axis=0).sum(axis=0)
    return np.where(row > 0, len(p) - row, NEVER)


def losses(
    p: Float[np.ndarray, "steps heads"],
    p_not: Float[np.ndarray, "steps heads"],
    correction: str = "fdr_bh",
    alpha: float = 0.05,
) -> Int[np.ndarray, " heads"]:
    """Return the first step from which a head that once had a role has it no more, to the last step.

    The mirror of ``emergence``: the last step is "not", corrected over heads, and earlier steps are tested
    backwards in a fixed sequence. A head counts only if some step before was significantly above the
    threshold, corrected over the steps before by Bonferroni. ``NEVER`` for others.

    Args:
        p: As in ``emergence``.
        p_not: As in ``emergence``.
        correction: As in ``emergence``.
        alpha: As in ``emergence``.
    """
    gone = emergence(p_not, p, correction, alpha).step
    had = np.zeros(p.shape[1], dtype=bool)
    for head, start in enumerate(gone):
        earlier = p[:start, head] if start > 0 else np.empty(0)
        had[head] = bool((earlier * len(earlier) <= alpha).any())
    return np.where(had, gone, NEVER)
