"""Do the heads of a role matter together? Damage of taking all of them out at once, against random sets."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.causal.ablation import FEWEST_UNITS, SET_TESTS, HeadSets
from headroles.records.example import Scores
from headroles.records.findings import DECISIONS
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.causal.questions import Questions, direction, judge_questions
from headroles.stats.causal.rarity import TIE, adjust_roles, rarity
from headroles.stats.causal.roles import damage_bounds
from headroles.stats.causal.sites import mean_norms
from headroles.stats.columns import mean_over_units
from headroles.stats.correction import significant

RARE, REPAIRED = "more than random sets", "more than the sum"


def group_tests(scores: Scores, sets: HeadSets, decision: Decision) -> Table:
    """Test whether taking out all heads of a role does more damage than random sets, and than one by one.

    - **Rarity.** p = (1 + random sets with at least this damage beyond norm) / (1 + random sets), over the
      same units. Random sets have as many heads in each layer and in each half of its norms. What the norm
      of their heads foretells is taken from all sets (``beyond_norm``). Null: the role's set is as any of
      them, on these inputs, where mean damage is linear in norm. It is no statement about other
      inputs or models (as in ``assessment.together``). With 99 sets no p is below 0.01.
    - **Excess.** Null: the damage of the set minus the sum of the damages of its heads, each taken out
      alone, is at most 0 in the mean over units. Alternative: above 0. Heads that make up for each other
      do that (self-repair). So do heads that write alike, each whatever the other does, where the outcome
      grows with the square of a small change: 1 − cosine, and losses near their least. The total variation
      grows at most with the change, to first order. Roles of one head, and heads that were not all taken out
      alone, are untestable.

    Unit: ``scores.units``, which must have decided no role. Assumptions of the excess: those of the
    decision's test. Family: the roles of one arm; of all arms for "run"; both questions apart. Below 20 units
    no rarity is decided.

    Args:
        scores: Of examples whose units decided no role.
        sets: Sets of these examples.
        decision: Test, correction, family, alpha, resamples, seed and interval.

    Returns:
        A row per arm and role.
    """
    roles = list(dict.fromkeys(sets.roles))
    if not roles:
        return SET_TESTS
    own = [_position(sets, role) for role in roles]
    joint = sets.damage[:, own].astype(np.float64).swapaxes(1, 2)
    singles = np.stack([[_single_sum(scores, arm, sets.members[k]) for k in own] for arm in sets.arms])
    singles = np.where(np.isnan(joint), np.nan, singles.swapaxes(1, 2))
    bounds = damage_bounds(sets.arms)
    one = np.zeros(len(roles), dtype=np.int64)
    whole = judge_questions(Questions(sets.arms, scores.units, one, joint, bounds), decision)
    unknown = [(float("nan"), float("nan"))] * len(bounds)
    excess = judge_questions(Questions(sets.arms, scores.units, one, joint - singles, unknown), decision)
    summed = np.stack([mean_over_units(rows, scores.units) for rows in singles])
    drawn = [
        [_random_means(sets, scores.units, row, role) for role in roles] for row in range(len(sets.arms))
    ]
    norms = [_set_norms(sets, role, mean_norms(scores)) for role in roles]
    p = np.array([
        [_rarity(*drawn[row][k], norms[k]) for k in range(len(roles))] for row in range(len(sets.arms))
    ])  # fmt: skip
    q = adjust_roles(p, decision)
    rare = significant(q, decision.alpha, p) & (whole.count >= FEWEST_UNITS)
    return SET_TESTS.rows(
        dict(
            arm=arm,
            role=role,
            heads=int(sets.members[own[k]].sum()),
            count=int(whole.count[row, k]),
            damage=float(whole.mean[row, k]),
            low=float(whole.low[row, k]),
            high=float(whole.high[row, k]),
            singles=float(summed[row, k]),
            excess=float(excess.mean[row, k]),
            excess_low=float(excess.low[row, k]),
            excess_high=float(excess.high[row, k]),
            p_excess=float(excess.p[row, k]),
            q_excess=float(excess.q[row, k]),
            excess_decision=direction(
                int(excess.decision[row, k]), False, int(excess.count[row, k]), (REPAIRED, "")
            ),
            sets=len(drawn[row][k][1]),
            **_quantiles(drawn[row][k][1]),
            p=float(p[row, k]),
            q=float(q[row, k]),
            decision=DECISIONS[3] if np.isnan(p[row, k]) else RARE if rare[row, k] else DECISIONS[2],
            norm=float(norms[k][0]),
            random_norm=float(norms[k][1:].mean()) if len(norms[k]) > 1 else float("nan"),
        )
        for row, arm in enumerate(sets.arms)
        for k, role in enumerate(roles)
    )


def beyond_norm(
    damage: Float[np.ndarray, " sets"], norm: Float[np.ndarray, " sets"]
) -> Float[np.ndarray, " sets"]:
    """Return the damage of sets less the line of damage by norm, brought to equal variance.

    These are residuals of least squares over all sets, divided by √(1 − leverage): a set of extreme norm
    pulls the line, and its own residual varies less. Where norms are equal or not known, they are from the
    mean.

    Example:
        >>> beyond_norm(np.array([5.0, 1.0, 2.0, 3.0, 4.2]), np.arange(5.0)).round(2).tolist()
        [3.23, -2.39, -1.16, -0.1, 1.71]
    """
    count = len(damage)
    away = np.where(np.isnan(norm).any(), 0.0, norm - norm.mean())
    square = float((away**2).sum())
    slope = float(away @ (damage - damage.mean())) / square if square > 0 else 0.0
    leverage = 1 / count + (away**2 / square if square > 0 else 0.0)
    beyond: np.ndarray = (damage - damage.mean() - slope * away) / np.sqrt(np.maximum(1 - leverage, TIE))
    return beyond


def _rarity(own: float, drawn: Float[np.ndarray, " sets"], norms: Float[np.ndarray, "sets+1"]) -> float:
    """Return the rarity of the damage of a role's set beyond what norms foretell."""
    if not drawn.size or np.isnan(own) or np.isnan(drawn).any():
        return float("nan")
    beyond = beyond_norm(np.array([own, *drawn]), norms)
    return rarity(float(beyond[0]), beyond[1:])


