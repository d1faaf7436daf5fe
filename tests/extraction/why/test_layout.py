"""Dimensions that rotary positions turn together are found by running the model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headroles.errors import BadInput
from headroles.extraction.model.load import Model
from headroles.extraction.why.calls import read_calls, read_parts, reading
from headroles.extraction.why.layout import frequency_groups, query_layout, turning_pairs
from tests.support.causal.plain import open_model

ModelOf = Callable[[str], Path]
ALONE = list(range(8))
HALVES, PARTIAL = [0, 1, 2, 3, 0, 1, 2, 3], [0, 1, 0, 1, 2, 3, 4, 5]
PAIRS, PARTIAL_PAIRS = [0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 1, 2, 3, 4, 5]
GROUPS = {
    "bert": ALONE, "roberta": ALONE, "gpt2": ALONE, "t5": ALONE, "even bert": ALONE, "bart": ALONE,
    "llama": HALVES, "mistral": HALVES, "gemma2": HALVES, "gpt-oss": HALVES, "qwen3": HALVES,
    "modernbert": HALVES, "smollm3": HALVES, "phi": PARTIAL, "cohere2": PAIRS, "glm": PARTIAL_PAIRS,
    "deepseek-v3": [0, 1, 2, 3, 4, 5, 4, 5],
}  # fmt: skip
TURNED = {"phi": range(4), "glm": range(4), "deepseek-v3": range(4, 8)}


@pytest.mark.parametrize("name", GROUPS)
def test_frequency_pairs_are_those_of_the_architecture(name: str, model_of: ModelOf) -> None:
    group, free = frequency_groups(open_model(model_of(name)))
    assert group.tolist() == GROUPS[name]
    turned = TURNED.get(name, range(0 if GROUPS[name] == ALONE else 8))
    assert free.tolist() == [dimension not in turned for dimension in range(8)]


@pytest.mark.parametrize(("name", "turned"), [("llama", 8), ("cohere2", 8), ("phi", 4), ("glm", 4)])
def test_pairs_turn_by_their_own_angle_at_every_position(name: str, turned: int, model_of: ModelOf) -> None:
    model = open_model(model_of(name))
    group, free = frequency_groups(model)
    queries = _queries_of_one_token(model, 12)
    position, base = np.arange(12), 10_000.0
    config = model.network.config
    base = float((getattr(config, "rope_parameters", None) or {}).get("rope_theta", base))
    for number in range(turned // 2):
        first, second = np.flatnonzero(group == number)
        point = queries[..., first] + 1j * queries[..., second]
        turn = np.exp(1j * position * base ** (-2 * number / turned))
        np.testing.assert_allclose(point, point[:, :1] * turn, atol=1e-5 * np.abs(point).max())
    np.testing.assert_allclose(queries[..., free], queries[:, :1, free] + np.zeros((12, 1)), atol=1e-6)


def _queries_of_one_token(model: Model, places: int) -> np.ndarray:
    """Queries (heads, places, size) of the first layer, whose input is one token repeated."""
    ids = torch.full((1, places), 9)
    kept: list[np.ndarray] = []
    with reading(model):
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        read_calls(model, inputs, lambda layer, call: kept.append(call.query[0].double().numpy()))
    return kept[0]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("scaled", [False, True])
def test_the_slowest_pairs_of_a_large_head_are_found(
    dtype: str, scaled: bool, tmp_path: Path, tokenizer_of: Callable[[str], Any]
) -> None:
    from transformers import LlamaConfig, LlamaModel

    slow: dict[str, Any] = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
                            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}  # fmt: skip
    rope = {"rope_theta": 500_000.0} | (slow if scaled else {"rope_type": "default"})
    config = LlamaConfig(
        hidden_size=128, num_attention_heads=2, num_key_value_heads=1, num_hidden_layers=2, pad_token_id=0,
        intermediate_size=16, vocab_size=400, max_position_embeddings=131_072, rope_parameters=rope,
    )  # fmt: skip
    torch.manual_seed(0)
    network: Any = LlamaModel(config).eval()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for weights in network.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.15)
    network.save_pretrained(tmp_path)
    tokenizer_of("gpt2").save_pretrained(tmp_path)
    group, free = frequency_groups(open_model(tmp_path, dtype))
    assert group.tolist() == [*range(32), *range(32)]
    assert not free.any()


def test_caps_and_biases_are_told(model_of: ModelOf) -> None:
    told = {name: query_layout(open_model(model_of(name))) for name in ("bert", "gemma2", "t5")}
    assert [layout.capped for layout in told.values()] == [False, True, False]
    assert [layout.biased for layout in told.values()] == [False, False, True]
    assert {layout.size for layout in told.values()} == {8}


def test_a_model_that_takes_no_positions_counts_its_places(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(model_of("llama"))
    given = []

    def refusing(model: Model, inputs: Any, take: Any) -> None:
        given.append(set(inputs))
        if "position_ids" in inputs:
            raise BadInput("it takes no positions")
        read_calls(model, inputs, take)

    monkeypatch.setattr("headroles.extraction.why.layout.read_calls", refusing)
    assert frequency_groups(model)[0].tolist() == HALVES
    assert len(given) == 2


def test_heads_of_different_sizes_are_refused(model_of: ModelOf, monkeypatch: pytest.MonkeyPatch) -> None:
    def uneven(model: Model, tokenised: Any, take: Any) -> None:
        read_parts(model, tokenised, take)
        read_parts(model, tokenised, lambda layer, call, parts: take(layer, call, _narrow(parts)))

    monkeypatch.setattr("headroles.extraction.why.layout.read_parts", uneven)
    with pytest.raises(BadInput, match="equally many dimensions, but those of BertModel have 4 or 8; give"):
        query_layout(open_model(model_of("bert")))


def _narrow(parts: Any) -> Any:
    from dataclasses import replace

    return replace(parts, query=parts.query[..., :4])


def test_dimensions_that_move_without_keeping_a_length_do_not_turn() -> None:
    generator = np.random.default_rng(0)
    walk = generator.normal(size=(3, 16, 6))
    walk[..., 4:] = walk[:, :1, 4:]
    assert not turning_pairs(walk, 1e-3).any()
    assert not turning_pairs(np.zeros((3, 16, 6)), 1e-3).any()
