"""Corpora are read anew each time, the same each time, and never held."""

import gc
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from headroles.errors import BadInput
from headroles.extraction.texts.sources import fingerprint, read_table, sample_passages
from headroles.inputs.corpora import StreamedCorpus
from headroles.inputs.passages import read_corpus, read_inputs
from headroles.options.label import LabelOptions
from headroles.options.values import record_of
from headroles.records.passage import Passage
from tests.inputs.corpus_files import NOWHERE, ROWS, options_for, read, written


@pytest.mark.parametrize("ending", ["tsv", "csv", "jsonl", "jsonl.gz", "tsv.gz", "csv.gz", "parquet"])
def test_every_kind_of_table_gives_the_same_passages(ending: str, tmp_path: Path) -> None:
    file = written(tmp_path / f"own.{ending}", ROWS)
    wanted = [(f"own/{n}", (row["text"],), row["from"]) for n, row in enumerate(ROWS)]
    assert read(file) == wanted


@pytest.mark.parametrize("ending", ["jsonl.gz", "parquet"])
@pytest.mark.parametrize("pattern", ["", "/*.{ending}", "/part-?.*"])
def test_a_folder_or_pattern_is_read_in_the_order_of_names(ending: str, pattern: str, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number, start in ((2, 40), (0, 0), (1, 20)):
        written(folder / f"part-{number}.{ending}", ROWS[start : start + 20])
    (folder / "README.md").write_text("not data")
    (folder / "_SUCCESS").write_text("")
    (folder / f".part-9.{ending}").write_text("half-written")
    found = read(f"{folder}{pattern.format(ending=ending)}")
    assert found == [(f"corpus/{n}", (row["text"],), row["from"]) for n, row in enumerate(ROWS)]
    corpus = read_corpus(options_for(folder), frozenset(), NOWHERE)
    assert corpus.source["files"] == 3
    assert len(list(corpus)) == corpus.source["rows"] == 50


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path: Path) -> None:
    assert len(read(written(tmp_path / "own[1].jsonl", ROWS))) == 50


@pytest.mark.parametrize(
    ("make", "data", "sentence"),
    [
        (("a.jsonl", "b.parquet"), "", r"are of one kind, but .* names .jsonl and .parquet; name those"),
        (("a.txt",), "", r"files that end in .tsv, .csv, .json, .jsonl, .parquet, .* names none"),
        (("a.jsonl",), "/*.parquet", r"/\*\.parquet' names none"),
        (("a.jsonl",), "/b.jsonl", r"^No such file: "),
    ],
)
def test_what_a_folder_or_pattern_does_not_name_is_one_sentence(
    make: tuple[str, ...], data: str, sentence: str, tmp_path: Path
) -> None:
    for name in make:
        if name.endswith("txt"):
            (tmp_path / name).write_text("text")
        else:
            written(tmp_path / name, ROWS)
    with pytest.raises(BadInput, match=sentence):
        read(f"{tmp_path}{data}")


@pytest.mark.parametrize("limit", [1, 17, 49, 50, 80, None])
def test_a_limit_takes_the_subset_that_it_took_of_a_list(limit: int | None, tmp_path: Path) -> None:
    file = written(tmp_path / "own.tsv", ROWS)
    listed = sample_passages(read_table(file, ["text"], group="from", name="own"), limit, 5)
    corpus = read_corpus(options_for(file, limit=limit, seed=5), frozenset(), NOWHERE)
    assert [each.key for each in corpus] == [each.key for each in listed]
    assert corpus.source == {"kind": "file", "name": str(file), "rows": 50}
    chosen, source = read_inputs(options_for(file, limit=limit, seed=5), frozenset(), NOWHERE)
    assert fingerprint(chosen) == source["sha256"] == fingerprint(listed) == fingerprint(iter(listed))


@pytest.mark.parametrize("stream", [True, False])
def test_first_takes_the_first_rows_and_says_so(stream: bool, tmp_path: Path) -> None:
    file = written(tmp_path / "own.jsonl.gz", ROWS)
    corpus = read_corpus(options_for(file, first=7, stream=stream), frozenset(), NOWHERE)
    assert [each.key for each in corpus] == [f"own/{n}" for n in range(7)]
    assert corpus.source == {"kind": "file", "name": str(file), "taken": "the first 7"}


