"""Corpora are read anew in each pass, the same each time, and never held: files of all kinds, and objects."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from headroles.errors import BadInput
from headroles.extraction import fingerprint, read_table, sample_passages
from headroles.inputs import StreamedCorpus
from headroles.records import Passage
from tests.support.texts import ROWS, conllu, corpus_of, facts, read_rows, write, write_rows

ALL = [((row["text"],), row["from"]) for row in ROWS]


@pytest.mark.parametrize("ending", ["tsv", "csv", "jsonl", "jsonl.gz", "tsv.gz", "csv.gz", "parquet"])
def test_files_folders_and_patterns_of_every_kind_give_the_same_passages(ending: str, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    file = write_rows(tmp_path / f"own.{ending}", ROWS)
    assert read_rows(file) == [(f"own/{n}", *record) for n, record in enumerate(ALL)]
    odd = file.rename(tmp_path / f"own[1].{ending}")  # a file, though its name looks like a pattern
    assert [record[1:] for record in read_rows(odd)] == ALL
    for number, start in ((2, 40), (0, 0), (1, 20)):
        write_rows(folder / f"part-{number}.{ending}", ROWS[start : start + 20])
    for name in ("README.md", "_SUCCESS", f".part-9.{ending}"):
        (folder / name).write_text("not data")
    write(folder / "dataset_infos.json", '[{"text": "about the tables"}]')
    wanted = [(f"corpus/{n}", *record) for n, record in enumerate(ALL)]
    for data in (str(folder), f"{folder}/*.{ending}", f"{folder}/part-?.*"):
        assert read_rows(data) == wanted
    corpus = corpus_of(folder, text_a="text")
    assert corpus.source["files"] == 3
    assert len(list(corpus)) == corpus.source["rows"] == 50


def test_corpora_at_addresses_are_read_by_the_same_door(tmp_path: Path) -> None:
    import fsspec

    system = fsspec.filesystem("memory")
    try:
        for number in range(2):
            part = write_rows(tmp_path / "part.jsonl.gz", ROWS[number * 25 : number * 25 + 25])
            system.pipe_file(f"/corpus/part-{number}.jsonl.gz", part.read_bytes())
        wanted = [(f"corpus/{n}", *record) for n, record in enumerate(ALL)]
        assert read_rows("memory://corpus") == read_rows("memory://corpus/*.jsonl.gz") == wanted
        assert len(read_rows("memory://corpus/part-1.jsonl.gz")) == 25
    finally:
        system.rm("/corpus", recursive=True)


def test_a_limit_takes_the_subset_of_a_list_and_first_takes_the_first_rows(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "own.tsv", ROWS)
    listed = read_table(file, ["text"], group="from", name="own")
    columns: dict[str, Any] = {"text_a": "text", "group": "from"}
    for limit in (1, 17, 50, 80, None):
        corpus, chosen = corpus_of(file, limit=limit, seed=5, **columns), sample_passages(listed, limit, 5)
        assert facts(corpus) == facts(corpus) == facts(chosen)
        assert corpus.source == {"kind": "file", "name": str(file), "rows": 50}
        assert fingerprint(corpus) == fingerprint(chosen)
    for stream in (True, False):
        corpus = corpus_of(file, first=7, stream=stream, **columns)
        assert facts(corpus) == facts(listed[:7])
        assert corpus.source == {"kind": "file", "name": str(file), "taken": "the first 7"}
    more = corpus_of(file, first=80, **columns)
    assert (len(list(more)), more.source["rows"]) == (50, 50)
    first, drawn = (corpus_of(task="QNLI", **{name: 7}) for name in ("first", "limit"))
    assert [passage.key for passage in first] == [f"QNLI/{n}" for n in range(7)]
    assert len(facts(drawn)) == 7
    assert facts(drawn) != facts(first)
    assert first.source["taken"] == "the first 7"
    assert "taken" not in drawn.source


def test_a_stream_reads_no_further_than_it_is_asked_and_closes_its_files(tmp_path: Path) -> None:
    read: list[int] = []

    def endless() -> Iterator[Passage]:
        while True:
            read.append(len(read))
            yield Passage(f"x/{read[-1]}", ("it rains",))

    assert len(list(StreamedCorpus(endless, {}, gold=False, first=9))) == len(read) == 9
    passages = iter(corpus_of(write_rows(tmp_path / "own.jsonl.gz", ROWS), text_a="text"))
    next(passages)
    del passages  # a file left open would be a warning here, which is an error
    line, bad = conllu(1, "Yes", 0, "root"), conllu(1, "Yes", 9)
    trees = corpus_of(write(tmp_path / "own.conllu", "# newdoc = d\n" + f"{line}\n\n" * 3 + f"{bad}\n\n"))
    assert (trees.gold, trees.source["trees"]) == (True, "gold")
    sentences = iter(trees)
    assert facts(islice(sentences, 3)) == [(f"own/{n}", ("Yes",), "d") for n in range(3)]
    with pytest.raises(BadInput, match="line 8"):
        next(sentences)


def test_columns_are_those_named_then_the_tasks_then_the_usual_ones() -> None:
    row = {"text": "a", "sentence1": "b", "sentence2": "c", "group": 1}
    for options, texts, group in (
        ({}, ("a",), "1"), ({"group": "text"}, ("a",), "a"), ({"text_a": "sentence1"}, ("b",), None),
        ({"task": "MRPC"}, ("b", "c"), None), ({"task": "MRPC", "group": "group"}, ("b", "c"), "1"),
    ):  # fmt: skip
        assert facts(corpus_of([row], **options))[0][1:] == (texts, group)
    assert facts(corpus_of(["a"], task="SST-2"))[0][1:] == (("a",), None)
    old = [{"#1 String": "a", "#2 String": "b"}]
    assert facts(corpus_of(old, task="MRPC"))[0][1:] == (("a", "b"), None)
