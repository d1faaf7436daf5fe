"""Share of the heads' spread that lies between groups of heads (PERMANOVA)."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.stats.distances import square

PLACEMENTS = 9999
CELLS = 2**20
"""Cells gathered at once: bounds memory and, being fixed, changes no result."""


def r_squared(mean: Float[np.ndarray, " pairs"], group: Int[np.ndarray, " heads"]) -> float:
    """Sum of squares between groups over the total (Anderson 2001); NaN where all distances are 0.

    Squared distances are mean divergences, so both sums are linear in them.

    Args:
        mean: Mean divergence of every pair of heads.
        group: Group of each head.

    Example:
        >>> r_squared(np.array([0.0, 4.0, 4.0]), np.array([0, 0, 1]))
        1.0
    """
    rows, columns, weights = _inside(group)
    total = float(mean.sum()) / len(group)
    within = float(square(mean)[rows, columns] @ weights)
    return 1.0 - within / total if total > 0 else float("nan")


def permanova(
    mean: Float[np.ndarray, " pairs"],
    group: Int[np.ndarray, " heads"],
    placements: int = PLACEMENTS,
    seed: int = 0,
) -> tuple[float, float]:
    """R² of groups, and how often heads placed in them at random give as much.

    Null: the heads were placed in groups of these sizes at random. Alternative: heads of one group lie
    closer. Unit: the head; heads are all there are of this model, so p describes this model and no other.
    Assumes that groups are not made of the same attention as the distances: where they are, as roles
    are, p is small for random heads too. Under the null R² is (groups − 1) / (heads − 1) on average.

    Args:
        mean: Mean divergence of every pair of heads.
        group: Group of each head.
        placements: Random placements.
        seed: Of the placements.

    Returns:
        R², and p = (1 + placements at least as extreme) / (1 + placements), both NaN where all
        distances are 0.
    """
    observed = r_squared(mean, group)
    if np.isnan(observed):
        return observed, observed
    rows, columns, weights = _inside(group)
    whole, heads = square(mean), len(group)
    limit = float(whole[rows, columns] @ weights) * (1 + 1e-12)
    flat = whole.ravel()
    extreme = 0
    for order in random_orders(heads, placements, max(1, CELLS // max(len(rows), heads)), seed):
        within = flat.take(order[:, rows] * heads + order[:, columns]) @ weights
        extreme += int((within <= limit).sum())
    return observed, (1 + extreme) / (1 + placements)


def of_sets(
    whole: Float[np.ndarray, "heads heads"], held: Bool[np.ndarray, "roles heads"]
) -> Float[np.ndarray, " roles"]:
    """R² of holding each role; NaN below two holders or two others.

    Args:
        whole: Mean divergence of every pair of heads, both halves.
        held: Which heads hold which role.
    """
    within = np.zeros(len(held))
    enough = np.ones(len(held), dtype=bool)
    for member in (held.astype(np.float64), 1.0 - held):
        size = member.sum(axis=1)
        enough &= size >= 2
        within += ((member @ whole) * member).sum(axis=1) / (2 * np.maximum(size, 1))
    total = whole.sum() / (2 * len(whole))
    if not total > 0:
        return np.full(len(held), np.nan)
    return np.where(enough, 1 - within / total, np.nan)


def _inside(group: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of heads within groups, each with one over the size of its group."""
    rows, columns = np.nonzero(np.triu(group[:, None] == group[None, :], 1))
    _, number, size = np.unique(group, return_inverse=True, return_counts=True)
    return rows, columns, 1.0 / size[number[rows]]


def random_orders(items: int, count: int, size: int, seed: int) -> Iterator[np.ndarray]:
    """Yield random orders of some items, ``size`` orders at a time, ``count`` in all."""
    rng = np.random.default_rng(seed)
    for start in range(0, count, size):
        order = np.tile(np.arange(items), (min(size, count - start), 1))
        rng.permuted(order, axis=1, out=order)
        yield order
