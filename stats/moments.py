"""Means, spreads and skewness over units, and groups of columns that are known for the same units."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from math import prod

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Moments of one column of scores over units, one entry per head.

    Attributes:
        count: Units with a score.
        mean: Mean over units.
        sd: Standard deviation over units with ``n − 1``; NaN below two units.
        skew: Sample skewness, third central moment over the 1.5th power of the second, both
            divided by ``n`` (``scipy.stats.skew``); 0 without spread.
    """

    count: Int[np.ndarray, "*shape"]
    mean: Float[np.ndarray, "*shape"]
    sd: Float[np.ndarray, "*shape"]
    skew: Float[np.ndarray, "*shape"]

    def at(self, places: Bool[np.ndarray, "*grid"]) -> "Sample":
        """Return the moments at some places of a grid, one after the other.

        Args:
            places: True where moments are taken. Moments that lack an axis of the grid are repeated along it.

        Example:
            >>> sample = Sample(np.array([8, 9]), np.array([0.1, 0.2]), np.ones(2), np.zeros(2))
            >>> sample.at(np.array([[True, False], [True, True]])).count.tolist()
            [8, 8, 9]
        """
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return Sample(**{name: np.broadcast_to(part, places.shape)[places] for name, part in parts.items()})


def unit_means(
    values: Float[np.ndarray, "examples *shape"], units: Int[np.ndarray, " examples"]
) -> Float[np.ndarray, "units *shape"]:
    """Return the mean of the examples of each unit, NaN examples left out; a unit of NaN only is NaN.

    Args:
        values: One score per example and head.
        units: Unit number of each example, 0 to U − 1, every number used.

    Returns:
        One mean per unit, in the order of the unit numbers.
    """
    total = int(units.max()) + 1 if units.size else 0
    if total == len(values):
        ordered: np.ndarray = np.empty(values.shape, dtype=np.float64)
        ordered[units] = values
        return ordered
    missing = np.isnan(values).reshape(len(values), prod(values.shape[1:]))
    silent = missing.all(axis=1)
    if np.array_equal(missing.any(axis=1), silent):  # an example has a score of every head, or of none
        spoken = ~silent
        units = units[spoken]
        count = np.bincount(units, minlength=total).reshape(total, *(1,) * (values.ndim - 1))
        sums = unit_sums(values[spoken], units, total)
    else:
        missing = missing.reshape(values.shape)
        count, sums = unit_sums(~missing, units), unit_sums(np.where(missing, 0.0, values), units)
    means: np.ndarray = np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)
    return means


def unit_sums(
    values: Shaped[np.ndarray, "examples *shape"],
    units: Int[np.ndarray, " examples"],
    total: int | None = None,
) -> Float[np.ndarray, "units *shape"]:
    """Return the sum of the examples of each unit, in the order of the unit numbers; 0 for one without any.

    Args:
        values: One number per example and head, without NaN.
        units: Unit number of each example, from 0.
        total: Number of units; None for one more than the largest number.

    Example:
        >>> unit_sums(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 0])).tolist()
        [[5.0], [2.0]]
    """
    examples = len(units)
    if total is None:
        total = int(units.max()) + 1 if units.size else 0
    members = csr_array((np.ones(examples), (units, np.arange(examples))), shape=(total, examples))
    sums: np.ndarray = members @ values.reshape(examples, prod(values.shape[1:]))
    return sums.reshape(total, *values.shape[1:])


def describe(values: Float[np.ndarray, "units *shape"], *, shape: bool = True) -> Sample:
    """Return count, mean, standard deviation and skewness over the first axis, NaN left out.

    Args:
        values: One number per unit and head.
        shape: Whether skewness is computed, which takes a third of the time; else it is NaN.

    Example:
        >>> sample = describe(np.array([[1.0], [2.0], [6.0], [np.nan]]))
        >>> int(sample.count[0]), float(sample.mean[0]), round(float(sample.sd[0]), 4)
        (3, 3.0, 2.6458)
    """
    present = ~np.isnan(values)
    whole = bool(present.all())
    count = present.sum(axis=0)
    safe = np.maximum(count, 1)
    mean = (values if whole else np.where(present, values, 0.0)).sum(axis=0) / safe
    deviation = values - mean
    if not whole:
        deviation[~present] = 0.0
    square = deviation * deviation
    second = square.sum(axis=0) / safe
    sd = np.where(count > 1, np.sqrt(second * safe / np.maximum(count - 1, 1)), np.nan)
    mean = np.where(count > 0, mean, np.nan)
    if not shape:
        return Sample(count=count, mean=mean, sd=sd, skew=np.full_like(second, np.nan))
    third = np.multiply(square, deviation, out=square).sum(axis=0) / safe
    skew = np.divide(third, second**1.5, out=np.zeros_like(second), where=second > 1e-30)
    return Sample(count=count, mean=mean, sd=sd, skew=skew)


def sample_from_sums(
    count: Float[np.ndarray, "*#shape"],
    sums: Sequence[Float[np.ndarray, "*shape"]],
    centre: Float[np.ndarray, "*#shape"],
) -> Sample:
    """Return the moments of weighted values from their first three power sums.

    Args:
        count: Sum of the weights, which are whole numbers.
        sums: Weighted sums of ``values − centre``, its square and its cube.
        centre: Subtracted from the values before, near the mean so that nothing cancels.

    Returns:
        As ``describe`` of the values, each repeated as often as it weighs.
    """
    safe = np.maximum(count, 1.0)
    first, second, third = (power / safe for power in sums)
    first_squared = first * first  # by products: numpy is slow to raise negative numbers to a power
    square = second - first_squared
    square[square <= 1e-12 * second] = 0.0  # all weight on equal values: rounding is left
    cube = third - 3 * first * second + 2 * first_squared * first
    sd = np.where(count > 1, np.sqrt(square * safe / np.maximum(count - 1, 1)), np.nan)
    skew = np.divide(cube, square**1.5, out=np.zeros_like(square), where=square > 1e-30)
    mean = np.where(count > 0, first + centre, np.nan)
    whole = np.broadcast_to(np.rint(count).astype(np.int64), mean.shape)
    return Sample(count=whole, mean=mean, sd=sd, skew=skew)


def complete_columns(
    values: Float[np.ndarray, "units columns"],
) -> Iterator[tuple[Bool[np.ndarray, " units"], Int[np.ndarray, " some"]]]:
    """Yield groups of columns with the same units present: those units, and the places of the columns.

    Columns with fewer than two units are left out.
    """
    present = ~np.isnan(values)
    if present.all():
        patterns, group = np.ones((len(values), 1), dtype=np.bool_), np.zeros(values.shape[1], dtype=int)
    else:
        patterns, group = np.unique(present, axis=1, return_inverse=True)
    for number, units in enumerate(patterns.T):
        columns = np.flatnonzero(group.reshape(-1) == number)
        if units.sum() >= 2 and columns.size:
            yield units, columns
