"""One finding at a time: its values over units, its test, and its Bayes factor, by other libraries.

Nothing here calls the engine. Every number comes from a library's function for one sample or, where no
library has it, from its formula written out for one finding.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, fsum, isnan, log, log1p, nan, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from headroles.records.example import Scores
from headroles.records.moments import Moments
from headroles.records.rules.rule import Decision, Rule

if TYPE_CHECKING:
    from collections.abc import Callable

SPREAD = 1e-6
"""Standard deviations up to here, times the mean where that exceeds 1, are no spread."""
INTEGRAL = 1e-4
"""Least integral over g for which ``pingouin.bayesfactor_ttest`` holds; its tolerance is absolute."""
LARGEST = log(np.finfo(np.float64).max)
"""Logarithm of the largest float; Bayes factors beyond it are inf."""
EXACT_RANKS = 50
"""Units up to which signed ranks have their exact distribution, where nothing is tied."""
HALL = "scipy.stats ttest_1samp, skew, t + Hall 1992"
MARKOV = "Markov's bound of constant scores"
CAPITAL = "Waudby-Smith and Ramdas 2024, in sums of math.fsum"
SOLVED = "scipy.optimize.brentq of its capital"
BETS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
FEW = "NaN below 2 units"
T_TEST = "scipy.stats.ttest_1samp"


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The values that one finding rests on.

    Attributes:
        values: Score minus null of each unit (or random group) that has one.
        level: Mean chance value, which is added to means and their intervals.
        low: Smallest value possible; NaN where unknown.
        high: Largest value possible.
        sd: Standard deviation of what is counted: units, or all examples where sums were kept.
        flat: Whether scores have no spread beyond rounding.
        stated: Smallest and largest value that can occur, stated before any data; NaN where none are.
        worst: Smallest and largest value of a further unit: possible ones, or of any unit where unknown.
        counted: Number of what is counted: units, or all examples where sums were kept.
        informative: Number of units, or of groups of equal weight that say as much as these groups.
        bounded: Whether the largest possible value is known.
    """

    values: Float[np.ndarray, " units"]
    level: float
    low: float
    high: float
    sd: float
    flat: bool
    stated: tuple[float, float] = (nan, nan)
    worst: tuple[float, float] = (nan, nan)
    counted: int = 0
    informative: float = 0.0
    bounded: bool = True


@dataclass(frozen=True, slots=True)
class OneTest:
    """One test of one finding, with the oracle of p and that of the interval ("" for not recomputed)."""

    oracle: str
    interval: str
    statistic: float = nan
    p: float = nan
    p_not: float = nan
    low: float = nan
    high: float = nan


Place = tuple[int, int, int]
"""Sieve, layer and head of a finding."""


def all_evidence(
    scores: Scores, rules: Sequence[Rule], moments: Moments | None
) -> Iterator[tuple[Place, Evidence]]:
    """Yield the values that every finding rests on, finding by finding."""
    numbers: dict[str, int] = {}
    unit = np.array([numbers.setdefault(name, len(numbers)) for name in scores.units], dtype=np.int64)
    for k, rule in enumerate(rules):
        null = scores.null[k]
        known = null[~np.isnan(null) & ~np.isnan(scores.values[k]).all(axis=(1, 2))]
        lowest, highest = (float(known.min()), float(known.max())) if known.size else (nan, nan)
        for layer, head in np.ndindex(scores.layers, scores.heads):
            place = (k, layer, head)
            if moments is not None:
                yield place, _from_sums(moments, rule, place)
                continue
            values, level = _per_unit(scores, rule, place, unit)
            low, high = rule.low - highest, rule.high - lowest
            bounds = (nan, nan) if rule.pooled else (low, high)
            sd = float(np.std(values, ddof=1)) if len(values) > 1 else nan
            flat = sd <= SPREAD * max(1.0, abs(mean_of(values)))
            yield (
                place,
                Evidence(
                    values, level, *bounds, sd, flat, (rule.stated_low, rule.stated_high),
                    _worst(values, low, high), len(values), float(len(values)), not isnan(high),
                ),
            )  # fmt: skip


def _per_unit(
    scores: Scores, rule: Rule, place: Place, unit: Int[np.ndarray, " examples"]
) -> tuple[Float[np.ndarray, " units"], float]:
    """Return the values of the units of one finding, and its mean chance value."""
    k, layer, head = place
    null = scores.null[k]
    values = scores.values[k, :, layer, head].astype(np.float64) - null
    weight = np.nan_to_num(scores.cells[k]) if rule.pooled else np.ones(len(values))
    held = ~np.isnan(values) & (weight > 0)
    if not held.any():
        return np.empty(0), nan
    sizes, sums, nulls = (
        np.bincount(unit[held], weight[held] * of) for of in (np.ones(held.sum()), values[held], null[held])
    )
    sizes, sums, nulls = (total[sizes > 0] for total in (sizes, sums, nulls))
    if rule.pooled:
        return _jackknife(sums, sizes), float(nulls.sum() / sizes.sum())
    return sums / sizes, float(np.mean(nulls / sizes))


