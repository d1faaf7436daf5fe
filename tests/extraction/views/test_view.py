"""A view holds the plain model's attention, and queries and keys that make the same weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from headroles.extraction.model.checkpoint import EMBEDDED, find_checkpoint
from headroles.extraction.views.view import read_views
from headroles.records.view import Maps, Neurons, View
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
SINGLE = (
    "bert", "roberta", "distilbert", "albert", "electra", "modernbert",
    "gpt2", "llama", "mistral", "gemma2", "gpt-oss",
)  # fmt: skip
OUTSIDE = ("mpnet", "deberta-v2", "gptj", "bloom")
FIRST = "The committee did not decide about the long treaty, and nobody in Paris objected."
SECOND = "She can't believe it was signed!"


def _view(folder: Path | None, *texts: str, **options: Any) -> View:
    (view,) = read_views(
        find_checkpoint(None if folder is None else str(folder), None), [texts], device="cpu", **options
    )
    return view


def _plain(folder: Path, *texts: str, whole: bool = False, **inputs: Any) -> Any:
    """The library's own run."""
    network = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    network = network if whole or not network.config.is_encoder_decoder else network.get_encoder()
    encoded = AutoTokenizer.from_pretrained(folder)(*texts, return_tensors="pt")
    with torch.inference_mode():
        return network(**encoded, **inputs, output_attentions=True)


def _put_together(neurons: Neurons) -> np.ndarray:
    """The weights of a neuron view by what its record says, in float64."""
    logits = np.einsum("lhqd,lhkd->lhqk", neurons.query.astype(float), neurons.key.astype(float))
    logits *= neurons.scaling[:, None, None, None]
    cap = neurons.softcap[:, None, None, None]
    logits = np.where(np.isnan(cap), logits, cap * np.tanh(logits / cap))
    if neurons.bias is not None:
        logits = logits + neurons.bias
    shown = np.where(neurons.visible[:, None], logits, -np.inf)
    power = np.exp(shown)
    sink = np.nan_to_num(np.exp(neurons.sink))[:, :, None, None]
    return np.asarray(power / (power.sum(axis=-1, keepdims=True) + sink))


def _check(maps: Maps, returned: Any) -> None:
    """Compare all layers and heads of one kind with what the library returned."""
    plain = np.stack([weights[0].numpy() for weights in returned])
    assert maps.layers == tuple(range(len(plain)))
    assert maps.heads == tuple(range(plain.shape[1]))
    np.testing.assert_allclose(
        maps.weights / 255, plain, rtol=0, atol=0.5 / 255 + rounding_bound(plain.shape[-1])
    )
    if maps.neurons is not None:
        np.testing.assert_allclose(
            _put_together(maps.neurons), plain, rtol=0, atol=rounding_bound(plain.shape[-1])
        )


@pytest.mark.parametrize("name", SINGLE)
def test_weights_are_the_plain_models_and_queries_and_keys_make_them(name: str, model_of: ModelOf) -> None:
    view = _view(model_of(name), FIRST, SECOND)
    (maps,) = view.maps
    assert (maps.kind, view.notes, view.texts) == ("self", (), (FIRST, SECOND))
    assert maps.neurons is not None
    _check(maps, _plain(model_of(name), FIRST, SECOND).attentions)
    assert maps.queries is maps.keys
    assert maps.queries.texts == 2
    assert maps.queries.word.max() > maps.queries.word[maps.queries.segment == 0].max() > 10


@pytest.mark.parametrize("name", OUTSIDE)
def test_models_outside_the_interface_show_weights_and_say_why_there_are_no_neurons(
    name: str, model_of: ModelOf
) -> None:
    view = _view(model_of(name), FIRST)
    assert view.maps[0].neurons is None
    _check(view.maps[0], _plain(model_of(name), FIRST).attentions)
    (note,) = view.notes
    assert "computes its attention where its queries and keys cannot be read" in note
    assert _view(model_of(name), FIRST, neurons=False).notes == ()


