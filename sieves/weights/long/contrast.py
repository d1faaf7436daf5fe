"""Contrasts of one long example: their part of its plan, without an array of size units × units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from headroles.plans.even import BLOCK, EvenUnits, row_blocks
from headroles.plans.masks import Band, Cells, Keys, Mask, Same, Without
from headroles.plans.plan import KeyWeights, LongProfile, RowCells
from headroles.sieves.base import Contrast
from headroles.sieves.weights.calls import SieveCalls
from headroles.sieves.weights.long.cells import (
    KeySets,
    MaskCells,
    MaskForm,
    Sums,
    contains_cells,
    count_visible,
    find_form,
    join_cells,
)
from headroles.sieves.weights.long.keys import Compared, KeyRows, OtherQueries
from headroles.sieves.weights.long.words import TokenMask, limit_mask, token_cells, word_units

Bounds = list[tuple[int, int, float]]


@dataclass(frozen=True, slots=True, eq=False)
class _LaidContrast:
    """One contrast of an example: its cells within R, and the weight of each unit that attends.

    Where it compares keys with themselves, what they get from other queries is subtracted by ``others``,
    and single cells have weights of their own, ``given``.
    """

    column: int
    cells: MaskForm
    even: Float[np.ndarray, " cells"]
    weight: Float[np.ndarray, " units"]
    given: Float[np.ndarray, " cells"] | None = None
    others: KeyWeights | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """Counts and sums of one pass over the compared pairs."""

    room: Int[np.ndarray, " units"]
    even: Float[np.ndarray, " offsets"]
    size: Int[np.ndarray, "contrasts units"]
    at: list[np.ndarray]


def long_profiles(
    calls: SieveCalls,
    contrasts: Mapping[str, Contrast],
    columns: Sequence[str],
    visible: Mask | None,
    sums: Sums,
) -> tuple[tuple[LongProfile, ...], Bounds]:
    """Lay contrasts over a long example; those of one space and scope share a profile.

    Args:
        calls: Of the functions of sieves on the input.
        contrasts: By column.
        columns: All columns.
        visible: The keys that queries see.
        sums: Collects the linear sum of each contrast.

    Returns:
        The profiles, and per contrast its column, eligible queries and reach.
    """
    shared: dict[tuple[bool, object], list[tuple[int, str, Contrast]]] = {}
    for name, contrast in contrasts.items():
        shared.setdefault((contrast.words, contrast.scope), []).append((columns.index(name), name, contrast))
    kept, bounds = [], []
    for members in shared.values():
        profile, reach = _profile(calls, members, visible, sums)
        bounds += reach
        if profile is not None:
            kept.append(profile)
    return tuple(kept), bounds


def _profile(
    calls: SieveCalls, members: list[tuple[int, str, Contrast]], visible: Mask | None, sums: Sums
) -> tuple[LongProfile | None, Bounds]:
    example, (_, first_name, within) = calls.example, members[0]
    words = within.words
    names, unit = word_units(example) if words else (np.arange(example.size), np.arange(example.size))
    count = len(names)
    if count < 2:
        return None, []
    total = int(example.word.max(initial=-1)) + 1 if words else example.size
    scope = _over(calls.contrast_scope(within, first_name), total, names)
    spread = EvenUnits.of(unit, visible)
    own = [
        find_form([_over(calls.contrast_cells(contrast, name), total, names), scope], None, count)
        for _, name, contrast in members
    ]
    walk, compared = _walk(spread, scope, own), Compared(scope, spread)
    counted, bounds = [], []
    for number, (column, name, contrast) in enumerate(members):
        cells, at, size = own[number], walk.at[number], walk.size[number]
        whole = calls.contrast_others(contrast, name)
        others = None if whole is None else OtherQueries.of(cells, whole, compared)
        if others is not None:
            cells, at, size = others.keep(at)
        given = calls.contrast_labels(contrast, name)
        labels = np.zeros(count, dtype=np.int64) if given is None else given[names]
        eligible = (size > 0) & (size < walk.room) & (labels >= 0)
        if not eligible.any():
            continue
        per_group = np.bincount(labels[eligible])
        weight = np.zeros(count)
        weight[eligible] = 1 / per_group[labels[eligible]]
        reach = float((per_group > 0).sum())
        laid = _LaidContrast(column, cells, at, weight)
        if others is not None:
            level = others.level(weight)
            reach += others.reach(level)
            sets = others.key_sets(_rectangle(scope, count)[0])
            if sets is None:
                rows: Mask = KeyRows(others, weight, level)
                if count**2 <= BLOCK:  # read again in every layer
                    rows = Cells(rows.rows(0, count).astype(np.float32))
                laid = _LaidContrast(column, rows, at[:0], np.ones(count))
            else:
                keys = KeyWeights(sets[0].label, sets[0].sets * -level[:, None], sets[1], 0)
                assert isinstance(cells, MaskCells), "there are sets for listed cells only"
                cells, given = others.put_right(cells, keys, weight)
                laid = _LaidContrast(column, cells, compared.share[cells.query], weight, given, keys)
        counted.append(laid)
        bounds.append((column, int(eligible.sum()), reach))
    if not counted:
        return None, []
    first = sums.count
    for number, own_cells in enumerate(counted):
        _add_sum(own_cells, unit, spread, sums, first + number)
    return _profile_of(counted, first, scope, spread, walk), bounds


def _over(mask: Mask, total: int, names: np.ndarray) -> Mask:
    """Return the mask of a contrast over the units that have a token."""
    return mask if len(names) == total else limit_mask(mask, names)


def _walk(spread: EvenUnits, scope: Mask, own: list[MaskForm]) -> _Walk:
    """Count and sum up the compared pairs that get even attention, in one pass where there is no formula."""
    count = len(spread.pieces)
    taken, apart = _rectangle(scope, count)
    rate = None if taken is None else _rate(spread, apart)
    listed = [isinstance(cells, MaskCells) or (isinstance(cells, KeySets) and not apart) for cells in own]
    if taken is not None and rate is not None and all(listed):
        return _by_formula(spread, own, rate, taken, apart)
    room, even = np.zeros(count, dtype=np.int64), np.zeros(2 * count - 1)
    size = np.zeros((len(own), count), dtype=np.int64)
    at = [np.zeros(len(cells.query) if isinstance(cells, MaskCells) else 0) for cells in own]
    for start, stop in row_blocks(count):
        level = spread.rows(start, stop) * scope.rows(start, stop)
        inside = level > 0
        room[start:stop] = inside.sum(axis=1)
        lowest = count - stop
        even[lowest : lowest + count + stop - start - 1] += _offsets(level)
        for number, cells in enumerate(own):
            if isinstance(cells, MaskCells):
                here = slice(*np.searchsorted(cells.query, [start, stop]))
                at[number][here] = level[cells.query[here] - start, cells.key[here]]
            else:
                size[number, start:stop] = (cells.rows(start, stop) & inside).sum(axis=1)
    for number, cells in enumerate(own):
        if isinstance(cells, MaskCells):
            size[number] = np.bincount(cells.query[at[number] > 0], minlength=count)
    return _Walk(room, even, size, at)


def _by_formula(
    spread: EvenUnits, own: list[MaskForm], rate: np.ndarray, taken: np.ndarray, apart: bool
) -> _Walk:
    """Return what ``_walk`` does where U_ij is ``rate_i · pieces_j`` on taken units at visible offsets."""
    count = len(taken)
    seen = spread.visible
    if seen is not None and not spread.plain:
        seen = Band(1 - count, 0, count)  # words have a rate only where all keys or all earlier ones are seen
    itself = apart and (not isinstance(seen, Band) or seen.low <= 0 <= seen.high)
    room = count_visible(KeySets(np.where(taken, 0, -1), taken[:, None]), seen, count) - itself * taken
    there = np.rint(_correlate(taken, taken)) > 0
    if isinstance(seen, Band):
        offset = np.arange(1 - count, count)
        there &= (offset >= seen.low) & (offset <= seen.high)
    there[count - 1] &= not apart
    even = np.where(there, _correlate(rate * taken, spread.pieces * taken), 0.0)
    size, at = np.zeros((len(own), count), dtype=np.int64), []
    for number, cells in enumerate(own):
        level = np.zeros(0)
        if isinstance(cells, MaskCells):
            level = rate[cells.query] * spread.pieces[cells.key]
            if seen is not None:
                level *= contains_cells(seen, cells.query, cells.key, count)
            size[number] = np.bincount(cells.query[level > 0], minlength=count)
        else:
            size[number] = count_visible(cells, seen, count)
        at.append(level)
    return _Walk(room, even, size, at)


def _correlate(first: np.ndarray, second: np.ndarray) -> Float[np.ndarray, " offsets"]:
    """Return ``Σ_i first_i · second_{i+d}`` for all offsets d, by Fourier transform.

    Example:
        >>> _correlate(np.array([1.0, 0.0]), np.array([2.0, 3.0])).round(9) + 0.0
        array([0., 2., 3.])
    """
    count = len(first)
    length = 1 << (2 * count).bit_length()
    sums = np.fft.irfft(np.conj(np.fft.rfft(first, length)) * np.fft.rfft(second, length), length)
    return np.concatenate([sums[length - count + 1 :], sums[:count]])


def _offsets(rows: Float[np.ndarray, "rows units"]) -> Float[np.ndarray, " offsets"]:
    """Sum rows of consecutive queries by offset; the last query's offset to key 0 comes first."""
    count, units = rows.shape
    shifted = np.zeros((count, units + count - 1))
    step = shifted.itemsize
    view = np.lib.stride_tricks.as_strided(
        shifted[:, count - 1 :], rows.shape, ((units + count - 2) * step, step)
    )
    view[:] = rows
    sums: np.ndarray = shifted.sum(axis=0)
    return sums


