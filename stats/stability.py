"""How often two halves of the units agree on a label."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from headroles.records import Decision
from headroles.stats.columns import Column
from headroles.stats.draws import halves
from headroles.stats.relabel import Grid, in_blocks, relabelled, stand_in


def stability(
    columns: Sequence[Column], grid: Grid, decision: Decision, splits: int = 200
) -> Float[np.ndarray, "roles heads"]:
    """Share of random disjoint half-samples in which both halves give the role.

    Each half is tested and corrected by itself. The share estimates how often the label would come
    back in two fresh samples of half the size; it is no probability that the label is true, and it
    is pessimistic for the full size. Tests that resample are stood in for (``relabel.stand_in``).

    Args:
        columns: The run's columns, contrasts included.
        grid: Layers and heads.
        decision: How the run is judged; its seed draws the halves.
        splits: Number of random splits; 0 for none.

    Returns:
        Shares in [0, 1]; NaN without splits or below four units.
    """
    rules = [column.rule for column in columns]
    units = len(columns[0].values)
    shape = (sum(rule.role for rule in rules), grid.layers * grid.heads)
    if not splits or units < 4:
        return np.full(shape, np.nan)
    plain, both = stand_in(decision), np.zeros(shape)
    for side in in_blocks([halves(units, splits, decision.seed)], shape[1]):
        first = relabelled(columns, (side > 0).astype(np.float64), grid, plain)
        second = relabelled(columns, (side < 0).astype(np.float64), grid, plain)
        both += (first & second).sum(axis=1)
    share: np.ndarray = both / splits
    return share
