"""All findings of a run, recomputed and held against those given."""

import gc
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import inf, isnan, log, nan
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from headroles.records.assessment import Precision
from headroles.records.example import Scores
from headroles.records.findings import DECISIONS, Findings
from headroles.records.moments import Moments
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.oracles.one_finding import (
    LARGEST,
    Evidence,
    OneTest,
    Place,
    all_evidence,
    log_bayes_factor,
    mean_of,
    recompute_test,
)
from headroles.stats.oracles.verdicts import (
    FEWEST,
    Missing,
    absent_by,
    counted,
    decision_by,
    explained_by,
    largest_p,
    missing_units,
    shares_of,
)

TOLERANCES: Mapping[str, float] = MappingProxyType(
    dict.fromkeys(("p", "q", "p_not", "q_not", "p_explained", "q_explained"), 1e-9)
    | dict.fromkeys(("p_absent", "q_absent", "prevalence", "prevalence_low", "prevalence_high"), 1e-9)
    | {"decision": 0.0}
    | dict.fromkeys(("mean", "effect", "low", "high", "mean_low", "mean_high", "statistic"), 1e-7)
    | dict.fromkeys(("hedges_g", "g_low", "g_high", "ln bayes_factor"), 1e-6)
)
"""Largest difference that counts as rounding, by quantity; of numbers beyond 1 as a part of them."""


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
        """Return whether no difference exceeds the tolerance."""
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


def recompute_findings(
    scores: Scores,
    findings: Findings,
    decision: Decision,
    *,
    precision: Precision | None = None,
    moments: Moments | None = None,
    intervals_of_scores: bool = False,
    absence: bool = True,
    confirmed: np.ndarray | None = None,
) -> tuple[Check, ...]:
    """Recompute the findings of a run, one at a time, and hold them against those given.

    Null of each finding: the mean (or median) over units is at most null + margin (p), at least that
    (p_not). Unit: that of the scores; the scores of one unit are averaged first, in pooled columns by the
    delete-one jackknife of the ratio; where sums were kept, the random group. q is that of a family of
    one direction. Findings of a sieve with a contrast have the larger p, and explained ones the larger of
    their own p and of the contrast's p_not. Decisions follow from the q that is given, and from alpha.

    Args:
        scores: The scores that were judged.
        findings: The outcome, with its rules.
        decision: How they were judged.
        precision: Hedges' g and Bayes factors; None where there are none.
        moments: Sums of all examples, where scores are a subsample of them.
        intervals_of_scores: Whether intervals are of the scores themselves and not of their differences
            from the chance value of each input, as in runs of surface statistics.
        absence: Whether heads were tested for "absent".
        confirmed: Findings that further tests let be roles; None for all.

    Returns:
        One row per quantity and oracle, then what was not recomputed, each with the reason.
    """
    ledger = _Ledger()
    summed = moments is not None and decision.test not in ("wilcoxon", "sign")
    _state_reasons(ledger, decision, precision, summed)
    tests: dict[Place, OneTest] = {}
    evidences: dict[Place, Evidence] = {}
    for place, evidence in all_evidence(scores, findings.rules, moments if summed else None):
        margin = findings.rules[place[0]].margin
        tests[place], evidences[place] = recompute_test(evidence, margin, decision), evidence
        ledger.compare("mean", "numpy.mean", findings.mean[place], mean_of(evidence.values) + evidence.level)
        if not intervals_of_scores:
            _compare_interval(ledger, place, tests[place], evidence.level, findings)
        _compare_sizes(ledger, place, evidence, margin, (findings, precision), summed)
    if intervals_of_scores or _has_own_intervals(scores, precision, summed):
        bare = replace(scores, null=np.where(np.isnan(scores.null), nan, 0.0))
        plain = [_on_score_scale(rule, null) for rule, null in zip(findings.rules, scores.null, strict=True)]
        for place, evidence in all_evidence(bare, plain, None):
            own = recompute_test(evidence, findings.rules[place[0]].margin, decision)
            if intervals_of_scores:
                _compare_interval(ledger, place, own, 0.0, findings)
            elif own.interval and precision is not None:
                ledger.compare("mean_low", own.interval, precision.mean_low[place], own.low)
                ledger.compare("mean_high", own.interval, precision.mean_high[place], own.high)
    missing = missing_units(findings.rules, evidences, decision)
    units = {place: len(one.values) for place, one in evidences.items()}
    fewest = 2 if decision.test == "t-published" else FEWEST
    p = _compare_p(ledger, findings, tests, missing, decision)
    if precision is not None and not _is_older(precision) and not summed:
        verdicts = {
            "explained": explained_by(findings.rules, tests, missing, decision.test),
            "absent": absent_by(findings.rules, evidences, decision) if absence else {},
        }
        _compare_verdicts(ledger, (findings, precision), verdicts, decision)
        for place, shares in shares_of(scores, findings.rules):
            for name, share in zip(("prevalence", "prevalence_low", "prevalence_high"), shares, strict=True):
                oracle = "statsmodels proportion_confint(wilson)"
                ledger.compare(name, oracle, getattr(precision, name)[place], share)
        for place in evidences:
            code = decision_by(place, findings, precision, p, missing[place].enough, decision)
            few = units[place] < fewest and DECISIONS[code] != "untestable" and code >= 0
            if few or (code == 0 and confirmed is not None and not confirmed[place]):
                code = DECISIONS.index("undetermined")
            ledger.compare("decision", "q at most alpha", float(findings.decision[place]), float(code))
    return ledger.checks()