def _jackknife(
    sums: Float[np.ndarray, " units"], sizes: Float[np.ndarray, " units"]
) -> Float[np.ndarray, " units"]:
    """Return the delete-one pseudo-values of Σ sums / Σ sizes, shifted so that they have it as their mean."""
    units, ratio = len(sums), sums.sum() / sizes.sum()
    if units < 2:
        return np.full(units, ratio)
    without = (sums.sum() - sums) / (sizes.sum() - sizes)
    pseudo: np.ndarray = units * ratio - (units - 1) * without
    shifted: np.ndarray = pseudo - pseudo.mean() + ratio
    return shifted


def _worst(values: Float[np.ndarray, " units"], low: float, high: float) -> tuple[float, float]:
    """Return the smallest and largest value of a further unit: a bound, or the extreme one where unknown."""
    if not len(values):
        return nan, nan
    return (float(values.min()) if isnan(low) else low, float(values.max()) if isnan(high) else high)


def _from_sums(moments: Moments, rule: Rule, place: Place) -> Evidence:
    """Return the random groups of one finding, where sums were kept; examples have bounds, groups none."""
    k, layer, head = place
    weight, total = (of[k, :, layer, head] for of in (moments.weight, moments.total))
    heavy, count = float(weight.sum()), int(moments.count[place])
    if heavy <= 0:
        return Evidence(np.empty(0), nan, nan, nan, nan, flat=False)
    values = _jackknife(total[weight > 0], weight[weight > 0])
    least = SPREAD * max(1.0, abs(mean_of(values)))
    variance = (
        max(float(moments.square[place]) / heavy - mean_of(values) ** 2, 0.0) * count / max(count - 1, 1)
    )
    still = float(moments.most[place] - moments.least[place]) <= least
    sd = (0.0 if still else sqrt(variance)) if count > 1 else nan
    low, high = rule.low - float(moments.highest[k]), rule.high - float(moments.lowest[k])
    return Evidence(
        values, float(moments.chance[place]) / heavy, nan, nan, sd, sd <= least,
        worst=_worst(values, low, high), counted=count, informative=heavy**2 / float((weight**2).sum()),
        bounded=not isnan(high),
    )  # fmt: skip


def mean_of(values: Float[np.ndarray, " units"]) -> float:
    """Return the mean; NaN of none."""
    return float(np.mean(values)) if len(values) else nan


def recompute_test(evidence: Evidence, margin: float, decision: Decision) -> OneTest:
    """Return the test of one finding; p is NaN below two units, and "" names what is not recomputed."""
    if decision.test == "betting":
        return _bet(evidence, margin)
    if evidence.flat:
        return _bounded(evidence, margin)
    test = TESTS[decision.test]
    if len(evidence.values) < 2:
        return OneTest(FEW, FEW)
    found = test(evidence.values, margin)
    if decision.interval == "t":
        ends = _student(evidence.values, margin)
        return OneTest(found.oracle, T_TEST, found.statistic, found.p, found.p_not, ends.low, ends.high)
    if decision.interval == "bca":
        return OneTest(found.oracle, "", found.statistic, found.p, found.p_not)
    return found


def _student(values: Float[np.ndarray, " units"], margin: float) -> OneTest:
    """Return Student's one-sample t test, with its interval."""
    from scipy.stats import ttest_1samp

    above, below = (ttest_1samp(values, margin, alternative=side) for side in ("greater", "less"))
    ends = ttest_1samp(values, margin).confidence_interval(0.95)
    numbers = (above.statistic, above.pvalue, below.pvalue, ends.low, ends.high)
    return OneTest(T_TEST, T_TEST, *(float(number) for number in numbers))


def _published(values: Float[np.ndarray, " units"], margin: float) -> OneTest:
    """Return the released notebooks' t test: the spread is divided by n instead of n − 1."""
    from scipy.stats import t, ttest_1samp

    n, plain = len(values), ttest_1samp(values, margin)
    statistic = float(plain.statistic) * sqrt(n / (n - 1))
    reach = float(t.ppf(0.975, n - 1)) * float(np.std(values)) / sqrt(n)
    name = f"{T_TEST}, spread divided by n"
    return OneTest(
        name, name, statistic, float(t.sf(statistic, n - 1)), float(t.cdf(statistic, n - 1)),
        mean_of(values) - reach, mean_of(values) + reach,
    )  # fmt: skip


