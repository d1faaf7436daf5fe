"""Every architecture of the table: weights, outputs, visible keys and shared keys are the plain model's."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from headroles.extraction.capture.attention import run
from tests.support.architectures import EAGER, FORMED, TABLE
from tests.support.read_models import Kept, batch_of, one_thread, plain_network, plain_run, ready
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]


@pytest.mark.parametrize("name", TABLE)
def test_attention_visible_keys_and_output_are_the_plain_models(name: str, model_of: ModelOf) -> None:
    told, folder = TABLE[name], model_of(name)
    eager = plain_network(folder, "eager")
    sdpa = plain_network(folder, "sdpa") if told.path == FORMED else None
    for max_length in (128, 512):
        model = ready(folder, max_length)
        assert model.way.name == (EAGER if told.path == FORMED and max_length == 128 else told.path)
        assert model.way.causal == told.causal
        inputs, lengths = batch_of(model)
        kept = Kept()
        with one_thread():
            output, layers = run(model.network, model.way, inputs, lengths, kept)
            plain = plain_run(eager, inputs, output_attentions=True)
            wanted = plain[0] if model.way.name != FORMED else plain_run(sdpa, inputs)[0]
        assert layers == len(plain.attentions) == model.layers
        for example, n in enumerate(lengths):
            close = rounding_bound(n * model.layers, float(wanted.abs().max()))
            torch.testing.assert_close(output[example, :n], wanted[example, :n], rtol=0, atol=close)
            for layer, weights in enumerate(plain.attentions):
                own = weights[example, :, :n, :n]
                assert own.shape[0] == model.heads
                torch.testing.assert_close(
                    kept.whole(layer, example), own, rtol=0, atol=rounding_bound(n * model.layers)
                )
                np.testing.assert_array_equal(kept.seen(layer, example), (own > 0).any(0).numpy())


@pytest.mark.parametrize("name", TABLE)
def test_heads_of_keys_and_values_are_counted_from_the_tensors(name: str, model_of: ModelOf) -> None:
    model = ready(model_of(name))
    shared = TABLE[name].key_heads or (model.heads,) * model.layers
    counted = model.described["kv_heads"]
    assert ([counted] * model.layers if isinstance(counted, int) else counted) == list(shared)
    assert isinstance(counted, int) == (len(set(shared)) == 1)
