"""Roles over layers: trend and thirds, resampled over units, compared with reorderings of whole layers."""

from collections.abc import Sequence
from itertools import permutations
from math import factorial

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.assessment import DEPTH
from headroles.records.layers import Stack
from headroles.records.table import Table
from headroles.stats.assessment.together import percentile_interval, percentile_intervals
from headroles.stats.relabel import Grid

REORDERINGS = 9999


def role_depths(
    names: Sequence[str],
    observed: Bool[np.ndarray, "roles heads"],
    drawn: Bool[np.ndarray, "roles draws heads"],
    grid: Grid,
    seed: int,
    stack: Stack,
) -> Table:
    """Return the trend over relative depth and the shares of the thirds, for every role.

    The reference of a trend permutes whole layers: permuting heads would call 15 to 37 % of mere
    differences between layers a trend. All orders are used when they are at most 9,999.

    Args:
        names: The roles.
        observed: Which head holds which role, layer after layer.
        drawn: The same under every resample of the units.
        grid: Layers and heads.
        seed: Of the reorderings.
        stack: The layers by their positions; depth is that in the whole stack.
    """
    rows, third = [], stack.thirds()
    depth = stack.positions - stack.positions.mean()
    for number, name in enumerate(names):
        counts = observed[number].reshape(grid.layers, grid.heads).sum(axis=1)
        resampled = drawn[number].reshape(-1, grid.layers, grid.heads).sum(axis=2)
        own, many = layer_thirds(counts[None], third)[0], layer_thirds(resampled, third)
        row = {"sieve": name, "heads": counts.sum(), "trend": depth_trend(counts, depth)}
        row["trend_low"], row["trend_high"] = percentile_interval(depth_trend(resampled, depth))
        row["reference"] = _reference(counts, depth, seed)
        ends = percentile_intervals(many.T)
        for part, share, (low, high) in zip(("first", "middle", "last"), own, ends, strict=True):
            row |= {part: share, f"{part}_low": low, f"{part}_high": high}
        rows.append(row)
    return DEPTH.rows(rows)


def depth_trend(counts: np.ndarray, depth: Float[np.ndarray, " layers"]) -> Float[np.ndarray, "*rows"]:
    """Return the correlation of the last axis (layers) with depth; NaN for equal counts or few layers.

    Args:
        counts: Heads with a role; the last axis has layers.
        depth: Depth of each layer, less the mean.
    """
    layers = counts.shape[-1]
    moved = counts - counts.mean(axis=-1, keepdims=True)
    size = np.sqrt((moved**2).sum(axis=-1) * (depth**2).sum())
    product = (moved * depth).sum(axis=-1)
    usable = (size > 1e-12) & (layers >= 3)
    correlation: np.ndarray = np.divide(product, size, out=np.full(np.shape(size), np.nan), where=usable)
    return correlation


def layer_thirds(counts: np.ndarray, third: Int[np.ndarray, " layers"]) -> Float[np.ndarray, "rows 3"]:
    """Return the shares of the first, middle and last third of the stack, row by row.

    Args:
        counts: Heads with a role, one row of layers each.
        third: Third that each layer lies in: 0, 1 or 2.
    """
    sums = np.stack([counts[:, third == number].sum(axis=1) for number in range(3)], axis=1)
    total = counts.sum(axis=1, keepdims=True)
    shares: np.ndarray = np.divide(sums, total, out=np.full(sums.shape, np.nan), where=total > 0)
    return shares


def _reference(counts: np.ndarray, depth: np.ndarray, seed: int) -> float:
    """Return the share of orders of the layers whose trend is at least as strong in either direction.

    It is p of ``scipy.stats.permutation_test`` with the same seed (``permutation_type="pairings"``), without
    the second that the import of ``scipy.stats`` takes. Trends that differ by rounding alone are equal.
    """
    if np.isnan(depth_trend(counts, depth)):
        return float("nan")
    every = factorial(counts.size) <= REORDERINGS
    if every:
        orders = np.array(list(permutations(range(counts.size))))
    else:
        places = np.tile(np.arange(counts.size), (REORDERINGS, 1))
        orders = np.random.default_rng(seed).permuted(places, axis=1)
    strengths = np.abs((counts[orders] * depth).sum(axis=1))
    own = np.abs((counts * depth).sum())
    as_strong = int((strengths >= own - 100 * np.finfo(np.float64).eps * own).sum())
    return as_strong / len(orders) if every else (as_strong + 1) / (len(orders) + 1)
