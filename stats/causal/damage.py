"""Does a head matter? Damage of taking it out: needed, interfering, negligible or undetermined.

Damage is the outcome with a head taken out minus the outcome without, averaged over tokens of an input. Three
tests, each corrected over families of its own, ask of its mean over units δ with the smallest damage that
counts, θ:

- **needed**. Null: δ ≤ θ. Alternative: δ > θ.
- **interfering**. Null: δ ≥ −θ. Alternative: δ < −θ. Distances cannot be negative and are not asked.
- **negligible**. Null: δ ≤ −θ or δ ≥ θ. Alternative: −θ < δ < θ (``comparing.equivalence``).

All three must hold with three further units at the value that speaks most against them (``causal.unseen``).
Interfering and negligible call a damage small and need 75 units. Below 20 units nothing is decided.

Unit: that of the scores. Assumptions: those of the decision's test. θ is a share of the mean loss without
intervention on the same units, or the share itself for outcomes between 0 and 1. The mean loss is an
estimate. So damages of a loss are tested as Δ − share · loss of the same unit against 0, and Δ + share · loss
on the other side (``_with_error``): the error of θ is in p. One head is taken out at a time, so others can
make up for it: negligible says that the model does without the head, not that the head does nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.causal.ablation import (
    COUNTED,
    ENOUGH_FOR_LITTLE,
    FEWEST_UNITS,
    MARGIN_ROWS,
    VERDICTS,
    Damage,
)
from headroles.records.causal.columns import CLEAN, LOSS, Column, parse_column
from headroles.records.example import Scores
from headroles.records.findings import Findings
from headroles.records.rules.rule import Decision, Rule
from headroles.records.table import Table
from headroles.stats.causal.questions import equivalences
from headroles.stats.causal.unseen import with_unseen
from headroles.stats.claims import missing_p, outcome_of
from headroles.stats.columns import Columns, mean_over_units, select_sieves
from headroles.stats.correction import significant
from headroles.stats.engine import judge
from headroles.stats.families import adjust_own_families, family_members
from headroles.stats.methods.names import METHODS
from headroles.stats.methods.reliance import units_needed
from headroles.stats.relabel import closed_form_decision

WRONG = float(np.log(2))
"""Least loss of an input whose answer is wrong: the right one has at most half of the probability."""
SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Margins at which verdicts are counted, besides the one used."""


def little_remarks(damage: Damage, rules: Sequence[Rule], decision: Decision) -> list[str]:
    """Return sentences on arms with too few units to call any head negligible; none by unguarded tests.

    Even without any damage, units with the largest one may be missing (``methods.reliance.units_needed``).

    Args:
        damage: The verdicts.
        rules: One per column, with margins and bounds.
        decision: As they were judged.
    """
    short: dict[int, list[str]] = {}
    arms = [rule for rule in rules if rule.role]
    for rule, count in zip(arms, damage.count, strict=True):
        units = int(count.max())
        if METHODS[decision.test].guarded and 0 < rule.margin < rule.high and units >= ENOUGH_FOR_LITTLE:
            least = units_needed(rule.high, rule.margin, decision.alpha)
            if units < least:
                short.setdefault(least, []).append(f"{rule.sieve} ({units:,} units)")
    return [
        f"below {least:,} units, no head is called negligible, as inputs with the largest damage may be "
        f"missing: {', '.join(names)}."
        for least, names in sorted(short.items())
    ]


def loss_without(scores: Scores) -> float:
    """Return the mean loss over units without intervention; NaN where no loss was measured."""
    return float(mean_over_units(_clean_losses(scores)[:, None], scores.units)[0])


