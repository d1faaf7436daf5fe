"""Words and trees: gold ones as given, others parsed once, in bounded memory."""

import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

from headroles.errors import BadInput
from headroles.extraction.parsing import annotate, pipeline
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.pipeline import (
    ShippedParser,
    load_parser,
    open_parser,
    split_texts,
    words_of,
)
from headroles.extraction.texts.sources import read_sample
from headroles.records.passage import Passage, Words
from headroles.tasks import TASKS

ROOT = Path(__file__).resolve().parents[3]
TREES = [
    (["The", "dog", "saw", "it", "."], [1, 2, 2, 2, 2], ["det", "nsubj", "ROOT", "obj", "punct"]),
    (["A", "cat", "slept", "."], [1, 2, 2, 2], ["det", "nsubj", "ROOT", "punct"]),
]


@pytest.fixture(scope="session")
def tiny() -> Language:
    """A pipeline that has seen two sentences."""
    fix_random_seed(0)
    parser = spacy.blank("en")
    settings = {"@architectures": "spacy.HashEmbedCNN.v2", "width": 16, "depth": 1, "embed_size": 100}
    settings |= {"window_size": 1, "maxout_pieces": 2, "subword_features": True, "pretrained_vectors": None}
    parser.add_pipe("parser", config={"min_action_freq": 1, "model": {"tok2vec": settings}})
    examples = [
        Example.from_dict(Doc(parser.vocab, words=words), {"heads": heads, "deps": relations})
        for words, heads, relations in TREES
    ]
    optimizer = parser.initialize(lambda: examples)
    for _ in range(30):
        parser.update(examples, sgd=optimizer)
    return parser


