"""A view holds the plain model's attention, and queries and keys that make the same weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headroles.extraction import find_checkpoint, read_views
from headroles.records import Maps, Neurons, View
from tests.support.causal.plain import cases
from tests.support.read_models import plain_network
from tests.support.reference import rounding_bound
from tests.support.seq2seq import saved

ModelOf = Callable[[str], Path]
FIRST = "The committee did not decide about the long treaty, and nobody in Paris objected."
SECOND = "She can't believe it was signed!"
STEP = 1 / 255
"""A step of a byte."""


def view_of(folder: Path | None, *texts: str, **options: Any) -> View:
    """The view of one input."""
    checkpoint = find_checkpoint(None if folder is None else str(folder), None)
    (view,) = read_views(checkpoint, [texts], device="cpu", **options)
    return view


def neurons_of(maps: Maps) -> Neurons:
    """Queries and keys, which must be there."""
    assert maps.neurons is not None
    return maps.neurons


def plain(folder: Path, *texts: str, **inputs: Any) -> Any:
    """The library's own run; that of the encoder unless a decoder has inputs."""
    from transformers import AutoModel, AutoTokenizer

    network = plain_network(folder, "eager")
    if inputs:
        network = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    encoded = AutoTokenizer.from_pretrained(folder)(*texts, return_tensors="pt")
    with torch.inference_mode():
        return network(**encoded, **inputs, output_attentions=True)


def put_together(neurons: Neurons) -> np.ndarray:
    """The weights of a neuron view by what its record says, in float64."""
    logits = np.einsum("lhqd,lhkd->lhqk", neurons.query.astype(float), neurons.key.astype(float))
    logits *= neurons.scaling[:, None, None, None]
    cap = neurons.softcap[:, None, None, None]
    logits = np.where(np.isnan(cap), logits, cap * np.tanh(logits / cap))
    logits = logits if neurons.bias is None else logits + neurons.bias
    power = np.exp(np.where(neurons.visible[:, None], logits, -np.inf))
    sink = np.nan_to_num(np.exp(neurons.sink))[:, :, None, None]
    return np.asarray(power / (power.sum(axis=-1, keepdims=True) + sink))


def check(maps: Maps, returned: Any) -> None:
    """Compare all layers and heads of one kind with what the library returned."""
    weights = np.stack([layer[0].numpy() for layer in returned])
    assert (maps.layers, maps.heads) == (tuple(range(len(weights))), tuple(range(weights.shape[1])))
    close = rounding_bound(weights.shape[-1])
    np.testing.assert_allclose(maps.weights / 255, weights, rtol=0, atol=STEP / 2 + close)
    if maps.neurons is not None:
        np.testing.assert_allclose(put_together(maps.neurons), weights, rtol=0, atol=close)


@pytest.mark.parametrize(
    "name",
    cases(
        "bert modernbert gpt2 llama gemma2 gpt-oss gptj",
        "roberta distilbert albert electra mistral mpnet deberta-v2 bloom",
    ),
)
def test_weights_are_the_plain_models_and_queries_and_keys_make_them(name: str, model_of: ModelOf) -> None:
    folder = model_of(name)
    view = view_of(folder, FIRST, SECOND)
    (maps,) = view.maps
    check(maps, plain(folder, FIRST, SECOND).attentions)
    assert (maps.kind, view.texts, maps.queries is maps.keys) == ("self", (FIRST, SECOND), True)
    assert maps.queries.texts == 2
    assert maps.queries.word.max() > maps.queries.word[maps.queries.segment == 0].max() > 10
    outside = name in ("gptj", "mpnet", "deberta-v2", "bloom")
    assert (maps.neurons is None) == (len(view.notes) == 1) == outside
    assert view_of(folder, FIRST, neurons=False).notes == ()


def test_shared_keys_windows_caps_sinks_and_scaling_are_told(model_of: ModelOf, headed: Any) -> None:
    grouped = neurons_of(view_of(model_of("llama"), FIRST, heads=[1, 2, 3]).maps[0])
    assert grouped.group == (0, 1, 1)
    assert np.array_equal(grouped.key[:, 1], grouped.key[:, 2])
    assert not np.array_equal(grouped.key[:, 0], grouped.key[:, 1])
    capped, sinking, usual = (
        neurons_of(view_of(model_of(name), FIRST).maps[0]) for name in ("gemma2", "gpt-oss", "bert")
    )
    tokens = capped.visible.shape[1]
    near = np.tri(tokens, dtype=bool) & ~np.tri(tokens, k=-6, dtype=bool)
    assert np.array_equal(capped.visible, [near, np.tri(tokens, dtype=bool), near])
    assert capped.softcap.tolist() == [2.0] * 3
    assert np.isfinite(sinking.sink).all()
    assert np.isnan(usual.sink).all()
    assert np.isnan(usual.softcap).all()
    assert (usual.visible.all(), usual.bias, usual.scaling.tolist()) == (True, None, [8**-0.5] * 2)
    settings = {"scale_attn_by_inverse_layer_idx": True, "reorder_and_upcast_attn": True}
    folder = headed("gpt2", "CausalLM", **settings)
    (maps,) = view_of(folder, FIRST).maps
    np.testing.assert_allclose(neurons_of(maps).scaling, [8**-0.5, 8**-0.5 / 2])
    check(maps, plain(folder, FIRST).attentions)


