"""Words and trees are spaCy's own, the same to the bit however many texts are parsed at once."""

import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headroles
from headroles.extraction import (
    Annotator,
    has_own_openblas,
    identity_of,
    load_parser,
    one_numpy_thread,
    open_parser,
    parse_texts,
    read_vectors,
    words_of,
)
from headroles.records import Passage, Words
from tests.support.texts import spelled, words_between_blanks, write

pytestmark = pytest.mark.xdist_group("spacy")
PARTS = (
    *("the", "a", "cat", "dog", "saw", "saw", "of", "under", ",", ".", "and", "old", "Ann", "'s", "not"),
    *("1912", "cannot", "😀", "👍🏽", "\n", "", "http://a.b/c?d=e", "東京", "\u200b"),
)
TEXT = st.lists(st.sampled_from(PARTS), max_size=40).map(" ".join) | st.text(max_size=60)
ODD = (
    "",
    " ",
    "\n \t",
    "x",
    "word" * 500,
    "so it goes , " * 90,
    "👩\u200d👩\u200d👧",
    "no.spaces,at(all)here",
)
SENTENCE = "The old dog chased a cat."


def facts(words: Words) -> tuple[Any, ...]:
    """Return everything that a parser says of a text."""
    return words.spans.tolist(), words.heads.tolist(), words.relations, words.upos, words.lemmas


@pytest.fixture
def several(parser: Any) -> Any:
    """The parser, where it takes several texts at once."""
    from headroles.extraction import takes_several

    if not has_own_openblas() or not takes_several(parser):
        pytest.skip("rows of products depend on each other on this machine")
    assert parser.get_pipe("tok2vec").model.name == "token_encoder"
    return parser


def test_the_shipped_parser_knows_plain_sentences_and_says_what_it_is(annotator: Annotator) -> None:
    described = load_parser(None)[1]
    assert (described["shipped"], described["license"]) == ("yes", "CC BY-SA 4.0")
    assert open_parser(None)[1] == described
    gold = (words_between_blanks("The dog"),)
    passages = [Passage("a", (SENTENCE, "It rains.")), Passage("b", ("The dog",), None, gold)]
    (words, second), given_words = annotator.words(passages)
    assert given_words is gold
    assert Annotator(None).words(passages[1:]) == [gold]
    assert spelled(SENTENCE, words) == ["The", "old", "dog", "chased", "a", "cat", "."]
    assert words.heads.tolist() == [2, 2, 3, -1, 5, 3, 3]
    assert words.relations[:6] == ("det", "amod", "nsubj", words.relations[3], "det", "obj")
    assert words.upos == ("DET", "ADJ", "NOUN", "VERB", "DET", "NOUN", "PUNCT")
    assert second.relations[0] in ("expl", "nsubj")


@settings(max_examples=15)
@given(texts=st.lists(TEXT, min_size=1, max_size=35))
def test_a_text_has_the_vectors_and_the_tree_it_has_alone_to_the_bit(several: Any, texts: list[str]) -> None:
    from headroles.extraction import docs_of

    together = [np.array(doc.tensor) for doc in docs_of(several, texts)]
    parses = list(parse_texts(several, texts))
    for text, vectors, words in zip(texts, together, parses, strict=True):
        (alone,) = docs_of(several, [text])
        np.testing.assert_array_equal(vectors, alone.tensor)
        (own,) = parse_texts(several, [text])
        assert facts(words) == facts(own)


@settings(max_examples=15)
@given(texts=st.lists(TEXT, min_size=1, max_size=9))
def test_trees_are_those_of_spacy(parser: Any, plain: Any, texts: list[str]) -> None:
    expected = [facts(words_of(doc)) for doc in plain.pipe(texts)]
    assert [facts(words) for words in parse_texts(parser, texts)] == expected
    assert [facts(words_of(doc)) for doc in parser.pipe(texts)] == expected  # in the way of spaCy, too


