"""Replicability of two runs in both directions: r values.

Source: Bogomolov and Heller (2018), "Assessing replicability of findings across two studies of multiple
features", Biometrika 105, 505-516.
"""

import numpy as np
from jaxtyping import Bool, Float


def replicability_r(
    first: Float[np.ndarray, " heads"],
    second: Float[np.ndarray, " heads"],
    alpha: float = 0.05,
    *,
    independent: bool = True,
    share: float = 0.5,
) -> Float[np.ndarray, " heads"]:
    """Return r values: the smallest level at which a head is said to have the role in both populations.

    Null per head: the role is missing in at least one of the two populations. Alternative: it is in both.
    Unit: that of each run. Assumptions: the two runs have independent inputs; p of one run are independent
    or positively dependent, else ``independent=False`` multiplies by the harmonic sum. At most alpha of the
    heads with r ≤ alpha are false (false discovery rate).

    Each run selects the heads with p at most its share of alpha. Heads that both selected have Z = max(S₂ p₁
    / w, S₁ p₂ / (1 − w)), where S₁ and S₂ are the numbers of selected heads. r is the smallest of Z_i /
    rank(Z_i) over all Z_i ≥ Z.

    Args:
        first: p of run A, before any correction; NaN where it could not test.
        second: p of run B.
        alpha: Level at which heads are selected; r values are meant to be compared with it.
        independent: Whether p within a run are independent or positively dependent.
        share: w, the part of alpha that the selection in A spends, in (0, 1).

    Returns:
        In [0, 1]; 1 for heads that not both runs selected; NaN where not both could test.

    Example:
        >>> p = np.array([0.001, 0.004, 0.6]), np.array([0.002, 0.3, 0.5])
        >>> [round(float(r), 3) for r in replicability_r(*p)]
        [0.008, 1.0, 1.0]
    """
    chosen_a, chosen_b = first <= share * alpha, second <= (1 - share) * alpha
    both: Bool[np.ndarray, " heads"] = chosen_a & chosen_b
    found = np.where(np.isnan(first) | np.isnan(second), np.nan, 1.0)
    if not both.any():
        return found
    counts = chosen_a.sum(), chosen_b.sum()
    if not independent:
        counts = tuple(count * (1 / np.arange(1, count + 1)).sum() for count in counts)
    z = np.maximum(counts[1] * first[both] / share, counts[0] * second[both] / (1 - share))
    order = np.argsort(z, kind="stable")
    stepped = z[order] / np.arange(1, len(z) + 1)
    lowest = np.minimum.accumulate(stepped[::-1])[::-1]
    values = np.empty(len(z))
    values[order] = np.minimum(lowest, 1.0)
    found[both] = values
    return found
