"""How rare a result is among random sets or labellings of heads, on the same inputs."""

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.rules.rule import Decision
from headroles.stats.correction import adjust

LABELLINGS = 9_999
"""Random labellings that a role's heads are compared with."""
TIE = 1e-9
"""Results this close, as a part of the larger, are equal but for rounding."""


def rarity(observed: float, drawn: Float[np.ndarray, " sets"]) -> float:
    """Return p of a result at least this large among random ones.

    ``(1 + b) / (1 + R)`` with b of R random results at least as large. Null: the observed set of heads
    is as any of the random ones. Then p is at most alpha with a probability of at most alpha. Unit: the set.
    It speaks of these inputs and this model. Source: Davison and Hinkley (1997), "Bootstrap methods and their
    application", eq. 4.11.

    Args:
        observed: Result of the observed set, such as its mean damage.
        drawn: Those of random sets.

    Returns:
        From 1 / (1 + R) to 1; NaN without random sets or a result.

    Example:
        >>> rarity(0.5, np.array([0.1, 0.5, 0.2]))
        0.5
    """
    if not drawn.size or np.isnan(observed) or np.isnan(drawn).any():
        return float("nan")
    slack = TIE * np.maximum(np.abs(drawn), abs(observed))
    return float((1 + (drawn >= observed - slack).sum()) / (1 + drawn.size))


def adjust_roles(p: Float[np.ndarray, "arms roles"], decision: Decision) -> Float[np.ndarray, "arms roles"]:
    """Return p adjusted over the roles of each arm, or of all arms for the family "run"; Holm's for maxT.

    Example:
        >>> adjust_roles(np.array([[0.01, 0.5]]), Decision(correction="holm")).tolist()
        [[0.02, 0.5]]
    """
    correction = "holm" if decision.correction == "maxT" else decision.correction
    rows = p.reshape(1, -1) if decision.family == "run" else p
    return adjust(rows, correction, decision.alpha).reshape(p.shape)


def random_areas(
    damage: Float[np.ndarray, "units layers heads"],
    held: Bool[np.ndarray, "layers heads"],
    draws: int,
    seed: int,
) -> Float[np.ndarray, " draws"]:
    """Return mean areas under the curve (``roles.unit_areas``) of labels that are random within layers.

    Every draw gives as many heads of each layer the role as hold it. Where all heads were measured in all
    units, the mean over units needs only the share of units in which a head does more damage than another.

    Args:
        damage: Per unit and head; NaN where a head was not taken out.
        held: Heads with the role.
        draws: Number of labellings.
        seed: Of the draws.
    """
    rng = np.random.default_rng(seed)
    wins, pairs = np.zeros(draws), 0
    for layer, mask in enumerate(held):
        heads = np.flatnonzero(~np.isnan(damage[:, layer]).all(axis=0))
        own = int(mask[heads].sum())
        if not 0 < own < heads.size:
            continue
        values = damage[:, layer, heads]
        known = ~np.isnan(values).any(axis=1)
        one, other = values[known][:, :, None], values[known][:, None, :]
        share = ((one > other) + 0.5 * (one == other)).mean(axis=0)
        labels = rng.random((draws, heads.size)).argsort(axis=1) < own
        wins += np.where(labels, 0.0, labels @ share).sum(axis=1)
        pairs += own * (heads.size - own)
    areas: np.ndarray = wins / pairs if pairs else np.full(draws, np.nan)
    return areas
