"""Parses are the parser's own, whether made alone, ahead by processes, or taken from the disk."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as some
from spacy.language import Language
from spacy.tokens import Doc

import headroles
from headroles.arrays import selection_of
from headroles.extraction.parsing import annotate
from headroles.extraction.parsing import cache as parse_cache
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.cache import ParseCache, cache_folder, open_cache
from headroles.extraction.parsing.packing import pack, unpack
from headroles.extraction.parsing.pipeline import SHIPPED, identity_of, load_parser, parse_texts, words_of
from headroles.extraction.parsing.pool import ParserPool, processes_here
from headroles.inputs.annotation import load_annotation
from headroles.options.label import LabelOptions
from headroles.options.values import record_of
from headroles.records.passage import Passage, Words
from headroles.sieves.base import MaskSieve
from headroles.sieves.selection import Selection

VARIED = (
    "The old dog, who had seen it all, chased a cat.",
    "😀👍🏽 so what ?",
    "👩\u200d👩\u200d👧 \n 🎉  \t done",
    "قال الرجل إن القطة نامت.",
    "\u200b \u0301",
    "  It rains .\n\n",
    "naïve 東京 re-open's don't cannot U.S.A. http://a.b/c?d=e",
    "۔ ،",
    "A" * 300 + " " + "and so on " * 40,
    "x",
)


@pytest.fixture(scope="session")
def shipped() -> tuple[Language, dict[str, str]]:
    return load_parser(None)


def _same(first: Words, second: Words) -> bool:
    """Whether two are the same words, types included."""
    arrays = [(first.spans, second.spans), (first.heads, second.heads)]
    return (
        all(np.array_equal(a, b) and a.dtype == b.dtype == np.int32 and a.shape == b.shape for a, b in arrays)
        and (first.relations, first.lemmas) == (second.relations, second.lemmas)
        and (type(first.relations), type(first.lemmas)) == (type(second.relations), type(second.lemmas))
    )


def _passages(texts: Iterable[str]) -> list[Passage]:
    return [Passage(str(number), (text,)) for number, text in enumerate(texts)]


def _own(texts: Sequence[str], annotator: Annotator, size: int = 1000) -> dict[str, Words]:
    """The words of texts, asked for so many at a time."""
    found: dict[str, Words] = {}
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        found |= {text: own for text, (own,) in zip(part, annotator.words(_passages(part)), strict=True)}
    return found


@given(
    names=some.lists(some.tuples(some.text(max_size=8), some.text(max_size=8)), max_size=12),
    lemmas=some.booleans(),
    seed=some.integers(0, 2**32 - 1),
)
def test_packed_words_come_back_as_they_were(names: list[tuple[str, str]], lemmas: bool, seed: int) -> None:
    rng, count = np.random.default_rng(seed), len(names)
    words = Words(
        rng.integers(0, 2**31 - 1, (count, 2), dtype=np.int32),
        rng.integers(-1, 2**31 - 1, count, dtype=np.int32),
        tuple(name for name, _ in names),
        tuple(lemma for _, lemma in names) if lemmas else None,
    )
    again = unpack(pack(words, b"key"), b"key")
    assert again is not None
    assert _same(words, again)


def test_packed_words_that_were_changed_anywhere_or_are_of_another_key_are_none() -> None:
    packed = pack(Words(np.array([[0, 2]], np.int32), np.array([-1], np.int32), ("root",)), b"key")
    assert unpack(packed, b"key") is not None
    assert unpack(packed, b"another key") is None
    assert unpack(b"", b"key") is None
    for place in range(len(packed)):
        changed = bytearray(packed)
        changed[place] ^= 1
        assert unpack(bytes(changed), b"key") is None
        assert unpack(packed[:place], b"key") is None


def test_a_text_has_the_same_words_alone_among_others_and_from_the_cache(
    shipped: tuple[Language, dict[str, str]], shared: Path, tmp_path: Path
) -> None:
    from headroles.extraction.texts.running_text import read_running_text

    parser, described = shipped
    wiki = next(read_running_text(shared / "data/wikitext2/wiki.valid.raw.gz")).text.splitlines()
    texts = [*VARIED, *(each for line in wiki[:40] for each in line.split(" . ")[:3] if each.strip())]
    alone = {text: words_of(parser(text)) for text in texts}
    among = _own(texts, Annotator(parser), 16)
    cache = ParseCache(tmp_path, identity_of(described))
    half = Annotator(parser, cache)
    _own(texts[::2], half, 7)
    mixed = Annotator(parser, cache)
    partly = _own(texts, mixed, 16)
    assert mixed.counts.cached >= len(set(texts[::2])) - 16
    assert mixed.counts.parsed == len(set(texts) - set(texts[::2]))
    cached = Annotator(None, ParseCache(tmp_path, identity_of(described)))
    whole = _own(texts, cached, 16)
    assert cached.counts == annotate.Counts(cached=len(set(texts)))
    for text in texts:
        for other in (among, partly, whole):
            assert _same(alone[text], other[text]), text


class _Crowded:
    """A component whose trees depend on how many texts are parsed together."""

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, docs: Iterable[Doc], batch_size: int = 128) -> Iterator[Doc]:
        coming = iter(docs)
        while batch := list(islice(coming, batch_size)):
            for doc in batch:
                for token in doc:
                    token.head, token.dep_ = doc[0], f"crowd-{len(batch)}"
            yield from batch


def test_a_parser_that_minds_its_batches_gives_each_text_the_tree_it_has_alone() -> None:
    Language.factory("crowded", func=lambda nlp, name: _Crowded())
    parser = spacy.blank("en")
    parser.add_pipe("crowded")
    texts = [f"It saw {number} dogs." for number in range(20)]
    found = _own(texts, Annotator(parser))
    for text in texts:
        assert _same(found[text], words_of(parser(text)))


def test_parses_are_kept_by_text_and_parser(tmp_path: Path) -> None:
    words = Words(np.array([[0, 2]], np.int32), np.array([-1], np.int32), ("root",))
    first, second = ParseCache(tmp_path, "one parser"), ParseCache(tmp_path, "another")
    first.put({"It": words})
    assert set(first.get(["It", "it"])) == {"It"}
    assert _same(ParseCache(tmp_path, "one parser").get(["It"])["It"], words)
    assert second.get(["It"]) == {}
    assert first.file != second.file
    assert first.key("It") not in (second.key("It"), first.key("it"))
    many = [f"text {number}" for number in range(1200)]
    second.put(dict.fromkeys(many, words))
    assert second.get(many).keys() == set(many)


def test_another_pipeline_is_another_parser(shipped: tuple[Language, dict[str, str]], tmp_path: Path) -> None:
    described = shipped[1]
    shutil.copytree(SHIPPED, tmp_path / "copy")
    _, copied = load_parser(str(tmp_path / "copy"))
    assert identity_of(copied) == identity_of(load_parser(str(tmp_path / "copy"))[1])
    (tmp_path / "copy" / "notes.txt").write_text("another file")
    noted = load_parser(str(tmp_path / "copy"))[1]
    (tmp_path / "copy" / "notes.txt").write_text("another text")
    again = load_parser(str(tmp_path / "copy"))[1]
    assert len({each["sha256"] for each in (copied, noted, again)}) == 3
    found = {identity_of({**described, name: "other"}) for name in ("name", "version", "sha256", "spacy")}
    assert len(found | {identity_of(described)}) == 5


def test_a_damaged_entry_is_a_miss_and_is_replaced(tmp_path: Path) -> None:
    words = Words(np.array([[0, 2]], np.int32), np.array([-1], np.int32), ("root",))
    cache = ParseCache(tmp_path, "parser")
    cache.put({"It": words, "rains": words})
    with sqlite3.connect(cache.file) as database:
        database.execute("UPDATE parses SET words = zeroblob(60) WHERE key = ?", [cache.key("It")])
        swapped = database.execute("SELECT words FROM parses WHERE key = ?", [cache.key("rains")])
        database.execute("INSERT INTO parses VALUES (?, ?)", [cache.key("pours"), *swapped.fetchone()])
        database.execute("INSERT INTO parses VALUES (?, ?)", [cache.key("number"), 7])
    database.close()
    assert set(cache.get(["It", "rains", "pours", "number"])) == {"rains"}
    cache.put({"It": words})
    assert set(cache.get(["It", "rains"])) == {"It", "rains"}
    cache.close()


@pytest.mark.parametrize("when", ["before", "while open"])
def test_a_file_that_is_no_database_is_replaced(when: str, tmp_path: Path) -> None:
    words = Words(np.array([[0, 2]], np.int32), np.array([-1], np.int32), ("root",))
    cache = ParseCache(tmp_path, "parser")
    cache.put({f"text {number}": words for number in range(500)})
    if when == "before":
        cache.close()
    cache.file.write_bytes(b"no database " * 4000)
    if when == "before":
        cache = ParseCache(tmp_path, "parser")
    assert cache.get(["text 1"]) == {}
    cache.put({"text 2": words})
    assert set(cache.get(["text 1", "text 2"])) == {"text 2"}
    assert set(ParseCache(tmp_path, "parser").get(["text 2"])) == {"text 2"}


def test_a_folder_that_cannot_be_written_is_one_sentence_and_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache, said = open_cache(str(tmp_path / "file" / "inside"), "parser")
    assert cache is None
    assert said is not None
    assert said.startswith("parses are not kept, because the folder of --cache must be writable")
    assert said.endswith(").")
    assert "\n" not in said
    ready = load_annotation(
        record_of(LabelOptions, task="SST-2", cache=tmp_path / "file" / "inside"),
        _syntactic(),
        _passages(VARIED),
    )
    assert ready.notes == (said,)
    assert ready.annotator is not None
    assert len(ready.annotator.words(_passages(VARIED))) == len(VARIED)


def test_a_full_cache_takes_no_more_and_still_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_cache, "LARGEST", 40 * parse_cache.PAGE)
    words = Words(np.zeros((100, 2), np.int32), np.zeros(100, np.int32), ("root",) * 100)
    cache = ParseCache(tmp_path, "parser")
    for number in range(300):
        cache.put({f"text {number}": words})
    held = cache.get([f"text {number}" for number in range(300)])
    assert 10 < len(held) < 150
    assert cache.file.stat().st_size <= 40 * parse_cache.PAGE


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_the_folder_is_the_one_named_or_in_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert cache_folder(None) is None  # as tests have it
    assert cache_folder("~/there") == Path.home() / "there"
    monkeypatch.setenv("HEADROLES_CACHE", str(tmp_path))
    assert cache_folder(None) == tmp_path
    assert cache_folder("none") is None
    monkeypatch.delenv("HEADROLES_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder(None) == tmp_path / "xdg" / "headroles"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder(None) == Path.home() / ".cache" / "headroles"


WRITER = """
import sys, numpy as np
from pathlib import Path
from headroles.extraction.parsing.cache import ParseCache
from headroles.records.passage import Words
folder, own, count = sys.argv[1:]
cache = ParseCache(Path(folder), "parser")
words = Words(np.zeros((9, 2), np.int32), np.zeros(9, np.int32), ("root",) * 9)
for number in range(int(count)):
    cache.put({f"{own} {number} {each}": words for each in range(20)})
    assert len(cache.get([f"{own} {number} {each}" for each in range(20)])) == 20
    print(number, flush=True)
