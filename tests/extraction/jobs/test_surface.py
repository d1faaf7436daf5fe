"""Surface statistics of the streamed path are those of plain arrays, however inputs are batched and cut."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from headroles.arrays import surface_of
from headroles.extraction.capture import attention as capture_attention
from headroles.extraction.jobs.surface import SurfaceJob, entropies
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.stream import stream
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.records.passage import Passage
from headroles.records.rules.names import FORMED
from headroles.runs.surface.work import surface_counting
from headroles.sieves import spread
from headroles.sieves.settings import SMOOTHING
from headroles.sieves.surface import COLUMNS, lay_surface
from tests.support.read_models import cut_into_blocks
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
WORDS = [
    "the",
    "committee",
    "didn't",
    "decide",
    ",",
    "about",
    "treaty",
    "it",
    "was",
    "signed",
    ".",
    "in",
    "Paris",
    "long",
    "debate",
    "!",
]
MODELS = ("bert", "roberta", "modernbert", "gpt2", "mistral", "gemma2", "t5", "mpnet", "gptj")


def _passages(texts: int, count: int = 9, longest: int = 25) -> list[Passage]:
    rng = np.random.default_rng(5)
    return [
        Passage(
            f"x/{k}", tuple(" ".join(rng.choice(WORDS, size=rng.integers(1, longest))) for _ in range(texts))
        )
        for k in range(count)
    ]


def _load(folder: Path, max_length: int = 96) -> Model:
    return load(find_checkpoint(str(folder), None), device="cpu", dtype="float32", max_length=max_length)


def _shards(
    model: Model, passages: list[Passage], size: int = 4, length: int = 96, smoothing: float = 0.0
) -> tuple[list[Shard], int]:
    job = SurfaceJob(model, surface_counting(".,", smoothing))
    coming = stream(model, passages, job, batch_size=size, max_length=length, advance=lambda count: None)
    return list(coming), job.unequal


class Kept:
    """A reader that keeps every layer of one example, and what its queries see."""

    def __init__(self) -> None:
        self.layers: list[np.ndarray] = []
        self.seen: list[np.ndarray | None] = []

    def read(
        self, layer: int, example: int, start: int, rows: torch.Tensor, visible: np.ndarray | None
    ) -> None:
        self.layers.append(rows.double().numpy())
        self.seen.append(visible)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("smoothing", [0.0, SMOOTHING])
def test_streamed_statistics_are_those_of_plain_arrays(
    model_of: ModelOf, name: str, smoothing: float
) -> None:
    model = _load(model_of(name))
    passages = _passages(1)
    (shard,), _ = _shards(model, passages, smoothing=smoothing)
    for place, each in enumerate(tokenise(model.tokenizer, passages, 96)):
        kept = Kept()
        inputs = {key: torch.tensor([values]) for key, values in each.inputs.items()}
        capture_attention.run(model.network, model.way, inputs, [each.size], kept)
        example = example_of(each, None, arcs=False)
        lines = []
        for layer, (weights, seen) in enumerate(zip(kept.layers, kept.seen, strict=True)):
            everything = np.ones((each.size, each.size), dtype=np.bool_)
            visible = everything if seen is None else seen
            found = surface_of(weights[None], example, visible=visible, smoothing=smoothing)
            values = np.stack([found[column][0] for column in COLUMNS])
            np.testing.assert_allclose(
                shard.values[:, place, layer],
                values,
                rtol=0,
                atol=rounding_bound(each.size, magnitude=float(np.log(each.size))),
            )
            lines.append(lay_surface(example, visible, smoothing=smoothing).even)
        known = ~np.isnan(np.stack(lines)).all(axis=0)
        np.testing.assert_allclose(
            shard.null[known, place], np.nanmean(np.stack(lines)[:, known], axis=0), rtol=0, atol=1e-12
        )
        assert np.isnan(shard.null[~known, place]).all()


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_statistics_do_not_depend_on_the_batch(model_of: ModelOf, name: str) -> None:
    model = _load(model_of(name))
    passages = _passages(2)
    ((one,), _), ((many,), _) = (_shards(model, passages, size) for size in (1, 9))
    np.testing.assert_allclose(
        one.values, many.values, rtol=0, atol=rounding_bound(96, magnitude=float(np.log(96)))
    )
    np.testing.assert_array_equal(one.null, many.null)
    np.testing.assert_array_equal(one.cells, many.cells)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_blocks_of_query_rows_give_what_whole_attention_gives(
    model_of: ModelOf, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _load(model_of(name), max_length=400)
    assert model.way.name == FORMED
    passages = _passages(1, count=3, longest=60)
    (whole,), _ = _shards(model, passages, length=400)
    cut_into_blocks(monkeypatch, 4, 4 * 4 * 40 * 7)
    (blocks,), _ = _shards(model, passages, length=400)
    np.testing.assert_allclose(
        blocks.values, whole.values, rtol=0, atol=rounding_bound(96, magnitude=float(np.log(96)))
    )
    np.testing.assert_array_equal(blocks.null, whole.null)


def test_layers_that_see_different_keys_are_counted(model_of: ModelOf) -> None:
    short, long = Passage("short", ("it was",)), Passage("long", (" ".join(WORDS * 3),))
    assert _shards(_load(model_of("modernbert")), [short, long])[1] == 1
    assert _shards(_load(model_of("bert")), [short, long])[1] == 0


def test_heads_that_attend_evenly_score_what_even_attention_gives(model_of: ModelOf) -> None:
    for name in ("even bert", "even gpt2"):
        (shard,), _ = _shards(_load(model_of(name)), _passages(1))
        expected = np.broadcast_to(shard.null[:, :, None, None], shard.values.shape)
        np.testing.assert_allclose(
            shard.values, expected, rtol=0, atol=rounding_bound(96, magnitude=float(np.log(96)))
        )
        assert (~np.isnan(shard.values)).any()


def test_a_batch_that_did_not_fit_is_halved_and_gives_the_same(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _load(model_of("bert"))
    passages = _passages(1, count=4)
    (before,), _ = _shards(model, passages)
    usual = capture_attention.read_attention

    def tight(network: object, way: object, inputs: object, lengths: list[int], *rest: object) -> object:
        done = usual(network, way, inputs, lengths, *rest)  # type: ignore[arg-type]
        if len(lengths) > 1:
            raise torch.OutOfMemoryError
        return done

    monkeypatch.setattr("headroles.extraction.stream.read_attention", tight)
    (after,), unequal = _shards(model, passages)
    np.testing.assert_allclose(
        after.values, before.values, rtol=0, atol=rounding_bound(96, magnitude=float(np.log(96)))
    )
    np.testing.assert_array_equal(after.null, before.null)
    assert unequal == 0


def test_entropies_in_torch_are_those_in_numpy() -> None:
    rows = np.random.default_rng(0).dirichlet(np.full(9, 0.1), size=(2, 5))
    for smoothing in (0.0, 0.01):
        ours = entropies(torch.from_numpy(rows), smoothing).numpy()
        np.testing.assert_allclose(ours, spread.entropies(rows, smoothing), rtol=0, atol=1e-12)
