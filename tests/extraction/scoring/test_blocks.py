"""Long inputs are read in blocks, without the keys that cannot be seen, and cost no more than a block."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel

from headroles.arrays import selection_of
from headroles.extraction.capture import blocks as capture_blocks
from headroles.extraction.capture import softmax
from headroles.extraction.capture import visible as capture_visible
from headroles.extraction.capture.attention import run
from headroles.extraction.capture.readers import (
    Place,
    VisibleArray,
    VisibleMask,
    to_visible_array,
    to_visible_mask,
    visible_key,
)
from headroles.extraction.capture.threads import Threads
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.scoring.blocks.sums import LongSums
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.stream import stream
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.plans.masks import Band, Cells, Match
from headroles.plans.scorers import score_layer
from headroles.records.example import Example
from headroles.records.passage import Passage, Words
from headroles.records.rules.names import FORMED
from headroles.sieves.base import MaskSieve
from headroles.sieves.built_in.bag_of_words import BagOfWords
from headroles.sieves.selection import Selection
from headroles.sieves.weights.reference import apply
from tests.support.largest import Largest
from tests.support.read_models import cut_into_blocks
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
VOCABULARY = "the committee unbelievable treaty re-opening in , debate"


def _load(folder: Path) -> Model:
    return load(find_checkpoint(str(folder), None), device="cpu", dtype="float32", max_length=512)


class _Corners:
    """A scorer that needs the rows of a layer together."""

    name, needs = "corners", frozenset[str]()

    def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
        assert attention.shape[1:] == (example.size, example.size)
        corners: np.ndarray = attention[:, 0, 0] + attention[:, -1, 0] * attention[:, -1, -1]
        return corners

    def null(self, example: Example) -> float:
        return 0.0


def _passages(texts: int, count: int) -> list[Passage]:
    """Random texts with trees, of 8 to 40 words."""
    rng = np.random.default_rng(5)
    made = []
    for number in range(count):
        both, trees = [], []
        for _ in range(texts):
            words = rng.choice(VOCABULARY.split(), rng.integers(8, 40))
            ends = np.cumsum([len(word) + 1 for word in words]) - 1
            spans = np.stack([ends - [len(word) for word in words], ends], axis=1)
            heads = np.clip(np.arange(len(words)) + rng.integers(-4, 5, len(words)), 0, len(words) - 1)
            heads[heads == np.arange(len(words))] = -1
            both.append(" ".join(words))
            trees.append(
                Words(spans, heads, tuple(rng.choice(["nsubj", "obj", "amod", "advmod"], len(words))))
            )
        made.append(Passage(f"made/{number}", tuple(both), None, tuple(trees)))
    return made


def _scores(model: Model, passages: list[Passage], sieves: Selection) -> Any:
    job = SieveJob(model, sieves, Annotator(None))
    (shard,) = stream(model, passages, job, batch_size=3, max_length=96, advance=lambda count: None)
    return shard


def _reference(model: Model, folder: Path, passages: list[Passage], sieves: Selection) -> np.ndarray:
    """Scores of the plain eager model's attention, in float64: columns, examples, layers, heads."""
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    network = network.get_encoder() if network.config.is_encoder_decoder else network
    found = []
    for each in tokenise(model.tokenizer, passages, 96):
        example = example_of(each, each.passage.words, True)
        inputs = {name: torch.tensor([values]) for name, values in each.inputs.items()}
        with torch.inference_mode():
            layers = network(**inputs, output_attentions=True).attentions
        scores = []
        for layer in layers:
            weights = layer[0].numpy().astype(np.float64)
            visible = (weights > 0).any(0)
            plan = sieves.plan(example, visible, np.float64)
            asked = [score_layer(each, weights, example, visible) for each in sieves.scorers]
            scores.append(np.concatenate([apply(plan, weights), *(own[None] for own in asked)]))
        found.append(np.stack(scores, axis=1))
    return np.stack(found, axis=1)


