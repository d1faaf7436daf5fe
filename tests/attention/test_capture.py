"""Attention is formed, cut and handed on as the model computes it; the check at load refuses what is not."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Band, Cells, Match
from headroles.errors import BadInput
from headroles.extraction import (
    Model,
    choose_packing,
    output_projections,
    read_attention,
    run,
    softmax_attention,
    to_visible_array,
    to_visible_mask,
    weigh_by_norms,
)
from tests.support import table
from tests.support.architectures import FORMED
from tests.support.read_models import (
    TEXTS,
    Kept,
    Together,
    batch_of,
    cut_into_blocks,
    module_of,
    one_thread,
    opened,
    plain_network,
    plain_run,
    ready,
)
from tests.support.reference import draws, rounding_bound

ModelOf = Callable[[str], Path]
attention, blocks, joint, threads, visible, weights, trial = map(
    module_of,
    ("run", "rows_per_block", "read_cross", "Threads", "VisibleSets", "own_eager", "choose_reading"),
)
WRONG = r"must be what the plain model computes"


def _grouped(*names: str) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names]


def _read(model: Model, *, inputs: Any = None, **how: Any) -> tuple[torch.Tensor, Kept]:
    """A batch of texts read in one thread."""
    kept = Kept()
    tensors, lengths = batch_of(model) if inputs is None else inputs
    with one_thread():
        output, _ = run(model.network, replace(model.way, **how), tensors, lengths, kept)
    return output, kept


def _close(ours: Kept, theirs: Kept, atol: float) -> None:
    assert ours.rows.keys() == theirs.rows.keys()
    for place in theirs.rows:
        torch.testing.assert_close(ours.whole(*place), theirs.whole(*place), rtol=0, atol=atol)
        np.testing.assert_array_equal(ours.seen(*place), theirs.seen(*place))


@settings(max_examples=draws(60))
@given(
    st.integers(0, 10_000), st.sampled_from([1, 2, 3]), st.sampled_from([1, 4]), st.integers(1, 40),
    st.booleans(), st.one_of(st.none(), st.tuples(st.integers(-12, 3), st.integers(0, 12))),
)  # fmt: skip
def test_weights_and_output_of_a_softmax_are_those_of_the_formula_in_float64(
    seed: int, key_heads: int, shared: int, rows: int, added: bool, band: tuple[int, int] | None
) -> None:
    torch.manual_seed(seed)
    heads, keys, start = key_heads * shared, rows + seed % 7, seed % 7
    query, key, value = torch.randn(heads, rows, 8), torch.randn(key_heads, keys, 8), torch.randn(1, keys, 5)
    value = value.expand(key_heads, -1, -1)
    additive = torch.randn(1 if seed % 2 else heads, rows, keys) if added else None
    inside = None if band is None else Band(*band, rows)
    held = torch.full((heads, rows, keys), torch.nan) if seed % 3 == 0 else None
    output, found = softmax_attention(query, key, value, 0.3, additive, inside, start, held)
    assert held is None or found is held
    logits = 0.3 * query.double() @ key.double().repeat_interleave(shared, 0).mT
    logits = logits if additive is None else logits + additive
    if band is not None:
        offset = np.arange(keys)[None] - np.arange(rows)[:, None] - start
        hidden = torch.from_numpy((offset < band[0]) | (offset > band[1]))
        logits = logits.masked_fill(hidden, torch.finfo(torch.float32).min)
    wanted = logits.softmax(-1)
    torch.testing.assert_close(found.double(), wanted, rtol=0, atol=2e-6)
    both = wanted @ value.double().repeat_interleave(shared, 0)
    torch.testing.assert_close(output.double(), both, rtol=0, atol=1e-5)


def _mask(kind: str, size: int) -> np.ndarray:
    place = np.arange(size)
    offset = place[None, :] - place[:, None]
    found: dict[str, np.ndarray] = {
        "causal": offset <= 0,
        "window": (offset <= 0) & (offset > -6),
        "near": np.abs(offset) < 5,
        "ahead": offset >= 0,
        "own": offset == 0,
        "chunks": (offset <= 0) & (place[None, :] // 7 == place[:, None] // 7),
        "left padding": (offset <= 0) & (place[None, :] > 2),
        "rows": (place < 9)[:, None] & (place > 4)[None, :],
    }
    return found[kind]


@pytest.mark.parametrize("additive", [False, True])
def test_a_mask_is_recognised_as_a_band_or_kept_as_it_is(
    additive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visible, "BLOCK", 100)
    for kind in ("causal", "window", "near", "ahead", "own", "chunks", "left padding", "rows"):
        wanted, given_mask = _mask(kind, 30), torch.zeros(2, 1, 40, 40, dtype=torch.bool)
        given_mask[1, 0, :30, :30] = torch.from_numpy(wanted)
        if additive:
            given_mask = torch.where(given_mask, 0.0, torch.finfo(torch.float32).min)
        shown = visible.visible_mask_under(given_mask, False, 1, 30)
        irregular = kind in ("chunks", "left padding", "rows")
        assert isinstance(shown, Cells if irregular else Band)
        np.testing.assert_array_equal(to_visible_array(shown, 30), wanted)
        again = to_visible_mask(wanted)
        assert isinstance(again, Match if kind == "rows" else Cells if irregular else Band)
        np.testing.assert_array_equal(to_visible_array(again, 30), wanted)
    all_keys = torch.ones(1, 1, 9, 9, dtype=torch.bool)
    assert visible.visible_mask_under(all_keys, False, 0, 9) is None
    assert visible.visible_mask_under(all_keys[:, :, :1], False, 0, 9) is None
    assert visible.visible_mask_under(None, True, 0, 1) is None
    some = all_keys[:, :, :1].clone()
    some[..., 3] = False
    shown = visible.visible_mask_under(some, False, 0, 9)
    np.testing.assert_array_equal(to_visible_array(shown, 9), np.broadcast_to(some[0, 0].numpy(), (9, 9)))


@pytest.mark.parametrize("name", _grouped("bert", "modernbert", "llama", "mistral", "t5", "bart"))
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


@pytest.mark.parametrize(
    ("name", "later"),
    [
        ("bert", "encoder.layer.{}.intermediate"),
        ("llama", "layers.{}.mlp"),
        ("t5", "block.{}.layer.1"),
        ("mpnet", ""),
    ],
)
def test_what_follows_the_last_attention_is_left_out_and_changes_no_weight(
    name: str, later: str, model_of: ModelOf
) -> None:
    for max_length in (128, 512):
        model, called = opened(model_of(name), max_length), list[str]()
        inputs, lengths = batch_of(model)
        if later:
            part = model.network.get_submodule(later.format(model.layers - 1))
            part.register_forward_hook(lambda *given: called.append("later"))  # noqa: B023
        output, whole = _read(model)
        assert len(called) == bool(later)
        kept = Kept()
        with one_thread():
            read_attention(model.network, model.way, inputs, lengths, kept, model.layers)
        assert len(called) == bool(later)
        _close(kept, whole, 0)
        torch.testing.assert_close(_read(model)[0], output, rtol=0, atol=0)


class Blocks:
    """A reader of long inputs that notes what it gets."""

    by_heads = False

    def __init__(self) -> None:
        """Begin with nothing."""
        self.blocks: list[tuple[int, int, torch.Tensor]] = []
        self.shown: list[Any] = []

    def read_rows(self, place: Any, rows: torch.Tensor, shown: Any) -> None:
        """Note a block."""
        self.blocks.append((place.start, place.first, rows))
        self.shown.append(shown)

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, shown: Any) -> None:
        """Refuse whole rows."""
        raise AssertionError("the input is long")


@pytest.mark.parametrize(("name", "back"), [("llama", 300), ("mistral", 5), ("bert", None), ("t5", None)])
def test_long_inputs_have_no_keys_that_no_query_of_a_block_sees_and_the_output_of_sdpa(
    name: str, back: int | None, model_of: ModelOf
) -> None:
    model, given_blocks = opened(model_of(name), 512), Blocks()
    inputs = {"input_ids": torch.from_numpy(np.random.default_rng(1).integers(5, 60, (1, 300)))}
    output, _ = run(model.network, model.way, inputs, [300], given_blocks)
    _, whole = _read(model, inputs=(inputs, [300]))
    padded = [rows for layer in range(model.layers) for rows in whole.rows[layer, 0]]
    for (start, first, rows), wide, shown in zip(
        given_blocks.blocks, padded, given_blocks.shown, strict=True
    ):
        last = first + rows.shape[2]
        if back is None:
            assert shown is None
            assert (first, last) == (0, 300)
        else:
            assert (shown.low, shown.high) == (max(-back, -299), 0)
            assert (first, last) == (max(0, start - back), start + rows.shape[1])
        torch.testing.assert_close(wide[..., first:last], rows, rtol=0, atol=0)
        assert not wide[..., last:].any()
        assert not wide[..., :first].any()
        torch.testing.assert_close(rows.sum(2), torch.ones(rows.shape[:2]), rtol=0, atol=1e-5)
    model.network.set_attn_implementation("sdpa")
    torch.testing.assert_close(output, plain_run(model.network, inputs)[0], rtol=1e-5, atol=1e-5)


def test_a_model_in_half_precision_goes_on_with_the_output_of_sdpa_bit_by_bit(model_of: ModelOf) -> None:
    for name in ("bert", "llama"):
        model = opened(model_of(name), 512, "bfloat16")
        ours, _ = _read(model)
        model.network.set_attn_implementation("sdpa")
        with one_thread():
            assert torch.equal(ours, plain_run(model.network, batch_of(model)[0])[0])


def test_a_batch_padded_with_any_token_gives_the_same_attention(model_of: ModelOf) -> None:
    model = ready(model_of("llama"), 512)
    inputs, lengths = batch_of(model)
    hidden = inputs["attention_mask"] == 0
    assert hidden.any()
    other = inputs | {"input_ids": inputs["input_ids"].masked_fill(hidden, 77)}
    _close(_read(model, inputs=(other, lengths))[1], _read(model)[1], 0)


def test_the_check_at_load_finds_the_models_whose_attention_is_a_plain_softmax(model_of: ModelOf) -> None:
    for names, plain in (("bert gpt2 llama mistral modernbert", True), ("t5 gemma2 gpt-oss mpnet", False)):
        for name in names.split():
            assert [ready(model_of(name), longest).way.plain for longest in (128, 512)] == [plain, plain]
            if plain:  # the model's own function gives the same
                model = ready(model_of(name))
                (ours, kept), (theirs, own) = _read(model), _read(model, plain=False)
                _close(kept, own, 2e-6)
                n = batch_of(model)[1][0]
                torch.testing.assert_close(ours[0, :n], theirs[0, :n], rtol=0, atol=2e-5)


def test_a_models_limit_counts_the_positions_it_can_use(model_of: ModelOf) -> None:
    limits = {name: ready(model_of(name)).limit for name in ("roberta", "bert", "t5")}
    assert limits == {"roberta": 598, "bert": 600, "t5": None}
    model = opened(model_of("roberta"), 598)
    inputs, lengths = batch_of(model, ("the " * 700,))
    assert lengths[0] > 599
    run(model.network, model.way, {name: each[:, :598] for name, each in inputs.items()}, [598], Kept())
    with pytest.raises(RuntimeError, match="out of bounds"):
        run(model.network, model.way, {name: each[:, :599] for name, each in inputs.items()}, [599], Kept())


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def fail() -> None:
        raise ValueError("no such head")

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ValueError, match="no such head"):
            threads.Threads().run([lambda: None, fail], torch.device("cpu"))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# The check at load: a fault in what is read is a refusal, whichever part is at fault.


def _change_eager(patch: pytest.MonkeyPatch, modules: Any, change: Callable[..., Any]) -> None:
    """Let the models' own functions be changed where some modules call them."""
    honest = weights.own_eager

    def own(module: Any) -> Callable[..., Any]:
        return lambda *arrays, **rest: change(*honest(module)(*arrays, **rest))

    for module in modules:
        patch.setattr(module, "own_eager", own)