def test_heads_that_share_keys_are_neighbours(model_of: ModelOf) -> None:
    (maps,) = _view(model_of("llama"), FIRST, heads=[1, 2, 3]).maps
    assert maps.neurons is not None
    assert maps.neurons.group == (0, 1, 1)
    assert np.array_equal(maps.neurons.key[:, 1], maps.neurons.key[:, 2])
    assert not np.array_equal(maps.neurons.key[:, 0], maps.neurons.key[:, 1])


def test_windows_caps_and_sinks_are_told(model_of: ModelOf) -> None:
    capped = _view(model_of("gemma2"), FIRST).maps[0].neurons
    sinking = _view(model_of("gpt-oss"), FIRST).maps[0].neurons
    plain = _view(model_of("bert"), FIRST).maps[0].neurons
    assert capped is not None
    assert sinking is not None
    assert plain is not None
    tokens = capped.visible.shape[1]
    later = tokens * (tokens + 1) // 2
    cells = capped.visible.sum(axis=(1, 2)).tolist()
    assert min(cells) < later
    assert max(cells) == later
    assert capped.softcap.tolist() == [2.0] * 3
    assert np.isfinite(sinking.sink).all()
    assert np.isnan(plain.sink).all()
    assert np.isnan(plain.softcap).all()
    assert plain.visible.all()
    assert plain.bias is None
    assert plain.scaling.tolist() == [8**-0.5] * 2


def test_scaling_by_layer_is_told(headed: Any) -> None:
    settings = {"scale_attn_by_inverse_layer_idx": True, "reorder_and_upcast_attn": True}
    folder = headed("gpt2", "CausalLM", **settings)
    (maps,) = _view(folder, FIRST).maps
    assert maps.neurons is not None
    np.testing.assert_allclose(maps.neurons.scaling, [8**-0.5, 8**-0.5 / 2])
    _check(maps, _plain(folder, FIRST).attentions)


