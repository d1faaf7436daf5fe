"""Findings recomputed one at a time by scipy, statsmodels and pingouin, to hold the engine against them.

Nothing here calls the engine. Every number of a finding comes from a library's function for one sample or,
where no library has it, from its formula written out for one finding. ``headroles verify RUN --oracles``
prints the outcome.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf, isnan, log, nan, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from headroles.records.assessment import Precision
from headroles.records.example import Decision, Rule, Scores
from headroles.records.findings import Findings
from headroles.records.moments import Moments

if TYPE_CHECKING:
    from collections.abc import Callable

SPREAD = 1e-6
"""Standard deviations up to here, times the mean where that exceeds 1, are no spread (docs/statistics.md)."""
INTEGRAL = 1e-4
"""Least integral over g for which ``pingouin.bayesfactor_ttest`` holds; its tolerance is absolute."""
LARGEST = log(np.finfo(np.float64).max)
"""Logarithm of the largest float; Bayes factors beyond it are inf."""
EXACT_RANKS = 50
"""Units up to which signed ranks have their exact distribution, where nothing is tied."""
TOLERANCES: Mapping[str, float] = MappingProxyType(
    dict.fromkeys(("p", "q", "p_not", "q_not"), 1e-9)
    | dict.fromkeys(("mean", "effect", "low", "high", "statistic"), 1e-7)
    | dict.fromkeys(("hedges_g", "g_low", "g_high", "ln bayes_factor"), 1e-6)
)
"""Largest difference that counts as rounding, by quantity; of numbers beyond 1 as a part of them."""
HALL = "scipy.stats ttest_1samp, skew, t + Hall 1992"
MARKOV = "Markov's bound of constant scores"
FEW = "NaN below 2 units"
T_TEST = "scipy.stats.ttest_1samp"


@dataclass(frozen=True, slots=True)
class Check:
    """One quantity of the findings, recomputed.

    Attributes:
        quantity: Column of findings.csv or precision.csv.
        oracle: Library and function, or the source of the formula.
        compared: How many numbers were compared; 0 where nothing was recomputed.
        difference: The largest difference, absolute for numbers up to 1, else as a part of the number;
            inf where one of the two is NaN. NaN where nothing was recomputed.
        tolerance: The largest difference that counts as rounding.
        reason: Why the quantity was not recomputed; "" where it was.
    """

    quantity: str
    oracle: str
    compared: int
    difference: float
    tolerance: float
    reason: str = ""

    @property
    def fits(self) -> bool:
        """Whether no difference exceeds the tolerance."""
        return bool(self.reason) or self.difference <= self.tolerance


@dataclass(slots=True)
class _Ledger:
    """Counts and largest differences by quantity and oracle, in the order in which they appear."""

    rows: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def compare(self, quantity: str, oracle: str, ours: float, theirs: float) -> None:
        row = self.rows.setdefault((quantity, oracle), [0, 0.0])
        row[0] += 1
        row[1] = max(row[1], _difference(float(ours), float(theirs)))

    def checks(self) -> tuple[Check, ...]:
        done = [
            Check(quantity, oracle, int(count), largest, TOLERANCES[quantity])
            for (quantity, oracle), (count, largest) in self.rows.items()
        ]
        left = [Check(name, "", 0, nan, nan, reason) for name, reason in self.reasons.items()]
        order = list(dict.fromkeys(check.quantity for check in done))
        return (*sorted(done, key=lambda check: order.index(check.quantity)), *left)


def _difference(ours: float, theirs: float) -> float:
    if ours == theirs or (isnan(ours) and isnan(theirs)):
        return 0.0
    if isnan(ours) or isnan(theirs):
        return inf
    return abs(ours - theirs) / max(1.0, abs(theirs))


@dataclass(frozen=True, slots=True, eq=False)
class _Evidence:
    """What one finding rests on.

    Attributes:
        values: Score minus null of each unit (or random group) that has one.
        level: Mean chance value, which is added to means and their intervals.
        low: Smallest value possible; NaN where unknown.
        high: Largest value possible.
        sd: Standard deviation of what is counted: units, or all examples where sums were kept.
        flat: Whether scores have no spread beyond rounding.
    """

    values: Float[np.ndarray, " units"]
    level: float
    low: float
    high: float
    sd: float
    flat: bool


@dataclass(frozen=True, slots=True)
class _Test:
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


def recompute_findings(
    scores: Scores,
    findings: Findings,
    decision: Decision,
    *,
    precision: Precision | None = None,
    moments: Moments | None = None,
    intervals_of_scores: bool = False,
) -> tuple[Check, ...]:
    """Recompute the findings of a run, one at a time, and hold them against those given.

    Null of each finding: the mean (or median) over units is at most null + margin (p), at least that
    (p_not). Unit: that of the scores; the scores of one unit are averaged first, in pooled columns by the
    delete-one jackknife of the ratio; where sums were kept, the random group. q is that of a family of
    one direction. Joint findings of a sieve with a contrast have the larger p, and twice the smaller
    p_not.

    Args:
        scores: What was judged.
        findings: The outcome, with its rules.
        decision: How it was judged.
        precision: Hedges' g and Bayes factors; None where there are none.
        moments: Sums of all examples, where scores are a subsample of them.
        intervals_of_scores: Whether intervals are of the scores themselves and not of their differences
            from the chance value of each input, as in runs of surface statistics.

    Returns:
        One row per quantity and oracle, then what was not recomputed, each with the reason.
    """
    ledger = _Ledger()
    summed = moments is not None and decision.test not in ("wilcoxon", "sign")
    _state_reasons(ledger, decision, precision, summed)
    tests: dict[Place, _Test] = {}
    for place, evidence in _all_evidence(scores, findings.rules, moments if summed else None):
        margin = findings.rules[place[0]].margin
        tests[place] = _test(evidence, margin, decision)
        ledger.compare("mean", "numpy.mean", findings.mean[place], _mean(evidence.values) + evidence.level)
        if not intervals_of_scores:
            _compare_interval(ledger, place, tests[place], evidence.level, findings)
        _compare_sizes(ledger, place, evidence, margin, (findings, precision), summed)
    if intervals_of_scores:
        bare = replace(scores, null=np.where(np.isnan(scores.null), nan, 0.0))
        for place, evidence in _all_evidence(bare, findings.rules, None):
            own = _test(evidence, findings.rules[place[0]].margin, decision)
            _compare_interval(ledger, place, own, 0.0, findings)
    _compare_p(ledger, findings, tests, decision)
    return ledger.checks()


def _state_reasons(ledger: _Ledger, decision: Decision, precision: Precision | None, summed: bool) -> None:
    """Write down what cannot be recomputed by a library, and why."""
    reasons = ledger.reasons
    if decision.test in ("bootstrap-t", "sign-flip"):
        reasons["p, p_not, statistic"] = (
            f"{decision.test} resamples units, so no library gives the same draws"
        )
    if decision.correction == "maxT":
        reasons["q, q_not"] = "maxT resamples all heads together, and no library has it"
    if decision.interval == "bca" or (decision.interval, decision.test) == ("test", "bootstrap-t"):
        reasons["low, high"] = "the bootstrap interval resamples units"
    if summed:
        reasons["effect, hedges_g, g_low, g_high"] = (
            "the run kept sums, from which the spread over examples follows, and not their scores"
        )
    if precision is None:
        reasons.setdefault("hedges_g, g_low, g_high", "the run has no precision.csv")
    if precision is None or np.isnan(precision.bayes_factor).all():
        reasons["bayes_factor"] = "the run has none (--bayes)"
    reasons["detectable"] = "statsmodels solves it to 3e-6 only; tests hold its power against statsmodels"
    reasons["stability, design_effect"] = "no library has them; stability resamples units"


def _all_evidence(
    scores: Scores, rules: Sequence[Rule], moments: Moments | None
) -> Iterator[tuple[Place, _Evidence]]:
    """Yield what every finding rests on, finding by finding."""
    numbers: dict[str, int] = {}
    unit = np.array([numbers.setdefault(name, len(numbers)) for name in scores.units], dtype=np.int64)
    for k, rule in enumerate(rules):
        null = scores.null[k]
        known = null[~np.isnan(null) & ~np.isnan(scores.values[k]).all(axis=(1, 2))]
        lowest, highest = (float(known.min()), float(known.max())) if known.size else (nan, nan)
        for layer, head in np.ndindex(scores.layers, scores.heads):
            place = (k, layer, head)
            if moments is not None:
                yield place, _from_sums(moments, place)
                continue
            values, level = _per_unit(scores, rule, place, unit)
            bounds = (nan, nan) if rule.pooled else (rule.low - highest, rule.high - lowest)
            sd = float(np.std(values, ddof=1)) if len(values) > 1 else nan
            flat = sd <= SPREAD * max(1.0, abs(_mean(values)))
            yield place, _Evidence(values, level, *bounds, sd, flat)


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
    sizes, sums, nulls = (each[sizes > 0] for each in (sizes, sums, nulls))
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
    return pseudo - pseudo.mean() + ratio


def _from_sums(moments: Moments, place: Place) -> _Evidence:
    """Return the random groups of one finding, where sums were kept; no bounds are known of them."""
    k, layer, head = place
    weight, total = (of[k, :, layer, head] for of in (moments.weight, moments.total))
    heavy, count = float(weight.sum()), int(moments.count[place])
    if heavy <= 0:
        return _Evidence(np.empty(0), nan, nan, nan, nan, flat=False)
    values = _jackknife(total[weight > 0], weight[weight > 0])
    least = SPREAD * max(1.0, abs(_mean(values)))
    variance = max(float(moments.square[place]) / heavy - _mean(values) ** 2, 0.0) * count / max(count - 1, 1)
    still = float(moments.most[place] - moments.least[place]) <= least
    sd = (0.0 if still else sqrt(variance)) if count > 1 else nan
    return _Evidence(values, float(moments.chance[place]) / heavy, nan, nan, sd, sd <= least)


def _mean(values: Float[np.ndarray, " units"]) -> float:
    return float(np.mean(values)) if len(values) else nan


def _test(evidence: _Evidence, margin: float, decision: Decision) -> _Test:
    """Return the test of one finding; p is NaN below two units, and "" names what is not recomputed."""
    if evidence.flat:
        return _bounded(evidence, margin)
    test = TESTS[decision.test]
    if len(evidence.values) < 2:
        return _Test(FEW, FEW)
    found = test(evidence.values, margin)
    if decision.interval == "t":
        ends = _student(evidence.values, margin)
        return _Test(found.oracle, T_TEST, found.statistic, found.p, found.p_not, ends.low, ends.high)
    if decision.interval == "bca":
        return _Test(found.oracle, "", found.statistic, found.p, found.p_not)
    return found


def _student(values: Float[np.ndarray, " units"], margin: float) -> _Test:
    """Return Student's one-sample t test, with its interval."""
    from scipy.stats import ttest_1samp

    above, below = (ttest_1samp(values, margin, alternative=side) for side in ("greater", "less"))
    ends = ttest_1samp(values, margin).confidence_interval(0.95)
    return _Test(T_TEST, T_TEST, above.statistic, above.pvalue, below.pvalue, ends.low, ends.high)


