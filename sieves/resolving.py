"""Masks of long inputs as what can be worked with block by block: sets of keys, single cells, or rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from headroles.plans.even import blocks
from headroles.plans.masks import Band, Every, Keys, Mask, Match, Same
from headroles.sieves.single_cells import Found, cells_of, count_of, flat, found, holds, scanned

FEW = 8
"""Most sets of keys that one mask is taken apart into."""
PER_QUERY, ONE_OF = 64, 64
"""Most single cells of a mask, by query, or as one of so many of all cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """A mask as a few sets of keys.

    Attributes:
        label: The set each query looks at; −1 for none.
        sets: Whether a key is in a set.
    """

    label: Int[np.ndarray, " units"]
    sets: Bool[np.ndarray, "units sets"]

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows units"]:
        """The mask of queries ``start`` to ``stop``."""
        label = self.label[start:stop]
        inside: np.ndarray = self.sets.T[label] & (label >= 0)[:, None]
        return inside


Resolved = Labelled | Found | Mask


def resolved(masks: Sequence[Mask], visible: Mask | None, size: int) -> Resolved:
    """The cells that are in all of some masks, in the cheapest form.

    Args:
        masks: At least one.
        visible: What the queries see, which sets of keys are not cut to: attention is 0 outside it.
        size: Number of queries, and of keys.

    Returns:
        Sets of keys when they are few; else single cells within ``visible`` when these are few; else
        the mask within ``visible``.
    """
    every = flat(masks)
    labelled = _labelled_all(every)
    if labelled is not None:
        return labelled
    every = every if visible is None else [*every, visible]
    most = max(PER_QUERY * size, size * size // ONE_OF)
    counted = [
        (count, each) for each in every if (count := count_of(each, size)) is not None and count <= most
    ]
    if counted:
        smallest = min(counted, key=lambda each: each[0])[1]
        query, key = cells_of(smallest, size)
        kept = np.ones(len(query), dtype=np.bool_)
        for each in every:
            if each is not smallest:
                kept &= holds(each, query, key, size)
        return found(query[kept], key[kept], size)
    return scanned(Every(tuple(every)), size, most)


def sizes(cells: Resolved, visible: Mask | None, size: int) -> Int[np.ndarray, " units"]:
    """How many visible keys a resolved mask has for each query."""
    if isinstance(cells, Found):
        return np.bincount(cells.query, minlength=size)
    if isinstance(cells, Labelled):
        counts = _set_counts(cells.sets, visible)
        own: np.ndarray = np.take_along_axis(counts, np.maximum(cells.label, 0)[:, None], axis=1)[:, 0]
        return np.where(cells.label >= 0, own, 0)
    counts = np.zeros(size, dtype=np.int64)
    for start, stop in blocks(size):
        counts[start:stop] = cells.rows(start, stop).sum(axis=1)
    return counts


def _labelled_all(masks: Sequence[Mask]) -> Labelled | None:
    """All masks together as a few sets of keys, where they can be."""
    both: Labelled | None = None
    for each in masks:
        one = _labelled(each)
        if one is None:
            return None
        both = one if both is None else _crossed(both, one)
        if both is None:
            return None
    return both


def _labelled(mask: Mask) -> Labelled | None:
    if isinstance(mask, Keys):
        return Labelled(np.zeros(len(mask.keys), dtype=np.int64), mask.keys[:, None])
    if not isinstance(mask, Same | Match):
        return None
    query, key = (mask.labels, mask.labels) if isinstance(mask, Same) else (mask.query, mask.key)
    names = np.unique(query[query >= 0])
    if not 0 < len(names) <= FEW:
        return None if len(names) else Labelled(np.full(len(query), -1), np.zeros((len(query), 1), np.bool_))
    label = np.where(query >= 0, np.searchsorted(names, query), -1)
    return Labelled(label, key[:, None] == names[None, :])


def _crossed(one: Labelled, other: Labelled) -> Labelled | None:
    """Keys in both of two sets, for each pair of sets that some query looks at."""
    width = other.sets.shape[1]
    code = np.where((one.label >= 0) & (other.label >= 0), one.label * width + other.label, -1)
    names = np.unique(code[code >= 0])
    if len(names) > FEW:
        return None
    if not names.size:
        return Labelled(np.full(len(code), -1), np.zeros((len(code), 1), dtype=np.bool_))
    sets = one.sets[:, names // width] & other.sets[:, names % width]
    return Labelled(np.where(code >= 0, np.searchsorted(names, code), -1), sets)


def _set_counts(sets: np.ndarray, visible: Mask | None) -> Int[np.ndarray, "units sets"]:
    """How many keys of each set each query sees."""
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
    made = np.zeros(sets.shape, dtype=np.int64)
    for start, stop in blocks(size):
        made[start:stop] = np.rint(visible.rows(start, stop).astype(np.float32) @ sets.astype(np.float32))
    return made
