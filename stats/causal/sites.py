"""Does a label say where? Damage at the sites of a role, and of removing the cells of a role.

Both tests are of heads that hold a role, on units that did not decide the roles.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.causal.ablation import CELL_TESTS, SITE_TESTS, HeldRoles
from headroles.records.causal.columns import CELLS, MATCHED, NORM, SITES, Column, parse_column
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.causal.controls import nearest_heads
from headroles.stats.causal.questions import Questions, direction, judge_questions
from headroles.stats.columns import mean_over_units, unit_numbers
from headroles.stats.moments import describe, unit_means

SITED = ("at its sites", "elsewhere")
REMOVED = ("its cells matter", "other cells matter more")
CLEAR = 3.0
"""Standard errors above 0 of a mean damage that is the size of a head."""
UNKNOWN = (float("nan"), float("nan"))
"""Bounds of differences: those of distances, −1 and 1, are so far away that they say nothing."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A role and a head that holds it."""

    role: str
    layer: int
    head: int


def site_tests(scores: Scores, held: HeldRoles, decision: Decision) -> Table:
    """Test for every labelled head whether damage is larger at the sites of its role.

    D_u is the damage at sites of a role minus that at other tokens of the same or else
    the nearest stratum, in unit u. m is the mean damage of a head, the size of all that it does. Null:
    E D ≤ 0, or E D ≤ m · mean of D / m over the controls (intersection-union: p is the larger of the two).
    Alternative: both are above. So heads that differ in size alone are alike. The second null carries the
    error of every m (``_beyond_controls``). Controls are at most 3 heads of the layer that do not hold the
    role, and whose m is clear: 3 standard errors above 0. Of these it is those whose outputs have the nearest
    mean norm. Where there are none, only the first null is tested. A head whose own m is not clear is
    untestable where there are controls. The other direction is a family of its own ("elsewhere").
    Unit: ``scores.units``, which must have decided no role: else a head that holds its role by
    the noise of these units is tested on the same noise. Assumptions: those of the decision's test.
    Family: the labelled heads of a role, in one arm; of all roles and arms for "run"; of a layer for
    "layer". Below 20 units nothing is decided, but p enters the correction.

    Args:
        scores: With columns "OUTCOME:sites:ROLE", of examples whose units decided no role.
        held: The roles.
        decision: Test, correction, family, alpha, resamples, seed and interval.

    Returns:
        A row per arm, role and labelled head; none where no column has sites.
    """
    columns = [parse_column(name) for name in scores.sieves]
    outcomes = list(dict.fromkeys(column.outcome for column in columns if column.what == SITES))
    roles = [role for role in held.roles if any(column.role == role for column in columns)]
    places = _labelled(held, roles)
    if not outcomes or not places:
        return SITE_TESTS
    shape = (len(outcomes), len(scores.examples), len(places))
    own, beyond = np.full(shape, np.nan), np.full(shape, np.nan)
    controls = np.zeros((shape[0], shape[2]), dtype=np.int64)
    norms = mean_norms(scores)
    arms = [_first_arm(scores, outcome) for outcome in outcomes]
    for row, outcome in enumerate(outcomes):
        damage = scores.values[scores.sieves.index(arms[row])].astype(np.float64)
        for k, place in enumerate(places):
            name = Column(outcome, SITES, place.role).name
            if name in scores.sieves:
                values = scores.values[scores.sieves.index(name)][:, place.layer].astype(np.float64)
                sizes = np.where(np.isnan(values), np.nan, damage[:, place.layer])
                clear = _clear(sizes, scores.units)
                near = _controls(place, held, clear, norms)
                own[row, :, k], controls[row, k] = values[:, place.head], len(near)
                if not near:
                    beyond[row, :, k] = own[row, :, k]
                elif clear[place.head]:
                    heads = [place.head, *near]
                    beyond[row, :, k] = _beyond_controls(values[:, heads], sizes[:, heads], scores.units)
    bounds = [UNKNOWN] * len(outcomes)
    questions = Questions(
        tuple(outcomes), scores.units, _families(places, decision.family), own, bounds, beyond
    )
    more, less = judge_questions(questions, decision), judge_questions(questions.negated(), decision)
    assert more.contrast is not None
    contrast, known = more.contrast, controls > 0
    return SITE_TESTS.rows(
        {
            "arm": arms[row], "role": place.role, "layer": place.layer, "head": place.head,
            "count": more.count[row, k],
            "mean": more.mean[row, k], "low": more.low[row, k], "high": more.high[row, k],
            "p": more.p[row, k], "controls": controls[row, k],
            "difference": contrast.mean[row, k] if known[row, k] else math.nan,
            "difference_low": contrast.low[row, k] if known[row, k] else math.nan,
            "difference_high": contrast.high[row, k] if known[row, k] else math.nan,
            "p_difference": contrast.p[row, k] if known[row, k] else math.nan,
            "p_joint": more.p_joint[row, k], "q": more.q[row, k],
            "p_elsewhere": less.p_joint[row, k], "q_elsewhere": less.q[row, k],
            "decision": direction(
                int(more.decision[row, k]), bool(less.decision[row, k] == 0), int(more.count[row, k]), SITED
            ),
        }
        for row, outcome in enumerate(outcomes)
        for k, place in enumerate(places)
        if Column(outcome, SITES, place.role).name in scores.sieves
    )  # fmt: skip


