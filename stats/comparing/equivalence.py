"""Two one-sided tests (TOST): whether a mean lies within a bound around 0, with its correction.

Equivalence is both of two one-sided statements. So under max-t the negatives of the values take the place
that a contrast has among roles: the statistic is the smaller of the two, the resampled one the larger.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE
from headroles.records.rules.rule import Decision
from headroles.stats.claims import further, missing_p, unseen_p, withhold
from headroles.stats.columns import Column, with_margin
from headroles.stats.families import adjust_families, adjust_missing
from headroles.stats.max_t import max_t
from headroles.stats.methods.closed_form import SPREAD, has_no_spread, student

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
    column: Column, decision: Decision, bound: float
) -> tuple[Float[np.ndarray, " heads"], Float[np.ndarray, " heads"]]:
    """Return p of "the mean is at least the bound away from 0", and p as its family counts it.

    Null: the mean is −bound or less, or bound or more. Alternative: it lies between. p is the larger of two
    one-sided p, each with unseen units (``claims.unseen_p``): only one half of the null can be true, so
    nothing is divided. Unit: a row of the column. Assumptions: those of the test. Values without spread
    beyond rounding are judged by their bounds; without bounds as if rounding were their spread (Student's t
    with a standard deviation of 1e-6). In its family p counts as 1 below 75 units, and as at least that of
    missing units at the bounds (``claims.guarded_p``).
    Source: Schuirmann (1987), "A comparison of the two one-sided tests procedure and the power approach",
    J. Pharmacokin. Biopharm. 15, 657-680.

    Args:
        column: The values; only the bounds of its rule count, not its margin.
        decision: Names the test, and resamples and seed where it draws.
        bound: Largest mean that counts as none, above 0, on the scale of the values.

    Returns:
        Both per head, NaN where nothing could be tested.
    """
    sample = column.sample
    p, counted = np.zeros(sample.mean.shape), np.zeros(sample.mean.shape)
    for side in (1, -1):
        beyond = with_margin(column, -side * bound)
        p = np.maximum(p, unseen_p(beyond, decision, side))
        counted = np.maximum(counted, missing_p(beyond, sample, decision.test, side))
    flat = np.isnan(p) & has_no_spread(sample)
    if flat.any():
        rounding = replace(sample, sd=np.maximum(sample.sd, SPREAD * np.maximum(1.0, np.abs(sample.mean))))
        p[flat] = np.maximum(student(rounding, -bound).p, student(rounding, bound).p_not)[flat]
    return p, withhold(np.maximum(p, counted), sample.count >= ENOUGH_FOR_LITTLE)


def adjust_equivalence(
    columns: Sequence[Column],
    families: Families,
    p: Float[np.ndarray, "columns heads"],
    decision: Decision,
    bounds: Sequence[float],
) -> Float[np.ndarray, "columns heads"]:
    """Return adjusted p of equivalence, over families of its own.

    Args:
        columns: Values, on the same units.
        families: Parts that are corrected together.
        p: From ``equivalence_p``, as families count it.
        decision: Correction and alpha; test, resamples and seed for max-t.
        bounds: Bound of each column.

    Returns:
        Values in [p, 1]; NaN where p is NaN.
    """
    if decision.correction != "maxT":
        return adjust_families(p, families, decision.correction, decision.alpha)
    many = len(columns)
    both = [
        *(with_margin(further(column, -1), -bound) for column, bound in zip(columns, bounds, strict=True)),
        *(negate_column(further(column, 1), -bound) for column, bound in zip(columns, bounds, strict=True)),
    ]
    still = np.stack([has_no_spread(column.sample) for column in columns])
    other = {k: many + k for k in range(many)}
    (adjusted,) = max_t(both, other, families, (p,), np.concatenate([still, still]), decision)
    missing = [
        [
            missing_p(with_margin(column, -side * bound), column.sample, decision.test, side)
            for column, bound in zip(columns, bounds, strict=True)
        ]
        for side in (1, -1)
    ]
    guarded: np.ndarray = np.maximum(adjusted, adjust_missing(np.maximum(*missing), p, families, decision))
    return guarded
