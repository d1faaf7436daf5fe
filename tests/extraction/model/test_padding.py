"""Where padding stands: batches are padded on the right, and that is the plain model padded on either side.

On which side a user pads makes no difference where positions are relative, rotary, or counted from the
mask; absolute positions are counted from the first cell of a batch, so that padding on the left changes
the model itself, and no library could read the same attention from it.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import headroles
from headroles.extraction.capture.attention import run
from tests.support.architectures import FORMED, TABLE
from tests.support.read_models import Kept, batch_of, opened, plain_network, plain_run, ready
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
MOVED = 1e-3
"""Weights that differ by more are of another model."""


@pytest.mark.parametrize("name", TABLE)
def test_padding_on_the_left_gives_the_same_attention_unless_positions_are_absolute(
    name: str, model_of: ModelOf
) -> None:
    folder = model_of(name)
    model = ready(folder, 512 if TABLE[name].path == FORMED else 128)
    inputs, lengths = batch_of(model)
    ours = Kept()
    run(model.network, model.way, inputs, lengths, ours)
    left, _ = batch_of(model, side="left")
    plain = plain_run(plain_network(folder, "eager"), left, output_attentions=True).attentions
    furthest = 0.0
    for example, n in enumerate(lengths):
        for layer, weights in enumerate(plain):
            own = weights[example, :, -n:, -n:]
            furthest = max(furthest, float((ours.whole(layer, example) - own).abs().max()))
            np.testing.assert_array_equal(ours.seen(layer, example), (own > 0).any(0).numpy())
    assert furthest > MOVED if TABLE[name].rigid else furthest <= rounding_bound(max(lengths) * model.layers)


@pytest.mark.parametrize("name", ["bert", "llama", "t5", "xlnet"])
def test_the_side_that_a_tokenizer_pads_on_makes_no_difference_to_a_run(
    name: str, model_of: ModelOf, tmp_path: Path
) -> None:
    data = tmp_path / "texts.tsv"
    lines = [
        " ".join(["the committee did not decide about the treaty"] * (1 + k % 3)) + f" {k}" for k in range(8)
    ]
    data.write_text("sentence\n" + "\n".join(lines) + "\n")
    found = []
    for side in ("right", "left"):
        folder = Path(shutil.copytree(model_of(name), tmp_path / side))
        settings = folder / "tokenizer_config.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()) | {"padding_side": side}))
        model = opened(folder)
        assert model.tokenizer.padding_side == side
        labelled = headroles.label(
            data=data,
            text_a="sentence",
            model=folder,
            sieve=["local", "previous", "first"],
            max_length=64,
            maps=0,
        )
        found.append(labelled.scores.values)
        assert labelled.scores.tokens.min() < labelled.scores.tokens.max()
    np.testing.assert_array_equal(found[1], found[0])
    assert np.isfinite(found[0]).all()


def test_a_batch_padded_with_any_token_gives_the_same_attention(model_of: ModelOf) -> None:
    model = ready(model_of("qwen2"), 512)
    inputs, lengths = batch_of(model)
    one, other = Kept(), Kept()
    run(model.network, model.way, inputs, lengths, one)
    hidden = inputs["attention_mask"] == 0
    run(
        model.network,
        model.way,
        inputs | {"input_ids": inputs["input_ids"].masked_fill(hidden, 77)},
        lengths,
        other,
    )
    assert hidden.any()
    for place in one.rows:
        assert torch.equal(one.whole(*place), other.whole(*place))
