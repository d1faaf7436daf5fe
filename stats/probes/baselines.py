"""Baselines of probes: the one that heads are compared with, chosen on other data, and accuracies of all."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from headroles.errors import BadInput
from headroles.records.probes import BASELINES, BaselineCounts
from headroles.records.table import Table
from headroles.stats.columns import unit_numbers
from headroles.stats.draws import random_halves
from headroles.stats.methods.closed_form import student
from headroles.stats.moments import describe
from headroles.stats.pooled import pooled_unit_values


def selection_half(units: Sequence[str], seed: int) -> Bool[np.ndarray, " examples"]:
    """Return whether each example's unit is in the half that choices are made on; the rest is tested.

    Units are split at random into two halves; of an odd number the last one is tested.

    Raises:
        BadInput: For fewer than four units: each half needs two.
    """
    check_halves(units)
    numbers = unit_numbers(units)
    total = int(numbers.max(initial=-1)) + 1
    chosen: np.ndarray = (random_halves(total, 1, seed)[0] == 1)[numbers]
    return chosen


def check_halves(units: Sequence[str]) -> None:
    """Refuse units that are too few to choose on one half of them and test on the other.

    Raises:
        BadInput: For fewer than four: each half needs two.
    """
    total = len(set(units))
    if total < 4:
        raise BadInput(
            f"the best head is chosen on one half of the units and tested on the other, which takes at "
            f"least 4 units, but got {total}; give more documents"
        )


def cross_fitted_baselines(
    tallies: BaselineCounts, chosen: Bool[np.ndarray, " examples"]
) -> Float[np.ndarray, "rows examples"]:
    """Return the share of right answers of the baseline that heads are compared with, per row and example.

    For examples of one half it is the rival that is best on the other half, so that no baseline is
    chosen on the answers it is scored on.

    Args:
        tallies: Of the baselines.
        chosen: The half of each example (``selection_half``).

    Returns:
        From 0 to 1; NaN without items.
    """
    null = np.full(tallies.items.shape, np.nan)
    for row in range(len(tallies.rows)):
        for half in (chosen, ~chosen):
            best = best_rival(tallies, row, ~half)
            if best is not None:
                items = tallies.items[row, half]
                hits = tallies.hits[row, half, best]
                null[row, half] = np.divide(hits, items, out=np.full(items.shape, np.nan), where=items > 0)
    return null


def best_rival(tallies: BaselineCounts, row: int, where: Bool[np.ndarray, " examples"]) -> int | None:
    """Return the position of the rival with the most right answers there; None without items."""
    if not tallies.items[row, where].sum() or not tallies.rivals[row]:
        return None
    rivals = np.array(tallies.rivals[row])
    return int(rivals[tallies.hits[row][where][:, rivals].sum(axis=0).argmax()])


def baseline_rows(tallies: BaselineCounts, units: Sequence[str]) -> Table:
    """Return how often every baseline of every row is right, over all units, with a clustered t interval."""
    numbers, made = unit_numbers(units), []
    for row, name in enumerate(tallies.rows):
        known = [k for k in range(len(tallies.baselines)) if (tallies.hits[row, :, k] >= 0).all()]
        items = tallies.items[row].astype(np.float64)
        shares = np.full((len(items), len(known)), np.nan)
        np.divide(tallies.hits[row][:, known], items[:, None], out=shares, where=items[:, None] > 0)
        sample = describe(pooled_unit_values(shares, items, numbers))
        interval = student(sample, 0.0)
        for k, baseline in enumerate(known):
            made.append(
                {
                    "row": name,
                    "baseline": tallies.baselines[baseline],
                    "items": int(items.sum()),
                    "units": int(sample.count[k]),
                    "accuracy": float(sample.mean[k]),
                    "low": within_0_and_1(float(interval.low[k])),
                    "high": within_0_and_1(float(interval.high[k])),
                }
            )
    return BASELINES.rows(made)


def within_0_and_1(value: float) -> float:
    """Return an end of the interval of a share; the test's own may reach a little beyond 0 and 1."""
    return float(np.clip(value, 0.0, 1.0))
