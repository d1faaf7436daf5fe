"""Contrasts against word class from streamed attention are those of attention that is all in memory."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel

from headroles.arrays import selection_of
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.stream import stream
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.plans.class_profile import split_in_halves
from headroles.plans.word_pairs import CLASSES, rarest
from headroles.records.example import Example
from headroles.records.passage import Passage, Words
from headroles.sieves.weights.reference import apply
from headroles.sieves.weights.word_class import reference
from tests.support.read_models import cut_into_blocks
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
VOCABULARY = (
    "the committee didn't decide about unbelievable treaty it was signed in Paris long debate re-opening"
)


def _passages(count: int, classes: bool = True) -> list[Passage]:
    """Random texts of two sentences each, with word classes and trees of obj and det."""
    rng = np.random.default_rng(5)
    made = []
    for number in range(count):
        sizes = rng.integers(3, 9, size=2)
        words = rng.choice(VOCABULARY.split(), size=sizes.sum()).tolist()
        ends = np.cumsum([len(word) + 1 for word in words]) - 1
        spans = np.stack([ends - [len(word) for word in words], ends], axis=1)
        heads = np.full(len(words), -1)
        for first, size in ((0, sizes[0]), (sizes[0], sizes[1])):
            order = first + rng.permutation(size)
            for place in range(1, size):
                heads[order[place]] = order[rng.integers(place)]
        relations = tuple(rng.choice(["obj", "det", "punct"], size=len(words)).tolist())
        upos = tuple(rng.choice(CLASSES[:9], size=len(words)).tolist()) if classes else None
        made.append(
            Passage(f"made/{number}", (" ".join(words),), None, (Words(spans, heads, relations, None, upos),))
        )
    return made


def _load(folder: Path) -> Model:
    return load(find_checkpoint(str(folder), None), device="cpu", dtype="float32", max_length=96)


def _scores(model: Model, passages: Sequence[Passage], size: int) -> np.ndarray:
    job = SieveJob(model, selection_of(["syntactic", "syntactic:obj"]), Annotator(None))
    (shard,) = stream(model, passages, job, batch_size=size, max_length=96, advance=lambda count: None)
    return shard.values


def _words(example: Example, weights: np.ndarray) -> np.ndarray:
    """Return attention between words: summed over attended pieces, averaged over attending ones."""
    member = (example.word[:, None] == np.arange(example.word.max() + 1)[None, :]).astype(np.float64)
    between: np.ndarray = (member / member.sum(axis=0)).T @ weights @ member
    return between


def _wanted(model: Model, folder: Path, passages: Sequence[Passage]) -> np.ndarray:
    """Return the scores of both class columns (2, inputs, layers, heads) from the plain model's attention."""
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenised = tokenise(model.tokenizer, passages, 96)
    examples = [example_of(given, given.passage.words, True) for given in tokenised]
    selection = selection_of(["syntactic", "syntactic:obj"])
    attention, distance = [], []
    for example, given in zip(examples, tokenised, strict=True):
        inputs = {name: torch.tensor([values]) for name, values in given.inputs.items()}
        with torch.inference_mode():
            layers = network(**inputs, output_attentions=True).attentions
        weights = torch.cat(layers)[:].numpy().astype(np.float64).reshape(-1, example.size, example.size)
        attention.append(np.stack([_words(example, head) for head in weights]))
        distance.append(apply(selection.plan(example, None, np.float64), weights)[[1, 4]])
    counts = Counter(token.lower() for example in examples for token in example.tokens)
    units = ["\n".join(passage.texts) for passage in passages]
    halves = split_in_halves(units, [example.size for example in examples])
    pairs = [own for (own,) in selection.word_pairs_of(examples) if own is not None]
    occurrences = [
        rarest(example.word, [counts[token.lower()] for token in example.tokens]) for example in examples
    ]
    beyond = reference(pairs, occurrences, attention, halves)
    (space,) = selection.class_spaces
    share = np.array(space.share)[None, :, None]
    scores: np.ndarray = (np.stack(beyond) - share * np.stack(distance)).transpose(1, 0, 2)
    return scores.reshape(2, len(passages), model.layers, model.heads)


def test_streamed_contrasts_are_those_of_the_reference_in_batches_and_in_blocks(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, passages = model_of("bert"), _passages(40)
    model = _load(folder)
    wanted = _wanted(model, folder, passages)
    close = rounding_bound(96, magnitude=4)
    several = _scores(model, passages, 7)
    np.testing.assert_allclose(several[[2, 5]], wanted, rtol=0, atol=close)
    assert np.isfinite(wanted[0]).all()
    np.testing.assert_allclose(_scores(model, passages, 1)[[2, 5]], wanted, rtol=0, atol=close)
    cut_into_blocks(monkeypatch, 8, 4096)
    np.testing.assert_allclose(_scores(model, passages, 3)[[2, 5]], wanted, rtol=0, atol=close)


def test_words_without_classes_leave_the_column_without_values(model_of: ModelOf) -> None:
    values = _scores(_load(model_of("bert")), _passages(40, classes=False), 8)
    assert np.isnan(values[[2, 5]]).all()
    assert np.isfinite(values[1]).all()