def test_more_first_rows_than_there_are_is_all_of_them_counted(tmp_path: Path) -> None:
    file = written(tmp_path / "own.tsv", ROWS)
    corpus = read_corpus(options_for(file, first=80), frozenset(), NOWHERE)
    assert len(list(corpus)) == 50
    assert corpus.source["rows"] == 50


def test_the_first_rows_of_a_shipped_sample_are_no_random_subset() -> None:
    first, drawn = (
        read_corpus(record_of(LabelOptions, task="QNLI", **{name: 7}), frozenset(), NOWHERE)
        for name in ("first", "limit")
    )
    assert [each.key for each in first] == [f"QNLI/{n}" for n in range(7)]
    assert [each.key for each in drawn] != [each.key for each in first]
    assert first.source["taken"] == "the first 7"
    assert "taken" not in drawn.source


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"limit": 7, "first": 7}, "--limit draws a random sample and --first takes the first inputs, but"),
        ({"limit": 7, "stream": True}, "a stream is read in order, .* use --first 7, or leave --stream out"),
        ({"first": 0}, "first must be a whole number of at least 1, but got 0"),
    ],
)
def test_a_subset_is_either_random_or_the_first_and_a_stream_has_only_first_ones(
    given: dict[str, int], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        record_of(LabelOptions, task="QNLI", **given)


def test_a_stream_reads_no_further_than_it_is_asked() -> None:
    read: list[int] = []

    def endless() -> Iterator[Passage]:
        while True:
            read.append(len(read))
            yield Passage(f"x/{read[-1]}", ("it rains",))

    assert len(list(StreamedCorpus(endless, {}, gold=False, first=9))) == 9
    assert len(read) == 9


def test_files_are_closed_when_no_more_is_asked_of_them(tmp_path: Path) -> None:
    file = written(tmp_path / "own.jsonl.gz", ROWS)
    passages = iter(read_corpus(options_for(file), frozenset(), NOWHERE))
    next(passages)
    del passages  # a file left open would be a warning here, which is an error


def test_a_treebank_is_read_sentence_by_sentence(tmp_path: Path) -> None:
    line = "\t".join(("1", "Yes", "yes", "_", "_", "_", "0", "root", "_", "_"))
    bad = line.replace("\t0\t", "\t9\t")
    (tmp_path / "own.conllu").write_text("# newdoc = d\n" + f"{line}\n\n" * 3 + f"{bad}\n\n")
    corpus = read_corpus(record_of(LabelOptions, data=str(tmp_path / "own.conllu")), frozenset(), NOWHERE)
    assert corpus.gold
    assert corpus.source["trees"] == "gold"
    passages = iter(corpus)
    assert [(each.key, each.group) for each in islice(passages, 3)] == [(f"own/{n}", "d") for n in range(3)]
    with pytest.raises(BadInput, match="line 8"):
        next(passages)


def _many(ending: str, folder: Path, rows: int) -> LabelOptions:
    """Options that read many rows of some 300 letters."""
    if ending == "conllu":
        rest = "\t".join(("_", "_", "_", "_", "0", "root", "_", "_"))
        sentences = (f"1\tword{n}{'x' * 300}\t{rest}\n\n" for n in range(rows))
        (folder / "own.conllu").write_text("".join(sentences))
        return record_of(LabelOptions, data=str(folder / "own.conllu"))
    texts = [{"text": f"{n} {'word ' * 60}", "from": f"document {n}"} for n in range(rows)]
    return options_for(written(folder / f"own.{ending}", texts))


@pytest.mark.parametrize("ending", ["tsv", "jsonl.gz", "parquet", "conllu"])
def test_no_passage_outlives_the_next(ending: str, tmp_path: Path) -> None:
    corpus = read_corpus(_many(ending, tmp_path, 1500), frozenset(), NOWHERE)
    alive = []
    for number, _ in enumerate(corpus):
        if number % 500 == 499:
            alive.append(sum(type(each) is Passage for each in gc.get_objects()))
    assert len(alive) == 3
    assert max(alive) <= min(alive) + 1
    assert max(alive) < 100  # a few that other tests still hold


def test_a_corpus_of_20_000_rows_is_never_held(tmp_path: Path) -> None:
    corpus = read_corpus(_many("parquet", tmp_path, 20_000), frozenset(), NOWHERE)
    next(iter(corpus))  # libraries are loaded
    tracemalloc.start()
    try:
        count = sum(1 for _ in corpus)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == corpus.source["rows"] == 20_000
    assert peak < 3_000_000  # the texts alone are 6 MB
