"""Scores after removals are those of weights without the removed directions; others stay as they were."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group

from headroles.arrays import selection_of
from headroles.extraction.capture.neurons import Parts
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import ALL_NORMS, NO_NORMS, SOME_NORMS, Model, load
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.stream import stream_tokenised
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.extraction.why.again import score_again
from headroles.extraction.why.removal import removed_weights
from headroles.records.passage import Passage, Words
from headroles.sieves.selection import Selection
from headroles.sieves.weights.reference import apply
from tests.support.read_models import cut_into_blocks

ModelOf = Callable[[str], Path]
SIEVES = ["block", "local", "delimiter", "identical", "previous", "punctuation", "syntactic", "parked"]
WORDS = [
    "the",
    "committee",
    "didn't",
    "decide",
    "about",
    "treaty",
    ",",
    "it",
    "was",
    "signed",
    "in",
    "Paris",
    "long",
    "debate",
    "!",
]


class Largest:
    """A sieve that sees attention: the mean over queries of the largest weight."""

    name, description, source, needs = "largest", "mean largest weight", "made up", frozenset[str]()

    def score(self, attention: np.ndarray, example: Any) -> np.ndarray:
        """Return one number per head."""
        return np.asarray(attention.max(-1).mean(-1))

    def null(self, example: Any) -> float:
        """Return the value of even attention."""
        return 1 / float(example.size)


def _load(folder: Path, norms: str = SOME_NORMS, most: int = 64, dtype: str = "float32") -> Model:
    return load(find_checkpoint(str(folder), None), device="cpu", dtype=dtype, max_length=most, norms=norms)


def _inputs(model: Model, count: int = 10, fewest: int = 3) -> list[Tokenised]:
    """Pairs of random texts with trees; many have a partner of equal length."""
    generator = np.random.default_rng(4)
    passages = []
    for number in range(count):
        texts, trees = [], []
        for size in (fewest + number % 5, fewest + 4 - number % 5):
            words = generator.choice(WORDS, size=size).tolist()
            ends = np.cumsum([len(word) + 1 for word in words]) - 1
            heads = np.clip(np.arange(size) + generator.choice([-2, -1, 1, 2], size=size), -1, size - 1)
            heads[heads == np.arange(size)] = -1
            spans = np.stack([ends - [len(word) for word in words], ends], axis=1)
            texts.append(" ".join(words))
            trees.append(Words(spans, heads, tuple(generator.choice(["nsubj", "obj"], size=size).tolist())))
        passages.append(Passage(f"made/{number}", tuple(texts), None, tuple(trees)))
    return tokenise(model.tokenizer, passages, 512)


def _job(model: Model, inputs: list[Tokenised], sieves: Selection) -> SieveJob:
    return SieveJob(model, sieves, Annotator(None), units=[given.passage.key for given in inputs])


def _streamed(model: Model, inputs: list[Tokenised], sieves: Selection) -> Shard:
    """Scores of the ordinary run."""
    (shard,) = stream_tokenised(
        model, iter([inputs]), _job(model, inputs, sieves), batch_size=4, advance=lambda count: None
    )
    return shard


def _paired(*sieves: Any) -> Selection:
    return replace(selection_of([*(sieves or SIEVES)]), paired=True)


def _same(ours: Shard, theirs: Shard, close: float = 1e-5) -> None:
    """Compare two shards, with all columns."""
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=close)
    assert (ours.examples, ours.counts) == (theirs.examples, theirs.counts)
    np.testing.assert_array_equal(ours.cells, theirs.cells)
    np.testing.assert_array_equal(ours.null, theirs.null)
    np.testing.assert_allclose(ours.low, theirs.low, rtol=1e-6)
    np.testing.assert_allclose(ours.high, theirs.high, rtol=1e-6)


@pytest.mark.parametrize(
    "name", ["bert", "roberta", "modernbert", "gpt2", "llama", "gpt-oss", "gemma2", "t5"]
)
def test_the_round_without_removals_gives_the_ordinary_scores(name: str, model_of: ModelOf) -> None:
    model = _load(model_of(name), NO_NORMS if name in ("gpt-oss", "gemma2") else SOME_NORMS)
    norms = model.way.norms is not None
    sieves = _paired(*SIEVES, Largest()) if norms else _paired(*SIEVES[:-1])
    inputs = _inputs(model)
    plain, done = _streamed(model, inputs, sieves), list[int]()
    clean, again = score_again(model, _job(model, inputs, sieves), inputs, [{}], done.append)
    _same(clean, plain)
    np.testing.assert_array_equal(again.values, clean.values)
    assert clean.counts["pairs"] >= 1
    assert sum(done) == len(inputs)
    columns = sieves.columns
    assert np.isfinite(clean.values[columns.index("block:swap")]).any()
    assert np.isfinite(clean.values[columns.index("local")]).all()
    np.testing.assert_array_equal(_streamed(model, inputs, sieves).values, plain.values)


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_all_attention_by_norms_and_half_precision_are_scored_likewise(name: str, model_of: ModelOf) -> None:
    sieves = _paired("block", "local")
    for model, close in (
        (_load(model_of(name), ALL_NORMS), 1e-5),
        (_load(model_of(name), NO_NORMS, dtype="bfloat16"), 2e-2),
    ):
        inputs = _inputs(model)
        (clean,) = score_again(model, _job(model, inputs, sieves), inputs, [])
        _same(clean, _streamed(model, inputs, sieves), close)


def test_long_inputs_are_scored_likewise(model_of: ModelOf, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _load(model_of("mistral"), most=512)
    inputs, sieves = _inputs(model, 4, fewest=9), _paired(*SIEVES)
    cut_into_blocks(monkeypatch, 8, 4096)
    clean, after = score_again(model, _job(model, inputs, sieves), inputs, [{(1, 0): np.eye(8)}])
    _same(clean, _streamed(model, inputs, sieves))
    moved = np.nanmax(np.abs(after.values - clean.values), axis=(0, 1)) > 0
    assert np.argwhere(moved).tolist() == [[1, 0]]


def test_a_removal_changes_its_own_head_alone(model_of: ModelOf) -> None:
    model = _load(model_of("llama"))
    inputs, sieves = _inputs(model, 4), _paired(*SIEVES)
    one = np.eye(8)[:, :1]
    rounds = [{(0, 1): one, (2, 3): np.eye(8)}, {(0, 1): np.eye(8)[:, :2]}]
    clean, *after = score_again(model, _job(model, inputs, sieves), inputs, rounds)
    for shard, removals in zip(after, rounds, strict=True):
        changed = np.nanmax(np.abs(shard.values - clean.values), axis=(0, 1)) > 0
        assert [tuple(place) for place in np.argwhere(changed)] == sorted(removals)
        np.testing.assert_array_equal(shard.null, clean.null)
    assert (after[0].values[:, :, 0, 1] != after[1].values[:, :, 0, 1]).any()


def test_without_any_direction_scores_are_those_of_even_attention(model_of: ModelOf) -> None:
    model = _load(model_of("gpt2"))
    inputs, sieves = _inputs(model, 4), selection_of(["local", "previous", "identical"])
    job = _job(model, inputs, sieves)
    _, after = score_again(model, job, inputs, [{(1, 2): ortho_group.rvs(8, random_state=0)}])
    for place, prepared in enumerate(job.prepare(inputs, np.arange(len(inputs)))):
        size = prepared.tokenised.size
        visible = np.tri(size, dtype=bool)
        even = (visible / visible.sum(1, keepdims=True))[None]
        wanted = apply(sieves.plan(prepared.example, visible, np.float64), even)[:, 0]
        np.testing.assert_allclose(after.values[:, place, 1, 2], wanted, atol=1e-5)


@given(seed=st.integers(0, 2**32), removed=st.integers(0, 5), capped=st.booleans(), biased=st.booleans())
def test_weights_are_those_of_queries_without_the_directions(
    seed: int, removed: int, capped: bool, biased: bool
) -> None:
    generator = np.random.default_rng(seed)
    heads, tokens, size = 3, 6, 5
    query, key = generator.normal(size=(2, heads, tokens, size))
    bias = generator.normal(size=(heads, tokens, tokens)) if biased else None
    visible = np.tri(tokens, dtype=bool)
    basis = ortho_group.rvs(size, random_state=generator)[:, :removed]
    parts = Parts(
        query=torch.from_numpy(query).float(),
        key=torch.from_numpy(key).float(),
        scaling=0.7,
        softcap=2.0 if capped else float("nan"),
        bias=None if bias is None else torch.from_numpy(bias).float(),
        visible=torch.from_numpy(visible),
        sink=None,
        group=tuple(range(heads)),
    )
    found = removed_weights(parts, {1: basis}).numpy()
    kept = parts.query.clone()
    query[1] -= query[1] @ basis @ basis.T
    logits = 0.7 * query @ key.transpose(0, 2, 1)
    logits = 2.0 * np.tanh(logits / 2.0) if capped else logits
    powers = np.exp(np.where(visible, logits if bias is None else logits + bias, -np.inf))
    np.testing.assert_allclose(found, powers / powers.sum(-1, keepdims=True), atol=1e-5)
    assert torch.equal(parts.query, kept)
    if removed == size and not biased:
        np.testing.assert_allclose(found[1], visible / visible.sum(1, keepdims=True), atol=1e-6)