@pytest.fixture(scope="module")
def lopsided(model_of: ModelOf, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 with three layers that read and two that say."""
    from transformers import T5Config, T5Model

    torch.manual_seed(0)
    shape: dict[str, Any] = {"d_model": 32, "vocab_size": 400, "d_kv": 8, "d_ff": 48, "num_heads": 4}
    model: Any = T5Model(T5Config(num_layers=3, num_decoder_layers=2, **shape))
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.1)
    folder = tmp_path_factory.mktemp("models") / "lopsided"
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(model_of("t5")).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", ["t5", "bart", "lopsided"])
@pytest.mark.parametrize("texts", [(FIRST, SECOND), (SECOND, FIRST), (FIRST, FIRST), ("Look!", "Look!")])
def test_an_encoder_decoder_shows_what_it_reads_says_and_looks_back_at(
    name: str, texts: tuple[str, str], model_of: ModelOf, lopsided: Path
) -> None:
    folder = lopsided if name == "lopsided" else model_of(name)
    start = {"bart": 2}.get(name, 0)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    target = tokenizer(texts[1])
    labels = target["input_ids"]
    view = _view(folder, *texts)
    plain = _plain(folder, texts[0], whole=True, decoder_input_ids=torch.tensor([[start, *labels[:-1]]]))
    read, said, back = view.maps
    assert (read.kind, said.kind, back.kind) == ("encoder", "decoder", "cross")
    for maps in view.maps:
        assert maps.neurons is not None
        _check(maps, getattr(plain, f"{maps.kind}_attentions"))
    tokens = (tokenizer.convert_ids_to_tokens(start), *target.tokens()[:-1])
    assert (back.queries, back.keys) == (said.queries, read.keys)
    assert said.queries.tokens == tokens
    assert (read.queries.segment.max(), said.queries.segment.max()) == (0, 1)
    special = 2 if name == "bart" else 1
    assert said.queries.special.tolist() == [True] * special + [False] * (len(tokens) - special)
    (note,) = view.notes
    assert "shifted right by one token, from the start token" in note
    assert len(read.layers) == (3 if name == "lopsided" else 2)


def test_relative_positions_are_told_where_there_are_some(lopsided: Path) -> None:
    biases = [maps.neurons.bias for maps in _view(lopsided, FIRST, SECOND).maps if maps.neurons is not None]
    assert biases[0] is not None
    assert biases[1] is not None
    assert biases[2] is None


def test_layers_are_chosen_in_each_stack(lopsided: Path) -> None:
    view = _view(lopsided, FIRST, SECOND, layers=[2, 0], heads=[3])
    assert [maps.layers for maps in view.maps] == [(0, 2), (0,), (0,)]
    assert [maps.heads for maps in view.maps] == [(3,)] * 3
    assert view.notes[1:] == (
        "Some of the given layers are not in decoder attention, which has 2.",
        "Some of the given layers are not in cross attention, which has 2.",
    )
    only = _view(lopsided, FIRST, SECOND, layers=[2])
    assert [maps.kind for maps in only.maps] == ["encoder"]


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_one_text_is_for_the_encoder_alone(name: str, model_of: ModelOf) -> None:
    view = _view(model_of(name), FIRST)
    assert [maps.kind for maps in view.maps] == ["encoder"]
    _check(view.maps[0], _plain(model_of(name), FIRST).attentions)
    assert view.notes == (
        "Only the encoder is shown, because one text was given; a second one is for the decoder.",
    )


def test_chosen_layers_and_heads_are_those_of_the_whole(model_of: ModelOf) -> None:
    whole = _view(model_of("mistral"), FIRST).maps[0]
    some = _view(model_of("mistral"), FIRST, layers=[2, 0, 0], heads=[3, 1]).maps[0]
    assert (some.layers, some.heads) == ((0, 2), (1, 3))
    assert np.array_equal(some.weights, whole.weights[np.ix_([0, 2], [1, 3])])
    assert whole.neurons is not None
    assert some.neurons is not None
    assert np.array_equal(some.neurons.query, whole.neurons.query[np.ix_([0, 2], [1, 3])])
    assert np.array_equal(some.neurons.visible, whole.neurons.visible[[0, 2]])


@pytest.mark.parametrize(("dtype", "close"), [("bfloat16", 0.03), ("float16", 0.005)])
@pytest.mark.parametrize("name", ["bert", "gemma2", "gpt-oss", "t5"])
def test_half_precision_shows_nearly_the_same(name: str, dtype: str, close: float, model_of: ModelOf) -> None:
    half = _view(model_of(name), FIRST, dtype=dtype).maps[0]
    full = _view(model_of(name), FIRST).maps[0]
    np.testing.assert_allclose(half.weights / 255, full.weights / 255, rtol=0, atol=close + 1 / 255)
    assert half.neurons is not None
    np.testing.assert_allclose(_put_together(half.neurons), full.weights / 255, atol=close + 1 / 255)


def test_the_embedded_encoder_shows_a_pair() -> None:
    view = _view(None, "Who wrote it?", "Ann's sister wrote the song.")
    (maps,) = view.maps
    assert (view.model, maps.weights.shape[:2], view.notes) == (EMBEDDED, (6, 12), ())
    assert maps.queries.tokens[:3] == ("[CLS]", "who", "wrote")
    assert maps.queries.word.tolist() == [-1, 0, 1, 2, 3, -1, 4, 4, 4, 5, 6, 7, 8, 9, -1]
    assert maps.neurons is not None
    _check(maps, _plain(Path(find_checkpoint(None, None).target), *view.texts).attentions)


def test_a_trained_decoder_shows_its_heads(stories: Path) -> None:
    text = "Once upon a time, there was a little girl named Lily."
    (maps,) = _view(stories, text).maps
    assert maps.neurons is not None
    assert maps.neurons.group == (0, 0, 1, 1, 2, 2, 3, 3)
    _check(maps, _plain(stories, text).attentions)


def test_up_to_512_tokens_are_shown(model_of: ModelOf) -> None:
    (maps,) = _view(model_of("bert"), "the " * 510).maps
    assert maps.weights.shape == (2, 4, 512, 512)
    assert maps.neurons is not None