def _hall(values: Float[np.ndarray, " units"], margin: float) -> OneTest:
    """Return the t test with Hall's cubic correction for skewness, and the interval from inverting it.

    Source: Hall (1992), JRSS B 54(1), 221-228. With T, g and n of one finding the statistic is
    ``T + gT²/(3√n) + g²T³/(27n) + g/(6√n)``, against t with n − 1 degrees of freedom.
    """
    from scipy.stats import skew, t, ttest_1samp

    n, plain, g = len(values), float(ttest_1samp(values, margin).statistic), float(skew(values))
    root = sqrt(n)
    statistic = plain + g * plain**2 / (3 * root) + g**2 * plain**3 / (27 * n) + g / (6 * root)

    def student_for(bent: float) -> float:
        """Return the T whose corrected statistic is this."""
        shifted = bent - g / (6 * root)
        if abs(g) < 1e-8:
            return shifted
        return 3 * root / g * (float(np.cbrt(1 + g * shifted / root)) - 1)

    error, reach = float(np.std(values, ddof=1)) / root, float(t.ppf(0.975, n - 1))
    return OneTest(
        HALL, HALL, statistic, float(t.sf(statistic, n - 1)), float(t.cdf(statistic, n - 1)),
        mean_of(values) - error * student_for(reach), mean_of(values) - error * student_for(-reach),
    )  # fmt: skip


def _resampled(values: Float[np.ndarray, " units"], margin: float) -> OneTest:
    """Return no test, and the interval that sign flips have: Hall's."""
    interval = _hall(values, margin)
    return OneTest("", HALL, low=interval.low, high=interval.high)


def _bootstrapped(values: Float[np.ndarray, " units"], margin: float) -> OneTest:
    """Return nothing: the bootstrap makes both its p and its interval."""
    return OneTest("", "")


def _ranks(values: Float[np.ndarray, " units"], margin: float) -> OneTest:
    """Return Wilcoxon's signed-rank test of the pseudo-median; the interval is Hall's, of the mean."""
    from scipy.stats import wilcoxon

    name, interval, beyond = "scipy.stats.wilcoxon", _hall(values, margin), _beyond(values, margin)
    sizes = np.abs(beyond)
    statistic, p, p_not = nan, 1.0, 1.0
    if sizes.any():
        tied = not sizes.all() or len(np.unique(sizes)) < len(sizes)
        method: Any = "asymptotic" if tied or len(beyond) > EXACT_RANKS else "exact"
        above = wilcoxon(beyond, alternative="greater", method=method)
        below = wilcoxon(beyond, alternative="less", method=method)
        statistic, p, p_not = float(above.statistic), float(above.pvalue), float(below.pvalue)
    return OneTest(name, HALL, statistic, p, p_not, interval.low, interval.high)


def _signs(values: Float[np.ndarray, " units"], margin: float) -> OneTest:
    """Return the sign test of the median; units at θ are left out, and the interval is Hall's."""
    from scipy.stats import binomtest

    interval, beyond = _hall(values, margin), _beyond(values, margin)
    above, below = int((beyond > 0).sum()), int((beyond < 0).sum())
    p, p_not = 1.0, 1.0
    if above + below:
        p, p_not = (
            float(binomtest(above, above + below, alternative=side).pvalue) for side in ("greater", "less")
        )
    return OneTest("scipy.stats.binomtest", HALL, (above - below) / 2, p, p_not, interval.low, interval.high)


def _beyond(values: Float[np.ndarray, " units"], margin: float) -> Float[np.ndarray, " units"]:
    """Return values less θ, those at θ but for single precision as 0."""
    beyond = values - margin
    return np.where(np.abs(beyond) <= SPREAD * max(1.0, abs(margin)), 0.0, beyond)


def _bet(evidence: Evidence, margin: float) -> OneTest:
    """Return the test by betting of one finding, with the interval of means that it does not refute.

    Source: Waudby-Smith and Ramdas (2024), JRSS B 86(1). The capital of a bet g is
    ``Π (1 + g (x − θ)/(θ − low))``, and that of the test is the mean over eight bets.
    """
    from scipy.optimize import brentq

    (low, high), values = evidence.stated, evidence.values
    if len(values) < 2 or isnan(low) or isnan(high):
        return OneTest(FEW, FEW)
    mean, goal = mean_of(values), log(40)
    above, below = _log_capital(values, margin, low), _log_capital(-values, -margin, -high)

    def end(numbers: np.ndarray, centre: float, bound: float) -> float:
        first = bound + 1e-9 * (centre - bound)
        if centre <= bound or _log_capital(numbers, first, bound) < goal:
            return bound
        return float(brentq(lambda theta: _log_capital(numbers, theta, bound) - goal, first, centre))

    return OneTest(
        CAPITAL, SOLVED, above, float(np.exp(-max(above, 0.0))), float(np.exp(-max(below, 0.0))),
        end(values, mean, low), -end(-values, -mean, -high),
    )  # fmt: skip


