"""Contrasts of one long example: what it contributes, without an array of size units × units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from headroles.plans.even import EvenUnits, blocks
from headroles.plans.masks import Band, Keys, Mask, Same, Without
from headroles.plans.plan import LongProfile, Rowwise
from headroles.records.example import Example
from headroles.sieves.base import Contrast
from headroles.sieves.masks import as_mask
from headroles.sieves.weights.long.cells import Found, Labelled, Resolved, Sums, listed, resolved
from headroles.sieves.weights.long.words import Spelled, picked, spelled_cells, word_units

Bounds = list[tuple[int, int, float]]


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """One contrast of an example: its cells within R, and the weight of each unit that attends."""

    column: int
    cells: Resolved
    even: Float[np.ndarray, " cells"]
    weight: Float[np.ndarray, " units"]


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """What one pass over the compared pairs finds."""

    room: Int[np.ndarray, " units"]
    even: Float[np.ndarray, " offsets"]
    size: Int[np.ndarray, "contrasts units"]
    at: list[np.ndarray]


def long_profiles(
    example: Example,
    contrasts: Mapping[str, Contrast],
    columns: Sequence[str],
    visible: Mask | None,
    sums: Sums,
) -> tuple[tuple[LongProfile, ...], Bounds]:
    """Profiles of all contrasts, by their columns; those of one space and scope share one.

    Args:
        example: The input.
        contrasts: By column.
        columns: All columns.
        visible: What the queries see.
        sums: Gets the linear sum of each contrast.

    Returns:
        The profiles, and per contrast its column, eligible queries and reach.
    """
    shared: dict[tuple[bool, object], list[tuple[int, str, Contrast]]] = {}
    for name, each in contrasts.items():
        shared.setdefault((each.words, each.scope), []).append((columns.index(name), name, each))
    made, bounds = [], []
    for members in shared.values():
        profile, reach = _profile(example, members, visible, sums)
        bounds += reach
        if profile is not None:
            made.append(profile)
    return tuple(made), bounds


def _profile(
    example: Example, members: list[tuple[int, str, Contrast]], visible: Mask | None, sums: Sums
) -> tuple[LongProfile | None, Bounds]:
    words = members[0][2].words
    names, unit = word_units(example) if words else (np.arange(example.size), np.arange(example.size))
    count = len(names)
    if count < 2:
        return None, []
    total = int(example.word.max(initial=-1)) + 1 if words else example.size
    scope = _over(members[0][2].scope(example), total, names, members[0][1], example.key)
    spread = EvenUnits.of(unit, visible)
    own = [
        resolved([_over(each.cells(example), total, names, name, example.key), scope], None, count)
        for _, name, each in members
    ]
    walk = _walked(spread, scope, own)
    counted, bounds = [], []
    for number, (column, _, each) in enumerate(members):
        size = walk.size[number]
        eligible = (size > 0) & (size < walk.room)
        if not eligible.any():
            continue
        labels = np.zeros(count, dtype=np.int64) if each.groups is None else each.groups(example)[names]
        per_group = np.bincount(labels[eligible])
        weight = np.zeros(count)
        weight[eligible] = 1 / per_group[labels[eligible]]
        counted.append(_Counted(column, own[number], walk.at[number], weight))
        bounds.append((column, int(eligible.sum()), float((per_group > 0).sum())))
    if not counted:
        return None, []
    first = sums.count
    for number, own_cells in enumerate(counted):
        _add_sum(own_cells, unit, spread, sums, first + number)
    return _made(counted, first, scope, spread, walk), bounds


def _over(returned: object, total: int, names: np.ndarray, sieve: str, key: str) -> Mask:
    """What a contrast's function returned, as a mask over the units."""
    mask = as_mask(returned, total, sieve, key)
    return mask if len(names) == total else picked(mask, names)


def _walked(spread: EvenUnits, scope: Mask, own: list[Resolved]) -> _Walk:
    """Go once over all compared pairs that even attention reaches."""
    count = len(spread.pieces)
    room, even = np.zeros(count, dtype=np.int64), np.zeros(2 * count - 1)
    size = np.zeros((len(own), count), dtype=np.int64)
    at = [np.zeros(len(each.query) if isinstance(each, Found) else 0) for each in own]
    for start, stop in blocks(count):
        level = spread.rows(start, stop) * scope.rows(start, stop)
        inside = level > 0
        room[start:stop] = inside.sum(axis=1)
        lowest = count - stop
        even[lowest : lowest + count + stop - start - 1] += _offsets(level)
        for number, each in enumerate(own):
            if isinstance(each, Found):
                here = slice(*np.searchsorted(each.query, [start, stop]))
                at[number][here] = level[each.query[here] - start, each.key[here]]
            else:
                size[number, start:stop] = (each.rows(start, stop) & inside).sum(axis=1)
    for number, each in enumerate(own):
        if isinstance(each, Found):
            size[number] = np.bincount(each.query[at[number] > 0], minlength=count)
    return _Walk(room, even, size, at)


