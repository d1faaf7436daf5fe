"""Attention read while a model runs is the plain model's attention, whatever the architecture."""

from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from headroles.errors import BadInput
from headroles.extraction.capture import attention as capture_attention
from headroles.extraction.capture import blocks as capture_blocks
from headroles.extraction.capture import joint as capture_joint
from headroles.extraction.capture import visible as capture_visible
from headroles.extraction.capture import weights as capture_weights
from headroles.extraction.capture.attention import read_attention, run
from headroles.extraction.model import trial
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.records.rules.names import EAGER, FORMED, RETURNED
from tests.support.read_models import (
    TEXTS,
    Kept,
    batch_of,
    cut_into_blocks,
    one_thread,
    opened,
    plain_network,
    plain_run,
)  # fmt: skip
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
INSIDE = (
    "bert", "roberta", "distilbert", "albert", "electra", "modernbert",
    "gpt2", "llama", "mistral", "t5", "bart",
)  # fmt: skip
EAGER_ONLY = ("gemma2", "gpt-oss")
OUTSIDE = {"mpnet": False, "deberta-v2": False, "xlnet": False, "gptj": True, "bloom": True, "falcon": True}


def _check(model: Model, folder: Path) -> Kept:
    """Compare a captured batch with the plain eager model, weights and visible sets cell by cell."""
    inputs, lengths = batch_of(model)
    kept = Kept()
    _, layers = run(model.network, model.way, inputs, lengths, kept)
    plain = plain_run(plain_network(folder, "eager"), inputs, output_attentions=True).attentions
    assert layers == len(plain) == model.layers
    for layer, weights in enumerate(plain):
        assert weights.shape[1] == model.heads
        for example, n in enumerate(lengths):
            own = weights[example, :, :n, :n]
            torch.testing.assert_close(
                kept.whole(layer, example), own, rtol=0, atol=rounding_bound(n * layers)
            )
            np.testing.assert_array_equal(kept.seen(layer, example), (own > 0).any(0).numpy())
    return kept


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize(("max_length", "way"), [(128, EAGER), (512, FORMED)])
def test_weights_and_visible_sets_are_the_plain_models(
    name: str, max_length: int, way: str, model_of: ModelOf
) -> None:
    folder = model_of(name)
    model = opened(folder, max_length)
    assert model.way.name == way
    assert model.described["capture"] == way
    assert model.way.causal == (name in ("gpt2", "llama"))
    _check(model, folder)


@pytest.mark.parametrize("max_length", [128, 512])
@pytest.mark.parametrize(
    ("name", "later"),
    [
        ("bert", "encoder.layer.{last}.intermediate"),
        ("llama", "layers.{last}.mlp"),
        ("t5", "block.{last}.layer.1"),
        ("mpnet", None),
    ],
)
def test_what_follows_the_last_attention_is_left_out_and_changes_no_weight(
    name: str, later: str | None, max_length: int, model_of: ModelOf
) -> None:
    model = opened(model_of(name), max_length)
    inputs, lengths = batch_of(model)
    called: list[str] = []
    if later is not None:
        part = model.network.get_submodule(later.format(last=model.layers - 1))
        part.register_forward_hook(lambda *given: called.append("later"))
    whole, kept = Kept(), Kept()
    output, _ = run(model.network, model.way, inputs, lengths, whole)
    times = len(called)
    assert times == (later is not None)
    read_attention(model.network, model.way, inputs, lengths, kept, model.layers)
    assert len(called) == times
    for layer in range(model.layers):
        for example in range(len(lengths)):
            torch.testing.assert_close(
                kept.whole(layer, example), whole.whole(layer, example), rtol=0, atol=0
            )
    again, _ = run(model.network, model.way, inputs, lengths, Kept())
    torch.testing.assert_close(again, output, rtol=0, atol=0)


@pytest.mark.parametrize("name", EAGER_ONLY)
def test_models_without_sdpa_are_read_eagerly_at_any_length(name: str, model_of: ModelOf) -> None:
    folder = model_of(name)
    model = opened(folder, 512)
    assert model.way.name == EAGER
    _check(model, folder)


