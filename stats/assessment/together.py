"""Heads that hold several roles: pairs of roles, and exact sets of roles.

Pairs have intervals over resampled units. Both have a reference in which labels are assigned at random within
each layer.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from math import comb

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.assessment import SETS, TOGETHER
from headroles.records.table import Table
from headroles.stats.relabel import Grid

OUTER = ((1 - 0.95) / 2, (1 + 0.95) / 2)
"""Shares of draws below the ends of an interval."""


def role_pairs(
    names: Sequence[str],
    observed: Bool[np.ndarray, "roles heads"],
    drawn: Bool[np.ndarray, "roles draws heads"],
    grid: Grid,
    contrasts: str,
) -> Table:
    """Return every ordered pair of different roles.

    Intervals are percentiles over labellings of resampled units. Labels of resamples flicker near the
    decision's edge in both directions, so an interval describes the spread of the count, and need not
    be centred on the observed one.

    Args:
        names: The roles.
        observed: Which head holds which role, layer after layer.
        drawn: The same under every resample of the units.
        grid: Layers and heads.
        contrasts: "with" or "without" (see ``TOGETHER``).
    """
    counted = observed.reshape(len(names), grid.layers, grid.heads).sum(axis=2)
    rows = []
    for one, resampled in enumerate(_drawn_overlaps(drawn)):
        own, size = int(observed[one].sum()), drawn[one].sum(axis=1)
        shares = np.divide(resampled, size, out=np.full(resampled.shape, np.nan), where=size > 0)
        ends = zip(percentile_intervals(resampled), percentile_intervals(shares), strict=True)
        for other, ((low, high), (share_low, share_high)) in enumerate(ends):
            if other == one:
                continue
            both = int((observed[one] & observed[other]).sum())
            expected, least, most = random_overlap(counted[one], counted[other], grid.heads)
            rows.append({
                "first": names[one], "second": names[other], "contrasts": contrasts,
                "heads_first": own, "heads_second": observed[other].sum(),
                "both": both, "both_low": low, "both_high": high,
                "share": both / own if own else np.nan, "share_low": share_low, "share_high": share_high,
                "expected": expected, "expected_low": least, "expected_high": most,
            })  # fmt: skip
    return TOGETHER.rows(rows)


def _drawn_overlaps(
    drawn: Bool[np.ndarray, "roles draws heads"],
) -> Iterator[Float[np.ndarray, "roles draws"]]:
    """Yield, role after role, the number of heads that hold it and each role, under every draw."""
    for role in drawn:
        yield (drawn & role).sum(axis=2).astype(np.float64)


def percentile_interval(values: Float[np.ndarray, " draws"]) -> tuple[float, float]:
    """Return the percentile interval of resampled values, as ``percentile_intervals``."""
    (ends,) = percentile_intervals(values[None])
    return ends


def percentile_intervals(values: Float[np.ndarray, "rows draws"]) -> list[tuple[float, float]]:
    """Return the 95 % percentile interval of every row of resampled values.

    Args:
        values: NaN where a draw has no value.

    Returns:
        Lower and upper ends; NaN unless at least half of the values of a row are known.

    Example:
        >>> percentile_intervals(np.array([[1.0, 1.0, np.nan], [1.0, np.nan, np.nan]]))
        [(1.0, 1.0), (nan, nan)]
    """
    known = ~np.isnan(values)
    ends = np.full((len(values), 2), np.nan)
    whole = known.all(axis=1) & (values.shape[1] > 0)
    if whole.any():
        ends[whole] = np.quantile(values[whole], OUTER, axis=1).T
    for row in np.flatnonzero(~whole & (known.sum(axis=1) >= max(values.shape[1] / 2, 1))):
        ends[row] = np.quantile(values[row, known[row]], OUTER)
    return [(float(low), float(high)) for low, high in ends]


def random_overlap(first: np.ndarray, second: np.ndarray, heads: int) -> tuple[float, float, float]:
    """Return mean, 2.5 % and 97.5 % point of the overlap of labels assigned at random within each layer.

    Exact: the overlap of one layer is hypergeometric, that of all layers their convolution.

    Args:
        first: Heads of each layer with the first role.
        second: Heads of each layer with the second.
        heads: Heads in a layer.

    Example:
        >>> [round(number, 2) for number in random_overlap(np.array([2, 0]), np.array([2, 4]), 4)]
        [1.0, 0.0, 2.0]
    """
    chances = np.ones(1)
    for one, other in zip(first.tolist(), second.tolist(), strict=True):
        if one and other:
            chances = np.convolve(chances, overlap_chances(heads, one, other)[: min(one, other) + 1])
    return float((first * second / heads).sum()), *mean_and_range(chances)[1:]


@cache
def overlap_chances(heads: int, first: int, second: int) -> Float[np.ndarray, " heads_and_none"]:
    """Return the chance that two random sets of heads share 0, 1, 2, … heads (hypergeometric).

    Args:
        heads: Heads to choose from.
        first: Heads in one set.
        second: Heads in the other.

    Example:
        >>> overlap_chances(4, 2, 2).round(3).tolist()
        [0.167, 0.667, 0.167, 0.0, 0.0]
    """
    ways = [
        comb(first, both) * comb(heads - first, second - both) if both <= second else 0
        for both in range(heads + 1)
    ]
    chances = np.array([way / comb(heads, second) for way in ways])
    chances.flags.writeable = False
    return chances


def mean_and_range(chances: Float[np.ndarray, " numbers"]) -> tuple[float, float, float]:
    """Return mean, 2.5 % and 97.5 % point of a number of heads.

    Args:
        chances: Of 0, 1, 2, … heads; they add up to 1.

    Example:
        >>> mean_and_range(np.array([0.25, 0.5, 0.25]))
        (1.0, 0.0, 2.0)
    """
    upto = np.cumsum(chances)
    low, high = (int(np.searchsorted(upto, level * upto[-1])) for level in (0.025, 0.975))
    return float(chances @ np.arange(len(chances))), float(low), float(high)


NEGLIGIBLE = 1e-15
"""Chances of more heads of a layer that are left out."""


def role_sets(names: Sequence[str], held: Bool[np.ndarray, "roles heads"], grid: Grid) -> Table:
    """Return every set of roles that some head holds exactly, by falling frequency, then by roles.

    The reference assigns the labels of every role at random within each layer, independently of other roles.
    A description: heads are no sample, and roles that ask for a part of one another (such as
    ``delimiter`` and ``delimiter:cls``) occur together more often than at random.

    Args:
        names: The roles.
        held: Which head holds which, layer after layer.
        grid: Layers and heads.

    Returns:
        Observed and expected numbers of heads; heads without any role are in no set.

    Example:
        >>> held = np.array([[True, True, False, False], [True, False, False, False]])
        >>> [(row.roles, row.heads, row.expected) for row in role_sets(("a", "b"), held, Grid(1, 4))]
        [('a', 1, 1.5), ('a;b', 1, 0.5)]
    """
    columns = held.T[held.any(axis=0)]
    if not len(columns):
        return SETS
    kinds, counts = np.unique(columns, axis=0, return_counts=True)
    places = [tuple(np.flatnonzero(kind).tolist()) for kind in kinds]
    chances = _set_chances(kinds, held.reshape(len(names), grid.layers, grid.heads).sum(axis=2), grid.heads)
    order = sorted(range(len(kinds)), key=lambda number: (-int(counts[number]), places[number]))
    expected, low, high = zip(*(mean_and_range(chances[number]) for number in order), strict=True)
    return SETS.of(
        roles=[";".join(names[place] for place in places[number]) for number in order], heads=counts[order],
        expected=expected, expected_low=low, expected_high=high,
    )  # fmt: skip


def _set_chances(
    kinds: Bool[np.ndarray, "sets roles"], counted: Int[np.ndarray, "roles layers"], heads: int
) -> list[Float[np.ndarray, " heads_and_none"]]:
    """Return, per set, the chance of every number of heads.

    Exact: of m heads of a layer that match the set so far, the number that gets the next role at random
    is hypergeometric; layers are then convolved.
    """
    state = np.zeros((counted.shape[1], len(kinds), heads + 1))
    state[:, :, heads] = 1.0
    tables = {count: _label_chances(int(count), heads) for count in np.unique(counted).tolist()}
    for role, layers in enumerate(counted):
        given = np.stack([tables[count] for count in layers.tolist()])
        asked = kinds[:, role]
        without = np.zeros_like(given)
        for left in range(heads + 1):
            without[:, left, : left + 1] = given[:, left, left::-1]
        state[:, asked] = state[:, asked] @ given
        state[:, ~asked] = state[:, ~asked] @ without
    found = []
    for number in range(len(kinds)):
        chances = np.ones(1)
        for layer in state[:, number]:
            chances = np.convolve(chances, layer[: np.flatnonzero(layer > NEGLIGIBLE)[-1] + 1])
        found.append(chances / chances.sum())
    return found


def _label_chances(count: int, heads: int) -> Float[np.ndarray, "before after"]:
    """Return the chance that ``count`` of ``heads`` labels fall on so many of the first heads."""
    return np.stack([overlap_chances(heads, count, before) for before in range(heads + 1)])
