"""Word pieces to words in batches, and choices among words, agree with the numpy reference."""

from dataclasses import replace

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from headroles.extraction.scoring.distance_profile import choices_to_device, right_answers
from headroles.extraction.scoring.scratch import Scratch
from headroles.extraction.scoring.word_space import from_words, to_words, word_rows, word_space
from headroles.records.documents import Choices
from headroles.sieves.probes.choices import choose_candidates, hits, right_by_row
from tests.support.reference import rounding_bound
from tests.support.word_attention import word_attention

CPU = torch.device("cpu")
WORDS = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=8), min_size=1, max_size=4)
"""How many pieces each word of each example has."""


def _words(pieces: list[int]) -> np.ndarray:
    """Word of each token, between two special tokens."""
    return np.array([-1, *np.repeat(np.arange(len(pieces)), pieces), -1])


@given(WORDS, st.booleans(), st.booleans(), st.integers(0, 99))
def test_attention_between_words_of_a_batch_is_that_of_each_example(
    pieces: list[list[int]], pick: bool, dense: bool, seed: int
) -> None:
    words = [_words(each) for each in pieces]
    width = max(map(len, words))
    weights = torch.rand((len(words), 3, width, width), generator=torch.Generator().manual_seed(seed))
    space = word_space(words, [len(each) for each in pieces], CPU, pick=pick)
    if dense:  # sums by matrix products, as on other devices
        space = replace(space, member=torch.eye(space.words + 1)[space.word[:, 0, 0]])
    scratch = Scratch(CPU)
    for _ in range(2):  # the second time in memory that is used again
        made = from_words(to_words(word_rows(weights, space, scratch), space, scratch), space, scratch)
    for place, (word, each) in enumerate(zip(words, pieces, strict=True)):
        kept, there = np.flatnonzero(word >= 0), np.flatnonzero(each)
        wanted = np.zeros((3, len(each), len(each)), dtype=np.float32)
        if len(there):
            unit = np.searchsorted(there, word[kept])
            own = weights[place].numpy()[:, kept][:, :, kept]
            wanted[np.ix_(np.arange(3), there, there)] = word_attention(own, unit)
        np.testing.assert_allclose(
            made[place, :, : len(each), : len(each)], wanted, atol=rounding_bound(weights.shape[-1])
        )


@given(st.integers(1, 4), st.integers(2, 9), st.booleans(), st.integers(0, 999))
def test_choices_in_batches_are_those_of_the_reference_also_where_words_tie(
    examples: int, most: int, once: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, most + 1, examples)
    sizes[0] = most
    attention = rng.integers(0, 4, (examples, 3, most, most)).astype(np.float32) / 4
    asked = []
    for size in sizes:
        query = np.arange(size) if once else rng.integers(0, size, rng.integers(0, 2 * size))
        candidates = rng.random((len(query), size)) < 0.7
        candidates[np.arange(len(query)), (query + 1) % size] = True
        right = candidates & (rng.random(candidates.shape) < 0.4)
        asked.append(Choices(rng.random((2, len(query))) < 0.6, query, candidates, right))
    choices = choices_to_device(asked, most, CPU)
    assert (choices.table is not None) >= once
    for reverse in (False, True):
        found = right_answers(torch.from_numpy(attention), choices, reverse, Scratch(CPU))
        for place, (each, size) in enumerate(zip(asked, sizes, strict=True)):
            own = attention[place, :, :size, :size]
            wanted = right_by_row(hits(choose_candidates(own, each, reverse), each), each)
            np.testing.assert_array_equal(found[place].numpy(), wanted)


def test_memory_taken_as_zero_is_zero_again_in_another_shape() -> None:
    scratch = Scratch(CPU)
    scratch.take_zero("wide", (2, 6))[:, 1] = 1
    assert scratch.take_zero("wide", (2, 6)).sum() == 2
    assert scratch.take_zero("wide", (3, 4)).sum() == 0
    assert scratch.take_zero("wide", (5, 5)).sum() == 0
