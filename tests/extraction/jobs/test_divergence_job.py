"""Divergences summed while a model runs are those of the plain model's attention, beside the same scores."""

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel

from headroles.arrays import selection_of
from headroles.errors import BadInput, UnknownName
from headroles.extraction import stream
from headroles.extraction.capture import attention as capture_attention
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.jobs import divergence as divergence_job
from headroles.extraction.jobs.both import JointJob
from headroles.extraction.jobs.divergence import (
    BlockLayout,
    DivergenceJob,
    DivergenceSums,
    max_batch_size,
    merge_divergences,
    pair_divergences,
)
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.source import AttentionSource
from headroles.extraction.stream import PreparedInput
from headroles.extraction.texts.tokens import tokenise
from headroles.records.clusters import Divergence
from headroles.records.passage import Passage
from headroles.records.rules.names import FORMED
from tests.support.read_models import cut_into_blocks
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
VOCABULARY = "the committee decide about unbelievable treaty it was signed in Paris long debate , !"
ALL_INPUTS = slice(None)
UNITS = [f"unit {number}" for number in (0, 1, 2, 1, 3, 0, 4, 1, 2, 5, 5)]


def _passages(count: int = len(UNITS)) -> list[Passage]:
    """Random texts of 3 to 24 words."""
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(VOCABULARY.split(), size=rng.integers(3, 25))) for _ in range(count)]
    return [Passage(f"made/{number}", (text,)) for number, text in enumerate(texts)]


def _load(folder: Path) -> Model:
    return load(find_checkpoint(str(folder), None), device="cpu", dtype="float32", max_length=96)


