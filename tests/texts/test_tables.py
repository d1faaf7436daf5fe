"""Tables, JSON and datasets become passages: each reader gives exactly the records of its bytes."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from headroles.records import Passage
from headroles.tasks import TASKS, task_of
from tests.support.texts import ROWS, corpus_of, facts, read_rows, write, write_rows

Records = list[tuple[tuple[str, ...], str | None]]
ODD = '" He said " no , it \'s " fine'
GOOD: dict[str, tuple[str, tuple[str, ...], str | None, Records]] = {
    # quotes are letters in tab-separated files, and a blank group is unknown
    "quotes.tsv": (
        f'x\ty\tdoc\n{ODD}\t"unbalanced\tA\na\tb"c\t \nshort\trow\n\nlast\tone\tA\n',
        ("x", "y"), "doc",
        [((ODD, '"unbalanced'), "A"), (("a", 'b"c'), None), (("short", "row"), None), (("last", "one"), "A")],
    ),
    "mark.TSV": ("\ufeffx\r\nit rains\r\n", ("x",), None, [(("it rains",), None)]),
    # quotes hold commas and lines together in comma-separated files
    "quotes.csv": (
        'x,y\r\n"one, two\nthree","he said ""no"""\r\nplain,\'s\r\n',
        ("y", "x"), None, [(('he said "no"', "one, two\nthree"), None), (("'s", "plain"), None)],
    ),
    "groups.csv": ("g,x\n7,a\n,b\n 8 ,c\n", ("x",), "g", [(("a",), "7"), (("b",), None), (("c",), "8")]),
    # blank lines of JSON are passed over, and only its own line ends end a line
    "lines.jsonl": (
        '{"a": "première\\tligne\\n", "doc": 3}\r\n\r\n{"a": "one\u2028line", "doc": null, "o": NaN}\n',
        ("a",), "doc", [(("première\tligne\n",), "3"), (("one\u2028line",), None)],
    ),
    "list.json": ('\n[{"a": "x"},\n {"a": "y", "b": [1]}]\n', ("a",), None, [(("x",), None), (("y",), None)]),
    "lines.json": ('{"a": "x", "g": true}\n{"a": "y", "g": "G"}', ("a",), "g",
                   [(("x",), "True"), (("y",), "G")]),
}  # fmt: skip
"""Files that readers take: their content, columns of texts and groups, and what is read of each row."""


@pytest.mark.parametrize("name", GOOD)
def test_a_reader_gives_exactly_the_records_of_its_bytes(name: str, tmp_path: Path) -> None:
    content, columns, group, records = GOOD[name]
    wanted = [(f"own/{number}", *record) for number, record in enumerate(records)]
    for ending in ("", ".gz"):
        file = write(tmp_path / f"{name}{ending}", content)
        assert facts(read_file(file, columns, group, "own")) == wanted
        assert facts(read_table(file, columns, group=group, name="own")) == wanted
        assert all(passage.words is None for passage in read_table(file, columns))


LINES: dict[str, tuple[Any, str]] = {
    "bad.tsv": ("x\ty\na\tb\nc\n", "line 3"),
    "bad.csv": ('x,y\n"a\nb",c\nd, \n', "line 4"),
    "bad.jsonl": ('{"x": "a", "y": "b"}\n\n{"x": "a"\n', "line 3"),
    "bad.json": ('[{"x": "a", "y": "b"},\n\n {"x": "a", "y": 5}]', "line 3"),
    "bad.parquet": ([{"x": "a", "y": "b"}, {"x": "a", "y": " "}], "row 1"),
}
"""Files with one bad row, and the place that the sentence names."""


@pytest.mark.parametrize("name", LINES)
def test_a_bad_row_is_named_with_its_file_and_line(name: str, tmp_path: Path) -> None:
    content, place = LINES[name]
    file = tmp_path / name
    if isinstance(content, str):
        write(file, content)
    else:
        write_rows(file, content)
    with pytest.raises(BadInput, match=f"{name}, {place}: "):
        read_file(file, ("x", "y"), None, "own")


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).filter(str.strip)


@given(rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6))
def test_any_text_survives_csv_json_and_tsv_where_it_has_no_tab_or_line_end(
    rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("round")
    with (folder / "a.csv").open("w", encoding="utf-8", newline="") as text:
        csv.writer(text).writerows([("x", "y"), *rows])
    objects = [{"x": a, "y": b} for a, b in rows]
    write(folder / "a.jsonl", "\n".join(json.dumps(row, ensure_ascii=False) for row in objects))
    write(folder / "a.json", json.dumps(objects, indent=2))
    for name in ("a.csv", "a.jsonl", "a.json"):
        assert [passage.texts for passage in read_table(folder / name, ("x", "y"))] == rows
    plain = [tuple("".join(sign for sign in cell if sign not in "\t\r\n") for cell in row) for row in rows]
    if all(cell.strip() for row in plain for cell in row):
        write(folder / "a.tsv", "\n".join(["x\ty", *map("\t".join, plain)]) + "\n")
        assert [passage.texts for passage in read_table(folder / "a.tsv", ("x", "y"))] == plain


HEADERS = {
    "QNLI": ("index\tquestion\tsentence\tlabel", "index\tquestion\tsentence"),
    "QQP": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "id\tquestion1\tquestion2"),
    "MRPC": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "index\t#1 ID\t#2 ID\t#1 String\t#2 String"),
    "SST-2": ("sentence\tlabel", "index\tsentence"),
}
"""Headers of the files of each task: of the training and the test set."""


