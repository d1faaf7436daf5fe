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
    mean_of,
    recompute_test,
)

UNGUARDED = ("wilcoxon", "sign", "betting", "t-published")
"""Tests whose labels may hinge on few units (docs/reference/statistics.md)."""
ENOUGH = 50
"""Fewest units with which a mean may be called below a value (docs/reference/statistics.md)."""
FEWEST = 20
"""Units below which nothing is decided (docs/reference/statistics.md)."""
UNBOUNDED = 300
"""The same where the largest possible score is not known."""
BOUND = 0.02
"""Means within ± this are absent (docs/reference/statistics.md)."""
TIE = 1e-12
"""Adjusted p above alpha by at most this part of alpha count as alpha: two ways of rounding differ by it."""


def largest_p(p: Sequence[float]) -> float:
    """Return p of "all of these hold" (intersection-union); NaN where one is NaN."""
    return nan if any(isnan(one) for one in p) else max(p)


@dataclass(frozen=True, slots=True)
class Missing:
    """What missing units leave of the claims of one finding (docs/reference/statistics.md, section 2).

    Attributes:
        above: Smallest p of a claim that the mean lies beyond the margin.
        below: The same of one that it lies below.
        enough: Whether there are enough units to call it below.
    """

    above: float
    below: float
    enough: bool


def missing_units(
    rules: Sequence[Rule], evidence: Mapping[Place, Evidence], decision: Decision
) -> dict[Place, Missing]:
    """Return what missing units leave of every finding."""
    return {place: _missing(one, rules[place[0]].margin, decision.test) for place, one in evidence.items()}


def _missing(evidence: Evidence, margin: float, test_name: str) -> Missing:
    """Return what missing units leave of the claims about one margin."""
    n, free = evidence.counted, test_name in UNGUARDED
    enough = evidence.informative >= ENOUGH and (free or evidence.bounded or n >= UNBOUNDED)
    if free or evidence.flat or not len(evidence.values):
        return Missing(0.0, 0.0, enough)
    mean, (low, high) = mean_of(evidence.values), evidence.worst
    sides = []
    for beyond, room in ((mean - margin, margin - low), (margin - mean, high - margin)):
        holds = n * beyond > 3 * room  # three more units at the worst value
        share = (room / (room + beyond) if room > 0 else 0.0) if holds else 1.0
        sides.append(share**n if beyond > 0 else 0.0)
    return Missing(sides[0], sides[1], enough)


def explained_by(
    rules: Sequence[Rule],
    tests: Mapping[Place, OneTest],
    missing: Mapping[Place, Missing],
    test_name: str,
) -> dict[Place, float]:
    """Return p of "explained" of every finding: the score lies beyond θ, and a contrast below its margin.

    Args:
        rules: One per column.
        tests: Recomputed tests of every finding.
        missing: From ``missing_units``.
        test_name: The test of the run.
    """
    position = {rule.sieve: k for k, rule in enumerate(rules)}
    found = dict.fromkeys(tests, nan)
    for place, test in tests.items():
        rule = rules[place[0]]
        others = [(position[name], *place[1:]) for name in (rule.contrast, rule.weaker) if name]
        below = [
            counted(tests[other].p_not, missing[other].below) for other in others if missing[other].enough
        ]
        below = [one for one in below if not isnan(one)]
        if missing[place].enough and below:
            own = counted(test.p, missing[place].above)
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


def counted(p: float, missing: float) -> float:
    """Return p as it enters a family: at least that of missing units (section 2); NaN stays NaN."""
    return p if isnan(p) else max(p, missing)


def absent_by(
    rules: Sequence[Rule], evidence: Mapping[Place, Evidence], decision: Decision
) -> dict[Place, float]:
    """Return p of "absent" of every finding: two one-sided tests of ± 0.02, where chance is always 0."""
    elsewhere = {place[0] for place, one in evidence.items() if one.level != 0 and not isnan(one.level)}
    found = dict.fromkeys(evidence, nan)
    for place, one in evidence.items():
        rule = rules[place[0]]
        sides = [_missing(one, bound, decision.test) for bound in (-BOUND, BOUND)]
        if rule.role and not rule.pooled and place[0] not in elsewhere and sides[1].enough:
            above, below = (recompute_test(one, bound, decision) for bound in (-BOUND, BOUND))
            found[place] = largest_p([counted(above.p, sides[0].above), counted(below.p_not, sides[1].below)])
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
    place: Place,
    findings: Findings,
    precision: Precision,
    p: Mapping[str, Mapping[Place, float]],
    below: bool,
    decision: Decision,
) -> int:
    """Return the code of a decision, from the q that a run has.

    Args:
        place: The finding.
        findings: Their q.
        precision: p and q of "explained".
        p: p and p_not of every finding, as families count them.
        below: Whether it may be called "not".
        decision: Its alpha.
    """
    if not findings.rules[place[0]].role:
        return -1
    for name, own, q in (
        ("role", p["p"][place], findings.q[place]),
        ("not", p["p_not"][place], findings.q_not[place] if below else nan),
        ("explained", precision.p_explained[place], precision.q_explained[place]),
    ):
        if q <= decision.alpha * (1 + TIE) and own <= decision.alpha:
            return DECISIONS.index(name)
    return DECISIONS.index("untestable" if isnan(findings.p[place]) else "undetermined")
