"""Compare two runs head by head: changed, equivalent within a bound, or undetermined.

Unit: the examples that share a unit in either run. Per unit and head the difference is the mean over its
examples of (score B − null B) − (score A − null A), where both are known. Every test is a one-sample test
of ``stats.methods`` applied to these differences, and its assumptions are about them: two skewed scores of
one shape differ symmetrically. The default of ``compare`` is ``t``: tails are heavy, and ``t-skew`` takes
their noise for skewness. Measured for a two-sided 5 % without any change, 50 / 100 / 400 units: ``t-skew``
6.4 / 5.8 / 5.2 % for symmetric heavy tails (Laplace) and 5.3 / 5.2 / 4.9 % for exponential differences;
``t`` 4.9 / 5.0 / 5.0 % and 6.6 / 6.0 / 5.1 %.

Two questions, each corrected by itself at alpha over the families of ``stats.families``:

- **change**. Null: the mean difference is 0. Two-sided: twice the smaller of the two one-sided p.
- **equivalence**. Null: the mean difference is −bound or less, or bound or more. Two one-sided tests (TOST)
  at alpha each, p is the larger of the two: only one half of the null can be true, so nothing is divided.
  It agrees with a 90 % interval inside ± bound at alpha 0.05. Source: Schuirmann (1987), "A comparison of
  the two one-sided tests procedure and the power approach", J. Pharmacokin. Biopharm. 15, 657-680.

A head is **identical** when the scores of every unit are the same in both runs, up to the rounding of single
precision (``SPREAD``). That is a fact about the scores, so it is stated without a test, at any number of
units. Its p enter the families all the same: heads that left because of their scores would change the
correction of the others.

A head is otherwise **equivalent** when its adjusted p of equivalence is at most alpha, even where a change is
detectable: it lies within ± bound. Otherwise a head is **changed** when its adjusted p of change is at most
alpha and its interval reaches beyond ± bound, else **undetermined**; with fewer than two units,
**untestable**. So rounding is no change, however certain: the bound is the smallest difference of interest,
at any number of units.

Both claims need 75 units, and must hold with units that the sample lacks (``claims``). In the correction p
is not the test's own, but the largest of that, of p of the units with three more at the worst difference of
any, and of the probability to miss units at the worst possible difference.

The promise covers each list as it is called: at most alpha false among "equivalent" and, separately, among
"changed". Heads that are equivalent, or whose interval lies within ± bound, leave the list of changed ones.
Left out after the correction, they would break a false discovery rate: true but tiny changes would lower the
bar for every head and then leave (a share of 0.4 false among "changed" is easily built). So their p of change
is set to 1 *before* the correction. This only raises p, so p stays valid. Source for rates over the reported
list: Katsevich, Sabatti and Bogomolov (2023), "Filtering the rejection set while preserving false discovery
rate control", JASA 118.

Step-down max-t: a change is one of two one-sided statements, so the differences and their negatives are one
family of twice the size, and the largest of both directions is the largest |t|. ``equivalence`` has the
other question.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.errors import BadInput
from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE, FEWEST_UNITS
from headroles.records.comparison import OUTCOMES, Differences
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.claims import further, guarded_p, missing_p, outcome_of, unseen_p, withhold
from headroles.stats.columns import Column, unit_numbers, values_per_unit, with_margin
from headroles.stats.comparing.equivalence import (
    Families,
    adjust_equivalence,
    equivalence_p,
    negate_column,
)
from headroles.stats.correction import significant
from headroles.stats.decision import check_decision
from headroles.stats.families import adjust_families, adjust_missing, family_members
from headroles.stats.max_t import max_t
from headroles.stats.methods.closed_form import SPREAD, Outcome, has_no_spread
from headroles.stats.methods.names import METHODS
from headroles.stats.moments import Sample, describe
from headroles.stats.resolution import check_resolution


def max_t_change(
    columns: Sequence[Column],
    families: Families,
    p: Float[np.ndarray, "sieves heads"],
    still: Bool[np.ndarray, "sieves heads"],
    decision: Decision,
) -> Float[np.ndarray, "sieves heads"]:
    """Return adjusted two-sided p of "no change": family-wise error, by the largest |t| of all heads.

    Args:
        columns: Differences against 0, on the same units.
        families: Parts that are corrected together.
        p: Unadjusted two-sided p, 1 where no change may be claimed; NaN where nothing could be tested.
        still: Heads without spread.
        decision: Test, resamples and seed.

    Returns:
        Values in [p, 1]; NaN where p is NaN.
    """
    many = len(columns)
    both = [
        *(with_margin(further(column, -1), 0.0) for column in columns),
        *(negate_column(further(column, 1), 0.0) for column in columns),
    ]
    doubled = [[*family, *((many + k, part) for k, part in family)] for family in families]
    sided = np.concatenate([p, p]) / 2
    (found,) = max_t(both, {}, doubled, (sided,), np.concatenate([still, still]), decision)
    missing = [[missing_p(each, each.sample, decision.test, side) for each in columns] for side in (1, -1)]
    guard = adjust_missing(np.minimum(1.0, 2 * np.max(np.array(missing), axis=0)), p, families, decision)
    adjusted: np.ndarray = np.maximum.reduce([np.minimum(found[:many], found[many:]), p, guard])
    return adjusted


IDENTICAL = OUTCOMES.index("identical")
BothRules = tuple[Sequence[Rule], Sequence[Rule]]


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """One sieve of both runs.

    Attributes:
        column: The differences, tested against 0; its bounds are those of a difference.
        mean_a: Mean score of run A over the units that count, on the score scale.
        mean_b: Mean score of run B.
        identical: Whether the scores of both runs are the same, example by example; False without any.
    """

    column: Column
    mean_a: Float[np.ndarray, " heads"]
    mean_b: Float[np.ndarray, " heads"]
    identical: Bool[np.ndarray, " heads"]


@dataclass(frozen=True, slots=True, eq=False)
class _ColumnTest:
    sample: Sample
    outcome: Outcome
    p: Float[np.ndarray, " heads"]
    counted: Float[np.ndarray, " heads"]
    p_equivalent: Float[np.ndarray, " heads"]
    counted_equivalent: Float[np.ndarray, " heads"]
    within: Bool[np.ndarray, " heads"]


def paired_differences(
    first: Scores, second: Scores, rules: BothRules, decision: Decision, bound: float
) -> Differences:
    """Test every head of every sieve for a change and for equivalence.

    Args:
        first: Scores of run A.
        second: Scores of run B: the same sieves, units and heads, the same examples in the same order.
        rules: Of run A and of run B, one per sieve, alike but for the bounds of the scores.
        decision: Test, correction, family, alpha, resamples, seed and interval.
        bound: Largest difference that counts as none, on the score scale; above 0.

    Returns:
        Differences in the order of the sieves; NaN where nothing could be tested.

    Raises:
        UnknownName: For a test, correction, family or interval that does not exist.
        BadInput: For another bound, numbers out of range, scores that do not fit each other, or too
            few resamples for the correction.
    """
    _check(first, second, rules, decision, bound)
    pairs = list(column_pairs(first, second, rules))
    tested = [_test(pair.column, decision, bound) for pair in pairs]
    q, q_equivalent = _adjust_both([pair.column for pair in pairs], tested, first, decision, bound)
    shape = (len(pairs), first.layers, first.heads)

    def grid(rows: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
        return np.stack(list(rows)).reshape(shape)

    return Differences(
        rules=tuple(rules[0]),
        count=grid([column.sample.count for column in tested]),
        mean_a=grid([pair.mean_a for pair in pairs]),
        mean_b=grid([pair.mean_b for pair in pairs]),
        difference=grid([column.sample.mean for column in tested]),
        effect=grid([_effect(column.sample) for column in tested]),
        low=grid([column.outcome.low for column in tested]),
        high=grid([column.outcome.high for column in tested]),
        statistic=grid([column.outcome.statistic for column in tested]),
        p=grid([column.p for column in tested]),
        q=grid(q),
        p_equivalent=grid([column.p_equivalent for column in tested]),
        q_equivalent=grid(q_equivalent),
        outcome=grid(
            np.where(
                np.stack([pair.identical for pair in pairs]),
                IDENTICAL,
                _decide(tested, q, q_equivalent, decision.alpha),
            )
        ),
    )


def column_pairs(first: Scores, second: Scores, rules: BothRules) -> Iterator[Pair]:
    """Yield the differences of every sieve over units, one sieve at a time."""
    units, heads = unit_numbers(first.units), first.layers * first.heads
    for position, (one, other) in enumerate(zip(*rules, strict=True)):
        before, after = (
            scores.values[position].reshape(len(units), heads).astype(np.float64)
            for scores in (first, second)
        )
        shift = first.null[position] - second.null[position]
        difference = after - before + shift[:, None]
        unknown = np.isnan(difference)
        alike = (np.abs(difference) <= SPREAD) | (np.isnan(before) & np.isnan(after))
        identical = alike.all(axis=0) & ~unknown.all(axis=0)
        before[unknown] = after[unknown] = np.nan
        shifts = shift[~unknown.all(axis=1)]
        weight = first.cells[position] if one.pooled else None
        column = Column(
            rule=replace(one, null=0.0, margin=0.0, contrast=""),
            values=values_per_unit(difference, units, weight),
            null=np.zeros(heads),
            low=other.low - one.high + (float(shifts.min()) if shifts.size else 0.0),
            high=other.high - one.low + (float(shifts.max()) if shifts.size else 0.0),
        )
        mean_a, mean_b = (describe(values_per_unit(each, units, weight)).mean for each in (before, after))
        yield Pair(column, mean_a, mean_b, identical)


def _test(column: Column, decision: Decision, bound: float) -> _ColumnTest:
    """Test one column, whose margin is 0, in both directions; p of a change is twice the smaller one."""
    sample, shown = column.sample, outcome_of(column, decision)
    sides = [
        guarded_p(unseen_p(column, decision, side), column, sample, decision.test, side) for side in (1, -1)
    ]
    enough = sample.count >= (ENOUGH_FOR_LITTLE if METHODS[decision.test].guarded else FEWEST_UNITS)
    low, high = (outcome_of(column, decision, theta, ends=False) for theta in (-bound, bound))
    return _ColumnTest(
        sample=sample,
        outcome=shown,
        p=np.minimum(1.0, 2 * np.minimum(shown.p, shown.p_not)),
        counted=withhold(np.minimum(1.0, 2 * np.minimum(*sides)), enough),
        p_equivalent=np.maximum(low.p, high.p_not),
        counted_equivalent=equivalence_p(column, decision, bound)[1],
        within=(shown.low > -bound) & (shown.high < bound),
    )


def _effect(sample: Sample) -> Float[np.ndarray, " heads"]:
    effect: np.ndarray = sample.mean / np.where(has_no_spread(sample), np.nan, sample.sd)
    return effect


def _adjust_both(
    columns: Sequence[Column], tested: Sequence[_ColumnTest], grid: Scores, decision: Decision, bound: float
) -> tuple[Float[np.ndarray, "sieves heads"], Float[np.ndarray, "sieves heads"]]:
    """Return adjusted p of change and of equivalence; heads within the bound enter the first with p = 1."""
    families = family_members([column.rule for column in columns], grid.layers, grid.heads, decision.family)
    equals = np.stack([column.counted_equivalent for column in tested])
    q_equivalent = adjust_equivalence(columns, families, equals, decision, [bound] * len(columns))
    within = np.stack([column.within for column in tested]) & ~np.isnan(q_equivalent)
    no_change = within | _equivalent(tested, q_equivalent, decision.alpha)
    p = np.stack([column.counted for column in tested])
    if decision.correction == "maxT":
        still = np.stack([has_no_spread(column.sample) for column in tested])
        q = max_t_change(columns, families, p, still, decision)
        return np.where(no_change, 1.0, q), q_equivalent
    changed = adjust_families(np.where(no_change, 1.0, p), families, decision.correction, decision.alpha)
    return changed, q_equivalent


def _equivalent(
    tested: Sequence[_ColumnTest], q_equivalent: Float[np.ndarray, "sieves heads"], alpha: float
) -> Bool[np.ndarray, "sieves heads"]:
    """Return whether heads are called equivalent: significant, with enough units."""
    p = np.stack([column.counted_equivalent for column in tested])
    equivalent: np.ndarray = significant(q_equivalent, alpha, p)
    return equivalent


def _decide(
    tested: Sequence[_ColumnTest],
    q: Float[np.ndarray, "sieves heads"],
    q_equivalent: Float[np.ndarray, "sieves heads"],
    alpha: float,
) -> Int[np.ndarray, "sieves heads"]:
    decided = np.full(q.shape, 2, dtype=np.int8)
    decided[significant(q, alpha, np.stack([column.counted for column in tested]))] = 0
    decided[_equivalent(tested, q_equivalent, alpha)] = 1
    decided[np.isnan(q)] = 3
    return decided


def _check(first: Scores, second: Scores, rules: BothRules, decision: Decision, bound: float) -> None:
    check_decision(decision)
    if METHODS[decision.test].bounded is not None:
        raise BadInput(
            f"differences of two runs have no bounds that are stated before any data, but the test "
            f"{decision.test!r} needs them; compare by another test, such as t-skew"
        )
    if not 0 < bound < float("inf"):
        raise BadInput(
            f"the bound is the largest difference that counts as none, a number above 0 on the scale of the "
            f"scores, but got {bound}"
        )
    for name in ("sieves", "units"):
        if getattr(first, name) != getattr(second, name):
            raise BadInput(f"runs are compared on the same {name} in the same order, but these differ")
    if first.values.shape != second.values.shape or not len(rules[0]) == len(rules[1]) == len(first.sieves):
        raise BadInput(
            f"runs are compared head by head with one rule a sieve, but got scores of "
            f"{first.values.shape} and {second.values.shape} with {len(rules[0])} and {len(rules[1])} rules"
        )
    try:
        check_resolution(replace(decision, alpha=decision.alpha / 2), rules[0], first.layers, first.heads)
    except BadInput as error:
        raise BadInput(f"{error} (changes are tested in both directions, so alpha is halved here)") from error
