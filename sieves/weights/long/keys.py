"""Contrasts of long inputs that compare keys with themselves: what a key gets from its other queries.

The weights are those of ``headroles.sieves.weights.contrast``. Where the compared cells are a few sets of
keys, they become sets with a weight for each key, and single cells that are put right. Otherwise they are
computed row by row.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.plans.even import EvenUnits, row_blocks
from headroles.plans.masks import Band, Every, Keys, Mask
from headroles.sieves.weights.long.cells import (
    KeySets,
    MaskCells,
    MaskForm,
    contains_cells,
    find_form,
    flatten_masks,
)


@dataclass(frozen=True, slots=True, eq=False)
class OtherQueries:
    """The other queries of the keys that one contrast counts.

    Attributes:
        counted: Counted cells.
        whole: The cells over which keys are compared with themselves.
        scope: The compared pairs.
        spread: Even attention on pairs.
        got: Even attention that the other queries give each key.
    """

    counted: MaskForm
    whole: Mask
    scope: Mask
    spread: EvenUnits
    got: Float[np.ndarray, " tokens"]

    @classmethod
    def of(cls, counted: MaskForm, whole: Mask, scope: Mask, spread: EvenUnits) -> "OtherQueries":
        """Sum up even attention of other queries."""
        own = cls(counted, whole, scope, spread, np.zeros(len(spread.pieces)))
        for _, _, level, _, rest in own._blocks():
            own.got[:] += (level * rest).sum(axis=0)
        return own

    def keep(
        self, at: Float[np.ndarray, " cells"]
    ) -> tuple[MaskForm, np.ndarray, Int[np.ndarray, " tokens"]]:
        """Return the counted cells whose keys have other queries, even attention on them, and their number.

        Args:
            at: Even attention on counted cells that are listed.
        """
        kept, size = self.got > 0, len(self.got)
        if isinstance(self.counted, MaskCells):
            inside = kept[self.counted.key]
            cells, at = MaskCells(self.counted.query[inside], self.counted.key[inside]), at[inside]
            return cells, at, np.bincount(cells.query[at > 0], minlength=size)
        counts = np.zeros(size, dtype=np.int64)
        for start, stop, _, counted, _ in self._blocks():
            counts[start:stop] = (counted & kept).sum(axis=1)
        return Every((self.counted, Keys(kept))), at, counts

    def level(self, weight: Float[np.ndarray, " tokens"]) -> Float[np.ndarray, " tokens"]:
        """Return the weight of each key's attention from other queries, given the weights of queries."""
        sums = np.zeros(len(self.got))
        for start, stop, even, counted, _ in self._blocks():
            sums += weight[start:stop] @ (even * counted)
        level: np.ndarray = np.divide(sums, self.got, out=np.zeros(len(sums)), where=self.got > 0)
        return level

    def reach(self, level: Float[np.ndarray, " tokens"]) -> float:
        """Return the largest sum of what other queries can give to keys."""
        return float(sum((rest * level).max(axis=1).sum() for *_, rest in self._blocks()))

    def key_sets(self, taken: Bool[np.ndarray, " tokens"] | None) -> KeySets | None:
        """Return the cells over which keys are compared as a few sets of keys, or None where they are not.

        Args:
            taken: The tokens whose pairs are compared; None where these are no rectangle.
        """
        if taken is None or not isinstance(self.counted, MaskCells):
            return None
        seen = self.spread.visible
        masks = [mask for mask in flatten_masks([self.whole]) if not _holds(mask, seen)]
        form = find_form(masks, None, len(self.got)) if masks else None
        if not isinstance(form, KeySets):
            return None
        return KeySets(np.where(taken, form.label, -1), form.sets & taken[:, None])

    def put_right(
        self, sets: KeySets, level: Float[np.ndarray, " tokens"]
    ) -> tuple[MaskCells, Float[np.ndarray, " cells"]]:
        """Return the cells of ``sets`` that are no other query's, with the weights to be given back."""
        place = np.arange(len(level))
        assert isinstance(self.counted, MaskCells), "there are sets for listed cells only"
        query = np.concatenate([self.counted.query, place])
        key = np.concatenate([self.counted.key, place])
        inside = (sets.label[query] >= 0) & sets.sets[key, sets.label[query]] & (level[key] > 0)
        if (seen := self.spread.visible) is not None:
            inside &= contains_cells(seen, query, key, len(level))
        return MaskCells(query[inside], key[inside]), level[key[inside]]

    def weigh_rows(
        self, start: int, stop: int, weight: np.ndarray, level: np.ndarray
    ) -> Float[np.ndarray, "rows tokens"]:
        """Return the weights of the contrast of queries ``start`` to ``stop``."""
        counted, rest = self._cells(start, stop, self._level(start, stop) > 0)
        rows: np.ndarray = counted * (self.got > 0) * weight[start:stop, None] - rest * level
        return rows

    def _blocks(self) -> Iterator[tuple[int, int, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield first and last query of each block, even attention, counted cells, and other queries'."""
        for start, stop in row_blocks(len(self.got)):
            level = self._level(start, stop)
            yield start, stop, level, *self._cells(start, stop, level > 0)

    def _level(self, start: int, stop: int) -> Float[np.ndarray, "rows tokens"]:
        """Return even attention on the compared pairs."""
        level: np.ndarray = self.spread.rows(start, stop) * self.scope.rows(start, stop)
        return level

    def _cells(self, start: int, stop: int, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return counted cells, and those of other queries, among the compared ones."""
        if isinstance(self.counted, MaskCells):
            here = slice(*np.searchsorted(self.counted.query, [start, stop]))
            counted = np.zeros(inside.shape, dtype=np.bool_)
            counted[self.counted.query[here] - start, self.counted.key[here]] = True
        else:
            counted = self.counted.rows(start, stop)
        counted = counted & inside
        rest = self.whole.rows(start, stop) & inside & ~counted
        rest[np.arange(stop - start), np.arange(start, stop)] = False
        return counted, rest


@dataclass(frozen=True, slots=True, eq=False)
class KeyRows:
    """The weights of a contrast that compares keys with themselves, in the place of a mask.

    Attributes:
        others: Its cells.
        weight: Weight of each query's counted cells.
        level: Weight of each key's attention from other queries.
    """

    others: OtherQueries
    weight: Float[np.ndarray, " tokens"]
    level: Float[np.ndarray, " tokens"]

    def rows(self, start: int, stop: int) -> Float[np.ndarray, "rows tokens"]:
        """Return the weights of queries ``start`` to ``stop``."""
        return self.others.weigh_rows(start, stop, self.weight, self.level)


def _holds(mask: Mask, visible: Mask | None) -> bool:
    """Return whether a band has all visible cells, but for the diagonal, which is put right."""
    if not (isinstance(mask, Band) and isinstance(visible, Band)):
        return False
    low, high = max(visible.low, 1 - visible.size), min(visible.high, visible.size - 1)
    return mask.low <= low and (mask.high >= high or (mask.high == -1 and high == 0))
