"""Attention from caches of TransformerLens and saves of nnsight: look-alikes, and real ones if installed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headroles
from headroles import Example
from headroles.errors import BadInput, UnknownName

ModelOf = Callable[[str], Path]
TOKENS = ("it", "rains", "again")


@dataclass
class Cache:
    """Activations by name, as TransformerLens keeps them: no mapping, but with keys."""

    activations: dict[str, torch.Tensor]

    def keys(self) -> Any:
        """Return the names."""
        return self.activations.keys()

    def __getitem__(self, name: str) -> torch.Tensor:
        """Return an activation."""
        return self.activations[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self.activations)


@dataclass
class Proxy:
    """A save of earlier versions of nnsight."""

    value: Any


@dataclass
class Entry:
    """What nnsight's cache keeps of a module."""

    output: Any


def _weights(layers: int = 11, batch: int = 2, heads: int = 2, size: int = 3, seed: int = 0) -> torch.Tensor:
    """Random weights (layers, batch, heads, size, size) whose rows sum to 1."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(layers, batch, heads, size, size, generator=generator).softmax(-1)


def _cache(weights: torch.Tensor, name: str = "blocks.{}.attn.hook_pattern") -> dict[str, torch.Tensor]:
    """A cache with these weights, in the order in which names sort as text."""
    kept = {name.format(layer): own for layer, own in enumerate(weights)}
    return {"hook_embed": torch.zeros(1, 3, 4)} | dict(sorted(kept.items()))


def test_layers_of_a_cache_are_in_the_order_of_their_numbers() -> None:
    weights = _weights()
    attention, tokens = headroles.from_transformer_lens(Cache(_cache(weights)), TOKENS, batch=1)
    assert tokens == TOKENS
    assert attention.dtype == np.float32
    np.testing.assert_array_equal(attention, weights[:, 1].numpy())


def test_a_cache_without_batch_dimension_is_read() -> None:
    weights = _weights()
    attention, tokens = headroles.from_transformer_lens(Cache(_cache(weights[:, 0])))
    assert tokens == ("0", "1", "2")
    np.testing.assert_array_equal(attention, weights[:, 0].numpy())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_attention_of_a_cache_is_float32_or_float64(dtype: torch.dtype) -> None:
    attention, _ = headroles.from_transformer_lens(_cache(_weights().to(dtype).requires_grad_()))
    assert attention.dtype == (np.float64 if dtype == torch.float64 else np.float32)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_cut_off_on_its_side(side: str) -> None:
    own, padded = _weights(), torch.full((11, 2, 2, 5, 5), 0.2)
    kept = slice(2, 5) if side == "left" else slice(0, 3)
    padded[..., kept, :] = 0
    padded[..., kept, kept] = own
    attention, _ = headroles.from_transformer_lens(_cache(padded), TOKENS, padding=side)
    np.testing.assert_array_equal(attention, own[:, 0].numpy())
    saved, _ = headroles.from_nnsight(list(padded), TOKENS, padding=side)
    np.testing.assert_array_equal(saved, own[:, 0].numpy())
    other = "right" if side == "left" else "left"
    with pytest.raises(BadInput, match=r"every row of attention sums to 1 .* without padding"):
        headroles.from_transformer_lens(_cache(padded), TOKENS, padding=other)


def test_one_stack_of_an_encoder_decoder_is_chosen_by_its_name() -> None:
    encoder, decoder, cross = _weights(2, seed=1), _weights(2, size=4, seed=2), torch.full((2, 2, 2, 4, 3), 1)
    cache = _cache(encoder, "encoder.{}.attn.hook_pattern")
    cache |= _cache(decoder, "decoder.{}.attn.hook_pattern")
    cache |= _cache(cross, "decoder.{}.cross_attn.hook_pattern")
    for name, weights in (("encoder", encoder), ("decoder", decoder)):
        attention, _ = headroles.from_transformer_lens(cache, stack=name)
        np.testing.assert_array_equal(attention, weights[:, 0].numpy())
    with pytest.raises(BadInput, match="the cache has decoder and encoder; name one as stack"):
        headroles.from_transformer_lens(cache)
    with pytest.raises(UnknownName, match="no stack of layers is called 'block'"):
        headroles.from_transformer_lens(cache, stack="block")
    only = {name: kept for name, kept in cache.items() if "cross" in name}
    with pytest.raises(BadInput, match="has cross attention only"):
        headroles.from_transformer_lens(only)


BAD_CACHES = [
    (_cache(_weights(), "blocks.{}.attn.hook_attn_scores"), r"scores before it \(hook_attn_scores\) only"),
    ({"hook_embed": torch.zeros(1)}, r"the cache has no such name \(it has hook_embed\)"),
    ({}, r"it has none"),
    (_weights(), "a cache maps names to activations, but got"),
    (_cache(_weights()[:1], "blocks.1{}.attn.hook_pattern"), "the cache lacks layer 0 of 11; keep every"),
    (_cache(_weights()[..., :2]), r"all of one shape, but got \(2, 2, 3, 2\)"),
]


@pytest.mark.parametrize(("cache", "sentence"), BAD_CACHES, ids=range(len(BAD_CACHES)))
def test_a_cache_without_the_weights_of_every_layer_is_refused_in_a_sentence(
    cache: Any, sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        headroles.from_transformer_lens(cache)


BAD_WORDS: list[tuple[dict[str, Any], str]] = [
    ({"tokens": TOKENS[:2]}, "got 3 rows and 2 tokens; give the side of the padding"),
    ({"tokens": [*TOKENS, "."]}, "got 3 rows and 4 tokens; give those of this input"),
    ({"tokens": "its"}, "tokens are a list of strings, at least one, but got 'its'"),
    ({"tokens": [1, 2, 3]}, r"tokens are a list of strings, at least one, but got \[1, 2, 3\]"),
    ({"batch": 2}, "batch is the number of an input, from 0 to 1, but got 2"),
    ({"batch": -1}, "batch is the number of an input, from 0 to 1, but got -1"),
    ({"padding": "left"}, "give the tokens, or leave padding out"),
]


@pytest.mark.parametrize(("given", "sentence"), BAD_WORDS, ids=range(len(BAD_WORDS)))
def test_tokens_batch_and_padding_that_do_not_fit_are_refused(given: dict[str, Any], sentence: str) -> None:
    for read, source in (
        (headroles.from_transformer_lens, _cache(_weights())),
        (headroles.from_nnsight, list(_weights())),
    ):
        with pytest.raises(BadInput, match=sentence):
            read(source, **given)
        with pytest.raises(UnknownName, match="no side of the padding is called 'top'"):
            read(source, TOKENS, padding="top")


def test_scores_before_the_softmax_are_no_attention() -> None:
    with pytest.raises(BadInput, match="attention is never negative"):
        headroles.from_nnsight(list(_weights() - 1))


def test_rows_may_sum_to_less_where_a_sink_takes_the_rest() -> None:
    half = list(_weights() / 2)
    with pytest.raises(BadInput, match="give sinks=True"):
        headroles.from_nnsight(half)
    assert headroles.from_nnsight(half, sinks=True)[0].sum(-1).max() < 0.51


WEIGHTS = _weights()
HIDDEN = torch.zeros(2, 3, 8)
SAVES = {
    "tensors": list(WEIGHTS),
    "arrays": [own.numpy() for own in WEIGHTS],
    "proxies": [Proxy(own) for own in WEIGHTS],
    "a proxy of a list": Proxy(list(WEIGHTS)),
    "what modules return": [(HIDDEN, own) for own in WEIGHTS],
    "proxies of what modules return": [Proxy((HIDDEN, own, None)) for own in WEIGHTS],
    "numbers of layers": dict(sorted(enumerate(WEIGHTS), key=lambda pair: str(pair[0]))),
    "names of modules": {f"model.transformer.h.{layer}.attn": own for layer, own in enumerate(WEIGHTS)},
    "a cache": {f"model.layers.{layer}.attn": Entry((HIDDEN, own)) for layer, own in enumerate(WEIGHTS)},
}


@pytest.mark.parametrize("kind", SAVES)
def test_saves_of_every_kind_give_the_same_attention(kind: str) -> None:
    attention, tokens = headroles.from_nnsight(SAVES[kind], TOKENS, batch=1)
    assert tokens == TOKENS
    np.testing.assert_array_equal(attention, WEIGHTS[:, 1].numpy())


BAD_SAVES = [
    ([None, None], 'that of layer 0 holds them 0 times; load the model with attn_implementation="eager"'),
    ([(HIDDEN, None)], "that of layer 0 holds them 0 times"),
    ([(WEIGHTS[0], WEIGHTS[1])], "that of layer 0 holds them 2 times"),
    ([], r"all of one shape, but got none"),
    ([HIDDEN], r"all of one shape, but got \(2, 3, 8\)"),
    ([WEIGHTS[0], WEIGHTS[1][..., :2, :2]], r"got \(2, 2, 2, 2\) and \(2, 2, 3, 3\)"),
    ({"attn": WEIGHTS[0]}, "the number of its layer as the last number of its name, but got 'attn'"),
    ({"a.0": WEIGHTS[0], "b.0": WEIGHTS[0]}, "but got 'b.0'"),
    ({0: WEIGHTS[0], 2: WEIGHTS[0]}, "the saves lacks layer 1 of 3"),
    (None, "saves are one for each layer, as a list or a mapping, but got None"),
    ("saves", "but got 'saves'"),
]


@pytest.mark.parametrize(("saves", "sentence"), BAD_SAVES, ids=range(len(BAD_SAVES)))
def test_saves_without_the_weights_of_every_layer_are_refused_in_a_sentence(
    saves: Any, sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        headroles.from_nnsight(saves)


def _eager(folder: Path, text: str) -> tuple[list[torch.Tensor], list[str]]:
    """The weights that a model returns layer by layer, and its tokens."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    encoded = tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        returned: Sequence[torch.Tensor] = model(**encoded, output_attentions=True).attentions
    return list(returned), [str(token) for token in encoded.tokens()]


