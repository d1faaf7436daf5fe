"""Contrasts of long inputs that compare keys with themselves: what a key gets from its other queries.

The weights are those of ``headroles.sieves.weights.contrast``. Where the compared cells are a few sets of
keys, perhaps within a band, they become sets of queries with a weight for each key, and single cells that are
put right. Otherwise they are computed row by row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.plans.even import EvenUnits, row_blocks
from headroles.plans.masks import Band, Every, Keys, Mask
from headroles.plans.plan import KeyWeights
from headroles.sieves.weights.long.cells import (
    KeySets,
    MaskCells,
    MaskForm,
    contains_cells,
    find_form,
    flatten_masks,
)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The visible pairs of tokens in a scope.

    Attributes:
        scope: The pairs to compare.
        spread: Even attention on pairs.
        known: All rows, where they are one block.
    """

    scope: Mask
    spread: EvenUnits
    known: list[np.ndarray] = field(default_factory=list)

    @property
    def share(self) -> Float[np.ndarray, " tokens"]:
        """Return the even attention of each query on each of its keys."""
        share: np.ndarray = 1 / np.maximum(self.spread.room, 1)
        return share

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows tokens"]:
        """Return the pairs of queries ``start`` to ``stop``."""
        if self.known:
            return self.known[0][start:stop]
        rows, visible = self.scope.rows(start, stop), self.spread.visible
        rows = rows if visible is None else rows & visible.rows(start, stop)
        if stop - start == len(self.spread.pieces):
            self.known.append(rows)
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class OtherQueries:
    """The other queries of the keys that one contrast counts.

    Attributes:
        counted: Counted cells.
        whole: The cells over which keys are compared with themselves.
        compared: The compared pairs.
        got: Even attention that the other queries give each key.
        known: Counted cells and those of other queries, where they are one block.
    """

    counted: MaskForm
    whole: Mask
    compared: Compared
    got: Float[np.ndarray, " tokens"]
    known: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    @classmethod
    def of(cls, counted: MaskForm, whole: Mask, compared: Compared) -> "OtherQueries":
        """Sum up even attention of other queries."""
        own = cls(counted, whole, compared, np.zeros(len(compared.spread.pieces)))
        share = compared.share
        for start, stop, _, rest in own._blocks():
            own.got[:] += share[start:stop] @ rest
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
            inside = kept[self.counted.key] & (at > 0)
            cells, at = MaskCells(self.counted.query[inside], self.counted.key[inside]), at[inside]
            return cells, at, np.bincount(cells.query, minlength=size)
        counts = np.zeros(size, dtype=np.int64)
        for start, stop, counted, _ in self._blocks():
            counts[start:stop] = (counted & kept).sum(axis=1)
        return Every((self.counted, Keys(kept))), at, counts

    def level(self, weight: Float[np.ndarray, " tokens"]) -> Float[np.ndarray, " tokens"]:
        """Return the weight of each key's attention from other queries, given the weights of queries."""
        sums, share = np.zeros(len(self.got)), weight * self.compared.share
        for start, stop, counted, _ in self._blocks():
            sums += share[start:stop] @ counted
        level: np.ndarray = np.divide(sums, self.got, out=np.zeros(len(sums)), where=self.got > 0)
        return level

    def reach(self, level: Float[np.ndarray, " tokens"]) -> float:
        """Return the largest sum of what other queries can give to keys."""
        return float(sum(np.where(rest, level, 0.0).max(axis=1).sum() for *_, rest in self._blocks()))

    def key_sets(self, taken: Bool[np.ndarray, " tokens"] | None) -> tuple[KeySets, Band | None] | None:
        """Return the cells over which keys are compared as a few sets of keys within a band, if they are.

        Args:
            taken: The tokens whose pairs are compared; None where these are no rectangle.
        """
        if taken is None or not isinstance(self.counted, MaskCells):
            return None
        seen = self.compared.spread.visible
        masks = [mask for mask in flatten_masks([self.whole]) if not _holds(mask, seen)]
        bands = [mask for mask in masks if isinstance(mask, Band)]
        masks = [mask for mask in masks if not isinstance(mask, Band)]
        form = find_form(masks, None, len(self.got)) if masks and len(bands) < 2 else None
        if not isinstance(form, KeySets):
            return None
        sets = KeySets(np.where(taken, form.label, -1), form.sets & taken[:, None])
        return sets, (bands[0] if bands else None)

    def put_right(
        self, cells: MaskCells, weights: KeyWeights, weight: Float[np.ndarray, " tokens"]
    ) -> tuple[MaskCells, Float[np.ndarray, " cells"]]:
        """Return single cells and their weights, so that they and ``weights`` make up the contrast.

        Args:
            cells: The counted cells, visible ones only.
            weights: What is subtracted, from all queries of the sets.
            weight: Of the counted cells of each query.
        """
        place = np.arange(len(weight))
        query, key = np.concatenate([cells.query, place]), np.concatenate([cells.key, place])
        given = np.concatenate([weight[cells.query], np.zeros(len(place))])
        label = weights.label[query]
        subtracted = weights.keys[key, label] * (label >= 0)
        for mask in (self.compared.spread.visible, weights.band):
            subtracted *= 1 if mask is None else contains_cells(mask, query, key, len(place))
        given -= subtracted
        kept = given != 0
        return MaskCells(query[kept], key[kept]), given[kept]

    def weigh_rows(
        self, start: int, stop: int, weight: np.ndarray, level: np.ndarray
    ) -> Float[np.ndarray, "rows tokens"]:
        """Return the weights of the contrast of queries ``start`` to ``stop``."""
        counted, rest = self._cells(start, stop)
        rows: np.ndarray = counted * (self.got > 0) * weight[start:stop, None] - rest * level
        return rows

    def _blocks(self) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
        """Yield first and last query of each block, counted cells, and other queries'."""
        for start, stop in row_blocks(len(self.got)):
            yield start, stop, *self._cells(start, stop)

    def _cells(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return counted cells, and those of other queries, among the compared ones."""
        if self.known:
            counted, rest = self.known[0]
            return counted[start:stop], rest[start:stop]
        inside = self.compared.rows(start, stop)
        if isinstance(self.counted, MaskCells):
            here = slice(*np.searchsorted(self.counted.query, [start, stop]))
            counted = np.zeros(inside.shape, dtype=np.bool_)
            counted[self.counted.query[here] - start, self.counted.key[here]] = True
        else:
            counted = self.counted.rows(start, stop)
        counted = counted & inside
        rest = self.whole.rows(start, stop) & inside & ~counted
        rest[np.arange(stop - start), np.arange(start, stop)] = False
        if stop - start == len(self.got):
            self.known.append((counted, rest))
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
