"""Pairs of roles: how many heads hold both, resampled over units, beside a dealing within layers."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import hypergeom

from headroles.records.assessment import Together
from headroles.stats.relabel import Grid


def pairs(
    names: Sequence[str],
    observed: Bool[np.ndarray, "roles heads"],
    drawn: Bool[np.ndarray, "roles draws heads"],
    grid: Grid,
    contrasts: str,
) -> list[Together]:
    """Every ordered pair of different roles.

    Intervals are percentiles over labellings of resampled units. Labels of resamples flicker near the
    decision's edge in both directions, so an interval describes the spread of the count, and need not
    be centred on the observed one.

    Args:
        names: The roles.
        observed: Which head holds which, layer after layer.
        drawn: The same under every resample of the units.
        grid: Layers and heads.
        contrasts: "with" or "without" (see ``Together``).
    """
    counted = observed.reshape(len(names), grid.layers, grid.heads).sum(axis=2)
    both_drawn = {
        (one, other): (drawn[one] & drawn[other]).sum(axis=1)
        for one in range(len(names))
        for other in range(one + 1, len(names))
    }
    found = []
    for one, other in permutations(range(len(names)), 2):
        both = int((observed[one] & observed[other]).sum())
        own = int(observed[one].sum())
        resampled = both_drawn[min(one, other), max(one, other)]
        size = drawn[one].sum(axis=1)
        shares = np.divide(resampled, size, out=np.full(size.shape, np.nan), where=size > 0)
        found.append(
            Together(
                names[one], names[other], contrasts, own, int(observed[other].sum()),
                both, *ends(resampled.astype(np.float64)),
                both / own if own else float("nan"), *ends(shares),
                *dealt(counted[one], counted[other], grid.heads),
            )
        )  # fmt: skip
    return found


def ends(values: Float[np.ndarray, " draws"], level: float = 0.95) -> tuple[float, float]:
    """Percentile interval of resampled values; NaN unless at least half of them are known."""
    known = values[~np.isnan(values)]
    if not known.size or known.size < len(values) / 2:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def dealt(first: np.ndarray, second: np.ndarray, heads: int) -> tuple[float, float, float]:
    """Mean, 2.5 % and 97.5 % point of the overlap when labels are dealt at random within each layer.

    Exact: the overlap of one layer is hypergeometric, that of all layers their convolution.

    Args:
        first: Heads of each layer with the first role.
        second: Heads of each layer with the second.
        heads: Heads in a layer.

    Example:
        >>> [round(each, 2) for each in dealt(np.array([2, 0]), np.array([2, 4]), 4)]
        [1.0, 0.0, 2.0]
    """
    chances = np.ones(1)
    for one, other in zip(first, second, strict=True):
        layer = hypergeom.pmf(np.arange(heads + 1), heads, one, other)
        chances = np.convolve(chances, layer[: min(one, other) + 1])
    return float((first * second / heads).sum()), *middle_of(chances)[1:]


def middle_of(chances: Float[np.ndarray, " numbers"]) -> tuple[float, float, float]:
    """Mean, 2.5 % and 97.5 % point of a number of heads.

    Args:
        chances: Of 0, 1, 2, … heads; they add up to 1.

    Example:
        >>> middle_of(np.array([0.25, 0.5, 0.25]))
        (1.0, 0.0, 2.0)
    """
    upto = np.cumsum(chances)
    low, high = (int(np.searchsorted(upto, level * upto[-1])) for level in (0.025, 0.975))
    return float(chances @ np.arange(len(chances))), float(low), float(high)
