"""Even attention over the visible keys, summed over pairs of units, block by block."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from headroles.plans.masks import Band, Mask

BLOCK = 2**20
"""Pairs of tokens in a block."""


def row_blocks(size: int, width: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield first and one past the last row of each block of a matrix, each of at most ``BLOCK`` cells.

    Args:
        size: Rows.
        width: Columns; as many as rows when None.
    """
    step = max(1, BLOCK // max(size if width is None else width, 1))
    for start in range(0, size, step):
        yield start, min(start + step, size)


def visible_counts(visible: Mask | None, size: int) -> Int[np.ndarray, " tokens"]:
    """Count the keys that each query can see; ``size`` where ``visible`` is None."""
    if visible is None:
        return np.full(size, size)
    if isinstance(visible, Band):
        place = np.arange(size)
        first, last = np.clip([place + visible.low, place + visible.high + 1], 0, size)
        counted: np.ndarray = np.maximum(last - first, 0)
        return counted
    counts = np.zeros(size, dtype=np.int64)
    for start, stop in row_blocks(size):
        counts[start:stop] = visible.rows(start, stop).sum(axis=1)
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class EvenUnits:
    """Even attention between units: summed over attended tokens, averaged over attending ones.

    Attributes:
        unit: Unit of each token; −1 for none. Every unit has a token.
        pieces: Tokens per unit.
        visible: The keys each token can see; None for all.
        room: Number of keys each token can see.
    """

    unit: Int[np.ndarray, " tokens"]
    pieces: Float[np.ndarray, " units"]
    visible: Mask | None
    room: Int[np.ndarray, " tokens"]

    @classmethod
    def of(cls, unit: Int[np.ndarray, " tokens"], visible: Mask | None) -> "EvenUnits":
        """Return even attention of units, from the unit of each token."""
        pieces = np.bincount(unit[unit >= 0]).astype(np.float64)
        return cls(unit, pieces, visible, visible_counts(visible, len(unit)))

    @property
    def plain(self) -> bool:
        """Whether every token is a unit of its own, in order."""
        return np.array_equal(self.unit, np.arange(len(self.pieces)))

    def rows(self, start: int, stop: int) -> Float[np.ndarray, "rows units"]:
        """Return the even attention of units ``start`` to ``stop`` on each unit."""
        units = len(self.pieces)
        if self.visible is None:
            return np.broadcast_to(self.pieces / max(len(self.unit), 1), (stop - start, units))
        inside = np.flatnonzero((self.unit >= start) & (self.unit < stop))
        first, last = int(inside.min()), int(inside.max()) + 1
        visible = self.visible.rows(first, last)[inside - first]
        even: np.ndarray = visible / np.maximum(self.room[inside], 1)[:, None]
        if self.plain:
            return even
        order = np.argsort(self.unit, kind="stable")[np.count_nonzero(self.unit < 0) :]
        key_starts = np.concatenate([[0], np.cumsum(self.pieces)[:-1]]).astype(np.int64)
        columns = np.add.reduceat(even[:, order], key_starts, axis=1)
        row_order = np.argsort(self.unit[inside], kind="stable")
        row_starts = np.concatenate([[0], np.cumsum(self.pieces[start:stop])[:-1]]).astype(np.int64)
        sums = np.add.reduceat(columns[row_order], row_starts, axis=0)
        rows: np.ndarray = sums / self.pieces[start:stop, None]
        return rows