@pytest.mark.parametrize("name", ["bert", "modernbert", "llama", "mistral", "t5"])
def test_padded_batches_of_long_inputs_score_as_whole_attention_does(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, passages = _load(model_of(name)), _passages(2, 6)
    cut_into_blocks(monkeypatch, 4, 5000)
    odd = MaskSieve("odd", lambda each: np.random.default_rng(each.size).random((each.size, each.size)) < 0.4)
    masked = selection_of(
        ["local", "delimiter", "block", "syntactic", "identical", "previous", "subword"]
    ).sieves
    sieves = Selection((*masked, odd, _Corners(), BagOfWords()))
    shard = _scores(model, passages, sieves)
    wanted = _reference(model, model_of(name), passages, sieves)
    np.testing.assert_array_equal(np.isnan(shard.values), np.isnan(wanted))
    np.testing.assert_allclose(shard.values, wanted, rtol=0, atol=rounding_bound(int(shard.tokens.max())))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("name", ["bert", "llama", "mistral"])
def test_groups_of_heads_score_as_all_heads_together_do(
    name: str, plain: bool, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, passages = _load(model_of(name)), _passages(2, 4)
    cut_into_blocks(monkeypatch, 4, 5000)
    together = _scores(model, passages, selection_of(None))
    monkeypatch.setattr(capture_blocks, "FEWEST_ROWS", 5000)
    monkeypatch.setattr(capture_blocks, "GROUP", 4000)
    monkeypatch.setattr(softmax, "BLOCK", 4000)
    monkeypatch.setattr(softmax, "ROWS", 10)
    if not plain:
        object.__setattr__(model, "way", replace(model.way, plain=False))
    groups = set[tuple[int, int]]()
    honest = LongSums.add

    def noting(sums: LongSums, start: int, rows: torch.Tensor, first: int, heads: slice) -> None:
        groups.add((rows.shape[0], rows.shape[1]))
        honest(sums, start, rows, first, heads)

    monkeypatch.setattr(LongSums, "add", noting)
    apart = _scores(model, passages, selection_of(None))
    most = max(heads for heads, _ in groups)
    assert model.way.by_heads
    assert 0 < most < model.heads
    assert max(rows for _, rows in groups) < 40
    np.testing.assert_array_equal(np.isnan(apart.values), np.isnan(together.values))
    assert np.isfinite(apart.values).any(axis=(1, 2, 3)).mean() > 0.5
    np.testing.assert_allclose(apart.values, together.values, rtol=0, atol=2e-6)


class _Blocks:
    """A reader of long inputs that notes what it gets."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, int, torch.Tensor]] = []
        self.shown: list[VisibleMask] = []
        self.whole: list[torch.Tensor] = []
        self.by_heads = False

    def read_rows(self, place: Place, rows: torch.Tensor, visible: VisibleMask) -> None:
        self.blocks.append((place.start, place.first, rows))
        self.shown.append(visible)

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        raise AssertionError("the input is long")


class _Padded:
    """A reader of whole rows."""

    def __init__(self) -> None:
        self.rows: list[torch.Tensor] = []
        self.visible: list[VisibleArray] = []

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        self.rows.append(rows)
        self.visible.append(visible)


def _inputs(size: int) -> dict[str, torch.Tensor]:
    return {"input_ids": torch.from_numpy(np.random.default_rng(1).integers(5, 60, (1, size)))}


@pytest.mark.parametrize(("name", "back"), [("llama", 300), ("mistral", 5)])
def test_keys_that_no_query_of_a_block_sees_are_not_formed(name: str, back: int, model_of: ModelOf) -> None:
    model = _load(model_of(name))
    blocks, whole = _Blocks(), _Padded()
    run(model.network, model.way, _inputs(300), [300], blocks)
    run(model.network, model.way, _inputs(300), [300], whole)
    assert all(
        isinstance(each, Band) and (each.low, each.high) == (max(-back, -299), 0) for each in blocks.shown
    )
    assert whole.visible[0] is whole.visible[-1]
    for (start, first, rows), padded in zip(blocks.blocks, whole.rows, strict=True):
        stop = start + rows.shape[1]
        assert (first, first + rows.shape[2]) == (max(0, start - back), stop)
        assert padded.shape[2] == 300
        torch.testing.assert_close(padded[..., first:stop], rows, rtol=0, atol=0)
        assert not padded[..., stop:].any()
        assert not padded[..., :first].any()
        torch.testing.assert_close(rows.sum(2), torch.ones(rows.shape[:2]), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "llama", "mistral", "t5"])
def test_the_output_of_a_long_input_is_the_fused_kernels_but_for_rounding(
    name: str, model_of: ModelOf
) -> None:
    model = _load(model_of(name))
    assert model.way.name == FORMED
    output, _ = run(model.network, model.way, _inputs(300), [300], _Blocks())
    model.network.set_attn_implementation("sdpa")
    with torch.inference_mode():
        plain = model.network(**_inputs(300))[0]
    torch.testing.assert_close(output, plain, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_nothing_as_large_as_a_matrix_of_booleans_is_made_while_a_long_input_is_scored(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _load(model_of(name))
    monkeypatch.setattr(capture_blocks, "CACHE", 2**17)
    words = ["treaty"] * 900
    text = " ".join(words)
    ends = np.arange(900) * 7 + 6
    spans = np.stack([ends - 6, ends], axis=1)
    tree = Words(spans, np.arange(900) - 1, ("nsubj",) * 900)
    job = SieveJob(model, Selection((*selection_of(None).sieves, BagOfWords())), Annotator(None))
    (tokenised,) = tokenise(model.tokenizer, [Passage("long", (text,), None, (tree,))], 512)
    table = job.table([tokenised])
    batch = job.prepare([tokenised], np.array([0]))
    inputs = {"input_ids": torch.tensor([tokenised.inputs["input_ids"]])}
    with Largest() as largest:
        run(model.network, model.way, inputs, [tokenised.size], job.reader(batch, table))
    assert tokenised.size > 500
    assert 2**16 < largest.bytes < tokenised.size**2
    assert np.isfinite(job.result(table).values[0]).all()


def _mask(kind: str, size: int) -> np.ndarray:
    offset = np.arange(size)[None, :] - np.arange(size)[:, None]
    rows = (np.arange(size) < 9)[:, None] & (np.arange(size) > 4)[None, :]
    found: dict[str, np.ndarray] = {
        "causal": offset <= 0,
        "window": (offset <= 0) & (offset > -6),
        "near": np.abs(offset) < 5,
        "ahead": offset >= 0,
        "own": offset == 0,
        "chunks": (offset <= 0) & (np.arange(size)[None, :] // 7 == np.arange(size)[:, None] // 7),
        "left padding": (offset <= 0) & (np.arange(size)[None, :] > 2),
        "rows": rows,
    }
    return found[kind]


@pytest.mark.parametrize("additive", [False, True])
@pytest.mark.parametrize(
    "kind", ["causal", "window", "near", "ahead", "own", "chunks", "left padding", "rows"]
)
def test_a_mask_is_recognised_as_a_band_or_kept_as_it_is(
    kind: str, additive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture_visible, "BLOCK", 100)
    wanted = _mask(kind, 30)
    given = torch.zeros(2, 1, 40, 40, dtype=torch.bool)
    given[1, 0, :30, :30] = torch.from_numpy(wanted)
    if additive:
        given = torch.where(given, 0.0, torch.finfo(torch.float32).min)
    shown = capture_visible.visible_mask_under(given, False, 1, 30)
    irregular = kind in ("chunks", "left padding", "rows")
    assert isinstance(shown, Cells if irregular else Band)
    np.testing.assert_array_equal(to_visible_array(shown, 30), wanted)
    again = to_visible_mask(wanted)
    assert isinstance(again, Match if kind == "rows" else Cells if irregular else Band)
    np.testing.assert_array_equal(to_visible_array(again, 30), wanted)
    if not irregular:
        assert visible_key(again) == visible_key(shown) != visible_key(Band(-1, 0, 30))


def test_a_mask_of_all_keys_is_none_and_one_row_stands_for_all_queries() -> None:
    assert capture_visible.visible_mask_under(torch.ones(1, 1, 9, 9, dtype=torch.bool), False, 0, 9) is None
    assert capture_visible.visible_mask_under(torch.ones(1, 1, 1, 12, dtype=torch.bool), False, 0, 9) is None
    some = torch.ones(1, 1, 1, 9, dtype=torch.bool)
    some[..., 3] = False
    shown = capture_visible.visible_mask_under(some, False, 0, 9)
    np.testing.assert_array_equal(to_visible_array(shown, 9), np.broadcast_to(some[0, 0].numpy(), (9, 9)))
    assert capture_visible.visible_mask_under(None, True, 0, 1) is None


@pytest.mark.parametrize(("key_heads", "groups"), [(1, 1), (2, 1), (4, 4), (12, 6)])
def test_heads_are_formed_in_groups_only_where_a_group_has_as_many_rows_at_a_time(
    key_heads: int, groups: int
) -> None:
    running: Any = SimpleNamespace(trial=0, by_heads=True, plain=False)
    query, key = torch.empty(1, 12, 2048, 0), torch.empty(1, key_heads, 2048, 0)
    found = capture_blocks.cut_heads(running, 2048, query, key)
    assert len(found) == groups
    assert [head for own, _, _ in found for head in range(own.start, own.stop)] == list(range(12))
    whole = capture_blocks.rows_per_block(2048, 12, query.device)
    assert all(step >= whole if groups > 1 else step == whole for _, _, step in found)


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_threads_share_the_heads_of_long_inputs_without_changing_a_score(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, passages = _load(model_of(name)), _passages(2, 4)
    monkeypatch.setattr(softmax, "BLOCK", 4000)
    cut_into_blocks(monkeypatch, 4, 5000)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            with torch.inference_mode():
                found.append(
                    _scores(
                        model, passages, selection_of(["local", "identical", "block", "syntactic"])
                    ).values
                )
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    one, three = found
    assert np.isfinite(one).any()
    # Products of the layers themselves have threads, too.
    np.testing.assert_allclose(one, three, rtol=0, atol=2e-6)


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def fail() -> None:
        raise ValueError("no such head")

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    threads = Threads()
    try:
        with pytest.raises(ValueError, match="no such head"):
            threads.run([lambda: None, fail], torch.device("cpu"))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
