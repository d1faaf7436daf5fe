"""Kinds of mask over (query, key) cells, which return rows of booleans; only ``Cells`` stores every cell."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int


@runtime_checkable
class Mask(Protocol):
    """A set of cells that returns its rows as booleans."""

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the mask of queries ``start`` to ``stop`` (excluded)."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Any cells: one boolean per (query, key)."""

    cells: Bool[np.ndarray, "tokens tokens"]

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the mask of queries ``start`` to ``stop`` (excluded)."""
        return self.cells[start:stop]


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The same keys for every query."""

    keys: Bool[np.ndarray, " tokens"]

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the mask of queries ``start`` to ``stop`` (excluded)."""
        return np.broadcast_to(self.keys, (stop - start, len(self.keys)))


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Keys at a signed offset (key minus query) from ``low`` to ``high``, both included."""

    low: int
    high: int
    size: int

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the mask of queries ``start`` to ``stop`` (excluded)."""
        offset = np.arange(self.size)[None, :] - np.arange(start, stop)[:, None]
        inside: np.ndarray = (offset >= self.low) & (offset <= self.high)
        return inside


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """Keys with the query's label; −1 is no label and matches nothing."""

    labels: Int[np.ndarray, " tokens"]

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the mask of queries ``start`` to ``stop`` (excluded)."""
        query = self.labels[start:stop, None]
        inside: np.ndarray = (query == self.labels[None, :]) & (query >= 0)
        return inside


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """Keys whose label is the query's target label; −1 is no label and matches nothing.

    Example:
        >>> Match(np.array([0, 1, -1]), np.array([-1, 0, 1])).rows(0, 3).astype(int).tolist()
        [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    """

    query: Int[np.ndarray, " tokens"]
    key: Int[np.ndarray, " tokens"]

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the mask of queries ``start`` to ``stop`` (excluded)."""
        query = self.query[start:stop, None]
        inside: np.ndarray = (query == self.key[None, :]) & (query >= 0)
        return inside


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Single cells, given by the indices of their queries and keys."""

    query: Int[np.ndarray, " pairs"]
    key: Int[np.ndarray, " pairs"]
    size: int

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the mask of queries ``start`` to ``stop`` (excluded)."""
        inside = np.zeros((stop - start, self.size), dtype=np.bool_)
        here = (self.query >= start) & (self.query < stop)
        inside[self.query[here] - start, self.key[here]] = True
        return inside


@dataclass(frozen=True, slots=True, eq=False)
class Every:
    """Cells that are in every one of several masks (at least one mask).

    Example:
        >>> near_own_text = Every((Band(-1, 1, 4), Same(np.array([0, 0, 1, 1]))))
        >>> near_own_text.rows(1, 3).astype(int).tolist()
        [[1, 1, 0, 0], [0, 0, 1, 1]]
    """

    masks: tuple[Mask, ...]

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the mask of queries ``start`` to ``stop`` (excluded)."""
        inside = self.masks[0].rows(start, stop)
        for mask in self.masks[1:]:
            inside = inside & mask.rows(start, stop)
        return inside


@dataclass(frozen=True, slots=True, eq=False)
class Without:
    """Cells of one mask that are not in another.

    Example:
        >>> Without(Keys(np.array([True, True])), Band(0, 0, 2)).rows(0, 2).astype(int).tolist()
        [[0, 1], [1, 0]]
    """

    mask: Mask
    taken: Mask

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the mask of queries ``start`` to ``stop`` (excluded)."""
        inside: np.ndarray = self.mask.rows(start, stop) & ~self.taken.rows(start, stop)
        return inside


def off_diagonal(units: int) -> Without:
    """Return the mask of every cell except the diagonal.

    Example:
        >>> off_diagonal(2).rows(0, 2).astype(int).tolist()
        [[0, 1], [1, 0]]
    """
    return Without(Keys(np.ones(units, dtype=np.bool_)), Band(0, 0, units))
