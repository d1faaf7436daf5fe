"""Masks of long inputs in the cheapest of three forms: sets of keys, single cells, or rows block by block.

``find_form`` finds the form of a mask. ``Sums`` collects linear sums over attention from masks of all forms.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.plans.even import row_blocks
from headroles.plans.masks import Band, Cells, Every, Keys, Mask, Match, Pairs, Same, Without
from headroles.plans.plan import CellList, KeyWeights, RowCells


@dataclass(frozen=True, slots=True, eq=False)
class MaskCells:
    """A mask as a list of its cells, sorted by query, each once."""

    query: Int[np.ndarray, " cells"]
    key: Int[np.ndarray, " cells"]


@dataclass(frozen=True, slots=True, eq=False)
class Outside:
    """Cells that are not in a mask."""

    taken: Mask

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows units"]:
        """Return the mask of queries ``start`` to ``stop``."""
        inside: np.ndarray = ~self.taken.rows(start, stop)
        return inside


def join_cells(cells: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]) -> CellList:
    """Join lists of query, key, output and weight, sorted by query."""
    empty = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    query, key, output, weight = (np.concatenate(parts) for parts in zip(empty, *cells, strict=True))
    order = np.argsort(query, kind="stable")
    return CellList(
        query=query[order].astype(np.int32),
        key=key[order].astype(np.int32),
        output=output[order].astype(np.int32),
        weight=weight[order].astype(np.float32),
    )


def contains_cells(
    mask: Mask, query: Int[np.ndarray, " cells"], key: Int[np.ndarray, " cells"], size: int
) -> Bool[np.ndarray, " cells"]:
    """Return whether single cells are in a mask."""
    inside: np.ndarray
    if isinstance(mask, Cells):
        inside = mask.cells[query, key]
    elif isinstance(mask, Keys):
        inside = mask.keys[key]
    elif isinstance(mask, Band):
        inside = (key - query >= mask.low) & (key - query <= mask.high)
    elif isinstance(mask, Same):
        inside = (mask.labels[query] == mask.labels[key]) & (mask.labels[query] >= 0)
    elif isinstance(mask, Match):
        inside = (mask.query[query] == mask.key[key]) & (mask.query[query] >= 0)
    elif isinstance(mask, Pairs):
        inside = np.isin(query * size + key, mask.query * size + mask.key)
    elif isinstance(mask, Outside):
        inside = ~contains_cells(mask.taken, query, key, size)
    elif isinstance(mask, Every):
        inside = np.ones(len(query), dtype=np.bool_)
        for member in flatten_masks([mask]):
            inside &= contains_cells(member, query, key, size)
    elif isinstance(mask, Without):
        inside = contains_cells(mask.mask, query, key, size) & ~contains_cells(mask.taken, query, key, size)
    else:
        inside = np.zeros(len(query), dtype=np.bool_)
        for start, stop in row_blocks(size):
            here = np.flatnonzero((query >= start) & (query < stop))
            if here.size:
                inside[here] = mask.rows(start, stop)[query[here] - start, key[here]]
    return inside


def flatten_masks(masks: Sequence[Mask]) -> list[Mask]:
    """Replace masks that are intersections by their members."""
    members: list[Mask] = []
    for mask in masks:
        if isinstance(mask, Every):
            members += flatten_masks(mask.masks)
        elif isinstance(mask, Without):
            members += [*flatten_masks([mask.mask]), Outside(mask.taken)]
        else:
            members.append(mask)
    return members


def count_cells(mask: Mask, size: int) -> int | None:
    """Return the number of cells of a mask, where it is known without looking at all of them."""
    if isinstance(mask, Pairs):
        return len(mask.query)
    if isinstance(mask, Band):
        return max(0, min(mask.high, size) - max(mask.low, -size) + 1) * size
    if isinstance(mask, Same | Match):
        query, key = (mask.labels, mask.labels) if isinstance(mask, Same) else (mask.query, mask.key)
        most = max(int(query.max(initial=-1)), int(key.max(initial=-1))) + 1
        queries, keys = (np.bincount(labels[labels >= 0], minlength=most) for labels in (query, key))
        return int(queries @ keys)
    return None


def cells_of(mask: Mask, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all cells of a mask with a known number of them."""
    if isinstance(mask, Pairs):
        return mask.query.astype(np.int64), mask.key.astype(np.int64)
    if isinstance(mask, Band):
        low, high = max(mask.low, -size), min(mask.high, size)
        query = np.repeat(np.arange(size), max(0, high - low + 1))
        key = query + np.tile(np.arange(low, high + 1), size)
        inside = (key >= 0) & (key < size)
        return query[inside], key[inside]
    assert isinstance(mask, Same | Match)
    own, other = (mask.labels, mask.labels) if isinstance(mask, Same) else (mask.query, mask.key)
    order = np.argsort(other, kind="stable")
    queries = np.flatnonzero(own >= 0)
    first = np.searchsorted(other[order], own[queries], side="left")
    number = np.searchsorted(other[order], own[queries], side="right") - first
    query = np.repeat(queries, number)
    step = np.arange(len(query)) - np.repeat(np.cumsum(number) - number, number)
    return query, order[np.repeat(first, number) + step]


