"""Random draws over units: bootstrap resamples, sign flips, splits; equal seeds give equal draws."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int, Int8

BLOCK = 256
"""Draws made at once: bounds memory and, being fixed, changes no result."""


def _blocks(total: int) -> Iterator[int]:
    for start in range(0, total, BLOCK):
        yield min(BLOCK, total - start)


def bootstrap_counts(units: int, resamples: int, seed: int) -> Iterator[Float[np.ndarray, "block units"]]:
    """Yield how often each unit occurs in resamples drawn with replacement, in blocks of resamples.

    The draws are those of ``Generator.integers(0, units, (resamples, units))`` in a row, as in
    ``scipy.stats.bootstrap``.

    Args:
        units: Units to draw from, and of each resample.
        resamples: How many resamples in all.
        seed: Of numpy's default generator.
    """
    rng = np.random.default_rng(seed)
    for size in _blocks(resamples):
        yield _count_rows(rng.integers(0, units, (size, units)))


def _count_rows(drawn: Int[np.ndarray, "block units"]) -> Float[np.ndarray, "block units"]:
    """Return how often each unit occurs in each row; ``drawn`` is changed."""
    size, units = drawn.shape
    drawn += units * np.arange(size)[:, None]
    return np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units).astype(np.float64)


def sign_flips(units: int, resamples: int, seed: int) -> Iterator[Float[np.ndarray, "block units"]]:
    """Yield signs (1 or −1) of every unit, in blocks of patterns.

    Each of the 2^units patterns occurs once when they are no more than ``resamples``, the pattern
    without a flip first; else there are ``resamples`` random ones.
    """
    if flips_are_exact(units, resamples):
        total, start = 2**units, 0
        for size in _blocks(total):
            patterns = np.arange(start, start + size)[:, None] >> np.arange(units)
            yield 1.0 - 2.0 * (patterns & 1)
            start += size
        return
    rng = np.random.default_rng(seed)
    for size in _blocks(resamples):
        yield 1.0 - 2.0 * rng.integers(0, 2, (size, units), dtype=np.int8)


def flips_are_exact(units: int, resamples: int) -> bool:
    """Return whether all 2^units sign patterns are no more than the resamples allowed."""
    return units < 60 and 2**units <= resamples


def random_halves(units: int, splits: int, seed: int) -> Int8[np.ndarray, "splits units"]:
    """Return random disjoint halves: 1 for units of the first, −1 for those of the second.

    Of an odd number of units one is in neither half, and 0.
    """
    rng = np.random.default_rng(seed)
    order = np.tile(np.arange(units), (splits, 1))
    rng.permuted(order, axis=1, out=order)
    side = np.zeros((splits, units), dtype=np.int8)
    half = units // 2
    np.put_along_axis(side, order[:, :half], np.int8(1), axis=1)
    np.put_along_axis(side, order[:, half : 2 * half], np.int8(-1), axis=1)
    return side
