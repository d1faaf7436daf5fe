"""Views of runs: their model, input and roles, the keys that their sieves count, and the head that opens."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import headroles
from headroles.records import Example, Maps, View
from headroles.reports import view_page
from tests.support.made_runs import recorded
from tests.support.made_views import roles_of, usual, with_neurons
from tests.support.pages import Parts

TEXTS = ("the red cat sat in house ?", "it is a small dog .")


def island(view: View) -> Any:
    """Return what the page of a view holds for its script."""
    (found,) = [data for data in Parts(view_page(view)).islands.values() if "maps" in data]
    return found


def _view(weights: np.ndarray, special: list[bool] | None = None) -> View:
    """Return a view of two layers of two heads."""
    size = weights.shape[-1]
    example = Example("x", tuple("abcdefgh"[:size]), special=np.array(special or [False] * size))
    return View("m", ("t",), (Maps("self", (0, 1), (0, 1), example, example, weights.astype(np.uint8)),))


def test_the_most_focused_head_opens_whatever_special_and_first_tokens_get() -> None:
    weights = np.zeros((2, 2, 5, 5))
    weights[0, 0, :, 0] = 255  # all on the first token
    weights[0, 1, :, 4] = 255  # all on a special token
    weights[1, 0] = 51
    weights[1, 1, :, 2] = 128
    assert island(_view(weights, [False, False, False, False, True]))["opening"] == [0, 1, 1, None]
    assert island(_view(np.full((2, 2, 3, 3), 85.0)))["opening"] == [0, 0, 0, None]
    assert island(_view(np.full((2, 2, 2, 2), 85.0), [True, True]))["opening"][:2] == [0, 0]
    assert island(replace(usual(), roles=roles_of()))["opening"] == [0, 1, 2, roles_of().names.index("local")]
    roles = roles_of()
    sinks = replace(roles, decision=np.where(np.arange(4)[:, None, None] < 2, roles.decision, 1))
    _, layer, head, role = island(replace(usual(), roles=sinks))["opening"]
    assert (layer, head, roles.names[role]) == (0, 0, "delimiter:cls")


def test_numbers_beyond_16_bits_are_clipped_and_no_bias_is_none() -> None:
    import base64
    import zlib

    maps = with_neurons("abc")
    assert maps.neurons is not None
    query = maps.neurons.query.copy()
    query[0, 0, 0, :2] = [1e6, -1e6]
    changed = replace(maps, neurons=replace(maps.neurons, bias=None, query=query))
    held = island(View("tiny", ("a b c",), (changed,)))["maps"][0]["neurons"]
    assert held["bias"] is None
    values = np.frombuffer(zlib.decompress(base64.b64decode(held["query"][0])), dtype="<f2")
    assert values[:2].tolist() == [65504.0, -65504.0]


def test_roles_means_and_keys_are_those_of_the_run(finished: Path, label: Any) -> None:
    run = headroles.load(finished)
    view = headroles.view(*TEXTS, run=finished, layers=1, heads="1-2").view
    roles = view.roles
    assert roles is not None
    assert (roles.run, roles.names) == ("finished", run.findings.roles)
    rows = [run.findings.of(name) for name in roles.names]
    np.testing.assert_array_equal(roles.decision, run.findings.decision[rows][:, 1:2, 1:3])
    np.testing.assert_array_equal(roles.mean, run.findings.mean[rows][:, 1:2, 1:3])
    keys = dict(zip(roles.names, roles.keys, strict=True))
    example = view.maps[0].keys
    size = example.size
    segment = np.asarray(example.segment)
    near = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    text = segment >= 0
    same = np.equal.outer(segment, segment) & np.logical_and.outer(text, text)
    special = np.broadcast_to(~text, (size, size))
    assert keys["local"] is not None
    assert keys["delimiter"] is not None
    assert keys["block"] is not None
    assert (keys["local"] <= (near <= 2)).all()
    assert keys["local"][text].sum() > text.sum()
    np.testing.assert_array_equal(keys["delimiter"][text], special[text])
    assert (keys["block"] <= same).all()
    assert keys["block"].any()
    typical = headroles.view(run=finished).view
    assert run.exhibited is not None
    assert typical.maps[0].keys.tokens in {example.tokens for example in run.exhibited.examples}
    silent = headroles.view(*TEXTS, run=label(sieve=["local", "bag-of-words"])).view
    assert silent.roles is not None
    assert [known is None for known in silent.roles.keys] == [False, True]
    assert silent.notes[-1] == "Keys are not known here of bag-of-words."


def test_carriers_are_the_tests_of_the_dimensions_of_the_heads_that_are_shown(
    finished: Path,
) -> None:
    run, part = headroles.load(finished), recorded("why").origins
    assert part is not None
    part = replace(part, held=replace(part.held, source=str(finished)))
    settings = {name: value for name, value in run.manifest["settings"].items() if name != "sieve"}
    facts = dict(run.manifest) | {"settings": settings}
    asked = replace(run, manifest=facts, exhibited=None, origins=part)
    viewed = asked.view(*TEXTS)
    roles = viewed.view.roles
    assert roles is not None
    assert roles.names == part.held.roles
    np.testing.assert_array_equal(roles.decision, part.held.decision)
    np.testing.assert_array_equal(roles.mean, part.held.score)
    view = headroles.view(*TEXTS, run=asked, layers=1, heads="0-2").view
    assert view.origins is not None
    shown = [row for row in part.origins if row.layer == 1 and row.head <= 2]
    places = [(one.role, one.layer, one.head) for one in view.origins.carriers]
    assert places == [(row.role, 0, row.head) for row in shown]
    np.testing.assert_array_equal(view.origins.group, part.products.group)
    for one, row in zip(view.origins.carriers, shown, strict=True):
        tests = [
            each for each in part.dimensions if (each.role, each.layer, each.head) == (row.role, 1, row.head)
        ]
        np.testing.assert_array_equal(one.share, [test.share for test in tests])
        np.testing.assert_array_equal(one.q, [test.q for test in tests])
        assert one.found.tolist() == [test.found for test in tests]
        assert one.text.startswith(f"1-{row.head} ")
    data = island(viewed.view)["origins"]
    assert (len(data["carriers"]), data["paired"]) == (len(part.origins), False)
    assert 'id="neuron-carriers"' in viewed.html()
    assert 'id="neuron-carriers"' not in headroles.view(*TEXTS, run=finished).html()
