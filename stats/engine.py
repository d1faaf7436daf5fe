"""judge(): scores and rules to findings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from headroles.errors import BadInput, UnknownName
from headroles.records import Decision, Findings, Rule, Scores
from headroles.stats.correction import CORRECTIONS, adjust, significant
from headroles.stats.hypotheses import SPREAD, TESTS, Outcome, constant
from headroles.stats.moments import Sample, describe, unit_means

FAMILIES = ("sieve", "run")
ENOUGH_FOR_NOT = 50
"""Units below which "not" is never said: a rare-event score at the margin looks absent too often."""


@dataclass(frozen=True, slots=True, eq=False)
class _Tested:
    sample: Sample
    null: float
    outcome: Outcome


def check_decision(decision: Decision) -> None:
    """Refuse an unknown test, correction or family, or an alpha outside (0, 1).

    Raises:
        UnknownName: With the nearest known name.
        BadInput: For another alpha.
    """
    for kind, name, known in (
        ("test", decision.test, tuple(TESTS)),
        ("correction", decision.correction, CORRECTIONS),
        ("family", decision.family, FAMILIES),
    ):
        if name not in known:
            raise UnknownName(kind, name, known)
    if not 0 < decision.alpha < 1:
        raise BadInput(f"alpha must lie between 0 and 1, both excluded, but {decision.alpha} came")


def judge(scores: Scores, rules: Sequence[Rule], decision: Decision) -> Findings:
    """Test every sieve and head against its θ, correct over families, and decide.

    Unit: ``scores.units``; the scores of one unit are averaged first. Each head × sieve is tested
    one-sided in both directions (null, alternative and assumptions: ``stats.hypotheses``). A sieve
    with a contrast is a role only when both means lie beyond their margins: p is the larger of the
    two (intersection-union), and for "not" ``min(1, 2 × the smaller)``. Roles and nots are two
    separate families of p values, each corrected at alpha: at most alpha false among the roles
    and, separately, among the nots.

    Args:
        scores: One number per sieve, example and head.
        rules: One per sieve of ``scores``, in that order.
        decision: Test, correction, family and alpha.

    Returns:
        Findings in the order of ``rules``. Heads with fewer than 2 units, or without spread and
        without known bounds, are untestable: NaN, left out of every family.

    Raises:
        UnknownName: For a test, correction or family that does not exist.
        BadInput: For an alpha outside (0, 1).
    """
    check_decision(decision)
    units = _unit_numbers(scores.units)
    tested = [_test(scores, position, rule, units, decision) for position, rule in enumerate(rules)]
    p = np.stack([each.outcome.p for each in tested])
    p_not = np.stack([each.outcome.p_not for each in tested])
    _join_contrasts(rules, p, p_not)
    q = _adjust_families(rules, p, decision)
    q_not = _adjust_families(rules, p_not, decision)
    count = np.stack([each.sample.count for each in tested])
    return Findings(
        rules=tuple(rules),
        count=count,
        cells=_cells(scores, p.shape),
        mean=np.stack([each.sample.mean + each.null for each in tested]),
        null=np.stack([np.full(p.shape[1:], each.null) for each in tested]),
        margin=np.stack([np.full(p.shape[1:], rule.margin) for rule in rules]),
        effect=np.stack([_effect(each.sample, rule) for each, rule in zip(tested, rules, strict=True)]),
        low=np.stack([each.outcome.low + each.null for each in tested]),
        high=np.stack([each.outcome.high + each.null for each in tested]),
        statistic=np.stack([each.outcome.statistic for each in tested]),
        p=p,
        q=q,
        p_not=p_not,
        q_not=q_not,
        decision=_decide(rules, count, q, q_not, decision.alpha),
    )


def _unit_numbers(units: Sequence[str]) -> Int[np.ndarray, " examples"]:
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(unit, len(seen)) for unit in units], dtype=np.int64)


def _test(scores: Scores, position: int, rule: Rule, units: np.ndarray, decision: Decision) -> _Tested:
    """Test one column, on the scale of score minus null."""
    null = scores.null[position]
    values = scores.values[position].astype(np.float64)
    speaks = ~np.isnan(values).all(axis=(1, 2)) & ~np.isnan(null)
    values -= null[:, None, None]
    sample = describe(unit_means(values, units))
    level = smallest = largest = float("nan")
    if speaks.any():
        within = np.where(speaks, null, np.nan)[:, None]
        level = float(np.nanmean(unit_means(within, units)))
        smallest, largest = float(null[speaks].min()), float(null[speaks].max())
    outcome = TESTS[decision.test](sample, rule.margin, 0.95)
    bounds = constant(sample, rule.margin, rule.low - largest, rule.high - smallest)
    flat = sample.sd <= SPREAD
    return _Tested(sample, level, _choose(flat, bounds, outcome, sample.count >= 2))


def _choose(flat: np.ndarray, bounds: Outcome, outcome: Outcome, enough: np.ndarray) -> Outcome:
    """Exact statements where scores have no spread, the test elsewhere, NaN below two units."""

    def pick(name: str) -> np.ndarray:
        both = np.where(flat, getattr(bounds, name), getattr(outcome, name))
        return np.where(enough, both, np.nan)

    return Outcome(**{name: pick(name) for name in ("statistic", "p", "p_not", "low", "high")})


def _with_contrast(rules: Sequence[Rule]) -> list[tuple[int, int]]:
    """Positions of each sieve that has a contrast, and of that contrast."""
    position = {rule.sieve: k for k, rule in enumerate(rules)}
    return [(k, position[rule.contrast]) for k, rule in enumerate(rules) if rule.contrast]


def _join_contrasts(rules: Sequence[Rule], p: np.ndarray, p_not: np.ndarray) -> None:
    """Replace p and p_not of sieves that have a contrast by those of the joint decision."""
    for k, other in _with_contrast(rules):
        p[k] = np.maximum(p[k], p[other])
        p_not[k] = np.minimum(1.0, 2 * np.minimum(p_not[k], p_not[other]))


def _adjust_families(rules: Sequence[Rule], p: np.ndarray, decision: Decision) -> Float[np.ndarray, "..."]:
    """Correct within each family; contrasts never share one with roles."""
    roles = [k for k, rule in enumerate(rules) if rule.role]
    families = [[k] for k in range(len(rules))]
    if decision.family == "run":
        families = [roles] + [[k] for k in range(len(rules)) if k not in roles]
    adjusted = np.empty_like(p)
    for family in families:
        adjusted[family] = adjust(p[family].ravel(), decision.correction).reshape(p[family].shape)
    return adjusted


def _effect(sample: Sample, rule: Rule) -> Float[np.ndarray, "layers heads"]:
    spread = np.where(sample.sd > SPREAD, sample.sd, np.nan)
    effect: np.ndarray = (sample.mean - rule.margin) / spread
    return effect


def _cells(scores: Scores, shape: tuple[int, ...]) -> Float[np.ndarray, "sieves layers heads"]:
    """Mean eligible cells over the examples that say something; NaN when none does."""
    known = ~np.isnan(scores.cells)
    total = np.where(known, scores.cells, 0.0).sum(axis=1)
    count = known.sum(axis=1)
    mean = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    spread: np.ndarray = np.broadcast_to(mean[:, None, None], shape).copy()
    return spread


def _decide(
    rules: Sequence[Rule], count: np.ndarray, q: np.ndarray, q_not: np.ndarray, alpha: float
) -> Int[np.ndarray, "sieves layers heads"]:
    enough = count >= ENOUGH_FOR_NOT
    for k, other in _with_contrast(rules):
        enough[k] &= enough[other]
    decided = np.full(q.shape, 2, dtype=np.int8)
    decided[significant(q_not, alpha) & enough] = 1
    decided[significant(q, alpha)] = 0
    decided[np.isnan(q)] = 3
    decided[[not rule.role for rule in rules]] = -1
    return decided
