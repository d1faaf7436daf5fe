"""Options mean the same in every kind of run, and roles are decided apart from their damage."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.kinds import KINDS
from headroles.stats import judge
from tests.contract.conftest import Made
from tests.contract.kinds import RUNS, inside, start

QUICK: dict[str, dict[str, Any]] = {
    "label": {"maps": 0},
    "cluster": {"maps": 0},
    "probe": {"maps": 0, "classifier": (), "train": None, "epochs": 100},
    "ablate": {"roles": None, "by": ["mean"], "groups": False},
}
"""Options that take less time than those of the recorded runs."""
QUICKEST = ("label", "surface")
"""Kinds that are asked by default; CI asks the others, too."""


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            kind, marks=[pytest.mark.xdist_group(f"live {kind}"), *[pytest.mark.ci] * (kind not in QUICKEST)]
        )
        for kind in KINDS
    ],
)
def test_first_is_the_first_inputs_and_limit_a_random_subset_that_the_seed_draws(
    kind: str, made: Made, workspace: Path
) -> None:
    quick = QUICK.get(kind, {})
    count = 16 if kind in ("probe", "surface") else 30  # documents, or texts
    made("label")
    with inside(workspace):
        whole = headroles.load(made(kind)).scores.examples
        first = start(kind, out=None, **quick | {"first": count})
        drawn = [
            start(kind, out=None, **quick | {"first": None, "limit": count, "seed": seed}).scores.examples
            for seed in (0, 0, 1)
        ]
    numbers = {key: place for place, key in enumerate(whole)}
    assert first.manifest["source"]["taken"] == f"the first {count}"
    assert f"--first {count}" in first.manifest["command"]
    assert any(
        note.startswith(f"only the first {count} inputs were read (--first)") for note in first.skipped
    )
    if kind != "why":
        assert first.scores.examples == whole[: len(first.scores.examples)]
    assert drawn[0] == drawn[1] != drawn[2]
    places = [numbers[key] for key in drawn[0] if key in numbers]
    assert places == sorted(places)


def test_roles_are_decided_on_other_inputs_or_on_one_half_of_the_units(made: Made, workspace: Path) -> None:
    labelled, ablated = headroles.load(made("label")), headroles.load(made("ablate"))
    with inside(workspace):
        same = headroles.ablate(
            "QNLI",
            roles="label",
            **{name: RUNS["label"][1][name] for name in ("data", "model", "max_length")},
        )
    for run, count in ((ablated, 60), (same, 30)):
        assert run.ablated is not None
        held = run.ablated.held
        assert held is not None
        assert (held.roles, len(held.units)) == (labelled.findings.roles, count)
        deciding = [
            unit.removesuffix(" of label") for unit in held.units
        ]  # of other inputs, which are named here
        assert (deciding == [*held.units]) == (run is same)
        own = np.isin(labelled.scores.units, deciding)
        expected = judge(labelled.scores.take(own), labelled.findings.rules, labelled.decision)
        for place, role in enumerate(held.roles):
            np.testing.assert_array_equal(held.decision[place], expected.decision[expected.of(role)])
        if count == 30:
            np.testing.assert_array_equal(held.apart(labelled.scores.units, labelled.scores.examples), ~own)
        decided = [run is not same] * 2
        assert held.apart([*deciding[:2], "new"], ["u", "v", "w"]).tolist() == [*decided, True]
    assert held is not None
    assert held.apart(["x", "y"], [*held.examples[:1], "new/0"]).tolist() == [False, True]


def test_an_option_of_the_command_line_is_the_keyword_with_the_same_default() -> None:
    from headroles.cli.main import cli

    whole = cli.make_context("headroles", ["label", "--task", "QNLI"])
    for kind in KINDS:
        words = {"probe": ["trees", "--data", "x"], "why": ["folder"]}.get(kind, ["--task", "QNLI"])
        given = cli.commands[kind].make_context(kind, list(words), parent=whole).params
        keywords = inspect.signature(getattr(headroles, kind)).parameters
        shared = given.keys() & keywords.keys()
        assert given.keys() - shared == {"quiet", "verbose", "json", "open"} | (
            {"grid", "yes"} & given.keys()
        )
        for name in shared - {"task", "probes", "data", "folder", "watch"}:
            assert given[name] == keywords[name].default, (kind, name)