def test_odd_texts_have_the_trees_and_vectors_of_spacy(parser: Any, plain: Any, annotator: Annotator) -> None:
    from headroles.extraction import docs_of

    texts = [SENTENCE, "Who knows whose it is?", *ODD]
    expected = [facts(words_of(doc)) for doc in plain.pipe(texts)]
    assert [facts(words) for words in parse_texts(parser, texts)] == expected
    for text, doc in zip(texts, docs_of(parser, texts), strict=True):
        np.testing.assert_allclose(np.ravel(doc.tensor), np.ravel(plain(text).tensor), atol=1e-4)
    for text in ("😀", "😀👍🏽", "👩\u200d👩\u200d👧 \n 🎉", "\u200b", "۔ ،", "\u0301"):
        ((words,),) = annotator.words([Passage("a", (text,))])
        assert len(words.heads) == len(words.relations) == len(words.spans) >= 1
        assert "".join(spelled(text, words)) == "".join(text.split())


def test_blanks_are_no_words_and_what_hangs_on_them_is_a_root(plain: Any) -> None:
    from spacy.tokens import Doc

    doc = Doc(
        plain.vocab,
        words=["\n", "The", "dog", "  ", "slept", "\t", "now"],
        spaces=[False, True, True, False, True, False, False],
        heads=[1, 2, 4, 4, 4, 4, 5],
        deps=["dep", "det", "nsubj", "dep", "ROOT", "dep", "advmod"],
    )
    words = words_of(doc)
    assert spelled(doc.text, words) == ["The", "dog", "slept", "now"]
    assert words.heads.tolist() == [1, 2, -1, -1]
    assert words.relations == ("det", "nsubj", "ROOT", "advmod")
    assert (words.upos, words.lemmas) == (None, None)


def crowded() -> Any:
    """Return a pipeline whose trees depend on how many texts are parsed together."""
    import spacy
    from spacy.language import Language

    class Crowded:
        def __call__(self, doc: Any) -> Any:
            return next(self.pipe([doc]))

        def pipe(self, docs: Iterable[Any], batch_size: int = 128) -> Iterator[Any]:
            every = list(docs) if batch_size > 1 else None
            for doc in every or docs:
                for token in doc:
                    token.head, token.dep_ = doc[0], f"crowd-{len(every or [doc])}"
                yield doc

    Language.factory("crowded", func=lambda nlp, name: Crowded())
    pipeline = spacy.blank("en")
    pipeline.add_pipe("crowded", name="parser")
    return pipeline


def test_another_pipeline_gives_each_text_the_tree_it_has_alone_and_is_loaded_from_its_path(
    tmp_path: Path,
) -> None:
    made = crowded()
    texts = [f"It saw {number} dogs." for number in range(20)]
    found = Annotator(made).words([Passage(text, (text,)) for text in texts])
    for text, (words,) in zip(texts, found, strict=True):
        assert facts(words) == facts(words_of(made(text)))
        assert words.relations == ("crowd-1",) * 5
    made.meta["name"], made.meta["license"] = "tiny", "CC0"
    made.to_disk(tmp_path / "tiny")
    loaded, described = load_parser(str(tmp_path / "tiny"))
    assert facts(next(parse_texts(loaded, texts[:1]))) == facts(found[0][0])
    assert (described["name"], described["version"], described["shipped"]) == ("tiny", "0.0.0", "no")
    assert identity_of(described) == identity_of(load_parser(str(tmp_path / "tiny"))[1])
    digests = {described["sha256"]}
    for text in ("another file", "another text"):
        write(tmp_path / "tiny" / "notes.txt", text)
        digests.add(load_parser(str(tmp_path / "tiny"))[1]["sha256"])
    assert len(digests) == 3
    others = [identity_of(described | {name: "other"}) for name in ("name", "version", "sha256", "spacy")]
    assert len({identity_of(described), *others}) == 5


def test_lemmas_are_those_that_a_pipeline_sets() -> None:
    import spacy
    from spacy.language import Language

    @Language.component("first_three", assigns=["token.lemma"])
    def first_three(doc: Any) -> Any:
        for token in doc:
            token.lemma_ = token.text[:3].lower()
        return doc

    made = spacy.blank("en")
    made.add_pipe("first_three")
    for pipeline, lemmas in ((made, ("run", "run")), (spacy.blank("en"), None)):
        annotator = Annotator(pipeline)
        assert annotator.lemmas == (lemmas is not None)
        (((words),),) = annotator.words([Passage("a", ("Runner running",))])
        assert words.lemmas == lemmas
    assert Annotator(made).forms([Passage("open", ("It's late",))]) == {"it", "'s", "late"}


