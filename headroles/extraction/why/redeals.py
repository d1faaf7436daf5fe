"""Rows of a contrast, and re-deals: its cells in random rows at the same offsets."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

ROOM = 2**26
"""Most bytes of random numbers that are drawn at once."""


def contrasted_rows(
    cells: Bool[np.ndarray, "queries keys"], visible: Bool[np.ndarray, "queries keys"]
) -> Int[np.ndarray, " rows"]:
    """Return the queries that see at least one cell and at least one other key.

    Example:
        >>> contrasted_rows(np.array([[1, 0], [1, 0]]) > 0, np.array([[1, 0], [1, 1]]) > 0).tolist()
        [1]
    """
    rows: np.ndarray = np.flatnonzero((cells & visible).any(1) & (visible & ~cells).any(1))
    return rows


def contrast_weights(
    cells: Bool[np.ndarray, "rows keys"], visible: Bool[np.ndarray, "rows keys"]
) -> Float[np.ndarray, "rows keys"]:
    """Return the weight of every key in the mean over rows of (mean of the cells − mean of other keys).

    Rows without cells, or without other visible keys, do not count. Without any row that counts, all weights
    are NaN.

    Args:
        cells: The cells, all of them visible.
        visible: Whether each query sees each key.

    Example:
        >>> contrast_weights(np.array([[1, 0, 0], [0, 0, 0]]) > 0, np.ones((2, 3)) > 0).tolist()
        [[1.0, -0.5, -0.5], [0.0, 0.0, 0.0]]
    """
    rest = visible & ~cells
    inside, outside = cells.sum(1, keepdims=True), rest.sum(1, keepdims=True)
    counts = (inside > 0) & (outside > 0)
    if not counts.any():
        return np.full(cells.shape, np.nan)
    weights = cells / np.maximum(inside, 1) - rest / np.maximum(outside, 1)
    return np.asarray(np.where(counts, weights, 0.0) / counts.sum())


def redeal(
    cells: Bool[np.ndarray, "rows keys"],
    visible: Bool[np.ndarray, "rows keys"],
    rows: Int[np.ndarray, " rows"],
    count: int,
    generator: np.random.Generator,
) -> Iterator[Bool[np.ndarray, "rows keys"]]:
    """Yield the cells in random rows: at every offset as many as before, each in a row that sees its key.

    So a re-deal keeps the distances of the cells, and nothing else.

    Args:
        cells: The cells in these rows, all of them visible.
        visible: Whether each query sees each key.
        rows: Place of each query in the input.
        count: Number of re-deals.
        generator: Draws the rows.

    Example:
        >>> cells = np.array([[1, 0, 0], [0, 1, 0]]) > 0
        >>> (again,) = redeal(cells, np.ones((2, 3)) > 0, np.array([1, 2]), 1, np.random.default_rng(0))
        >>> bool((again == cells).all())  # each query has one key before it, so nothing can move
        True
    """
    places, keys = np.nonzero(cells)
    offsets, number = np.unique(keys - rows[places], return_counts=True)
    key = rows[None] + offsets[:, None]  # (offsets, rows)
    there = (key >= 0) & (key < cells.shape[1])
    key = np.where(there, key, 0)
    possible = there & visible[np.arange(len(rows)), key]
    fixed = possible.sum(1) == number
    still_offset, still_row = np.nonzero(possible & fixed[:, None])
    still = np.zeros(cells.shape, dtype=np.bool_)
    still[still_row, key[still_offset, still_row]] = True
    key, possible, wanted = key[~fixed], possible[~fixed], number[~fixed]
    inside = np.arange(len(rows)) < wanted[:, None]
    at_once = max(1, ROOM // (8 * max(1, possible.size)))
    for start in range(0, count, at_once):
        size = min(at_once, count - start)
        draws = np.where(possible, generator.random((size, *possible.shape)), 2.0)
        order = np.argsort(draws, axis=-1)
        chosen = np.zeros(draws.shape, dtype=np.bool_)
        np.put_along_axis(chosen, order, np.broadcast_to(inside, order.shape), axis=-1)
        for taken in chosen:
            moved = still.copy()
            offset, row = np.nonzero(taken)
            moved[row, key[offset, row]] = True
            yield moved
