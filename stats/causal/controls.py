"""The heads of a layer that a head is compared with: those of the nearest norm.

Runs choose by it which heads a screen must take out, and the tests of sites which heads are controls.
"""

import numpy as np
from jaxtyping import Float, Int

CONTROLS = 3
"""Heads of the layer without the role that a head with it is compared with."""


def nearest_heads(
    norms: Float[np.ndarray, " heads"], head: int, others: Int[np.ndarray, " others"]
) -> list[int]:
    """Return at most 3 other heads of a layer, those of the nearest norm first.

    Args:
        norms: Mean norm of each head's part of the layer's output.
        head: The head that they are compared with.
        others: Heads to choose from; of equal distances, the first is nearer.

    Example:
        >>> nearest_heads(np.array([1.0, 2.0, 3.0, 9.0, 4.0]), 2, np.array([0, 1, 3, 4]))
        [1, 4, 0]
    """
    distance = np.abs(norms[others] - norms[head])
    return [int(other) for other in others[np.argsort(distance, kind="stable")[:CONTROLS]]]
