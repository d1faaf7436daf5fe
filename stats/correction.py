"""Adjusted p values over a family of tests; the only place where p meets alpha.

``adjust`` corrects thousands of families at once, the rows of one array, since resamples are corrected as
findings are. Tests and ``verify --oracles`` compare it with statsmodels, whose import takes a second.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from jaxtyping import Bool, Float

Rows = Float[np.ndarray, "rows tests"]
Sizes = Float[np.ndarray, "rows 1"]

TIE = 1e-12
"""Adjusted values this close above alpha, as a part of it, are at alpha: corrections round differently."""


def adjust(
    p: Float[np.ndarray, "*families tests"], correction: str, alpha: float = 0.05
) -> Float[np.ndarray, "*families tests"]:
    """Return the adjusted p values of ``statsmodels.stats.multitest.multipletests``, in its arithmetic.

    Each row along the last axis is one family. NaN (untestable) entries are taken out before the
    correction and put back after it, so they neither count among the tests nor spoil the others. A
    family of one test needs no correction.

    Args:
        p: p values in [0, 1], NaN where nothing could be tested.
        correction: A name of ``CORRECTIONS``. Family-wise error: ``bonferroni``, ``sidak`` (Šidák
            1967), ``holm`` (1979), ``holm-sidak``. The Šidák ones assume independent or positively
            dependent tests. False discovery rate: ``fdr_bh`` (Benjamini and Hochberg 1995),
            ``fdr_by`` (Benjamini and Yekutieli 2001, under any dependence), ``fdr_tsbh`` (two
            stages: Benjamini-Hochberg with the number of true nulls estimated by a first pass at
            alpha, as statsmodels has it; after Benjamini, Krieger and Yekutieli 2006, who take
            alpha/(1 + alpha) there, so that the rate is held nearly, not strictly; for independent
            tests). ``none``.
        alpha: The level of the first pass of ``fdr_tsbh``; no other correction reads it.

    Returns:
        Adjusted values in [0, 1], NaN where p is NaN. Those of ``fdr_tsbh`` hold for this alpha
        alone and can lie below p, even where p is 1: decide by ``significant`` with p.

    Raises:
        KeyError: For a correction that does not exist.

    Example:
        >>> adjust(np.array([0.01, np.nan, 0.02, 0.04]), "holm").tolist()
        [0.03, nan, 0.04, 0.04]
    """
    if correction not in _CORRECTED:
        raise KeyError(correction)
    given = np.asarray(p, dtype=np.float64)
    if not given.size:
        return given.copy()
    rows = given.reshape(-1, given.shape[-1])
    order = np.argsort(rows, axis=1, kind="stable")
    ascending = np.take_along_axis(rows, order, axis=1)  # NaN comes last
    sizes = (~np.isnan(rows)).sum(axis=1, keepdims=True).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):  # Šidák's take the logarithm of 0 where p is 1
        found = _CORRECTED[correction](ascending, sizes, alpha)
    least = 0.0 if correction == "fdr_tsbh" else ascending  # rounding may leave others just below p
    adjusted = np.empty_like(rows)
    np.put_along_axis(adjusted, order, np.where(sizes > 1, np.maximum(found, least), ascending), axis=1)
    return adjusted.reshape(given.shape)


def significant(
    adjusted: Float[np.ndarray, "*shape"], alpha: float, p: Float[np.ndarray, "*shape"] | None = None
) -> Bool[np.ndarray, "*shape"]:
    """Return whether an adjusted p value is at most alpha; NaN is not.

    Values above alpha by no more than rounding (``TIE``) count as alpha, so that a tie is decided alike
    by every way to compute it. Ties occur where p are exact fractions, as those of resampling are.

    Args:
        adjusted: As ``adjust`` returns them.
        alpha: The level.
        p: The unadjusted values. They must be at most alpha, too, which every correction but
            ``fdr_tsbh`` implies.
    """
    decided: np.ndarray = ~np.isnan(adjusted) & (adjusted <= alpha * (1 + TIE))
    if p is not None:
        decided &= p <= alpha
    return decided


def _ranks(p: Rows) -> Float[np.ndarray, "1 tests"]:
    return np.arange(1.0, p.shape[1] + 1)[None]


def _rising(p: Rows) -> Rows:
    """Step down: no adjusted value lies below that of a smaller p; NaN stays (it comes last)."""
    risen: np.ndarray = np.minimum(np.maximum.accumulate(p, axis=1), 1.0)
    return risen


def _falling(p: Rows) -> Rows:
    """Step up: no adjusted value lies above that of a larger p."""
    filled = np.where(np.isnan(p), np.inf, p)
    lowest = np.minimum.accumulate(filled[:, ::-1], axis=1)[:, ::-1]
    return np.where(np.isnan(p), np.nan, np.minimum(lowest, 1.0))


def _at_least_one(p: Rows, tests: Float[np.ndarray, "rows #tests"]) -> Rows:
    """P of a p at most this small among so many independent tests."""
    joint: np.ndarray = -np.expm1(tests * np.log1p(-p))
    return joint


def _none(p: Rows, sizes: Sizes, alpha: float) -> Rows:
    return p


def _bonferroni(p: Rows, sizes: Sizes, alpha: float) -> Rows:
    at_most: np.ndarray = np.minimum(p * sizes, 1.0)
    return at_most


def _sidak(p: Rows, sizes: Sizes, alpha: float) -> Rows:
    return _at_least_one(p, sizes)


def _holm(p: Rows, sizes: Sizes, alpha: float) -> Rows:
    return _rising(p * (sizes - _ranks(p) + 1))


def _holm_sidak(p: Rows, sizes: Sizes, alpha: float) -> Rows:
    return _rising(_at_least_one(p, np.maximum(sizes - _ranks(p) + 1, 1)))


def _benjamini_hochberg(p: Rows, sizes: Sizes, alpha: float) -> Rows:
    return _falling(p / (_ranks(p) / sizes))


def _benjamini_yekutieli(p: Rows, sizes: Sizes, alpha: float) -> Rows:
    harmonic = np.ones_like(sizes)
    for size in np.unique(sizes):
        harmonic[sizes == size] = np.sum(1.0 / np.arange(1, size + 1))
    return _falling(p / (_ranks(p) / sizes / harmonic))


def _two_stage(p: Rows, sizes: Sizes, alpha: float) -> Rows:
    once = _benjamini_hochberg(p, sizes, alpha)
    passes = p <= _ranks(p) / sizes * alpha
    found = np.where(passes, _ranks(p), 0.0).max(axis=1, keepdims=True)
    split = (found > 0) & (found < sizes)
    with np.errstate(invalid="ignore"):
        left = np.where(split, (sizes - found) / sizes, 1.0)
    return once * left


_CORRECTED: Mapping[str, Callable[[Rows, Sizes, float], Rows]] = MappingProxyType(
    {
        "fdr_bh": _benjamini_hochberg,
        "fdr_by": _benjamini_yekutieli,
        "fdr_tsbh": _two_stage,
        "holm": _holm,
        "holm-sidak": _holm_sidak,
        "bonferroni": _bonferroni,
        "sidak": _sidak,
        "none": _none,
    }
)