def _labelled(held: HeldRoles, roles: Sequence[str]) -> list[_Place]:
    """Return every head that holds one of the roles."""
    return [
        _Place(role, int(layer), int(head)) for role in roles for layer, head in np.argwhere(held.heads(role))
    ]


def _families(places: Sequence[_Place], family: str) -> Int[np.ndarray, " questions"]:
    """Return the number of each question's family: its role, or its role and layer."""
    keys = [(place.role, place.layer if family == "layer" else -1) for place in places]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys])


def mean_norms(scores: Scores) -> Float[np.ndarray, "layers heads"]:
    """Return the mean norm of each head's output over units; NaN where it is not known."""
    if NORM not in scores.sieves:
        return np.full((scores.layers, scores.heads), np.nan)
    return mean_over_units(scores.values[scores.sieves.index(NORM)], scores.units)


def _controls(
    place: _Place,
    held: HeldRoles,
    clear: Bool[np.ndarray, " heads"],
    norms: Float[np.ndarray, "layers heads"],
) -> list[int]:
    """Return the heads of clear size without the role in the layer, nearest in norm first, at most 3."""
    free = np.flatnonzero(~held.heads(place.role)[place.layer] & clear)
    return nearest_heads(norms[place.layer], place.head, free)


def _clear(damage: Float[np.ndarray, "examples heads"], units: Sequence[str]) -> Bool[np.ndarray, " heads"]:
    """Return the heads whose mean damage is clearly above 0; others have no size to divide by."""
    sample = describe(unit_means(damage, unit_numbers(units)))
    clear: np.ndarray = sample.mean * np.sqrt(sample.count) > CLEAR * sample.sd
    return clear


def _beyond_controls(
    values: Float[np.ndarray, "examples heads"],
    damage: Float[np.ndarray, "examples heads"],
    units: Sequence[str],
) -> Float[np.ndarray, " examples"]:
    """Return D of a head beyond what its size and the sites of its controls foretell, input by input.

    With m the mean damage and r = mean D / m of a control, r̄ their mean, the mean of the values is
    mean D − m · r̄. As r and m are estimates, an input adds
    D − r̄ · Δ − m · mean over controls of (D − r Δ) / m.
    Its spread is then that of the whole, to first order (delta method).

    Args:
        values: D of every input and of the head, then of its controls.
        damage: Δ, the damage over all tokens of the same inputs.
        units: Unit of each input.
    """
    known = ~np.isnan(values).any(axis=1, keepdims=True)
    own, size = (np.where(known, table, np.nan) for table in (values, damage))
    mean = mean_over_units(size, units)
    ratio = mean_over_units(own, units) / mean
    apart = ((own - ratio * size) / mean)[:, 1:].mean(axis=1)
    beyond: np.ndarray = own[:, 0] - ratio[1:].mean() * size[:, 0] - mean[0] * apart
    return beyond


