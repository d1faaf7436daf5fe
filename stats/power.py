"""Power, detectable effects and numbers of units of a study, before or after it is run."""

import math
import warnings
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from jaxtyping import Float, Int
from scipy.special import chdtr, chdtri, digamma, nctdtr, ndtr

from headroles.errors import BadInput, UnknownName
from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.stats.decision import check_effect, check_probability, check_share
from headroles.stats.methods.closed_form import t_quantile_above
from headroles.stats.methods.reliance import UNSEEN

Numbers = float | Float[np.ndarray, "..."]
Counts = int | Int[np.ndarray, "..."]

MOST = 1_000_000_000
"""Most units that are tried."""
FAR = 5e4
"""Non-centrality beyond which the limit of the distribution is used (error under 1e-8)."""
SPREADS = 512
"""Quantiles of the standard deviation of a sample over which power with the guard is averaged."""
HALVINGS = 60
"""Halvings of an interval after which its ends are neighbouring numbers, or both within 1e-18 of 0."""

_EVERY_TEST = "alpha / tests"
_JOINT = "1 − (1 − alpha)^(1 / tests)"
_SHARED = "alpha × share"
ASSUMED: Mapping[str, str] = MappingProxyType(
    {
        "none": "alpha",
        "bonferroni": _EVERY_TEST,
        "holm": _EVERY_TEST,
        "maxT": _EVERY_TEST,
        "sidak": _JOINT,
        "holm-sidak": _JOINT,
        "fdr_bh": _SHARED,
        "fdr_tsbh": _SHARED,
        "fdr_by": _SHARED + " / (1 + 1/2 + … + 1/tests)",
    }
)
"""The level a single unadjusted p must reach, as ``assumed_cut`` takes it, per correction."""


def power_of(effect: Numbers, count: Counts, cut: Numbers, lowest: float = 0.0) -> Float[np.ndarray, "..."]:
    """Return the probability that a one-sided one-sample t test finds an effect.

    Alternative: the mean lies ``effect`` standard deviations above θ. The statistic then has a
    non-central t distribution (n − 1 degrees of freedom, non-centrality effect × √n). Unit: the units
    counted; of dependent examples that is their group. Assumptions: independent units with normal
    scores. Many numbers at once; it is ``statsmodels.stats.power.ttest_power(alternative="larger")`` to
    1e-15, which is NaN beyond ``FAR``, and ``pingouin.power_ttest(contrast="one-sample",
    alternative="greater")``. The
    skewness-corrected test has the same power for normal scores from 30 units on (up to 0.1 less
    under 20), more for right skew and less for left skew: at effect 0.5, 78 units and cut 0.05/144
    it finds 0.97 for a skewness of 1.4 and 0.50 for −1.4, where this returns 0.80. Source: Cohen
    (1988), "Statistical power analysis for the behavioral sciences", ch. 2.

    With ``lowest``, a head must also pass the guard against missing units (``methods.reliance``), at the same
    cut: its mean must lie ``lowest`` × (cut^(−1/n) − 1) beyond θ. Mean and spread of a normal sample are
    independent, so the power is the mean over quantiles of the spread. Below 20 units it is 0.

    Args:
        effect: In standard deviations over units, beyond θ; below θ it is negative.
        count: Units.
        cut: The level that the unadjusted p must reach, between 0 and 1.
        lowest: How far the lowest possible score lies below θ, in standard deviations; 0 for no guard.

    Returns:
        A probability, of the shape that the arguments have together; NaN where one of them is NaN
        and under 2 units.

    Example:
        >>> power_of(0.5, np.array([20, 27, 50]), 0.05).round(2).tolist()
        [0.7, 0.81, 0.97]
    """
    n = np.where(np.asarray(count) > 1, count, np.nan)
    freedom = np.asarray(n - 1)
    critical = t_quantile_above(np.asarray(cut, dtype=np.float64), freedom)
    shift = np.asarray(effect * np.sqrt(n))
    if lowest:
        share = (np.arange(SPREADS) + 0.5) / SPREADS
        spread = np.sqrt(chdtri(freedom[..., None], share) / freedom[..., None])
        asked = lowest * np.maximum(np.expm1(-np.log(cut) / n), UNSEEN / n) * np.sqrt(n)
        needed = np.maximum(critical[..., None] * spread, np.asarray(asked)[..., None])
        found = ndtr(shift[..., None] - needed).mean(axis=-1)
        return np.where(n < FEWEST_UNITS, 0.0, found)
    near = nctdtr(freedom, -np.clip(shift, -FAR, FAR), -critical)  # the other tail, mirrored
    near = np.where(
        np.isnan(near) & (shift < 0) & ~np.isnan(critical), 0.0, near
    )  # scipy has no value near 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        limit = np.where(critical > 0, chdtr(freedom, freedom * (shift / critical) ** 2), 1.0)
    return np.where(shift > FAR, limit, near)


