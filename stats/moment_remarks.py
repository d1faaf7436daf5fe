"""What a reader must know of decisions that rest on sums over random groups."""

from collections.abc import Sequence

from headroles.records.example import Decision, Rule, Scores
from headroles.records.moments import Moments
from headroles.stats.columns import Columns
from headroles.stats.engine import ENOUGH_FOR_NOT
from headroles.stats.families import with_contrast
from headroles.stats.grouped import equal_groups
from headroles.stats.hypotheses import flat
from headroles.stats.methods import METHODS
from headroles.stats.moments import describe
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
    return said + _few(moments, columns.rules, groups) + _still(columns)


def _few(moments: Moments, rules: Sequence[Rule], groups: int) -> list[str]:
    """Roles that rest on few groups, with the fewest that any of their heads or contrasts has."""
    least, contrast = [], dict(with_contrast(rules))
    for weight in moments.weight.reshape(len(rules), groups, -1):
        least.append(int(equal_groups(weight[:, weight.any(axis=0)]).min(initial=groups)))
    both = [min(each, least[contrast.get(k, k)]) for k, each in enumerate(least)]
    few = [
        f"{rule.sieve} ({each})"
        for rule, each in zip(rules, both, strict=True)
        if rule.role and each < ENOUGH_FOR_NOT
    ]
    if not few:
        return []
    return [
        f"the scores of {shortened(few)}, or of their contrasts, lie in few units, or mostly in a few large "
        f"ones, so that the random groups say as much as so many of equal weight: below {ENOUGH_FOR_NOT} no "
        f"head is called 'not', and tests err more often than alpha says."
    ]


def _still(columns: Columns) -> list[str]:
    """Roles with heads whose scores, or contrasts, are the same on every example."""
    contrast = dict(with_contrast(columns.rules))
    equal = [flat(column.told(describe(column.values))) for column in columns]
    heads = [int((each | equal[contrast.get(k, k)]).sum()) for k, each in enumerate(equal)]
    still = [
        f"{rule.sieve} ({each})"
        for rule, each in zip(columns.rules, heads, strict=True)
        if rule.role and each
    ]
    if not still:
        return []
    return [
        f"heads that score the same on every example are untestable: {shortened(still)}; a rare large unit "
        f"could hold most examples, so that equal scores of many units do not bound the mean of all examples."
    ]
