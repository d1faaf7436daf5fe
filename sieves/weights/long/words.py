"""Masks over some of the words, and masks over the tokens of words."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from headroles.plans.masks import Band, Every, Keys, Mask, Match, Pairs, Same, Without
from headroles.records.example import Example
from headroles.sieves.weights.long.cells import MaskCells


@dataclass(frozen=True, slots=True, eq=False)
class TokenMask:
    """A mask over the tokens of units, from one over units.

    Attributes:
        mask: Over units.
        unit: Unit of each token; −1 for none.
    """

    mask: Mask
    unit: Int[np.ndarray, " tokens"]

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the mask of tokens ``start`` to ``stop``."""
        own = self.unit[start:stop]
        cells = np.zeros((stop - start, len(self.unit)), dtype=np.bool_)
        rows, columns = np.flatnonzero(own >= 0), np.flatnonzero(self.unit >= 0)
        if rows.size:
            first, last = int(own[rows].min()), int(own[rows].max()) + 1
            units = self.mask.rows(first, last)
            cells[np.ix_(rows, columns)] = units[np.ix_(own[rows] - first, self.unit[columns])]
        return cells


@dataclass(frozen=True, slots=True, eq=False)
class PartMask:
    """A mask over some of the units of another mask.

    Attributes:
        mask: Over all units.
        names: The units that are kept, in their order.
    """

    mask: Mask
    names: Int[np.ndarray, " units"]

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the mask of units ``start`` to ``stop``."""
        own = self.names[start:stop]
        if not own.size:
            return np.zeros((0, len(self.names)), dtype=np.bool_)
        rows = self.mask.rows(int(own[0]), int(own[-1]) + 1)
        kept: np.ndarray = rows[np.ix_(own - own[0], self.names)]
        return kept


def word_units(example: Example) -> tuple[Int[np.ndarray, " units"], Int[np.ndarray, " tokens"]]:
    """Return the words that have a token, and which of them each token belongs to."""
    inside = example.word >= 0
    names, own = np.unique(example.word[inside], return_inverse=True)
    unit = np.full(example.size, -1, dtype=np.int64)
    unit[inside] = own
    return names, unit


def limit_mask(mask: Mask, names: np.ndarray) -> Mask:
    """Limit a mask over all words to some of them, given by their numbers."""
    count = len(names)
    if isinstance(mask, Keys):
        return Keys(mask.keys[names])
    if isinstance(mask, Same):
        return Same(mask.labels[names])
    if isinstance(mask, Match):
        return Match(mask.query[names], mask.key[names])
    if isinstance(mask, Pairs):
        inside = np.isin(mask.query, names) & np.isin(mask.key, names)
        query, key = (np.searchsorted(names, words[inside]) for words in (mask.query, mask.key))
        return Pairs(query, key, count)
    if isinstance(mask, Band) and mask.low == mask.high == 0:
        return Band(0, 0, count)
    if isinstance(mask, Without):
        return Without(limit_mask(mask.mask, names), limit_mask(mask.taken, names))
    if isinstance(mask, Every):
        return Every(tuple(limit_mask(member, names) for member in mask.masks))
    return PartMask(mask, names)


def token_cells(cells: MaskCells, unit: Int[np.ndarray, " tokens"]) -> MaskCells:
    """Replace cells between units by all cells between their tokens.

    Example:
        >>> cells = token_cells(MaskCells(np.array([1]), np.array([0])), np.array([-1, 0, 0, 1]))
        >>> cells.query.tolist(), cells.key.tolist()
        ([3, 3], [1, 2])
    """
    order = np.argsort(unit, kind="stable")
    units = unit[order]

    def spread_out(kept: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first = np.searchsorted(units, kept, side="left")
        number = np.searchsorted(units, kept, side="right") - first
        step = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
        return order[np.repeat(first, number) + step], np.repeat(other, number)

    query, key = spread_out(cells.query, cells.key)
    key, query = spread_out(key, query)
    sort = np.lexsort((key, query))
    return MaskCells(query[sort], key[sort])