def _offsets(rows: Float[np.ndarray, "rows units"]) -> Float[np.ndarray, " offsets"]:
    """Sums of rows of consecutive queries by offset; the last query's offset to key 0 comes first."""
    count, units = rows.shape
    shifted = np.zeros((count, units + count - 1))
    step = shifted.itemsize
    view = np.lib.stride_tricks.as_strided(
        shifted[:, count - 1 :], rows.shape, ((units + count - 2) * step, step)
    )
    view[:] = rows
    sums: np.ndarray = shifted.sum(axis=0)
    return sums


def _add_sum(each: _Counted, unit: np.ndarray, spread: EvenUnits, sums: Sums, output: int) -> None:
    """Add ``Σ weight · A`` over a contrast's cells, as cells between tokens."""
    share = np.where(unit >= 0, (each.weight / spread.pieces)[unit], 0.0)
    plain = spread.plain
    if isinstance(each.cells, Found):
        kept = each.even > 0
        cells = Found(each.cells.query[kept], each.cells.key[kept])
        cells = cells if plain else spelled_cells(cells, unit)
        sums.add_cells(cells, output, share[cells.query])
    elif isinstance(each.cells, Labelled):
        label = np.where(unit >= 0, each.cells.label[unit], -1)
        sets = each.cells.sets[unit] & (unit >= 0)[:, None]
        sums.add(Labelled(label, sets), output, share)
    else:
        sums.add(each.cells if plain else Spelled(each.cells, unit), output, share)


def _made(counted: list[_Counted], first: int, scope: Mask, spread: EvenUnits, walk: _Walk) -> LongProfile:
    count = len(spread.pieces)
    taken, apart = _rectangle(scope, count)
    keys: list[np.ndarray] = []
    label = np.full((len(counted), count), -1)
    cells, rowwise = [], []
    for number, each in enumerate(counted):
        if isinstance(each.cells, Found):
            kept = (each.even > 0) & (each.weight[each.cells.query] > 0)
            query = each.cells.query[kept]
            weight = each.even[kept] * each.weight[query]
            cells.append((query, each.cells.key[kept], np.full(len(query), number), weight))
        elif isinstance(each.cells, Labelled):
            label[number] = np.where(each.cells.label >= 0, each.cells.label + len(keys), -1)
            keys += list(each.cells.sets.T)
        else:
            rowwise.append(Rowwise(each.cells, number, each.weight))
    sets = np.stack(keys, axis=1).astype(np.float64) if keys else np.zeros((count, 0))
    return LongProfile(
        columns=tuple(each.column for each in counted),
        sums=tuple(range(first, first + len(counted))),
        unit=spread.unit,
        taken=np.ones(count, dtype=np.bool_) if taken is None else taken,
        scope=scope if taken is None else None,
        apart=apart,
        spread=spread,
        rate=None if taken is None else _rate(spread, apart),
        even=walk.even,
        keys=sets,
        label=label,
        weight=np.stack([each.weight for each in counted]),
        listed=listed(cells),
        rowwise=tuple(rowwise),
    )


def _rectangle(scope: Mask, count: int) -> tuple[np.ndarray | None, bool]:
    """The units whose pairs, all or all but the diagonal, are the scope; None when it is no such set."""
    if isinstance(scope, Without) and isinstance(scope.taken, Band):
        band = scope.taken
        own, _ = _rectangle(scope.mask, count)
        return (own, True) if band.low == band.high == 0 else (None, False)
    if isinstance(scope, Keys) and scope.keys.all():
        return scope.keys, False
    if isinstance(scope, Same) and int(scope.labels.max(initial=-1)) == 0:
        return scope.labels == 0, False
    return None, False


def _rate(spread: EvenUnits, apart: bool) -> Float[np.ndarray, " units"] | None:
    """What U_ij is apart from the pieces of j, where it does not depend on j otherwise.

    Without words it is one over the number of visible keys, where these lie in a band of offsets;
    between different words so, where all keys or all earlier ones are seen.
    """
    unit, visible = spread.unit, spread.visible
    if visible is not None and not isinstance(visible, Band):
        return None
    share: np.ndarray = 1 / np.maximum(spread.room, 1)
    if spread.plain:
        return share
    inside = np.flatnonzero(unit >= 0)
    if visible is not None:
        causal = visible.high == 0 and visible.low <= 1 - len(unit)
        if not (apart and causal and (np.diff(unit[inside]) >= 0).all()):
            return None
    mean: np.ndarray = np.bincount(unit[inside], share[inside]) / spread.pieces
    return mean
