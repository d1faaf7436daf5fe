"""Columns of scores that are known for the same units, so that a test sees no NaN."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int


def complete(
    values: Float[np.ndarray, "units columns"],
) -> Iterator[tuple[Bool[np.ndarray, " units"], Int[np.ndarray, " some"]]]:
    """Groups of columns with the same units present: those units, and the places of the columns.

    Columns with fewer than two units are left out.
    """
    present = ~np.isnan(values)
    if present.all():
        patterns, group = np.ones((len(values), 1), dtype=np.bool_), np.zeros(values.shape[1], dtype=int)
    else:
        patterns, group = np.unique(present, axis=1, return_inverse=True)
    for number, units in enumerate(patterns.T):
        columns = np.flatnonzero(group.reshape(-1) == number)
        if units.sum() >= 2 and columns.size:
            yield units, columns
