"""Layers are those of the checkpoint: the position of each in its stack, and the module that computes it."""

from typing import Any

import pytest

from headroles.extraction import find_stack
from headroles.records import Stack, StackLayer, plain_stack, stack_of
from tests.support import table

SMALL = {
    "vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4,
    "intermediate_size": 24,
}  # fmt: skip
MAMBA = "mamba_d_state=8 mamba_n_groups=1"
CASES = f"""
    # configuration | settings | layers read | module | shared
    Bert     |                                          | 0 1 2 3 | encoder.layer.#.attention.self  |
    Lfm2     | num_key_value_heads=2 full_attn_idxs=1,3 | 1 3     | layers.#.self_attn              |
    Bamba    | num_key_value_heads=2 attn_layer_indices=1,3 mamba_n_heads=8 mamba_d_head=8 {MAMBA} | 1 3 | \
layers.#.self_attn |
    Albert   | embedding_size=16                        | 0 1 2 3 | \
encoder.albert_layer_groups.0.albert_layers.0.attention | all
    ConvBert |                                          | 0 1 2 3 | encoder.layer.#                 |
    T5       | d_model=32 d_kv=8 num_layers=3 num_heads=4 d_ff=24 | 0 1 2 | block.#.layer.0.SelfAttention |
"""


def _settings(words: str) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for word in words.split():
        name, _, value = word.partition("=")
        numbers = [int(part) for part in value.split(",")]
        read[name] = numbers if "," in value else numbers[0]
    return read


@pytest.mark.parametrize(("kind", "settings", "read", "module", "shared"), table(CASES))
def test_layers_are_named_by_the_position_of_their_block_and_by_their_module(
    kind: str, settings: str, read: str, module: str, shared: str
) -> None:
    import torch
    import transformers

    config = getattr(transformers, f"{kind}Config")(**({} if kind == "T5" else SMALL) | _settings(settings))
    network = transformers.AutoModel.from_config(config).eval()  # type: ignore[no-untyped-call]
    network = network.get_encoder() if config.is_encoder_decoder else network
    network.set_attn_implementation("eager")
    ids = {"input_ids": torch.arange(4, 12)[None]}
    with torch.inference_mode():
        returned = [each for each in network(**ids, output_attentions=True).attentions if each is not None]
    stack = find_stack(network, ids, None, range(len(returned)), len(returned))
    numbers = tuple(map(int, read.split()))
    assert (stack.numbers, stack.blocks) == (numbers, 3 if kind == "T5" else 4)
    for layer in stack.layers:
        others = tuple(number for number in numbers if number != layer.index) if shared else ()
        assert (layer.module, layer.shared) == (module.replace("#", str(layer.index)), others)
    assert stack_of(stack.described) == stack


def test_depth_is_that_of_the_whole_stack() -> None:
    hybrid = Stack(tuple(map(StackLayer, (3, 7, 11))), 12)
    assert hybrid.depths().tolist() == pytest.approx([3.5 / 12, 7.5 / 12, 11.5 / 12])
    assert hybrid.thirds().tolist() == [0, 1, 2]
    assert (hybrid.words, plain_stack(3).words) == ("attention in 3 of 12 layers", "")
    assert (hybrid.name(1, 4), hybrid.place(11)) == ("7-4", 2)
