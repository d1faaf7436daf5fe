"""Judge scores: test every sieve and head, correct over families, and decide (``judge``)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.moments import Moments
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.claims import enough_for_not, guarded_p, missing_p, outcome_of, withhold
from headroles.stats.columns import Column, Columns
from headroles.stats.correction import significant
from headroles.stats.decision import BETTING, check_bounds, check_decision
from headroles.stats.families import (
    adjust_families,
    adjust_missing,
    adjust_own_families,
    contrast_pairs,
    explaining_contrasts,
    family_members,
    joint_explained_p,
    joint_role_p,
    stronger_pairs,
)
from headroles.stats.grouped import GroupColumns
from headroles.stats.max_t import max_t
from headroles.stats.methods.closed_form import Outcome, has_no_spread
from headroles.stats.methods.names import METHODS
from headroles.stats.moments import Sample
from headroles.stats.resolution import check_resolution, check_rules


@dataclass(frozen=True, slots=True, eq=False)
class _ColumnTest:
    sample: Sample
    counted: Sample
    enough: Bool[np.ndarray, " heads"]
    missing: tuple[Float[np.ndarray, " heads"], Float[np.ndarray, " heads"]]
    null: Float[np.ndarray, " heads"]
    outcome: Outcome


def judge(
    scores: Scores,
    rules: Sequence[Rule],
    decision: Decision,
    moments: Moments | None = None,
    *,
    intervals: bool = True,
) -> Findings:
    """Test every sieve and head against its θ, correct over families, and decide.

    Unit: ``scores.units``; the scores of one unit are averaged first. Each head × sieve is tested
    one-sided in both directions (null, alternative and assumptions: ``stats.methods``). A sieve
    with a contrast is a role only when both means lie beyond their margins: p is the larger of the
    two (intersection-union). It is explained when its own mean lies beyond θ and that of the contrast
    below its margin (``joint_explained_p``). "not" is about the sieve's own mean alone. Roles, nots and
    explained heads are three separate families of p values, each corrected at alpha: at most alpha
    false among each.

    Args:
        scores: One number per sieve, example and head.
        rules: One per sieve of ``scores``, in that order; a contrast is one of them.
        decision: Test, correction, family, alpha, resamples, seed and interval.
        moments: Sums over random groups of all examples, where ``scores`` are a subsample of them: what
            tests of means then rest on (``evidence_columns``).
        intervals: Whether the intervals of the decision are wanted. Without, they have no meaning.

    Returns:
        Findings in the order of ``rules``. No label hinges on few units (``methods.reliance``): p is the
        test's own, and counts in the correction as at least that of units that are missing. Below 20 units
        (or groups) nothing is decided. Heads with fewer than 2 units, or without spread and without known
        bounds (or pooled, or from moments), are untestable: NaN, left out of every family.

    Raises:
        UnknownName: For a test, correction, family or interval that does not exist.
        BadInput: For numbers out of range, rules that do not fit the scores, or too few resamples
            for the correction.
    """
    check_decision(decision)
    check_rules(rules, scores.sieves)
    check_bounds(decision, rules, summed=moments is not None)
    check_resolution(decision, rules, scores.layers, scores.heads)
    columns = evidence_columns(scores, rules, decision, moments)
    tested = [_test(column, decision, intervals) for column in columns]
    own_p, p_not = (np.stack([getattr(column.outcome, name) for column in tested]) for name in ("p", "p_not"))
    above, below = (np.stack([column.missing[side] for column in tested]) for side in (0, 1))
    p = joint_role_p(own_p, rules)
    enough = np.stack([column.enough for column in tested])
    said = np.where(enough, np.maximum(p_not, below), p_not)
    layout = (scores.layers, scores.heads)
    q, q_not = _adjust_both(columns, (own_p, above), (said, below), tested, decision, layout)
    guarded = np.maximum(own_p, above)
    p_explained = joint_explained_p(guarded, said, enough, rules, decision.test == BETTING)
    families = family_members(rules, scores.layers, scores.heads, decision.family)
    q_explained = adjust_own_families(p_explained, families, decision)
    joint = joint_role_p(guarded, rules)
    outcomes = ((joint, q), (said, np.where(enough, q_not, np.nan)), (p_explained, q_explained))
    units = np.stack([column.sample.count for column in tested])
    shape = (len(rules), scores.layers, scores.heads)

    def grid(rows: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
        return np.stack(list(rows)).reshape(shape)

    def level(values: Sequence[float]) -> np.ndarray:
        return np.repeat(np.asarray(values, dtype=np.float64), shape[1] * shape[2]).reshape(shape)

    null = grid([column.null for column in tested])
    return Findings(
        rules=tuple(rules),
        count=grid([column.counted.count for column in tested]),
        cells=level(columns.cells()),
        mean=grid([column.sample.mean for column in tested]) + null,
        null=null,
        margin=level([rule.margin for rule in rules]),
        effect=grid([_effect(column.counted, rule) for column, rule in zip(tested, rules, strict=True)]),
        low=grid([column.outcome.low for column in tested]) + null,
        high=grid([column.outcome.high for column in tested]) + null,
        statistic=grid([column.outcome.statistic for column in tested]),
        p=grid(p),
        q=grid(q),
        p_not=grid(p_not),
        q_not=grid(q_not),
        decision=grid(_decide(rules, outcomes, decision.alpha, units >= METHODS[decision.test].fewest)),
    )


def evidence_columns(
    scores: Scores, rules: Sequence[Rule], decision: Decision, moments: Moments | None = None
) -> Columns:
    """Return the columns that are tested: scores over units; or, from moments, random groups of examples.

    Tests of means, by formula or by resampling, take the groups where there are any: they hold all
    examples, and their number is enough for any resampling. Tests of a median take the scores, which are
    then of a subsample: the median of group means is not that of scores.
    """
    if moments is None or METHODS[decision.test].ranked is not None:
        return Columns(scores, rules)
    return GroupColumns(moments, rules)


def mean_intervals(
    columns: Columns, findings: Findings, decision: Decision
) -> tuple[Float[np.ndarray, "sieves layers heads"], Float[np.ndarray, "sieves layers heads"]]:
    """Return the ends of the 95 % interval of every mean itself, whatever its chance values.

    Findings have the interval of the difference from the chance value, laid around the mean. Where chance
    values differ between inputs (the baselines of probes) the two are not the same: inputs that are hard
    for the head are hard for the baseline, so the difference varies less. Unit, estimand, assumptions and
    formula are those of the test's own interval (``interval_of``), on scores instead of differences.

    Args:
        columns: The columns that were tested.
        findings: Their outcome.
        decision: As they were judged.

    Returns:
        Lower and upper ends, on the score scale; NaN where there is no interval, and where scores were kept
        as sums of differences from chance values that differ.
    """
    low, high = findings.low.copy(), findings.high.copy()
    for position in range(len(columns)):
        column = columns.without_chance(position)
        if column is not None:
            outcome = _test(column, decision).outcome
            low[position], high[position] = (
                ends.reshape(low.shape[1:]) for ends in (outcome.low, outcome.high)
            )
    return low, high


def column_interval(
    column: Column, decision: Decision
) -> tuple[Float[np.ndarray, " heads"], Float[np.ndarray, " heads"], Float[np.ndarray, " heads"]]:
    """Return the mean of one column and the ends of its 95 % interval, per head; NaN where there is none.

    Args:
        column: Any numbers over units, whose rule has the margin 0.
        decision: Test and interval of the run.
    """
    tested = _test(column, decision)
    return tested.sample.mean, tested.outcome.low, tested.outcome.high


def explained_p(
    columns: Columns, findings: Findings, decision: Decision
) -> Float[np.ndarray, "sieves heads"]:
    """Return p of "explained" of judged columns, as ``joint_explained_p`` states it.

    Findings hold the joint p of roles, from which the p of the score alone does not follow. So the score is
    tested again.

    Args:
        columns: The columns that were tested.
        findings: Their outcome.
        decision: As they were judged.

    Returns:
        One p per column and head; NaN without a contrast, or below enough units.
    """
    shape = (len(columns), findings.count[0].size)
    p, enough = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    p_not = findings.p_not.reshape(shape).copy()
    for k, others in explaining_contrasts(columns.rules):
        tested = _test(columns[k], decision)
        p[k] = np.maximum(tested.outcome.p, tested.missing[0])
        enough[k] = tested.enough
        for other in others:
            column = columns[other]
            enough[other] = enough_for_not(column, decision.test)
            p_not[other] = guarded_p(p_not[other], column, column.sample, decision.test, -1)
    return joint_explained_p(p, p_not, enough, columns.rules, decision.test == BETTING)


def counted_p(
    columns: Columns, findings: Findings, decision: Decision
) -> tuple[Float[np.ndarray, "sieves layers heads"], Float[np.ndarray, "sieves layers heads"]]:
    """Return p of roles and of nots as their families count them, with units that are missing.

    Args:
        columns: The columns that were tested.
        findings: Their outcome.
        decision: As they were judged.

    Returns:
        p and p_not of the findings, guarded; both are 1 below enough units. NaN stays NaN.
    """
    shape = (len(columns), findings.count[0].size)
    above, p_not = np.zeros(shape), findings.p_not.reshape(shape).copy()
    for k, column in enumerate(columns):
        missing = missing_p(column, column.sample, decision.test, 1)
        above[k] = withhold(missing, column.sample.count >= METHODS[decision.test].fewest)
        guarded = guarded_p(p_not[k], column, column.sample, decision.test, -1)
        p_not[k] = withhold(guarded, enough_for_not(column, decision.test))
    p = np.maximum(findings.p.reshape(shape), joint_role_p(above, columns.rules))
    return p.reshape(findings.p.shape), p_not.reshape(findings.p.shape)


def _test(column: Column, decision: Decision, intervals: bool = True) -> _ColumnTest:
    sample = column.sample
    return _ColumnTest(
        sample=sample,
        counted=column.counted(sample),
        enough=enough_for_not(column, decision.test),
        missing=(
            missing_p(column, sample, decision.test, 1),
            missing_p(column, sample, decision.test, -1),
        ),
        null=column.null,
        outcome=outcome_of(column, decision, ends=intervals),
    )


def _adjust_both(
    columns: Columns,
    role: tuple[Float[np.ndarray, "sieves heads"], Float[np.ndarray, "sieves heads"]],
    not_role: tuple[Float[np.ndarray, "sieves heads"], Float[np.ndarray, "sieves heads"]],
    tested: Sequence[_ColumnTest],
    decision: Decision,
    grid: tuple[int, int],
) -> tuple[Float[np.ndarray, "sieves heads"], Float[np.ndarray, "sieves heads"]]:
    """Return q and q_not: both directions corrected, each over its own families.

    Each direction has p of the test and p of missing units, of every column by itself for roles. Under maxT
    the second is corrected by Holm's method, and a strong role's q, in the row of a second contrast, too.
    """
    rules = columns.rules
    families = family_members(rules, *grid, decision.family)
    joint = joint_role_p(np.maximum(*role), rules)
    if decision.correction != "maxT":
        q, q_not = (
            adjust_families(p, families, decision.correction, decision.alpha) for p in (joint, not_role[0])
        )
        return q, q_not
    still = np.stack([has_no_spread(column.counted) for column in tested])
    q, q_not = max_t(
        list(columns), dict(contrast_pairs(rules)), families, (joint, not_role[0]), still, decision
    )
    missing = (
        (joint_role_p(role[1], rules), joint_role_p(role[0], rules)),
        (not_role[1], not_role[0]),
    )
    q, q_not = (
        np.maximum(found, adjust_missing(own, p, families, decision))
        for found, (own, p) in zip((q, q_not), missing, strict=True)
    )
    strong = [other for _, other in stronger_pairs(rules)]
    q[strong] = adjust_families(joint, families, "holm", decision.alpha)[strong]
    return q, q_not


def _effect(sample: Sample, rule: Rule) -> Float[np.ndarray, " heads"]:
    spread = np.where(has_no_spread(sample), np.nan, sample.sd)
    effect: np.ndarray = (sample.mean - rule.margin) / spread
    return effect


def _decide(
    rules: Sequence[Rule],
    outcomes: Sequence[tuple[np.ndarray, np.ndarray]],
    alpha: float,
    enough: Bool[np.ndarray, "sieves heads"],
) -> Int[np.ndarray, "sieves heads"]:
    """Return decisions from p and adjusted p of roles, of nots and of explained heads, in that order.

    Without enough units nothing is decided.
    """
    decided = np.where(np.isnan(outcomes[0][0]), 3, 2).astype(np.int8)
    for code, (p, q) in zip((4, 1, 0), reversed(outcomes), strict=True):
        decided[significant(q, alpha, p) & enough] = code
    decided[[not rule.role for rule in rules]] = -1
    return decided
