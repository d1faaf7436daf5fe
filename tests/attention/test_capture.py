"""Attention is formed, cut and handed on as the model computes it; the check at load refuses what is not."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import Band, Cells, Match, extraction
from headroles.errors import BadInput
from tests.support import table
from tests.support.architectures import FORMED
from tests.support.read_models import (
    TEXTS,
    Kept,
    Together,
    batch_of,
    cut_into_blocks,
    grouped,
    in_threads,
    module_of,
    opened,
    plain_network,
    plain_run,
    ready,
)
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]


def _read(model: Any, inputs: Any = None, reader: Any = None, **how: Any) -> tuple[Any, Any]:
    """A batch of texts read in one thread."""
    kept = Kept() if reader is None else reader
    tensors, lengths = batch_of(model) if inputs is None else inputs
    with in_threads():
        output, _ = extraction.run(model.network, replace(model.way, **how), tensors, lengths, kept)
    return output, kept


def _close(ours: Kept, theirs: Kept, atol: float) -> None:
    assert ours.rows.keys() == theirs.rows.keys()
    for place in theirs.rows:
        np.testing.assert_allclose(ours.whole(*place), theirs.whole(*place), rtol=0, atol=atol)
        np.testing.assert_array_equal(ours.seen(*place), theirs.seen(*place))


def test_a_mask_is_recognised_as_a_band_or_kept_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    visible, to_array = module_of("VisibleSets"), extraction.to_visible_array
    monkeypatch.setattr(visible, "BLOCK", 100)
    place = np.arange(30)
    offset = place[None, :] - place[:, None]
    masks: list[tuple[np.ndarray, type, type]] = [
        (offset <= 0, Band, Band),
        ((offset <= 0) & (offset > -6), Band, Band),
        (np.abs(offset) < 5, Band, Band),
        (offset >= 0, Band, Band),
        (offset == 0, Band, Band),
        ((offset <= 0) & (place[None, :] // 7 == place[:, None] // 7), Cells, Cells),
        ((offset <= 0) & (place[None, :] > 2), Cells, Cells),
        ((place < 9)[:, None] & (place > 4)[None, :], Cells, Match),
    ]
    for wanted, of_tensor, of_array in masks:
        given_mask = torch.zeros(2, 1, 40, 40, dtype=torch.bool)
        given_mask[1, 0, :30, :30] = torch.from_numpy(wanted)
        added = torch.where(given_mask, 0.0, torch.finfo(torch.float32).min)
        shown = [visible.visible_mask_under(mask, False, 1, 30) for mask in (given_mask, added)]
        shown.append(extraction.to_visible_mask(wanted))
        assert [type(each) for each in shown] == [of_tensor, of_tensor, of_array]
        for each in shown:
            np.testing.assert_array_equal(to_array(each, 30), wanted)
    all_keys = torch.ones(1, 1, 9, 9, dtype=torch.bool)
    assert visible.visible_mask_under(all_keys, False, 0, 9) is None
    assert visible.visible_mask_under(all_keys[:, :, :1], False, 0, 9) is None
    assert visible.visible_mask_under(None, True, 0, 1) is None
    some = all_keys[:, :, :1].clone()
    some[..., 3] = False
    shown = visible.visible_mask_under(some, False, 0, 9)
    np.testing.assert_array_equal(to_array(shown, 9), np.broadcast_to(some[0, 0].numpy(), (9, 9)))


@pytest.mark.parametrize("name", grouped("bert", "modernbert", "llama", "mistral", "t5", "bart"))
def test_reading_in_blocks_is_reading_the_whole_with_norms_too(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, weighted = ready(model_of(name), 512), ready(model_of(name), 512, norms="all")
    wanted, norms = _read(whole)[1], _read(weighted)[1]
    _, lengths = batch_of(whole)
    cut_into_blocks(monkeypatch, 4, 4 * whole.heads * lengths[0] * 3)
    for model, kept in ((whole, wanted), (weighted, norms)):
        cut = _read(model)[1]
        assert cut.starts[0, 0] == list(range(0, lengths[0], 3))
        _close(cut, kept, rounding_bound(lengths[0]))


def test_the_check_at_load_finds_the_models_whose_attention_is_a_plain_softmax(model_of: ModelOf) -> None:
    for names, plain in (("bert gpt2 llama mistral modernbert", True), ("t5 gemma2 gpt-oss mpnet", False)):
        for name in names.split():
            assert [ready(model_of(name), longest).way.plain for longest in (128, 512)] == [plain, plain]


def test_a_models_limit_counts_the_positions_it_can_use(model_of: ModelOf) -> None:
    limits = {name: ready(model_of(name)).limit for name in ("roberta", "bert", "t5")}
    assert limits == {"roberta": 598, "bert": 600, "t5": None}


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    import torch

    def fail() -> None:
        raise ValueError("no such head")

    with in_threads(2), pytest.raises(ValueError, match="no such head"):
        extraction.Threads().run([lambda: None, fail], torch.device("cpu"))


# The check at load: a fault in what is read is a refusal, whichever part is at fault.


def _fault(kind: str, patch: pytest.MonkeyPatch) -> None:
    """Put a fault into one part of what reads attention."""
    whole, blocks, forming = map(module_of, ("run", "rows_per_block", "own_eager"))
    honest, sdpa, mask_of = forming.own_eager, whole.sdpa_attention_forward, forming.block_mask

    def changed(change: Callable[..., Any]) -> Callable[..., Any]:
        return lambda module: lambda *given, **rest: change(*honest(module)(*given, **rest))

    def first_rows(mask: Any, causal: bool, example: int, rows: slice, *rest: Any) -> Any:
        return mask_of(mask, causal, example, slice(0, rows.stop - rows.start), *rest)

    if kind == "weights of other keys":
        for module in (whole, blocks, forming, module_of("read_cross")):
            patch.setattr(module, "own_eager", changed(lambda output, own: (output, own.roll(1, -1))))
    elif kind == "louder output":
        patch.setattr(blocks, "own_eager", changed(lambda output, own: (output * 1.001, own)))
    elif kind == "louder sdpa":
        patch.setattr(whole, "sdpa_attention_forward", lambda *a, **r: (sdpa(*a, **r)[0] * 1.5, None))
    elif kind == "rows of another block":
        patch.setattr(blocks, "block_mask", first_rows)
    else:
        own_keys = lambda mask, causal, example, n: np.eye(n, dtype=np.bool_)  # noqa: E731
        patch.setattr(module_of("VisibleSets"), "visible_under", own_keys)


@pytest.mark.parametrize(
    ("kind", "name", "longest", "dtype"),
    table("""
        weights of other keys | bert  | 128 | float32
        weights of other keys | bert  | 512 | float32
        louder output         | bert  | 512 | float32
        louder sdpa           | bert  | 512 | bfloat16
        rows of another block | llama | 512 | float32
        hidden keys           | bert  | 128 | float32
        hidden keys           | bert  | 512 | float32
    """),
)
def test_what_is_misread_is_refused_at_load(
    kind: str, name: str, longest: str, dtype: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fault(kind, monkeypatch)
    with pytest.raises(BadInput, match=r"must be what the plain model computes.*cannot be labelled"):
        opened(model_of(name), int(longest), dtype)
    if kind == "rows of another block":  # no key is hidden from any query
        assert opened(model_of("bert"), 512).way.name == FORMED
    if kind == "weights of other keys":
        with pytest.raises(BadInput, match="but its cross attention is not"):
            opened(model_of("t5"), int(longest), kind="cross")


def test_models_that_go_past_the_interface_or_hide_keys_by_several_rules_are_refused(
    model_of: ModelOf,
) -> None:
    import torch

    def again(model: Any, longest: int) -> None:
        extraction.choose_reading(model.network, model.tokenizer, model.device, longest)

    for longest in (128, 512):
        model = opened(model_of("bert"), longest)
        last = model.network.encoder.layer[1].attention.self
        last.config = copy(last.config)
        last.config._attn_implementation = "eager"
        with pytest.raises(BadInput, match=r"1 attention calls for 2 layers"):
            again(model, longest)
    model = opened(model_of("gptj"))
    layer = model.network.h[1].attn
    honest = type(layer)._attn
    layer._attn = lambda query, key, value, mask: honest(layer, query, key, value, torch.zeros_like(mask))
    with pytest.raises(BadInput, match=r"hidden in every layer by one rule.*GPTJModel are not"):
        again(model, 128)
    with pytest.raises(BadInput, match=r"by one rule.* GPTNeoModel are not at 128 tokens"):
        opened(model_of("gpt-neo"), 128)
    for name, sentence in (
        ("bigbird", r"attention of one number of heads, but .*cannot be read"),
        ("mamba", r"attention of one number of heads, but .*cannot be read"),
        ("clip", r"must run on a text alone .* but CLIPModel, which reads images, too, failed at that"),
    ):
        with pytest.raises(BadInput, match=sentence):
            opened(model_of(name))


# Norms of values.

VALUES = {
    "bert": ("encoder.layer.{}.attention.self.value", "encoder.layer.{}.attention.output.dense"),
    "distilbert": ("transformer.layer.{}.attention.v_lin", "transformer.layer.{}.attention.out_lin"),
    "gpt2": ("h.{}.attn.c_attn", "h.{}.attn.c_proj"),
    "llama": ("layers.{}.self_attn.v_proj", "layers.{}.self_attn.o_proj"),
    "t5": ("block.{}.layer.0.SelfAttention.v", "block.{}.layer.0.SelfAttention.o"),
    "bart": ("layers.{}.self_attn.v_proj", "layers.{}.self_attn.out_proj"),
}
"""Modules of values and of output projections, by architecture and layer."""


@pytest.mark.parametrize("name", grouped(*VALUES))
def test_weights_by_norms_are_the_norms_of_what_every_key_adds(name: str, model_of: ModelOf) -> None:
    folder = model_of(name)
    network, values = plain_network(folder, "eager"), dict[int, Any]()
    layers = range(network.config.num_hidden_layers)
    hooks = [
        network.get_submodule(VALUES[name][0].format(layer)).register_forward_hook(
            lambda module, inputs, result, layer=layer: values.update({layer: result})
        )
        for layer in layers
    ]
    inputs, lengths = batch_of(ready(folder))
    returned = plain_run(network, inputs, output_attentions=True).attentions
    for hook in hooks:
        hook.remove()
    readers = []
    for longest in (128, 512):
        every, some = ready(folder, longest, norms="all"), ready(folder, longest, norms="some")
        assert every.described["weights"] == "norm"
        second = Together(lengths)
        _, first = _read(some, (inputs, lengths), Together(lengths, second))
        _close(first, _read(ready(folder, longest))[1], rounding_bound(64))
        readers += [_read(every)[1], second]
    for layer in layers:
        projection = network.get_submodule(VALUES[name][1].format(layer)).weight.detach().double()
        projection = projection if name == "gpt2" else projection.T
        by_head = values[layer][..., -32:].double().unflatten(-1, (-1, 8)).transpose(1, 2)
        if name == "llama":
            by_head = values[layer].double().unflatten(-1, (2, 8)).transpose(1, 2).repeat_interleave(2, dim=1)
        moved = by_head @ projection.unflatten(0, (4, 8))  # f(x_j): (examples, heads, keys, hidden)
        for example, n in enumerate(lengths):
            own = returned[layer][example, :, :n, :n].double()
            sizes = (own[..., None] * moved[example, :, None, :n]).norm(dim=-1)
            wanted = sizes / sizes.sum(-1, keepdim=True)
            for reader in readers:
                np.testing.assert_allclose(reader.whole(layer, example), wanted, rtol=0, atol=1e-6)


def _gate(name: str, own: Any, given: Any) -> Any:
    """What stands before each head's projection (examples, queries, heads, 1 or 8), from a model's code."""
    import torch

    if name == "qwen3_next":
        return own.q_proj(given).unflatten(-1, (4, 16))[..., 8:].sigmoid()
    if name == "afmoe":
        return own.gate_proj(given).unflatten(-1, (4, 8)).sigmoid()
    return torch.nn.functional.softplus(own.g_proj(given))[..., None]


@pytest.mark.parametrize("name", grouped("qwen3_next", "afmoe", "laguna"))
def test_weights_by_norms_are_the_norms_of_what_every_key_adds_through_a_gate(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    folder = model_of(name)
    network, given = plain_network(folder, "eager"), list[Any]()
    modules = [layer.self_attn for layer in network.layers]
    hooks = [
        own.register_forward_pre_hook(
            lambda module, args, named: given.append(named["hidden_states"] if not args else args[0]),
            with_kwargs=True,
        )
        for own in modules
    ]
    inputs, lengths = batch_of(ready(folder))
    returned = plain_run(network, inputs, output_attentions=True).attentions
    for hook in hooks:
        hook.remove()
    readers = []
    for longest in (128, 512):
        every, some = ready(folder, longest, norms="all"), ready(folder, longest, norms="some")
        second = Together(lengths)
        _, first = _read(some, (inputs, lengths), Together(lengths, second))
        _close(first, _read(ready(folder, longest))[1], rounding_bound(64))
        readers += [_read(every)[1], second]
    monkeypatch.setattr(module_of("ValueNorms"), "GATED", 5000)
    cut_into_blocks(monkeypatch, 4, 4 * 4 * lengths[0] * 3)
    readers.append(_read(every)[1])
    for layer, own in enumerate(modules):
        with torch.inference_mode():
            values = own.v_proj(given[layer]).double().unflatten(-1, (2, 8)).repeat_interleave(2, dim=2)
            gated = _gate(name, own, given[layer]).double()[:, :, None] * values[:, None]
            projection = own.o_proj.weight.T.double().unflatten(0, (4, 8))
            moved = torch.einsum("eijhd,hdD->ehijD", gated, projection).norm(dim=-1)
        for example, n in enumerate(lengths):
            sizes = returned[layer][example, :, :n, :n].double() * moved[example, :, :n, :n]
            wanted = sizes / sizes.sum(-1, keepdim=True)
            for reader in readers:
                np.testing.assert_allclose(reader.whole(layer, example), wanted, rtol=0, atol=2e-6)


def test_heads_that_add_up_something_else_have_no_norms(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers.models.bert.modeling_bert as library

    plain = library.eager_attention_forward

    def twice(module: Any, query: Any, key: Any, value: Any, *rest: Any, **more: Any) -> Any:
        return plain(module, query, key, value * 2, *rest, **more)

    monkeypatch.setattr(library, "eager_attention_forward", twice)
    sentence = "the sum of its values by their weights, but that of BertModel is not"
    with pytest.raises(BadInput, match=sentence):
        opened(model_of("bert"), norms="all")


# Output projections that cannot be told apart by head.


def test_projections_with_a_norm_or_packed_weights_are_refused_and_a_gate_is_found(model_of: ModelOf) -> None:
    import torch

    class Packed(torch.nn.Module):
        """A linear map with weights of int8."""

        def __init__(self, linear: Any) -> None:
            super().__init__()
            self.scale = linear.weight.abs().max() / 127
            self.register_buffer("weight", (linear.weight / self.scale).round().to(torch.int8))

        def forward(self, given: Any) -> Any:
            return given @ (self.weight.float() * self.scale).T

    def halve(linear: Any) -> Any:
        linear.register_forward_hook(lambda module, given, output: output / 2)
        return linear

    def after_a_norm(linear: Any) -> Any:
        return torch.nn.Sequential(torch.nn.RMSNorm(32), linear)

    for sentence, change in (
        ("add up to the projection's output, but not in 'layers.1.self_attn' of LlamaModel", halve),
        ("but none reads that of 'layers.1.self_attn' in LlamaModel", after_a_norm),
        ("has a Packed of int8; give the model without quantisation", Packed),
    ):
        model = opened(model_of("llama"))
        own = model.network.layers[1].self_attn
        own.o_proj = change(own.o_proj)
        with pytest.raises(BadInput, match=sentence):
            extraction.output_projections(model.network, batch_of(model, TEXTS[:1])[0])
    for name, gated in (("llama", False), ("qwen3_next", True), ("zamba2", False)):
        model = ready(model_of(name))
        found = extraction.output_projections(model.network, batch_of(model, TEXTS[:1])[0])
        assert [each.gated for each in found] == [gated] * model.layers
