"""Choices are the most attended candidate, and contrasts of arcs are those of the syntactic sieves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.records.documents import Choices, Document, Window
from headroles.records.example import Arc, Example
from headroles.sieves.built_in.syntactic import relation
from headroles.sieves.probes.choices import arc_contrast, choose_candidates, hits, right_by_row, sentence_of
from headroles.sieves.weights.plan import column_names, plan
from headroles.sieves.weights.reference import apply
from tests.support.reference import draws
from tests.support.word_attention import word_attention

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=draws(40))


def _attention(rng: np.random.Generator, words: int, heads: int = 3) -> np.ndarray:
    """Rows that sum to less than one: the rest goes to special tokens. Coarse, so that there are ties."""
    return rng.integers(0, 4, size=(heads, words, words)) / (4.0 * words)


def _choices(rng: np.random.Generator, words: int) -> Choices:
    items = int(rng.integers(0, 2 * words))
    query = rng.integers(words, size=items)
    candidates = rng.random((items, words)) < 0.7
    candidates[np.arange(items), query] = False
    spare = (query + 1) % words
    candidates[np.arange(items), spare] |= ~candidates.any(axis=1)
    right = candidates & (rng.random((items, words)) < 0.5)
    return Choices(rng.random((3, items)) < 0.6, query, candidates, right)


@few
@given(seeds, st.integers(2, 6), st.booleans())
def test_a_head_chooses_the_most_attended_candidate_and_the_first_of_equals(
    seed: int, words: int, reverse: bool
) -> None:
    rng = np.random.default_rng(seed)
    attention, choices = _attention(rng, words), _choices(rng, words)
    answers = choose_candidates(attention, choices, reverse)
    right = hits(answers, choices)
    assert answers.shape == right.shape == (len(choices.query), 3)
    tally = np.zeros((3, 3), dtype=np.int64)
    for item, query in enumerate(choices.query):
        for head in range(3):
            best, most = -1, 0.0
            for word in np.flatnonzero(choices.candidates[item]):
                seen = attention[head, word, query] if reverse else attention[head, query, word]
                if seen > most:
                    best, most = int(word), float(seen)
            assert answers[item, head] == best
            assert right[item, head] == (best >= 0 and choices.right[item, best])
            tally[:, head] += choices.rows[:, item] & right[item, head]
    np.testing.assert_array_equal(right_by_row(right, choices), tally)


def test_no_attention_is_no_choice_and_never_right() -> None:
    backward = np.tril(np.ones((1, 3, 3))) / 3
    others = ~np.eye(3, dtype=np.bool_)
    choices = Choices(np.ones((1, 3), dtype=np.bool_), np.arange(3), others, others)
    answers = choose_candidates(backward, choices, False)
    assert answers[:, 0].tolist() == [-1, 0, 0]
    assert hits(answers, choices)[:, 0].tolist() == [False, True, True]
    assert choose_candidates(backward, choices, True)[:, 0].tolist() == [1, 2, -1]


def test_words_of_a_window_know_their_sentence() -> None:
    words = tuple("abcdefg")
    spans = np.array([[k, k + 1] for k in range(7)])
    document = Document("d", "abcdefg", spans, words, sentences=np.array([0, 3, 4]))
    assert sentence_of(Window(document, 0, 7, 0)).tolist() == [0, 0, 0, 1, 2, 2, 2]
    assert sentence_of(Window(document, 2, 5, 2)).tolist() == [0, 1, 2]


# Contrasts


def _example(rng: np.random.Generator, words: int) -> Example:
    """Words of one to three pieces between special tokens, each with a random head or none."""
    pieces = rng.integers(1, 4, size=words)
    word = np.concatenate([[-1], np.repeat(np.arange(words), pieces), [-1]])
    heads = (np.arange(words) + rng.integers(1, words, size=words)) % words
    arcs = [Arc(d, int(h), "det") for d, h in enumerate(heads) if d == 0 or rng.random() < 0.7]
    segment = np.where(word < 0, -1, 0)
    return Example(
        "e", tuple(f"t{k}" for k in range(len(word))), segment=segment, word=word, arcs=tuple(arcs)
    )


def _softmax(rng: np.random.Generator, visible: np.ndarray) -> np.ndarray:
    cells = np.exp(2 * rng.standard_normal((3, *visible.shape))) * visible
    rows: np.ndarray = cells / cells.sum(axis=2, keepdims=True)
    return rows


def _between(attention: np.ndarray, word: np.ndarray) -> np.ndarray:
    """Word attention, special tokens left out."""
    inside = word >= 0
    whole = word_attention(attention, np.where(inside, word, word.max() + 1))
    return whole[..., :-1, :-1]


@few
@given(seeds, st.integers(3, 8), st.booleans(), st.booleans())
def test_contrasts_of_arcs_sum_to_that_of_the_syntactic_sieve(
    seed: int, words: int, reverse: bool, causal: bool
) -> None:
    rng = np.random.default_rng(seed)
    example = _example(rng, words)
    arcs = [(arc.head, arc.dependent) if reverse else (arc.dependent, arc.head) for arc in example.arcs or ()]
    turned = Example(
        "e",
        example.tokens,
        segment=example.segment,
        word=example.word,
        arcs=tuple(Arc(query, right, "det") for query, right in arcs),
    )
    everything = np.ones((example.size, example.size), dtype=np.bool_)
    visible = np.tril(everything) if causal else everything
    attention = _softmax(rng, visible)
    sieve = relation("det")
    laid = plan(turned, [sieve], visible)
    column = column_names([sieve]).index("syntactic:det:matched")
    others = ~np.eye(words, dtype=np.bool_)
    if causal:
        pieces = _between(visible / visible.sum(axis=1, keepdims=True), example.word)
        others &= pieces > 0
    else:
        pieces = np.bincount(example.word[example.word >= 0]).astype(np.float64)
    query, right = np.array(arcs).T
    beyond = arc_contrast(_between(attention, example.word), pieces, others, query, right)
    assert beyond.shape == (len(arcs), 3)
    if np.isnan(laid.cells[column]):
        np.testing.assert_allclose(beyond.sum(axis=0), 0, atol=1e-9)
    else:
        expected = apply(laid, attention)[column] * laid.cells[column]
        np.testing.assert_allclose(beyond.sum(axis=0), expected, rtol=0, atol=1e-9)


@few
@given(seeds, st.integers(2, 5), st.integers(2, 5))
def test_contrasts_of_several_sentences_share_the_profile_and_nothing_else(
    seed: int, first: int, second: int
) -> None:
    rng = np.random.default_rng(seed)
    words = first + second
    attention = _softmax(rng, np.ones((words, words), dtype=np.bool_))
    pieces = rng.integers(1, 4, size=words).astype(np.float64)
    sentence = np.repeat([0, 1], [first, second])
    allowed = (sentence[:, None] == sentence) & ~np.eye(words, dtype=np.bool_)
    query, right = np.nonzero(allowed)
    beyond = arc_contrast(attention, pieces, allowed, query, right)
    pairs = list(zip(query.tolist(), right.tolist(), strict=True))
    for head in range(3):
        curve = {}
        for d in {j - i for i, j in pairs}:
            mass = sum(attention[head, i, j] for i, j in pairs if j - i == d)
            curve[d] = mass / sum(pieces[j] for i, j in pairs if j - i == d)
        for item, (i, j) in enumerate(pairs):
            room = [k for k in range(words) if allowed[i, k]]
            level = sum(curve[k - i] * pieces[k] for k in room)
            expected = attention[head, i, room].sum() * curve[j - i] * pieces[j] / level
            assert beyond[item, head] == pytest.approx(attention[head, i, j] - expected, abs=1e-9)


def test_even_attention_and_fixed_offsets_have_no_contrast_but_a_look_at_the_arc_has() -> None:
    words = 8
    places = np.arange(words)
    even = np.full((words, words), 1 / words)
    previous = np.eye(words, k=-1)
    heads = np.array([3, 3, 5, 5, 6, 7, 2, 1])
    looking = np.eye(words)[heads]
    others = ~np.eye(words, dtype=np.bool_)
    attention = np.stack([even, previous, looking])
    beyond = arc_contrast(attention, np.ones(words), others, places, heads).mean(axis=0)
    np.testing.assert_allclose(beyond[:2], 0, atol=1e-12)
    assert beyond[2] > 0.3


def test_a_word_with_one_other_to_look_at_has_no_contrast() -> None:
    attention = np.array([[[0.1, 0.7], [0.4, 0.2]]])
    allowed = ~np.eye(2, dtype=np.bool_)
    beyond = arc_contrast(attention, np.ones(2), allowed, np.array([0, 1]), np.array([1, 0]))
    np.testing.assert_allclose(beyond, 0, atol=1e-15)
