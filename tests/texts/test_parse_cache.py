"""Parses come back from the disk as they were, or are a miss; processes parse ahead and end when closed."""

import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.arrays import selection_of
from headroles.extraction import (
    Annotator,
    Counts,
    ParseCache,
    ParserPool,
    cache_folder,
    identity_of,
    load_parser,
    open_cache,
    pack,
    parse_texts,
    unpack,
)
from headroles.inputs import load_annotation
from headroles.kinds import kind_named
from headroles.records import Passage, Words
from tests.support.texts import write

pytestmark = pytest.mark.xdist_group("spacy")
VARIED = (
    "The old dog, who had seen it all, chased a cat.",
    "😀👍🏽 so what ?",
    "👩\u200d👩\u200d👧 \n 🎉  \t done",
    "قال الرجل إن القطة نامت.",
    "  It rains .\n\n",
    "naïve 東京 re-open's don't cannot U.S.A. http://a.b/c?d=e",
    "A" * 300 + " " + "and so on " * 40,
)
ROOT = Words(np.array([[0, 2]], np.int32), np.array([-1], np.int32), ("root",))


def same(first: Words, second: Words) -> bool:
    """Return whether two are the same words, types included."""
    arrays = [(first.spans, second.spans), (first.heads, second.heads)]
    names = [(own.relations, own.lemmas, own.upos) for own in (first, second)]
    return names[0] == names[1] and all(
        np.array_equal(a, b) and a.dtype == b.dtype == np.int32 and a.shape == b.shape for a, b in arrays
    )


def passages(texts: Sequence[str]) -> list[Passage]:
    """Return an input for each text."""
    return [Passage(str(number), (text,)) for number, text in enumerate(texts)]


def ask(annotator: Annotator, texts: Sequence[str], size: int = 1000) -> dict[str, Words]:
    """Return the words of texts, asked for so many at a time."""
    found: dict[str, Words] = {}
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        own = annotator.words(passages(part))
        found |= {text: words for text, (words,) in zip(part, own, strict=True)}
    return found


NAMES = st.lists(st.tuples(*[st.text(max_size=8)] * 3), max_size=12)


@given(names=NAMES, more=st.tuples(st.booleans(), st.booleans()), seed=st.integers(0, 2**32 - 1))
def test_packed_words_come_back_as_they_were(
    names: list[tuple[str, str, str]], more: tuple[bool, bool], seed: int
) -> None:
    rng, count = np.random.default_rng(seed), len(names)
    relations, lemmas, upos = (tuple(name[part] for name in names) for part in range(3))
    words = Words(
        rng.integers(0, 2**31 - 1, (count, 2), dtype=np.int32),
        rng.integers(-1, 2**31 - 1, count, dtype=np.int32),
        relations,
        lemmas if more[0] else None,
        upos if more[1] else None,
    )
    again = unpack(pack(words, b"key"), b"key")
    assert again is not None
    assert same(words, again)


def test_packed_words_that_were_changed_anywhere_or_are_of_another_key_are_none() -> None:
    packed = pack(ROOT, b"key")
    assert unpack(packed, b"key") is not None
    assert unpack(packed, b"another key") is unpack(b"", b"key") is None
    for place in range(len(packed)):
        changed = bytearray(packed)
        changed[place] ^= 1
        assert unpack(bytes(changed), b"key") is unpack(packed[:place], b"key") is None


def test_a_text_has_the_same_words_alone_among_others_and_from_the_cache(parser: Any, tmp_path: Path) -> None:
    identity = identity_of(load_parser(None)[1])
    texts = [*VARIED, *(f"It rained {number} times, and who knows why?" for number in range(40))]
    alone = {text: next(parse_texts(parser, [text])) for text in texts}
    cache = ParseCache(tmp_path, identity)
    half, mixed, cached = Annotator(parser, cache), Annotator(parser, cache), Annotator(None, cache)
    ask(half, texts[::2], 7)
    assert half.counts == Counts(parsed=len(texts[::2]))
    for annotator in (Annotator(parser), mixed, cached):
        found = ask(annotator, texts, 16)
        assert all(same(alone[text], found[text]) for text in texts)
        annotator.close()
    assert mixed.counts == Counts(parsed=len(texts[1::2]), cached=len(texts[::2]))
    assert cached.counts == Counts(cached=len(texts))


def test_parses_are_kept_by_text_and_parser(tmp_path: Path) -> None:
    first, second = ParseCache(tmp_path, "one parser"), ParseCache(tmp_path, "another")
    first.put({"It": ROOT})
    assert set(first.get(["It", "it"])) == {"It"}
    assert same(ParseCache(tmp_path, "one parser").get(["It"])["It"], ROOT)
    assert second.get(["It"]) == {}
    assert first.file != second.file
    assert len({first.key("It"), second.key("It"), first.key("it")}) == 3
    many = [f"text {number}" for number in range(1200)]
    second.put(dict.fromkeys(many, ROOT))
    assert second.get(many).keys() == set(many)
    second.put({})


