"""Rules of columns with what only the examples of a run say."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from headroles.records.example import Rule


def bounded(
    rules: Sequence[Rule],
    low: Float[np.ndarray, " columns"],
    high: Float[np.ndarray, " columns"],
    null: Float[np.ndarray, "columns examples"],
    scorers: int,
) -> tuple[Rule, ...]:
    """Rules with bounds of masks and mean chance values of scorers.

    Args:
        rules: One per column, those of scorers last.
        low: Smallest value each column could take on any of the examples; not finite where none says.
        high: Largest value.
        null: Chance values; NaN where a column says nothing.
        scorers: Columns of scorers.

    Example:
        >>> rules = (Rule("local"), Rule("odd"))
        >>> made = bounded(rules, np.array([-0.5, np.inf]), np.ones(2), np.full((2, 3), 0.25), 1)
        >>> (made[0].low, made[0].high, made[0].null), made[1].null
        ((-0.5, 1.0, 0.0), 0.25)
    """
    made = []
    for column, rule in enumerate(rules):
        if column >= len(rules) - scorers:
            chance = float(np.nanmean(null[column])) if (~np.isnan(null[column])).any() else 0.0
            made.append(replace(rule, null=chance))
        elif np.isfinite([low[column], high[column]]).all():
            made.append(replace(rule, low=float(low[column]), high=float(high[column])))
        else:
            made.append(rule)
    return tuple(made)