def sort_cells(query: np.ndarray, key: np.ndarray, size: int) -> MaskCells:
    """Return cells as a list, sorted by query, each once."""
    code = np.unique(query.astype(np.int64) * size + key)
    return MaskCells(code // max(size, 1), code % max(size, 1))


def scan_mask(mask: Mask, size: int, most: int) -> MaskCells | Mask:
    """Read a mask row by row, and return its cells, or the mask itself when they are more than ``most``."""
    query, key, total = [], [], 0
    for start, stop in row_blocks(size):
        rows, columns = np.nonzero(mask.rows(start, stop))
        total += len(rows)
        if total > most:
            return mask
        query.append(rows + start)
        key.append(columns)
    return MaskCells(
        np.concatenate([*query, np.zeros(0, np.int64)]), np.concatenate([*key, np.zeros(0, np.int64)])
    )


FEW = 8
"""Most sets of keys that one mask is split into."""
PER_QUERY, ONE_OF = 64, 64
"""Most single cells of a mask: so many per query, or one in so many of all cells."""


@dataclass(frozen=True, slots=True, eq=False)
class KeySets:
    """A mask as a few sets of keys.

    Attributes:
        label: The set of each query; −1 for none.
        sets: Whether a key is in a set.
    """

    label: Int[np.ndarray, " units"]
    sets: Bool[np.ndarray, "units sets"]

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows units"]:
        """Return the mask of queries ``start`` to ``stop``."""
        label = self.label[start:stop]
        inside: np.ndarray = self.sets.T[label] & (label >= 0)[:, None]
        return inside


MaskForm = KeySets | MaskCells | Mask


def find_form(masks: Sequence[Mask], visible: Mask | None, size: int) -> MaskForm:
    """Find the cells that are in all of some masks, in the cheapest form.

    Args:
        masks: At least one.
        visible: The keys that queries see. Sets of keys are not cut to them, since attention is 0 elsewhere.
        size: Number of queries, and of keys.

    Returns:
        Sets of keys when they are few; else single cells within ``visible`` when these are few; else
        the mask within ``visible``.
    """
    every = flatten_masks(masks)
    labelled = _common_key_sets(every)
    if labelled is not None:
        return labelled
    every = every if visible is None else [*every, visible]
    most = max(PER_QUERY * size, size * size // ONE_OF)
    counted = [
        (count, mask) for mask in every if (count := count_cells(mask, size)) is not None and count <= most
    ]
    if counted:
        smallest = min(counted, key=lambda pair: pair[0])[1]
        query, key = cells_of(smallest, size)
        kept = np.ones(len(query), dtype=np.bool_)
        for mask in every:
            if mask is not smallest:
                kept &= contains_cells(mask, query, key, size)
        return sort_cells(query[kept], key[kept], size)
    return scan_mask(Every(tuple(every)), size, most)


def count_visible(cells: MaskForm, visible: Mask | None, size: int) -> Int[np.ndarray, " units"]:
    """Return the number of visible keys of a mask for each query."""
    if isinstance(cells, MaskCells):
        return np.bincount(cells.query, minlength=size)
    if isinstance(cells, KeySets):
        counts = _set_counts(cells.sets, visible)
        own: np.ndarray = np.take_along_axis(counts, np.maximum(cells.label, 0)[:, None], axis=1)[:, 0]
        return np.where(cells.label >= 0, own, 0)
    counts = np.zeros(size, dtype=np.int64)
    for start, stop in row_blocks(size):
        counts[start:stop] = cells.rows(start, stop).sum(axis=1)
    return counts


def _common_key_sets(masks: Sequence[Mask]) -> KeySets | None:
    """Return the intersection of masks as a few sets of keys, or None where that is not possible."""
    result: KeySets | None = None
    for mask in masks:
        sets = _key_sets(mask)
        if sets is None:
            return None
        result = sets if result is None else _intersect(result, sets)
        if result is None:
            return None
    return result


def _key_sets(mask: Mask) -> KeySets | None:
    if isinstance(mask, Keys):
        return KeySets(np.zeros(len(mask.keys), dtype=np.int64), mask.keys[:, None])
    if not isinstance(mask, Same | Match):
        return None
    query, key = (mask.labels, mask.labels) if isinstance(mask, Same) else (mask.query, mask.key)
    names = np.unique(query[query >= 0])
    if not 0 < len(names) <= FEW:
        return None if len(names) else KeySets(np.full(len(query), -1), np.zeros((len(query), 1), np.bool_))
    label = np.where(query >= 0, np.searchsorted(names, query), -1)
    return KeySets(label, key[:, None] == names[None, :])


def _intersect(first: KeySets, second: KeySets) -> KeySets | None:
    """Return the keys in both of two sets, for each pair of sets that some query has."""
    width = second.sets.shape[1]
    code = np.where((first.label >= 0) & (second.label >= 0), first.label * width + second.label, -1)
    names = np.unique(code[code >= 0])
    if len(names) > FEW:
        return None
    if not names.size:
        return KeySets(np.full(len(code), -1), np.zeros((len(code), 1), dtype=np.bool_))
    sets = first.sets[:, names // width] & second.sets[:, names % width]
    return KeySets(np.where(code >= 0, np.searchsorted(names, code), -1), sets)


def _set_counts(sets: np.ndarray, visible: Mask | None) -> Int[np.ndarray, "units sets"]:
    """Return the number of keys of each set that each query sees."""
    size = len(sets)
    if visible is None:
        return np.broadcast_to(sets.sum(axis=0), sets.shape)
    if isinstance(visible, Band):
        before = np.concatenate([np.zeros((1, sets.shape[1]), dtype=np.int64), np.cumsum(sets, axis=0)])
        place = np.arange(size)
        first = np.clip(place + visible.low, 0, size)
        last = np.maximum(np.clip(place + visible.high + 1, 0, size), first)
        counts: np.ndarray = before[last] - before[first]
        return counts
    seen = np.zeros(sets.shape, dtype=np.int64)
    for start, stop in row_blocks(size):
        seen[start:stop] = np.rint(visible.rows(start, stop).astype(np.float32) @ sets.astype(np.float32))
    return seen


@dataclass(slots=True)
class Sums:
    """Linear sums over attention, while their terms are added.

    Attributes:
        size: Tokens.
        count: Number of sums so far.
        weighed: Weighted keys of sets of queries.
    """

    size: int
    count: int = 0
    weighed: list[KeyWeights] = field(default_factory=list)
    _sets: dict[bytes, np.ndarray] = field(default_factory=dict)
    _thin: list[tuple[int, int, np.ndarray]] = field(default_factory=list)
    _cells: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    _rowwise: list[RowCells] = field(default_factory=list)

    def add(self, cells: MaskForm, output: int, weight: Float[np.ndarray, " tokens"]) -> None:
        """Add the attention on the cells of a mask, times a weight for each query, to a sum."""
        self.count = max(self.count, output + 1)
        if isinstance(cells, MaskCells):
            self.add_cells(cells, output, weight[cells.query])
        elif isinstance(cells, KeySets):
            for label in np.unique(cells.label[(cells.label >= 0) & (weight != 0)]):
                keys = cells.sets[:, label]
                name = np.packbits(keys).tobytes()
                self._sets.setdefault(name, keys)
                place = list(self._sets).index(name)
                self._thin.append((place, output, np.where(cells.label == label, weight, 0.0)))
        else:
            self._rowwise.append(RowCells(cells, output, weight.astype(np.float32)))

    def add_cells(self, cells: MaskCells, output: int, weight: Float[np.ndarray, " cells"]) -> None:
        """Add the attention on single cells, each times its weight, to a sum."""
        self.count = max(self.count, output + 1)
        kept = weight != 0
        which = np.full(int(kept.sum()), output)
        self._cells.append((cells.query[kept], cells.key[kept], which, weight[kept]))

    def keys(self) -> Float[np.ndarray, "tokens sets"]:
        """Return the sets of keys."""
        columns = [keys.astype(np.float32) for keys in self._sets.values()]
        return np.stack(columns, axis=1) if columns else np.zeros((self.size, 0), dtype=np.float32)

    def weight(self) -> Float[np.ndarray, "tokens sets sums"]:
        """Return the weight in each sum of each query's attention on each set."""
        weights = np.zeros((self.size, len(self._sets), self.count), dtype=np.float32)
        for place, output, weight in self._thin:
            weights[:, place, output] += weight
        return weights

    def listed(self) -> CellList:
        """Return all single cells, by query."""
        return join_cells(self._cells)

    def rowwise(self) -> tuple[RowCells, ...]:
        """Return all masks whose cells are read by rows."""
        return tuple(self._rowwise)