def test_a_run_whose_parses_are_cached_does_not_load_spacy(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how: dict[str, Any] = {"sieve": "syntactic", "first": 8, "maps": 0, "max_length": 64, "model": planted}
    first = headroles.label("SST-2", cache=tmp_path / "cache", **how)
    monkeypatch.setitem(sys.modules, "spacy", None)  # an import of it fails from here on
    second = headroles.label("SST-2", cache=tmp_path / "cache", **how)
    assert second.scores.values.tobytes() == first.scores.values.tobytes()
    with pytest.raises(headroles.HeadrolesError, match="spacy"):
        headroles.label("SST-2", cache=tmp_path / "another", **how)


@given(size=st.sampled_from([(24, 3), (24, 81), (128, 17), (128, 384)]), rows=st.integers(1, 600))
def test_products_in_tiles_are_those_of_numpy(size: tuple[int, int], rows: int) -> None:
    from headroles.extraction import multiply

    rng = np.random.default_rng(rows)
    one, other = (rng.normal(size=shape).astype(np.float32) for shape in ((rows, size[0]), size))
    for weights in (other, np.asfortranarray(other)):
        found = np.full((rows, size[1]), np.nan, dtype=np.float32)
        with one_numpy_thread():
            multiply(one, weights, found)
        np.testing.assert_allclose(found, one.astype(np.float64) @ weights, rtol=1e-5, atol=1e-4)


def test_rows_that_depend_on_their_number_are_noticed(monkeypatch: pytest.MonkeyPatch, parser: Any) -> None:
    import spacy

    from headroles.extraction import docs_of, multiply, rows_are_independent, take_several, takes_several

    def otherwise(rows: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        multiply(rows, weights, out)
        out[-1, 0] = np.nextafter(out[-1, 0], np.float32(9))

    other, asked = spacy.load(parser.path), list[tuple[int, ...]]()
    with monkeypatch.context() as patch:
        note = sys.modules[take_several.__module__]
        patch.setattr(note, "rows_are_independent", lambda given: asked.extend(m.shape for m in given))
        take_several(other)  # weights of all parts are tried as products take them: inputs by outputs
        pipes: list[Any] = [pipe for _, pipe in other.pipeline]
        nodes = [node for pipe in pipes for node in pipe.model.walk() if node.has_param("W")]
        shapes = {(node.get_param("W").shape[-1], node.get_param("W").size) for node in nodes}
        assert {(inputs, inputs * outputs) for inputs, outputs in asked} == shapes
        assert not takes_several(other)
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[multiply.__module__], "multiply", otherwise)
        weights = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)
        assert not rows_are_independent([weights])
        take_several(other)
        assert not takes_several(other)
    other.add_pipe("sentencizer", first=True)  # nor is a pipeline with another part changed
    take_several(other)
    assert not takes_several(other)
    assert [len(doc) for doc in docs_of(other, ["It rains.", "It snows ."])] == [3, 3]


@given(sizes=st.lists(st.integers(0, 16_000), max_size=80))
def test_batches_hold_all_texts_in_order_and_few_characters(sizes: list[int]) -> None:
    from headroles.extraction import batches

    texts = ["x" * size for size in sizes]
    found = list(batches(texts))
    assert [text for batch in found for text in batch] == texts
    for batch in found:
        assert len(batch) == 1 or (len(batch) <= 32 and sum(map(len, batch)) <= 8_000)
    for before, after in pairwise(found):  # none is closed before it is full
        assert len(before) == 32 or sum(map(len, before)) + len(after[0]) > 8_000


def test_vectors_of_words_are_found_in_lower_case(tmp_path: Path) -> None:
    file = write(tmp_path / "vectors.txt", "the 1 2.5\n, -1e-2 3\nThe 7 7\n")
    vectors = read_vectors(file)
    assert vectors.size == 2
    np.testing.assert_array_equal(vectors.table, np.array([[1, 2.5], [-0.01, 3]], dtype=np.float32))
    assert vectors.rows(("THE", ",", "unknown")).tolist() == [0, 1, 2]
    some = read_vectors(file, {",", "z"})
    assert (some.table.tolist(), some.rows(("the", ",")).tolist()) == ([[np.float32(-0.01), 3]], [1, 0])
    assert read_vectors(file, set()).table.shape == (0, 2)
    headed = write(tmp_path / "v.txt.gz", "2 3\na 1 2 3 \r\nb 4 5 6\r\n\r\n")  # as word2vec writes them
    assert read_vectors(headed).table.tolist() == [[1, 2, 3], [4, 5, 6]]