def _published(values: Float[np.ndarray, " units"], margin: float) -> _Test:
    """Return the released notebooks' t test: the spread is divided by n instead of n − 1."""
    from scipy.stats import t, ttest_1samp

    n, plain = len(values), ttest_1samp(values, margin)
    statistic = float(plain.statistic) * sqrt(n / (n - 1))
    reach = float(t.ppf(0.975, n - 1)) * float(np.std(values)) / sqrt(n)
    name = f"{T_TEST}, spread divided by n"
    return _Test(
        name, name, statistic, float(t.sf(statistic, n - 1)), float(t.cdf(statistic, n - 1)),
        _mean(values) - reach, _mean(values) + reach,
    )  # fmt: skip


def _hall(values: Float[np.ndarray, " units"], margin: float) -> _Test:
    """Return the t test with Hall's cubic correction for skewness, and the interval from inverting it.

    Source: Hall (1992), JRSS B 54(1), 221-228. With T, g and n of one finding the statistic is
    ``T + gT²/(3√n) + g²T³/(27n) + g/(6√n)``, against t with n − 1 degrees of freedom.
    """
    from scipy.stats import skew, t, ttest_1samp

    n, plain, g = len(values), float(ttest_1samp(values, margin).statistic), float(skew(values))
    root = sqrt(n)
    statistic = plain + g * plain**2 / (3 * root) + g**2 * plain**3 / (27 * n) + g / (6 * root)

    def student_for(bent: float) -> float:
        """The T whose corrected statistic is this."""
        shifted = bent - g / (6 * root)
        if abs(g) < 1e-8:
            return shifted
        return 3 * root / g * (float(np.cbrt(1 + g * shifted / root)) - 1)

    error, reach = float(np.std(values, ddof=1)) / root, float(t.ppf(0.975, n - 1))
    return _Test(
        HALL, HALL, statistic, float(t.sf(statistic, n - 1)), float(t.cdf(statistic, n - 1)),
        _mean(values) - error * student_for(reach), _mean(values) - error * student_for(-reach),
    )  # fmt: skip