def _add_sum(contrast: _LaidContrast, unit: np.ndarray, spread: EvenUnits, sums: Sums, output: int) -> None:
    """Add ``Σ weight · A`` over a contrast's cells, as cells between tokens."""
    share = np.where(unit >= 0, (contrast.weight / spread.pieces)[unit], 0.0)
    plain = spread.plain
    if isinstance(contrast.cells, MaskCells) and contrast.given is not None:
        assert contrast.others is not None, "other queries have a weight for each key"
        sums.add_cells(contrast.cells, output, contrast.given)
        sums.weighed.append(replace(contrast.others, output=output))
    elif isinstance(contrast.cells, MaskCells):
        kept = contrast.even > 0
        cells = MaskCells(contrast.cells.query[kept], contrast.cells.key[kept])
        cells = cells if plain else token_cells(cells, unit)
        sums.add_cells(cells, output, share[cells.query])
    elif isinstance(contrast.cells, KeySets):
        label = np.where(unit >= 0, contrast.cells.label[unit], -1)
        sets = contrast.cells.sets[unit] & (unit >= 0)[:, None]
        sums.add(KeySets(label, sets), output, share)
    else:
        sums.add(contrast.cells if plain else TokenMask(contrast.cells, unit), output, share)


def _profile_of(
    counted: list[_LaidContrast], first: int, scope: Mask, spread: EvenUnits, walk: _Walk
) -> LongProfile:
    count = len(spread.pieces)
    taken, apart = _rectangle(scope, count)
    keys: list[np.ndarray] = []
    label = np.full((len(counted), count), -1)
    cells, rowwise = [], []
    for number, contrast in enumerate(counted):
        if isinstance(contrast.cells, MaskCells):
            given = contrast.weight[contrast.cells.query] if contrast.given is None else contrast.given
            weight = contrast.even * given
            kept = weight != 0
            query, key = contrast.cells.query[kept], contrast.cells.key[kept]
            cells.append((query, key, np.full(len(query), number), weight[kept]))
        elif isinstance(contrast.cells, KeySets):
            label[number] = np.where(contrast.cells.label >= 0, contrast.cells.label + len(keys), -1)
            keys += list(contrast.cells.sets.T)
        else:
            rowwise.append(RowCells(contrast.cells, number, contrast.weight))
    sets = np.stack(keys, axis=1).astype(np.float64) if keys else np.zeros((count, 0))
    return LongProfile(
        columns=tuple(contrast.column for contrast in counted),
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
        weight=np.stack([contrast.weight for contrast in counted]),
        listed=join_cells(cells),
        weighed=tuple(
            replace(contrast.others, output=number)
            for number, contrast in enumerate(counted)
            if contrast.others is not None
        ),
        rowwise=tuple(rowwise),
    )


def _rectangle(scope: Mask, count: int) -> tuple[np.ndarray | None, bool]:
    """Return the units whose pairs, all or all but the diagonal, are the scope; None for other scopes."""
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
    """Return U_ij divided by the pieces of j, or None where that depends on j.

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
