"""With few units no table of roles decides anything, and the notes of a run say so."""

from dataclasses import replace

import numpy as np
import pytest

from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE, FEWEST_UNITS, Ablation
from headroles.records.causal.columns import parse_column
from headroles.records.rules.rule import Decision
from headroles.runs.ablate.manifest import role_notes
from headroles.stats.assessment.assess import assess
from headroles.stats.causal.judge import judge_ablation
from headroles.stats.oracles.recompute import recompute_findings
from tests.support.causal.damages import ablation_scores, made_roles, made_sets


def _planted(units: int) -> Ablation:
    """Return tests of heads that do damage where they hold "induction" alone, others "delimiter:sep".

    Args:
        units: Units that decided no role.
    """
    scores, rules = ablation_scores(4, units=2 * units, grid=(2, 12))
    held = made_roles(scores)
    one = held.heads("induction")
    decision = held.decision.copy()
    decision[held.roles.index("delimiter:sep")] = np.where(one, 2, 0)
    held = replace(held, decision=decision)
    values = 1e-3 * np.random.default_rng(0).normal(size=scores.values.shape)
    for place, name in enumerate(scores.sieves):
        column = parse_column(name)
        damaging = bool(column.arm) or column.what in ("sites", "cells")
        values[place] += 0.5 * one if damaging else 1.0 if column.what == "clean" else 0.0
    scores = replace(scores, values=np.abs(values).astype(np.float32))
    *_, ablation = judge_ablation(scores, rules, Decision(), 0.01, held, made_sets(scores, held, sets=99))
    return ablation


def _decisions(ablation: Ablation) -> dict[str, set[str]]:
    """Return the decisions of each table about the role "induction"."""
    return {
        name: {row.decision for row in getattr(ablation, name) if row.role == "induction"} - {"untestable"}
        for name in ("sites", "cells", "roles", "groups")
    }


def test_below_twenty_units_no_question_about_a_role_is_decided() -> None:
    enough, few = _planted(FEWEST_UNITS), _planted(FEWEST_UNITS - 1)
    assert _decisions(enough) == {
        "sites": {"at its sites"},
        "cells": {"its cells matter"},
        "roles": {"more damage"},
        "groups": {"more than random sets"},
    }
    assert set().union(*_decisions(few).values()) == {"undetermined"}
    assert [row.p for row in few.cells] != [row.p for row in enough.cells]
    (undecided, little) = role_notes(few)
    cells = sum(row.decision == "undetermined" for row in few.cells)
    assert undecided.startswith(f"below {FEWEST_UNITS} units, no question about a role is decided: ")
    assert f"{cells} of {len(few.cells)} tests of cells" in undecided
    assert little.startswith(f"below {ENOUGH_FOR_LITTLE} units, no role is shown to do no damage: ")
    assert role_notes(enough) == [little.replace("(19 units)", "(20 units)")]


def test_other_libraries_leave_heads_with_few_units_undetermined_too() -> None:
    scores, rules = ablation_scores(4, units=FEWEST_UNITS - 1)
    scores = replace(scores, values=scores.values + np.float32(0.5))
    known, findings, _ = judge_ablation(scores, rules, Decision(), 0.01)
    precision = assess(scores, known, Decision(), findings, absence=False, nots=False).precision
    assert (findings.decision[findings.of("loss:mean")] == 2).all()
    for fewest, fits in ((FEWEST_UNITS, True), (0, False)):
        checks = recompute_findings(
            scores, findings, Decision(), precision=precision, absence=False, fewest=fewest
        )
        (check,) = [check for check in checks if check.quantity == "decision"]
        assert check.compared
        assert check.fits == fits


@pytest.mark.parametrize(
    ("units", "found"), [(ENOUGH_FOR_LITTLE - 1, "undetermined"), (ENOUGH_FOR_LITTLE, "negligible")]
)
def test_a_role_is_shown_to_do_no_damage_from_75_units_on(units: int, found: str) -> None:
    ablation = _planted(units)
    assert {row.no_damage for row in ablation.roles if row.role == "delimiter:sep"} == {found}
    assert {row.no_damage for row in ablation.roles if row.role == "induction"} == {"undetermined"}
    assert bool(role_notes(ablation)) == (units < ENOUGH_FOR_LITTLE)
