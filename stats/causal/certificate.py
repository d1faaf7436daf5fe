"""The certificate of a set of removed heads: is its damage below a bound, with sets tested in sequence?"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq

from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE
from headroles.records.causal.columns import ACCURACY, LOSS
from headroles.records.causal.pruning import FEW_UNITS, NOT_SHOWN, NOT_TESTED, STEPS, WITHIN
from headroles.records.table import Row, Table
from headroles.stats.causal.falls import fall_end, fall_p
from headroles.stats.methods.closed_form import bounded_outcome, has_no_spread, student_skew
from headroles.stats.methods.reliance import missed_p, with_further
from headroles.stats.moments import Sample, describe

COVERED = 0.95
"""Coverage of the two-sided interval of a damage."""
MISSED = 0.05
"""Probability with which harm of rare inputs may be missing from the test units."""
UNKNOWN = (float("nan"), float("nan"))
"""Smallest and largest possible damage of an outcome without bounds, such as a loss."""
WIDEST = 60
"""Most doublings of the distance in which the end of an interval is looked for."""


def certify(
    sizes: Sequence[int],
    change: Float[np.ndarray, "steps units"],
    clean: Float[np.ndarray, " units"],
    bound: float,
    alpha: float,
    bounds: tuple[float, float] = UNKNOWN,
) -> Table:
    """Test growing sets of heads in their order, until the first whose damage is not shown to be small.

    Null of a set: E[damage] >= bound × E[clean]. Alternative: it is below. Unit: an input, or a group of
    inputs. The damage of these units chose neither sets nor order. (Mean outputs that replace a head come
    from reference inputs, which may be among them.) Each test is one-sided at alpha. A set is tested only
    where all sets before it passed, so no correction is needed: some set passes wrongly in at most alpha of
    all certificates (fixed sequence; Maurer, Hothorn and Lehmacher 1995).

    Accuracy of single inputs, whose changes are −1, 0 and 1, takes an exact test for paired answers
    (``causal.falls``). All else takes Student's t with Hall's correction for skewness, of damage − bound ×
    clean, whose mean is at least 0 under the null. So the mean of the clean loss is not taken as known. No
    set passes with fewer than 75 units, nor where the claim hinges on few units (``hinges_on_few``).

    Assumptions: units are independent, and drawn from the inputs that the certificate speaks of. Harm of rare
    inputs, of which no test unit is one, stays unseen: ``missed_share`` says how rare.

    Args:
        sizes: Heads in each set.
        change: Mean damage of every set and unit; NaN where a unit has none.
        clean: Loss of each unit without intervention, where the bound is a share of it; else 1.
        bound: The largest damage that is too small to count, per clean loss.
        alpha: Level of the tests.
        bounds: Smallest and largest possible damage of a unit; NaN where there is none, as for losses.

    Returns:
        One row for each set; ``accuracy_before`` and ``accuracy_after`` are NaN.

    Example:
        >>> chance = np.random.default_rng(0)
        >>> change = np.stack([chance.normal(mean, 0.02, 100) for mean in (0.0, 0.004, 0.02, 0.0)])
        >>> [step.decision for step in certify([1, 2, 3, 4], change, np.ones(100), 0.01, 0.05)]
        ['within the bound', 'within the bound', 'not shown', 'not tested']
    """
    steps: list[Row] = []
    for size, row in zip(sizes, change, strict=True):
        steps.append(in_sequence(steps, measure_set(size, row, clean, bound, alpha, bounds)))
    return STEPS.rows(map(vars, steps))


def in_sequence(earlier: Sequence[Row], step: Row) -> Row:
    """Return a set as it stands in the fixed sequence: not tested where a set before it did not pass.

    Args:
        earlier: The sets before it, in their order.
        step: The set, tested alone.
    """
    passed = all(other.decision == WITHIN for other in earlier)
    return step if passed else Row(**vars(step) | {"decision": NOT_TESTED})


def possible_damage(outcome: str) -> tuple[float, float]:
    """Return the smallest and largest possible damage of a unit; NaN for losses, which have none.

    Example:
        >>> possible_damage("loss"), possible_damage("accuracy"), possible_damage("tokens")
        ((nan, nan), (-1.0, 1.0), (0.0, 1.0))
    """
    return UNKNOWN if outcome == LOSS else (-1.0 if outcome == ACCURACY else 0.0, 1.0)


def missed_share(count: int) -> float:
    """Return the share of inputs below which harm of these alone is missed with a probability above 5 %.

    Of independent units none is among the harmed ones with probability (1 − share) to the power ``count``.

    Args:
        count: Units that tested.

    Returns:
        In (0, 1]; NaN without units.

    Example:
        >>> [round(missed_share(count), 4) for count in (75, 100, 400)]
        [0.0392, 0.0295, 0.0075]
    """
    return float(1 - MISSED ** (1 / count)) if count else float("nan")


def measure_set(
    size: int,
    change: Float[np.ndarray, " units"],
    clean: Float[np.ndarray, " units"],
    bound: float,
    alpha: float,
    bounds: tuple[float, float] = UNKNOWN,
) -> Row:
    """Return the test of one set of heads alone, as a row of ``STEPS``; all else as of ``certify``.

    Example:
        >>> change = np.random.default_rng(0).normal(0.0, 0.02, 100)
        >>> step = measure_set(3, change, np.ones(100), 0.01, 0.05)
        >>> step.decision, step.count, step.upper < 0.01
        ('within the bound', 100, True)
    """
    known = ~np.isnan(change) & ~np.isnan(clean)
    change, clean = change[known], clean[known]
    count, nan = len(change), float("nan")
    numbers = dict.fromkeys(("damage", "mean", "low", "high", "upper", "p"), nan)
    step = Row(
        size=size, count=count, **numbers, missed=missed_share(count), decision=NOT_SHOWN,
        accuracy_before=nan, accuracy_after=nan,
    )  # fmt: skip
    if count < 2 or clean.mean() <= 0:
        return step
    p, decision = decide_set(change, clean, bound, alpha, bounds)
    low, high, upper = _ends(change, clean, alpha, bounds)
    damage, mean = float(change.mean()), float(change.mean() / clean.mean())
    found = {"damage": damage, "mean": mean, "low": low, "high": high, "upper": upper, "p": p}
    return Row(**vars(step) | found | {"decision": decision})


def decide_set(
    change: Float[np.ndarray, " units"],
    clean: Float[np.ndarray, " units"],
    bound: float,
    alpha: float,
    bounds: tuple[float, float] = UNKNOWN,
) -> tuple[float, str]:
    """Return p and the decision of one set, without its interval; arguments as of ``certify``, none NaN.

    Example:
        >>> decide_set(np.random.default_rng(0).normal(0.01, 0.02, 100), np.ones(100), 0.01, 0.05)[1]
        'not shown'
    """
    p = small_p(change, clean, bound, bounds)
    if p > alpha or len(change) < ENOUGH_FOR_LITTLE:
        return p, NOT_SHOWN
    return p, FEW_UNITS if hinges_on_few(change, clean, bound, alpha, bounds) else WITHIN


def small_p(
    change: Float[np.ndarray, " units"],
    clean: Float[np.ndarray, " units"],
    bound: float,
    bounds: tuple[float, float],
) -> float:
    """Return p of "the damage is at least the bound": exact for answers, else by t with Hall's correction.

    Without spread beyond rounding, p follows from the largest possible damage alone; it is 1 where that is
    not known. Null and assumptions as of ``certify``.

    Example:
        >>> small_p(np.zeros(100), np.ones(100), 0.05, (-1.0, 1.0)).__round__(4)
        0.0138
    """
    answers = _answers(change, clean, bounds)
    if answers is not None:
        return fall_p(*answers, bound)
    sample = _excess(change, clean, bound)
    if bool(has_no_spread(sample)[0]):
        p = float(bounded_outcome(sample, 0.0, bounds[0] - bound, bounds[1] - bound).p_not[0])
        return 1.0 if np.isnan(p) else p
    return float(student_skew(sample, 0.0).p_not[0])


def hinges_on_few(
    change: Float[np.ndarray, " units"],
    clean: Float[np.ndarray, " units"],
    bound: float,
    alpha: float,
    bounds: tuple[float, float],
) -> bool:
    """Return whether "below the bound" may rest on few units, in the sample or missing from it.

    Where the largest possible damage is known, units with it may be missing with a probability of at most
    alpha (``missed_p``). Where it is not, the test itself must hold with three further units that have the
    largest damage of any.

    Example:
        >>> rare = np.zeros(100)
        >>> rare[0] = 0.5
        >>> ends = (-1.0, 1.0)
        >>> [hinges_on_few(rare, np.ones(100), bound, 0.05, ends) for bound in (0.02, 0.1)]
        [True, False]
    """
    if not np.isnan(bounds[1]):
        return bool(missed_p(_excess(change, clean, bound), 0.0, bounds[1] - bound, -1)[0] > alpha)
    further = describe(with_further((change - bound * clean)[:, None], 1))
    return bool(student_skew(further, 0.0).p_not[0] > alpha)


def _answers(
    change: np.ndarray, clean: np.ndarray, bounds: tuple[float, float]
) -> tuple[int, int, int] | None:
    """Return falls, rises and all units of right answers; None where units have other changes."""
    if bounds[0] != -1 or not np.isin(change, (-1, 0, 1)).all() or not (clean == 1).all():
        return None
    return int((change > 0).sum()), int((change < 0).sum()), len(change)


def _excess(change: np.ndarray, clean: np.ndarray, bound: float) -> Sample:
    """Return the moments of the damage beyond the bound."""
    return describe((change - bound * clean)[:, None])


def _ends(
    change: np.ndarray, clean: np.ndarray, alpha: float, bounds: tuple[float, float]
) -> tuple[float, float, float]:
    """Return both ends of the interval of a mean, which holds it, and the one-sided upper end.

    Where damage has bounds and no spread, the bounds alone give the ends (Markov's inequality).
    """
    tail = (1 - COVERED) / 2
    answers = _answers(change, clean, bounds)
    if answers is not None:
        falls, rises, count = answers
        low = -fall_end(rises, falls, count, tail)
        return low, fall_end(falls, rises, count, tail), fall_end(falls, rises, count, alpha)
    if not np.isnan(bounds[1]) and bool(has_no_spread(describe(change[:, None]))[0]):
        mean = float(np.clip(change.mean(), *bounds))
        low = bounds[0] + (mean - bounds[0]) * tail ** (1 / len(change))
        high, upper = (bounds[1] - (bounds[1] - mean) * level ** (1 / len(change)) for level in (tail, alpha))
        return low, high, upper
    low, high, upper = (_bound_at(change, clean, level, bounds) for level in (1 - tail, tail, alpha))
    return low, high, upper


def _bound_at(change: np.ndarray, clean: np.ndarray, level: float, bounds: tuple[float, float]) -> float:
    """Return the bound at which p equals a level: an end of the interval that inverts the test.

    Returns:
        An end beyond the possible damages is the nearest of them; NaN where p reaches the level nowhere.
    """
    centre = float(change.mean() / clean.mean())
    scale = float((change - centre * clean).std() / clean.mean()) + 1e-9
    up = level < small_p(change, clean, centre, bounds)
    step = scale if up else -scale
    for _ in range(WIDEST):
        if (small_p(change, clean, centre + step, bounds) <= level) == up:
            break
        step *= 2
    else:
        return float("nan")
    low, high = sorted((centre, centre + step))
    end = float(brentq(lambda at: small_p(change, clean, at, bounds) - level, low, high, xtol=1e-12))
    return end if np.isnan(bounds[1]) else min(max(end, bounds[0]), bounds[1])
