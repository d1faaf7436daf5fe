"""Attention that is a plain softmax is formed without the model's own function, and is the same attention."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.extraction.capture import blocks as capture_blocks
from headroles.extraction.capture import weights as capture_weights
from headroles.extraction.capture.attention import run
from headroles.extraction.capture.softmax import BLOCK, group_of_heads, scale_of, softmax_attention
from headroles.plans.masks import Band
from tests.support.read_models import Kept, batch_of, one_thread, opened, ready

ModelOf = Callable[[str], Path]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([1, 4]),
    st.integers(1, 40),
    st.booleans(),
    st.one_of(st.none(), st.tuples(st.integers(-12, 3), st.integers(0, 12))),
)
def test_weights_and_output_are_those_of_the_formula_in_float64(
    seed: int, key_heads: int, shared: int, rows: int, added: bool, band: tuple[int, int] | None
) -> None:
    torch.manual_seed(seed)
    heads, keys, start = key_heads * shared, rows + seed % 7, seed % 7
    query, key, value = torch.randn(heads, rows, 8), torch.randn(key_heads, keys, 8), torch.randn(1, keys, 5)
    value = value.expand(key_heads, -1, -1)
    additive = torch.randn(1 if seed % 2 else heads, rows, keys) if added else None
    inside = None if band is None else Band(*band, rows)
    output, weights = softmax_attention(query, key, value, 0.3, additive, inside, start)
    logits = 0.3 * query.double() @ key.double().repeat_interleave(shared, 0).mT
    logits = logits if additive is None else logits + additive
    if band is not None:
        offset = np.arange(keys)[None] - np.arange(rows)[:, None] - start
        hidden = torch.from_numpy((offset < band[0]) | (offset > band[1]))
        logits = logits.masked_fill(hidden, torch.finfo(torch.float32).min)
    wanted = logits.softmax(-1)
    torch.testing.assert_close(weights.double(), wanted, rtol=0, atol=2e-6)
    both = wanted @ value.double().repeat_interleave(shared, 0)
    torch.testing.assert_close(output.double(), both, rtol=0, atol=1e-5)


def test_weights_can_be_written_where_they_are_wanted() -> None:
    parts = torch.randn(2, 5, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 0)
    held = torch.full((2, 5, 5), torch.nan)
    output, weights = softmax_attention(*parts, 0.5, out=held)
    assert weights is held
    assert output.shape == (2, 5, 0)
    torch.testing.assert_close(held, softmax_attention(*parts, 0.5)[1], rtol=0, atol=0)


@pytest.mark.parametrize("length", [257, 512, 2048, 8192, 2**20])
@pytest.mark.parametrize(("heads", "key_heads"), [(12, 12), (12, 4), (12, 1), (64, 8)])
def test_groups_of_heads_fit_in_a_block_and_hold_whole_key_heads(
    length: int, heads: int, key_heads: int
) -> None:
    groups, rows = group_of_heads(length, heads, key_heads)
    assert 1 <= groups <= key_heads
    assert 1 <= rows <= length
    smallest = groups == rows == 1
    assert smallest or 4 * groups * (heads // key_heads) * rows * length <= BLOCK


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        *((name, True) for name in ("bert", "gpt2", "llama", "mistral", "modernbert")),
        *((name, False) for name in ("t5", "gemma2", "gpt-oss", "mpnet")),
    ],
)
def test_the_check_at_load_finds_the_models_whose_attention_is_a_plain_softmax(
    name: str, plain: bool, model_of: ModelOf
) -> None:
    assert [ready(model_of(name), longest).way.plain for longest in (128, 512)] == [plain, plain]


@pytest.mark.parametrize(("error", "plain"), [(0.0, True), (1e-6, True), (1e-3, False)])
@pytest.mark.parametrize("name", ["bert", "llama"])
def test_the_check_at_load_lets_outputs_round_differently_and_no_more(
    name: str, error: float, plain: bool, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rounded(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        scale: float,
        additive: torch.Tensor | None = None,
        inside: Band | None = None,
        start: int = 0,
        out: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        output, weights = softmax_attention(query, key, value, scale, additive, inside, start, out)
        return output * (1 + error), weights

    for module in (capture_weights, capture_blocks):
        monkeypatch.setattr(module, "softmax_attention", rounded)
    assert [opened(model_of(name), longest).way.plain for longest in (128, 512)] == [plain, plain]


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "mistral", "modernbert"])
def test_padded_batches_of_short_inputs_have_the_bits_of_the_models_own_function(
    name: str, model_of: ModelOf
) -> None:
    model = opened(model_of(name))
    inputs, lengths = batch_of(model)
    kept = []
    for plain in (True, False):
        reader = Kept()
        with one_thread():
            output, _ = run(model.network, replace(model.way, plain=plain), inputs, lengths, reader)
        kept.append((output, reader))
    (ours, plain_reader), (theirs, eager_reader) = kept
    atol = 2e-6  # zero, where products of one shape are rounded alike, alone and in a batch
    torch.testing.assert_close(ours[0, : lengths[0]], theirs[0, : lengths[0]], rtol=0, atol=10 * atol)
    for place in plain_reader.rows:
        torch.testing.assert_close(plain_reader.whole(*place), eager_reader.whole(*place), rtol=0, atol=atol)


@pytest.mark.parametrize("argument", ["position_bias", "softcap", "s_aux"])
def test_logits_that_are_more_than_scaled_products_are_not_formed_so(argument: str) -> None:
    query = torch.ones(1, 1, 2, 16)
    assert scale_of(query, {}) == scale_of(query, {argument: None}) == 0.25
    assert scale_of(query, {"scaling": 2}) == 2.0
    with pytest.raises(ValueError, match="more than scaled products"):
        scale_of(query, {argument: torch.ones(1)})


@pytest.mark.parametrize("max_length", [128, 512])
def test_a_model_with_other_weights_is_read_by_its_own_function(
    max_length: int, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model_of("bert")
    assert opened(folder, max_length).way.plain
    for module in (capture_blocks, capture_weights):
        monkeypatch.setattr(module, "scale_of", lambda query, rest: 1.001 * scale_of(query, rest))
    assert not opened(folder, max_length).way.plain