@pytest.mark.parametrize("name", OUTSIDE)
def test_models_outside_the_interface_are_read_as_returned(name: str, model_of: ModelOf) -> None:
    folder = model_of(name)
    model = opened(folder)
    assert (model.way.name, model.way.causal) == (RETURNED, OUTSIDE[name])
    _check(model, folder)


@pytest.mark.parametrize(("name", "windows"), [("modernbert", 2), ("mistral", 3), ("gemma2", 2)])
def test_sliding_windows_hide_keys_in_their_layers_only(name: str, windows: int, model_of: ModelOf) -> None:
    folder = model_of(name)
    model = opened(folder)
    inputs, lengths = batch_of(model)
    kept = Kept()
    run(model.network, model.way, inputs, lengths, kept)
    causal = name != "modernbert"
    n = lengths[0]
    usual = n * (n + 1) // 2 if causal else n * n
    cells = [int(kept.seen(layer, 0).sum()) for layer in range(model.layers)]
    assert sum(count < usual for count in cells) == windows
    assert max(cells) <= usual


@pytest.mark.parametrize("name", INSIDE)
def test_the_fused_way_leaves_the_models_output_as_it_is_but_for_rounding(
    name: str, model_of: ModelOf
) -> None:
    folder = model_of(name)
    model = opened(folder, 512)
    inputs, lengths = batch_of(model)
    with one_thread():
        ours, _ = run(model.network, model.way, inputs, lengths, Kept())
        theirs = plain_run(plain_network(folder, "sdpa"), inputs)[0]
    for example, n in enumerate(lengths):
        torch.testing.assert_close(ours[example, :n], theirs[example, :n], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_the_fused_way_leaves_the_output_in_half_precision_as_it_is_bit_by_bit(
    name: str, model_of: ModelOf
) -> None:
    folder = model_of(name)
    model = opened(folder, 512, "bfloat16")
    inputs, lengths = batch_of(model)
    with one_thread():
        ours, _ = run(model.network, model.way, inputs, lengths, Kept())
        model.network.set_attn_implementation("sdpa")
        theirs = plain_run(model.network, inputs)[0]
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", ["bert", "modernbert", "llama", "mistral", "t5", "bart"])
def test_reading_in_blocks_is_reading_the_whole(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(model_of(name), 512)
    inputs, lengths = batch_of(model)
    whole, blocks = Kept(), Kept()
    run(model.network, model.way, inputs, lengths, whole)
    cut_into_blocks(monkeypatch, 4, 4 * model.heads * lengths[0] * 3)
    run(model.network, model.way, inputs, lengths, blocks)
    assert blocks.starts[0, 0] == list(range(0, lengths[0], 3))
    for layer in range(model.layers):
        for example in range(len(lengths)):
            ours, theirs = blocks.whole(layer, example), whole.whole(layer, example)
            torch.testing.assert_close(ours, theirs, rtol=0, atol=rounding_bound(lengths[0]))
            np.testing.assert_array_equal(blocks.seen(layer, example), whole.seen(layer, example))


def test_beyond_256_tokens_a_block_of_weights_stays_within_the_cache(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model_of("t5")
    model = opened(folder, 512)
    monkeypatch.setattr(capture_blocks, "CACHE", 200_000)
    text = " ".join(TEXTS * 5)
    inputs, lengths = batch_of(model, (text, TEXTS[0]))
    assert lengths[0] > capture_weights.WHOLE > lengths[1]
    kept = Kept()
    run(model.network, model.way, inputs, lengths, kept)
    assert max(rows.numel() * 4 for rows in kept.rows[0, 0]) <= 200_000
    assert len(kept.rows[0, 0]) > 5
    assert len(kept.rows[0, 1]) == 1
    plain = plain_run(plain_network(folder, "eager"), inputs, output_attentions=True).attentions
    own = plain[1][0, :, : lengths[0], : lengths[0]]
    torch.testing.assert_close(kept.whole(1, 0), own, rtol=0, atol=rounding_bound(lengths[0]))


@pytest.mark.parametrize("name", ["longformer", "bigbird", "mamba"])
def test_models_without_square_attention_are_refused(name: str, model_of: ModelOf) -> None:
    with pytest.raises(BadInput, match=r"one \(heads, tokens, tokens\) attention, but .*cannot be read"):
        opened(model_of(name))


def test_a_model_that_needs_more_than_a_text_is_refused(model_of: ModelOf) -> None:
    with pytest.raises(BadInput, match=r"must run on a text alone .* but CLIPModel failed at that"):
        opened(model_of("clip"))


def test_a_window_that_no_mask_tells_of_is_refused_where_inputs_outgrow_it(model_of: ModelOf) -> None:
    folder = model_of("gpt-neo")
    assert opened(folder, 6).way.causal
    with pytest.raises(
        BadInput, match=r"hidden in every layer by one rule.* GPTNeoModel are not at 128 tokens"
    ):
        opened(folder, 128)


@pytest.mark.parametrize("max_length", [128, 512])
def test_a_wrong_capture_is_refused_at_load(
    max_length: int, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = capture_weights.own_eager

    def shifted(module: torch.nn.Module) -> Callable[..., Any]:
        def attention(*arrays: Any, **rest: Any) -> tuple[torch.Tensor, torch.Tensor]:
            output, weights = honest(module)(*arrays, **rest)
            return output, weights.roll(1, -1)

        return attention

    for module in (capture_attention, capture_blocks, capture_joint, capture_weights):
        monkeypatch.setattr(module, "own_eager", shifted)
    with pytest.raises(BadInput, match=r"must be what the plain model computes.*cannot be labelled"):
        opened(model_of("bert"), max_length)


def test_a_way_that_changes_the_output_is_refused_at_load(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def louder(*arrays: Any, **rest: Any) -> tuple[torch.Tensor, None]:
        return sdpa_attention_forward(*arrays, **rest)[0] * 1.5, None

    monkeypatch.setattr(capture_attention, "sdpa_attention_forward", louder)
    with pytest.raises(BadInput, match=r"must be what the plain model computes"):
        opened(model_of("bert"), 512, "bfloat16")


def test_an_output_of_formed_weights_that_differs_is_refused_at_load(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = capture_weights.own_eager

    def louder(module: torch.nn.Module) -> Callable[..., Any]:
        def attend(*arrays: Any, **rest: Any) -> tuple[torch.Tensor, torch.Tensor]:
            output, weights = honest(module)(*arrays, **rest)
            return output * 1.001, weights

        return attend

    monkeypatch.setattr(capture_blocks, "own_eager", louder)
    with pytest.raises(BadInput, match=r"must be what the plain model computes"):
        opened(model_of("bert"), 512)


def test_a_model_whose_heads_need_each_other_is_read_with_all_heads_together(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = capture_weights.own_eager

    def all_heads(module: torch.nn.Module) -> Callable[..., Any]:
        def attend(module: Any, query: torch.Tensor, *arrays: Any, **rest: Any) -> Any:
            if query.shape[1] < module.config.num_attention_heads:
                raise RuntimeError("all heads are needed")
            return honest(module)(module, query, *arrays, **rest)

        return attend

    monkeypatch.setattr(trial, "_is_softmax", lambda *given: False)
    assert opened(model_of("bert"), 512).way.by_heads
    monkeypatch.setattr(capture_blocks, "own_eager", all_heads)
    assert not opened(model_of("bert"), 512).way.by_heads


def test_an_architecture_that_stays_with_its_own_attention_is_refused(model_of: ModelOf) -> None:
    model = opened(model_of("falcon"))
    stubborn = AutoModel.from_pretrained(model_of("falcon"), attn_implementation="sdpa").eval()
    with pytest.raises(BadInput, match=r"plain eager attention, which FalconModel does not support"):
        trial.choose_reading(stubborn, model.tokenizer, model.device, 128)


def test_layers_that_hide_keys_by_different_rules_are_refused(model_of: ModelOf) -> None:
    model = opened(model_of("gptj"))
    honest = type(model.network.h[1].attn)._attn

    def open_(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any) -> Any:
        return honest(model.network.h[1].attn, query, key, value, torch.zeros_like(mask))

    model.network.h[1].attn._attn = open_
    with pytest.raises(BadInput, match=r"hidden in every layer by one rule.*GPTJModel are not"):
        trial.choose_reading(model.network, model.tokenizer, model.device, 128)


def test_a_wrong_cut_into_blocks_is_refused_at_load(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = capture_weights.block_mask

    def uncut(mask: Any, causal: bool, example: int, rows: slice, *rest: Any) -> torch.Tensor | None:
        return honest(mask, causal, example, slice(0, rows.stop - rows.start), *rest)

    monkeypatch.setattr(capture_blocks, "block_mask", uncut)
    with pytest.raises(BadInput, match=r"must be what the plain model computes"):
        opened(model_of("llama"), 512)
    assert opened(model_of("bert"), 512).way.name == FORMED


@pytest.mark.parametrize("max_length", [128, 512])
def test_visible_sets_that_deny_a_weight_are_refused_at_load(
    max_length: int, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(mask: object, causal: bool, example: int, length: int) -> np.ndarray:
        return np.eye(length, dtype=np.bool_)

    monkeypatch.setattr(capture_visible, "visible_under", blind)
    with pytest.raises(BadInput, match="must be what the plain model computes"):
        opened(model_of("bert"), max_length)


@pytest.mark.parametrize("max_length", [128, 512])
def test_a_layer_that_goes_past_the_interface_is_noticed(max_length: int, model_of: ModelOf) -> None:
    model = opened(model_of("bert"), max_length)
    last = model.network.encoder.layer[1].attention.self
    last.config = copy(last.config)
    last.config._attn_implementation = "eager"
    with pytest.raises(BadInput, match=r"1 attention calls for 2 layers"):
        trial.choose_reading(model.network, model.tokenizer, model.device, max_length)


def test_an_architecture_without_an_eager_function_is_refused(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LookupError, match="Linear has no eager attention function") as missing:
        capture_weights.own_eager(torch.nn.Linear(1, 1))

    def none(module: torch.nn.Module) -> Callable[..., Any]:
        raise missing.value

    for module in (capture_attention, capture_blocks, capture_joint, capture_weights):
        monkeypatch.setattr(module, "own_eager", none)
    with pytest.raises(BadInput, match=r"BertModel failed at that \(LookupError: .*cannot be labelled"):
        opened(model_of("bert"))


@pytest.mark.parametrize(("dtype", "close"), [("bfloat16", 0.03), ("float16", 0.005)])
@pytest.mark.parametrize("name", ["bert", "modernbert", "llama", "t5", "gptj"])
def test_half_precision_reads_nearly_what_full_precision_reads(
    name: str, dtype: str, close: float, model_of: ModelOf
) -> None:
    folder = model_of(name)
    full, half = opened(folder), opened(folder, dtype=dtype)
    inputs, lengths = batch_of(full)
    wanted, got = Kept(), Kept()
    run(full.network, full.way, inputs, lengths, wanted)
    run(half.network, half.way, inputs, lengths, got)
    for layer in range(full.layers):
        for example in range(len(lengths)):
            ours = got.whole(layer, example)
            assert ours.dtype == torch.float32
            torch.testing.assert_close(ours, wanted.whole(layer, example), rtol=0, atol=close)
            if half.way.name == FORMED:
                torch.testing.assert_close(ours.sum(-1), torch.ones(ours.shape[:2]), rtol=0, atol=1e-5)


def test_a_models_limit_counts_the_positions_it_can_use(model_of: ModelOf) -> None:
    limit = opened(model_of("roberta")).limit
    assert limit == 598
    assert opened(model_of("bert")).limit == 600
    assert opened(model_of("t5")).limit is None
    model = opened(model_of("roberta"), 598)
    inputs, lengths = batch_of(model, ("the " * 700,))
    longest = {name: each[:, :limit] for name, each in inputs.items()}
    longer = {name: each[:, : limit + 1] for name, each in inputs.items()}
    assert lengths[0] > limit
    run(model.network, model.way, longest, [limit], Kept())
    with pytest.raises(RuntimeError, match="out of bounds"):
        run(model.network, model.way, longer, [limit + 1], Kept())


def test_a_device_that_is_not_here_is_refused(model_of: ModelOf) -> None:
    absent = next(name for name in ("mps", "cuda") if not getattr(torch, name).is_available())
    with pytest.raises(BadInput, match=f"'{absent}' is not; usable: auto, cpu"):
        load(find_checkpoint(str(model_of("bert")), None), device=absent, dtype="float32", max_length=64)
