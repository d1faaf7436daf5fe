"""Several texts parsed at once: each gets the numbers, and so the tree, that it gets alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from threadpoolctl import threadpool_info

from headroles.extraction.model.machine import use_threads
from headroles.extraction.model.threads import has_own_openblas, one_numpy_thread
from headroles.extraction.parsing import together
from headroles.extraction.parsing.pipeline import load_parser, parse_texts, words_of
from headroles.extraction.parsing.together import CHARACTERS, TEXTS, TextOps, batches, docs_of, take_several

pytestmark = pytest.mark.skipif(not has_own_openblas(), reason="numpy comes without an OpenBLAS of its own")

WORDS = (
    "the",
    "a",
    "cat",
    "dog",
    "saw",
    "saw",
    "of",
    "under",
    ",",
    ".",
    "and",
    "old",
    "Ann",
    "'s",
    "not",
    "1912",
)
TEXT = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)


@pytest.fixture(scope="module")
def parser() -> Language:
    """The parser that headroles ships."""
    return load_parser(None)[0]


def _vectors(parser: Language, texts: Sequence[str]) -> list[np.ndarray]:
    return [np.array(doc.tensor) for doc in docs_of(parser, texts)]


@settings(max_examples=15, deadline=None)
@given(texts=st.lists(TEXT, min_size=1, max_size=TEXTS + 3))
def test_a_text_has_the_vectors_and_the_tree_it_has_alone_to_the_bit(
    parser: Language, texts: list[str]
) -> None:
    for text, vectors in zip(texts, _vectors(parser, texts), strict=True):
        (alone,) = _vectors(parser, [text])
        np.testing.assert_array_equal(vectors, alone)
    for text, words in zip(texts, parse_texts(parser, texts), strict=True):
        (own,) = parse_texts(parser, [text])
        assert (words.heads.tolist(), words.relations, words.upos) == (
            own.heads.tolist(),
            own.relations,
            own.upos,
        )


def test_vectors_and_trees_are_those_of_spacy_up_to_rounding(parser: Language) -> None:
    texts = ["The old dog saw a cat under the river.", "", "It rains.", "Who knows whose it is?"]
    plain = spacy.load(parser.path)
    for text, doc in zip(texts, docs_of(parser, texts), strict=True):
        expected = plain(text)
        np.testing.assert_allclose(np.ravel(doc.tensor), np.ravel(expected.tensor), atol=1e-4)
        assert words_of(doc).heads.tolist() == words_of(expected).heads.tolist()
        assert words_of(doc).relations == words_of(expected).relations


def test_the_same_parser_still_takes_one_text_in_the_way_of_spacy(parser: Language) -> None:
    text = "The old dog saw a cat."
    (words,) = parse_texts(parser, [text])
    assert words_of(parser(text)).heads.tolist() == words.heads.tolist()


def _parser_of(pipeline: Language) -> Any:
    return pipeline.get_pipe("parser")


def test_a_parser_with_another_part_is_left_as_it_is(parser: Language) -> None:
    other = spacy.load(parser.path)
    other.add_pipe("sentencizer", first=True)
    take_several(other)
    assert not isinstance(_parser_of(other).model.ops, TextOps)
    assert len(list(docs_of(other, ["It rains.", "It snows."]))) == 2


def test_a_parser_whose_states_depend_on_their_number_is_left_as_it_is(
    parser: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = spacy.load(parser.path)
    monkeypatch.setattr(together, "_states_are_independent", lambda actions, width: False)
    take_several(other)
    assert not isinstance(_parser_of(other).model.ops, TextOps)


def test_rows_that_are_not_those_of_the_texts_are_refused() -> None:
    ops, rows = TextOps(1), np.ones((4, 2), dtype=np.float32)
    with ops.of_texts([2, 1]), pytest.raises(ValueError, match="2 texts of 3 tokens have no 4 rows"):
        ops.gemm(rows, rows, trans2=True)


def test_rows_of_a_text_and_its_padding_are_multiplied_on_their_own() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(2 + (2 + 2) + (5 + 2), 8)).astype(np.float32)
    weights = random.normal(size=(3, 8)).astype(np.float32)
    ops = TextOps(1)
    with ops.of_texts([2, 5]):
        found = ops.gemm(rows, weights, trans2=True)
    np.testing.assert_array_equal(found[1:5], rows[1:5] @ weights.T)
    np.testing.assert_array_equal(found[5:12], rows[5:12] @ weights.T)
    assert not found[[0, 12]].any()


@given(sizes=st.lists(st.integers(0, 2 * CHARACTERS), max_size=80))
def test_batches_hold_all_texts_in_order_and_few_characters(sizes: list[int]) -> None:
    texts = ["x" * size for size in sizes]
    found = list(batches(texts))
    assert [text for batch in found for text in batch] == texts
    for batch in found:
        assert len(batch) == 1 or (len(batch) <= TEXTS and sum(map(len, batch)) <= CHARACTERS)


def test_numpy_has_one_thread_in_a_run_and_its_own_number_afterwards() -> None:
    def threads() -> list[int]:
        return [each["num_threads"] for each in threadpool_info() if "numpy" in str(each["filepath"])]

    before = threads()
    with use_threads(None):
        assert set(threads()) == {1}
        with one_numpy_thread():
            assert set(threads()) == {1}
        assert set(threads()) == {1}
    assert threads() == before
