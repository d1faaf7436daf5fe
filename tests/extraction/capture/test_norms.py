"""Norm-weighted attention is what ‖A f(x)‖ is, vector by vector, however attention is read."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.extraction.capture.attention import run
from headroles.extraction.capture.norms import ValueNorms, factors_of, weigh_by_norms
from headroles.extraction.capture.plain import run_with_calls
from headroles.extraction.capture.stacks import shorten_inputs
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import ALL_NORMS, SOME_NORMS, Model, load
from headroles.records.rules.names import FORMED
from tests.support.architectures import RETURNED, TABLE
from tests.support.read_models import Kept, batch_of, cut_into_blocks, one_thread, plain_network, plain_run
from tests.support.reference import rounding_bound
from tests.support.seq2seq import pairs, saved

ModelOf = Callable[[str], Path]
VALUES = {
    "bert": ("encoder.layer.{}.attention.self.value", "encoder.layer.{}.attention.output.dense"),
    "distilbert": ("transformer.layer.{}.attention.v_lin", "transformer.layer.{}.attention.out_lin"),
    "gpt2": ("h.{}.attn.c_attn", "h.{}.attn.c_proj"),
    "llama": ("layers.{}.self_attn.v_proj", "layers.{}.self_attn.o_proj"),
    "t5": ("block.{}.layer.0.SelfAttention.v", "block.{}.layer.0.SelfAttention.o"),
    "bart": ("layers.{}.self_attn.v_proj", "layers.{}.self_attn.out_proj"),
}
"""Modules of values and of output projections, by architecture and layer."""
HEADS, SIZE = 4, 8


@cache
def _loaded(folder: Path, max_length: int = 128, norms: str = ALL_NORMS, kind: str | None = None) -> Model:
    checkpoint = find_checkpoint(str(folder), None)
    return load(checkpoint, device="cpu", dtype="float32", max_length=max_length, norms=norms, kind=kind)


def _direct(name: str, folder: Path, inputs: dict[str, torch.Tensor], lengths: Sequence[int]) -> Any:
    """Norm-weighted attention by layer and example, from the vectors A_ij f(x_j) themselves, in float64."""
    network = plain_network(folder, "eager")
    values: dict[int, torch.Tensor] = {}
    modules = dict(network.named_modules())

    def keep_in(layer: int) -> Callable[..., None]:
        return lambda module, given, result: values.update({layer: result})

    for layer in range(network.config.num_hidden_layers):
        modules[VALUES[name][0].format(layer)].register_forward_hook(keep_in(layer))
    attentions = plain_run(network, inputs, output_attentions=True).attentions
    direct = []
    for layer, attention in enumerate(attentions):
        projection = modules[VALUES[name][1].format(layer)].weight.detach().double()
        projection = projection if name == "gpt2" else projection.T
        value = values[layer][..., -HEADS * SIZE :].double() if name == "gpt2" else values[layer].double()
        by_head = value.reshape(*value.shape[:-1], -1, SIZE).transpose(1, 2)
        by_head = by_head.repeat_interleave(HEADS // by_head.shape[1], dim=1)
        moved = by_head @ projection.unflatten(0, (HEADS, SIZE))  # f(x_j): (examples, heads, keys, hidden)
        rows = []
        for example, n in enumerate(lengths):
            weights = attention[example, :, :n, :n].double()
            vectors = weights[..., None] * moved[example, :, None, :n]
            norms = vectors.norm(dim=-1)
            rows.append(norms / norms.sum(-1, keepdim=True))
        direct.append(rows)
    return direct


def _kept(model: Model, inputs: dict[str, torch.Tensor], lengths: Sequence[int]) -> Kept:
    kept = Kept()
    with one_thread():
        run(model.network, model.way, inputs, lengths, kept)
    return kept


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("max_length", [128, 512])
def test_weights_by_norms_are_the_norms_of_what_every_key_adds(
    name: str, max_length: int, model_of: ModelOf
) -> None:
    folder = model_of(name)
    model = _loaded(folder, max_length)
    assert (model.way.name == FORMED) == (max_length == 512)
    inputs, lengths = batch_of(model)
    kept = _kept(model, inputs, lengths)
    for layer, rows in enumerate(_direct(name, folder, inputs, lengths)):
        for example, wanted in enumerate(rows):
            got = kept.whole(layer, example).double()
            torch.testing.assert_close(got, wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "mistral"])
def test_blocks_of_rows_give_what_the_whole_gives(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _loaded(model_of(name), 512)
    inputs, lengths = batch_of(model)
    whole = _kept(model, inputs, lengths)
    cut_into_blocks(monkeypatch, 8, 4 * HEADS * 20 * 3)
    blocks = _kept(model, inputs, lengths)
    for place in whole.rows:
        assert len(blocks.rows[place]) >= len(whole.rows[place])
        torch.testing.assert_close(blocks.whole(*place), whole.whole(*place), rtol=0, atol=rounding_bound(64))
    assert max(len(rows) for rows in blocks.rows.values()) > 1


class _Both(Kept):
    """A reader that keeps batches whole, with a second one for norm-weighted attention."""

    together = True

    def __init__(self, second: Kept | None = None) -> None:
        super().__init__()
        self.norm_reader = second

    def read_batch(self, layer: int, weights: torch.Tensor, visible: Sequence[np.ndarray | None]) -> None:
        for example, rows in enumerate(weights):
            self.read(layer, example, 0, rows, visible[example])


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama"])
@pytest.mark.parametrize("max_length", [128, 512])
def test_one_pass_gives_a_reader_its_attention_and_a_second_one_that_by_norms(
    name: str, max_length: int, model_of: ModelOf
) -> None:
    folder = model_of(name)
    plain, every = _loaded(folder, max_length, "none"), _loaded(folder, max_length)
    both = _loaded(folder, max_length, SOME_NORMS)
    inputs, lengths = batch_of(both)
    second = _Both()
    first = _Both(second)
    with one_thread():
        run(both.network, both.way, inputs, lengths, first)
    wanted, weighted = _kept(plain, inputs, lengths), _kept(every, inputs, lengths)
    for (layer, example), rows in wanted.rows.items():
        n = lengths[example]
        for got, right in ((first, torch.cat(rows, dim=1)), (second, weighted.whole(layer, example))):
            part = got.whole(layer, example)[:, :n, :n]
            torch.testing.assert_close(part, right, rtol=0, atol=rounding_bound(64))


@pytest.mark.parametrize("name", [name for name, told in TABLE.items() if told.path != RETURNED])
def test_every_architecture_of_the_interface_has_norms_and_keeps_its_output(
    name: str, model_of: ModelOf
) -> None:
    folder = model_of(name)
    model, plain = _loaded(folder), _loaded(folder, norms="none")
    inputs, lengths = batch_of(model)
    kept = _kept(model, inputs, lengths)
    unweighted = _kept(plain, inputs, lengths)
    for place, rows in kept.rows.items():
        whole, attention = torch.cat(rows, dim=1), unweighted.whole(*place)
        torch.testing.assert_close(whole.sum(-1), torch.ones(whole.shape[:2]), rtol=0, atol=1e-5)
        assert bool(((whole > 0) == (attention > 0)).all())
        assert float((whole - attention).abs().max()) > 1e-4
    with one_thread():
        outputs = [run(each.network, each.way, inputs, lengths, Kept())[0] for each in (model, plain)]
    assert torch.equal(*outputs)


@pytest.mark.parametrize("name", ["t5", "bart"])
@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_cross_and_decoder_attention_is_weighted_by_the_norms_of_its_own_keys(
    name: str, kind: str, tokenizer_of: Any, tmp_path: Path
) -> None:
    folder = saved(name, tmp_path, tokenizer_of)
    model, plain = _loaded(folder, kind=kind), _loaded(folder, norms="none", kind=kind)
    given = model.tokenizer.tokenised(pairs(1), 64)[0]
    inputs = shorten_inputs({key: torch.tensor([ids]) for key, ids in given.inputs.items()}, 64)
    sides = inputs["decoder_input_ids"].shape[1], inputs["input_ids"].shape[1]
    lengths = [sum(sides)] if kind == "cross" else [sides[0]]
    kept, attention = _kept(model, inputs, lengths), _kept(plain, inputs, lengths)
    calls: list[Any] = []
    run_with_calls(plain.network, inputs, calls.append)
    calls = [call for call in calls if plain.way.modules is None or call.module in plain.way.modules]
    assert len(calls) == model.layers == 3
    for layer, call in enumerate(calls):
        place = {"t5": ".o", "bart": ".out_proj"}[name]
        linear = call.module.get_submodule(place[1:])
        moved = call.value[0] @ linear.weight.detach().T.unflatten(0, (HEADS, SIZE))
        rows = attention.whole(layer, 0)
        norms = torch.zeros(HEADS, rows.shape[-1])
        norms[:, rows.shape[-1] - moved.shape[1] :] = moved.norm(dim=-1)
        wanted = rows * norms[:, None]
        total = wanted.sum(-1, keepdim=True)
        wanted = wanted / torch.where(total > 0, total, 1.0)
        torch.testing.assert_close(kept.whole(layer, 0), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", [name for name, told in TABLE.items() if told.path == RETURNED])
def test_models_outside_the_interface_are_refused_with_what_to_do(name: str, model_of: ModelOf) -> None:
    with pytest.raises(BadInput, match=r"does not; use --weights attention, without the sieve parked"):
        _loaded(model_of(name))


def test_heads_that_add_up_something_else_are_refused(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers.models.bert.modeling_bert as library

    plain = library.eager_attention_forward

    def twice(module: Any, query: Any, key: Any, value: Any, *rest: Any, **more: Any) -> Any:
        return plain(module, query, key, value * 2, *rest, **more)

    monkeypatch.setattr(library, "eager_attention_forward", twice)
    with pytest.raises(
        BadInput, match="the sum of its values by their weights, but that of BertModel is not"
    ):
        load(
            find_checkpoint(str(model_of("bert")), None),
            device="cpu", dtype="float32", max_length=128, norms=ALL_NORMS,
        )  # fmt: skip


@given(
    heads=st.integers(1, 3), keys=st.integers(1, 6), size=st.integers(1, 5), hidden=st.integers(1, 7),
    seed=st.integers(0, 2**31),
)  # fmt: skip
def test_factors_give_the_norm_of_the_projected_value(
    heads: int, keys: int, size: int, hidden: int, seed: int
) -> None:
    rng = torch.Generator().manual_seed(seed)
    weight = torch.randn(heads, size, hidden, generator=rng, dtype=torch.float64)
    value = torch.randn(2, heads, keys, size, generator=rng, dtype=torch.float64)
    norms = ValueNorms((factors_of(weight),)).of(0, value)
    torch.testing.assert_close(norms, (value @ weight).norm(dim=-1), rtol=1e-12, atol=1e-14)
    shared = ValueNorms((factors_of(torch.cat([weight, 2 * weight], 1).reshape(2 * heads, size, hidden)),))
    doubled = shared.of(0, value)
    torch.testing.assert_close(doubled[:, 1::2], 2 * doubled[:, ::2], rtol=1e-12, atol=1e-14)


@given(seed=st.integers(0, 2**31), scale=st.sampled_from([1e-30, 1e-10, 1.0, 1e10, 1e30]))
def test_rows_sum_to_one_and_do_not_depend_on_the_scale_of_norms(seed: int, scale: float) -> None:
    rng = torch.Generator().manual_seed(seed)
    weights = torch.rand(2, 5, 7, generator=rng).softmax(-1)
    norms = torch.rand(2, 7, generator=rng) + 0.01
    weighted = weigh_by_norms(weights, norms * scale)
    torch.testing.assert_close(weighted.sum(-1), torch.ones(2, 5), rtol=0, atol=1e-5)
    torch.testing.assert_close(weighted, weigh_by_norms(weights, norms), rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(weigh_by_norms(weights, torch.ones(2, 7)), weights, rtol=1e-5, atol=0)


def test_half_precision_is_weighted_in_single_precision(model_of: ModelOf) -> None:
    full = _loaded(model_of("bert"), 512)
    checkpoint = find_checkpoint(str(model_of("bert")), None)
    half = load(checkpoint, device="cpu", dtype="bfloat16", max_length=512, norms=ALL_NORMS)
    assert half.way.norms is not None
    assert {factor.dtype for factor in half.way.norms.factors} == {torch.float32}
    inputs, lengths = batch_of(full)
    for place, rows in _kept(half, inputs, lengths).rows.items():
        whole = torch.cat(rows, dim=1)
        assert whole.dtype == torch.float32
        right = _kept(full, inputs, lengths).whole(*place)
        torch.testing.assert_close(whole, right, rtol=0, atol=0.05)