def _first_arm(scores: Scores, outcome: str) -> str:
    """Return the arm whose damage the sites of an outcome are of: its first."""
    return next(
        name for name in scores.sieves if parse_column(name).arm and parse_column(name).outcome == outcome
    )


def cell_tests(scores: Scores, held: HeldRoles, decision: Decision) -> Table:
    """Test for every labelled head whether removing its role's cells does more damage than removing others.

    Null: the mean damage of removing attention on the role's cells is at most that of removing the same mass
    from other cells at the same offsets. Alternative: it is larger. Paired by unit; the other direction is
    a family of its own. Unit, assumptions, families and the smallest number of units: as for ``site_tests``.

    Args:
        scores: With columns "OUTCOME:cells:ROLE" and "OUTCOME:cells:matched:ROLE", of examples whose units
            decided no role. Without matched cells nothing is tested.
        held: The roles.
        decision: Test, correction, family, alpha, resamples, seed and interval.

    Returns:
        A row per outcome, role and labelled head; none where no cells were removed.
    """
    columns = [parse_column(name) for name in scores.sieves]
    outcomes = list(dict.fromkeys(column.outcome for column in columns if column.what == CELLS))
    roles = [role for role in held.roles if any(c.role == role and c.what == CELLS for c in columns)]
    places = _labelled(held, roles)
    if not outcomes or not places:
        return CELL_TESTS
    shape = (len(outcomes), len(scores.examples), len(places))
    damages = {what: np.full(shape, np.nan) for what in (CELLS, MATCHED)}
    for what, values in damages.items():
        for row, outcome in enumerate(outcomes):
            for k, place in enumerate(places):
                name = Column(outcome, what, place.role).name
                if name in scores.sieves:
                    values[row, :, k] = scores.values[scores.sieves.index(name)][:, place.layer, place.head]
    difference = damages[CELLS] - damages[MATCHED]
    bounds = [UNKNOWN] * len(outcomes)
    families = _families(places, decision.family)
    questions = Questions(tuple(outcomes), scores.units, families, difference, bounds)
    found, other = judge_questions(questions, decision), judge_questions(questions.negated(), decision)
    tested = ~np.isnan(difference).all(axis=1)
    counted = {
        what: _paired_means(values, difference, tested, scores.units) for what, values in damages.items()
    }
    return CELL_TESTS.rows(
        {
            "outcome": outcome, "role": place.role, "layer": place.layer, "head": place.head,
            "count": found.count[row, k],
            "cells": counted[CELLS][row, k], "matched": counted[MATCHED][row, k],
            "difference": found.mean[row, k], "low": found.low[row, k], "high": found.high[row, k],
            "p": found.p[row, k], "q": found.q[row, k],
            "p_other": other.p[row, k], "q_other": other.q[row, k],
            "decision": direction(
                int(found.decision[row, k]), bool(other.decision[row, k] == 0), int(found.count[row, k]),
                REMOVED,
            ),
        }
        for row, outcome in enumerate(outcomes)
        for k, place in enumerate(places)
        if Column(outcome, CELLS, place.role).name in scores.sieves
    )  # fmt: skip


def _paired_means(
    values: Float[np.ndarray, "outcomes examples places"],
    difference: Float[np.ndarray, "outcomes examples places"],
    tested: Bool[np.ndarray, "outcomes places"],
    units: Sequence[str],
) -> Float[np.ndarray, "outcomes places"]:
    """Return means over units of the damages that are compared; all units where nothing can be compared."""
    unknown = np.isnan(difference) & tested[:, None]
    paired = np.where(unknown, np.nan, values)
    return np.stack([mean_over_units(rows, units) for rows in paired])
