"""The kinds of mask a sieve may return, each with its rows as booleans."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from headroles.errors import BadSieve


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Any cells: one boolean per (query, key)."""

    cells: Bool[np.ndarray, "tokens tokens"]

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """The mask of queries ``start`` to ``stop``."""
        return self.cells[start:stop]


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The same keys for every query."""

    keys: Bool[np.ndarray, " tokens"]

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """The mask of queries ``start`` to ``stop``."""
        return np.broadcast_to(self.keys, (stop - start, len(self.keys)))


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Keys at a signed offset (key minus query) from ``low`` to ``high``, both included."""

    low: int
    high: int
    size: int

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """The mask of queries ``start`` to ``stop``."""
        offset = np.arange(self.size)[None, :] - np.arange(start, stop)[:, None]
        inside: np.ndarray = (offset >= self.low) & (offset <= self.high)
        return inside


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """Keys that bear the query's label; −1 is no label and matches nothing."""

    labels: Int[np.ndarray, " tokens"]

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """The mask of queries ``start`` to ``stop``."""
        query = self.labels[start:stop, None]
        inside: np.ndarray = (query == self.labels[None, :]) & (query >= 0)
        return inside


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Single cells, given by the indices of their queries and keys."""

    query: Int[np.ndarray, " pairs"]
    key: Int[np.ndarray, " pairs"]
    size: int

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """The mask of queries ``start`` to ``stop``."""
        inside = np.zeros((stop - start, self.size), dtype=np.bool_)
        here = (self.query >= start) & (self.query < stop)
        inside[self.query[here] - start, self.key[here]] = True
        return inside


Mask = Cells | Keys | Band | Same | Pairs


def as_mask(returned: object, size: int, sieve: str, key: str) -> Mask:
    """Take what a mask function returned as one of the kinds.

    Args:
        returned: A kind of mask, or a bool array of shape (tokens, tokens) or (tokens,).
        size: Tokens of the example.
        sieve: Name of the sieve, for the error.
        key: Key of the example, for the error.

    Raises:
        BadSieve: When it is neither, or has another shape.
    """
    if isinstance(returned, Cells | Keys | Band | Same | Pairs):
        row = returned.rows(0, 1)
        if row.shape == (1, size) and row.dtype == np.bool_:
            return returned
        shape: tuple[int, ...] = (size, int(row.shape[-1]))
        kind = row.dtype
    else:
        array = np.asarray(returned)
        shape, kind = array.shape, array.dtype
        if kind == np.bool_ and shape == (size, size):
            return Cells(array)
        if kind == np.bool_ and shape == (size,):
            return Keys(array)
    raise BadSieve(
        f"sieve {sieve!r} made a mask of shape {shape} and type {kind} for example {key!r}, which has "
        f"{size} tokens; a mask is bool of shape (tokens, tokens) = ({size}, {size}) or (tokens,) = ({size},)"
    )