def _set_norms(
    sets: HeadSets, role: str, norms: Float[np.ndarray, "layers heads"]
) -> Float[np.ndarray, " sets"]:
    """Return the mean norm of the heads of a role's set, and of its random sets; NaN for empty ones."""
    own = _position(sets, role)
    others = [k for k, name in enumerate(sets.roles) if name == role and k != own]
    members = [sets.members[k] for k in (own, *others)]
    return np.array([norms[heads].mean() if heads.any() else np.nan for heads in members])


def _position(sets: HeadSets, role: str) -> int:
    """Return the position of the set of a role's own heads."""
    return next(k for k, name in enumerate(sets.roles) if name == role and sets.number[k] == 0)


def _single_sum(
    scores: Scores, arm: str, members: Bool[np.ndarray, "layers heads"]
) -> Float[np.ndarray, " examples"]:
    """Return the sum of the damages of a set's heads, each taken out alone; NaN for a set of one head."""
    single = scores.values[scores.sieves.index(arm)].astype(np.float64)[:, members]
    total: np.ndarray = single.sum(axis=1) if members.sum() > 1 else np.full(len(single), np.nan)
    return total


def _random_means(
    sets: HeadSets, units: Sequence[str], arm: int, role: str
) -> tuple[float, Float[np.ndarray, " sets"]]:
    """Return the mean damage of a role's set, and of its random sets, over the examples that all have."""
    own = _position(sets, role)
    others = [k for k, name in enumerate(sets.roles) if name == role and k != own]
    damage = sets.damage[arm, [own, *others]].astype(np.float64)
    known = np.where(np.isnan(damage).any(axis=0), np.nan, damage)
    means = mean_over_units(known.T, units)
    return float(means[0]), means[1:]


def _quantiles(drawn: Float[np.ndarray, " sets"]) -> dict[str, float]:
    """Return the 2.5 % quantile, median and 97.5 % quantile of random sets; NaN without any."""
    values = np.quantile(drawn, (0.025, 0.5, 0.975)) if drawn.size else np.full(3, np.nan)
    names = ("random_low", "random_middle", "random_high")
    return {name: float(value) for name, value in zip(names, values, strict=True)}
