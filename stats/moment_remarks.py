"""What a reader must know of decisions that rest on sums over random groups."""

from headroles.moments import Moments
from headroles.records import Decision, Scores
from headroles.stats.columns import Columns
from headroles.stats.engine import ENOUGH_FOR_NOT
from headroles.stats.grouped import equal_groups
from headroles.stats.methods import METHODS
from headroles.stats.naming import shortened


def moment_remarks(moments: Moments, scores: Scores, columns: Columns, decision: Decision) -> list[str]:
    """What was kept of the scores and what tests were made with; and where groups are too few for nots.

    Args:
        moments: Of all examples.
        scores: Of the subsample.
        columns: What was tested.
        decision: How.
    """
    total, some = f"{moments.examples:,}", f"{len(scores.examples):,}"
    if METHODS[decision.test].ranked is not None:
        return [
            f"of {total} examples the scores of a random {some} were kept, and {decision.test} tests these: "
            f"sums over all of them, which were kept too, say nothing about medians."
        ]
    groups = len(columns[0].values)
    said = [
        f"of {total} examples sums over {groups} random groups were kept, and the scores of a random {some}: "
        f"means, tests, intervals, half-samples and overlaps are of all examples, the groups standing in for "
        f"units and every example weighing the same (count is of examples, effect in standard deviations "
        f"over them); distributions and typical inputs are of the random {some}."
    ]
    few = []
    for position, rule in enumerate(columns.rules):
        weight = moments.weight[position].reshape(groups, -1)
        even = equal_groups(weight[:, weight.any(axis=0)])
        least = int(even.min(initial=groups))
        if rule.role and least < ENOUGH_FOR_NOT:
            few.append(f"{rule.sieve} ({least})")
    if few:
        said.append(
            f"the scores of {shortened(few)} lie in few units, or mostly in a few large ones, so that the "
            f"random groups say as much as so many of equal weight: below {ENOUGH_FOR_NOT} no head is called "
            f"'not', and tests err more often than alpha says."
        )
    return said
