"""Several texts parsed at once: each gets the numbers, and so the tree, that it gets alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from threadpoolctl import threadpool_info

from headroles.extraction.model import threads
from headroles.extraction.model.machine import use_threads
from headroles.extraction.model.threads import has_own_openblas, one_numpy_thread
from headroles.extraction.parsing import together
from headroles.extraction.parsing.pipeline import load_parser, parse_texts, words_of
from headroles.extraction.parsing.together import (
    CHARACTERS,
    TEXTS,
    batches,
    docs_of,
    take_several,
    takes_several,
)
from headroles.records.passage import Words

pytestmark = pytest.mark.skipif(not has_own_openblas(), reason="numpy comes without an OpenBLAS of its own")

WORDS = (
    *("the", "a", "cat", "dog", "saw", "saw", "of", "under", ",", ".", "and", "old", "Ann", "'s", "not"),
    *("1912", "cannot", "😀", "👍🏽", "\n", "", "http://a.b/c?d=e", "東京", "\u200b"),
)
TEXT = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join) | st.text(max_size=60)
ODD = (
    "",
    " ",
    "\n \t",
    "x",
    "word" * 500,
    "so it goes , " * 700,
    "👩\u200d👩\u200d👧",
    "no.spaces,at(all)here",
)


@pytest.fixture(scope="module")
def parser() -> Language:
    """The parser that headroles ships."""
    return load_parser(None)[0]


@pytest.fixture(scope="module")
def plain() -> Language:
    """The same parser as spaCy loads it."""
    return spacy.load(load_parser(None)[0].path)


def _vectors(parser: Language, texts: Sequence[str]) -> list[np.ndarray]:
    return [np.array(doc.tensor) for doc in docs_of(parser, texts)]


def _facts(words: Words) -> tuple[Any, ...]:
    return words.spans.tolist(), words.heads.tolist(), words.relations, words.upos, words.lemmas


@settings(max_examples=15)
@given(texts=st.lists(TEXT, min_size=1, max_size=TEXTS + 3))
def test_a_text_has_the_vectors_and_the_tree_it_has_alone_to_the_bit(
    parser: Language, texts: list[str]
) -> None:
    for text, vectors in zip(texts, _vectors(parser, texts), strict=True):
        (alone,) = _vectors(parser, [text])
        np.testing.assert_array_equal(vectors, alone)
    for text, words in zip(texts, parse_texts(parser, texts), strict=True):
        (own,) = parse_texts(parser, [text])
        assert _facts(words) == _facts(own)


@given(texts=st.lists(TEXT, min_size=1, max_size=9))
def test_trees_are_those_of_spacy(parser: Language, plain: Language, texts: list[str]) -> None:
    expected = [_facts(words_of(doc)) for doc in plain.pipe(texts)]
    assert [_facts(words) for words in parse_texts(parser, texts)] == expected


def test_trees_of_odd_texts_are_those_of_spacy(parser: Language, plain: Language) -> None:
    expected = [_facts(words_of(doc)) for doc in plain.pipe(ODD)]
    assert [_facts(words) for words in parse_texts(parser, ODD)] == expected


def test_vectors_are_those_of_spacy_up_to_rounding(parser: Language, plain: Language) -> None:
    texts = ["The old dog saw a cat under the river.", "", "It rains.", "Who knows whose it is?", *ODD]
    for text, vectors in zip(texts, _vectors(parser, texts), strict=True):
        np.testing.assert_allclose(np.ravel(vectors), np.ravel(plain(text).tensor), atol=1e-4)


def test_the_same_parser_still_takes_texts_in_the_way_of_spacy(parser: Language) -> None:
    texts = ["The old dog saw a cat.", "", "It rains."]
    for words, doc in zip(parse_texts(parser, texts), parser.pipe(texts), strict=True):
        assert _facts(words_of(doc)) == _facts(words)
    assert len(parser("")) == 0


def test_a_table_of_features_is_kept_unless_it_is_large(plain: Language) -> None:
    lower: Any = plain.get_pipe("parser").model.get_ref("lower")  # type: ignore[attr-defined]
    kept, rows = together.keep_table(lower), np.ones((3, 128), dtype=np.float32)
    first = kept.predict(rows)
    np.testing.assert_allclose(first, lower.predict(rows), rtol=1e-5, atol=1e-5)
    assert np.shares_memory(kept.predict(rows[:2]), first)
    large = kept.predict(np.ones((together.KEPT_TOKENS, 128), dtype=np.float32))
    assert not np.shares_memory(large, first)
    assert np.shares_memory(kept.predict(rows), first)


def test_the_shipped_parser_takes_several_texts(parser: Language) -> None:
    if not takes_several(parser):
        pytest.skip("rows of products depend on each other on this machine")
    assert parser.get_pipe("tok2vec").model.name == "token_encoder"  # type: ignore[attr-defined]


def test_a_parser_with_another_part_is_left_as_it_is(parser: Language) -> None:
    other = spacy.load(parser.path)
    other.add_pipe("sentencizer", first=True)
    take_several(other)
    assert not takes_several(other)
    assert len(list(docs_of(other, ["It rains.", "It snows."]))) == 2


@pytest.mark.parametrize(
    ("name", "path"), [("window_size", ("encode",)), ("include_static_vectors", ("embed",))]
)
def test_a_parser_with_other_layers_is_left_as_it_is(
    parser: Language, name: str, path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = spacy.load(parser.path)
    settings_of_part: Any = other.get_pipe_config("tok2vec")["model"]
    for part in path:
        settings_of_part = settings_of_part[part]
    monkeypatch.setitem(settings_of_part, name, 2)
    take_several(other)
    assert not takes_several(other)


def test_a_parser_whose_rows_depend_on_each_other_is_left_as_it_is(
    parser: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = spacy.load(parser.path)
    monkeypatch.setattr(together, "rows_are_independent", lambda matrices: False)
    take_several(other)
    assert not takes_several(other)


@given(sizes=st.lists(st.integers(0, 2 * CHARACTERS), max_size=80))
def test_batches_hold_all_texts_in_order_and_few_characters(sizes: list[int]) -> None:
    texts = ["x" * size for size in sizes]
    found = list(batches(texts))
    assert [text for batch in found for text in batch] == texts
    for batch in found:
        assert len(batch) == 1 or (len(batch) <= TEXTS and sum(map(len, batch)) <= CHARACTERS)


def test_the_library_of_numpy_is_found_by_way_of_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy").symlink_to(Path(np.__file__).parent)
    monkeypatch.setattr(np, "__file__", str(tmp_path / "numpy" / "__init__.py"))
    assert threads._controller.__wrapped__() is not None


def test_numpy_has_one_thread_in_a_run_and_its_own_number_afterwards() -> None:
    def count_threads() -> list[int]:
        return [each["num_threads"] for each in threadpool_info() if "numpy" in str(each["filepath"])]

    before = count_threads()
    with use_threads(None):
        assert set(count_threads()) == {1}
        with one_numpy_thread():
            assert set(count_threads()) == {1}
        assert set(count_threads()) == {1}
    assert count_threads() == before
