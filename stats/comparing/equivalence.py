"""Two one-sided tests (TOST): whether a mean lies within a bound around 0, with its correction.

Equivalence is both of two one-sided statements. So under max-t the negatives of the values take the place
that a contrast has among roles: the statistic is the smaller of the two, the resampled one the larger.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.rules.rule import Decision
from headroles.stats.columns import Column, handle_flat_scores, with_margin
from headroles.stats.correction import significant
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.stats.families import adjust_families
from headroles.stats.max_t import SPENT, collapse_rate, max_t
from headroles.stats.methods.bets import bounded_p
from headroles.stats.methods.closed_form import Outcome, has_no_spread
from headroles.stats.methods.names import METHODS
from headroles.stats.moments import Sample

Families = Sequence[Sequence[tuple[int, slice]]]


def negate_column(column: Column, margin: float) -> Column:
    """Return the values with the sign turned, against a margin."""
    return replace(
        column,
        rule=replace(column.rule, margin=margin),
        values=-column.values,
        low=-column.high,
        high=-column.low,
    )


def equivalence_p(
    column: Column, sample: Sample, decision: Decision, bound: float
) -> tuple[Float[np.ndarray, " heads"], Bool[np.ndarray, " heads"]]:
    """Return p of "the mean is at least the bound away from 0", and whether units suffice to call it refuted.

    Null: the mean is −bound or less, or bound or more. Alternative: it lies between. p is the larger of two
    one-sided p, by the test of the decision: only one half of the null can be true, so nothing is divided.
    Unit: a row of the column. Assumptions: those of the test. Below 50 units, and for values that rest on few
    units (``max_t.collapse_rate``), p is at least that of the bounds of the values (``methods.bets``).
    Below 50 units nothing is equivalent without bounds.
    Source: Schuirmann (1987), "A comparison of the two one-sided tests procedure and the power approach",
    J. Pharmacokin. Biopharm. 15, 657-680.

    Args:
        column: The values; only the bounds of its rule count, not its margin.
        sample: Their moments.
        decision: Names the test, and resamples and seed where it draws.
        bound: Largest mean that counts as none, above 0, on the scale of the values.

    Returns:
        P per head, NaN where nothing could be tested; and whether there are 50 units or known bounds.
    """
    low, high = (with_margin(column, theta) for theta in (-bound, bound))
    above = handle_flat_scores(_outcome(low, sample, decision), low, sample).p
    below = handle_flat_scores(_outcome(high, sample, decision), high, sample).p_not
    p, enough = np.maximum(above, below), sample.count >= ENOUGH_FOR_NOT
    unsure = ~enough | (collapse_rate(column.values) * enough.size > SPENT * decision.alpha)
    if unsure.any():
        exact = np.where(has_no_spread(sample), p, _bounds_p(column, bound))
        known = unsure & ~np.isnan(exact)
        p[known] = np.maximum(p, exact)[known]
        enough |= known
    return p, enough


def _outcome(column: Column, sample: Sample, decision: Decision) -> Outcome:
    method = METHODS[decision.test]
    return method(column.values, sample, column.rule.margin, decision.resamples, decision.seed)


def _bounds_p(column: Column, bound: float) -> Float[np.ndarray, " heads"]:
    """Return p of equivalence from the bounds of the values alone; NaN where none are known."""
    if column.rule.pooled:
        return np.full(column.values.shape[1], np.nan)
    above, _ = bounded_p(column.values, -bound, column.low, column.high)
    _, below = bounded_p(column.values, bound, column.low, column.high)
    p: np.ndarray = np.maximum(above, below)
    return p


def adjust_equivalence(
    columns: Sequence[Column],
    families: Families,
    p: Float[np.ndarray, "columns heads"],
    still: Bool[np.ndarray, "columns heads"],
    decision: Decision,
    bounds: Sequence[float],
    above: Sequence[Column] | None = None,
) -> Float[np.ndarray, "columns heads"]:
    """Return adjusted p of equivalence, over families of its own.

    Args:
        columns: Values, on the same units.
        families: Parts that are corrected together.
        p: Unadjusted p of equivalence; NaN where nothing could be tested.
        still: Heads without spread.
        decision: Correction and alpha; test, resamples and seed for max-t.
        bounds: Bound of each column.
        above: Values that must lie above minus the bound, while ``columns`` lie below the bound; None where
            both are the same.

    Returns:
        Values in [p, 1]; NaN where p is NaN.
    """
    if decision.correction != "maxT":
        return adjust_families(p, families, decision.correction, decision.alpha)
    many = len(columns)
    both = [
        with_margin(column, -bound)
        for column, bound in zip(columns if above is None else above, bounds, strict=True)
    ] + [negate_column(column, -bound) for column, bound in zip(columns, bounds, strict=True)]
    other = {k: many + k for k in range(many)}
    (adjusted,) = max_t(both, other, families, (p,), np.concatenate([still, still]), decision)
    return adjusted


def equivalent_heads(
    q: Float[np.ndarray, "columns heads"],
    p: Float[np.ndarray, "columns heads"],
    enough: Bool[np.ndarray, "columns heads"],
    alpha: float,
) -> Bool[np.ndarray, "columns heads"]:
    """Return which heads are equivalent: significant, with enough units or known bounds.

    Args:
        q: Adjusted p of equivalence.
        p: Unadjusted.
        enough: From ``equivalence_p``.
        alpha: The level.
    """
    equivalent: np.ndarray = significant(q, alpha, p) & enough
    return equivalent