def detectable_effect(
    count: Counts, cut: Numbers, power: float = 0.8, lowest: float = 0.0
) -> Float[np.ndarray, "..."]:
    """Return the smallest effect that is found with the wanted probability.

    The inverse of ``power_of`` in the effect, with its test, unit and assumptions; solved once per
    pair of count and cut. statsmodels' ``TTestPower().solve_power`` is as fast, but its effects are
    off by up to 3e-6, below 0 where the cut alone has the power, and wrong by half for 2 units at a
    cut of 1e-6; so it is not used here.

    Args:
        count: Units.
        cut: The level that the unadjusted p must reach, between 0 and 1.
        power: The wanted probability, between 0 and 1.
        lowest: As in ``power_of``.

    Returns:
        In standard deviations over units, beyond θ, from 0 upwards (0 where the cut alone has that
        power); NaN under 2 units (20 with the guard) and where the cut is NaN.

    Example:
        >>> detectable_effect(np.array([1, 20, 100, 500]), 0.05 / 144).round(2).tolist()
        [nan, 1.12, 0.44, 0.19]
    """
    check_probability("power", power)
    wide = np.broadcast_arrays(np.asarray(count, dtype=np.float64), np.asarray(cut, dtype=np.float64))
    pairs, places = np.unique(np.stack(wide).reshape(2, -1), axis=1, return_inverse=True)
    solved = np.full(pairs.shape[1], np.nan)
    known = (pairs[0] >= (FEWEST_UNITS if lowest else 2)) & ~np.isnan(pairs[1])
    solved[known] = _effects_for(pairs[0, known], pairs[1, known], power, lowest)
    return solved[places.reshape(-1)].reshape(wide[0].shape)


