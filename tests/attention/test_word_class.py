"""Attention between words, and contrasts against word class are those of plain arrays."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Example
from headroles.arrays import selection_of
from headroles.extraction import (
    Model,
    Scratch,
    example_of,
    from_words,
    split_in_halves,
    to_words,
    tokenise,
    word_rows,
    word_space,
)
from headroles.records import Passage
from tests.support.read_models import cut_into_blocks, plain_network, plain_run, ready
from tests.support.reference import draws, rounding_bound
from tests.support.streams import passages, plain_scores, streamed
from tests.support.word_attention import word_attention

ModelOf = Callable[[str], Path]
NAMES = ("syntactic", "syntactic:obj")
CPU = torch.device("cpu")
CLASSES = ("ADJ", "ADP", "ADV", "AUX", "DET", "NOUN", "PRON", "PROPN", "VERB", "X")
KINDS, NEAR, STEPS = 18, 8, 8
"""Word classes, kinds of nearness, and distances on each side, in the cell of a pair of words."""


def classified(count: int) -> list[Passage]:
    """Random texts whose words have word classes."""
    rng = np.random.default_rng(5)
    made = []
    for each in passages(1, count, fewest=5, most=14):
        assert each.words is not None
        (words,) = each.words
        upos = tuple(rng.choice(CLASSES, size=len(words.heads)).tolist())
        made.append(replace(each, words=(replace(words, upos=upos),)))
    return made


def _levels(cell: int, occurrences: int) -> list[tuple[int, ...]]:
    """What two pairs of words agree in, from the distance alone to everything that is known."""
    rest, near = divmod(cell, NEAR)
    rest, key = divmod(rest, KINDS)
    distance, query = divmod(rest, KINDS)
    side, often = distance // STEPS, (occurrences > 2) + (occurrences > 20)
    return [
        (distance,), (side, key, near), (distance, key, near), (side, query, key, near),
        (distance, query, key, near), (distance, query, key, near, often),
    ]  # fmt: skip


def _beyond_class(
    pairs: list[Any],
    examples: list[Example],
    counts: Counter[str],
    attention: list[np.ndarray],
    half: np.ndarray,
) -> list[np.ndarray]:
    """Attention on counted pairs of words beyond that of the profile of the other half, by plain loops."""
    levels: list[list[list[tuple[int, ...]]]] = []
    totals: list[defaultdict[Any, Any]] = [defaultdict(lambda: [0.0, 0]) for _ in range(2)]
    for own, example, weights, which in zip(pairs, examples, attention, half.tolist(), strict=True):
        rare = {
            word: min(
                counts[token.lower()]
                for token, of in zip(example.tokens, example.word, strict=True)
                if of == word
            )
            for word in {*example.word.tolist()}
        }
        levels.append(
            [_levels(int(c), rare.get(int(key), 0)) for c, key in zip(own.cell, own.key, strict=True)]
        )
        for query, key, size, places in zip(own.query, own.key, own.size, levels[-1], strict=True):
            for level, place in enumerate(places):
                total = totals[which][level, place]
                total[0], total[1] = total[0] + size * weights[:, query, key], total[1] + 1
    found = []
    for own, weights, which, of_input in zip(pairs, attention, half.tolist(), levels, strict=True):
        profile = []
        for places in of_input:
            value, weight = np.zeros(len(weights)), 0.0
            for level, place in enumerate(places):
                total, count = totals[not which].get((level, place), (0.0, 0))
                value, weight = (total + weight * value) / max(count + weight, 1), 2.0
            profile.append(value)
        columns = []
        for counted in own.counted:
            apart = []
            for place in counted.tolist():
                query = own.query[place]
                others = np.flatnonzero(own.query == query)
                mass = weights[:, query, own.key[others]].sum(axis=1)
                share = profile[place] / sum(profile[other] for other in others)
                apart.append(weights[:, query, own.key[place]] - mass * share)
            columns.append(np.mean(apart, axis=0) if apart else np.full(len(weights), np.nan))
        found.append(np.stack(columns))
    return found


def _wanted(model: Model, folder: Path, asked: list[Passage]) -> np.ndarray:
    """Scores of both columns (2, inputs, layers, heads) from the plain model's attention between words."""
    network, selection = plain_network(folder, "eager"), selection_of(NAMES)
    tokenised = tokenise(model.tokenizer, asked, 96)
    examples = [example_of(each, each.passage.words, True) for each in tokenised]
    attention = []
    for example, each in zip(examples, tokenised, strict=True):
        inputs = {name: torch.tensor([values]) for name, values in each.inputs.items()}
        layers = torch.cat(plain_run(network, inputs, output_attentions=True).attentions)
        rows = layers.double().numpy().reshape(-1, example.size, example.size)
        inside = np.flatnonzero(example.word >= 0)
        attention.append(word_attention(rows[:, inside][:, :, inside], example.word[inside]))
    counts = Counter(token.lower() for example in examples for token in example.tokens)
    units = ["\n".join(passage.texts) for passage in asked]
    half = split_in_halves(units, [example.size for example in examples])
    pairs = [own for (own,) in selection.word_pairs_of(examples) if own is not None]
    beyond = np.stack(_beyond_class(pairs, examples, counts, attention, half)).transpose(1, 0, 2)
    distance = plain_scores(model, network, asked, NAMES)[[1, 4]]
    (space,) = selection.class_spaces
    share = np.array(space.share)[:, None, None, None]
    scores: np.ndarray = beyond.reshape(distance.shape) - share * distance
    return scores


