"""Label resamples of the units with roles, by the same test, correction and family as the run."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Shaped, UInt16

from headroles.records.rules.rule import Decision, Rule
from headroles.stats.claims import label_p
from headroles.stats.columns import Column, Columns
from headroles.stats.correction import significant
from headroles.stats.draws import BLOCK
from headroles.stats.families import adjust_families_of_draws, contrast_pairs, family_members, joint_role_p
from headroles.stats.methods.closed_form import has_no_spread
from headroles.stats.methods.names import METHODS
from headroles.stats.moments import describe, sample_from_sums

CELLS = 2**18
"""Draws × heads labelled at once: bounds memory and, being fixed, changes no result."""
CLEAR_ALPHA = 0.2
"""Level up to which a mean at most θ is never a role, whatever its p is."""
CLEAR_SPREAD = 1e-9
"""Variance, as a part of the squared mean where that exceeds 1, above which scores have a spread."""

Weights = Shaped[np.ndarray, "draws units"]
"""How often each unit counts in each draw, as integers or as floating-point numbers."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Layers and heads of a run."""

    layers: int
    heads: int


def closed_form_decision(decision: Decision) -> Decision:
    """Return the decision with which resamples are labelled.

    Tests that resample themselves would be nested: ``t-skew`` replaces ``bootstrap-t``,
    ``t`` replaces ``sign-flip``, and the correction ``holm`` replaces ``maxT``. Everything else stays.
    """
    test = METHODS[decision.test].stand_in or decision.test
    correction = "holm" if decision.correction == "maxT" else decision.correction
    return Decision(test, correction, decision.family, decision.alpha)


def deciding(rules: Sequence[Rule]) -> list[int]:
    """Return the positions of the columns that decide about roles: those of roles and of their contrasts.

    A second or a weaker contrast decides about strong roles and explanations only.

    Example:
        >>> others = (Rule(name, role=False) for name in ("a:x", "a:y"))
        >>> deciding([Rule("a", contrast="a:x", stronger="a:y"), *others])
        [0, 1]
    """
    contrasts = {other for number, other in contrast_pairs(rules) if rules[number].role}
    return [number for number, rule in enumerate(rules) if rule.role or number in contrasts]


def role_p(column: Column, weights: Weights, decision: Decision) -> Float[np.ndarray, "draws heads"]:
    """Return p of a role for every draw: unit u of the column counts ``weights[draw, u]`` times.

    p of a mean at most θ is above 0.43 in every test of a mean, and counts as 1 (``_far_from_role``).

    Args:
        column: The scores.
        weights: How often each unit counts in each draw.
        decision: With a test that is not itself resampled (see ``closed_form_decision``).
    """
    test, method = decision.test, METHODS[decision.test]
    if method.statistic is None:
        draws = (np.repeat(column.values, row.astype(int), axis=0) for row in weights)
        return np.stack([label_p(column, describe(values), test, values) for values in draws])
    powers = CentredPowers(column.values)
    blocks = (weights[start : start + BLOCK] for start in range(0, len(weights), BLOCK))
    return np.concatenate([_p_of_sums(column, *powers.sums(block), decision) for block in blocks])


def _p_of_sums(
    column: Column, count: np.ndarray, sums: Sequence[np.ndarray], centre: np.ndarray, decision: Decision
) -> Float[np.ndarray, "draws heads"]:
    """Return p of a role from what ``CentredPowers.sums`` returns."""
    p = np.ones(sums[0].shape)
    known = ~_far_from_role(column, count, sums, centre, decision.alpha)
    count, centre = (np.broadcast_to(part, p.shape)[known] for part in (count, centre))
    sample = sample_from_sums(count, [power[known] for power in sums], centre)
    if column.examples is not None:
        column = replace(column, examples=column.examples.at(known))
    worst = np.broadcast_to(column.worst(1), p.shape)[known]
    p[known] = label_p(column, sample, decision.test, worst=worst)
    return p


