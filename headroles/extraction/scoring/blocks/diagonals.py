"""Sums over blocks of attention along their diagonals, which are the signed offsets from query to key."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from jaxtyping import Bool, Float

GROUP = 32
"""Most queries that are summed at a time; the triangles at both ends grow with their number squared."""
RUNS = 4
"""Most runs of keys that are summed one by one; of more, a copy is summed in which other keys are 0."""


def add_diagonals(
    sums: Float[torch.Tensor, "heads offsets"],
    rows: Float[torch.Tensor, "heads rows keys"],
    share: Float[torch.Tensor, " rows"],
    taken: Bool[np.ndarray, " keys"],
    zero: int,
) -> None:
    """Add a block to its sums by signed offset, without a copy of it.

    In memory, cells of one diagonal lie one row and one cell apart. So a view with rows longer by one cell
    has each diagonal in a column. One product with the shares of the queries sums the columns. Only the two
    triangles of cells at the ends of the rows are masked.

    Args:
        sums: Sums so far; they are changed.
        rows: Attention, contiguous by row.
        share: Factor of each query.
        taken: Keys to add.
        zero: Index in ``sums`` of the first query's offset to the first key.
    """
    runs, size = runs_of(taken), min(GROUP, rows.shape[1])
    if len(runs) > RUNS or any(stop - start < size for start, stop in runs):
        rows = rows * torch.from_numpy(taken.astype(np.float32)).to(rows.device)
        runs = [(0, rows.shape[2])]
    for start, stop in runs:
        _add_run(sums, rows, share, (start, stop), zero)


def runs_of(taken: Bool[np.ndarray, " keys"]) -> Sequence[tuple[int, int]]:
    """Return first and one past the last place of each run of True.

    Example:
        >>> runs_of(np.array([True, True, False, True]))
        [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(taken.astype(np.int8), prepend=0, append=0))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _add_run(
    sums: torch.Tensor, rows: torch.Tensor, share: torch.Tensor, run: tuple[int, int], zero: int
) -> None:
    """Add the keys of one run, in groups of at most ``GROUP`` queries."""
    heads, count, width = rows.shape
    low, high = run
    most = min(GROUP, high - low)
    size = -(-count // -(-count // most))
    groups, left = divmod(count, size)
    if left:
        kept = count - left
        _add_run(sums, rows[:, kept:], share[kept:], run, zero - kept)
    step, origin, inner = rows.stride(0), rows.storage_offset(), high - low - size + 1
    for start in range(0, groups * size, size):
        body = rows.as_strided((heads, size, inner), (step, width + 1, 1), origin + start * width + low)
        own = share[start : start + size].expand(heads, 1, size)
        place = zero - start + low
        sums[:, place : place + inner] += torch.bmm(own, body)[:, 0]
    if size == 1:
        return
    ends = rows.as_strided(
        (heads, groups, 2, size - 1, size),
        (step, size * width, width + 1 - (high - low), width + 1, 1),
        origin + high - size,
    )
    shares = share[: groups * size].view(groups, size)
    weights = torch.stack([shares[:, :-1], shares[:, 1:]], dim=1)[..., None] * _triangles(size, rows.device)
    added = (ends * weights).sum(3).flip(1)
    last = zero - groups * size + 1  # the first column of the triangles is empty
    sums[:, last + high : zero + high] += added[:, :, 0].reshape(heads, -1)[:, 1:]
    sums[:, last + low : zero + low] += added[:, :, 1].reshape(heads, -1)[:, 1:]


@cache
def _triangles(size: int, device: torch.device) -> Float[torch.Tensor, "2 ends size"]:
    """Return the masks of the triangles of cells at the right and at the left end of a group of queries.

    The right triangle has cells of all queries but the last, the left one of all queries but the first.
    """
    cells = np.ones((size - 1, size - 1), dtype=np.float32)
    ends = np.stack([np.triu(cells)[:, ::-1], np.tril(cells)[:, ::-1]])
    return torch.from_numpy(np.pad(ends, ((0, 0), (0, 0), (1, 0)))).to(device)