def _resampled(values: Float[np.ndarray, " units"], margin: float) -> _Test:
    """Return no test, and the interval that sign flips have: Hall's."""
    interval = _hall(values, margin)
    return _Test("", HALL, low=interval.low, high=interval.high)


def _bootstrapped(values: Float[np.ndarray, " units"], margin: float) -> _Test:
    """Return nothing: the bootstrap makes both its p and its interval."""
    return _Test("", "")


def _ranks(values: Float[np.ndarray, " units"], margin: float) -> _Test:
    """Return Wilcoxon's signed-rank test of the pseudo-median; the interval is Hall's, of the mean."""
    from scipy.stats import wilcoxon

    name, interval, beyond = "scipy.stats.wilcoxon", _hall(values, margin), _beyond(values, margin)
    sizes = np.abs(beyond)
    statistic, p, p_not = nan, 1.0, 1.0
    if sizes.any():
        tied = not sizes.all() or len(np.unique(sizes)) < len(sizes)
        method = "asymptotic" if tied or len(beyond) > EXACT_RANKS else "exact"
        above, below = (wilcoxon(beyond, alternative=side, method=method) for side in ("greater", "less"))
        statistic, p, p_not = float(above.statistic), float(above.pvalue), float(below.pvalue)
    return _Test(name, HALL, statistic, p, p_not, interval.low, interval.high)


