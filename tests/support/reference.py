"""Numbers that tests are run and compared with: cases to draw, rounding, errors by leaving groups out."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

STEPS = 16
"""Rounded sums in a row that a result may have passed: projections, logits, softmax, norms, means."""


def rounding_bound(length: int, magnitude: float = 1.0, dtype: Any = np.float32) -> float:
    """Return an absolute tolerance for sums of ``length`` numbers that are added up in two orders.

    Rounding errors grow as the square root of the length (Higham and Mary 2019) and with the magnitude of
    the largest number, which is 1 for shares of attention. Which errors they are depends on the processor,
    the number of threads and the shape of the batch. A mistake in a mask, a position or a weight moves
    results by far more.
    """
    return float(STEPS * np.finfo(dtype).eps * magnitude * np.sqrt(length))


def draws(most: int) -> int:
    """Return how many cases a property test draws: ``most`` in CI, no more than the profile's elsewhere."""
    usual = settings().max_examples
    return most if usual >= 100 else min(most, usual)


Jackknife = Callable[[Any, Any], tuple[float, float, int]]


@pytest.fixture(scope="session")
def jackknifed() -> Jackknife:
    """Mean of values, its error with one group left out in turn, and the number of groups."""

    def of(values: Any, groups: Any) -> tuple[float, float, int]:
        values, groups = np.asarray(values, dtype=float), np.asarray(groups)
        names = np.unique(groups)
        without = np.array([values[groups != name].mean() for name in names])
        spread = ((without - without.mean()) ** 2).sum()
        return float(values.mean()), float(np.sqrt((len(names) - 1) / len(names) * spread)), len(names)

    return of