def _clean_losses(scores: Scores) -> Float[np.ndarray, " examples"]:
    """Return the loss of each example without intervention; NaN where none was measured."""
    name = Column(LOSS, CLEAN).name
    if name not in scores.sieves:
        return np.full(len(scores.examples), np.nan)
    values = scores.values[scores.sieves.index(name)].astype(np.float64)
    known = ~np.isnan(values)
    total, count = np.where(known, values, 0.0).sum(axis=(1, 2)), known.sum(axis=(1, 2))
    clean: np.ndarray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return clean


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

    All p and q are the larger of two: of the units, and of the units with three more at the value that
    speaks most against the claim. For "needed" and "interfering" it is that of any head of the layer
    (``_with_worst``), for "negligible" of the head. All carry the error of θ. Those of "needed" are at least
    those against θ as a number.

    Args:
        scores: Of all columns.
        rules: One per column, with margins.
        findings: The scores judged by these rules: "role" is above θ as a number.
        decision: As they were judged.
    """
    places = [place for place, rule in enumerate(rules) if rule.role]
    arms, damages = [rules[place] for place in places], select_sieves(scores, places)
    clean = _clean_losses(scores)
    above, below = (_with_error(damages, arms, clean, side) for side in (1, -1))
    opposite = [replace(rule, low=-rule.high, high=-rule.low) for rule in arms]
    against = judge(_negated(below), opposite, decision, intervals=False)
    margins = [rule.margin for rule in arms]
    within = [equivalences(side, arms, margins, decision) for side in (above, below)]
    beyond, under = (_worst_p(side, arms, decision) for side in (above, _negated(below)))
    p, q = findings.p[places], findings.q[places]
    needed = _larger((p, q), beyond, _without_wrong_p(damages, arms, clean, p, decision))
    interfering = _larger((against.p, against.q), under)
    little = _larger(*((side.p, side.q) for side in within))
    distance = np.array([rule.low >= 0 for rule in arms])[:, None, None]
    count = findings.count[places]
    verdict = np.full(count.shape, 2, dtype=np.int8)
    claims = [significant(q, decision.alpha, p) for p, q in (needed, little, interfering)]
    enough = count >= ENOUGH_FOR_LITTLE
    verdict[np.isnan(findings.p[places]) & np.isnan(little[0])] = 3
    verdict[claims[1] & enough] = 1
    verdict[claims[2] & enough & ~distance] = 4
    verdict[claims[0]] = 0
    verdict[(count < FEWEST_UNITS) & (verdict != 3)] = 2
    return Damage(
        arms=damages.sieves,
        count=count,
        mean=findings.mean[places],
        low=findings.low[places],
        high=findings.high[places],
        threshold=np.array(margins),
        p_needed=needed[0],
        q_needed=needed[1],
        p_interfering=np.where(distance, np.nan, interfering[0]),
        q_interfering=np.where(distance, np.nan, interfering[1]),
        p_negligible=little[0],
        q_negligible=little[1],
        verdict=verdict,
    )


def _with_error(
    damages: Scores, arms: Sequence[Rule], clean: Float[np.ndarray, " examples"], side: int
) -> Scores:
    """Return damages whose spread holds the error of θ, where θ is a share of the loss; means stay.

    Against θ, Δ − θ (c / mean c − 1) is Δ − share · c, plus θ. c is the loss of the example without
    intervention.

    Args:
        damages: Of all arms.
        arms: Their rules, with θ as margins.
        clean: c of each example; NaN where no loss was measured, and θ is then a number.
        side: 1 for tests against θ, −1 for tests against −θ.
    """
    loss = float(mean_over_units(clean[:, None], damages.units)[0])
    if not loss > 0:
        return damages
    beyond = clean / loss - 1
    moved = [side * arm.margin * (parse_column(arm.sieve).outcome == LOSS) for arm in arms]
    shift = np.array(moved)[:, None, None, None] * beyond[:, None, None]
    return replace(
        damages, values=np.where(shift == 0, damages.values, damages.values - shift).astype(np.float32)
    )


P = tuple[Float[np.ndarray, "arms layers heads"], Float[np.ndarray, "arms layers heads"]]
"""p, and p adjusted over families."""


def _larger(*tests: P) -> P:
    """Return the larger p and q of tests that must all hold (intersection-union)."""
    p, q = (np.maximum.reduce(numbers) for numbers in zip(*tests, strict=True))
    return p, q


def _worst_p(damages: Scores, arms: Sequence[Rule], decision: Decision) -> P:
    """Return p and q of "at most the margin" of the units with three more (``_with_worst``).

    Max-t is replaced by Holm's correction. Tests of medians, and from stated bounds, need no further units.
    """
    grid = (len(arms), damages.layers, damages.heads)
    if not METHODS[decision.test].guarded:
        return np.zeros(grid), np.zeros(grid)
    worse = Columns(_with_worst(damages), arms)
    p = np.stack([outcome_of(column, decision, ends=False).p for column in worse])
    families = family_members(arms, damages.layers, damages.heads, decision.family)
    return p.reshape(grid), adjust_own_families(p, families, decision).reshape(grid)


def _without_wrong_p(
    damages: Scores,
    arms: Sequence[Rule],
    clean: Float[np.ndarray, " examples"],
    p: Float[np.ndarray, "arms layers heads"],
    decision: Decision,
) -> P:
    """Return p and q with inputs of a wrong answer, which may be missing and could make a damage small.

    A wrong answer has a loss of at least ln 2. Taking a head out can lower a loss by all that it is. Where no
    input has such a loss, the sample shows no wrong answer, and nothing of what heads do there. The worst
    possible damage of a missing unit is then taken to be −ln 2 (``claims.missing_p``). Else both are 0.
    """
    known = clean[~np.isnan(clean)]
    if not known.size or known.max() >= WRONG:
        return np.zeros(p.shape), np.zeros(p.shape)
    counted = np.stack([
        missing_p(replace(column, low=-WRONG), column.sample, decision.test, 1)
        * (parse_column(arm.sieve).outcome == LOSS)
        for arm, column in zip(arms, Columns(damages, arms), strict=True)
    ])  # fmt: skip
    counted = np.maximum(counted, p.reshape(counted.shape))
    families = family_members(arms, damages.layers, damages.heads, decision.family)
    return counted.reshape(p.shape), adjust_own_families(counted, families, decision).reshape(p.shape)


def _negated(damages: Scores) -> Scores:
    """Return damages with their sign turned."""
    return replace(damages, values=-damages.values)


def _with_worst(damages: Scores) -> Scores:
    """Return damages with three further units at the smallest that any head of a layer has in any unit.

    A head whose rare units the sample lacks shows none of them. Others of its layer, whose damage is of like
    size, do.
    """
    more = with_unseen(damages, -1)
    further = more.values[:, len(damages.examples) :]
    least = np.where(np.isnan(further), np.inf, further).min(axis=3, keepdims=True)
    values = np.where(np.isnan(further), further, least).astype(np.float32)
    return replace(more, values=np.concatenate([damages.values, values], axis=1))


def needed_roles(findings: Findings, damage: Damage) -> Findings:
    """Return findings in which "role" is needed: other roles are undetermined, and so are heads of few units.

    Args:
        findings: Of damages; columns that are no role, and untestable heads, stay as they are.
        damage: The verdicts on them.
    """
    few = (findings.count < FEWEST_UNITS) & np.isin(findings.decision, (0, 1, 4))
    unsure = few | ((findings.decision == 0) & ~needed_heads(findings, damage))
    return replace(findings, decision=np.where(unsure, 2, findings.decision).astype(np.int8))


def needed_heads(findings: Findings, damage: Damage) -> Bool[np.ndarray, "columns layers heads"]:
    """Return the heads that are needed; all heads of columns that are no arm."""
    needed = np.ones(findings.decision.shape, dtype=np.bool_)
    for arm, verdict in zip(damage.arms, damage.verdict, strict=True):
        needed[findings.of(arm)] = verdict == 0
    return needed


def margin_rows(scores: Scores, rules: Sequence[Rule], decision: Decision, share: float) -> Table:
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
    used = [rule for rule in rules if rule.role or rule.sieve == Column(LOSS, CLEAN).name]
    scores = select_sieves(scores, [scores.sieves.index(rule.sieve) for rule in used])
    rows = list[dict[str, Any]]()
    for margin in sorted({*SHARES, share}):
        at = rules_with_margins(scores, used, margin)
        found = damage_tests(scores, at, judge(scores, at, plain), plain)
        for arm, codes in zip(found.arms, found.verdict, strict=True):
            counts = {name: int((codes == VERDICTS.index(name)).sum()) for name in COUNTED}
            rows.append({"arm": arm, "margin": margin, **counts})
    return MARGIN_ROWS.rows(sorted(rows, key=lambda row: scores.sieves.index(row["arm"])))
