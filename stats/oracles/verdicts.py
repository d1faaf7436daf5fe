"""Verdicts recomputed one at a time: explained, absent, prevalence, and the decision that follows from q.

Nothing here calls the engine. p come from the tests of ``one_finding``, shares from statsmodels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

from headroles.records.assessment import Precision
from headroles.records.example import Scores
from headroles.records.findings import DECISIONS, Findings
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.oracles.one_finding import (
    Evidence,
    OneTest,
    Place,
    all_evidence,
    recompute_test,
)

UNGUARDED = ("wilcoxon", "sign", "betting", "t-published")
"""Tests whose labels may hinge on few units (docs/reference/statistics.md)."""
ENOUGH = 50
"""Fewest units with which a mean may be called below a value (docs/reference/statistics.md)."""
BOUND = 0.02
"""Means within ± this are absent (docs/reference/statistics.md)."""
TIE = 1e-12
"""Adjusted p above alpha by at most this part of alpha count as alpha: two ways of rounding differ by it."""


def largest_p(p: Sequence[float]) -> float:
    """Return p of "all of these hold" (intersection-union); NaN where one is NaN."""
    return nan if any(isnan(one) for one in p) else max(p)


@dataclass(frozen=True, slots=True)
class Allowed:
    """Claims that do not hinge on few units, of one finding (docs/reference/statistics.md, section 2).

    Attributes:
        above: Whether the mean may be called beyond the margin.
        below: Whether it may be called below.
    """

    above: bool
    below: bool


def claims_allowed(
    rules: Sequence[Rule], evidence: Mapping[Place, Evidence], decision: Decision
) -> dict[Place, Allowed]:
    """Return the claims that every finding allows."""
    free = decision.test in UNGUARDED
    return {
        place: Allowed(above=True, below=True)
        if free or rules[place[0]].pooled or one.flat or len(one.values) < 2
        else _allowed(one, rules[place[0]])
        for place, one in evidence.items()
    }


def _allowed(evidence: Evidence, rule: Rule) -> Allowed:
    """Return the claims that scores with spread allow."""
    from scipy.stats import kurtosis

    values, n = evidence.values, len(evidence.values)
    total, margin, unseen = float(values.sum()), rule.margin, 3 if rule.role else 1
    above = n / float(kurtosis(values, fisher=False)) >= min(15, n / 4)
    if isnan(evidence.low):
        above |= (total / n - margin) * n**0.5 > 6 * float(values.std(ddof=1))
    else:
        above |= (total + 3 * evidence.low) / (n + 3) > margin
    below = isnan(evidence.high) or (total + unseen * evidence.high) / (n + unseen) < margin
    return Allowed(bool(above), bool(below))


def explained_by(
    rules: Sequence[Rule],
    tests: Mapping[Place, OneTest],
    units: Mapping[Place, int],
    allowed: Mapping[Place, Allowed],
    test_name: str,
) -> dict[Place, float]:
    """Return p of "explained" of every finding: the score lies beyond θ, and a contrast below its margin.

    Args:
        rules: One per column.
        tests: Recomputed tests of every finding.
        units: Units of every finding.
        allowed: Claims that every finding allows.
        test_name: The test of the run.
    """
    position = {rule.sieve: k for k, rule in enumerate(rules)}
    found = dict.fromkeys(tests, nan)
    for place, test in tests.items():
        rule = rules[place[0]]
        others = [(position[name], *place[1:]) for name in (rule.contrast, rule.weaker) if name]
        below = [
            counted(tests[other].p_not, allowed[other].below) for other in others if units[other] >= ENOUGH
        ]
        below = [one for one in below if not isnan(one)]
        if units[place] >= ENOUGH and below:
            own = counted(test.p, allowed[place].above)
            either = len(others) * min(below)
            if test_name == "betting":
                either = _mean_capital_p(below, len(others))
            found[place] = largest_p([own, min(1.0, either)])
    return found


def _mean_capital_p(p: Sequence[float], contrasts: int) -> float:
    """Return the inverse of the mean capital over contrasts; a p of 1 or none is a capital of 0."""
    if min(p) == 0:
        return 0.0
    total = sum(1 / one for one in p if one < 1)
    return contrasts / total if total else 1.0


def counted(p: float, allowed: bool) -> float:
    """Return p as it enters a family: 1 where the claim would hinge on few units (section 2)."""
    return p if allowed or isnan(p) else 1.0


def absent_by(
    rules: Sequence[Rule], evidence: Mapping[Place, Evidence], decision: Decision
) -> dict[Place, float]:
    """Return p of "absent" of every finding: two one-sided tests of ± 0.02, where chance is always 0."""
    elsewhere = {place[0] for place, one in evidence.items() if one.level != 0 and not isnan(one.level)}
    found = dict.fromkeys(evidence, nan)
    for place, one in evidence.items():
        rule = rules[place[0]]
        if rule.role and not rule.pooled and place[0] not in elsewhere and len(one.values) >= ENOUGH:
            above, below = (recompute_test(one, bound, decision) for bound in (-BOUND, BOUND))
            found[place] = largest_p([above.p, below.p_not])
    return found


def shares_of(scores: Scores, rules: Sequence[Rule]) -> Iterator[tuple[Place, tuple[float, float, float]]]:
    """Yield the share of units beyond θ of every finding, with the ends of Wilson's interval."""
    from statsmodels.stats.proportion import proportion_confint

    plain = [replace(rule, pooled=False) for rule in rules]
    for place, one in all_evidence(scores, plain, None):
        count, beyond = len(one.values), sum(value > rules[place[0]].margin for value in one.values.tolist())
        ends = proportion_confint(beyond, count, method="wilson") if count else (nan, nan)
        yield place, (beyond / count if count else nan, float(ends[0]), float(ends[1]))


def decision_by(
    place: Place, findings: Findings, precision: Precision, below: bool, decision: Decision
) -> int:
    """Return the code of a decision, from the p and q that a run has.

    Args:
        place: The finding.
        findings: p and q.
        precision: p and q of "explained".
        below: Whether it may be called "not".
        decision: Its alpha.
    """
    if not findings.rules[place[0]].role:
        return -1
    for name, p, q in (
        ("role", findings.p[place], findings.q[place]),
        ("not", findings.p_not[place], findings.q_not[place] if below else nan),
        ("explained", precision.p_explained[place], precision.q_explained[place]),
    ):
        if q <= decision.alpha * (1 + TIE) and p <= decision.alpha:
            return DECISIONS.index(name)
    return DECISIONS.index("untestable" if isnan(findings.p[place]) else "undetermined")
