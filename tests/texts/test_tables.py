"""Tables, JSON and datasets become passages: each reader gives exactly the records of its bytes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles.errors import BadInput
from headroles.extraction import (
    fingerprint,
    read_documents,
    read_file,
    read_hub,
    read_sample,
    read_table,
    sample_passages,
)
from headroles.inputs import with_text_column
from headroles.kinds import kind_named
from headroles.records import Passage
from headroles.tasks import TASKS, task_of
from tests.support.texts import corpus_of, facts, read_rows, write, write_rows

DATA = json.loads((Path(__file__).parent / "tables.json").read_text("utf-8"))
"""Files that readers take, with columns, groups and records; files with one bad row and its place; headers.

Quotes are letters in tab-separated files, and hold commas and lines together in comma-separated ones; a
blank group is unknown; blank lines of JSON are passed over, and only its own line ends end a line.
"""


@pytest.mark.parametrize("name", DATA["good"])
def test_a_reader_gives_exactly_the_records_of_its_bytes(name: str, tmp_path: Path) -> None:
    content, columns, group, records = DATA["good"][name]
    wanted = [(f"own/{number}", tuple(texts), doc) for number, (texts, doc) in enumerate(records)]
    for ending in ("", ".gz"):
        file = write(tmp_path / f"{name}{ending}", content)
        assert facts(read_file(file, columns, group, "own")) == wanted
        assert facts(read_table(file, columns, group=group, name="own")) == wanted
        assert all(passage.words is None for passage in read_table(file, columns))


def test_a_bad_row_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    for name, (content, place) in DATA["bad"].items():
        make = write if isinstance(content, str) else write_rows
        with pytest.raises(BadInput, match=f"{name}, {place}: "):
            read_file(make(tmp_path / name, content), ("x", "y"), None, "own")


@pytest.mark.parametrize("name", TASKS)
def test_the_files_of_every_task_are_read_by_their_headers(name: str, tmp_path: Path) -> None:
    columns = task_of(name).columns
    for header in DATA["headers"][name]:
        rows = ["\t".join(f"{cell} {row}" for cell in header.split("\t")) for row in (0, 1)]
        file = write(tmp_path / f"{name}.tsv", "\n".join([header, *rows]) + "\n")
        wanted = [(f"{name}/{row}", tuple(f"{cell} {row}" for cell in columns), None) for row in (0, 1)]
        assert facts(corpus_of(file, task=name)) == wanted
    sample = read_sample(task_of(name))
    assert len(sample) == len({passage.texts for passage in sample}) >= 128
    assert {len(passage.texts) for passage in sample} == {len(columns)}
    assert sample[0].key == f"{name}/0"


def test_the_only_column_of_texts_is_taken_and_a_choice_is_refused_with_its_names(tmp_path: Path) -> None:
    for content, answer in (
        ("own\nIt rains.\nIt snows.\n", "own"),
        ("id,own,score\na b c,It rains here.,1\na b c,It never snows.,2\na b c,It hails now.,3\n", "own"),
        ("one,other\nIt rains a lot.,It never snows here.\n", "the columns 'one' and 'other' do; give"),
        ("a,b\n1,2\n", "no column does; give --text-a COLUMN"),
        ("It never rains here.\nIt never snows here.\n", "reads like a text: 'It never rains here.'"),
    ):
        options = kind_named("label").options({"data": str(write(tmp_path / "own.csv", content))})
        if answer == "own":
            assert with_text_column(options).text_a == answer
        else:
            with pytest.raises(BadInput, match=answer):
                with_text_column(options)


def test_texts_and_groups_of_parquet_may_be_kept_once_each(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "text": pa.array(["a b", "c d", "a b"]).dictionary_encode(),
        "from": pa.array([7, None, 9], pa.int32()),
        "embedding": pa.array([[1.0], [2.0], [3.0]]),
    }
    pq.write_table(pa.table(columns), tmp_path / "own.parquet")
    wanted = [("own/0", ("a b",), "7"), ("own/1", ("c d",), None), ("own/2", ("a b",), "9")]
    assert read_rows(tmp_path / "own.parquet") == wanted
    write_rows(tmp_path / "dev.parquet", [{"sentence1": "It rains.", "sentence2": "It pours."}])
    corpus = corpus_of(tmp_path / "dev.parquet", task="MRPC")  # columns have the names of the hub
    assert facts(corpus) == [("MRPC/0", ("It rains.", "It pours."), None)]


FIELDS: list[dict[str, Any]] = [
    {"text": "It rains.", "group": "a"},
    {"text": ["Does it rain?", "It rains."], "group": 7},
    {"text_a": "Why?", "text_b": "So.", "group": None},
    {"words": ["It", "rains", "."], "spaces": [True, False, False]},
]
"""Objects of all forms, without trees."""


@pytest.mark.parametrize("ending", [".json", ".jsonl.gz"])
def test_fields_of_json_say_what_texts_groups_and_trees_are(ending: str, tmp_path: Path) -> None:
    corpus = corpus_of(write_rows(tmp_path / f"own{ending}", FIELDS))
    assert facts(corpus) == [
        ("own/0", ("It rains.",), "a"),
        ("own/1", ("Does it rain?", "It rains."), "7"),
        ("own/2", ("Why?", "So."), None),
        ("own/3", ("It rains.",), None),
    ]
    assert not corpus.gold
    assert all(passage.words is None for passage in corpus)
    rows: list[dict[str, Any]] = [{"text": "A", "group": "a", "page": 3}, {"text": "B", "page": " "}]
    pages = corpus_of(write_rows(tmp_path / f"pages{ending}", rows), group="page")
    assert [passage.group for passage in pages] == ["3", None]
    for relations in ("relations", "relns"):
        labels = ["nsubj", "root", "punct"]
        tree: dict[str, Any] = {"words": ["We", "rest", "."], "heads": [2, 0, 2], relations: labels}
        two = {name: 2 * values for name, values in tree.items()} | {"sentences": [3, 3], "document": "two"}
        file = write_rows(tmp_path / f"own{ending}", [tree, two, tree | {"group": "g"}])
        corpus = corpus_of(file)
        assert corpus.gold
        assert corpus.source["trees"] == "gold"
        names = [("own/0", "own/0"), ("own/1@0", "two"), ("own/1@3", "two"), ("own/2", "g")]
        assert facts(corpus) == [(key, ("We rest .",), group) for key, group in names]
        for passage in corpus:
            assert passage.words[0].heads.tolist() == [1, -1, 1]
            assert passage.words[0].relations == ("nsubj", "root", "punct")
        whole = [document.relations for document in read_documents(file, "own")]
        assert whole == [tuple(tree[relations]), tuple(two[relations]), tuple(tree[relations])]


def test_a_sample_is_the_subset_in_order_that_numpy_draws() -> None:
    for rows, limit, seed in ((1, 1, 0), (60, 7, 0), (60, 7, 3), (60, 60, 1), (20, 70, 2)):
        passages = [Passage(f"p/{row}", (f"text {row}",)) for row in range(rows)]
        drawn = np.random.default_rng(seed).choice(rows, size=min(rows, limit), replace=False)
        assert sample_passages(passages, limit, seed) == [passages[row] for row in sorted(drawn)]
        assert sample_passages(passages, None, seed) == passages


def test_the_fingerprint_is_of_keys_groups_and_texts() -> None:
    usual = [Passage("a/0", ("one", "two"), "g"), Passage("a/1", ("three", "four"))]
    assert fingerprint(usual) == fingerprint(Passage(p.key, p.texts, p.group) for p in usual)
    assert len(bytes.fromhex(fingerprint(usual))) == 32
    others = [Passage("a/0", ("one", "two")), Passage("a/9", ("one", "two"), "g")]
    others += [Passage("a/0", ("one two", ""), "g"), Passage("a/0", ("onetwo",), "g")]
    changed = [usual[::-1], usual[:1], *([other, usual[1]] for other in others)]
    assert len({fingerprint(passages) for passages in [usual, *changed]}) == len(changed) + 1


def test_a_local_folder_in_the_hubs_layout_is_read_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    dataset, file = tmp_path / "glue", tmp_path / "glue" / "qnli" / "validation-0.parquet"
    files = "- config_name: qnli\n  data_files:\n  - split: validation\n    path: qnli/validation-*\n"
    write(file.parents[1] / "README.md", f"---\nconfigs:\n{files}---\n")
    file.parent.mkdir()
    write_rows(file, [{"question": f"Who is {n}?", "sentence": f"He is {n}.", "idx": n} for n in range(300)])
    random = sorted(np.random.default_rng(0).choice(300, size=20, replace=False).tolist())
    for options, numbers in (({"limit": 20}, random), ({"first": 20, "stream": True}, list(range(20)))):
        corpus = corpus_of(str(dataset), task="QNLI", source="hub", **options)
        wanted = [(f"QNLI/{n}", (f"Who is {n}?", f"He is {n}."), None) for n in numbers]
        assert facts(corpus) == facts(corpus) == wanted
    write_rows(file, [{"question": "Why?", "sentence": "So."}])
    assert facts(read_hub(task_of("QNLI"), str(dataset), "own")) == [("own/0", ("Why?", "So."), None)]
    assert not (tmp_path / "cache").exists()
