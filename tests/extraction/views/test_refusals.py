"""What a view refuses, and what it leaves out with a reason; never a wrong picture."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headroles.errors import BadInput, UnknownName
from headroles.extraction.capture import neurons as capture_neurons
from headroles.extraction.capture import plain as capture_plain
from headroles.extraction.capture import weights as capture_weights
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.views import view as view_module
from headroles.extraction.views.kept import finite_weights_to_bytes
from headroles.extraction.views.view import read_views
from headroles.records.view import View
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
TEXT = "The committee did not decide about the long treaty."


def _view(folder: Path, *texts: str, **options: Any) -> View:
    (view,) = read_views(find_checkpoint(str(folder), None), [texts], device="cpu", **options)
    return view


@pytest.mark.parametrize(
    ("what", "most", "asked"),
    [
        ("layers", 1, [2]),
        ("layers", 1, [0, -1]),
        ("heads", 3, [4, 0]),
        ("heads", 3, range(9)),
        ("heads", 3, []),
    ],
)
def test_layers_and_heads_that_are_not_there_are_refused(
    what: str, most: int, asked: Sequence[int], model_of: ModelOf
) -> None:
    options: dict[str, Any] = {what: asked}
    with pytest.raises(BadInput, match=rf"--{what} takes numbers from 0 to {most}, because the model has"):
        _view(model_of("bert"), TEXT, **options)


def test_a_sentence_names_the_first_wrong_numbers_not_thousands(model_of: ModelOf) -> None:
    with pytest.raises(BadInput, match=r"but got 4, 5, 6, 7, 8, 9, 10, 11, …") as told:
        _view(model_of("bert"), TEXT, heads=range(10_000))
    assert len(str(told.value)) < 200


@pytest.mark.parametrize("texts", [(), ("",), (TEXT, " \n"), (TEXT, TEXT, TEXT)])
def test_other_than_one_or_two_texts_are_refused(texts: tuple[str, ...], model_of: ModelOf) -> None:
    with pytest.raises(BadInput, match=r"one text or two, none of them blank, but got \d"):
        _view(model_of("bert"), *texts)


def test_one_text_needs_no_list(model_of: ModelOf) -> None:
    (view,) = read_views(find_checkpoint(str(model_of("bert")), None), [TEXT], device="cpu")
    assert view.texts == (TEXT,)


def test_a_text_is_shown_whole_or_refused(model_of: ModelOf) -> None:
    with pytest.raises(BadInput, match=r"up to 512 tokens, but got 513 .*give a larger --max-length"):
        _view(model_of("bert"), "the " * 511)
    with pytest.raises(BadInput, match=r"up to 600 tokens, but got 601 .*the model takes no more"):
        _view(model_of("bert"), "the " * 599, max_length=1000)
    with pytest.raises(BadInput, match=r"up to 3 tokens, but"):
        _view(model_of("t5"), "Look!", TEXT, max_length=3)
    assert _view(model_of("bert"), "the " * 511, max_length=513, layers=[0]).maps[0].queries.size == 513


def test_a_precision_or_device_that_is_not_known_is_refused(model_of: ModelOf) -> None:
    with pytest.raises(UnknownName, match="no dtype is called 'float8'"):
        _view(model_of("bert"), TEXT, dtype="float8")
    with pytest.raises(BadInput, match="device must be on this machine"):
        read_views(find_checkpoint(str(model_of("bert")), None), [TEXT], device="nowhere")


def test_more_weights_than_fit_are_refused_before_the_model_runs(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_module, "MOST_WEIGHTS", 2 * 2**20)
    text = "the " * 510
    monkeypatch.setattr(view_module, "_run", None)
    with pytest.raises(BadInput, match=r"take 3 MiB; choose some with --layers or --heads"):
        _view(model_of("albert"), text)
    monkeypatch.undo()
    assert _view(model_of("albert"), text, heads=[1]).maps[0].weights.shape == (3, 1, 512, 512)


def test_a_32_by_32_model_at_512_tokens_is_too_much_as_the_limits_stand() -> None:
    assert 2 * view_module.MOST_WEIGHTS == 32 * 32 * 512**2
    assert view_module.MOST_WEIGHTS > 24 * 16 * 512**2


def test_queries_and_keys_that_take_too_much_are_left_out_with_a_note(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _view(model_of("t5"), TEXT)
    neurons = whole.maps[0].neurons
    assert neurons is not None
    assert neurons.bias is not None
    arrays = (neurons.query, neurons.key, neurons.bias, neurons.visible)
    size = sum(array.nbytes for array in arrays)
    monkeypatch.setattr(view_module, "MOST_NEURONS", size)
    assert _view(model_of("t5"), TEXT).maps[0].neurons is not None
    monkeypatch.setattr(view_module, "MOST_NEURONS", size - 1)
    view = _view(model_of("t5"), TEXT)
    assert view.maps[0].neurons is None
    assert np.array_equal(view.maps[0].weights, whole.maps[0].weights)
    assert "left out, because its queries and keys take" in view.notes[-1]


def test_a_wrong_reading_is_refused(model_of: ModelOf, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = capture_weights.own_eager

    def shifted(module: torch.nn.Module) -> Callable[..., Any]:
        def attention(*arrays: Any, **rest: Any) -> tuple[torch.Tensor, torch.Tensor]:
            output, weights = honest(module)(*arrays, **rest)
            return output, weights.roll(1, -1)

        return attention

    monkeypatch.setattr(capture_plain, "own_eager", shifted)
    with pytest.raises(BadInput, match=r"must be what the plain model computes.*cannot be viewed"):
        _view(model_of("bert"), TEXT)
    with pytest.raises(BadInput, match=r"\(6 attention calls for 6 layers\); this architecture"):
        _view(model_of("bart"), TEXT, TEXT)


@pytest.mark.parametrize("name", ["bert", "bart"])
def test_queries_that_do_not_make_the_weights_are_not_shown(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = capture_neurons.parts_of

    def other(call: capture_neurons.Call, heads: Any) -> capture_neurons.Parts:
        parts = honest(call, heads)
        wrong = call.weights.shape[2] != call.weights.shape[3] or name == "bert"
        return replace(parts, scaling=parts.scaling * 1.01) if wrong else parts

    monkeypatch.setattr(capture_neurons, "parts_of", other)
    view = _view(model_of(name), TEXT, "Look!")
    assert [maps.neurons is None for maps in view.maps] == [name == "bert", False, True][-len(view.maps) :]
    kind = {"bert": "self", "bart": "cross"}[name]
    assert f"view of {kind} attention is left out, because queries and keys do not give" in view.notes[-1]
    assert "of layer 0, 1 (they are up to" in view.notes[-1]


def test_attention_of_another_form_is_not_called_read() -> None:
    query = torch.zeros(1, 3, 4, 8)
    weights, nothing = torch.zeros(1, 3, 4, 4), query[:, :0]
    call = capture_neurons.Call(torch.nn.Linear(1, 1), query, nothing, query, None, weights, query, {})
    assert capture_neurons.fit_parts(call, [0]) == (None, float("inf"))


def test_a_sink_that_weights_do_not_feel_is_left_out() -> None:
    query = torch.randn(1, 2, 4, 8, generator=torch.Generator().manual_seed(0))
    weights = (query @ query.transpose(2, 3) * 0.5).softmax(-1)
    module = torch.nn.Module()
    module.sinks = torch.nn.Parameter(torch.ones(2))
    call = capture_neurons.Call(module, query, query, query, None, weights, query, {"scaling": 0.5})
    parts, apart = capture_neurons.fit_parts(call, [0, 1])
    assert parts is not None
    assert parts.sink is None
    assert apart < rounding_bound(8)


@pytest.mark.parametrize("name", ["longformer", "mamba", "clip"])
def test_models_whose_attention_is_no_map_of_tokens_are_refused(name: str, model_of: ModelOf) -> None:
    with pytest.raises(BadInput, match=r"cannot be viewed|one attention of \d+ by \d+ tokens"):
        _view(model_of(name), TEXT)


def test_a_decoder_that_nothing_starts_is_refused(model_of: ModelOf, tmp_path: Path) -> None:
    folder = shutil.copytree(model_of("t5"), tmp_path / "t5")
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"pad_token_id": None}))
    with pytest.raises(BadInput, match="T5Model failed at that"):
        _view(folder, TEXT, TEXT)
    assert len(_view(folder, TEXT).maps) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(value: float) -> None:
    with pytest.raises(BadInput, match="must be finite"):
        finite_weights_to_bytes(torch.tensor([[[value, 0.0]]]))


def test_weights_a_little_above_one_are_one() -> None:
    assert finite_weights_to_bytes(torch.tensor([[[1.004, 0.9981]]])).tolist() == [[[255, 255]]]
