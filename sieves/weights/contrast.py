"""Contrasts against a head's own distance profile: their part of the plan of an example."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.plans.plan import Profile
from headroles.records.example import Example
from headroles.sieves.base import Contrast
from headroles.sieves.weights.calls import SieveCalls


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """The profiles of one example, and per contrast its column, eligible queries and reach."""

    profiles: tuple[Profile, ...]
    bounds: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """The units of a space: their tokens, and even attention on each pair."""

    names: np.ndarray
    lead: np.ndarray
    extra: np.ndarray
    extra_unit: np.ndarray
    pieces: np.ndarray
    even: Float[np.ndarray, "units units"]


def profiles(
    calls: SieveCalls,
    contrasts: Mapping[str, Contrast],
    columns: Sequence[str],
    visible: Bool[np.ndarray, "tokens tokens"] | None,
    dtype: type[np.floating],
) -> Profiles:
    """Lay contrasts over an example; those of one space and scope share a profile.

    The formula is that of ``headroles.plans.plan.Profile``. In an encoder that sees every key, U_ij is
    the number of pieces of unit j over the number of tokens, so that it cancels to the plain
    e_j; in general it is attention that is even over the visible keys, which keeps the contrast of
    even attention at 0 under every mask.
    """
    shared: dict[tuple[bool, object], list[tuple[str, Contrast]]] = {}
    for column, contrast in contrasts.items():
        shared.setdefault((contrast.words, contrast.scope), []).append((column, contrast))
    kept, bounds = [], []
    for members in shared.values():
        profile, reach = _profile(calls, members, columns, visible, dtype)
        bounds += reach
        if profile is not None:
            kept.append(profile)
    return Profiles(tuple(kept), tuple(bounds))


def _profile(
    calls: SieveCalls,
    members: list[tuple[str, Contrast]],
    names: Sequence[str],
    visible: np.ndarray | None,
    dtype: type[np.floating],
) -> tuple[Profile | None, list[tuple[int, int, float]]]:
    example, (first, within) = calls.example, members[0]
    units = _words(example, visible) if within.words else _tokens(example, visible)
    count = len(units.lead)
    if count < 2:
        return None, []
    pick = np.ix_(units.names, units.names)
    total = int(example.word.max(initial=-1)) + 1 if within.words else example.size
    inside = calls.contrast_scope(within, first).rows(0, total)[pick] & (units.even > 0)
    room = inside.sum(axis=1)
    columns: list[int] = []
    queries, weights, bounds = [], [], []
    for name, contrast in members:
        counted = calls.contrast_cells(contrast, name).rows(0, total)[pick] & inside
        others = calls.contrast_others(contrast, name)
        if others is not None:
            rest = others.rows(0, total)[pick] & inside & ~counted & ~np.eye(count, dtype=np.bool_)
            got = (rest * units.even).sum(axis=0)
            counted &= got > 0
        size = counted.sum(axis=1)
        given = calls.contrast_labels(contrast, name)
        labels = np.zeros(count, dtype=np.int64) if given is None else given[units.names]
        eligible = np.flatnonzero((size > 0) & (size < room) & (labels >= 0))
        if not eligible.size:
            continue
        column = names.index(name)
        per_group = np.bincount(labels[eligible])
        weight, reach = np.zeros((count, count)), float((per_group > 0).sum())
        weight[eligible] = counted[eligible] / per_group[labels[eligible], None]
        if others is not None:
            level = np.divide((weight * units.even).sum(axis=0), got, out=np.zeros(count), where=got > 0)
            weight -= rest * level
            reach += float((rest * level).max(axis=1).sum())
        asking = np.flatnonzero(weight.any(axis=1))
        columns.append(column)
        queries.append(asking)
        weights.append(weight[asking])
        bounds.append((column, len(eligible), reach))
    if not columns:
        return None, []
    query, weight = np.concatenate(queries), np.concatenate(weights)
    even = by_offset(inside * units.even, np.arange(count))
    return (
        Profile(
            columns=tuple(columns),
            lead=units.lead,
            extra=units.extra,
            extra_unit=units.extra_unit,
            pieces=units.pieces.astype(dtype),
            inside=inside.astype(dtype),
            contrast=np.repeat(np.arange(len(columns)), [len(rows) for rows in queries]),
            query=query,
            weight=weight.astype(dtype),
            even=even.sum(axis=0).astype(dtype),
            total=even.astype(dtype).T,
            expected=by_offset((weight * units.even[query]).astype(dtype), query).T,
        ),
        bounds,
    )


def _tokens(example: Example, visible: np.ndarray | None) -> _Units:
    """Make every token a unit."""
    everyone = np.arange(example.size)
    none = np.zeros(0, dtype=np.int64)
    return _Units(
        names=everyone,
        lead=everyone,
        extra=none,
        extra_unit=none,
        pieces=np.ones(example.size),
        even=_even(example.size, visible),
    )


def _words(example: Example, visible: np.ndarray | None) -> _Units:
    """Make every word with a token a unit, in the order of the words."""
    inside = np.flatnonzero(example.word >= 0)
    names, first, unit = np.unique(example.word[inside], return_index=True, return_inverse=True)
    lead = inside[first]
    opens = np.zeros(len(inside), dtype=np.bool_)
    opens[first] = True
    pieces = np.bincount(unit, minlength=len(names)).astype(np.float64)
    if visible is None:
        even = np.broadcast_to(pieces / max(example.size, 1), (len(names), len(names)))
    else:
        token = _even(example.size, visible)[np.ix_(inside, inside)]
        columns = np.add.reduceat(token[:, np.argsort(unit, kind="stable")], _starts(pieces), axis=1)
        rows = np.add.reduceat(columns[np.argsort(unit, kind="stable")], _starts(pieces), axis=0)
        even = rows / pieces[:, None]
    return _Units(
        names=names, lead=lead, extra=inside[~opens], extra_unit=unit[~opens], pieces=pieces, even=even
    )


def _starts(pieces: np.ndarray) -> np.ndarray:
    starts: np.ndarray = np.concatenate([[0], np.cumsum(pieces)[:-1]]).astype(np.int64)
    return starts


def _even(size: int, visible: np.ndarray | None) -> Float[np.ndarray, "tokens tokens"]:
    """Return attention that is even over the visible keys of each query."""
    if visible is None:
        return np.full((size, size), 1 / max(size, 1))
    even: np.ndarray = visible / np.maximum(visible.sum(axis=1, keepdims=True), 1)
    return even


def by_offset(
    rows: Float[np.ndarray, "*heads rows units"], query: Int[np.ndarray, " rows"]
) -> Float[np.ndarray, "*heads rows offsets"]:
    """Shift rows so that keys of one signed offset from their queries share a column.

    Args:
        rows: One value per key, for each row.
        query: The unit that attends in each row.

    Returns:
        Column ``d + units − 1`` holds offset d; offsets that a query does not have are 0.

    Example:
        >>> by_offset(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1])).tolist()
        [[0.0, 1.0, 2.0], [3.0, 4.0, 0.0]]
    """
    units = rows.shape[-1]
    shifted = np.zeros((*rows.shape[:-1], 2 * units - 1), dtype=rows.dtype)
    for row, asking in enumerate(query.tolist()):
        first = units - 1 - asking
        shifted[..., row, first : first + units] = rows[..., row, :]
    return shifted
