"""Check that a decision can be carried out on some scores: rules that fit them, and enough resamples."""

import math
from collections.abc import Sequence

from headroles.errors import BadInput
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.decision import check_bounds
from headroles.stats.families import family_members
from headroles.stats.methods.names import METHODS
from headroles.stats.power import assumed_cut


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

    A test by betting is refused where bounds are not stated (``check_bounds``).

    Raises:
        BadInput: With the number of resamples required.
    """
    check_bounds(decision, rules)
    required = fewest_resamples(decision, rules, layers, heads)
    if decision.resamples < required:
        tests = largest_family(decision.family, rules, layers, heads)
        level = required_p(decision.correction, decision.alpha, max(tests, 1))
        raise BadInput(
            f"{decision.test} with {decision.correction} over {tests} tests at alpha {decision.alpha:g} "
            f"needs a p of {level:.2g}, but {decision.resamples} resamples cannot go below "
            f"{1 / (decision.resamples + 1):.2g}; give at least {required} resamples, or another "
            f"correction, family or test"
        )


def fewest_resamples(decision: Decision, rules: Sequence[Rule], layers: int, heads: int) -> int:
    """Return how many resamples the largest family needs so that a p can pass its correction; 0 for none."""
    resampled = METHODS[decision.test].resampled is not None
    if not resampled and decision.correction != "maxT":
        return 0
    tests = largest_family(decision.family, rules, layers, heads)
    return math.ceil(1 / required_p(decision.correction, decision.alpha, max(tests, 1)) - 1 - 1e-9)


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
