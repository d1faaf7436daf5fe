"""Single cells of masks: which there are, which are held, and lists of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from headroles.plans.even import blocks
from headroles.plans.masks import Band, Cells, Every, Keys, Mask, Match, Pairs, Same, Without
from headroles.plans.plan import Listed


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A mask as a list of its cells, sorted by query, each once."""

    query: Int[np.ndarray, " cells"]
    key: Int[np.ndarray, " cells"]


@dataclass(frozen=True, slots=True, eq=False)
class Outside:
    """Cells that are not in a mask."""

    taken: Mask

    def rows(self, start: int, stop: int) -> Bool[np.ndarray, "rows units"]:
        inside: np.ndarray = ~self.taken.rows(start, stop)
        return inside


def listed(cells: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]) -> Listed:
    """Lists of query, key, output and weight as one, sorted by query."""
    none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    query, key, output, weight = (np.concatenate(each) for each in zip(none, *cells, strict=True))
    order = np.argsort(query, kind="stable")
    return Listed(
        query=query[order].astype(np.int32),
        key=key[order].astype(np.int32),
        output=output[order].astype(np.int32),
        weight=weight[order].astype(np.float32),
    )


def holds(
    mask: Mask, query: Int[np.ndarray, " cells"], key: Int[np.ndarray, " cells"], size: int
) -> Bool[np.ndarray, " cells"]:
    """Whether single cells are in a mask."""
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
        inside = ~holds(mask.taken, query, key, size)
    elif isinstance(mask, Every):
        inside = np.ones(len(query), dtype=np.bool_)
        for each in flat([mask]):
            inside &= holds(each, query, key, size)
    elif isinstance(mask, Without):
        inside = holds(mask.mask, query, key, size) & ~holds(mask.taken, query, key, size)
    else:
        inside = np.zeros(len(query), dtype=np.bool_)
        for start, stop in blocks(size):
            here = np.flatnonzero((query >= start) & (query < stop))
            if here.size:
                inside[here] = mask.rows(start, stop)[query[here] - start, key[here]]
    return inside


def flat(masks: Sequence[Mask]) -> list[Mask]:
    """The members of all masks that are intersections, and the others."""
    made: list[Mask] = []
    for each in masks:
        if isinstance(each, Every):
            made += flat(each.masks)
        elif isinstance(each, Without):
            made += [*flat([each.mask]), Outside(each.taken)]
        else:
            made.append(each)
    return made


def count_of(mask: Mask, size: int) -> int | None:
    """How many cells a mask has, where that is known without looking at all of them."""
    if isinstance(mask, Pairs):
        return len(mask.query)
    if isinstance(mask, Band):
        return max(0, min(mask.high, size) - max(mask.low, -size) + 1) * size
    if isinstance(mask, Same | Match):
        query, key = (mask.labels, mask.labels) if isinstance(mask, Same) else (mask.query, mask.key)
        most = max(int(query.max(initial=-1)), int(key.max(initial=-1))) + 1
        asked, there = (np.bincount(each[each >= 0], minlength=most) for each in (query, key))
        return int(asked @ there)
    return None


def cells_of(mask: Mask, size: int) -> tuple[np.ndarray, np.ndarray]:
    """All cells of a mask whose number is known."""
    if isinstance(mask, Pairs):
        return mask.query.astype(np.int64), mask.key.astype(np.int64)
    if isinstance(mask, Band):
        low, high = max(mask.low, -size), min(mask.high, size)
        query = np.repeat(np.arange(size), max(0, high - low + 1))
        key = query + np.tile(np.arange(low, high + 1), size)
        inside = (key >= 0) & (key < size)
        return query[inside], key[inside]
    assert isinstance(mask, Same | Match)
    asked, there = (mask.labels, mask.labels) if isinstance(mask, Same) else (mask.query, mask.key)
    order = np.argsort(there, kind="stable")
    queries = np.flatnonzero(asked >= 0)
    first = np.searchsorted(there[order], asked[queries], side="left")
    number = np.searchsorted(there[order], asked[queries], side="right") - first
    query = np.repeat(queries, number)
    step = np.arange(len(query)) - np.repeat(np.cumsum(number) - number, number)
    return query, order[np.repeat(first, number) + step]


def found(query: np.ndarray, key: np.ndarray, size: int) -> Found:
    code = np.unique(query.astype(np.int64) * size + key)
    return Found(code // max(size, 1), code % max(size, 1))


def scanned(mask: Mask, size: int, most: int) -> Found | Mask:
    """A mask looked at row by row: its cells, or the mask itself when they are too many."""
    query, key, total = [], [], 0
    for start, stop in blocks(size):
        rows, columns = np.nonzero(mask.rows(start, stop))
        total += len(rows)
        if total > most:
            return mask
        query.append(rows + start)
        key.append(columns)
    return Found(
        np.concatenate([*query, np.zeros(0, np.int64)]), np.concatenate([*key, np.zeros(0, np.int64)])
    )
