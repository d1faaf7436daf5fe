"""Short examples in one row, without padding, are read as each is read alone, whatever the architecture."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headroles.arrays import selection_of
from headroles.extraction import stream
from headroles.extraction.capture.attention import run
from headroles.extraction.capture.method import Packing
from headroles.extraction.capture.norms import ValueNorms
from headroles.extraction.model.load import Model
from headroles.extraction.model.trial import Reading
from headroles.extraction.model.trial_packed import choose_packing
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.stream import pack_inputs, pad_inputs
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.records.passage import Passage
from headroles.records.rules.names import FORMED
from tests.support.architectures import RETURNED, TABLE
from tests.support.read_models import TEXTS, Kept, opened, plain_network, plain_run, ready
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
PADDED = {
    "t5", "mt5", "umt5",  # biases of positions are added to the logits
    "bart", "mbart", "pegasus",  # the encoder takes no positions
    "gemma2", "gpt-oss",  # caps of logits, and sinks
}  # fmt: skip
"""Architectures whose attention is formed, but whose examples have to be padded."""
FIRST = {"roberta": 2, "xlm-roberta": 2, "camembert": 2}
"""Position of the first token, where it is not 0."""
WORDS = TEXTS[0].split()


class Together(Kept):
    """A reader that keeps what it is given, and asks for the whole batch."""

    together = True

    def __init__(self, lengths: list[int]) -> None:
        """Take the lengths of the examples."""
        super().__init__()
        self.lengths = lengths
        self.padding = 0.0

    def read_batch(self, layer: int, weights: torch.Tensor, visible: Any) -> None:
        """Keep each example, and the largest weight beyond it."""
        for example, (n, seen) in enumerate(zip(self.lengths, visible, strict=True)):
            self.read(layer, example, 0, weights[example, :, :n, :n], seen)
            beyond = torch.cat([weights[example, :, n:].flatten(), weights[example, :, :n, n:].flatten()])
            self.padding = max(self.padding, float(beyond.abs().sum()))


def _tokenised(model: Model, texts: Any = TEXTS) -> list[Tokenised]:
    """Texts as a run tokenises them."""
    return tokenise(model.tokenizer, [Passage(str(n), (text,)) for n, text in enumerate(texts)], 96)


def _read(model: Model, batch: list[Tokenised], packed: bool) -> Together:
    """Read a batch in one row, or padded."""
    lengths = [each.size for each in batch]
    kept = Together(lengths)
    inputs = pack_inputs(model, batch) if packed else pad_inputs(model, batch)
    run(model.network, model.way, inputs, lengths, kept)
    return kept


def _chosen(model: Model) -> Reading:
    """Try again whether a model takes packed examples."""
    reading = Reading(replace(model.way, packs=None), model.layers, model.heads, ())
    return choose_packing(model.network, model.tokenizer, model.device, model.limit, reading)


@pytest.mark.parametrize("max_length", [128, 512])
@pytest.mark.parametrize("name", [name for name in TABLE if TABLE[name].path != RETURNED])
def test_packed_examples_are_read_as_the_plain_model_reads_each_alone(
    name: str, max_length: int, model_of: ModelOf
) -> None:
    model = ready(model_of(name), max_length)
    if name in PADDED:
        assert model.way.packs is None
        return
    assert model.way.packs == Packing(FIRST.get(name, 0))
    batch = _tokenised(model)
    kept, network = _read(model, batch, packed=True), plain_network(model_of(name), "eager")
    assert kept.padding == 0
    for example, each in enumerate(batch):
        alone = {key: torch.tensor([values]) for key, values in each.inputs.items()}
        plain = plain_run(network, alone, output_attentions=True).attentions
        for layer, weights in enumerate(plain):
            found, close = kept.whole(layer, example), rounding_bound(each.size * model.layers)
            torch.testing.assert_close(found, weights[0], rtol=0, atol=close)
            np.testing.assert_array_equal(kept.seen(layer, example), (weights[0] > 0).any(0).numpy())


@pytest.mark.parametrize("name", ["bert", "roberta", "modernbert", "gpt2", "llama", "mistral"])
def test_packing_changes_rounding_alone_whatever_the_lengths(name: str, model_of: ModelOf) -> None:
    model = ready(model_of(name), 512)

    @given(st.lists(st.integers(1, 40), min_size=2, max_size=9))
    def check(sizes: list[int]) -> None:
        texts = [" ".join((WORDS * 3)[:size]) for size in [*sizes, 40]]
        batch = _tokenised(model, texts)
        packed, padded = _read(model, batch, packed=True), _read(model, batch, packed=False)
        for place in packed.rows:
            close = rounding_bound(40 * model.layers)
            torch.testing.assert_close(packed.whole(*place), padded.whole(*place), rtol=0, atol=close)
            np.testing.assert_array_equal(packed.seen(*place), padded.seen(*place))

    check()


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_a_run_packs_batches_of_different_lengths_and_gives_the_scores_of_padded_ones(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, rows = ready(model_of(name), 512), []
    assert model.way.name == FORMED
    passages = [
        Passage(str(n), (" ".join((WORDS * 3)[:size]),)) for n, size in enumerate((3, 30, 7, 7, 40, 12, 1))
    ]

    def pack(chosen: Model, batch: list[Tokenised]) -> dict[str, torch.Tensor]:
        rows.append(len(batch))
        return pack_inputs(chosen, batch)

    monkeypatch.setattr(stream, "pack_inputs", pack)

    def scores(chosen: Model) -> np.ndarray:
        job = SieveJob(chosen, selection_of(["local", "previous", "first"]), None)
        shards = stream.stream(chosen, passages, job, batch_size=4, max_length=96, advance=lambda count: None)
        return np.concatenate([shard.values for shard in shards], axis=1)

    packed = scores(model)
    assert rows == [4, 3]
    padded = scores(replace(model, way=replace(model.way, packs=None)))
    assert rows == [4, 3]
    np.testing.assert_allclose(packed, padded, rtol=0, atol=rounding_bound(40 * model.layers))
    assert np.isfinite(packed).any()


def test_a_layer_that_mixes_neighbouring_tokens_is_padded(model_of: ModelOf) -> None:
    model = opened(model_of("bert"))

    def mix(module: Any, given: Any, output: torch.Tensor) -> torch.Tensor:
        return output + 0.1 * output.roll(1, dims=1)

    model.network.get_submodule("encoder.layer.0.intermediate").register_forward_hook(mix)
    assert _chosen(model).way.packs is None


def test_a_model_that_refuses_rows_beyond_its_limit_gets_shorter_ones(model_of: ModelOf) -> None:
    model, longest = opened(model_of("bert")), []

    def refuse(module: Any, given: Any, named: Any) -> None:
        longest.append(named["input_ids"].shape[1])
        if longest[-1] > model.limit:
            raise ValueError("too long")

    model.network.embeddings.register_forward_pre_hook(refuse, with_kwargs=True)
    assert model.limit is not None
    assert _chosen(model).way.packs == Packing(0, model.limit)
    assert longest[-1] > model.limit


def test_a_limit_that_is_too_long_to_be_tried_is_kept(model_of: ModelOf) -> None:
    model, reader = replace(opened(model_of("llama"), 512), limit=4096), Together([96, 100])
    way = _chosen(model).way
    assert way.packs == Packing(0, 4096)
    assert stream._packs(way, [96, 4000], reader)
    assert not stream._packs(way, [97, 4000], reader)


def test_batches_of_one_length_and_readers_of_norms_or_of_single_examples_get_padding(
    model_of: ModelOf,
) -> None:
    way, reader = ready(model_of("bert"), 512).way, Together([3, 4])
    assert stream._packs(way, [3, 4], reader)
    assert not stream._packs(way, [4, 4], reader)
    assert not stream._packs(way, [3, 4], Kept())
    assert not stream._packs(replace(way, norms=ValueNorms(())), [3, 4], reader)