def _log_capital(values: Float[np.ndarray, " units"], margin: float, low: float) -> float:
    """Return the logarithm of the mean capital of all bets that a mean lies above the margin."""
    if margin <= low:
        return 0.0
    gains = ((values - margin) / (margin - low)).tolist()
    logs = [fsum(log1p(bet * gain) for gain in gains) for bet in BETS]
    most = max(logs)
    return most + log(fsum(exp(one - most) for one in logs) / len(BETS))


TESTS: "Mapping[str, Callable[[np.ndarray, float], OneTest]]" = MappingProxyType(
    {
        "t-skew": _hall,
        "t": _student,
        "t-published": _published,
        "wilcoxon": _ranks,
        "sign": _signs,
        "sign-flip": _resampled,
        "bootstrap-t": _bootstrapped,
    }
)
"""The tests of ``stats.methods``, recomputed, by their names."""


def _bounded(evidence: Evidence, margin: float) -> OneTest:
    """Return the exact test of n units that all equal c, from the bounds of their scores alone.

    Null: units in [low, high] with a mean of at most θ (p), at least θ (p_not). By Markov's inequality
    a unit reaches c > θ with probability (θ − low) / (c − low) at most, n units with that to the n.
    """
    n, low, high = len(evidence.values), evidence.low, evidence.high
    if isnan(low) or isnan(high):
        return OneTest(MARKOV, MARKOV)
    value = min(max(mean_of(evidence.values), low), high)
    above = 1.0 if value <= margin else max((margin - low) / (value - low), 0.0) if value > low else 0.0
    below = 1.0 if value >= margin else max((high - margin) / (high - value), 0.0) if value < high else 0.0
    share = 0.025 ** (1 / n)
    return OneTest(
        MARKOV, MARKOV, nan, above**n, below**n,
        low + (value - low) * share, high - (high - value) * share,
    )  # fmt: skip


def log_bayes_factor(statistic: float, count: int) -> tuple[str, float]:
    """Return the oracle and the logarithm of the JZS Bayes factor of one t, two-sided, against a mean of θ.

    ``pingouin.bayesfactor_ttest`` where the integral over g in it (Rouder et al. 2009, equation 1) is at
    least 1e-4, else the same integral over ln g by ``scipy.integrate.quad``, its largest value taken out.

    Args:
        statistic: Student's t; NaN gives NaN.
        count: Units behind it.

    Example:
        >>> oracle, logarithm = log_bayes_factor(3.5, 20)
        >>> oracle, round(float(np.exp(logarithm)), 3)
        ('pingouin.bayesfactor_ttest', 17.185)
    """
    from pingouin import bayesfactor_ttest
    from scipy.integrate import quad
    from scipy.optimize import minimize_scalar

    if not np.isfinite(statistic) or count < 2:
        return "pingouin.bayesfactor_ttest", nan
    per_unit = np.log1p(statistic**2 / (count - 1)) * count / 2

    def height(ln_g: float) -> float:
        wide = 1 + count * np.exp(ln_g) * 0.707**2
        prior = -0.5 * (np.log(2 * np.pi) + ln_g + np.exp(-ln_g))
        fit = count / 2 * np.log1p(statistic**2 / (count - 1) / wide)
        return float(prior - 0.5 * np.log(wide) - fit)

    top = minimize_scalar(lambda ln_g: -height(ln_g), bounds=(-6, 60), method="bounded").x
    mode = height(top)
    pieces = [-8.0, *(float(np.clip(top + step, -7, 79)) for step in (-3, 0, 3, 9)), 80.0]
    area = sum(
        quad(lambda ln_g: np.exp(height(ln_g) - mode), start, stop, epsabs=1e-13, epsrel=1e-11)[0]
        for start, stop in pairwise(pieces)
        if stop > start
    )
    integral = mode + log(area)
    if integral >= log(INTEGRAL) and integral + per_unit < LARGEST:
        return "pingouin.bayesfactor_ttest", log(float(bayesfactor_ttest(statistic, count, r=0.707)))
    return "scipy.integrate.quad + Rouder et al. 2009", float(integral + per_unit)
