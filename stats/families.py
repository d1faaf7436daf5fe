"""Families of tests that are corrected together, and joint p values of sieves with contrasts."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.rules.rule import Decision, Rule
from headroles.stats.correction import adjust


def contrast_pairs(rules: Sequence[Rule]) -> list[tuple[int, int]]:
    """Return the positions of each sieve that has a contrast, and of that contrast."""
    position = {rule.sieve: k for k, rule in enumerate(rules)}
    return [(k, position[rule.contrast]) for k, rule in enumerate(rules) if rule.contrast]


def stronger_pairs(rules: Sequence[Rule]) -> list[tuple[int, int]]:
    """Return the positions of each sieve that has a second contrast, and of that one.

    A second contrast without scores is left out.
    """
    position = {rule.sieve: k for k, rule in enumerate(rules)}
    return [(k, position[rule.stronger]) for k, rule in enumerate(rules) if rule.stronger in position]


def explaining_contrasts(rules: Sequence[Rule]) -> list[tuple[int, list[int]]]:
    """Return the positions of each sieve that has a contrast, and of all contrasts that can explain it.

    These are the contrast that decides about the role and, where there is one, the weaker contrast.
    """
    position = {rule.sieve: k for k, rule in enumerate(rules)}
    return [
        (k, [position[name] for name in (rule.contrast, rule.weaker) if name in position])
        for k, rule in enumerate(rules)
        if rule.contrast
    ]


def joint_role_p(
    p: Float[np.ndarray, "sieves *heads"], rules: Sequence[Rule]
) -> Float[np.ndarray, "sieves *heads"]:
    """Return p of roles: of a sieve with a contrast the larger of the two (intersection-union).

    The row of a second contrast gets p of the strong role: the largest of sieve and both contrasts.
    """
    joined = p.copy()
    for k, other in contrast_pairs(rules):
        joined[k] = np.maximum(p[k], p[other])
    for k, other in stronger_pairs(rules):
        joined[other] = np.maximum(joined[other], joined[k])
    return joined


def joint_explained_p(
    p: Float[np.ndarray, "sieves *heads"],
    p_not: Float[np.ndarray, "sieves *heads"],
    enough: Bool[np.ndarray, "sieves *heads"],
    rules: Sequence[Rule],
    bets: bool = False,
) -> Float[np.ndarray, "sieves *heads"]:
    """Return p of "explained": the score lies beyond θ, and the contrast below its margin.

    Null: the mean score is at most θ, or the mean contrast is at least its margin. Alternative: neither. Unit
    and assumptions are those of the two tests, whose dependence does not matter (intersection-union). Where
    two contrasts can explain the score, the null is that both are at least their margins: twice the smaller p
    (union-intersection).

    Args:
        p: One-sided p of "not beyond the margin", of every column by itself.
        p_not: One-sided p of "not below the margin", likewise; 1 where that would hinge on few units.
        enough: Whether a head has enough units.
        rules: One per column.
        bets: Whether p are 1/E of the test ``betting``. Of two contrasts, the mean of both E then decides
            (an E up to 1 counts as 0), which needs no factor of two.

    Returns:
        The larger p of the two; NaN without a contrast, and where either has not enough units.

    Example:
        >>> rules = [Rule("block", contrast="block:matched"), Rule("block:matched", role=False)]
        >>> p, p_not = np.array([[0.01], [0.9]]), np.array([[0.99], [0.1]])
        >>> joint_explained_p(p, p_not, p < 1, rules).tolist()
        [[0.1], [nan]]
    """
    joined = np.full(p.shape, np.nan)
    for k, others in explaining_contrasts(rules):
        below = np.where(enough[others], p_not[others], np.nan)
        either = _mean_capital_p(below) if bets else len(others) * np.fmin.reduce(below, axis=0)
        either = np.minimum(1.0, either)
        joined[k] = np.where(enough[k], np.maximum(p[k], either), np.nan)
    return joined


def _mean_capital_p(p: Float[np.ndarray, "contrasts *heads"]) -> Float[np.ndarray, "*heads"]:
    """Return 1/E of the mean of E = 1/p, where p of 1 and NaN count as E = 0; NaN where all are NaN."""
    with np.errstate(divide="ignore"):
        capital = np.where(p < 1, 1 / p, 0.0).mean(axis=0)
        joint: np.ndarray = np.where(np.isnan(p).all(axis=0), np.nan, 1 / capital)
    return joint


def family_members(
    rules: Sequence[Rule], layers: int, heads: int, family: str
) -> list[list[tuple[int, slice]]]:
    """Return every family as its parts: a sieve's position and a range of its heads.

    Contrasts never share a family with roles: each is a family of its own, whatever ``family`` is.
    """
    whole = slice(0, layers * heads)
    roles = [k for k, rule in enumerate(rules) if rule.role]
    others = [[(k, whole)] for k, rule in enumerate(rules) if not rule.role]
    shared: dict[str, list[int]] = {}
    for k in roles:
        shared.setdefault(rules[k].together or rules[k].sieve, []).append(k)
    if family == "run":
        return ([[(k, whole) for k in roles]] if roles else []) + others
    if family == "layer":
        parts = [slice(layer * heads, (layer + 1) * heads) for layer in range(layers)]
        return [[(k, part) for k in those] for those in shared.values() for part in parts] + others
    return [[(k, whole) for k in those] for those in shared.values()] + others


def adjust_families(
    p: Float[np.ndarray, "sieves heads"],
    families: Sequence[Sequence[tuple[int, slice]]],
    correction: str,
    alpha: float,
) -> Float[np.ndarray, "sieves heads"]:
    """Return the p values adjusted within each family (``correction.adjust``)."""
    return _within(p[:, None], families, lambda rows: adjust(rows, correction, alpha))[:, 0]


def adjust_missing(
    missing: Float[np.ndarray, "sieves heads"],
    p: Float[np.ndarray, "sieves heads"],
    families: Sequence[Sequence[tuple[int, slice]]],
    decision: Decision,
) -> Float[np.ndarray, "sieves heads"]:
    """Return the p of missing units adjusted by Holm's method: maxT resamples units, and knows no others.

    It counts as 1 where the mean is on the wrong side. There the guard is 0, which would lend the other heads
    a smaller correction.

    Args:
        missing: Of the guard alone (``claims.missing_p``).
        p: Of the claims; heads where it is NaN are in no family.
        families: Parts that are corrected together.
        decision: Its alpha.
    """
    counted = np.where(np.isnan(p) | (p > 0.5), np.ceil(p), missing)
    return np.where(missing > 0, adjust_families(counted, families, "holm", decision.alpha), 0.0)


def adjust_own_families(
    p: Float[np.ndarray, "sieves heads"],
    families: Sequence[Sequence[tuple[int, slice]]],
    decision: Decision,
) -> Float[np.ndarray, "sieves heads"]:
    """Return the p of "explained" or "absent" adjusted over families of their own; NaN where p is NaN.

    The correction is that of the decision, with Holm's method in place of maxT, which corrects only roles
    and nots.
    """
    correction = "holm" if decision.correction == "maxT" else decision.correction
    return adjust_families(p, families, correction, decision.alpha)


def adjust_families_of_draws(
    p: Float[np.ndarray, "sieves draws heads"],
    families: Sequence[Sequence[tuple[int, slice]]],
    correction: str,
    alpha: float,
) -> Float[np.ndarray, "sieves draws heads"]:
    """Return the same for every draw of a resampling (``correction.adjust``)."""
    return _within(p, families, lambda rows: adjust(rows, correction, alpha))


def _within(
    p: Float[np.ndarray, "sieves rows heads"],
    families: Sequence[Sequence[tuple[int, slice]]],
    correct: Callable[[np.ndarray], np.ndarray],
) -> Float[np.ndarray, "sieves rows heads"]:
    """Return the values of each family corrected, row by row."""
    adjusted = np.empty_like(p)
    for family in families:
        joined = np.concatenate([p[k][:, part] for k, part in family], axis=1)
        corrected, start = correct(joined), 0
        for k, part in family:
            stop = start + part.stop - part.start
            adjusted[k][:, part] = corrected[:, start:stop]
            start = stop
    return adjusted