"""


def _writers(folder: Path, names: Sequence[str], count: int) -> list["subprocess.Popen[str]"]:
    return [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), name, str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]


@pytest.mark.slow
def test_several_processes_write_and_read_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    names = ["one", "two", "three"]
    for process in _writers(tmp_path, names, 60):
        process.communicate(timeout=240)
        assert process.returncode == 0
    texts = [f"{name} {number} {each}" for name in names for number in range(60) for each in range(20)]
    assert len(ParseCache(tmp_path, "parser").get(texts)) == len(texts)


@pytest.mark.slow
def test_a_process_killed_while_it_writes_leaves_whole_entries_only(tmp_path: Path) -> None:
    told = []
    for name, after in (("one", 1), ("two", 7), ("three", 30)):
        (process,) = _writers(tmp_path, [name], 10_000)
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(after)]
        process.kill()
        rest, _ = process.communicate()
        told.append((name, len(lines) + rest.count("\n")))
    cache = ParseCache(tmp_path, "parser")
    for name, done in told:
        texts = [f"{name} {number} {each}" for number in range(done) for each in range(20)]
        assert len(cache.get(texts)) == len(texts)
        for number in range(done, done + 3):  # a put is there as a whole or not at all
            assert len(cache.get([f"{name} {number} {each}" for each in range(20)])) in (0, 20)
    with sqlite3.connect(cache.file) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


@pytest.fixture
def pool(shipped: tuple[Language, dict[str, str]]) -> Iterator[ParserPool]:
    made = ParserPool(None, shipped[1], 1)
    yield made
    made.close()


def _gone(number: int) -> bool:
    """Whether a process has ended, a zombie included."""
    try:
        told = Path(f"/proc/{number}/stat").read_text()
    except FileNotFoundError:
        return True
    return told.rpartition(")")[2].split()[0] == "Z"


def _until(said: Callable[[], bool], seconds: float = 120) -> bool:
    limit = time.monotonic() + seconds
    while not said() and time.monotonic() < limit:
        time.sleep(0.02)
    return said()


@pytest.mark.slow
def test_processes_give_the_same_words_and_end_when_they_are_closed(
    shipped: tuple[Language, dict[str, str]],
    pool: ParserPool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    parser, described = shipped
    monkeypatch.setattr(annotate, "ALONE", 5)
    cache = ParseCache(tmp_path, identity_of(described))
    annotator = Annotator(parser, cache, lambda: pool)
    texts = [f"{text} ({number})" for number in range(8) for text in VARIED]
    here = dict(zip(texts, parse_texts(parser, texts), strict=True))
    annotator.expect(_passages(texts))
    assert not pool._started or not annotator._pending  # nothing was parsed yet: it may be a small run
    first = _own(texts[:6], annotator)
    cache.put({texts[6]: here[texts[6]]})
    annotator.expect(_passages(texts))
    chunks = {id(future): future for _, future in annotator._pending.values()}
    assert len(annotator._pending) == len(texts) - 7
    for future in chunks.values():
        future.result(timeout=240)
    found = first | _own(texts, annotator, 16)
    assert all(_same(found[text], here[text]) for text in texts)
    assert annotator.counts == annotate.Counts(parsed=len(texts) - 1, ahead=len(texts) - 7, cached=1)
    assert annotator._pending == {}
    assert cache.get(texts).keys() == set(texts)
    (process,) = pool._started
    assert not _gone(process.pid)
    annotator.close()
    assert _gone(process.pid)
    assert not pool.alive


@pytest.mark.slow
def test_texts_of_a_process_that_dies_are_parsed_here(
    shipped: tuple[Language, dict[str, str]], pool: ParserPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser, _ = shipped
    monkeypatch.setattr(annotate, "ALONE", 0)
    annotator = Annotator(parser, None, lambda: pool)
    texts = [f"{text} ({number})" for number in range(30) for text in VARIED]
    annotator.expect(_passages(texts))
    assert _until(lambda: any(future.running() for _, future in annotator._pending.values()))
    os.kill(pool._started[0].pid, signal.SIGKILL)
    found = _own(texts, annotator, 32)
    here = dict(zip(texts, parse_texts(parser, texts), strict=True))
    assert all(_same(found[text], here[text]) for text in texts)
    assert _until(lambda: not pool.alive)
    annotator.expect(_passages(["more of it"]))
    assert annotator._pending == {}
    assert len(_own(["more of it"], annotator)) == 1


@pytest.mark.slow
def test_a_process_with_another_parser_is_not_used(shipped: tuple[Language, dict[str, str]]) -> None:
    other = ParserPool(None, {**shipped[1], "version": "0"}, 1)
    ((_, future),) = other.submit(["It rains."])
    assert _until(lambda: not other.alive)
    assert future.cancel()
    other.close()


OWNER = """
import time
from headroles.extraction.parsing.pipeline import load_parser
from headroles.extraction.parsing.pool import ParserPool
pool = ParserPool(None, load_parser(None)[1], 1)
work = pool.submit([f"It rains {number} times." for number in range(100_000)])
while not any(future.running() for _, future in work):
    time.sleep(0.02)