@pytest.mark.parametrize("name", TASKS)
def test_the_files_of_every_task_are_read_by_their_headers(name: str, tmp_path: Path) -> None:
    columns = task_of(name).columns
    for header in HEADERS[name]:
        rows = ["\t".join(f"{cell} {row}" for cell in header.split("\t")) for row in (0, 1)]
        file = write(tmp_path / f"{name}.tsv", "\n".join([header, *rows]) + "\n")
        wanted = [(f"{name}/{row}", tuple(f"{cell} {row}" for cell in columns), None) for row in (0, 1)]
        assert facts(corpus_of(file, task=name)) == wanted
    sample = read_sample(task_of(name))
    assert len(sample) == len({passage.texts for passage in sample}) >= 128
    assert {len(passage.texts) for passage in sample} == {len(columns)}
    assert sample[0].key == f"{name}/0"


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


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".json.gz", ".jsonl.gz"])
def test_fields_of_json_say_what_texts_groups_and_trees_are(ending: str, tmp_path: Path) -> None:
    assert read_rows(write_rows(tmp_path / f"rows{ending}", ROWS)) == [
        (f"rows/{n}", (row["text"],), row["from"]) for n, row in enumerate(ROWS)
    ]
    corpus = corpus_of(write_rows(tmp_path / f"own{ending}", FIELDS))
    assert facts(corpus) == [
        ("own/0", ("It rains.",), "a"),
        ("own/1", ("Does it rain?", "It rains."), "7"),
        ("own/2", ("Why?", "So."), None),
        ("own/3", ("It rains.",), None),
    ]
    assert not corpus.gold
    assert all(passage.words is None for passage in corpus)
    pages = write_rows(
        tmp_path / f"pages{ending}", [{"text": "A", "group": "a", "page": 3}, {"text": "B", "page": " "}]
    )
    assert [passage.group for passage in corpus_of(pages, group="page")] == ["3", None]
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


@given(
    sizes=st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, 70))),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_sample_is_the_subset_in_order_that_numpy_draws(sizes: tuple[int, int], seed: int) -> None:
    rows, limit = sizes
    passages = [Passage(f"p/{row}", (f"text {row}",)) for row in range(rows)]
    drawn = sorted(np.random.default_rng(seed).choice(rows, size=min(rows, limit), replace=False).tolist())
    assert sample_passages(passages, limit, seed) == [passages[row] for row in drawn]
    assert sample_passages(passages, None, seed) == passages


def test_the_fingerprint_is_of_keys_groups_and_texts() -> None:
    usual = [Passage("a/0", ("one", "two"), "g"), Passage("a/1", ("three", "four"))]
    assert fingerprint(usual) == fingerprint(Passage(p.key, p.texts, p.group) for p in usual)
    assert len(bytes.fromhex(fingerprint(usual))) == 32
    changed = [
        usual[::-1],
        usual[:1],
        [Passage("a/0", ("one", "two")), usual[1]],
        [Passage("a/9", ("one", "two"), "g"), usual[1]],
        [Passage("a/0", ("one two", ""), "g"), usual[1]],
        [Passage("a/0", ("onetwo",), "g"), usual[1]],
    ]
    assert len({fingerprint(passages) for passages in [usual, *changed]}) == len(changed) + 1


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the layout of the hub with 300 rows of QNLI, and a cache of its own."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "glue"
    (folder / "qnli").mkdir(parents=True)
    rows = [{"question": f"Who is {n}?", "sentence": f"He is {n}.", "idx": n} for n in range(300)]
    write_rows(folder / "qnli" / "validation-0.parquet", rows)
    files = "- config_name: qnli\n  data_files:\n  - split: validation\n    path: qnli/validation-*\n"
    (folder / "README.md").write_text(f"---\nconfigs:\n{files}---\n")
    return folder


def test_a_local_folder_in_the_hubs_layout_is_read_as_it_is_now(dataset: Path, tmp_path: Path) -> None:
    hub: dict[str, Any] = {"task": "QNLI", "source": "hub"}
    random = sorted(np.random.default_rng(0).choice(300, size=20, replace=False).tolist())
    for options, numbers in (({"limit": 20}, random), ({"first": 20, "stream": True}, list(range(20)))):
        corpus = corpus_of(str(dataset), **hub, **options)
        wanted = [(f"QNLI/{n}", (f"Who is {n}?", f"He is {n}."), None) for n in numbers]
        assert facts(corpus) == facts(corpus) == wanted
    write_rows(dataset / "qnli" / "validation-0.parquet", [{"question": "Why?", "sentence": "So."}])
    assert facts(read_hub(task_of("QNLI"), str(dataset), "own")) == [("own/0", ("Why?", "So."), None)]
    assert not (tmp_path / "cache").exists()