def _is_older(precision: Precision | None) -> bool:
    """Return whether a run is of a version without explained heads and shares of units."""
    return precision is not None and bool(np.isnan(precision.prevalence).all())


def _on_score_scale(rule: Rule, null: Float[np.ndarray, " examples"]) -> Rule:
    """Return a rule whose stated bounds are those of scores, not of their differences from chance."""
    known = null[~np.isnan(null)]
    if known.size and known.min() == known.max():
        level = float(known[0])
        return replace(rule, stated_low=rule.stated_low + level, stated_high=rule.stated_high + level)
    return replace(rule, stated_low=rule.low, stated_high=rule.high)


def _has_own_intervals(scores: Scores, precision: Precision | None, summed: bool) -> bool:
    """Return whether means have intervals of their own: chance values differ, and the run has the intervals.

    Runs of older versions have none.
    """
    differ = any(np.ptp(null[~np.isnan(null)]) > 0 for null in scores.null if not np.isnan(null).all())
    return differ and not summed and precision is not None and not np.isnan(precision.mean_low).all()


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
    if summed:
        reasons["decision, p_explained, p_absent, prevalence"] = "the run kept sums, and not all scores"
    elif _is_older(precision):
        reasons["decision, p_explained, p_absent, prevalence"] = (
            "the run was made by an older version, which had none"
        )
    reasons["stability, design_effect"] = "no library has them"


def _compare_interval(ledger: _Ledger, place: Place, test: OneTest, level: float, findings: Findings) -> None:
    if test.interval:
        ledger.compare("low", test.interval, findings.low[place], test.low + level)
        ledger.compare("high", test.interval, findings.high[place], test.high + level)


