"""Largest singular values of many small matrices."""

import numpy as np
import torch
from jaxtyping import Float

from headroles.extraction.capture.threads import one_thread

CHUNK = 2**12
"""Matrices that are decomposed at once."""


def largest_singular(
    total: Float[np.ndarray, "families redeals size size"],
) -> Float[np.ndarray, "families redeals"]:
    """Return the largest singular value of every matrix, in float64; NaN for a matrix with NaN.

    It is the root of the largest eigenvalue of AᵀA, which has all digits of the largest value.

    Example:
        >>> largest_singular(np.array([[[[3.0, 0.0], [0.0, -4.0]]]])).round(12).tolist()
        [[4.0]]
    """
    flat = total.reshape(-1, *total.shape[2:])
    values = np.full(len(flat), np.nan)
    known = np.flatnonzero(np.isfinite(flat).all((1, 2)))
    with one_thread(torch.device("cpu")), torch.inference_mode():
        for start in range(0, len(known), CHUNK):
            own = known[start : start + CHUNK]
            wide = torch.from_numpy(flat[own].astype(np.float64))
            squares = torch.linalg.eigvalsh(wide.transpose(1, 2) @ wide)[:, -1]
            values[own] = squares.clamp(min=0).sqrt().numpy()
    return values.reshape(total.shape[:2])
