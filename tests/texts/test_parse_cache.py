"""Parses come back from the disk as they were, or are a miss; processes parse ahead and end when closed."""

import sqlite3
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles.extraction import (
    Annotator,
    Counts,
    ParseCache,
    ParserPool,
    identity_of,
    load_parser,
    pack,
    parse_texts,
    unpack,
)
from headroles.records import Passage, Words

pytestmark = pytest.mark.xdist_group("spacy")
VARIED = (
    "The old dog, who had seen it all, chased a cat.", "😀👍🏽 so what ?",
    "👩\u200d👩\u200d👧 \n 🎉  \t done", "قال الرجل إن القطة نامت.", "  It rains .\n\n",
    "naïve 東京 re-open's don't cannot U.S.A. http://a.b/c?d=e",
    "A" * 300 + " " + "and so on " * 40,
)  # fmt: skip
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


def test_packed_words_come_back_unless_they_were_changed_anywhere_or_are_of_another_key() -> None:
    rng, names = np.random.default_rng(0), ("", "nsubj:pass", "\x00é🎉", "a b\n")
    for count, lemmas, upos in product((0, 1, 12), (None, names), (None, names)):
        spans = rng.integers(0, 2**31 - 1, (count, 2), dtype=np.int32)
        heads = rng.integers(-1, 2**31 - 1, count, dtype=np.int32)
        more = [None if given is None else (given * 3)[:count] for given in (lemmas, upos)]
        words = Words(spans, heads, (names * 3)[:count], *more)
        again = unpack(pack(words, b"key"), b"key")
        assert again is not None
        assert same(words, again)
    packed = pack(ROOT, b"key")
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
    assert set(cache.get(["It", "rains", "it"])) == {"It", "rains"}
    cache.close()
    assert same(ParseCache(tmp_path, "parser").get(["It"])["It"], ROOT)
    other = ParseCache(tmp_path, "another")  # parses are kept by text and parser
    assert (other.get(["It"]), other.file == cache.file) == ({}, False)
    many = [f"text {number}" for number in range(1200)]
    other.put(dict.fromkeys(many, ROOT))
    assert other.get(many).keys() == set(many)


@pytest.mark.parametrize("closed", [True, False])
def test_a_file_that_is_no_database_is_replaced(closed: bool, tmp_path: Path) -> None:
    cache = ParseCache(tmp_path, "parser")
    cache.put({f"text {number}": ROOT for number in range(500)})
    if closed:
        cache.close()
    cache.file.write_bytes(b"no database " * 4000)
    cache = ParseCache(tmp_path, "parser") if closed else cache
    assert cache.get(["text 1"]) == {}
    cache.put({"text 2": ROOT})
    for opened in (cache, ParseCache(tmp_path, "parser")):
        assert set(opened.get(["text 1", "text 2"])) == {"text 2"}


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
