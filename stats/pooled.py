"""Means over all cells of the inputs, where units hold unequal numbers: ratios, one number a unit."""

import numpy as np
from jaxtyping import Float, Int


def pooled_units(
    values: Float[np.ndarray, "examples heads"],
    weight: Float[np.ndarray, " examples"],
    units: Int[np.ndarray, " examples"],
) -> Float[np.ndarray, "units heads"]:
    """One number per unit whose plain mean is the mean over all cells, and whose spread is its error.

    With x_d the sum of ``weight × values`` in unit d, n_d the sum of weights, R = Σx / Σn the pooled
    mean and n̄ the mean of n_d over the units that hold any, a unit becomes
    ``R + (x_d − R n_d) / n̄``. The mean of these is R. Their standard error, sd/√D over the D units
    that hold any, is the linearised (Taylor) error of a ratio of sums, which is that of a
    regression on a constant with errors clustered by unit and the small-sample factor D/(D − 1). So
    every test of a mean tests R: under H0: R ≤ θ of the population the numbers have mean θ but for
    terms of order 1/D.

    Estimand: the mean over cells (arcs, mentions), each weighing the same. Unit: the document, or
    whatever the units are. Assumptions: independent units; enough of them for a ratio to be nearly
    normal (with 10 to 15 units intervals are somewhat short, as clustered errors are). Source:
    Cochran (1977), "Sampling techniques", §6.4; Liang and Zeger (1986), Biometrika 73.

    Args:
        values: Mean over the cells of each example, per head; NaN where it holds none.
        weight: Cells of each example, 0 or more; NaN counts as none.
        units: Unit of each example, 0 to U − 1, every number used.

    Returns:
        One number per unit; NaN where a unit holds no cells.

    Example:
        >>> z = pooled_units(np.array([[1.0], [0.5]]), np.array([1.0, 3.0]), np.array([0, 1]))
        >>> z.mean(), z.round(4).ravel().tolist()
        (np.float64(0.625), [0.8125, 0.4375])
    """
    held = ~np.isnan(values) & (np.nan_to_num(weight) > 0)[:, None]
    cells = np.where(held, np.nan_to_num(weight)[:, None], 0.0)
    sums, sizes = (_per_unit(each, units) for each in (cells * np.where(held, values, 0.0), cells))
    holding = sizes > 0
    total = sizes.sum(axis=0)
    known = total > 0
    mean = np.divide(sums.sum(axis=0), total, out=np.full(total.shape, np.nan), where=known)
    size = np.divide(total, holding.sum(axis=0), out=np.full(total.shape, np.nan), where=known)
    made: np.ndarray = mean + (sums - mean * sizes) / size
    made[~holding] = np.nan
    return made


def _per_unit(values: np.ndarray, units: Int[np.ndarray, " examples"]) -> np.ndarray:
    """Sums over the examples of each unit, in the order of the unit numbers."""
    order = np.argsort(units, kind="stable")
    starts = np.searchsorted(units[order], np.arange(int(units.max()) + 1 if units.size else 0))
    sums: np.ndarray = np.add.reduceat(values[order], starts, axis=0)
    return sums
