"""Views of runs that asked where roles come from: their roles, and the dimensions that carry them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.errors import BadInput
from headroles.kinds import kind_of
from headroles.records.causal.ablation import HeldRoles
from headroles.records.causal.origins import Origins
from headroles.records.findings import Labelling
from headroles.records.view import Carriers
from headroles.reports.views.page import view_json
from headroles.reports.why.answer import role_sentence
from tests.support.causal.origins import made_products

TEXTS = ("the red cat sat in house ?", "it is a small dog .")


@pytest.fixture(scope="module")
def asked(finished: Path) -> Labelling:
    """A label run of a small model, with made-up products of the roles of its heads."""
    from headroles.stats.why.judge import judge_origins

    run = headroles.load(finished)
    rows = [run.findings.of(name) for name in run.findings.roles]
    decision = run.findings.decision[rows].copy()
    decision[0, :, 0] = 0
    held = HeldRoles(run.findings.roles, decision, run.findings.mean[rows], ("u",), str(finished))
    products = made_products((30, *decision.shape[1:]), held, size=8, rotary=False, redeals=19)
    origins, dimensions = judge_origins(products, held, held.decision.size, run.decision)
    settings = {name: value for name, value in run.manifest["settings"].items() if name != "sieve"}
    return replace(
        run,
        manifest=dict(run.manifest) | {"settings": settings},
        exhibited=None,
        origins=Origins(held, products, origins, dimensions),
    )


def _part(labelling: Labelling) -> Origins:
    assert labelling.origins is not None
    return labelling.origins


def test_the_view_of_such_a_run_has_the_roles_of_its_label_run(asked: Labelling) -> None:
    assert kind_of(asked).name == "why"
    viewed = asked.view(*TEXTS)
    held, roles = _part(asked).held, viewed.view.roles
    assert roles is not None
    assert roles.names == held.roles
    np.testing.assert_array_equal(roles.decision, held.decision)
    np.testing.assert_array_equal(roles.mean, held.score)
    assert all(keys is not None for keys in roles.keys)


def test_carriers_are_the_tests_of_the_dimensions_of_the_heads_that_are_shown(asked: Labelling) -> None:
    part = _part(asked)
    view = headroles.view(*TEXTS, run=asked, layers=1, heads="0-2").view
    assert view.origins is not None
    shown = [row for row in part.origins if row.layer == 1 and row.head <= 2]
    assert shown
    assert [(one.role, one.layer, one.head) for one in view.origins.carriers] == [
        (row.role, 0, row.head) for row in shown
    ]
    np.testing.assert_array_equal(view.origins.group, part.products.group)
    for one, row in zip(view.origins.carriers, shown, strict=True):
        tests = [
            test for test in part.dimensions if (test.role, test.layer, test.head) == (row.role, 1, row.head)
        ]
        np.testing.assert_array_equal(one.share, [test.share for test in tests])
        np.testing.assert_array_equal(one.q, [test.q for test in tests])
        assert one.found.tolist() == [test.found for test in tests]
        assert one.text == role_sentence(asked, row)


def test_the_page_has_a_strip_for_carriers_only_where_there_are_some(
    asked: Labelling, finished: Path
) -> None:
    viewed = asked.view(*TEXTS)
    data = json.loads(view_json(viewed.view))["origins"]
    assert len(data["carriers"]) == len(_part(asked).origins)
    assert data["paired"] is False
    assert 'id="neuron-carriers"' in viewed.html()
    plain = headroles.view(*TEXTS, run=finished)
    assert plain.view.origins is None
    assert 'id="neuron-carriers"' not in plain.html()


def test_a_label_run_that_is_gone_leaves_the_roles_that_are_built_in(
    asked: Labelling, tmp_path: Path
) -> None:
    part = _part(asked)
    held = replace(part.held, source=str(tmp_path / "gone"))
    view = headroles.view(*TEXTS, run=replace(asked, origins=replace(part, held=held))).view
    assert view.roles is not None
    assert view.roles.names == part.held.roles


def test_without_a_text_such_a_run_is_refused(asked: Labelling) -> None:
    with pytest.raises(BadInput, match="this run kept none; give a text"):
        asked.view()


@pytest.mark.usefixtures("unchecked")
def test_arrays_of_carriers_have_one_length() -> None:
    three: dict[str, Any] = {"share": np.zeros(3), "q": np.zeros(3), "found": np.zeros(3, dtype=bool)}
    assert Carriers("local", 0, 1, **three, text="").share.flags.writeable is False
    with pytest.raises(BadInput, match="parts of a role"):
        Carriers("local", 0, 1, **(three | {"q": np.zeros(2)}), text="")
