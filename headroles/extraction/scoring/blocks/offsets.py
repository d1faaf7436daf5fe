"""Sums by signed offset over blocks of attention on a CPU, by one compiled loop over all cells.

The module imports numba, and compiles the loop or reads it from disk. Import it only where it is used.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from headroles.extraction.compiling import compiled, inner
from headroles.extraction.scoring.blocks.offset_keys import OffsetKeys

GROUP = 32
"""Rows whose sums are kept in float32 and in the nearest cache, before they join those in float64."""


def _clipped_runs(runs: np.ndarray, first: int, last: int) -> np.ndarray:
    """Return the part of each run from key ``first`` to ``last``, counted from ``first``."""
    kept = np.empty(runs.shape, np.uint32)
    count = 0
    for run in range(len(runs)):
        begin, end = max(runs[run, 0], first), min(runs[run, 1], last)
        if begin < end:
            kept[count, 0], kept[count, 1] = begin - first, end - first
            kept[count, 2] = runs[run, 2] + begin - runs[run, 0]
            count += 1
    return kept[:count]


def _reach(runs: np.ndarray, pieces: np.ndarray, to: np.ndarray, units: int) -> tuple[int, int]:
    """Return the lowest unit of some keys, and one past the highest."""
    low: Any = units
    high: Any = 0
    for parts in (runs, pieces):
        for run in range(len(parts)):
            begin, end, unit = np.int64(parts[run, 0]), np.int64(parts[run, 1]), np.int64(parts[run, 2])
            low, high = min(low, unit), max(high, unit + end - begin)
    for each in to:
        low, high = min(low, np.int64(each)), max(high, np.int64(each) + 1)
    return low, high


_clipped_runs, _reach = inner(_clipped_runs), inner(_reach)


def _add_offsets(
    sums: Float[np.ndarray, "heads offsets"],
    itself: Float[np.ndarray, "heads units"],
    rows: Float[np.ndarray, "heads rows keys"],
    first: int,
    unit: Int[np.ndarray, " rows"],
    weight: Float[np.ndarray, " rows"],
    all_runs: Int[np.ndarray, "runs 3"],
    all_lead: Int[np.ndarray, " leads"],
    all_pieces: Int[np.ndarray, "pieces 3"],
    all_keys: Int[np.ndarray, " singles"],
    all_to: Int[np.ndarray, " singles"],
    opens: Int[np.ndarray, "_"],
    member: Int[np.ndarray, "_"],
) -> None:
    """Add the weighted cells of a block to their sums; see ``add_offsets``."""
    heads, count, width = rows.shape
    units, last = (sums.shape[1] + 1) // 2, first + width
    runs = _clipped_runs(all_runs, first, last)
    led, left = int(np.searchsorted(all_lead, first)), int(np.searchsorted(all_lead, last))
    pieces = _clipped_runs(all_pieces, led, left)
    lead = (all_lead[led:left] - np.uint32(first)).astype(np.uint32)
    here = slice(np.searchsorted(all_keys, first), np.searchsorted(all_keys, last))
    key, to = (all_keys[here] - np.uint32(first)).astype(np.uint32), all_to[here]
    low, high = _reach(runs, pieces, to, units)
    part, line = np.empty(sums.shape[1], np.float32), np.empty(width, np.float32)
    for start in range(0, count if low < high else 0, GROUP):
        stop = min(start + GROUP, count)
        least, most = units, -1
        for row in range(start, stop):
            if weight[row] != 0:
                least, most = min(least, unit[row]), max(most, unit[row])
        begin, end = low - most + units - 1, high - least + units - 1
        for head in range(heads if most >= 0 else 0):
            part[begin:end] = 0
            row = start
            while row < stop:
                own, factor, source = unit[row], weight[row], rows[head, row]
                row += 1
                if factor == 0:
                    continue
                if row < stop and unit[row] == own and weight[row] == factor:
                    line[:] = source
                    source = line
                    while row < stop and unit[row] == own and weight[row] == factor:
                        other = rows[head, row]
                        for place in range(width):
                            line[place] += other[place]
                        row += 1
                target = part[units - 1 - own :]
                for run in range(len(runs)):
                    given, taker = source[runs[run, 0] : runs[run, 1]], target[runs[run, 2] :]
                    for place in range(len(given)):
                        taker[place] += factor * given[place]
                for piece in range(len(pieces)):
                    chosen, taker = lead[pieces[piece, 0] : pieces[piece, 1]], target[pieces[piece, 2] :]
                    for place in range(len(chosen)):
                        taker[place] += factor * source[chosen[place]]
                for place in range(len(key)):
                    target[to[place]] += factor * source[key[place]]
                if len(opens):
                    for place in range(opens[own], opens[own + 1]):
                        if first <= member[place] < last:
                            itself[head, own] -= factor * source[member[place] - first]
            for offset in range(begin, end):
                sums[head, offset] += part[offset]


def _sum_runs(
    rows: Float[np.ndarray, "heads rows keys"],
    first: int,
    runs: Int[np.ndarray, "runs 2"],
    inside: Float[np.ndarray, "runs sets"],
    sums: Float[np.ndarray, "heads rows sets"],
) -> None:
    """Write the sum over each set of keys; see ``sum_runs``."""
    heads, count, width = rows.shape
    for head in range(heads):
        for row in range(count):
            source = rows[head, row]
            for run in range(len(runs)):
                begin = max(runs[run, 0] - first, 0)
                # With places from 0 on, the compiler adds several cells at a time.
                given = source[begin : max(begin, min(runs[run, 1] - first, width))]
                total: Any = np.float32(0)
                for place in range(len(given)):
                    total += given[place]
                for each in range(inside.shape[1]):
                    sums[head, row, each] += total * inside[run, each]


def _sum_columns(
    rows: Float[np.ndarray, "heads rows keys"],
    queries: Float[np.ndarray, "sets rows"],
    bands: Int[np.ndarray, "sets 2"],
    sums: Float[np.ndarray, "heads sets keys"],
) -> None:
    """Add the rows of each set of queries; see ``sum_columns``."""
    heads, count, width = rows.shape
    for head in range(heads):
        for row in range(count):
            for each in range(len(queries)):
                if queries[each, row] != 0:
                    begin = max(0, row + bands[each, 0])
                    end = max(begin, min(row + bands[each, 1] + 1, width))
                    given, taker = rows[head, row, begin:end], sums[head, each, begin:end]
                    for place in range(len(given)):
                        taker[place] += given[place]


_sum_columns = compiled(
    _sum_columns, "void(float32[:,:,::1], float32[:,::1], int64[:,::1], float32[:,:,::1])"
)

_sum_runs = compiled(
    _sum_runs, "void(float32[:,:,::1], int64, int64[:,::1], float32[:,::1], float32[:,:,::1])"
)

_add_offsets = compiled(
    _add_offsets,
    "void(float64[:,::1], float64[:,::1], float32[:,:,::1], int64, int64[::1], float32[::1], int64[:,::1], "
    "uint32[::1], int64[:,::1], uint32[::1], uint32[::1], int64[::1], int64[::1])",
)


def add_offsets(
    sums: Float[np.ndarray, "heads offsets"],
    itself: Float[np.ndarray, "heads units"],
    rows: Float[np.ndarray, "heads rows keys"],
    first: int,
    queries: tuple[Int[np.ndarray, " rows"], Float[np.ndarray, " rows"]],
    keys: OffsetKeys,
) -> None:
    """Add a block of attention to its sums by signed offset between units.

    Args:
        sums: Float64; offset d of u units has index ``d + u − 1``.
        itself: Float64, the attention of units on themselves; subtracted where ``keys`` has members.
        rows: Attention between tokens, float32 and contiguous.
        first: The first key.
        queries: Unit of each query, and its float32 weight; a weight of 0 leaves a query out.
        keys: The units of all keys.
    """
    layout = (keys.runs, keys.lead, keys.pieces, keys.key, keys.to, keys.opens, keys.member)
    _add_offsets(sums, itself, rows, first, *queries, *layout)


def sum_runs(
    rows: Float[np.ndarray, "heads rows keys"],
    first: int,
    runs: Int[np.ndarray, "runs 2"],
    inside: Float[np.ndarray, "runs sets"],
) -> Float[np.ndarray, "heads rows sets"]:
    """Return the attention of each query on sets of keys that consist of runs.

    Args:
        rows: Attention between tokens, float32 and contiguous.
        first: The first key of the rows; keys outside of the rows get no attention.
        runs: First key and one past the last of each run, int64.
        inside: 1 for runs that belong to a set, else 0, float32.
    """
    sums = np.zeros((*rows.shape[:2], inside.shape[1]), dtype=np.float32)
    _sum_runs(rows, first, runs, inside, sums)
    return sums


def sum_columns(
    rows: Float[np.ndarray, "heads rows keys"],
    queries: Float[np.ndarray, "sets rows"],
    bands: Int[np.ndarray, "sets 2"],
) -> Float[np.ndarray, "heads sets keys"]:
    """Return the attention that each key gets from sets of queries.

    Args:
        rows: Attention between tokens, float32 and contiguous.
        queries: 1 for queries of a set, else 0, float32.
        bands: Smallest and largest place of a key, less that of its query, that counts in each set.
    """
    sums = np.zeros((len(rows), len(queries), rows.shape[2]), dtype=np.float32)
    _sum_columns(rows, queries, bands, sums)
    return sums