def _compare_sizes(
    ledger: _Ledger,
    place: Place,
    evidence: Evidence,
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


def _compare_p(
    ledger: _Ledger,
    findings: Findings,
    tests: Mapping[Place, OneTest],
    missing: Mapping[Place, Missing],
    decision: Decision,
) -> Mapping[str, Mapping[Place, float]]:
    """Compare statistics, p of both directions, and q within each family.

    Roles are joint with their contrasts, strong roles with both. In its family a claim counts as at least
    the p of units that are missing: what is returned.
    """
    position = {rule.sieve: k for k, rule in enumerate(findings.rules)}
    p: dict[str, dict[Place, float]] = {"p": {}, "p_not": {}}
    for place, test in tests.items():
        pair = [test, *(tests[position[name], *place[1:]] for name in _partners(findings.rules, place[0]))]
        joint = {"p": largest_p([one.p for one in pair]), "p_not": test.p_not}
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
        others = [(position[name], *place[1:]) for name in _partners(findings.rules, place[0])]
        above = max(missing[one].above for one in (place, *others))
        p["p"][place] = counted(p["p"][place], above)
        if missing[place].enough:
            p["p_not"][place] = counted(p["p_not"][place], missing[place].below)
    if decision.correction == "maxT":
        return p
    for name, adjusted in (("p", "q"), ("p_not", "q_not")):
        q = _adjust(p[name], findings.rules, decision)
        given = getattr(findings, adjusted)
        for place, theirs in q.items():
            ledger.compare(adjusted, _multipletests(decision), given[place], theirs)
    return p


def _multipletests(decision: Decision) -> str:
    if decision.correction == "none":
        return "no correction: p itself"
    return f"statsmodels multipletests({decision.correction})"


def _partners(rules: Sequence[Rule], place: int) -> list[str]:
    """Return the columns that a claim of a column is joint with.

    A sieve is joint with its contrast. A second contrast is joint with the sieve and its first contrast.
    """
    rule = rules[place]
    owner = next((one for one in rules if one.stronger == rule.sieve), None)
    names = [rule.contrast] if owner is None else [owner.sieve, owner.contrast]
    return [name for name in names if name]


def _compare_verdicts(
    ledger: _Ledger,
    given: tuple[Findings, Precision],
    verdicts: Mapping[str, Mapping[Place, float]],
    decision: Decision,
) -> None:
    """Compare p and q of explained and of absent heads; under maxT their q are Holm's."""
    findings, precision = given
    resampled = decision.test in ("bootstrap-t", "sign-flip")
    corrected = replace(decision, correction="holm") if decision.correction == "maxT" else decision
    for name, p in verdicts.items():
        ours = {place: float(getattr(precision, f"p_{name}")[place]) for place in p}
        if not resampled:
            for place, theirs in p.items():
                ledger.compare(f"p_{name}", "larger of two recomputed p", ours[place], theirs)
        for place, theirs in _adjust(ours if resampled else p, findings.rules, corrected).items():
            adjusted = getattr(precision, f"q_{name}")[place]
            ledger.compare(f"q_{name}", _multipletests(corrected), adjusted, theirs)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Keep ``multipletests`` from collecting all garbage at every Holm, 0.2 to 0.8 s each time."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _adjust(p: Mapping[Place, float], rules: Sequence[Rule], decision: Decision) -> dict[Place, float]:
    """Return the p adjusted by statsmodels, family by family; NaN belongs to none."""
    from statsmodels.stats.multitest import multipletests

    adjusted = dict(p)
    families: dict[tuple[object, ...], list[Place]] = defaultdict(list)
    for place, value in p.items():
        if not isnan(value):
            families[_family(rules[place[0]], place[1], decision.family)].append(place)
    if decision.correction == "none":
        return adjusted
    with _without_garbage_collection(), np.errstate(divide="ignore"):
        for places in families.values():
            found = multipletests(
                [p[place] for place in places], alpha=decision.alpha, method=decision.correction
            )[1]
            adjusted |= dict(zip(places, map(float, found), strict=True))
    return adjusted


def _family(rule: Rule, layer: int, family: str) -> tuple[object, ...]:
    """Return the family that a finding is corrected with; the heads of a contrast stand by themselves."""
    if not rule.role:
        return ("contrast", rule.sieve)
    if family == "run":
        return ("run",)
    name = ("role", rule.together or rule.sieve)
    return (*name, layer) if family == "layer" else name
