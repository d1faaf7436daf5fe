"""Student's t of scipy, as the tests of damages and of products are compared with it."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats


class Student(NamedTuple):
    """The mean of each column over units, its interval, and p of both directions: arrays or numbers."""

    mean: Any
    low: Any
    high: Any
    p: Any
    p_not: Any


def student(values: np.ndarray, theta: float = 0.0) -> Student:
    """Return the test of "the mean is at most θ", and p of the other direction."""
    ends = stats.ttest_1samp(values, theta).confidence_interval(0.95)
    above = stats.ttest_1samp(values, theta, alternative="greater")
    below = stats.ttest_1samp(values, theta, alternative="less")
    return Student(values.mean(axis=0), ends.low, ends.high, above.pvalue, below.pvalue)


def with_further(values: np.ndarray, side: int) -> np.ndarray:
    """Return values with three more units at the largest (1) or the smallest (−1) of each column."""
    extreme = side * (side * values).max(axis=0, keepdims=True)
    return np.concatenate([values, extreme, extreme, extreme])
