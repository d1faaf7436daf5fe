"""Does a label say where? Damage at the sites of a role, and of removing the cells of a role.

Both tests are of heads that hold a role, on units that did not decide the roles.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.causal.ablation import CellTest, HeldRoles, SiteTest
from headroles.records.causal.columns import CELLS, MATCHED, NORM, SITES, Column, parse_column
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision
from headroles.stats.causal.controls import nearest_heads
from headroles.stats.causal.questions import Answers, Questions, direction, judge_questions
from headroles.stats.columns import mean_over_units

SITED = ("at its sites", "elsewhere")
REMOVED = ("its cells matter", "other cells matter more")
UNKNOWN = (float("nan"), float("nan"))
"""Bounds of differences: those of distances, −1 and 1, are so far away that they say nothing."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A role and a head that holds it."""

    role: str
    layer: int
    head: int


def site_tests(scores: Scores, held: HeldRoles, decision: Decision) -> tuple[SiteTest, ...]:
    """Test for every labelled head whether damage is larger at the sites of its role.

    D_u is the damage at sites of a role minus that at other tokens of the same or else
    the nearest stratum, in unit u. Null:
    E D ≤ 0, or E (D − mean D of the controls) ≤ 0 (intersection-union: p is the larger of the two).
    Alternative: both are above 0. Controls are at most 3 heads of the layer that do not hold the role, those
    whose outputs have the nearest mean norm. The norm is no damage, so the choice does not depend on what is
    tested. Where all heads of the layer hold the role, only the first null is tested. The other direction is
    a family of its own ("elsewhere").
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
        return ()
    shape = (len(outcomes), len(scores.examples), len(places))
    own, beyond = np.full(shape, np.nan), np.full(shape, np.nan)
    controls = np.zeros((shape[0], shape[2]), dtype=np.int64)
    norms = _mean_norms(scores)
    for row, outcome in enumerate(outcomes):
        for k, place in enumerate(places):
            name = Column(outcome, SITES, place.role).name
            if name in scores.sieves:
                values = scores.values[scores.sieves.index(name)][:, place.layer].astype(np.float64)
                near = _controls(place, held, values, norms)
                own[row, :, k], controls[row, k] = values[:, place.head], len(near)
                compared = values[:, near].mean(axis=1) if near else 0.0
                beyond[row, :, k] = own[row, :, k] - compared
    bounds = [UNKNOWN] * len(outcomes)
    questions = Questions(
        tuple(outcomes), scores.units, _families(places, decision.family), own, bounds, beyond
    )
    more, less = judge_questions(questions, decision), judge_questions(questions.negated(), decision)
    arms = [_first_arm(scores, outcome) for outcome in outcomes]
    return tuple(
        _site_row(arms[row], place, int(controls[row, k]), (row, k), more, less)
        for row, outcome in enumerate(outcomes)
        for k, place in enumerate(places)
        if Column(outcome, SITES, place.role).name in scores.sieves
    )


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


def _mean_norms(scores: Scores) -> Float[np.ndarray, "layers heads"]:
    """Return the mean norm of each head's output over units; NaN where it is not known."""
    if NORM not in scores.sieves:
        return np.full((scores.layers, scores.heads), np.nan)
    return mean_over_units(scores.values[scores.sieves.index(NORM)], scores.units)


def _controls(
    place: _Place,
    held: HeldRoles,
    values: Float[np.ndarray, "examples heads"],
    norms: Float[np.ndarray, "layers heads"],
) -> list[int]:
    """Return the measured heads of the layer that do not hold the role, nearest in norm first, at most 3."""
    measured = ~np.isnan(values).all(axis=0)
    free = np.flatnonzero(~held.heads(place.role)[place.layer] & measured)
    return nearest_heads(norms[place.layer], place.head, free)


def _first_arm(scores: Scores, outcome: str) -> str:
    """Return the arm whose damage the sites of an outcome are of: its first."""
    return next(
        name for name in scores.sieves if parse_column(name).arm and parse_column(name).outcome == outcome
    )


def _site_row(
    arm: str, place: _Place, controls: int, where: tuple[int, int], more: Answers, less: Answers
) -> SiteTest:
    assert more.contrast is not None
    beyond, known = more.contrast, controls > 0
    return SiteTest(
        arm=arm,
        role=place.role,
        layer=place.layer,
        head=place.head,
        count=int(more.count[where]),
        mean=float(more.mean[where]),
        low=float(more.low[where]),
        high=float(more.high[where]),
        p=float(more.p[where]),
        controls=controls,
        difference=float(beyond.mean[where]) if known else float("nan"),
        difference_low=float(beyond.low[where]) if known else float("nan"),
        difference_high=float(beyond.high[where]) if known else float("nan"),
        p_difference=float(beyond.p[where]) if known else float("nan"),
        p_joint=float(more.p_joint[where]),
        q=float(more.q[where]),
        p_elsewhere=float(less.p_joint[where]),
        q_elsewhere=float(less.q[where]),
        decision=direction(
            int(more.decision[where]), bool(less.decision[where] == 0), int(more.count[where]), SITED
        ),
    )


def cell_tests(scores: Scores, held: HeldRoles, decision: Decision) -> tuple[CellTest, ...]:
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
        return ()
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
    return tuple(
        CellTest(
            outcome=outcome,
            role=place.role,
            layer=place.layer,
            head=place.head,
            count=int(found.count[row, k]),
            cells=float(counted[CELLS][row, k]),
            matched=float(counted[MATCHED][row, k]),
            difference=float(found.mean[row, k]),
            low=float(found.low[row, k]),
            high=float(found.high[row, k]),
            p=float(found.p[row, k]),
            q=float(found.q[row, k]),
            p_other=float(other.p[row, k]),
            q_other=float(other.q[row, k]),
            decision=direction(
                int(found.decision[row, k]),
                bool(other.decision[row, k] == 0),
                int(found.count[row, k]),
                REMOVED,
            ),
        )
        for row, outcome in enumerate(outcomes)
        for k, place in enumerate(places)
        if Column(outcome, CELLS, place.role).name in scores.sieves
    )


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