def _effects_for(
    count: Float[np.ndarray, " pairs"], cut: Float[np.ndarray, " pairs"], power: float, lowest: float
) -> Float[np.ndarray, " pairs"]:
    """Return the effects that have a power, by halving an interval that holds each until none is left.

    ``scipy.optimize.brentq`` finds the same numbers one by one, and its import takes longer than all of them.
    """
    units = count.astype(np.int64)
    high = np.ones(count.shape)
    while (short := power_of(high / np.sqrt(count), units, cut, lowest) < power).any():
        high[short] *= 2
    low = np.where(high > 1, high / 2, 0.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        short = power_of(middle / np.sqrt(count), units, cut, lowest) < power
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.where((cut >= power) & (not lowest), 0.0, high / np.sqrt(count))


def required_units(effect: float, cut: float, power: float = 0.8, lowest: float = 0.0) -> int:
    """Return the smallest number of units with which an effect is found with the wanted probability.

    The inverse of ``power_of`` in the count, with its test, unit and assumptions, by statsmodels'
    ``TTestPower``: the number that it solves for is rounded up and held against its power. Where it
    finds none (large effects, which 2 units show) units are doubled and halved instead.

    Args:
        effect: In standard deviations over units, beyond θ; more than 0.
        cut: The level that the unadjusted p must reach, between 0 and 1.
        power: The wanted probability, between 0 and 1.
        lowest: As in ``power_of``.

    Returns:
        At least 2; 20 with the guard.

    Raises:
        BadInput: For numbers out of range, or more than 1,000,000,000 units.

    Example:
        >>> [required_units(0.3, 0.05), *(required_units(0.3, 0.05 / 144, 0.8, low) for low in (0.0, 10.0))]
        [71, 205, 319]
    """
    check_effect(effect)
    check_probability("cut", cut)
    check_probability("power", power)
    few, many = _bracket(effect, cut, power)
    few = 1 if lowest else few
    while not t_test_power(effect, many, cut, lowest) >= power:
        few, many = many, 2 * many
        if few > MOST:
            raise BadInput(
                f"an effect of {effect:g} standard deviations needs at least {MOST:,} units; give a "
                "larger effect"
            )
    while many - few > 1:
        middle = (few + many) // 2
        if t_test_power(effect, middle, cut, lowest) >= power:
            many = middle
        else:
            few = middle
    return many


def _bracket(effect: float, cut: float, power: float) -> tuple[int, int]:
    """Return a number of units that is too small and one that should do, by statsmodels' solver."""
    from statsmodels.stats.power import TTestPower
    from statsmodels.tools.sm_exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it returns NaN then
        units = TTestPower().solve_power(effect_size=effect, alpha=cut, power=power, alternative="larger")
    if not 2 < units <= MOST:
        return 1, 2
    many = math.ceil(units)
    few = many - 1
    return (few, many) if t_test_power(effect, few, cut) < power else (1, many)


def power_of_part(power: float, parts: int = 2) -> float:
    """Return the power that each of several tests needs for all of them to reject with the wanted power.

    A role with a contrast asks for two rejections on the same units (intersection-union). Two independent
    tests of this power, the root of the wanted one, reject together with exactly the wanted power; under
    positive dependence they do so more often (normal statistics, two parts of 0.894 each: 0.80 at
    correlation 0, 0.82 at 0.5, 0.85 at 0.8), so the number of units that follows is cautious. Under
    negative dependence two parts reject together in at least 2 × 0.894 − 1 = 0.79.
    Planning each part at 0.8 instead gives 0.64, 0.69 and 0.73. Source: Šidák (1967), JASA 62(318), 626-633.

    Args:
        power: The wanted probability that all parts reject, between 0 and 1.
        parts: Tests that must all reject, at least 1.

    Returns:
        A probability of at least ``power``.

    Raises:
        BadInput: For numbers out of range.

    Example:
        >>> round(power_of_part(0.8), 3)
        0.894
    """
    check_probability("power", power)
    if parts < 1:
        raise BadInput(f"parts must be a whole number of at least 1, but got {parts}")
    return float(power ** (1 / parts))


def t_test_power(effect: float, count: int, cut: float, lowest: float = 0.0) -> float:
    """Return the power of a one-sided one-sample t test by ``statsmodels.stats.power.TTestPower``.

    Test, unit and assumptions are those of ``power_of``, which stands in beyond ``FAR`` and with the guard.

    Args:
        effect: In standard deviations over units, beyond θ.
        count: Units, at least 2.
        cut: The level that the unadjusted p must reach, between 0 and 1.
        lowest: As in ``power_of``.

    Example:
        >>> round(t_test_power(0.5, 27, 0.05), 2)
        0.81
    """
    from statsmodels.stats.power import TTestPower

    found = float("nan") if lowest else float(TTestPower().power(effect, count, cut, alternative="larger"))
    return float(power_of(effect, count, cut, lowest)) if math.isnan(found) else found


def assumed_cut(correction: str, alpha: float, tests: int, share: float | None = None) -> float:
    """Return the level that a head's unadjusted p must reach to stay significant after correction.

    Exact for ``none``, ``bonferroni`` and ``sidak``. For the others it depends on the other heads,
    so it is an assumption: ``holm`` and ``holm-sidak`` find at least as much as it implies (they gain
    with every head found). ``maxT`` gains from heads that resemble each other, too, but takes the far
    tail from resamples: under 50 units, or with heavy tails, it finds a little less. The false discovery
    rates let a head pass at alpha times the share of heads found, of which ``share`` is
    the planner's guess; ``fdr_tsbh`` finds at least as much as ``fdr_bh``. (A guess of the heads
    that *hold* the role is a little above that: planned with it for power 0.8, 0.78 were found in
    simulations of 144 heads.)

    Args:
        correction: A name of ``ASSUMED``.
        alpha: The level of the correction, between 0 and 1.
        tests: Tests in the family, at least 1.
        share: Of the tests in the family, those that come out significant, above 0 and up to 1;
            None for the cautious case, a single one. Read by the false discovery rates only.

    Returns:
        A level above 0 and at most alpha.

    Raises:
        UnknownName: For a correction that does not exist.
        BadInput: For numbers out of range.

    Example:
        >>> round(assumed_cut("holm", 0.05, 144), 6), round(assumed_cut("fdr_bh", 0.05, 144, 0.1), 6)
        (0.000347, 0.005)
    """
    if correction not in ASSUMED:
        raise UnknownName("correction", correction, ASSUMED)
    check_probability("alpha", alpha)
    if tests < 1:
        raise BadInput(f"tests must be a whole number of at least 1, but got {tests}")
    if share is not None:
        check_share(share)
    if correction == "none":
        return alpha
    if ASSUMED[correction] == _EVERY_TEST:
        return alpha / tests
    if ASSUMED[correction] == _JOINT:
        return float(-np.expm1(np.log1p(-alpha) / tests))
    cut = alpha * max(share or 0.0, 1 / tests)
    return cut if correction != "fdr_by" else cut / harmonic(tests)


def harmonic(tests: int) -> float:
    """Return 1 + 1/2 + … + 1/tests, by which ``fdr_by`` is stricter than ``fdr_bh``.

    Example:
        >>> round(harmonic(144), 4)
        5.5505
    """
    return float(digamma(tests + 1.0) + np.euler_gamma)