def _signs(values: Float[np.ndarray, " units"], margin: float) -> _Test:
    """Return the sign test of the median; units at θ are left out, and the interval is Hall's."""
    from scipy.stats import binomtest

    interval, beyond = _hall(values, margin), _beyond(values, margin)
    above, below = int((beyond > 0).sum()), int((beyond < 0).sum())
    p, p_not = 1.0, 1.0
    if above + below:
        p, p_not = (
            float(binomtest(above, above + below, alternative=side).pvalue) for side in ("greater", "less")
        )
    return _Test("scipy.stats.binomtest", HALL, (above - below) / 2, p, p_not, interval.low, interval.high)


def _beyond(values: Float[np.ndarray, " units"], margin: float) -> Float[np.ndarray, " units"]:
    """Return values less θ, those at θ but for single precision as 0."""
    beyond = values - margin
    return np.where(np.abs(beyond) <= SPREAD * max(1.0, abs(margin)), 0.0, beyond)


TESTS: "Mapping[str, Callable[[np.ndarray, float], _Test]]" = MappingProxyType(
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
"""How the tests of ``stats.methods`` are recomputed, by their names."""


def _bounded(evidence: _Evidence, margin: float) -> _Test:
    """Return what is known of n units that all equal c, from the bounds of their scores alone.

    Null: units in [low, high] with a mean of at most θ (p), at least θ (p_not). By Markov's inequality
    a unit reaches c > θ with probability (θ − low) / (c − low) at most, n units with that to the n.
    """
    n, low, high = len(evidence.values), evidence.low, evidence.high
    if isnan(low) or isnan(high):
        return _Test(MARKOV, MARKOV)
    value = min(max(_mean(evidence.values), low), high)
    above = 1.0 if value <= margin else max((margin - low) / (value - low), 0.0) if value > low else 0.0
    below = 1.0 if value >= margin else max((high - margin) / (high - value), 0.0) if value < high else 0.0
    share = 0.025 ** (1 / n)
    return _Test(
        MARKOV, MARKOV, nan, above**n, below**n,
        low + (value - low) * share, high - (high - value) * share,
    )  # fmt: skip


def _compare_interval(ledger: _Ledger, place: Place, test: _Test, level: float, findings: Findings) -> None:
    if test.interval:
        ledger.compare("low", test.interval, findings.low[place], test.low + level)
        ledger.compare("high", test.interval, findings.high[place], test.high + level)


def _compare_sizes(
    ledger: _Ledger,
    place: Place,
    evidence: _Evidence,
    margin: float,
    given: tuple[Findings, Precision | None],
    summed: bool,
) -> None:
    """Compare effects and Bayes factors, which are NaN without spread or a second unit."""
    from pingouin import compute_effsize, compute_esci
    from scipy.stats import ttest_1samp

    (findings, precision), values = given, evidence.values
    known = len(values) > 1 and not evidence.flat
    if not summed:
        effect = compute_effsize(values, margin, eftype="cohen") if known else nan
        ledger.compare("effect", "pingouin.compute_effsize", findings.effect[place], effect)
    if precision is None:
        return
    if not summed:
        known_g = known and len(values) > 2
        g = float(compute_effsize(values, margin, eftype="hedges")) if known_g else nan
        ends = compute_esci(g, nx=len(values), ny=1, decimals=15) if known_g else (nan, nan)
        ledger.compare("hedges_g", "pingouin.compute_effsize", precision.hedges_g[place], g)
        for name, ours, theirs in zip(
            ("g_low", "g_high"), (precision.g_low[place], precision.g_high[place]), ends, strict=True
        ):
            ledger.compare(name, "pingouin.compute_esci", ours, theirs)
    if "bayes_factor" not in ledger.reasons:
        statistic = float(ttest_1samp(values, margin).statistic) if known else nan
        oracle, logarithm = log_bayes_factor(statistic, len(values))
        ours = float(precision.bayes_factor[place])
        if ours == inf and logarithm > LARGEST:
            logarithm = inf
        ledger.compare("ln bayes_factor", oracle, log(ours) if ours > 0 else ours, logarithm)


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


def _compare_p(ledger: _Ledger, findings: Findings, tests: Mapping[Place, _Test], decision: Decision) -> None:
    """Compare statistics, p of both directions, and q within each family."""
    position = {rule.sieve: k for k, rule in enumerate(findings.rules)}
    p: dict[str, dict[Place, float]] = {"p": {}, "p_not": {}}
    for place, test in tests.items():
        contrast = findings.rules[place[0]].contrast
        pair = [test] + ([tests[position[contrast], *place[1:]]] if contrast else [])
        joint = {"p": _largest([one.p for one in pair]), "p_not": _smallest([one.p_not for one in pair])}
        oracle = next((one.oracle for one in pair if one.oracle != test.oracle), "")
        oracle = f"{test.oracle}; {oracle}" if oracle else test.oracle
        resampled = not all(one.oracle for one in pair)
        if test.oracle:
            ledger.compare("statistic", test.oracle, findings.statistic[place], test.statistic)
        for name in ("p", "p_not"):
            ours = float(getattr(findings, name)[place])
            if not resampled:
                ledger.compare(name, oracle, ours, joint[name])
            p[name][place] = ours if resampled else joint[name]
    if decision.correction == "maxT":
        return
    for name, adjusted in (("p", "q"), ("p_not", "q_not")):
        q = _adjust(p[name], findings.rules, decision)
        given = getattr(findings, adjusted)
        for place, theirs in q.items():
            ledger.compare(adjusted, _multipletests(decision), given[place], theirs)


def _multipletests(decision: Decision) -> str:
    if decision.correction == "none":
        return "no correction: p itself"
    return f"statsmodels multipletests({decision.correction})"


def _largest(p: Sequence[float]) -> float:
    """Return the p of "both lie beyond" (intersection-union)."""
    return nan if any(isnan(one) for one in p) else max(p)


def _smallest(p: Sequence[float]) -> float:
    """Return the p of "either lies below" (union-intersection)."""
    return nan if any(isnan(one) for one in p) else min(1.0, len(p) * min(p))


def _adjust(p: Mapping[Place, float], rules: Sequence[Rule], decision: Decision) -> dict[Place, float]:
    """Return the p adjusted by statsmodels, family by family; NaN belongs to none."""
    from statsmodels.stats.multitest import multipletests

    from headroles.stats.correction import without_garbage_collection

    adjusted = dict(p)
    families: dict[tuple[object, ...], list[Place]] = defaultdict(list)
    for place, value in p.items():
        if not isnan(value):
            families[_family(rules[place[0]], place[1], decision.family)].append(place)
    if decision.correction == "none":
        return adjusted
    with without_garbage_collection(), np.errstate(divide="ignore"):
        for places in families.values():
            found = multipletests(
                [p[place] for place in places], alpha=decision.alpha, method=decision.correction
            )[1]
            adjusted |= dict(zip(places, map(float, found), strict=True))
    return adjusted


def _family(rule: Rule, layer: int, family: str) -> tuple[object, ...]:
    """Return what a finding is corrected with; the heads of a contrast stand by themselves."""
    if not rule.role:
        return ("contrast", rule.sieve)
    if family == "run":
        return ("run",)
    name = ("role", rule.together or rule.sieve)
    return (*name, layer) if family == "layer" else name