def _far_from_role(
    column: Column, count: np.ndarray, sums: Sequence[np.ndarray], centre: np.ndarray, alpha: float
) -> Bool[np.ndarray, "draws heads"]:
    """Return where p need not be computed, since no correction makes a role of it.

    These are means at most θ with some spread. Student's statistic is at most 0 there. That with the
    correction for skewness g is at most its value at 0, g/(6√n) < 1/6, since g is below √n. So p is above
    0.43. No correction lowers p, except ``fdr_tsbh``: with f of m tests significant at first, by the factor
    (m − f)/m. Where that makes 0.43 at most alpha = 0.2, f is above m/2, and then every p up to alpha is
    significant already.

    Args:
        column: The scores.
        count: Sum of the weights of every draw.
        sums: Weighted sums of scores less ``centre``, and of its powers.
        centre: Subtracted from the scores.
        alpha: Level of the decision; above ``CLEAR_ALPHA`` p is needed everywhere.
    """
    if alpha > CLEAR_ALPHA:
        return np.zeros(sums[0].shape, dtype=np.bool_)
    safe = np.maximum(count, 1.0)
    first = sums[0] / safe
    mean = first + centre
    spread = sums[1] / safe - first * first
    far: np.ndarray = (mean <= column.rule.margin) & (spread > CLEAR_SPREAD * np.maximum(1.0, mean * mean))
    far &= count >= 2
    return far if column.examples is None else far & ~has_no_spread(column.examples)


class CentredPowers:
    """The values of a column less a centre, and their squares and cubes: what sums over draws need."""

    def __init__(self, values: Float[np.ndarray, "units heads"]) -> None:
        """Subtract the mean of each head, and raise to the powers; NaN counts as none."""
        known = ~np.isnan(values)
        count = known.sum(axis=0)
        self._known = None if known.all() else known.astype(np.float64)
        self._centre = np.where(known, values, 0.0).sum(axis=0) / np.maximum(count, 1)
        first = np.where(known, values - self._centre, 0.0)
        second = first * first
        self._powers = np.concatenate([first, second, second * first], axis=1)

    def sums(
        self, weights: Weights
    ) -> tuple[Float[np.ndarray, "draws #heads"], list[np.ndarray], Float[np.ndarray, " heads"]]:
        """Return sums of weights, sums of weighted powers from the first to the third, and the centre.

        All powers are summed in one product.

        Args:
            weights: How often each unit counts in each draw.
        """
        weights = weights.astype(np.float64, copy=False)
        size = weights.sum(axis=1, keepdims=True) if self._known is None else weights @ self._known
        return size, np.split(weights @ self._powers, 3, axis=1), self._centre


def p_of_draws(
    columns: Sequence[Column], deciders: Sequence[int], weights: Weights, decision: Decision
) -> Float[np.ndarray, "deciders draws heads"]:
    """Return ``role_p`` of the columns at some positions; each is read when it is needed."""
    return np.stack([role_p(columns[position], weights, decision) for position in deciders])


def roles_from_p(
    p: Float[np.ndarray, "sieves draws heads"], rules: Sequence[Rule], grid: Grid, decision: Decision
) -> Bool[np.ndarray, "roles draws heads"]:
    """Return which heads hold which role, from p of every column: contrasts joined, families corrected.

    Args:
        p: Of each rule.
        rules: Those of roles and of their contrasts; others change nothing.
        grid: Layers and heads.
        decision: Correction, family and alpha.
    """
    joined = joint_role_p(p, rules)[[rule.role for rule in rules]]
    roles = [rule for rule in rules if rule.role]
    families = family_members(roles, grid.layers, grid.heads, decision.family)
    q = adjust_families_of_draws(joined, families, decision.correction, decision.alpha)
    return significant(q, decision.alpha, joined)


def label_draws(
    columns: Columns, weights: Weights, grid: Grid, decision: Decision
) -> Bool[np.ndarray, "roles draws heads"]:
    """Return the roles under every draw.

    Args:
        columns: The run's columns, contrasts included.
        weights: How often each unit counts in each draw.
        grid: Layers and heads.
        decision: With a test that is not itself resampled (see ``closed_form_decision``).
    """
    deciders = deciding(columns.rules)
    p = p_of_draws(columns, deciders, weights, decision)
    return roles_from_p(p, [columns.rules[position] for position in deciders], grid, decision)


def gather_draws(blocks: Iterable[np.ndarray], heads: int) -> Iterator[UInt16[np.ndarray, "draws units"]]:
    """Yield draws in as few blocks as memory allows: some 260,000 labels of a role in each.

    Each block reads all columns once. Counts of units are whole numbers and take two bytes.

    Args:
        blocks: How often each unit counts in each draw, in blocks of draws.
        heads: Heads that are labelled.
    """
    draws = [block.astype(np.uint16) for block in blocks]
    size = max(64, CELLS // max(heads, 1))
    if draws:
        whole = np.concatenate(draws)
        yield from (whole[start : start + size] for start in range(0, len(whole), size))
