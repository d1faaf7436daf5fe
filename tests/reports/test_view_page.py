"""The page of a view: its data, its policy, its words."""

import base64
import json
import re
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headroles.errors import UnknownName
from headroles.records.view import View
from headroles.reports.document import policy, template
from headroles.reports.views.page import LARGEST, SCRIPTS, pack_halves, view_json, view_page
from tests.support.made_views import HOSTILE, encoder_decoder, grouped, usual, with_neurons


def read(text: str) -> bytes:
    """What was packed."""
    return zlib.decompress(base64.b64decode(text))


def neurons_in(view: View) -> dict[str, Any]:
    """What the page holds of queries and keys."""
    found: dict[str, Any] = json.loads(view_json(view))["maps"][0]["neurons"]
    return found


@pytest.mark.parametrize("make", [usual, grouped, encoder_decoder])
def test_the_same_view_gives_the_same_page(make: Any) -> None:
    assert view_page(make()) == view_page(make())


def test_only_its_own_script_runs_and_nothing_is_asked_for() -> None:
    html = view_page(usual())
    script = "\n".join(template(name) for name in SCRIPTS)
    assert f'content="{policy([script])}"'.replace("'", "&#39;") in html
    assert html.count(script) == 1
    assert re.search(r"\b(https?:|//)[\w.]+\.\w", html) is None
    assert re.search(r"<[^>]+\son\w+=", html.replace(script, "")) is None
    assert "innerHTML" not in script


def test_text_from_data_is_never_markup() -> None:
    html = view_page(usual())
    assert HOSTILE not in html
    assert "<i>model" not in html
    assert "<b>nothing" not in html
    assert "tiny/&lt;i&gt;model&lt;/i&gt;" in html


def test_the_view_to_open_is_one_of_three() -> None:
    assert 'data-show="model" hidden' in view_page(usual(), "model")
    with pytest.raises(UnknownName, match="no view is called 'heads'; did you mean 'head'"):
        view_page(usual(), "heads")


def test_the_header_tells_how_much_is_shown() -> None:
    assert "3 layers, 4 heads, 12 tokens" in view_page(usual())
    html = view_page(encoder_decoder())
    assert "decoder: 3 layers, 4 heads, 3 tokens" in html
    assert "cross: 3 layers, 4 heads, 3 tokens that attend to 5" in html
    assert html.count("<option value=") >= 3


def test_a_page_without_queries_and_keys_refers_to_the_notes() -> None:
    assert "the notes at the top of the page say what is known" in view_page(usual())


def test_weights_are_held_layer_by_layer() -> None:
    view = usual()
    held = json.loads(view_json(view))["maps"][0]
    assert [read(layer) for layer in held["weights"]] == [layer.tobytes() for layer in view.maps[0].weights]
    assert held["layers"] == [2, 3, 5]
    assert held["keys"] is None
    assert json.loads(view_json(encoder_decoder()))["maps"][2]["keys"]["pieces"] == list("abcde")


def test_keys_that_heads_share_and_masks_that_repeat_are_held_once() -> None:
    view = grouped()
    neurons = view.maps[0].neurons
    assert neurons is not None
    held = neurons_in(view)
    keys = np.frombuffer(read(held["key"][1]), dtype="<f2").reshape(2, 7, 8)
    np.testing.assert_array_equal(keys, neurons.key[1, [0, 2]].astype(np.float16))
    assert held["place"] == [0, 0, 1, 1]
    assert len(held["visible"]["held"]) == 1
    assert held["visible"]["of"] == [0, 0]
    bits = np.unpackbits(np.frombuffer(read(held["visible"]["held"][0]), dtype=np.uint8))[:49]
    np.testing.assert_array_equal(bits.reshape(7, 7), np.tril(np.ones((7, 7))))
    assert held["softcap"] == [20.0, None]
    assert held["sink"] == [[0.5] * 4, [None] * 4]


def test_numbers_beyond_16_bits_are_clipped() -> None:
    values = np.array([1e6, -np.inf, 0.5], dtype=np.float32)
    kept = np.frombuffer(read(pack_halves(values)), dtype="<f2")
    assert kept.tolist() == [LARGEST, -LARGEST, 0.5]


def test_what_is_known_of_no_bias_is_that_there_is_none() -> None:
    maps = with_neurons("abc")
    assert maps.neurons is not None
    without = replace(maps, neurons=replace(maps.neurons, bias=None))
    assert neurons_in(View("tiny", ("a b c",), (without,)))["bias"] is None