def _unit_places(units: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The place of each input's unit among all units, and the number of inputs of that unit."""
    names = list(dict.fromkeys(units))
    return np.array([names.index(unit) for unit in units]), np.array([units.count(unit) for unit in units])


def _sums_of_shards(
    model: AttentionSource, shards: Sequence[slice], units: Sequence[str] = UNITS, **options: Any
) -> list[DivergenceSums]:
    """Empty sums of each shard."""
    places, members = _unit_places(units)
    blocks = BlockLayout.of(len(set(units)), model.layers, model.heads).block(places)
    return [
        DivergenceSums(blocks[shard], members[shard], model.layers, model.heads, **options)
        for shard in shards
    ]


def _merge(
    model: AttentionSource, contents: Sequence[bytes], units: Sequence[str] = UNITS, **options: Any
) -> Divergence:
    """The sums of all shards together."""
    layout = BlockLayout.of(len(set(units)), model.layers, model.heads)
    how: dict[str, Any] = {"smoothing": 0.0, "way": "mean"} | options
    return merge_divergences(contents, layout, model.layers, model.heads, **how)


def _streamed(
    model: Model, size: int = 4, shards: Sequence[slice] = (ALL_INPUTS,), **options: Any
) -> Divergence:
    """All passages through the job alone, shard by shard."""
    contents: list[bytes] = []
    for shard, sums in zip(shards, _sums_of_shards(model, shards, **options), strict=True):
        job = DivergenceJob(model, sums, threads=2)
        contents += stream.stream(
            model, _passages()[shard], job, batch_size=size, max_length=96, advance=lambda count: None
        )
    assert len(contents) == len(shards)
    return _merge(model, contents, **options)


def _plain(model: Model, folder: Path, smoothing: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Divergences by passage and pair from the library's own run, and lengths."""
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    found, lengths = [], []
    for each in tokenise(model.tokenizer, _passages(), 96):
        inputs = {name: torch.tensor([values]) for name, values in each.inputs.items()}
        with torch.inference_mode():
            layers = network(**inputs, output_attentions=True).attentions
        attention = torch.cat([layer[0] for layer in layers]).double()
        found.append(pair_divergences(attention, smoothing=smoothing))
        lengths.append(each.size)
    return np.stack(found), np.array(lengths)


@pytest.mark.parametrize("name", ["bert", "gpt2", "gptj"])
def test_the_mean_is_over_rows_then_inputs_of_a_unit_then_units(name: str, model_of: ModelOf) -> None:
    model = _load(model_of(name))
    found = _streamed(model)
    rows, lengths = _plain(model, model_of(name))
    shares = rows / lengths[:, None]
    names = list(dict.fromkeys(UNITS))
    of_unit = np.stack([shares[[one == name for one in UNITS]].mean(axis=0) for name in names])
    np.testing.assert_allclose(found.sums, of_unit, rtol=1e-4, atol=rounding_bound(96))
    np.testing.assert_allclose(found.mean(), of_unit.mean(axis=0), rtol=1e-4, atol=rounding_bound(96))
    assert found.block.tolist() == list(range(6))
    assert found.weight.tolist() == [1.0] * 6
    assert found.sums.dtype == np.float32
    assert (found.layers, found.heads) == (model.layers, model.heads)


def test_the_released_way_sums_smoothed_rows_of_all_inputs(model_of: ModelOf) -> None:
    model = _load(model_of("bert"))
    found = _streamed(model, smoothing=0.001, way="sum")
    rows, _ = _plain(model, model_of("bert"), smoothing=0.001)
    np.testing.assert_allclose(found.mean(), rows.sum(axis=0), rtol=1e-4)
    assert (found.smoothing, found.way) == (0.001, "sum")


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_batches_and_threads_do_not_change_values(name: str, model_of: ModelOf) -> None:
    model = _load(model_of(name))
    one, many = (_streamed(model, size) for size in (1, 16))
    np.testing.assert_allclose(many.sums, one.sums, rtol=1e-4, atol=rounding_bound(96))


@pytest.mark.parametrize("options", [{}, {"smoothing": 0.001, "way": "sum"}])
def test_shards_that_divide_units_add_up_to_the_sums_of_all_inputs(
    options: dict[str, Any], model_of: ModelOf
) -> None:
    model = _load(model_of("bert"))
    whole, cut = (
        _streamed(model, shards=shards, **options)
        for shards in ([ALL_INPUTS], [slice(0, 2), slice(2, 7), slice(7, None)])
    )
    np.testing.assert_allclose(cut.sums, whole.sums, rtol=1e-4, atol=rounding_bound(96))
    np.testing.assert_array_equal(cut.block, whole.block)
    np.testing.assert_array_equal(cut.weight, whole.weight)


def test_long_inputs_that_come_in_blocks_of_rows_give_the_same(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model_of("bert")
    whole = _streamed(_load(folder))
    cut_into_blocks(monkeypatch, 8, 1000)
    model = _load(folder)
    model.network.set_attn_implementation(FORMED)
    object.__setattr__(model, "way", CaptureMethod(FORMED))
    blocks = _streamed(model)
    np.testing.assert_allclose(blocks.sums, whole.sums, rtol=1e-4, atol=rounding_bound(96))


def test_a_batch_that_did_not_fit_counts_no_input_twice(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _load(model_of("bert"))
    wanted = _streamed(model)
    calls: list[int] = []

    def failing(*given: object, **options: object) -> np.ndarray:
        calls.append(1)
        if len(calls) in (3, 4):  # in the middle of the first batch, and of its first half
            raise torch.OutOfMemoryError
        return pair_divergences(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(divergence_job, "pair_divergences", failing)
    found = _streamed(model, size=8)
    assert len(calls) == len(UNITS) + 2
    np.testing.assert_allclose(found.sums, wanted.sums, rtol=1e-4, atol=rounding_bound(96))


def test_scores_and_divergences_come_from_one_pass(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, passages = _load(model_of("bert")), _passages()
    shards = [slice(0, 6), slice(6, None)]
    sieves = selection_of(["local", "delimiter"])

    def streamed(shard: slice, job: Any) -> Any:
        (result,) = stream.stream(
            model, passages[shard], job, batch_size=4, max_length=96, advance=lambda count: None
        )
        return result

    passes: list[int] = []

    def counted(network: Any, way: CaptureMethod, inputs: Any, lengths: Sequence[int], *rest: Any) -> Any:
        passes.extend(lengths)
        return capture_attention.read_attention(network, way, inputs, lengths, *rest)

    alone = [streamed(shard, SieveJob(model, sieves, None)) for shard in shards]
    divergence = _streamed(model, shards=shards)
    monkeypatch.setattr(stream, "read_attention", counted)
    both = [
        streamed(shard, JointJob(SieveJob(model, sieves, None), DivergenceJob(model, sums)))
        for shard, sums in zip(shards, _sums_of_shards(model, shards), strict=True)
    ]
    assert len(passes) == len(passages)
    for (shard, _), other in zip(both, alone, strict=True):
        assert shard.examples == other.examples
        np.testing.assert_array_equal(shard.values, other.values)
    np.testing.assert_array_equal(_merge(model, [content for _, content in both]).sums, divergence.sums)


def test_gradients_are_not_read_beside_another_job() -> None:
    class Graph:
        def table(self, tokenised: object) -> None: ...

        def prepare(self, tokenised: object, places: object) -> list[PreparedInput]:
            return []

        def reader(self, batch: object, table: object) -> "Graph":
            return self

        def result(self, table: object) -> None: ...

        def read_graph(self, layer: int, weights: object, visible: object) -> None: ...

        def loss(self, output: object) -> None: ...

    graph: Any = Graph()
    job: Any = JointJob(graph, graph)
    with pytest.raises(BadInput, match="a pass without any other job"):
        job.reader([], job.table([]))


def test_more_units_than_blocks_share_blocks_with_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence_job, "FEWEST", 2)
    monkeypatch.setattr(divergence_job, "KEPT", 3 * 4 * 6)  # three blocks of six pairs
    units = ["a", "b", "c", "d", "e", "d", "c"]
    places, members = _unit_places(units)
    layout = BlockLayout.of(5, 2, 2)
    sums = DivergenceSums(layout.block(places), members, 2, 2)
    values = np.random.default_rng(0).random((7, 6))
    for place in (6, 0, 2, 1, 5, 4, 3):
        sums.add(place, 10, 10 * values[place])
        sums.add(place, 10, 10 * values[place])
    found = merge_divergences([sums.content()], layout, 2, 2, smoothing=0.0, way="mean")
    assert found.block.tolist() == [0, 0, 1, 1, 2]
    assert found.weight.tolist() == [2.0, 2.0, 1.0]
    means = np.array([values[0], values[1], values[[2, 6]].mean(0), values[[3, 5]].mean(0), values[4]])
    wanted = [means[0] + means[1], means[2] + means[3], means[4]]
    np.testing.assert_allclose(found.sums, wanted, rtol=1e-6)
    np.testing.assert_allclose(found.mean(), means.mean(axis=0), rtol=1e-6)


def test_sums_of_a_thousand_heads_have_at_least_fifty_blocks() -> None:
    layout = BlockLayout.of(500, 48, 48)
    assert layout.count == 50
    np.testing.assert_array_equal(np.bincount(layout.block(np.arange(500))), np.full(50, 10))


def test_sums_of_a_shard_have_rows_only_for_the_blocks_of_its_inputs() -> None:
    blocks, members = np.array([7, 400, 7]), np.array([2, 1, 2])
    sums = DivergenceSums(blocks, members, 2, 2)
    for place in range(3):
        sums.add(place, 1, np.full(6, 1.0 + place))
    with np.load(BytesIO(sums.content())) as arrays:
        assert arrays["block"].tolist() == [7, 400]
        np.testing.assert_allclose(arrays["sums"][:, 0], [1 / 2 + 3 / 2, 2.0])


def test_sums_say_what_is_wrong() -> None:
    first, one = np.zeros(1, dtype=int), np.ones(1, dtype=int)
    with pytest.raises(UnknownName, match="did you mean 'mean'"):
        DivergenceSums(first, one, 2, 2, way="means")
    with pytest.raises(BadInput, match=r"below 1, but got 1\.0"):
        DivergenceSums(first, one, 2, 2, smoothing=1.0)
    with pytest.raises(BadInput, match="0 units and 4 heads"):
        BlockLayout.of(0, 2, 2)
    with pytest.raises(BadInput, match="1 units and 1 heads"):
        BlockLayout.of(1, 1, 1)
    sums = DivergenceSums(np.arange(2), np.ones(2, dtype=int), 2, 2)
    sums.add(1, 3, np.ones(6))
    with pytest.raises(BadInput, match="1 of 2 were not added"):
        sums.content()


def test_sums_of_another_run_are_not_merged() -> None:
    sums = DivergenceSums(np.array([3]), np.ones(1, dtype=int), 2, 2)
    sums.add(0, 3, np.ones(6))
    for layout, layers in ((BlockLayout.of(3, 2, 2), 2), (BlockLayout.of(4, 3, 2), 3)):
        with pytest.raises(BadInput, match="shard 0 are those of its own run, but they do not fit"):
            merge_divergences([sums.content()], layout, layers, 2, smoothing=0.0, way="mean")


def test_a_batch_of_many_heads_holds_fewer_inputs() -> None:
    for layers, heads, length in [(12, 12, 128), (32, 32, 128), (12, 12, 256)]:
        fits = max_batch_size(layers, heads, length, 1000)
        assert fits * 4 * layers * heads * length**2 <= 2**28 < (fits + 1) * 4 * layers * heads * length**2
    assert max_batch_size(12, 12, 64, 8) == 8
    assert max_batch_size(64, 64, 4096, 8) == 1
