"""A view holds the plain model's attention, and queries and keys that make the same weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import extraction
from headroles.records import Maps, Neurons, View
from tests.support.causal.plain import cases
from tests.support.read_models import plain_network, plain_run
from tests.support.reference import rounding_bound
from tests.support.seq2seq import saved

ModelOf = Callable[[str], Path]
FIRST = "The committee did not decide about the long treaty, and nobody in Paris objected."
SECOND = "She can't believe it was signed!"
STEP = 1 / 255
"""A step of a byte."""


def view_of(folder: Path | None, *texts: str, **options: Any) -> View:
    """The view of one input."""
    checkpoint = extraction.find_checkpoint(None if folder is None else str(folder), None)
    (view,) = extraction.read_views(checkpoint, [texts], device="cpu", **options)
    assert isinstance(view, View)
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
        network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    encoded = AutoTokenizer.from_pretrained(folder)(*texts, return_tensors="pt")
    return plain_run(network, {**encoded}, **inputs, output_attentions=True)


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
        "bert modernbert gpt2 llama gemma2 gpt-oss gptj mistral",
        "roberta distilbert albert electra mpnet deberta-v2 bloom",
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
    (some,) = view_of(folder, FIRST, SECOND, layers=[1, 0, 0], heads=[3, 1]).maps
    assert (some.layers, some.heads) == ((0, 1), (1, 3))
    np.testing.assert_array_equal(some.weights, maps.weights[:2, [1, 3]])
    if not outside:
        np.testing.assert_array_equal(neurons_of(some).query, neurons_of(maps).query[:2, [1, 3]])
        np.testing.assert_array_equal(neurons_of(some).visible, neurons_of(maps).visible[:2])


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_an_encoder_decoder_shows_what_it_reads_says_and_looks_back_at(
    name: str, tokenizer_of: Any, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoTokenizer

    folder, start = saved(name, tmp_path, tokenizer_of), {"bart": 2, "t5": 0}[name]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for first, second in ((FIRST, SECOND), (SECOND, FIRST), ("Look!", "Look!")):
        target = tokenizer(second)
        labels = target["input_ids"]
        whole = plain(folder, first, decoder_input_ids=torch.tensor([[start, *labels[:-1]]]))
        read, said, back = view_of(folder, first, second).maps
        assert (read.kind, said.kind, back.kind) == ("encoder", "decoder", "cross")
        for maps in (read, said, back):
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
    (alone,) = view_of(folder, FIRST).maps
    assert alone.kind == "encoder"
    check(alone, plain(folder, FIRST).attentions)
