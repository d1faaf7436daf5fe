"""Entropies of rows of attention, with the smoothing of the released code."""

import numpy as np
from jaxtyping import Float, Int


def even_entropy(
    room: Int[np.ndarray, " rows"], tokens: int, smoothing: float = 0.0
) -> Float[np.ndarray, " rows"]:
    """Return the entropy in nats of rows that are even over ``room`` of the tokens, smoothed like any row.

    Example:
        >>> even_entropy(np.array([1, 4]), 4).round(4).tolist()
        [0.0, 1.3863]
    """
    floor = smoothing / tokens
    inside = (1 - smoothing) / room + floor
    hidden = (tokens - room) * floor * np.log(floor) if smoothing else 0.0
    spread: np.ndarray = 0.0 - (room * inside * np.log(inside) + hidden)
    return spread


def entropies(
    attention: Float[np.ndarray, "*heads rows tokens"], smoothing: float = 0.0
) -> Float[np.ndarray, "*heads rows"]:
    """Return the entropy of every row in nats: 0 for attention to one token, ln(tokens) for even attention.

    Args:
        attention: Rows that sum to 1.
        smoothing: Share ε of each row that is spread evenly first, (1 − ε) a + ε / n.

    Example:
        >>> entropies(np.array([[0.5, 0.5, 0.0]])).round(4).tolist()
        [0.6931]
    """
    rows = (1 - smoothing) * attention + smoothing / attention.shape[-1] if smoothing else attention
    logs = np.log(rows, out=np.zeros_like(rows), where=rows > 0)
    spread: np.ndarray = 0.0 - (rows * logs).sum(axis=-1)
    return spread