def test_a_damaged_entry_is_a_miss_and_is_replaced(tmp_path: Path) -> None:
    cache = ParseCache(tmp_path, "parser")
    cache.put({"It": ROOT, "rains": ROOT})
    with sqlite3.connect(cache.file) as database:
        database.execute("UPDATE parses SET words = zeroblob(60) WHERE key = ?", [cache.key("It")])
        swapped = database.execute("SELECT words FROM parses WHERE key = ?", [cache.key("rains")])
        database.execute("INSERT INTO parses VALUES (?, ?)", [cache.key("pours"), *swapped.fetchone()])
        database.execute("INSERT INTO parses VALUES (?, ?)", [cache.key("number"), 7])
    database.close()
    assert set(cache.get(["It", "rains", "pours", "number"])) == {"rains"}
    cache.put({"It": ROOT})
    assert set(cache.get(["It", "rains"])) == {"It", "rains"}
    cache.close()


@pytest.mark.parametrize("when", ["before", "while open"])
def test_a_file_that_is_no_database_is_replaced(when: str, tmp_path: Path) -> None:
    cache = ParseCache(tmp_path, "parser")
    cache.put({f"text {number}": ROOT for number in range(500)})
    if when == "before":
        cache.close()
    cache.file.write_bytes(b"no database " * 4000)
    if when == "before":
        cache = ParseCache(tmp_path, "parser")
    assert cache.get(["text 1"]) == {}
    cache.put({"text 2": ROOT})
    for opened in (cache, ParseCache(tmp_path, "parser")):
        assert set(opened.get(["text 1", "text 2"])) == {"text 2"}


def test_a_full_cache_takes_no_more_and_still_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[ParseCache.__module__], "LARGEST", 40 * 4096)
    words = Words(np.zeros((100, 2), np.int32), np.zeros(100, np.int32), ("root",) * 100)
    cache = ParseCache(tmp_path, "parser")
    for number in range(300):
        cache.put({f"text {number}": words})
    assert 10 < len(cache.get([f"text {number}" for number in range(300)])) < 150
    assert cache.file.stat().st_size <= 40 * 4096


def test_a_folder_that_cannot_be_written_is_a_note_and_no_cache(tmp_path: Path) -> None:
    cache, note = open_cache(str(write(tmp_path / "file", "in the way") / "inside"), "parser")
    assert cache is None
    assert str(note).startswith("parses are not kept, because the folder of --cache must be writable")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_the_folder_is_the_one_named_or_in_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert cache_folder(None) is None  # as tests have it
    assert cache_folder("~/there") == Path.home() / "there"
    monkeypatch.setenv("HEADROLES_CACHE", str(tmp_path))
    assert (cache_folder(None), cache_folder("none")) == (tmp_path, None)
    monkeypatch.delenv("HEADROLES_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder(None) == tmp_path / "xdg" / "headroles"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder(None) == Path.home() / ".cache" / "headroles"


def test_texts_are_parsed_only_for_sieves_that_read_trees(tmp_path: Path) -> None:
    from headroles import MaskSieve

    own = MaskSieve("subword", lambda each: each.word[:, None] == each.word, needs=frozenset({"words"}))
    options = kind_named("label").options({"task": "SST-2", "cache": str(tmp_path)})
    for selection, trees in (
        (selection_of(["subword"]), False),
        (selection_of(["patterns"]), False),
        (selection_of(["subword", "syntactic"]), True),
        (selection_of([own]), True),  # a sieve of the caller, even under the name of a pattern
    ):
        ready = load_annotation(options, selection, passages(VARIED))
        assert ready.annotator is not None
        words = ready.annotator.words(passages(VARIED))
        assert ready.annotator.counts.parsed + ready.annotator.counts.cached == len(VARIED) * trees
        assert all((found.upos is not None) == trees for (found,) in words)
        ready.annotator.close()


@pytest.mark.ci
def test_processes_give_the_same_words_and_end_when_they_are_closed(
    parser: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys.modules[Annotator.__module__], "ALONE", 5)
    pool = ParserPool(None, load_parser(None)[1], 1)
    cache = ParseCache(tmp_path, "parser")
    annotator = Annotator(parser, cache, lambda: pool)
    texts = [f"{text} ({number})" for number in range(8) for text in VARIED]
    here = dict(zip(texts, parse_texts(parser, texts), strict=True))
    try:
        found = ask(annotator, texts[:6])
        cache.put({texts[6]: here[texts[6]]})
        annotator.expect(passages(texts))
        ((_, future),) = pool.submit(["It rains."])  # what was asked before is parsed before
        future.result(timeout=240)
        found |= ask(annotator, texts, 16)
    finally:
        annotator.close()
    assert all(same(found[text], here[text]) for text in texts)
    assert annotator.counts == Counts(parsed=len(texts) - 1, ahead=len(texts) - 7, cached=1)
    assert cache.get(texts).keys() == set(texts)
    assert not pool.alive