print(*(process.pid for process in pool._started), flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_no_process_outlives_the_one_that_started_it() -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    number = int(owner.stdout.readline())
    assert not _gone(number)
    owner.kill()
    owner.communicate(timeout=120)
    assert _until(lambda: _gone(number))


class _Corpus:
    """Passages that may not be gone through."""

    source: dict[str, Any] = {"kind": "file", "name": "data"}  # noqa: RUF012

    def __init__(self, gold: bool) -> None:
        self.gold = gold

    def __iter__(self) -> Iterator[Passage]:
        raise AssertionError("the corpus was gone through")


def _syntactic() -> Selection:
    from headroles.arrays import selection_of

    return selection_of(["syntactic"])


def test_a_corpus_that_says_whether_it_is_gold_is_not_gone_through() -> None:
    options = record_of(LabelOptions, task="SST-2")
    gold = load_annotation(options, _syntactic(), _Corpus(True))
    assert gold.parser is None
    assert gold.annotator is not None
    plain = load_annotation(options, _syntactic(), _Corpus(False))
    assert plain.parser is not None
    assert plain.parser["shipped"] == "yes"


@pytest.mark.parametrize(
    ("sieves", "trees"), [(("subword",), False), (("patterns",), False), (("subword", "syntactic"), True)]
)
def test_texts_are_parsed_only_for_sieves_that_read_trees(
    sieves: tuple[str, ...], trees: bool, tmp_path: Path, shipped: tuple[Language, dict[str, str]]
) -> None:
    options = record_of(LabelOptions, task="SST-2", cache=tmp_path)
    ready = load_annotation(options, selection_of(sieves), _passages(VARIED))
    assert ready.annotator is not None
    words = ready.annotator.words(_passages(VARIED))
    assert ready.annotator.counts.parsed == (len(VARIED) if trees else 0)
    for (own,), text in zip(words, VARIED, strict=True):
        np.testing.assert_array_equal(own.spans, words_of(shipped[0](text)).spans)
        assert (own.upos is not None) == trees
    ready.annotator.close()


def test_a_sieve_of_the_caller_gets_trees_even_under_the_name_of_a_pattern(tmp_path: Path) -> None:
    options = record_of(LabelOptions, task="SST-2", cache=tmp_path)
    own = MaskSieve(
        "subword", lambda example: example.word[:, None] == example.word, needs=frozenset({"words"})
    )
    ready = load_annotation(options, Selection((own,)), _passages(VARIED))
    assert ready.annotator is not None
    assert all(words.upos is not None for (words,) in ready.annotator.words(_passages(VARIED)))
    ready.annotator.close()


def test_workers_start_processes_only_for_processors_that_none_of_them_uses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from headroles.inputs.annotation import _pool

    told = {"name": "parser"}
    monkeypatch.setattr("headroles.inputs.annotation.processes_here", lambda: 3)
    assert _pool(record_of(LabelOptions, task="SST-2"), told) is not None
    assert _pool(record_of(LabelOptions, task="SST-2", workers=2), told) is None
    assert _pool(record_of(LabelOptions, task="SST-2", engine="ray"), told) is None
    monkeypatch.setattr("headroles.inputs.annotation.cpu_count", lambda: 8)
    pools = [
        _pool(record_of(LabelOptions, task="SST-2", workers=2, threads=each), told) for each in (2, 4, 9)
    ]
    assert [None if pool is None else pool.args[2] for pool in pools] == [2, None, None]  # type: ignore[attr-defined]
    monkeypatch.setattr("headroles.inputs.annotation.processes_here", lambda: 0)
    assert _pool(record_of(LabelOptions, task="SST-2"), told) is None
    assert processes_here() >= 0


@pytest.mark.slow
def test_scores_are_the_same_bytes_whatever_was_cached_or_parsed_ahead(
    planted: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bytes_of(cache: Path | str) -> list[bytes]:
        scores = headroles.label(
            data=table, text_a="question", text_b="sentence", sieve="syntactic", model=planted,
            cache=cache, shard_size=16, maps=0, max_length=64, limit=40,
        ).scores  # fmt: skip
        return [each.tobytes() for each in (scores.values, scores.cells, scores.null)]

    plain = bytes_of("none")
    parser, described = load_parser(None)
    texts = [cell for line in table.read_text().splitlines()[1:30] for cell in line.split("\t")[:2]]
    known = Annotator(parser, ParseCache(tmp_path / "cache", identity_of(described)))
    known.words(_passages(texts))
    assert bytes_of(tmp_path / "cache") == plain
    assert bytes_of(tmp_path / "cache") == plain
    pools: list[ParserPool] = []

    def started(*given: Any) -> ParserPool:
        pools.append(ParserPool(*given))
        return pools[-1]

    monkeypatch.setattr(annotate, "ALONE", 1)
    monkeypatch.setattr("headroles.inputs.annotation.ParserPool", started)
    monkeypatch.setattr("headroles.inputs.annotation.processes_here", lambda: 1)
    assert bytes_of("none") == plain
    assert len(pools) == 1
    assert not pools[0].alive
    assert all(_gone(process.pid) for process in pools[0]._started)


def test_a_run_whose_parses_cannot_be_kept_says_so(planted: Path, table: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    run = headroles.label(
        data=table,
        text_a="question",
        model=planted,
        cache=tmp_path / "file" / "inside",
        maps=0,
        max_length=64,
    )
    assert [each for each in run.skipped if each.startswith("parses are not kept")]
