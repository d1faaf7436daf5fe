"""How often two halves of the units agree on a label."""

import numpy as np
from jaxtyping import Float

from headroles.records.example import Decision
from headroles.stats.columns import Columns
from headroles.stats.draws import halves
from headroles.stats.relabel import Grid, in_blocks, relabelled, stand_in


def stability(
    columns: Columns, grid: Grid, decision: Decision, splits: int = 200
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
    units, heads = columns[0].values.shape
    roles = sum(rule.role for rule in columns.rules)
    if not splits or units < 4:
        return np.full((roles, heads), np.nan)
    plain, both = stand_in(decision), np.zeros((roles, heads))
    for side in in_blocks([halves(units, splits, decision.seed)], heads):
        first = relabelled(columns, (side > 0).astype(np.float64), grid, plain)
        second = relabelled(columns, (side < 0).astype(np.float64), grid, plain)
        both += (first & second).sum(axis=1)
    share: np.ndarray = both / splits
    return share
