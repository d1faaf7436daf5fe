"""Label resamples of the units with roles, by the same test, correction and family as the run."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.rules.rule import Decision, Rule
from headroles.stats.columns import Column, label_p
from headroles.stats.correction import significant
from headroles.stats.families import adjust_families_of_draws, family_members, joint_role_p
from headroles.stats.methods.closed_form import role_p_of
from headroles.stats.methods.names import METHODS
from headroles.stats.moments import Sample, describe, sample_from_sums

CELLS = 2**18
"""Draws × heads labelled at once: bounds memory and, being fixed, changes no result."""

Weights = Float[np.ndarray, "draws units"]


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


def role_p(column: Column, weights: Weights, test: str) -> Float[np.ndarray, "draws heads"]:
    """Return p of a role for every draw: unit u of the column counts ``weights[draw, u]`` times."""
    method = METHODS[test]
    if method.statistic is None:
        return np.stack(
            [_p_of(column, np.repeat(column.values, row.astype(int), axis=0), test) for row in weights]
        )
    sample = weighted_moments(column.values, weights)
    statistic = method.statistic(sample, column.rule.margin)
    return label_p(role_p_of(sample, statistic), column, sample, test)


def _p_of(column: Column, values: Float[np.ndarray, "units heads"], test: str) -> Float[np.ndarray, " heads"]:
    sample = describe(values)
    return label_p(METHODS[test](values, sample, column.rule.margin, 0, 0).p, column, sample, test)


def weighted_moments(values: Float[np.ndarray, "units heads"], weights: Weights) -> Sample:
    """Return moments of weighted units, by one product: arrays of (draws, heads)."""
    known = ~np.isnan(values)
    whole = bool(known.all())
    count = known.sum(axis=0)
    centre = np.where(known, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    first = np.where(known, values - centre, 0.0)
    second = first * first
    size = weights.sum(axis=1, keepdims=True) if whole else weights @ known.astype(np.float64)
    powers = np.concatenate([first, second, second * first, second * second], axis=1)
    return sample_from_sums(size, np.split(weights @ powers, 4, axis=1), centre)


def roles_from_p(
    p: Float[np.ndarray, "sieves draws heads"], rules: Sequence[Rule], grid: Grid, decision: Decision
) -> Bool[np.ndarray, "roles draws heads"]:
    """Return which heads hold which role, from p of every column: contrasts joined, families corrected."""
    joined = joint_role_p(p, rules)
    families = family_members(rules, grid.layers, grid.heads, decision.family)
    q = adjust_families_of_draws(joined, families, decision.correction, decision.alpha)
    roles = [rule.role for rule in rules]
    return significant(q[roles], decision.alpha, joined[roles])


def label_draws(
    columns: Sequence[Column], weights: Weights, grid: Grid, decision: Decision
) -> Bool[np.ndarray, "roles draws heads"]:
    """Return the roles under every draw.

    Args:
        columns: The run's columns, contrasts included.
        weights: How often each unit counts in each draw.
        grid: Layers and heads.
        decision: With a test that is not itself resampled (see ``closed_form_decision``).
    """
    p = np.stack([role_p(column, weights, decision.test) for column in columns])
    return roles_from_p(p, [column.rule for column in columns], grid, decision)


def split_draws(weights: Iterable[np.ndarray], heads: int) -> Iterator[np.ndarray]:
    """Yield the same draws in blocks of some 260,000 labels or weights, for memory."""
    for block in weights:
        size = max(64, CELLS // max(heads, block.shape[1]))
        for start in range(0, len(block), size):
            yield block[start : start + size]
