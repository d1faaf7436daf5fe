"""Attention between words, and contrasts against word class are those of plain arrays."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import extraction
from headroles.arrays import selection_of
from headroles.records import Passage
from tests.sieves.test_word_class import Reading, class_contrasts
from tests.support.causal.plain import tensors_of
from tests.support.read_models import cut_into_blocks, plain_network, plain_run, ready
from tests.support.reference import rounding_bound
from tests.support.streams import passages, plain_scores, streamed

ModelOf = Callable[[str], Path]
NAMES = ("syntactic", "syntactic:obj")
CLASSES = ("ADJ", "ADP", "ADV", "AUX", "DET", "NOUN", "PRON", "PROPN", "VERB", "X")


def word_attention(attention: np.ndarray, word: np.ndarray) -> np.ndarray:
    """Attention (…, words, words): summed over attended pieces, and the mean over attending ones."""
    belongs = (word == np.arange(word.max(initial=-1) + 1)[:, None]).astype(attention.dtype)
    words: np.ndarray = belongs / belongs.sum(1, keepdims=True) @ attention @ belongs.T
    return words


def classified(count: int) -> list[Passage]:
    """Random texts whose words have word classes."""
    rng, made = np.random.default_rng(5), []
    for each in passages(1, count, fewest=5, most=14):
        assert each.words is not None
        (words,) = each.words
        upos = tuple(rng.choice(CLASSES, size=len(words.heads)).tolist())
        made.append(replace(each, words=(replace(words, upos=upos),)))
    return made


def reference(model: Any, folder: Path, asked: list[Passage]) -> np.ndarray:
    """Scores of both columns (2, inputs, layers, heads) from the plain model's attention between words."""
    import torch

    network, selection = plain_network(folder, "eager"), selection_of(NAMES)
    tokenised = extraction.tokenise(model.tokenizer, asked, 96)
    examples = [extraction.example_of(each, each.passage.words, True) for each in tokenised]
    counts = Counter(token.lower() for example in examples for token in example.tokens)
    attention, readings = [], []
    for example, each in zip(examples, tokenised, strict=True):
        layers = torch.cat(plain_run(network, tensors_of(each), output_attentions=True).attentions)
        inside = np.flatnonzero(example.word >= 0)
        rows = layers.double().numpy().reshape(-1, example.size, example.size)[:, inside][:, :, inside]
        attention.append(word_attention(rows, example.word[inside]))
        (words,) = each.passage.words
        pieces = [np.flatnonzero(example.word == word) for word in range(len(words.heads))]
        rare = [min(counts[example.tokens[place].lower()] for place in own) for own in pieces]
        readings.append(Reading(("",) * len(pieces), words.upos, words.heads, np.array(rare)))
    beyond = []
    for column in range(2):  # marks are no relation, and the second column is of objects
        trees = [np.array(each.passage.words[0].relations) for each in tokenised]
        asked_for = [tree == "obj" if column else tree != "punct" for tree in trees]
        heads = [np.where(own, each.heads, -1) for own, each in zip(asked_for, readings, strict=True)]
        given_readings = [replace(each, heads=own) for each, own in zip(readings, heads, strict=True)]
        sizes = [example.size for example in examples]
        beyond.append(class_contrasts(given_readings, attention, sizes))
    distance = plain_scores(model, network, asked, NAMES)[[1, 4]]
    share = np.array(selection.class_spaces[0].share)[:, None, None, None]
    scores: np.ndarray = np.array(beyond).reshape(distance.shape) - share * distance
    return scores


def test_streamed_contrasts_are_those_of_the_reference_in_batches_and_in_blocks(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, asked, sieves = model_of("bert"), classified(50), selection_of(NAMES)
    model = ready(folder)
    wanted, close = reference(model, folder, asked), rounding_bound(96, magnitude=4)
    assert np.isfinite(wanted[0]).all(axis=(1, 2)).mean() > 0.7
    for size in (1, 7, 3):
        if size == 3:
            cut_into_blocks(monkeypatch, 8, 4096)
        values = streamed(model, asked, sieves, size=size).values
        np.testing.assert_allclose(values[[2, 5]], wanted, rtol=0, atol=close)
    bare = streamed(model, passages(1, 12), sieves).values
    assert np.isnan(bare[[2, 5]]).all()
    assert np.isfinite(bare[1]).any()