def test_streamed_contrasts_are_those_of_the_reference_in_batches_and_in_blocks(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, asked, sieves = model_of("bert"), classified(50), selection_of(NAMES)
    model = ready(folder)
    wanted, close = _wanted(model, folder, asked), rounding_bound(96, magnitude=4)
    assert np.isfinite(wanted[0]).all(axis=(1, 2)).mean() > 0.7
    for size in (1, 7):
        values = streamed(model, asked, sieves, size=size).values
        np.testing.assert_allclose(values[[2, 5]], wanted, rtol=0, atol=close)
    cut_into_blocks(monkeypatch, 8, 4096)
    values = streamed(model, asked, sieves, size=3).values
    np.testing.assert_allclose(values[[2, 5]], wanted, rtol=0, atol=close)
    bare = streamed(model, passages(1, 12), sieves).values
    assert np.isnan(bare[[2, 5]]).all()
    assert np.isfinite(bare[1]).any()


@settings(max_examples=draws(40))
@given(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=8), min_size=1, max_size=4),
    st.booleans(), st.booleans(), st.integers(0, 99),
)  # fmt: skip
def test_attention_between_words_of_a_batch_is_that_of_each_example(
    pieces: list[list[int]], pick: bool, dense: bool, seed: int
) -> None:
    words = [np.array([-1, *np.repeat(np.arange(len(each)), each), -1]) for each in pieces]
    weights = torch.rand(
        (len(words), 3, *[max(map(len, words))] * 2), generator=torch.Generator().manual_seed(seed)
    )
    space = word_space(words, [len(each) for each in pieces], CPU, pick=pick)
    if dense:  # sums by matrix products, as on other devices
        space = replace(space, member=torch.eye(space.words + 1)[space.word[:, 0, 0]])
    memory = Scratch(CPU)
    for _ in range(2):  # the second time in memory that is used again
        rows = to_words(word_rows(weights, space, memory), space, memory)
        made = from_words(rows, space, memory)
    for place, (word, each) in enumerate(zip(words, pieces, strict=True)):
        kept, there = np.flatnonzero(word >= 0), np.flatnonzero(each)
        wanted = np.zeros((3, len(each), len(each)), dtype=np.float32)
        if len(there):
            own = weights[place].numpy()[:, kept][:, :, kept]
            wanted[np.ix_(np.arange(3), there, there)] = word_attention(
                own, np.searchsorted(there, word[kept])
            )
        found = made[place, :, : len(each), : len(each)]
        np.testing.assert_allclose(found, wanted, atol=rounding_bound(weights.shape[-1]))
    memory.take_zero("wide", (2, 6))[:, 1] = 1
    assert memory.take_zero("wide", (2, 6)).sum() == 2  # of one shape: as its user left it
    assert memory.take_zero("wide", (3, 4)).sum() == memory.take_zero("wide", (5, 5)).sum() == 0
