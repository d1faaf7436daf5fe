"""Does a head matter? Damage of taking it out: needed, interfering, negligible or undetermined.

Damage is the outcome with a head taken out minus the outcome without, averaged over tokens of an input. Three
tests, each corrected over families of its own, ask of its mean over units δ with the smallest damage that
counts, θ:

- **needed**. Null: δ ≤ θ. Alternative: δ > θ.
- **interfering**. Null: δ ≥ −θ. Alternative: δ < −θ. Distances cannot be negative and are not asked.
- **negligible**. Null: δ ≤ −θ or δ ≥ θ. Alternative: −θ < δ < θ (``comparing.equivalence``).

Interfering and negligible call a damage small. Both must hold with three further units as bad as the worst
(``causal.unseen``), and need 75 units. Below 20 units nothing is decided.

Unit: that of the scores. Assumptions: those of the decision's test, and that θ is a fixed number. θ is a
share of the mean loss without intervention on the same units, or the share itself for outcomes between 0 and
1. The mean loss is an estimate, whose error moves θ by a few percent and is left out of p. One head is taken
out at a time, so others can make up for it: negligible says that the model does without the head, not that
the head does nothing.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE, FEWEST_UNITS, Damage, MarginRow
from headroles.records.causal.columns import CLEAN, LOSS, Column, parse_column
from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.causal.questions import equivalences
from headroles.stats.causal.unseen import with_unseen
from headroles.stats.columns import mean_over_units, select_sieves
from headroles.stats.engine import judge
from headroles.stats.methods.names import METHODS
from headroles.stats.relabel import closed_form_decision

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Margins at which verdicts are counted, besides the one used."""


def loss_without(scores: Scores) -> float:
    """Return the mean loss over units without intervention; NaN where no loss was measured."""
    name = Column(LOSS, CLEAN).name
    if name not in scores.sieves:
        return float("nan")
    values = scores.values[scores.sieves.index(name)].astype(np.float64)
    known = ~np.isnan(values)
    total, count = np.where(known, values, 0.0).sum(axis=(1, 2)), known.sum(axis=(1, 2))
    clean = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return float(mean_over_units(clean[:, None], scores.units)[0])


def threshold_of(arm: str, share: float, loss: float) -> float:
    """Return the smallest damage that counts in an arm, θ.

    Args:
        arm: Name of its column.
        share: Share of the loss, or damage of another outcome.
        loss: Mean loss without intervention.

    Example:
        >>> threshold_of("loss:mean", 0.01, 2.5), threshold_of("tokens:mean", 0.01, 2.5)
        (0.025, 0.01)
    """
    return share * loss if parse_column(arm).outcome == LOSS else share


def rules_with_margins(scores: Scores, rules: Sequence[Rule], share: float) -> tuple[Rule, ...]:
    """Return the rules with the threshold of every arm as its margin; other columns are never tested.

    Args:
        scores: Of all columns.
        rules: One per column.
        share: As ``threshold_of`` takes it.
    """
    loss = loss_without(scores)
    return tuple(
        replace(rule, margin=threshold_of(rule.sieve, share, loss)) if rule.role else rule for rule in rules
    )


def damage_tests(scores: Scores, rules: Sequence[Rule], findings: Findings, decision: Decision) -> Damage:
    """Return the verdict of every head in every arm.

    Args:
        scores: Of all columns.
        rules: One per column, with margins.
        findings: The scores judged by these rules: "role" is needed.
        decision: As they were judged.
    """
    places = [place for place, rule in enumerate(rules) if rule.role]
    arms = [rules[place] for place in places]
    damages = select_sieves(scores, places)
    whole = with_unseen(damages, 1) if METHODS[decision.test].guarded else damages
    against = judge(replace(whole, values=-whole.values), [_negated(rule) for rule in arms], decision)
    distance = np.array([rule.low >= 0 for rule in arms])[:, None, None]
    little = equivalences(damages, arms, [rule.margin for rule in arms], decision)
    p_needed, decided = findings.p[places], findings.decision[places]
    p_interfering = np.where(distance, np.nan, against.p)
    verdict = np.full(p_needed.shape, 2, dtype=np.int8)
    verdict[np.isnan(p_needed) & np.isnan(little.p)] = 3
    verdict[little.within] = 1
    verdict[(against.decision == 0) & ~distance & (findings.count[places] >= ENOUGH_FOR_LITTLE)] = 4
    verdict[decided == 0] = 0
    verdict[(findings.count[places] < FEWEST_UNITS) & (verdict != 3)] = 2
    return Damage(
        arms=damages.sieves,
        count=findings.count[places],
        mean=findings.mean[places],
        low=findings.low[places],
        high=findings.high[places],
        threshold=np.array([rule.margin for rule in arms]),
        p_needed=p_needed,
        q_needed=findings.q[places],
        p_interfering=p_interfering,
        q_interfering=np.where(distance, np.nan, against.q),
        p_negligible=little.p,
        q_negligible=little.q,
        verdict=verdict,
    )


def decide_enough(findings: Findings) -> Findings:
    """Return findings in which heads with fewer than 20 units are undetermined, whatever their p.

    Args:
        findings: Of damages; columns that are no role, and untestable heads, stay as they are.
    """
    few = (findings.count < FEWEST_UNITS) & np.isin(findings.decision, (0, 1, 4))
    return replace(findings, decision=np.where(few, 2, findings.decision).astype(np.int8))


def _negated(rule: Rule) -> Rule:
    """Return the rule of the damage with its sign turned."""
    return replace(rule, low=-rule.high, high=-rule.low)


def margin_rows(
    scores: Scores, rules: Sequence[Rule], decision: Decision, share: float
) -> tuple[MarginRow, ...]:
    """Return the number of heads of each verdict at margins around the one used.

    Each row is a whole judgement with its own correction. It describes how far the convention decides, and
    is itself no test. Tests in closed form replace those that resample (``relabel.stand_in``).

    Args:
        scores: Of all columns.
        rules: One per column; margins do not count.
        decision: As the scores were judged.
        share: The margin that was used.
    """
    plain = replace(closed_form_decision(decision), interval="test")
    arms = [rule for rule in rules if rule.role]
    damages = select_sieves(scores, [scores.sieves.index(rule.sieve) for rule in arms])
    loss, rows = loss_without(scores), list[MarginRow]()
    for margin in sorted({*SHARES, share}):
        at = [replace(rule, margin=threshold_of(rule.sieve, margin, loss)) for rule in arms]
        verdict = damage_tests(damages, at, judge(damages, at, plain), plain).verdict
        for arm, codes in zip(damages.sieves, verdict, strict=True):
            needed, negligible, interfering = (int((codes == code).sum()) for code in (0, 1, 4))
            rows.append(MarginRow(arm, margin, needed, negligible, interfering))
    return tuple(sorted(rows, key=lambda row: damages.sieves.index(row.arm)))
