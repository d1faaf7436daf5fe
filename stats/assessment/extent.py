"""Extent of a role over units: the share of units beyond θ, and heads whose mean is absent.

Both describe the score of a sieve alone. Its contrast has no part in them.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from headroles.records.rules.rule import Decision
from headroles.stats.claims import enough_for_not, guarded_p, outcome_of
from headroles.stats.columns import Column, Columns, with_margin

ABSENT = 0.02
"""Bound of a mean that is called absent, on the scale of selectivity: a fiftieth of the attention budget."""


def absent_p(columns: Columns, decision: Decision) -> Float[np.ndarray, "sieves heads"]:
    """Return p of "absent": the mean lies within ± ``ABSENT`` of chance (two one-sided tests).

    Null: mean(score − null) ≤ −0.02, or mean(score − null) ≥ 0.02. Alternative: neither. Unit and assumptions
    are those of the run's test. p is the larger of the two one-sided p (Schuirmann 1987).

    Args:
        columns: The columns that were tested.
        decision: As they were judged.

    Returns:
        One p per column and head. NaN for contrasts, below 50 units, for pooled columns (probes: a head that
        equals its baseline is not absent), and where chance is not 0 on every input (ratios, probes).
    """
    rows = [
        _absent_p(column, decision) if _has_bound(column) else np.full(column.values.shape[1], np.nan)
        for column in columns
    ]
    return np.stack(rows)


def _has_bound(column: Column) -> bool:
    """Return whether a column can be a role and has chance 0, so that the bound has a meaning."""
    chance = column.null[~np.isnan(column.null)]
    return column.rule.role and not column.rule.pooled and bool(chance.size) and not chance.any()


def _absent_p(column: Column, decision: Decision) -> Float[np.ndarray, " heads"]:
    above, below = (with_margin(column, bound) for bound in (-ABSENT, ABSENT))
    tested = [outcome_of(each, decision, ends=False) for each in (above, below)]
    larger = np.maximum(
        guarded_p(tested[0].p, above, column.sample, decision.test, 1),
        guarded_p(tested[1].p_not, below, column.sample, decision.test, -1),
    )
    p: np.ndarray = np.where(enough_for_not(column, decision.test), larger, np.nan)
    return p


def prevalence(
    columns: Columns,
) -> tuple[
    Float[np.ndarray, "sieves heads"], Float[np.ndarray, "sieves heads"], Float[np.ndarray, "sieves heads"]
]:
    """Return the share of units whose score lies beyond θ, with the ends of its 95 % interval (Wilson 1927).

    Estimand: the probability that a unit of the population has a mean score above null + margin. Assumption:
    units are independent. The share is about the score alone: a contrast has too much noise in a single unit.

    Args:
        columns: Scores of units, none of them pooled; only the margins of their rules count.

    Returns:
        Share, lower and upper end, each 0 to 1; NaN for heads without a unit.
    """
    shares = []
    for column in columns:
        count = (~np.isnan(column.values)).sum(axis=0)
        beyond = (column.values > column.rule.margin).sum(axis=0)
        units = np.where(count, count, np.nan)
        with np.errstate(invalid="ignore"):
            shares.append((beyond / units, *wilson_interval(beyond, units)))
    share, low, high = (np.stack(rows) for rows in zip(*shares, strict=True))
    return share, low, high


def wilson_interval(
    found: Int[np.ndarray, " heads"], units: Float[np.ndarray, " heads"], alpha: float = 0.05
) -> tuple[Float[np.ndarray, " heads"], Float[np.ndarray, " heads"]]:
    """Return the ends of Wilson's (1927) interval of a share, in the arithmetic of statsmodels.

    It is ``statsmodels.stats.proportion.proportion_confint(method="wilson")``.

    Args:
        found: Units that count.
        units: All units; NaN for none.
        alpha: One less the level of the interval.

    Example:
        >>> [end.round(3).tolist() for end in wilson_interval(np.array([2]), np.array([8.0]))]
        [[0.071], [0.591]]
    """
    share, reach = found / units, -ndtri(alpha / 2)
    wider = 1 + reach**2 / units
    centre = (share + reach**2 / (2 * units)) / wider
    half = reach * np.sqrt(share * (1.0 - share) / units + reach**2 / (4.0 * units**2)) / wider
    return centre - half, centre + half