@pytest.fixture(scope="module")
def deeper(tokenizer_of: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """An encoder-decoder with two layers that read and three that say."""
    return lambda name: saved(name, tmp_path_factory.mktemp("deeper"), tokenizer_of)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_an_encoder_decoder_shows_what_it_reads_says_and_looks_back_at(
    name: str, deeper: Callable[[str], Path]
) -> None:
    from transformers import AutoTokenizer

    folder, start = deeper(name), {"bart": 2, "t5": 0}[name]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for first, second in ((FIRST, SECOND), (SECOND, FIRST), ("Look!", "Look!")):
        target = tokenizer(second)
        labels = target["input_ids"]
        view = view_of(folder, first, second)
        whole = plain(folder, first, decoder_input_ids=torch.tensor([[start, *labels[:-1]]]))
        read, said, back = view.maps
        assert (read.kind, said.kind, back.kind) == ("encoder", "decoder", "cross")
        for maps in view.maps:
            assert (neurons_of(maps).bias is not None) == (name == "t5" and maps.kind != "cross")
            check(maps, getattr(whole, f"{maps.kind}_attentions"))
        tokens = (tokenizer.convert_ids_to_tokens(start), *target.tokens()[:-1])
        assert (back.queries, back.keys, said.queries.tokens) == (said.queries, read.keys, tokens)
        assert (read.queries.segment.max(), said.queries.segment.max()) == (0, 1)
        special = 2 if name == "bart" else 1
        assert said.queries.special.tolist() == [True] * special + [False] * (len(tokens) - special)
    some = view_of(folder, FIRST, SECOND, layers=[2, 0], heads=[3])
    assert [maps.layers for maps in some.maps] == [(0,), (0, 2), (0, 2)]
    assert [maps.heads for maps in some.maps] == [(3,)] * 3
    assert "not in encoder attention, which has 2" in some.notes[-1]
    assert [maps.kind for maps in view_of(folder, FIRST, SECOND, layers=[2]).maps] == ["decoder", "cross"]
    alone = view_of(folder, FIRST)
    assert [maps.kind for maps in alone.maps] == ["encoder"]
    check(alone.maps[0], plain(folder, FIRST).attentions)


def test_chosen_layers_and_heads_are_those_of_the_whole(model_of: ModelOf) -> None:
    whole = view_of(model_of("mistral"), FIRST).maps[0]
    some = view_of(model_of("mistral"), FIRST, layers=[2, 0, 0], heads=[3, 1]).maps[0]
    assert (some.layers, some.heads) == ((0, 2), (1, 3))
    chosen = np.ix_([0, 2], [1, 3])
    assert np.array_equal(some.weights, whole.weights[chosen])
    assert np.array_equal(neurons_of(some).query, neurons_of(whole).query[chosen])
    assert np.array_equal(neurons_of(some).visible, neurons_of(whole).visible[[0, 2]])


@pytest.mark.parametrize(("dtype", "name", "close"), [("bfloat16", "gemma2", 0.03), ("float16", "t5", 0.005)])
def test_half_precision_shows_nearly_the_same(dtype: str, name: str, close: float, model_of: ModelOf) -> None:
    half, full = (view_of(model_of(name), FIRST, dtype=own).maps[0] for own in (dtype, "float32"))
    np.testing.assert_allclose(half.weights / 255, full.weights / 255, rtol=0, atol=close + STEP)
    np.testing.assert_allclose(put_together(neurons_of(half)), full.weights / 255, atol=close + STEP)


def test_the_embedded_encoder_shows_a_pair_and_a_long_text_is_shown_whole(model_of: ModelOf) -> None:
    view = view_of(None, "Who wrote it?", "Ann's sister wrote the song.")
    (maps,) = view.maps
    assert (maps.weights.shape[:2], view.notes) == ((6, 12), ())
    assert maps.queries.tokens[:3] == ("[CLS]", "who", "wrote")
    assert maps.queries.word.tolist() == [-1, 0, 1, 2, 3, -1, 4, 4, 4, 5, 6, 7, 8, 9, -1]
    check(maps, plain(Path(find_checkpoint(None, None).target), *view.texts).attentions)
    (long,) = view_of(model_of("bert"), "the " * 510).maps
    assert long.weights.shape == (2, 4, 512, 512)
    assert neurons_of(long).query.shape == (2, 4, 512, 8)


def test_a_trained_decoder_shows_its_heads(stories: Path) -> None:
    text = "Once upon a time, there was a little girl named Lily."
    (maps,) = view_of(stories, text).maps
    assert neurons_of(maps).group == (0, 0, 1, 1, 2, 2, 3, 3)
    check(maps, plain(stories, text).attentions)
