"""Roles of a label run: decided on units whose damage is not measured."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles import Labelling
from headroles.errors import BadInput
from headroles.options.causal.ablate import AblateOptions
from headroles.records.causal.ablation import HeldRoles
from headroles.runs.held.labels import (
    annotation_of,
    check_grid,
    check_label_run,
    decide_roles,
    deciding_half,
    held_roles,
)
from headroles.runs.label.run import label
from headroles.runs.surface.run import surface
from headroles.stats.columns import select_examples
from headroles.stats.engine import judge

UNITS = st.lists(st.sampled_from("abcdefghijklmnop"), min_size=2, max_size=60)


@pytest.fixture(scope="module")
def labelled(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A label run of the planted model on the shipped pairs."""
    folder = tmp_path_factory.mktemp("labelled") / "run"
    label(task="QNLI", model=planted, sieve=("previous", "delimiter"), maps=0, max_length=64, out=folder)
    return folder


def _options(folder: Path, **more: Any) -> AblateOptions:
    return AblateOptions(roles=str(folder), **more)


@given(UNITS, st.integers(0, 5))
def test_a_unit_is_in_one_half_whatever_the_order_of_its_inputs(units: list[str], seed: int) -> None:
    decide = deciding_half(units, seed)
    names = sorted(set(units))
    assert len({unit for unit, own in zip(units, decide, strict=True) if own}) == len(names) // 2
    again = dict(zip(reversed(units), deciding_half(units[::-1], seed), strict=True))
    assert all(again[unit] == own for unit, own in zip(units, decide, strict=True))


def test_halves_of_other_seeds_are_independent() -> None:
    units = [f"QNLI/{k}" for k in range(2000)]
    first, second = deciding_half(units, 0), deciding_half(units, 1)
    assert abs((first == second).mean() - 0.5) < 0.05


def test_on_the_same_inputs_half_of_the_units_decide_by_the_rules_of_the_label_run(labelled: Path) -> None:
    from headroles import load

    held, run = held_roles(_options(labelled)), load(labelled)
    assert held is not None
    assert held.roles == run.findings.roles
    assert len(held.units) == len(set(run.scores.units)) // 2
    own = np.isin(run.scores.units, held.units)
    expected = judge(select_examples(run.scores, own), run.findings.rules, run.decision)
    for k, role in enumerate(held.roles):
        np.testing.assert_array_equal(held.decision[k], expected.decision[expected.of(role)])
    np.testing.assert_array_equal(held.apart(run.scores.units, run.scores.examples), ~own)
    assert held.heads("previous")[0, 0]


def test_on_other_inputs_all_units_decide_and_those_that_occur_in_both_runs_measure_no_damage(
    labelled: Path, table: Path, planted: Path
) -> None:
    held = held_roles(_options(labelled, task="QNLI", data=str(table), model=str(planted)))
    assert held is not None
    assert len(held.units) == 160
    units, examples = [*held.units[:3], "new"], [*held.examples[:3], "new/0"]
    assert held.apart(units, examples).tolist() == [False, False, False, True]


def test_fewer_inputs_of_the_same_source_are_halved_too(labelled: Path, planted: Path) -> None:
    same = held_roles(_options(labelled))
    fewer = held_roles(_options(labelled, task="QNLI", limit=40, model=str(planted)))
    assert same is not None
    assert fewer is not None
    assert fewer.units == same.units


def test_a_unit_whose_input_decided_is_left_out_under_any_name() -> None:
    grid = np.zeros((1, 1, 1), dtype=np.int8)
    held = HeldRoles(("local",), grid, grid * 1.0, ("doc1",), "run", ("x0", "x1"))
    assert held.apart(["doc1", "x1", "x1", "x9"], ["x0", "x1", "x5", "x9"]).tolist() == [
        False, False, False, True,
    ]  # fmt: skip


def test_without_a_label_run_no_roles_are_asked_about() -> None:
    options = AblateOptions(task="QNLI")
    check_label_run(options)
    assert held_roles(options) is None
    assert annotation_of(options) == frozenset()


def test_the_annotation_is_that_of_the_sieves_of_the_label_run(labelled: Path) -> None:
    from headroles.options.label import LabelOptions
    from headroles.runs.label.sieves import selection_of_run

    wanted = selection_of_run(LabelOptions(task="QNLI", sieve=("previous", "delimiter"))).needs
    assert annotation_of(_options(labelled)) == wanted


def test_folders_that_hold_no_label_run_are_refused(planted: Path, table: Path, tmp_path: Path) -> None:
    surface(task="QNLI", data=table, model=planted, max_length=48, out=tmp_path / "surface")
    for folder, sentence in ((tmp_path / "surface", "holds none"), (tmp_path, "does not")):
        with pytest.raises(BadInput, match=sentence):
            check_label_run(_options(folder, task="QNLI"))


def test_roles_need_four_units_and_the_heads_of_the_model(
    scores_of: Callable[..., tuple[Any, Any]],
) -> None:
    from headroles.records.rules.rule import Decision

    scores, rules = scores_of(0, units=3)
    run = Labelling(scores, judge(scores, rules, Decision()), Decision())
    with pytest.raises(BadInput, match="at least 4 units, but 'runs/three' has 3"):
        decide_roles(run, "runs/three", 0)
    more, _ = scores_of(0, units=8)
    held = decide_roles(replace(run, scores=more), "runs/eight", 0)
    check_grid(held, 2, 6)
    with pytest.raises(BadInput, match="'runs/eight' has 2 x 6 heads and the model 12 x 12"):
        check_grid(held, 12, 12)
