"""Kept maps are the plain model's attention, of the examples and heads that were chosen."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.extraction import stream
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.jobs import keep_maps
from headroles.extraction.jobs.keep_maps import KeepMapsJob, KeptInput, bytes_of
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.texts.spelling import number_words
from headroles.extraction.texts.tokens import tokenise
from headroles.records.kept_maps import ANY_INPUT
from headroles.records.passage import Passage, Words
from headroles.records.rules.names import FORMED
from headroles.storage.kept_maps import examples_by_hash
from tests.support.read_models import cut_into_blocks

ModelOf = Callable[[str], Path]
Label = Callable[..., Labelling]
HALF = 1 / 510
"""Half a step: as far as a rounded weight may be from the weight."""
ASKED: tuple[dict[int, list[int]], ...] = ({0: [3, 1]}, {}, {0: [2], 1: [0, 3]}, {1: [1]}, {0: [0], 1: [2]})
TEXTS = ("the committee", "it was signed , in Paris", "long debate about the treaty !", "unbelievable", "it")


def _passages(width: int = 1) -> list[Passage]:
    texts = [TEXTS[place : place + width] or TEXTS[:width] for place in range(len(TEXTS))]
    return [Passage(f"made/{number}", (*each, *TEXTS[:width])[:width]) for number, each in enumerate(texts)]


def _load(folder: Path, dtype: str = "float32") -> Model:
    return load(find_checkpoint(str(folder), None), device="cpu", dtype=dtype, max_length=96)


def _kept(
    model: Model,
    passages: Sequence[Passage],
    asked: Sequence[Mapping[int, Sequence[int]]] = ASKED,
    size: int = 2,
) -> list[KeptInput]:
    job = KeepMapsJob(asked)
    coming = stream.stream(model, passages, job, batch_size=size, max_length=96, advance=lambda count: None)
    return [each for shard in coming for each in shard]


def _same_as_plain(kept: Sequence[KeptInput], folder: Path) -> None:
    """Every map that was asked for is there, and as near to the library's own run as bytes can be."""
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    for each, asked in zip(kept, ASKED, strict=True):
        assert {layer: len(maps) for layer, maps in each.maps.items()} == {
            layer: len(heads) for layer, heads in asked.items()
        }
        inputs = {name: torch.tensor([values]) for name, values in each.tokenised.inputs.items()}
        with torch.inference_mode():
            attention = network(**inputs, output_attentions=True).attentions
        for layer, heads in asked.items():
            for head in heads:
                plain = attention[layer][0, head].double().numpy()
                np.testing.assert_allclose(each.weights(layer, head) / 255, plain, rtol=0, atol=HALF + 1e-6)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("name", ["bert", "gpt2", "gptj", "llama"])
def test_kept_maps_are_the_plain_models_attention(name: str, width: int, model_of: ModelOf) -> None:
    folder = model_of(name)
    kept = _kept(_load(folder), _passages(width))
    _same_as_plain(kept, folder)
    assert [each.tokenised.passage.key for each in kept] == [f"made/{number}" for number in range(5)]


def test_inputs_of_several_shards_and_blocks_of_rows_fall_into_place(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "SHARD", 2)
    cut_into_blocks(monkeypatch, 3, 100)
    folder = model_of("bert")
    model = _load(folder)
    model.network.set_attn_implementation(FORMED)
    object.__setattr__(model, "way", CaptureMethod(FORMED))
    _same_as_plain(_kept(model, _passages()), folder)


