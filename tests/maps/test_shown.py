"""Views of stored maps and of plain arrays show the weights that were given."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headroles
from headroles.errors import BadInput

Command = Callable[..., tuple[int, str, str]]
TOKENS = ["[CLS]", "it", "rain", "##s", "[SEP]"]


def _attention(layers: int = 2, heads: int = 3, tokens: int = len(TOKENS)) -> np.ndarray:
    rows: np.ndarray = np.random.default_rng(2).dirichlet(np.ones(tokens), size=(layers, heads, tokens))
    return rows


def test_a_view_of_stored_maps_is_that_of_the_model(planted: Path, tmp_path: Path) -> None:
    rows = [{"text": "It was signed."}, {"text": ["Who is it?", "It sat in house 3."], "key": "pair"}]
    (tmp_path / "in.json").write_text(json.dumps(rows))
    headroles.extract(tmp_path / "in.json", out=tmp_path / "m.npz", model=planted, precision="float32")
    wanted = headroles.view("Who is it?", "It sat in house 3.", model=planted).view
    for name in ("pair", "m/pair", "1"):
        shown = headroles.view(attention=tmp_path / "m.npz", example=name).view
        assert shown.texts == wanted.texts
        maps, model_maps = shown.maps[0], wanted.maps[0]
        assert maps.queries.tokens == model_maps.queries.tokens
        np.testing.assert_array_equal(maps.queries.segment, model_maps.queries.segment)
        np.testing.assert_array_equal(maps.queries.word, model_maps.queries.word)
        assert np.abs(maps.weights.astype(int) - model_maps.weights.astype(int)).max() <= 1
    assert headroles.view(attention=tmp_path / "m.npz").view.texts == ("It was signed.",)


def test_the_command_shows_stored_maps(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arrays: dict[str, Any] = {"0": _attention()}
    np.savez("any.npz", **arrays)
    Path("any.json").write_text(json.dumps([{"tokens": TOKENS}]))
    code, out, err = command("view", "--attention", "any.npz", "--layers", 1, "--heads", "0,2")
    assert code == 0, err
    assert "model   any (any.npz, any/0)" in out
    assert "note    The neuron view is left out, because no model was run" in out
    assert "2 heads, 5 tokens" in Path("view.html").read_text()
    code, _, err = command("view", "--attention", "any.npz", "--example", "seven")
    assert (code, "--example is a key of the list or a number from 0 to 0, but 'any.npz' has no" in err) == (
        1,
        True,
    )


def test_arrays_and_tensors_by_layer_are_shown_as_one_array_is() -> None:
    attention = _attention()
    wanted = headroles.view(attention, TOKENS).view.maps[0]
    np.testing.assert_array_equal(wanted.weights, np.rint(attention * 255).astype(np.uint8))
    for given in (
        torch.from_numpy(attention),
        tuple(torch.from_numpy(layer)[None] for layer in attention),
        list(attention),
    ):
        np.testing.assert_array_equal(headroles.view(given, TOKENS).view.maps[0].weights, wanted.weights)
    half = tuple(torch.from_numpy(layer)[None].bfloat16() for layer in attention)
    shown = headroles.view(half, TOKENS).view.maps[0].weights.astype(int)
    assert np.abs(shown - wanted.weights.astype(int)).max() <= 1
    assert not wanted.queries.special.any()
    chosen = headroles.view(attention, TOKENS, layers=1, heads="0,2").view.maps[0]
    np.testing.assert_array_equal(chosen.weights, wanted.weights[[1]][:, [0, 2]])


def test_pairs_are_two_lists_or_segments() -> None:
    lists = headroles.view(_attention(), [TOKENS[:2], TOKENS[2:]]).view
    assert lists.texts == ("[CLS] it", "rain ##s [SEP]")
    assert lists.maps[0].queries.segment.tolist() == [0, 0, 1, 1, 1]
    named = headroles.view(_attention(), TOKENS, segments=[-1, 0, 1, 1, -1]).view
    assert (named.texts, named.maps[0].queries.segment.tolist()) == (("it", "rain ##s"), [-1, 0, 1, 1, -1])
    assert named.maps[0].queries.special.tolist() == [True, False, False, False, True]


def test_views_of_arrays_are_pages_and_pictures(tmp_path: Path) -> None:
    viewed = headroles.view(
        _attention(), TOKENS, layers=[0], view="model", out=tmp_path / "v.html", svg=tmp_path / "v.svg"
    )
    page = (tmp_path / "v.html").read_text()
    assert page == viewed.html()
    assert "plain arrays" in page
    assert "no model was run" in page
    assert (tmp_path / "v.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("given", "options", "sentence"),
    [
        ((_attention(), TOKENS[1:]), {}, r"for the 4 tokens of example 'view'"),
        ((_attention(), "It rains."), {}, "tokens are a list of strings, at least one, or two such lists"),
        ((_attention(), None), {}, "tokens are a list of strings"),
        ((_attention(), [TOKENS, TOKENS, TOKENS]), {}, "tokens are a list of strings"),
        ((_attention(), TOKENS), {"segments": [0, 1]}, "segments hold the text of each of the 5 tokens"),
        ((_attention(), TOKENS), {"segments": [0, 0, 0, 0, 2]}, "0 or 1, or -1 for a special token"),
        ((_attention(), TOKENS), {"layers": 2}, "--layers takes numbers from 0 to 1"),
        (
            (_attention(), TOKENS),
            {"model": "bert"},
            "shown without a model, run or stored maps, so model has no",
        ),
        ((2 * _attention(), TOKENS), {}, "sums to 1 or less over the keys"),
        (([np.zeros((3, 5, 5)), np.zeros((2, 5, 5))], TOKENS), {}, "for each layer, all of one shape"),
        (([np.full((2, 3, 5, 5), 0.2)], TOKENS), {}, "a view shows one input, but got a batch of 2"),
        (("It rains.",), {"segments": [0]}, "segments are those of plain attention"),
        (
            ("It rains.",),
            {"attention": "m.npz"},
            "a view shows stored maps .* or a model on a text, but got both",
        ),
        ((), {}, "a view needs a text, stored maps .* or a run .* but got none"),
        (("It rains.",), {"example": "0"}, "--example names an example of stored maps"),
        ((), {"attention": "m.npz", "device": "cpu"}, "without a model, so device has no effect"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(
    given: tuple[Any, ...], options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        headroles.view(*given, **options)
