"""Partial conjunction: a head has a role in at least u of k runs.

Source: Benjamini and Heller (2008), "Screening for partial conjunction hypotheses", Biometrics 64, 1215-1222.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from headroles.stats.correction import adjust, significant

Sorted = Float[np.ndarray, "runs tests"]


def partial_conjunction_p(
    p: Float[np.ndarray, "runs tests"], at_least: int, combination: str
) -> Float[np.ndarray, " tests"]:
    """Return p of "fewer than u of the k runs have the effect", test by test.

    Null: the effect is there in at most u − 1 of the runs in which it was tested. Alternative: in at least u
    of them. Unit: a run, whose own p comes from its own units. With k tested runs and p sorted upwards:

    * ``bonferroni``: (k − u + 1) p_(u), whatever the dependence between runs.
    * ``simes``: min over i ≥ u of (k − u + 1) p_(i) / (i − u + 1), for independent or positively dependent
      runs.
    * ``fisher``: the p of −2 Σ ln p_(i), i ≥ u, as χ² with 2 (k − u + 1) degrees of freedom, for independent
      runs.

    Args:
        p: One row per run, in [0, 1]; NaN where a run could not test.
        at_least: u, at least 1.
        combination: Name of the combination.

    Returns:
        In [0, 1]; NaN where fewer than u runs could test.

    Raises:
        KeyError: For a combination that does not exist.

    Example:
        >>> p = np.array([[0.01], [0.02], [0.5]])
        >>> [round(float(partial_conjunction_p(p, u, "bonferroni")[0]), 3) for u in (1, 2, 3)]
        [0.03, 0.04, 0.5]
    """
    order = np.sort(p, axis=0)
    known = (~np.isnan(p)).sum(axis=0)
    spare = known - at_least + 1
    found = np.full(p.shape[1], np.nan)
    for size in np.unique(spare[spare > 0]):
        tests = spare == size
        largest = order[at_least - 1 : at_least - 1 + size, tests]
        found[tests] = np.minimum(COMBINATIONS[combination](largest), 1.0)
    return found


def _bonferroni(largest: Sorted) -> Float[np.ndarray, " tests"]:
    """Return the smallest of the p that are left, times their number."""
    found: np.ndarray = len(largest) * largest[0]
    return found


def _simes(largest: Sorted) -> Float[np.ndarray, " tests"]:
    """Return the p of Simes (1986) of the p that are left."""
    ranks = np.arange(1, len(largest) + 1)[:, None]
    found: np.ndarray = (len(largest) * largest / ranks).min(axis=0)
    return found


def _fisher(largest: Sorted) -> Float[np.ndarray, " tests"]:
    """Return the p of Fisher (1932) of the p that are left."""
    with np.errstate(divide="ignore"):
        total = -2 * np.log(largest).sum(axis=0)
    found: np.ndarray = stats.chi2.sf(total, 2 * len(largest))
    return found


COMBINATIONS: Mapping[str, Callable[[Sorted], Float[np.ndarray, " tests"]]] = MappingProxyType(
    {"bonferroni": _bonferroni, "simes": _simes, "fisher": _fisher}
)
"""Combinations of the p that are left after the u − 1 smallest."""


@dataclass(frozen=True, slots=True, eq=False)
class Conjunctions:
    """The tests of "in at least u of k runs" for every u.

    Attributes:
        p: Row u − 1 for u, in [0, 1]; NaN where fewer than u runs could test the head.
        q: The same p, adjusted over the heads.
        at_least: The largest u that holds, per head; 0 for none.
    """

    p: Float[np.ndarray, "runs heads"]
    q: Float[np.ndarray, "runs heads"]
    at_least: Int[np.ndarray, " heads"]


def conjunctions(
    p: Float[np.ndarray, "runs heads"], combination: str, correction: str, alpha: float
) -> Conjunctions:
    """Return p and adjusted p of "in at least u of k runs" for every u, and the largest u that holds.

    Family: the heads of one role, at each u by itself. So at most alpha of the heads said to have the role in
    at least u runs are false, for each u (false discovery rate, where the correction controls it). "At least
    u" implies "at least u − 1": a head counts for u only if it counts for all smaller u.

    Args:
        p: One row per run; NaN where a run could not test a head.
        combination: As in ``partial_conjunction_p``.
        correction: A name of ``stats.correction``.
        alpha: Level of every family.

    Example:
        >>> p = np.array([[0.001, 0.6], [0.002, 0.01]])
        >>> conjunctions(p, "bonferroni", "fdr_bh", 0.05).at_least.tolist()
        [2, 1]
    """
    each = np.stack([partial_conjunction_p(p, u, combination) for u in range(1, len(p) + 1)])
    q = adjust(each, correction, alpha)
    holds = np.logical_and.accumulate(significant(q, alpha, each), axis=0)
    return Conjunctions(each, q, holds.sum(axis=0))
