"""Claims that a mean lies on one side of a margin: their p as families count it, with missing units.

Every such claim (roles, nots, contrasts, damages, differences, trends) passes ``guarded_p``. Where values
have no bounds, ``unseen_p`` also asks the test of the units with three more that are as bad as the worst.
Tests of columns are run by ``outcome_of`` and ``label_p`` alone.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.rules.rule import Decision
from headroles.stats.columns import Column, exact_statements, handle_flat_scores, with_margin
from headroles.stats.decision import ENOUGH_FOR_NOT, ENOUGH_WITHOUT_BOUND
from headroles.stats.effects import interval_of
from headroles.stats.methods.closed_form import Outcome, has_no_spread
from headroles.stats.methods.names import METHODS
from headroles.stats.methods.reliance import missed_p, with_further
from headroles.stats.moments import Sample


def outcome_of(
    column: Column, decision: Decision, margin: float | None = None, *, ends: bool = True
) -> Outcome:
    """Test the means of a column; scores without spread are judged by their bounds.

    Its p are those of the test alone: a claim takes ``guarded_p`` of them.

    Args:
        column: The scores.
        decision: Names the test and the interval, and resamples and seed where these draw.
        margin: What means are tested against; None for the margin of the column.
        ends: Whether the interval is found.
    """
    column = column if margin is None else with_margin(column, margin)
    method, draws = METHODS[decision.test], (decision.resamples, decision.seed)
    outcome = method(column.values, column.sample, column.rule.margin, *draws, column.stated, ends)
    if ends:
        outcome = interval_of(decision, column.values, column.sample, outcome)
    return handle_flat_scores(outcome, column, column.sample, decision.test)


def label_p(
    column: Column,
    sample: Sample,
    test: str,
    values: Float[np.ndarray, "units columns"] | None = None,
    worst: Float[np.ndarray, "*shape"] | None = None,
) -> Float[np.ndarray, "*shape"]:
    """Return the p by which resamples are labelled: that of the test, guarded; 1 below its fewest units.

    Args:
        column: The scores.
        sample: Moments of resamples of them.
        test: Name of the test, which does not resample.
        values: The resample, which tests by ranks or from bounds need; None for the column's own.
        worst: ``column.worst(1)`` of each resample; None where there is one for each head.
    """
    p = METHODS[test].role_p(
        column.values if values is None else values, sample, column.rule.margin, column.stated
    )
    if METHODS[test].bounded is None:
        still = has_no_spread(column.counted(sample))
        p = np.where(still, exact_statements(column, sample).p, p) if still.any() else p
        p = np.where(sample.count >= 2, p, np.nan)
    return withhold(guarded_p(p, column, sample, test, 1, worst), sample.count >= METHODS[test].fewest)


def guarded_p(
    p: Float[np.ndarray, "*shape"],
    column: Column,
    sample: Sample,
    test: str,
    side: int,
    worst: Float[np.ndarray, "*shape"] | None = None,
) -> Float[np.ndarray, "*shape"]:
    """Return p of a claim as its family counts it: at least that of units that are missing (``missing_p``).

    Such a head stays a test of its family. Left out after the correction, it would lend its small p to the
    others; left out before, the others would be corrected for fewer tests, chosen by their scores.

    Args:
        p: One-sided p of the test; NaN stays NaN.
        column: The scores, with the margin that is claimed about.
        sample: Their moments, or those of resamples of them.
        test: Name of the test.
        side: 1 for a claim above the margin, −1 for one below.
        worst: ``column.worst(side)`` of each entry; None where there is one for each head.
    """
    counted: np.ndarray = np.maximum(p, missing_p(column, sample, test, side, worst))
    return counted


def missing_p(
    column: Column, sample: Sample, test: str, side: int, worst: Float[np.ndarray, "*shape"] | None = None
) -> Float[np.ndarray, "*shape"]:
    """Return the largest probability that the units that would reverse a claim are missing (``missed_p``).

    It is 0 for scores without spread, whose p rests on bounds already, for tests of medians, for those from
    stated bounds, and for the released test. In pooled columns the missing are units of average weight, and
    in sums over random groups examples: a rare unit that is larger can move the mean by more.

    Args:
        column: The scores, with the margin that is claimed about.
        sample: Their moments, or those of resamples of them.
        test: Name of the test.
        side: 1 for a claim above the margin, −1 for one below.
        worst: ``column.worst(side)`` of each entry; None where there is one for each head.
    """
    if not METHODS[test].guarded:
        return np.zeros(sample.mean.shape)
    counted = column.counted(sample)
    worst = column.worst(side) if worst is None else worst
    missed = missed_p(replace(sample, count=counted.count), column.rule.margin, worst, side)
    return np.where(has_no_spread(counted), 0.0, missed)


def withhold(
    p: Float[np.ndarray, "*shape"], allowed: Bool[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """Return p with 1 where no claim is allowed; NaN stays NaN.

    Example:
        >>> withhold(np.array([0.001, 0.001, np.nan]), np.array([True, False, False])).tolist()
        [0.001, 1.0, nan]
    """
    counted: np.ndarray = np.where(allowed | np.isnan(p), p, 1.0)
    return counted


def enough_for_not(column: Column, test: str) -> Bool[np.ndarray, " heads"]:
    """Return whether a head has enough units to be called below a margin.

    These are 50 equally informative ones. By a test of a mean whose scores have no known highest value, 300.

    Args:
        column: The scores.
        test: Name of the test.
    """
    enough: np.ndarray = (column.sample.count if column.equal is None else column.equal) >= ENOUGH_FOR_NOT
    if METHODS[test].guarded and np.isnan(column.high):
        enough &= column.counted(column.sample).count >= ENOUGH_WITHOUT_BOUND
    return enough


def further(column: Column, side: int) -> Column:
    """Return a column with three more units, at the largest value of any (side 1) or the smallest (−1).

    Args:
        column: Values of units; NaN where a head has none.
        side: Of the extreme.
    """
    return replace(column, values=with_further(column.values, side))


def unseen_p(column: Column, decision: Decision, side: int) -> Float[np.ndarray, " heads"]:
    """Return p of a mean on the wrong side of the margin, for values whose tails are not known.

    Null: the mean is at most the margin (side 1), or at least (side −1). Alternative: it lies beyond. Unit,
    and assumptions: those of the decision's test. By a test of a mean, p is the larger of two: of the units,
    and of the units with three more at the worst value of any (``further``). Samples that lack rare units
    have an extreme mean and a small spread at once; so p of the second is no smaller where tails are long.
    ``guarded_p`` adds units at known bounds, for the correction.

    Args:
        column: The values, with their margin.
        decision: Names the test, and resamples and seed where it draws.
        side: 1 for above, −1 for below.

    Returns:
        Values in [0, 1]; NaN where nothing can be tested.
    """
    samples = (column, further(column, -side)) if METHODS[decision.test].guarded else (column,)
    found = [outcome_of(each, decision, ends=False) for each in samples]
    larger: np.ndarray = np.maximum.reduce([each.p if side > 0 else each.p_not for each in found])
    return larger
