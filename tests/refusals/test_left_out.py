"""What is left out with a note or without a verdict, and what a cluster must have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles import HeadrolesError

pytestmark = pytest.mark.xdist_group("refusals")

COMPUTED = """
class Busy:
    name, needs, low, high = "busy", frozenset(), 0.0, 1.0
    def score(self, attention, example):
        return attention.max(axis=(1, 2))
    def null(self, example):
        return 0.0
busy = Busy()
"""
"""A sieve that computes from attention, and that every head passes."""


@pytest.fixture
def texts(planted: Path, table: Path) -> dict[str, Any]:
    """Inputs and model of small runs."""
    return {"task": "QNLI", "data": table, "model": planted, "max_length": 48, "limit": 8}


@pytest.mark.parametrize("by", ["zero", "even"])
def test_one_unit_is_enough_where_no_output_of_others_is_put_in(by: str, texts: dict[str, Any]) -> None:
    run = headroles.ablate(**texts | {"limit": 1, "by": by})
    assert len(run.scores.examples) == 1
    assert run.ablated is not None
    assert (run.ablated.damage.verdict == 3).all()  # untestable


def test_roles_that_no_head_holds_are_noted(texts: dict[str, Any], tmp_path: Path) -> None:
    headroles.label(**texts, sieve="duplicate", margin=0.9, maps=0, out=tmp_path / "none")
    run = headroles.ablate(roles=tmp_path / "none")
    note = "No head holds a role on the units that decide roles, so nothing is asked about roles."
    assert note in run.manifest["notes"]


@pytest.mark.ci
def test_roles_computed_from_attention_are_left_out_and_named(texts: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(COMPUTED)
    sieves = ["delimiter", f"{tmp_path / 'busy.py'}:busy"]
    headroles.label(**texts | {"limit": None}, sieve=sieves, maps=0, out=tmp_path / "labels")
    run = headroles.why(tmp_path / "labels", rotations=99)
    assert run.origins is not None
    assert {row.role for row in run.origins.origins} == {"delimiter"}
    assert "busy is computed from attention, so its cells cannot be counted." in run.skipped


@pytest.mark.ci
def test_rotary_positions_are_noted_and_no_rotation_is_tested(
    headed: Callable[[str, str], Path], table: Path, tmp_path: Path
) -> None:
    inputs: dict[str, Any] = {"data": table, "text_a": "question", "max_length": 24}
    model, labels = headed("llama", "CausalLM"), tmp_path / "labels"
    headroles.label(**inputs, model=model, sieve=["first", "local"], margin=0.01, maps=0, out=labels)
    run = headroles.why(labels, rotations=99)
    part = run.origins
    assert part is not None
    assert not part.products.free.any()
    assert any("Rotary positions turn all of the" in note for note in run.manifest["notes"])
    assert {row.few for row in part.origins} == {"untestable"}
    assert len({*part.products.group.tolist()}) == part.products.free.size // 2


@pytest.mark.ci
def test_workers_on_ray_need_a_cluster_that_runs_and_gpus_that_are_there(texts: dict[str, Any]) -> None:
    pytest.importorskip("ray")
    for given, sentence in (
        ({"address": "127.0.0.1:1"}, "must be that of a Ray cluster that runs.*'127.0.0.1:1' gave"),
        ({"workers": 2, "gpus": 64.0}, "2 workers with --gpus 64 need 128 GPUs, but this machine has"),
    ):
        with pytest.raises(HeadrolesError, match=sentence):
            headroles.label(**texts, engine="ray", **given)
