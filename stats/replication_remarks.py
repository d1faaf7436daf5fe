"""On how much of run B the roles of run A are tested."""

from collections.abc import Sequence

from headroles.records.example import Decision, Rule, Scores
from headroles.records.moments import Moments
from headroles.stats.engine import ENOUGH_FOR_NOT
from headroles.stats.grouped import equal_groups
from headroles.stats.methods import METHODS


def resting_told(
    scores: Scores, rules: Sequence[Rule], decision: Decision, moments: Moments | None = None
) -> list[str]:
    """What was tested where B kept sums, and whether B is large enough for nots; one sentence each.

    Args:
        scores: Of B; of the subsample where it kept sums.
        rules: Of the columns that are tested, contrasts included.
        decision: How B is judged.
        moments: Of all examples of B; None where it kept all scores.
    """
    units, said = len(set(scores.units)), list[str]()
    told = f"B has {units} units"
    if moments is not None and METHODS[decision.test].ranked is not None:
        said.append(
            f"B kept sums of {moments.examples:,} inputs, which say nothing about medians: {decision.test} "
            f"tests its roles on a random {len(scores.examples):,} of them."
        )
    elif moments is not None:
        said.append(
            f"B kept sums of {moments.examples:,} inputs: its roles are tested on all of them, random groups "
            f"standing in for units (count is of inputs)."
        )
        units = _fewest(moments, rules)
        told = f"in its sparsest column B says as much as {units} random groups of equal weight"
    if units < ENOUGH_FOR_NOT:
        said.append(f"{told}; 'not' is said from {ENOUGH_FOR_NOT} on, so what does not hold stays open.")
    return said


def _fewest(moments: Moments, rules: Sequence[Rule]) -> int:
    """Groups of equal weight that say as much, in the column and head where they are fewest; 0 left out."""
    least = float(moments.weight.shape[1])
    for rule in rules:
        weight = moments.weight[moments.sieves.index(rule.sieve)]
        even = equal_groups(weight.reshape(len(weight), -1))
        least = min(least, even[even > 0].min(initial=least))
    return int(least)