def _fault(kind: str, patch: pytest.MonkeyPatch) -> None:
    """Put a fault into one part of what reads attention."""
    honest = weights.block_mask
    sdpa = attention.sdpa_attention_forward
    everywhere = (attention, blocks, joint, weights)

    def first_rows(mask: Any, causal: bool, example: int, rows: slice, *rest: Any) -> Any:
        return honest(mask, causal, example, slice(0, rows.stop - rows.start), *rest)

    if kind == "weights of other keys":
        _change_eager(patch, everywhere, lambda output, own: (output, own.roll(1, -1)))
    elif kind == "louder output":
        _change_eager(patch, [blocks], lambda output, own: (output * 1.001, own))
    elif kind == "louder sdpa":
        patch.setattr(attention, "sdpa_attention_forward", lambda *a, **r: (sdpa(*a, **r)[0] * 1.5, None))
    elif kind == "rows of another block":
        patch.setattr(blocks, "block_mask", first_rows)
    else:
        assert kind == "hidden keys"
        patch.setattr(visible, "visible_under", lambda mask, causal, k, n: np.eye(n, dtype=np.bool_))


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
    with pytest.raises(BadInput, match=WRONG + r".*cannot be labelled"):
        opened(model_of(name), int(longest), dtype)
    if kind == "rows of another block":  # no key is hidden from any query
        assert opened(model_of("bert"), 512).way.name == FORMED
    if kind == "weights of other keys":
        with pytest.raises(BadInput, match="but its cross attention is not"):
            opened(model_of("t5"), int(longest), kind="cross")