def test_a_batch_that_did_not_fit_is_read_again(model_of: ModelOf, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def failing(weights: torch.Tensor) -> np.ndarray:
        calls.append(1)
        if len(calls) == 3:
            raise torch.OutOfMemoryError
        return bytes_of(weights)

    monkeypatch.setattr(keep_maps, "bytes_of", failing)
    folder = model_of("bert")
    _same_as_plain(_kept(_load(folder), _passages(), size=4), folder)
    assert len(calls) > 6


def test_weights_are_rounded_to_the_nearest_step_and_stay_bytes() -> None:
    given = torch.tensor([0.0, 0.00195, 0.00197, 0.5, 0.999, 1.0, 1.0000002, 1.01, float("nan")])
    assert bytes_of(given).tolist() == [0, 0, 1, 128, 255, 255, 255, 255, 0]
    assert bytes_of(given.bfloat16()).dtype == np.uint8


def test_words_are_those_of_the_gold_annotation_and_else_as_spelled(model_of: ModelOf) -> None:
    model = _load(model_of("bert"))
    words = Words(np.array([[0, 3], [4, 13]]), np.array([1, -1]), ("det", "root"))
    gold = Passage("gold", TEXTS[:1], words=(words,))
    plain = Passage("plain", ("it was-signed !",))
    found = [each.example() for each in _kept(model, [gold, plain], [{}, {}])]
    pieces = tokenise(model.tokenizer, [gold, plain], 96)
    assert [each.key for each in found] == ["gold", "plain"]
    assert [each.tokens for each in found] == [each.tokens for each in pieces]
    assert sorted(set(found[0].word.tolist())) == [-1, 0, 1]
    np.testing.assert_array_equal(found[1].word, number_words(pieces[1]))
    assert found[1].special.tolist() == (pieces[1].texts < 0).tolist()
    assert found[0].arcs is None


def _highest(run: Labelling, sieve: str, layer: int, head: int) -> list[str]:
    scores = run.scores
    own = scores.values[scores.sieves.index(sieve), :, layer, head]
    return [scores.examples[place] for place in np.argsort(-own, kind="stable")[:3]]


def test_a_run_keeps_the_examples_of_each_role_with_the_attention_that_gave_the_score(label: Label) -> None:
    run = label()
    kept = run.exhibited
    assert kept is not None
    held = {(run.findings.sieves[row], *head) for row, *head in np.argwhere(run.findings.decision == 0)}
    typical = [each for each in kept.exhibits if each.sieve != ANY_INPUT]
    assert {(each.sieve, each.layer, each.head) for each in typical} == held
    assert len(typical) == 5 * len(held)
    assert (kept.left, kept.limit) == (0, 1000)
    for role in held:
        cards = [each for each in kept.exhibits if (each.sieve, each.layer, each.head) == role]
        keys = [kept.examples[kept.places[each.map, 0]].key for each in cards]
        assert keys[:3] == _highest(run, *role)
        assert [each.rank for each in cards] == [1, 2, 3, -1, -2]
    for example in kept.examples:
        assert example.size == run.scores.tokens[run.scores.examples.index(example.key)]
    for weights in kept.weights:
        np.testing.assert_allclose(weights.sum(axis=1, dtype=int) / 255, 1, atol=weights.shape[1] * HALF)
    first = next(each for each in kept.exhibits if (each.layer, each.head, each.rank) == (0, 0, 1))
    previous = np.diagonal(kept.weights[first.map], offset=-1)
    assert previous.mean() > 0.8 * 255


def test_every_head_without_a_role_keeps_the_same_inputs(label: Label) -> None:
    run = label()
    kept = run.exhibited
    assert kept is not None
    roles = [run.findings.of(name) for name in run.findings.roles]
    without = np.argwhere(~(run.findings.decision[roles] == 0).any(axis=0)).tolist()
    assert without
    for place in without:
        own = [each for each in kept.exhibits if [each.layer, each.head] == place]
        assert [(each.sieve, each.rank) for each in own] == [(ANY_INPUT, rank) for rank in (1, 2, 3)]
        keys = [kept.examples[kept.places[each.map, 0]].key for each in own]
        chosen = examples_by_hash(run.scores.examples, run.scores.tokens)
        assert keys == [run.scores.examples[example] for example in chosen]


def test_progress_ends_with_the_last_input_and_the_second_pass_is_not_counted(label: Label) -> None:
    told: list[tuple[int, int]] = []
    run = label(batch_size=16, progress=lambda done, total: told.append((done, total)))
    assert run.exhibited is not None
    assert told == [(16, 60), (32, 60), (48, 60), (60, 60)]


def test_no_maps_are_kept_where_none_are_asked_for(label: Label, even: Path) -> None:
    without = label(maps=0)
    assert without.exhibited is None
    unlabelled = label(model=even).exhibited
    assert unlabelled is not None
    assert {each.sieve for each in unlabelled.exhibits} == {ANY_INPUT}
    assert unlabelled.counted == {}
    assert "--maps 0" in without.manifest["command"]
    assert without.frame().equals(label().frame())


def test_fewer_maps_than_examples_are_said_to_be_fewer(label: Label) -> None:
    run = label(maps=7)
    kept = run.exhibited
    assert kept is not None
    assert len(kept.weights) == kept.limit == 7
    assert {each.rank for each in kept.exhibits} >= {1, 2}
    assert any(line.startswith(f"{kept.left} of ") and "--maps" in line for line in run.skipped)


@pytest.mark.parametrize(
    "error", [BadInput("one input does not fit; give less"), RuntimeError("no\n kernel")]
)
def test_a_second_pass_that_fails_leaves_the_run_whole(
    error: Exception, label: Label, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*given: Any) -> None:
        raise error

    monkeypatch.setattr(KeepMapsJob, "reader", failing)
    run = label(shard_size=32)
    assert run.exhibited is None
    assert (run.findings.decision == 0).any()
    reason = " ".join(str(error).split())
    assert f"heads have no examples, because keeping their maps failed: {reason}." in run.skipped


@pytest.mark.parametrize("value", [-1, 2.5, "many"])
def test_a_number_of_maps_that_cannot_be_is_one_sentence(label: Label, value: Any) -> None:
    with pytest.raises(headroles.HeadrolesError, match="maps must be a whole number"):
        label(maps=value)
