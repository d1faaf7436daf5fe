"""Replicate: test the roles that one run proposed on the units of another, and count those that hold."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.records.example import Scores
from headroles.records.findings import DECISIONS, Findings
from headroles.records.layers import plain_stack
from headroles.records.moments import Moments
from headroles.records.replication import BEST, GAPS, REPLICATES
from headroles.records.rules.rule import Decision, Rule
from headroles.records.table import Row, Table
from headroles.stats.correction import adjust, significant
from headroles.stats.decision import CORRECTIONS, ENOUGH_FOR_NOT
from headroles.stats.engine import judge
from headroles.stats.grouped import equal_groups
from headroles.stats.methods.names import METHODS
from headroles.stats.probes.best_head import BEYOND


@dataclass(frozen=True, slots=True)
class _Proposal:
    """One head of one column, and the family that it is corrected with; no family: not tested."""

    column: int
    place: int
    family: str | None


def replicate_roles(
    before: Findings,
    scores: Scores,
    rules: Sequence[Rule],
    decision: Decision,
    moments: Moments | None = None,
    independent: bool = True,
) -> Table:
    """Test the roles of run A on the units of run B.

    H0 per role of A: in the population B's units come from, the mean of score − null is at most the
    margin (and for a column with a contrast: or that of the contrast is); "not" the other way round, for
    the score alone. "Explained" is decided as in ``judge``, over families of the same roles.
    Unit: that of B; where B kept sums, the random group. Test, margin and contrast are those of A. A
    family is what A proposed: the roles of A in one column (or in the columns of one row of a probe;
    ``decision.family`` may ask for other families). It is fixed before B is looked at, so p of B are
    corrected over these roles only, and nothing has to be paid for having searched in A. Assumptions:
    those of ``decision.test``; units of B independent of those of A. Where they are not, all heads of these
    columns are the family, which holds whatever A chose, by a correction such as Bonferroni's.

    Args:
        before: Findings of A.
        scores: Of B, columns in the order of ``before``.
        rules: Of B, in that order, with the margins of A.
        decision: How B is judged.
        moments: Of all examples of B, where ``scores`` are a subsample of them; columns are found by name.
        independent: Whether A and B share no unit.

    Returns:
        In the order of columns and heads.
    """
    heads = before.count[0].size
    decisions = before.decision.reshape(len(rules), heads)
    proposed = [
        _Proposal(k, int(place), _family(rule, int(place) // scores.heads, decision.family))
        for k, rule in enumerate(rules)
        for place in np.flatnonzero((decisions[k] == 0) | (rule.role and not independent))
    ]
    tested = _test_proposals(proposed, scores, rules, decision, moments)
    return REPLICATES.rows(
        _replicate(k, proposal, before, tested)
        for k, proposal in enumerate(proposed)
        if decisions[proposal.column, proposal.place] == 0
    )


def replicate_best_heads(
    best: Sequence[Row],
    columns: Sequence[int],
    scores: Scores,
    rules: Sequence[Rule],
    decision: Decision,
) -> Table:
    """Return the best heads that A chose, tested against the cross-fitted baselines of B, on all units of B.

    H0 per row that A found beyond its baseline: in B the accuracy of that head minus that of the
    baseline is at most the margin. Family: these rows of one probe. Of the other rows A claims
    nothing: estimates and p are given, no decision is made.

    Args:
        best: Of A, with a head each.
        columns: Position of each one's column.
        scores: Of B.
        rules: Of B, with the margins of A.
        decision: How B is judged.
    """
    plain = [replace(rule, contrast="") for rule in rules]
    proposed = [
        _Proposal(k, row.layer * scores.heads + row.head, _probe(row))
        for k, row in zip(columns, best, strict=True)
    ]
    tested = _test_proposals(proposed, scores, plain, decision)
    return BEST.rows(_replicate_best(k, row, tested) for k, row in enumerate(best))


def replicate_gaps(before: Iterable[Row], after: Iterable[Row], decision: Decision) -> Table:
    """Test the gaps between conditions that A found on the documents of B.

    H0 per gap of A: in the population of B the difference is 0, or has the other sign than in A. Alternative:
    it has the sign of A. p is half the two-sided p of B where the signs agree, else 1 less that half. The
    mirrored null decides "reversed". Unit: that of B. Family: the gaps that A found for one pair of
    conditions and one measure, each direction by itself. Assumptions: those of ``stats.probes.conditions``;
    units of B independent of those of A.

    Args:
        before: Gaps of A, with its adjusted p.
        after: Gaps of B.
        decision: Correction and alpha. Under "maxT" the correction is Holm's, as in
            ``stats.probes.conditions``.

    Returns:
        In the order of A. Gaps of conditions that B does not have are untestable.
    """
    correction = decision.correction if decision.correction in CORRECTIONS else "holm"
    before = [*before]
    q_a = np.array([gap.q for gap in before], dtype=np.float64)
    proposed = [gap for gap, chosen in zip(before, significant(q_a, decision.alpha), strict=True) if chosen]
    there = {_gap_key(gap): gap for gap in after}
    families: dict[tuple[str, ...], list[Row]] = {}
    for gap in proposed:
        families.setdefault((gap.first, gap.second, gap.measure), []).append(gap)
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for members in families.values():
        own = [there.get(_gap_key(gap)) for gap in members]
        p = np.array([_directed_p(gap, other) for gap, other in zip(members, own, strict=True)])
        q, q_reversed = (adjust(side, correction, decision.alpha) for side in (p, 1 - p))
        holds, turned = significant(q, decision.alpha, p), significant(q_reversed, decision.alpha, 1 - p)
        for place, (gap, other) in enumerate(zip(members, own, strict=True)):
            word = "gap" if holds[place] else "reversed" if turned[place] else "undetermined"
            ends = {name: getattr(other, name, np.nan) for name in ("difference", "low", "high")}
            found[_gap_key(gap)] = {
                "layer": gap.layer, "head": gap.head, "measure": gap.measure, "first": gap.first,
                "second": gap.second, "difference_a": gap.difference, "q_a": gap.q, **ends, "p": p[place],
                "q": q[place], "decision": "untestable" if np.isnan(p[place]) else word,
            }  # fmt: skip
    return GAPS.rows(found[_gap_key(gap)] for gap in proposed)


def _gap_key(gap: Row) -> tuple[object, ...]:
    """Return head, measure and conditions of a gap."""
    return gap.layer, gap.head, gap.measure, gap.first, gap.second


def _directed_p(before: Row, after: Row | None) -> float:
    """Return the one-sided p of a gap of B in the direction of A; NaN where B has none."""
    if after is None or np.isnan(after.p):
        return float("nan")
    half: float = after.p / 2
    return half if np.sign(after.difference) == np.sign(before.difference) else 1 - half


def count_replicates(
    name: str,
    columns: Sequence[int],
    found: Table,
    means: tuple[Float[np.ndarray, "sieves layers heads"], Float[np.ndarray, "sieves layers heads"]],
    rules: Sequence[Rule],
) -> dict[str, Any]:
    """Return a row of ``COUNTS``: the roles of some columns, and the correlation of the means of all heads.

    Args:
        name: Name of the columns together.
        columns: Their positions.
        found: All replicates.
        means: Of A and of B, over their own units.
        rules: Of all columns.
    """
    names = {rules[k].sieve for k in columns}
    counts = Counter(replicate.decision for replicate in found if replicate.sieve in names)
    one, other = (run[list(columns)].ravel() for run in means)
    known = ~np.isnan(one) & ~np.isnan(other)
    words = ("role", "undetermined", "untestable", "explained")
    return {
        "name": name, "columns": len(columns), "roles": sum(counts.values()), "not_role": counts["not"],
        **{word: counts[word] for word in words}, "heads": known.sum(),
        "correlation": pearson(one[known], other[known]),
    }  # fmt: skip


def pearson(one: Float[np.ndarray, " heads"], other: Float[np.ndarray, " heads"]) -> float:
    """Return Pearson's correlation; NaN for fewer than three pairs or without spread.

    Example:
        >>> pearson(np.array([0.0, 1.0, 2.0]), np.array([5.0, 4.0, 3.0]))
        -1.0
    """
    if len(one) < 3 or np.ptp(one) <= 1e-9 or np.ptp(other) <= 1e-9:
        return float("nan")
    return float(np.clip(np.corrcoef(one, other)[0, 1], -1, 1))


def _family(rule: Rule, layer: int, family: str) -> str:
    """Return the name of the family of a role, as ``stats.families`` makes them."""
    own = rule.together or rule.sieve
    return {"run": "", "layer": f"{own} {layer}"}.get(family, own)


def _probe(best: Row) -> str | None:
    return best.row.split(":")[0] if best.decision == "beyond" else None


def _test_proposals(
    proposed: Sequence[_Proposal],
    scores: Scores,
    rules: Sequence[Rule],
    decision: Decision,
    moments: Moments | None = None,
) -> Findings | None:
    """Return findings of the proposals, one column of one head each; their contrasts come after them."""
    if not proposed:
        return None
    position = {rule.sieve: k for k, rule in enumerate(rules)}
    made, taken = [], []
    others: list[tuple[Rule, int, int]] = []
    for number, proposal in enumerate(proposed):
        rule = rules[proposal.column]
        contrast = f"contrast of {number}" if rule.contrast else ""
        family, role = proposal.family or "", proposal.family is not None
        named = replace(rule, sieve=str(number), contrast=contrast, together=f"family {family}", role=role)
        made.append(named)
        taken.append((proposal.column, proposal.place))
        if rule.contrast:
            other = position[rule.contrast]
            others.append((replace(rules[other], sieve=contrast), other, proposal.place))
    made += [rule for rule, _, _ in others]
    taken += [(k, place) for _, k, place in others]
    columns, places = (list(numbers) for numbers in zip(*taken, strict=True))
    flat = scores.values.reshape(len(rules), len(scores.examples), scores.layers * scores.heads)
    alone = replace(
        scores,
        sieves=tuple(rule.sieve for rule in made),
        cells=scores.cells[columns],
        null=scores.null[columns],
        values=np.stack([flat[k, :, place] for k, place in zip(columns, places, strict=True)])[
            ..., None, None
        ],
        stack=plain_stack(1),
    )
    if moments is not None:
        own = [moments.sieves.index(rules[k].sieve) for k in columns]
        moments = moments.picked(alone.sieves, own, places)
    return judge(alone, made, replace(decision, family="sieve"), moments)


def _replicate(number: int, proposal: _Proposal, before: Findings, tested: Findings | None) -> dict[str, Any]:
    assert tested is not None
    layer, head = divmod(proposal.place, before.count.shape[2])
    here = (proposal.column, layer, head)
    names = ("mean", "null", "margin", "low", "high", "statistic", "p", "q", "p_not", "q_not")
    return {
        "sieve": before.rules[proposal.column].sieve, "layer": layer, "head": head,
        **{f"{name}_a": getattr(before, name)[here] for name in ("mean", "null", "q")},
        **{name: getattr(tested, name)[number, 0, 0] for name in ("count", *names)},
        "decision": DECISIONS[int(tested.decision[number, 0, 0])],
    }  # fmt: skip


def _replicate_best(number: int, best: Row, tested: Findings | None) -> dict[str, Any]:
    assert tested is not None
    at = {
        name: float(getattr(tested, name)[number, 0, 0]) for name in ("mean", "null", "low", "high", "p", "q")
    }
    code = int(tested.decision[number, 0, 0])
    return {
        "row": best.row, "direction": best.direction, "layer": best.layer, "head": best.head,
        "decision_a": best.decision, "accuracy_a": best.accuracy, "difference_a": best.difference,
        "count": tested.count[number, 0, 0], "accuracy": at["mean"], "baseline_accuracy": at["null"],
        "difference": at["mean"] - at["null"], "difference_low": at["low"] - at["null"],
        "difference_high": at["high"] - at["null"], "p": at["p"], "q": at["q"] if code >= 0 else np.nan,
        "decision": "" if code < 0 else BEYOND.get(DECISIONS[code], DECISIONS[code]),
    }  # fmt: skip


def replication_remarks(
    scores: Scores, rules: Sequence[Rule], decision: Decision, moments: Moments | None = None
) -> list[str]:
    """Return remarks on tests where B kept sums, and on whether B is large enough for nots.

    Args:
        scores: Of B; of the subsample where it kept sums.
        rules: Of the columns that are tested, contrasts included.
        decision: How B is judged.
        moments: Of all examples of B; None where it kept all scores.
    """
    units, sentences = len(set(scores.units)), list[str]()
    size = f"B has {units} units"
    if moments is not None and METHODS[decision.test].ranked is not None:
        sentences.append(
            f"B kept sums of {moments.examples:,} inputs, which hold no medians: {decision.test} tests "
            f"its roles on a random {len(scores.examples):,} of them."
        )
    elif moments is not None:
        sentences.append(
            f"B kept sums of {moments.examples:,} inputs. Its roles are tested on all of them, with "
            "random groups in place of units (count is the number of inputs)."
        )
        units = _fewest(moments, rules)
        size = f"in its sparsest column B says as much as {units} random groups of equal weight"
    if units < ENOUGH_FOR_NOT:
        sentences.append(f"{size}; below {ENOUGH_FOR_NOT}, roles that do not hold stay undetermined.")
    return sentences


def _fewest(moments: Moments, rules: Sequence[Rule]) -> int:
    """Return the fewest equally informative groups of equal weight of any column and head; 0 left out."""
    least = float(moments.weight.shape[1])
    for rule in rules:
        weight = moments.weight[moments.sieves.index(rule.sieve)]
        even = equal_groups(weight.reshape(len(weight), -1))
        least = min(least, even[even > 0].min(initial=least))
    return int(least)