@pytest.mark.parametrize(("error", "plain"), [(0.0, True), (1e-6, True), (1e-3, False)])
def test_the_check_at_load_lets_outputs_round_differently_and_no_more(
    error: float, plain: bool, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rounded(*given: Any, **rest: Any) -> tuple[torch.Tensor, torch.Tensor]:
        output, own = softmax_attention(*given, **rest)
        return output * (1 + error), own

    for module in (weights, blocks):
        monkeypatch.setattr(module, "softmax_attention", rounded)
    for name in ("bert", "llama"):
        assert [opened(model_of(name), longest).way.plain for longest in (128, 512)] == [plain, plain]


def test_a_model_with_weights_of_another_scale_is_read_by_its_own_function(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = module_of("softmax_attention").scale_of
    for module in (blocks, weights):
        monkeypatch.setattr(module, "scale_of", lambda query, rest: 1.001 * honest(query, rest))
    assert [opened(model_of("bert"), longest).way.plain for longest in (128, 512)] == [False, False]


def test_a_model_whose_heads_need_each_other_is_read_with_all_heads_together(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = weights.own_eager

    def all_heads(module: torch.nn.Module) -> Callable[..., Any]:
        def attend(module: Any, query: torch.Tensor, *arrays: Any, **rest: Any) -> Any:
            if query.shape[1] < module.config.num_attention_heads:
                raise RuntimeError("all heads are needed")
            return honest(module)(module, query, *arrays, **rest)

        return attend

    monkeypatch.setattr(trial, "_is_softmax", lambda *given: False)
    assert opened(model_of("bert"), 512).way.by_heads
    monkeypatch.setattr(blocks, "own_eager", all_heads)
    assert not opened(model_of("bert"), 512).way.by_heads


def _again(model: Model, longest: int) -> Any:
    """Choose anew how a model in memory is read."""
    return trial.choose_reading(model.network, model.tokenizer, model.device, longest)


def test_models_that_go_past_the_interface_or_hide_keys_by_several_rules_are_refused(
    model_of: ModelOf,
) -> None:
    for longest in (128, 512):
        model = opened(model_of("bert"), longest)
        last = model.network.encoder.layer[1].attention.self
        last.config = copy(last.config)
        last.config._attn_implementation = "eager"
        with pytest.raises(BadInput, match=r"1 attention calls for 2 layers"):
            _again(model, longest)
    model = opened(model_of("gptj"))
    layer = model.network.h[1].attn
    honest = type(layer)._attn
    layer._attn = lambda query, key, value, mask: honest(layer, query, key, value, torch.zeros_like(mask))
    with pytest.raises(BadInput, match=r"hidden in every layer by one rule.*GPTJModel are not"):
        _again(model, 128)
    assert opened(model_of("gpt-neo"), 6).way.causal
    with pytest.raises(BadInput, match=r"by one rule.* GPTNeoModel are not at 128 tokens"):
        opened(model_of("gpt-neo"), 128)


@pytest.mark.parametrize(
    ("name", "sentence"),
    table("""
        longformer | one .heads, tokens, tokens. attention, but .*cannot be read
        bigbird    | one .heads, tokens, tokens. attention, but .*cannot be read
        mamba      | one .heads, tokens, tokens. attention, but .*cannot be read
        clip       | must run on a text alone .* but CLIPModel failed at that
    """),
)
def test_models_without_square_attention_of_a_text_are_refused(
    name: str, sentence: str, model_of: ModelOf
) -> None:
    with pytest.raises(BadInput, match=sentence):
        opened(model_of(name))


# Packing: the check at load, and where a row ends.


def test_a_layer_that_mixes_neighbours_is_padded_and_a_refused_row_is_shorter(model_of: ModelOf) -> None:
    def chosen(model: Model) -> Any:
        reading = trial.Reading(replace(model.way, packs=None), model.layers, model.heads, ())
        return choose_packing(model.network, model.tokenizer, model.device, model.limit, reading).way.packs

    mixing = opened(model_of("bert"))
    mixing.network.get_submodule("encoder.layer.0.intermediate").register_forward_hook(
        lambda module, given, output: output + 0.1 * output.roll(1, dims=1)
    )
    assert chosen(mixing) is None
    short, longest = opened(model_of("bert")), list[int]()

    def refuse(module: Any, given: Any, named: Any) -> None:
        longest.append(named["input_ids"].shape[1])
        if longest[-1] > 600:
            raise ValueError("too long")

    short.network.embeddings.register_forward_pre_hook(refuse, with_kwargs=True)
    packs = chosen(short)
    assert (packs.first, packs.most) == (0, 600)
    assert longest[-1] > 600
    far = chosen(replace(opened(model_of("llama"), 512), limit=4096))
    assert (far.first, far.most) == (0, 4096)


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


@pytest.mark.parametrize("name", _grouped(*VALUES))
def test_weights_by_norms_are_the_norms_of_what_every_key_adds(name: str, model_of: ModelOf) -> None:
    folder = model_of(name)
    network, values = plain_network(folder, "eager"), dict[int, Any]()
    modules = dict(network.named_modules())
    hooks = [
        modules[VALUES[name][0].format(layer)].register_forward_hook(
            lambda module, inputs, result, layer=layer: values.update({layer: result})
        )
        for layer in range(network.config.num_hidden_layers)
    ]
    inputs, lengths = batch_of(ready(folder))
    returned = plain_run(network, inputs, output_attentions=True).attentions
    for hook in hooks:
        hook.remove()
    for longest in (128, 512):
        every, some = ready(folder, longest, norms="all"), ready(folder, longest, norms="some")
        assert every.described["weights"] == "norm"
        _, kept = _read(every)
        second = Together(lengths)
        first = Together(lengths, second)
        with one_thread():
            run(some.network, some.way, inputs, lengths, first)
        _, plain = _read(ready(folder, longest))
        _close(first, plain, rounding_bound(64))
        for layer, weights_of_layer in enumerate(returned):
            projection = modules[VALUES[name][1].format(layer)].weight.detach().double()
            projection = projection if name == "gpt2" else projection.T
            value = values[layer][..., -32:].double() if name == "gpt2" else values[layer].double()
            by_head = value.unflatten(-1, (-1, 8)).transpose(1, 2)
            by_head = by_head.repeat_interleave(4 // by_head.shape[1], dim=1)
            moved = by_head @ projection.unflatten(0, (4, 8))  # f(x_j): (examples, heads, keys, hidden)
            for example, n in enumerate(lengths):
                own = weights_of_layer[example, :, :n, :n].double()
                sizes = (own[..., None] * moved[example, :, None, :n]).norm(dim=-1)
                wanted = sizes / sizes.sum(-1, keepdim=True)
                for reader in (kept, second):
                    got = reader.whole(layer, example).double()
                    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-6)


def test_heads_that_add_up_something_else_have_no_norms(
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
        opened(model_of("bert"), norms="all")


@settings(max_examples=draws(20))
@given(seed=st.integers(0, 2**31), scale=st.sampled_from([1e-30, 1e-10, 1.0, 1e10, 1e30]))
def test_rows_by_norms_sum_to_one_and_do_not_depend_on_the_scale_of_norms(seed: int, scale: float) -> None:
    rng = torch.Generator().manual_seed(seed)
    rows = torch.rand(2, 5, 7, generator=rng).softmax(-1)
    norms = torch.rand(2, 7, generator=rng) + 0.01
    weighted = weigh_by_norms(rows, norms * scale)
    torch.testing.assert_close(weighted.sum(-1), torch.ones(2, 5), rtol=0, atol=1e-5)
    torch.testing.assert_close(weighted, weigh_by_norms(rows, norms), rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(weigh_by_norms(rows, torch.ones(2, 7)), rows, rtol=1e-5, atol=0)


# Output projections that cannot be told apart by head.


class _Packed(torch.nn.Module):
    """A linear map with weights of int8."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.scale = linear.weight.abs().max() / 127
        self.register_buffer("weight", (linear.weight / self.scale).round().to(torch.int8))

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """Return the map."""
        assert isinstance(self.weight, torch.Tensor)
        return given @ (self.weight.float() * self.scale).T


def test_projections_with_a_gate_a_norm_or_packed_weights_are_refused(model_of: ModelOf) -> None:
    def halve(linear: torch.nn.Linear) -> torch.nn.Module:
        linear.register_forward_hook(lambda module, given, output: output / 2)
        return linear

    changes: dict[str, Callable[[torch.nn.Linear], torch.nn.Module]] = {
        "add up to the projection's output, but not in layer 1 of LlamaModel": halve,
        "but none reads that of layer 1 of LlamaModel": lambda linear: torch.nn.Sequential(
            torch.nn.RMSNorm(32), linear
        ),
        "has a _Packed of int8; give the model without quantisation": _Packed,
    }
    for sentence, change in changes.items():
        model = opened(model_of("llama"))
        own = model.network.layers[1].self_attn
        own.o_proj = change(own.o_proj)
        with pytest.raises(BadInput, match=sentence):
            output_projections(model.network, batch_of(model, TEXTS[:1])[0])


def test_weights_of_a_projection_are_a_view_of_the_module(model_of: ModelOf) -> None:
    for name in ("gpt2", "bert"):
        model = opened(model_of(name))
        projection = output_projections(model.network, batch_of(model, TEXTS[:1])[0])[1]
        with torch.no_grad():
            projection.weight[2].zero_()
        own = projection.module.weight if name == "gpt2" else projection.module.weight.T
        assert own.reshape(4, 8, -1).abs().sum((1, 2)).gt(0).tolist() == [True, True, False, True]
