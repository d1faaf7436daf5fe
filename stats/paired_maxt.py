"""Step-down max-t for paired differences: change in both directions, and equivalence within a bound.

Both are families that ``stats.maxt`` knows already. A change is one of two one-sided statements, so the
differences and their negatives are one family of twice the size, and the largest of both directions is the
largest |t|. Equivalence is both of two one-sided statements, so the negatives take the place that a
contrast has among roles: the statistic is the smaller of the two, the resampled one the larger.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.example import Decision
from headroles.stats.columns import Column, against
from headroles.stats.maxt import max_t

Families = Sequence[Sequence[tuple[int, slice]]]


def negated(column: Column, margin: float) -> Column:
    """The differences with the sign turned, against a margin."""
    return replace(
        column,
        rule=replace(column.rule, margin=margin),
        values=-column.values,
        low=-column.high,
        high=-column.low,
    )


def max_t_change(
    columns: Sequence[Column],
    families: Families,
    p: Float[np.ndarray, "sieves heads"],
    still: Bool[np.ndarray, "sieves heads"],
    decision: Decision,
) -> Float[np.ndarray, "sieves heads"]:
    """Adjusted two-sided p of "no change": family-wise error, by the largest |t| of all heads.

    Args:
        columns: Differences, on the same units.
        families: What is corrected together.
        p: Unadjusted two-sided p; NaN where nothing could be tested.
        still: Heads without spread.
        decision: Test, resamples and seed.

    Returns:
        Values in [p, 1]; NaN where p is NaN.
    """
    many = len(columns)
    both = [against(column, 0.0) for column in columns] + [negated(column, 0.0) for column in columns]
    doubled = [[*family, *((many + k, part) for k, part in family)] for family in families]
    sided = np.concatenate([p, p]) / 2
    found, _ = max_t(both, {}, doubled, (sided, sided), np.concatenate([still, still]), decision)
    adjusted: np.ndarray = np.maximum(np.minimum(found[:many], found[many:]), p)
    return adjusted


def max_t_equivalence(
    columns: Sequence[Column],
    families: Families,
    p: Float[np.ndarray, "sieves heads"],
    still: Bool[np.ndarray, "sieves heads"],
    decision: Decision,
    bound: float,
) -> Float[np.ndarray, "sieves heads"]:
    """Adjusted p of "a change of at least the bound", for all heads of a family together.

    Args:
        columns: Differences, on the same units.
        families: What is corrected together.
        p: Unadjusted p of equivalence; NaN where nothing could be tested.
        still: Heads without spread.
        decision: Test, resamples and seed.
        bound: Largest difference that counts as none.

    Returns:
        Values in [p, 1]; NaN where p is NaN.
    """
    many = len(columns)
    both = [against(column, -bound) for column in columns] + [negated(column, -bound) for column in columns]
    other = {k: many + k for k in range(many)}
    found, _ = max_t(both, other, families, (p, p), still, decision)
    return found
