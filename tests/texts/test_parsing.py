"""Words and trees are spaCy's own, the same to the bit however many texts are parsed at once."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles.extraction import (
    Annotator,
    identity_of,
    load_parser,
    open_parser,
    parse_texts,
    read_vectors,
    words_of,
)
from headroles.records import Passage, Words
from tests.support.texts import spelled, words_between_blanks, write

pytestmark = pytest.mark.xdist_group("spacy")
ODD = (
    "", " ", "\n \t", "x", "word" * 500, "so it goes , " * 90, "👩\u200d👩\u200d👧", "no.spaces,at(all)here",
)  # fmt: skip
SENTENCE = "The old dog chased a cat."


def facts(words: Words) -> tuple[Any, ...]:
    """Return everything that a parser says of a text."""
    return words.spans.tolist(), words.heads.tolist(), words.relations, words.upos, words.lemmas


def test_the_shipped_parser_knows_plain_sentences_and_says_what_it_is(parser: Any) -> None:
    described = load_parser(None)[1]
    assert (described["shipped"], described["license"]) == ("yes", "CC BY-SA 4.0")
    assert open_parser(None)[1] == described
    gold = (words_between_blanks("The dog"),)
    passages = [Passage("a", (SENTENCE, "It rains.")), Passage("b", ("The dog",), None, gold)]
    (words, second), given_words = Annotator(parser).words(passages)
    assert given_words is gold
    assert Annotator(None).words(passages[1:]) == [gold]
    assert spelled(SENTENCE, words) == ["The", "old", "dog", "chased", "a", "cat", "."]
    assert words.heads.tolist() == [2, 2, 3, -1, 5, 3, 3]
    assert words.relations[:6] == ("det", "amod", "nsubj", words.relations[3], "det", "obj")
    assert words.upos == ("DET", "ADJ", "NOUN", "VERB", "DET", "NOUN", "PUNCT")
    assert second.relations[0] in ("expl", "nsubj")


def test_odd_texts_have_the_trees_and_vectors_of_spacy(parser: Any, plain: Any) -> None:
    from headroles.extraction import docs_of

    texts = [SENTENCE, "Who knows whose it is?", *ODD]
    expected = [facts(words_of(doc)) for doc in plain.pipe(texts)]
    assert [facts(words) for words in parse_texts(parser, texts)] == expected
    assert [facts(words_of(doc)) for doc in parser.pipe(texts)] == expected  # in the way of spaCy, too
    for text, doc in zip(texts, docs_of(parser, texts), strict=True):
        np.testing.assert_allclose(np.ravel(doc.tensor), np.ravel(plain(text).tensor), atol=1e-4)
    for text in ("😀", "😀👍🏽", "👩\u200d👩\u200d👧 \n 🎉", "\u200b", "۔ ،", "\u0301"):
        ((words,),) = Annotator(parser).words([Passage("a", (text,))])
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


def test_another_pipeline_gives_each_text_the_tree_it_has_alone_and_is_known_by_what_it_is(
    tmp_path: Path,
) -> None:
    import spacy
    from spacy.language import Language

    class Crowded:
        """A parser whose trees depend on how many texts are parsed together."""

        def __call__(self, doc: Any) -> Any:
            return next(self.pipe([doc]))

        def pipe(self, docs: Iterable[Any], batch_size: int = 128) -> Iterator[Any]:
            every = list(docs)
            for doc in every:
                for token in doc:
                    token.head, token.dep_ = doc[0], f"crowd-{len(every) if batch_size > 1 else 1}"
                yield doc

    Language.factory("crowded", func=lambda nlp, name: Crowded())
    made = spacy.blank("en")
    made.add_pipe("crowded", name="parser")
    texts = [f"It saw {number} dogs." for number in range(20)]
    found = Annotator(made).words([Passage(text, (text,)) for text in texts])
    for text, (words,) in zip(texts, found, strict=True):
        assert facts(words) == facts(words_of(made(text)))
        assert words.relations == ("crowd-1",) * 5
    made.meta["name"] = "tiny"
    made.to_disk(tmp_path / "tiny")
    loaded, described = load_parser(str(tmp_path / "tiny"))
    assert facts(next(parse_texts(loaded, texts[:1]))) == facts(words_of(made(texts[0])))
    assert (described["name"], described["version"], described["shipped"]) == ("tiny", "0.0.0", "no")
    assert identity_of(described) == identity_of(load_parser(str(tmp_path / "tiny"))[1])
    write(tmp_path / "tiny" / "notes.txt", "another file")
    assert load_parser(str(tmp_path / "tiny"))[1]["sha256"] != described["sha256"]
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


def test_rows_that_depend_on_their_number_are_noticed(monkeypatch: pytest.MonkeyPatch, parser: Any) -> None:
    import spacy

    from headroles.extraction import docs_of, multiply, rows_are_independent, take_several, takes_several

    def otherwise(rows: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        multiply(rows, weights, out)
        out[-1, 0] = np.nextafter(out[-1, 0], np.float32(9))

    other = spacy.load(parser.path)
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