@pytest.fixture
def parsed(tiny: Language, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the tiny pipeline gets from here on."""
    honest = tiny.pipe
    texts: list[str] = []

    def pipe(given: Iterable[str], **options: Any) -> Iterator[Doc]:
        kept = list(given)
        texts.extend(kept)
        yield from honest(kept, **options)

    monkeypatch.setattr(tiny, "pipe", pipe)
    return texts


def _gold(*spans: tuple[int, int]) -> Words:
    return Words(np.array(spans), np.full(len(spans), -1), ("root",) * len(spans))


def _spelled(text: str, words: Words) -> list[str]:
    return [text[start:end] for start, end in words.spans.tolist()]


def test_gold_words_are_given_back_and_never_parsed(tiny: Language, parsed: list[str]) -> None:
    gold = (_gold((0, 3)),)
    passages = [Passage("a", ("The dog",), None, gold), Passage("b", ("A cat slept.",))]
    first, second = Annotator(tiny).words(passages)
    assert first is gold
    assert _spelled("A cat slept.", second[0]) == ["A", "cat", "slept", "."]
    assert parsed == ["A cat slept."]
    assert Annotator(None).words(passages[:1]) == [gold]


def test_parsed_words_carry_the_parsers_tree(tiny: Language) -> None:
    texts = ("The dog saw it.", "A cat slept.")
    ((first, second),) = Annotator(tiny).words([Passage("a", texts)])
    assert _spelled(texts[0], first) == TREES[0][0]
    assert first.heads.tolist() == [1, 2, -1, 2, 2]
    assert first.relations == tuple(TREES[0][2])
    assert second.heads.tolist() == [1, 2, -1, 2]
    assert second.relations == tuple(TREES[1][2])


def test_a_text_is_parsed_once_while_it_is_remembered(
    tiny: Language, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    annotator = Annotator(tiny)
    passages = [Passage("a", ("The dog.", "A cat.")), Passage("b", ("A cat.", "It saw."))]
    once = annotator.words(passages)
    again = annotator.words(passages[::-1])
    assert sorted(parsed) == ["A cat.", "It saw.", "The dog."]
    assert once[0][1] is once[1][0] is again[0][0]
    monkeypatch.setattr(annotate, "REMEMBERED", 2)
    many = [Passage(str(number), (f"It saw {number} dogs.",)) for number in range(5)]
    for passage, (words,) in zip(many, annotator.words(many), strict=True):
        assert _spelled(passage.texts[0], words) == ["It", "saw", passage.key, "dogs", "."]
    assert len(annotator._known) == 2
    parsed.clear()
    annotator.words(many)
    assert len(parsed) == 3


def test_memory_does_not_grow_with_the_texts(tiny: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotate, "REMEMBERED", 16)
    monkeypatch.setattr(pipeline, "KEPT_WORDS", 100)
    annotator = Annotator(tiny)

    def parse(start: int) -> tuple[int, int]:
        for batch in range(start, start + 320, 16):
            named = (f"word{number} saw odd{number} ." for number in range(batch, batch + 16))
            annotator.words([Passage(text, (text,)) for text in named])
        gc.collect()
        return tracemalloc.get_traced_memory()[0], len(tiny.vocab.strings)

    tracemalloc.start()
    try:
        parse(0)
        before = parse(320)
        after = parse(640)
    finally:
        tracemalloc.stop()
    assert after[0] - before[0] < 20_000
    assert after[1] == before[1]


def test_blanks_are_no_words_and_what_hangs_on_them_is_a_root() -> None:
    doc = Doc(
        spacy.blank("en").vocab,
        words=["\n", "The", "dog", "  ", "slept", "\t", "now"],
        spaces=[False, True, True, False, True, False, False],
        heads=[1, 2, 4, 4, 4, 4, 5],
        deps=["dep", "det", "nsubj", "dep", "ROOT", "dep", "advmod"],
    )
    words = words_of(doc)
    assert _spelled(doc.text, words) == ["The", "dog", "slept", "now"]
    assert words.heads.tolist() == [1, 2, -1, -1]
    assert words.relations == ("det", "nsubj", "ROOT", "advmod")


@pytest.mark.parametrize("text", ["😀", "😀👍🏽", "👩\u200d👩\u200d👧 \n 🎉", "\u200b", "۔ ،", "\u0301"])
def test_texts_without_letters_have_words_too(text: str, tiny: Language) -> None:
    (((words),),) = Annotator(tiny).words([Passage("a", (text,))])
    assert len(words.heads) == len(words.relations) == len(words.spans) >= 1
    assert "".join(_spelled(text, words)) == "".join(text.split())
    assert ((words.heads >= -1) & (words.heads < len(words.heads))).all()


def test_a_text_longer_than_the_parser_takes_is_refused(
    tiny: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny, "max_length", 10)
    with pytest.raises(BadInput, match=r"at most 10 characters, but got one of 15; split it"):
        Annotator(tiny).words([Passage("a", ("It saw.", "The dog saw it."))])


def test_a_pipeline_is_loaded_from_its_path_and_says_what_it_is(tiny: Language, tmp_path: Path) -> None:
    tiny.meta["name"], tiny.meta["license"] = "tiny", "CC0"
    tiny.to_disk(tmp_path / "tiny")
    parser, described = load_parser(str(tmp_path / "tiny"))
    told = {"name": "tiny", "version": "0.0.0", "license": "CC0", "shipped": "no", "spacy": version("spacy")}
    assert len(described.pop("sha256")) == 64
    assert described == told
    ((words,),) = Annotator(parser).words([Passage("a", ("A cat slept.",))])
    assert words.relations == tuple(TREES[1][2])


@pytest.mark.parametrize(("pipes", "said"), [((), "a tokenizer"), (("sentencizer",), "sentencizer")])
def test_a_pipeline_without_a_parser_is_refused(pipes: tuple[str, ...], said: str, tmp_path: Path) -> None:
    pipeline = spacy.blank("en")
    for pipe in pipes:
        pipeline.add_pipe(pipe)
    pipeline.to_disk(tmp_path / "bare")
    with pytest.raises(BadInput, match=f"need a pipeline that parses dependencies, but .* has only {said}"):
        load_parser(str(tmp_path / "bare"))


@pytest.mark.parametrize("name", ["en_no_such_pipeline", "no/such/folder", "."])
def test_a_parser_that_is_not_there_is_one_sentence(name: str) -> None:
    with pytest.raises(
        BadInput, match=r"must be an installed spaCy 3 pipeline .* leave --parser out"
    ) as error:
        load_parser(name)
    assert "\n" not in str(error.value)


def test_the_shipped_parser_knows_plain_sentences() -> None:
    if not (ROOT / "headroles" / "parser" / "meta.json").exists():
        pytest.skip("the shipped parser is not built yet")
    parser, described = load_parser(None)
    assert described["shipped"] == "yes"
    assert described["license"] == "CC BY-SA 4.0"
    text = "The old dog chased a cat."
    ((words,),) = Annotator(parser).words([Passage("a", (text,))])
    assert _spelled(text, words) == ["The", "old", "dog", "chased", "a", "cat", "."]
    arcs = dict(
        zip(_spelled(text, words), zip(words.heads.tolist(), words.relations, strict=True), strict=True)
    )
    assert arcs["dog"] == (3, "nsubj")
    assert arcs["cat"] == (3, "obj")
    assert arcs["The"] == (2, "det")
    assert arcs["old"] == (2, "amod")
    assert arcs["chased"][0] == -1


def _texts_of_samples() -> list[str]:
    return [text for task in TASKS.values() for passage in read_sample(task) for text in passage.texts]


def test_the_shipped_parser_is_described_before_it_is_loaded_as_after() -> None:
    assert open_parser(None)[1] == load_parser(None)[1]


def test_the_tokenizer_of_the_shipped_parser_splits_real_texts_as_all_of_it_does() -> None:
    whole, tokenizer = ShippedParser().whole, ShippedParser().tokenizer
    assert tokenizer.pipe_names == []
    texts = _texts_of_samples()
    for text, words in zip(texts, split_texts(tokenizer, texts), strict=True):
        np.testing.assert_array_equal(words.spans, words_of(whole.make_doc(text)).spans)


def test_a_run_whose_parses_are_cached_does_not_load_spacy(tmp_path: Path) -> None:
    program = (
        "import sys, headroles\n"
        "headroles.label('SST-2', sieve='syntactic', first=8, maps=0, cache=sys.argv[1], out=sys.argv[2])\n"
        "print('spacy' in sys.modules)"
    )
    said, labels = [], []
    for out in ("first", "second"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "cache"), str(tmp_path / out)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        said.append(done.stdout.split()[-1])
        labels.append((tmp_path / out / "findings.csv").read_bytes())
    assert said == ["True", "False"]
    assert labels[0] == labels[1]


class _Pool:
    """A pool that notes the texts that it gets."""

    alive = True

    def __init__(self) -> None:
        self.texts: list[str] = []

    def submit(self, texts: Sequence[str]) -> list[Any]:
        """Note the texts, and parse none."""
        self.texts += texts
        return []


def test_long_texts_are_parsed_ahead_only_once_it_is_known_how_much_of_them_is_parsed(
    tiny: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(annotate, "ALONE", 0)
    pool = _Pool()
    annotator = Annotator(tiny, None, lambda: pool)  # type: ignore[arg-type, return-value]
    short, long = "A cat slept.", "A cat slept. " * 400
    passages = [Passage("a", (short,)), Passage("b", (long,))]
    annotator.expect(passages)
    assert pool.texts == [short]
    annotator.expect(passages[1:], final=True)
    assert pool.texts == [short, long]
