"""Check that a decision can be carried out: known names, numbers in range, enough resamples."""

import math
from collections.abc import Sequence

from headroles.errors import BadInput, UnknownName
from headroles.records.example import Decision, Rule
from headroles.stats.correction import CORRECTIONS
from headroles.stats.effects import INTERVALS
from headroles.stats.families import FAMILIES, family_members
from headroles.stats.methods.names import METHODS
from headroles.stats.power import assumed_cut

ALL_CORRECTIONS = (*CORRECTIONS, "maxT")
STUDENTISED = ("t-skew", "t", "bootstrap-t", "sign-flip")
"""Tests whose heads can be resampled together by max-t."""
FEWEST, MOST = 99, 1_000_000
"""Fewest and most resamples, or swaps of two runs, that are allowed."""


def check_decision(decision: Decision) -> None:
    """Refuse unknown names and numbers out of range.

    Raises:
        UnknownName: For a test, correction, family or interval that does not exist.
        BadInput: For another alpha, seed or number of resamples, or max-t with a test it does not fit.
    """
    for kind, name, known in (
        ("test", decision.test, tuple(METHODS)),
        ("correction", decision.correction, ALL_CORRECTIONS),
        ("family", decision.family, FAMILIES),
        ("interval", decision.interval, INTERVALS),
    ):
        if name not in known:
            raise UnknownName(kind, name, known)
    if not 0 < decision.alpha < 1:
        raise BadInput(f"alpha must lie between 0 and 1, both excluded, but got {decision.alpha}")
    if not FEWEST <= decision.resamples <= MOST:
        raise BadInput(
            f"resamples must be a whole number of at least {FEWEST} and at most {MOST:,}, but got "
            f"{decision.resamples}"
        )
    if decision.seed < 0:
        raise BadInput(
            f"the seed of resampling must be a whole number of at least 0, but got {decision.seed}"
        )
    if decision.correction == "maxT" and decision.test not in STUDENTISED:
        raise BadInput(
            f"maxT compares studentised means, but the test {decision.test!r} tests something else; "
            f"take one of {', '.join(STUDENTISED)}, or another correction"
        )


def check_rules(rules: Sequence[Rule], sieves: Sequence[str]) -> None:
    """Refuse rules that are not those of the scores.

    Raises:
        BadInput: When their names or number differ, or a contrast is missing.
    """
    names = [rule.sieve for rule in rules]
    if len(names) != len(sieves):
        raise BadInput(
            f"scores are judged by one rule a sieve, but got {len(names)} rules for {len(sieves)} sieves"
        )
    for rule in rules:
        if rule.contrast and rule.contrast not in names:
            raise BadInput(
                f"{rule.sieve!r} is a role only with its contrast {rule.contrast!r}, but no rule has that "
                f"name; give the contrast's scores and rule too"
            )


def check_resolution(decision: Decision, rules: Sequence[Rule], layers: int, heads: int) -> None:
    """Refuse a test by resampling whose smallest p could never pass the correction.

    With N resamples no p is below 1/(N + 1). A family-wise correction of m tests needs alpha/m; a
    false discovery rate needs alpha when every head holds the role (alpha over the harmonic sum for
    ``fdr_by``), and so does ``maxT``, whose p are adjusted already.

    Raises:
        BadInput: With the number of resamples required.
    """
    resampled = METHODS[decision.test].resampled is not None
    if not resampled and decision.correction != "maxT":
        return
    tests = largest_family(decision.family, rules, layers, heads)
    level = required_p(decision.correction, decision.alpha, max(tests, 1))
    required = math.ceil(1 / level - 1 - 1e-9)
    if decision.resamples < required:
        raise BadInput(
            f"{decision.test} with {decision.correction} over {tests} tests at alpha {decision.alpha:g} "
            f"needs a p of {level:.2g}, but {decision.resamples} resamples cannot go below "
            f"{1 / (decision.resamples + 1):.2g}; give at least {required} resamples, or another "
            f"correction, family or test"
        )


def largest_family(family: str, rules: Sequence[Rule], layers: int, heads: int) -> int:
    """Return how many tests the largest family of roles holds, when every head can be tested."""
    roles = [rule for rule in rules if rule.role]
    sizes = [
        sum(part.stop - part.start for _, part in parts)
        for parts in family_members(roles, layers, heads, family)
    ]
    return max(sizes, default=0)


def required_p(correction: str, alpha: float, tests: int) -> float:
    """Return the p that one test of the family must reach, in the best case for it."""
    return alpha if correction == "maxT" else assumed_cut(correction, alpha, tests, 1.0)
