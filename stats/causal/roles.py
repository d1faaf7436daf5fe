"""Do labels say which heads matter? Damage of heads with a role against that of other heads of their layers.

All tests are on units that did not decide the roles.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.causal.ablation import COUNTED, ROLE_TESTS, VERDICTS, Damage, HeldRoles, is_quiet
from headroles.records.causal.columns import LOSS, parse_column
from headroles.records.example import Scores
from headroles.records.findings import DECISIONS
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.causal.questions import Questions, direction, equivalent_questions, judge_questions
from headroles.stats.causal.rarity import LABELLINGS, adjust_roles, random_areas, rarity
from headroles.stats.columns import unit_numbers
from headroles.stats.correction import significant
from headroles.stats.moments import unit_means

PREDICTED = ("more damage", "less damage")
LITTLE = "negligible"


def unit_areas(
    damage: Float[np.ndarray, "units layers heads"], held: Bool[np.ndarray, "layers heads"]
) -> Float[np.ndarray, " units"]:
    """Return for each unit the area under the curve of "holds the role" by damage, within layers.

    It is the share of pairs of a head with the role and a head of the same layer without, of all layers, in
    which the first does more damage; ties count half. For one layer it is ``sklearn.metrics.roc_auc_score``.
    Source: Hanley and McNeil (1982), "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve", Radiology 143, 29-36.

    Args:
        damage: Per unit and head; NaN where a head was not taken out.
        held: Heads with the role.

    Returns:
        From 0 to 1; NaN where no layer has both.

    Example:
        >>> unit_areas(np.array([[[3.0, 2.0, 2.0, 1.0]]]), np.array([[True, True, False, False]])).tolist()
        [0.875]
    """
    wins, pairs = np.zeros(len(damage)), np.zeros(len(damage))
    for layer, mask in enumerate(held):
        own, other = damage[:, layer, mask][:, :, None], damage[:, layer, ~mask][:, None, :]
        known = ~(np.isnan(own) | np.isnan(other))
        better = (own > other) + 0.5 * (own == other)
        wins += np.where(known, better, 0.0).sum(axis=(1, 2))
        pairs += known.sum(axis=(1, 2))
    areas: np.ndarray = np.divide(wins, pairs, out=np.full(wins.shape, np.nan), where=pairs > 0)
    return areas


def role_tests(scores: Scores, held: HeldRoles, damage: Damage, decision: Decision) -> Table:
    """Test for every role whether its heads do more or less damage than others of their layers, or none.

    - **Area.** Null: the mean over units of ``unit_areas`` is at most 0.5, or the labels are as any labels of
      as many heads in each layer. Alternative: neither (intersection-union: the larger p is corrected over
      the roles). The other direction is a family of its own. Heads are all heads of this model and no
      sample. So it speaks about this model on such inputs. The heads of a model differ, so with
      enough units labels at random differ from 0.5, too. ``p_labels`` is twice the share of random labels
      with an area at least as far out on its side (``rarity``).
    - **Damage.** Null: the mean damage of the role's heads, each taken out alone, is at least θ away from 0.
      Alternative: nearer (two one-sided tests, as ``equivalences``). Roles that predict no damage are called
      quiet.

    Unit: ``scores.units``, which must have decided no role. Assumptions: those of the decision's test.
    Family: the roles that any head holds, in one arm; of all arms for "run". Below 20 units no area is
    decided, below 75 no damage is negligible.

    Args:
        scores: Of examples whose units decided no role.
        held: The roles.
        damage: Verdicts of all heads, for thresholds and counts.
        decision: Test, correction, family, alpha, resamples, seed and interval.

    Returns:
        A row per arm and role that any head holds.
    """
    roles = [role for role in held.roles if held.heads(role).any()]
    if not roles:
        return ROLE_TESTS
    units = tuple(dict.fromkeys(scores.units))
    per_unit = _unit_damages(scores, damage.arms)
    areas = np.stack([[unit_areas(values, held.heads(role)) for role in roles] for values in per_unit])
    means = np.stack([[_known_mean(values[:, held.heads(role)]) for role in roles] for values in per_unit])
    one, bounds = np.zeros(len(roles), dtype=np.int64), damage_bounds(damage.arms)
    better = Questions(damage.arms, units, one, areas.swapaxes(1, 2), [(0.0, 1.0)] * len(bounds), null=0.5)
    area, worse = judge_questions(better, decision), judge_questions(better.negated(), decision)
    masks = [held.heads(role) for role in roles]
    labels = np.array([
        [_label_rarity(values, *pair, decision.seed) for pair in zip(masks, own, strict=True)]
        for values, own in zip(per_unit, areas, strict=True)
    ])  # fmt: skip
    q_more, q_less = (
        np.maximum(side.q, adjust_roles(np.maximum(side.p, labels), decision)) for side in (area, worse)
    )
    asked = Questions(damage.arms, units, one, means.swapaxes(1, 2), bounds)
    mean = judge_questions(asked, decision)
    little = equivalent_questions(asked, damage.threshold.tolist(), decision)
    return ROLE_TESTS.rows(
        dict(
            arm=arm,
            role=role,
            heads=int(held.heads(role).sum()),
            **{
                name: int((damage.verdict[row][held.heads(role)] == VERDICTS.index(name)).sum())
                for name in COUNTED
            },
            count=int(area.count[row, k]),
            area=float(area.mean[row, k]),
            low=float(area.low[row, k]),
            high=float(area.high[row, k]),
            p_more=float(area.p[row, k]),
            q_more=float(q_more[row, k]),
            p_less=float(worse.p[row, k]),
            q_less=float(q_less[row, k]),
            p_labels=float(labels[row, k]),
            decision=direction(
                _rarer(int(area.decision[row, k]), q_more[row, k], decision.alpha),
                _rarer(int(worse.decision[row, k]), q_less[row, k], decision.alpha) == 0,
                int(area.count[row, k]),
                PREDICTED,
            ),
            damage=float(mean.mean[row, k]),
            damage_low=float(mean.low[row, k]),
            damage_high=float(mean.high[row, k]),
            p_negligible=float(little.p[row, k]),
            q_negligible=float(little.q[row, k]),
            quiet=int(is_quiet(role)),
            no_damage=_little(bool(little.within[row, k]), float(little.p[row, k])),
        )
        for row, arm in enumerate(damage.arms)
        for k, role in enumerate(roles)
    )


def _label_rarity(
    damage: Float[np.ndarray, "units layers heads"],
    held: Bool[np.ndarray, "layers heads"],
    areas: Float[np.ndarray, " units"],
    seed: int,
) -> float:
    """Return the rarity of a mean area among labels that are random within layers, on both sides.

    The mean is of unrounded areas: as moments it has the precision of scores, and misses its equals.
    """
    known = areas[~np.isnan(areas)]
    area = float(known.mean()) if known.size else float("nan")
    drawn = random_areas(damage, held, LABELLINGS, seed)
    return min(1.0, 2 * min(rarity(area, drawn), rarity(-area, -drawn)))


def _rarer(code: int, q: float, alpha: float) -> int:
    """Return the decision on an area: undetermined where labels at random explain what was found."""
    return 2 if code == 0 and not significant(np.array([q]), alpha)[0] else code


def _little(within: bool, p: float) -> str:
    return LITTLE if within else DECISIONS[3] if np.isnan(p) else DECISIONS[2]


def damage_bounds(arms: Sequence[str]) -> list[tuple[float, float]]:
    """Return the smallest and largest damage of each arm; NaN for losses."""
    unknown = (float("nan"), float("nan"))
    return [unknown if parse_column(arm).outcome == LOSS else (0.0, 1.0) for arm in arms]


def _unit_damages(scores: Scores, arms: Sequence[str]) -> Float[np.ndarray, "arms units layers heads"]:
    """Return the mean damage of every head in each unit."""
    numbers = unit_numbers(scores.units)
    rows = [scores.values[scores.sieves.index(arm)].astype(np.float64) for arm in arms]
    return np.stack([unit_means(values, numbers) for values in rows])


def _known_mean(values: Float[np.ndarray, "units heads"]) -> Float[np.ndarray, " units"]:
    """Return the mean over heads that were taken out in every unit; NaN for units that lack one of them."""
    measured = ~np.isnan(values).all(axis=0)
    if not measured.any():
        return np.full(len(values), np.nan)
    mean: np.ndarray = values[:, measured].mean(axis=1)
    return mean