def test_attention_of_an_adapter_goes_into_all_functions_of_arrays(model_of: ModelOf) -> None:
    returned, tokens = _eager(model_of("bert"), "It was signed in Paris after a long debate.")
    attention, names = headroles.from_nnsight(returned, tokens)
    heads = attention.shape[:2]
    assert headroles.score(attention, Example("paris", names), ["local"])["local"].shape == heads
    assert headroles.surface_of(attention, Example("paris", names))["surface:previous"].shape == heads
    assert headroles.head_distances(attention).shape == (heads[0] * heads[1],) * 2
    assert headroles.view(attention, names).view.maps[0].queries.tokens == names


def test_a_real_cache_of_transformer_lens_holds_what_the_plain_model_returns(model_of: ModelOf) -> None:
    bridge = pytest.importorskip("transformer_lens.model_bridge", reason="TransformerLens 4 is not installed")
    from transformers import AutoTokenizer, GPT2LMHeadModel

    folder = model_of("gpt2")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.bos_token = tokenizer.pad_token = tokenizer.eos_token
    plain: Any = GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager")
    model = bridge.TransformerBridge.boot_transformers("gpt2", hf_model=plain.eval(), tokenizer=tokenizer)
    text = "It was signed in Paris after a long debate."
    tokens = model.to_str_tokens(text, prepend_bos=False)
    _, cache = model.run_with_cache(text, prepend_bos=False)
    attention, names = headroles.from_transformer_lens(cache, tokens)
    assert names == tuple(tokens)
    np.testing.assert_allclose(attention, torch.cat(_eager(folder, text)[0]).numpy(), atol=1e-6)
    texts = [text, "Look!"]
    _, batch = model.run_with_cache(texts, prepend_bos=False)
    padded, _ = headroles.from_transformer_lens(
        batch, model.to_str_tokens(texts[1], prepend_bos=False), batch=1, padding=tokenizer.padding_side
    )
    np.testing.assert_allclose(padded, torch.cat(_eager(folder, texts[1])[0]).numpy(), atol=1e-6)


def test_real_saves_of_nnsight_hold_what_the_plain_model_returns(model_of: ModelOf) -> None:
    nnsight = pytest.importorskip("nnsight", reason="nnsight is not installed")
    folder, text = model_of("gpt2"), "It was signed in Paris after a long debate."
    returned, tokens = _eager(folder, text)
    model = nnsight.TransformersModel(
        str(folder), task="text-generation", attn_implementation="eager", dispatch=True
    )
    with model.trace(text):
        saves = list().save()  # type: ignore[attr-defined]  # noqa: C408
        for layer in model.transformer.h:
            saves.append(layer.attn.output[1])
    attention, _ = headroles.from_nnsight(saves, tokens)
    np.testing.assert_allclose(attention, torch.cat(returned).numpy(), atol=1e-6)
