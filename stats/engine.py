"""judge(): scores and rules to findings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.outcomes import Findings
from headroles.records import Decision, Rule, Scores
from headroles.stats.columns import Column, Columns, settled
from headroles.stats.correction import significant
from headroles.stats.families import adjust_families, both_beyond, either_below, members, with_contrast
from headroles.stats.hypotheses import Outcome, flat
from headroles.stats.intervals import interval_of
from headroles.stats.maxt import max_t
from headroles.stats.methods import METHODS
from headroles.stats.moments import Sample, describe
from headroles.stats.resolution import check_decision, check_resolution, check_rules

ENOUGH_FOR_NOT = 50
"""Units below which "not" is never said: a rare-event score at the margin looks absent too often."""


@dataclass(frozen=True, slots=True, eq=False)
class _Tested:
    sample: Sample
    null: Float[np.ndarray, " heads"]
    outcome: Outcome


def judge(scores: Scores, rules: Sequence[Rule], decision: Decision) -> Findings:
    """Test every sieve and head against its θ, correct over families, and decide.

    Unit: ``scores.units``; the scores of one unit are averaged first. Each head × sieve is tested
    one-sided in both directions (null, alternative and assumptions: ``stats.methods``). A sieve
    with a contrast is a role only when both means lie beyond their margins: p is the larger of the
    two (intersection-union), and for "not" ``min(1, 2 × the smaller)``. Roles and nots are two
    separate families of p values, each corrected at alpha: at most alpha false among the roles
    and, separately, among the nots.

    Args:
        scores: One number per sieve, example and head.
        rules: One per sieve of ``scores``, in that order; a contrast is one of them.
        decision: Test, correction, family, alpha, resamples, seed and interval.

    Returns:
        Findings in the order of ``rules``. Heads with fewer than 2 units, or without spread and
        without known bounds, are untestable: NaN, left out of every family.

    Raises:
        UnknownName: For a test, correction, family or interval that does not exist.
        BadInput: For numbers out of range, rules that do not fit the scores, or too few resamples
            for the correction.
    """
    check_decision(decision)
    check_rules(rules, scores.sieves)
    check_resolution(decision, rules, scores.layers, scores.heads)
    columns = Columns(scores, rules)
    tested = [_test(column, decision) for column in columns]
    p = both_beyond(np.stack([each.outcome.p for each in tested]), rules)
    p_not = either_below(np.stack([each.outcome.p_not for each in tested]), rules)
    count = np.stack([each.sample.count for each in tested])
    q, q_not = _adjusted(columns, [each.sample for each in tested], (p, p_not), scores, decision)
    shape = (len(rules), scores.layers, scores.heads)

    def grid(rows: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
        return np.stack(list(rows)).reshape(shape)

    def level(values: Sequence[float]) -> np.ndarray:
        return np.repeat(np.asarray(values, dtype=np.float64), shape[1] * shape[2]).reshape(shape)

    null = grid([each.null for each in tested])
    return Findings(
        rules=tuple(rules),
        count=grid(count),
        cells=level(_cells(scores)),
        mean=grid([each.sample.mean for each in tested]) + null,
        null=null,
        margin=level([rule.margin for rule in rules]),
        effect=grid([_effect(each.sample, rule) for each, rule in zip(tested, rules, strict=True)]),
        low=grid([each.outcome.low for each in tested]) + null,
        high=grid([each.outcome.high for each in tested]) + null,
        statistic=grid([each.outcome.statistic for each in tested]),
        p=grid(p),
        q=grid(q),
        p_not=grid(p_not),
        q_not=grid(q_not),
        decision=grid(_decide(rules, count, (p, q), (p_not, q_not), decision.alpha)),
    )


def _test(column: Column, decision: Decision) -> _Tested:
    sample = describe(column.values)
    method = METHODS[decision.test]
    outcome = method(column.values, sample, column.rule.margin, decision.resamples, decision.seed)
    outcome = interval_of(decision, column.values, sample, outcome)
    return _Tested(sample, column.null, settled(outcome, column, sample))


def _adjusted(
    columns: Columns,
    samples: Sequence[Sample],
    p: tuple[np.ndarray, np.ndarray],
    scores: Scores,
    decision: Decision,
) -> tuple[Float[np.ndarray, "sieves heads"], Float[np.ndarray, "sieves heads"]]:
    """Correct both directions, each over its own families."""
    rules = columns.rules
    families = members(rules, scores.layers, scores.heads, decision.family)
    if decision.correction != "maxT":
        role, not_role = (
            adjust_families(each[:, None], families, decision.correction, decision.alpha)[:, 0] for each in p
        )
        return role, not_role
    still = np.stack([flat(sample) for sample in samples])
    pairs = with_contrast(rules)
    for k, other in pairs:
        still[k] |= still[other]
    return max_t(list(columns), dict(pairs), families, p, still, decision)


def _effect(sample: Sample, rule: Rule) -> Float[np.ndarray, " heads"]:
    spread = np.where(flat(sample), np.nan, sample.sd)
    effect: np.ndarray = (sample.mean - rule.margin) / spread
    return effect


def _cells(scores: Scores) -> list[float]:
    """Mean eligible cells over the examples that say something; NaN when none does."""
    known = ~np.isnan(scores.cells)
    total = np.where(known, scores.cells, 0.0).sum(axis=1)
    count = known.sum(axis=1)
    return [float(each / many) if many else float("nan") for each, many in zip(total, count, strict=True)]


def _decide(
    rules: Sequence[Rule],
    count: np.ndarray,
    role: tuple[np.ndarray, np.ndarray],
    not_role: tuple[np.ndarray, np.ndarray],
    alpha: float,
) -> Int[np.ndarray, "sieves heads"]:
    """Decisions from p and adjusted p of both directions."""
    (p, q), (p_not, q_not) = role, not_role
    decided = np.full(q.shape, 2, dtype=np.int8)
    decided[significant(q_not, alpha, p_not) & enough_for_not(rules, count)] = 1
    decided[significant(q, alpha, p)] = 0
    decided[np.isnan(q)] = 3
    decided[[not rule.role for rule in rules]] = -1
    return decided


def enough_for_not(
    rules: Sequence[Rule], count: Int[np.ndarray, "sieves heads"]
) -> Bool[np.ndarray, "sieves heads"]:
    """Whether a "not" may be said: enough units of the sieve, and of its contrast."""
    enough: np.ndarray = count >= ENOUGH_FOR_NOT
    for k, other in with_contrast(rules):
        enough[k] &= enough[other]
    return enough
