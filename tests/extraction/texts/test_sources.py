"""Tables, samples and datasets become passages; a file that cannot be used is one sentence."""

import csv
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.extraction.texts.files import file_format
from headroles.extraction.texts.sources import (
    fingerprint,
    read_file,
    read_hub,
    read_sample,
    read_table,
    sample_passages,
)
from headroles.records.passage import Passage
from headroles.tasks import TASKS, task_of

Write = Callable[..., Path]
ROWS = {"QNLI": 2000, "QQP": 2000, "MRPC": 408, "SST-2": 872}
HEADERS = {
    "QNLI": ("index\tquestion\tsentence\tlabel", "index\tquestion\tsentence"),
    "QQP": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "id\tquestion1\tquestion2"),
    "MRPC": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "index\t#1 ID\t#2 ID\t#1 String\t#2 String"),
    "SST-2": ("sentence\tlabel", "index\tsentence"),
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A file of some bytes or text, gzipped where its name says so."""

    def make(name: str, content: str | bytes) -> Path:
        raw = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return make


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", TASKS)
def test_the_files_of_every_task_are_read_by_their_headers(
    name: str, which: int, bom: str, ending: str, write: Write
) -> None:
    header = HEADERS[name][which]
    cells = [f"{column} of row {{}}" for column in header.split("\t")]
    rows = ["\t".join(cells).format(*[row] * len(cells)) for row in (0, 1)]
    path = write(f"{name}.tsv{ending}", bom + "\n".join([header, *rows]) + "\n")
    passages = read_table(path, task_of(name).columns, name=name)
    assert [passage.key for passage in passages] == [f"{name}/0", f"{name}/1"]
    assert passages[1].texts == tuple(f"{column} of row 1" for column in task_of(name).columns)
    assert passages[1].group is None
    assert passages[1].words is None


@pytest.mark.parametrize("name", TASKS)
def test_real_dev_files_have_the_rows_they_are_known_to_have(name: str, shared: Path) -> None:
    path = shared / "data" / "glue" / name / "dev.tsv"
    passages = read_table(path, task_of(name).columns, name=name)
    assert len(passages) == ROWS[name]
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    places = [lines[0].split("\t").index(column) for column in task_of(name).columns]
    for passage, line in zip(passages, lines[1:], strict=False):
        assert passage.texts == tuple(line.split("\t")[place] for place in places)
    small = shared / "data" / "glue" / "small" / f"glue_data_{name}_test_small.tsv"
    assert len(read_table(small, task_of(name).columns)) == 20


def test_quotes_in_tab_separated_files_are_letters(write: Write) -> None:
    text = '" He said " no , it \'s " fine'
    path = write("odd.tsv", f'index\tquestion\tsentence\n0\t{text}\t"unbalanced\n1\ta\tb"c\n')
    first, second = read_table(path, ("question", "sentence"))
    assert first.texts == (text, '"unbalanced')
    assert second.texts == ("a", 'b"c')


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_quotes_in_comma_separated_files_hold_commas_and_lines_together(ending: str, write: Write) -> None:
    path = write(f"a.csv{ending}", 'x,y\r\n"one, two\nthree","he said ""no"""\r\nplain,\'s\r\n')
    first, second = read_file(path, ("x", "y"), None, "own")
    assert first.texts == ("one, two\nthree", 'he said "no"')
    assert second.texts == ("plain", "'s")
    assert second.key == "own/1"


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_lines_of_json_are_read_blank_ones_passed_over(ending: str, write: Write) -> None:
    rows = [{"a": "première\tligne\n", "doc": 3}, {"a": "second", "doc": None}]
    path = write(f"b.jsonl{ending}", "\n\n".join(json.dumps(row) for row in rows) + "\n")
    first, second = read_file(path, ["a"], "doc", "own")
    assert (first.texts, first.group) == (("première\tligne\n",), "3")
    assert (second.texts, second.group) == (("second",), None)


@given(
    rows=st.lists(
        st.tuples(*[st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1)] * 2),
        min_size=1,
        max_size=6,
    )
)
def test_any_text_survives_comma_separated_files_and_lines_of_json(
    rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    kept = [row for row in rows if row[0].strip() and row[1].strip()]
    folder = tmp_path_factory.mktemp("round")
    with (folder / "a.csv").open("w", encoding="utf-8", newline="") as text:
        csv.writer(text).writerows([("x", "y"), *kept])
    lines = [json.dumps({"x": a, "y": b}, ensure_ascii=False) for a, b in kept]
    (folder / "a.jsonl").write_bytes("\n".join(lines).encode())
    for name in ("a.csv", "a.jsonl"):
        if kept:
            assert [passage.texts for passage in read_table(folder / name, ("x", "y"))] == kept


def test_groups_are_read_from_their_column_and_a_blank_one_is_unknown(write: Write) -> None:
    path = write("g.tsv", "text\tdocument\nfirst\tA\nsecond\t \nthird\nfourth\tA\n")
    groups = [passage.group for passage in read_table(path, ["text"], group="document")]
    assert groups == ["A", None, None, "A"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("none.tsv", None, "^No such file: .*none.tsv"),
        ("empty.tsv", b"", "must hold text, but .* is empty"),
        ("blank.tsv", b"\xef\xbb\xbf \n\n\t\n", "must hold text, but .* is empty"),
        ("binary.tsv", b"\x89PNG\r\n\x00\x00", "is binary .it holds zero bytes"),
        ("late.tsv", b"question\tsentence\n" + b"a\tb\n" * 30_000 + b"a\tb\0\n", "is binary .it holds zero"),
        ("utf16.tsv", "question\tsentence\n".encode("utf-16"), "is binary|0xff"),
        ("latin.tsv", "question\tsentence\ncafé\tb\n".encode("latin-1"), "holds the byte 0xe9, which is not"),
        ("head.tsv", b"question\tsentence\n", "at least one row, but .* has only a header"),
        ("less.tsv", b"question\tlabel\na\t1\n", r"line 2: the column 'sentence' is needed.*question, label"),
        ("short.tsv", b"question\tsentence\na\tb\nc\n", "line 3: every row has its texts, but 'sentence'"),
        ("void.tsv", b"question\tsentence\na\t  \n", "line 2: every row has its texts, but 'sentence'"),
        ("many.tsv", b"question\tsentence\na\tb\tc\n", r"line 2: a row has as many cells.*\(2\), but got 3"),
        ("twice.tsv", b"sentence\tquestion\tsentence\na\tb\tc\n", "two columns called 'sentence'"),
        ("first.tsv", b"\nquestion\tsentence\na\tb\n", r"line 2: a row has as many cells"),
        ("text.txt", b"question\tsentence\na\tb\n", "end in .tsv, .csv, .json, .jsonl or .conllu"),
        ("list.jsonl", b'["a"]\n', "object 0: each is a JSON object, but got a str"),
        (
            "torn.jsonl",
            b'{"question": "a", "sentence": "b"}\n{"a"\n',
            "line 2: each line is one JSON object, but",
        ),
        (
            "number.jsonl",
            b'{"question": "a", "sentence": 5}\n',
            "line 1: every row has its texts, but 'sentence'",
        ),
        (
            "half.jsonl",
            b'{"question": "a", "sentence": "b\\ud83d"}',
            "line 1: every text is Unicode, but 'sentence' holds half a character .* at 1; mend",
        ),
        (
            "null.jsonl",
            b'{"question": "a", "sentence": null}',
            "line 1: every row has its texts, but 'sentence'",
        ),
    ],
)
def test_a_bad_file_is_one_sentence_with_file_and_line(
    name: str, content: bytes | None, sentence: str, write: Write, tmp_path: Path
) -> None:
    path = tmp_path / name if content is None else write(name, content)
    with pytest.raises(BadInput, match=sentence) as error:
        read_file(path, ("question", "sentence"), None, "own")
    assert name in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_a_torn_archive_and_an_impossible_name_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder.tsv").mkdir()
    with pytest.raises(BadInput, match=r"must be no folder, but .* is a folder; name a file in it"):
        read_file(tmp_path / "folder.tsv", ("question",), None, "own")
    whole = gzip.compress(("question\n" + "some text\n" * 9000).encode(), mtime=0)
    for number, torn in enumerate((whole[:-20], whole[:30] + b"\xff" * 40 + whole[70:])):
        path = tmp_path / f"torn{number}.tsv.gz"
        path.write_bytes(torn)
        with pytest.raises(BadInput, match=r"cannot be read: "):
            read_file(path, ("question",), None, "own")
    with pytest.raises(BadInput, match=r"cannot be read: "):
        read_file(tmp_path / ("x" * 5000 + ".tsv"), ("question",), None, "own")


def test_a_zipped_file_is_known_by_its_first_bytes_not_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "plain.tsv"
    path.write_bytes(gzip.compress(b"sentence\nit rains\n"))
    assert read_table(path, ["sentence"])[0].texts == ("it rains",)


def test_a_table_needs_the_column_of_its_text(write: Write) -> None:
    path = write("a.tsv", "sentence\nit rains\n")
    with pytest.raises(
        BadInput, match=r"is a table, so a task or the column of the text must be named; give --t"
    ):
        read_file(path, None, None, "own")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.tsv", ".tsv"), ("a.b.CSV.gz", ".csv"), ("a.conllu.GZ", ".conllu"), ("plain", ""), ("a.gz", "")],
)
def test_the_ending_says_the_kind(name: str, kind: str) -> None:
    assert file_format(Path("some.tsv") / name) == kind


@pytest.mark.parametrize("name", TASKS)
def test_samples_have_at_least_128_different_inputs(name: str) -> None:
    task = task_of(name)
    passages = read_sample(task)
    assert len(passages) >= 128
    assert {len(passage.texts) for passage in passages} == {len(task.columns)}
    assert len({passage.texts for passage in passages}) == len(passages)
    assert passages[0].key == f"{name}/0"


@given(
    st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, 70))), st.integers(0, 2**32 - 1)
)
def test_a_sample_is_a_subset_in_order_given_by_its_seed(sizes: tuple[int, int], seed: int) -> None:
    rows, limit = sizes
    passages = [Passage(f"p/{row}", (f"text {row}",)) for row in range(rows)]
    chosen = sample_passages(passages, limit, seed)
    places = [passages.index(each) for each in chosen]
    assert len(chosen) == min(rows, limit)
    assert places == sorted(set(places))
    assert [each.key for each in sample_passages(passages, limit, seed)] == [each.key for each in chosen]
    assert sample_passages(passages, None, seed) == passages


def test_samples_take_every_passage_equally_often() -> None:
    passages = [Passage(f"p/{row}", ("text",)) for row in range(10)]
    drawn = np.zeros(10)
    for seed in range(600):
        for each in sample_passages(passages, 3, seed):
            drawn[int(each.key[2:])] += 1
    np.testing.assert_allclose(drawn / 600, 0.3, atol=0.08)


def test_the_fingerprint_is_of_keys_groups_and_texts() -> None:
    usual = [Passage("a/0", ("one", "two"), "g"), Passage("a/1", ("three", "four"))]
    assert fingerprint(usual) == fingerprint([Passage(p.key, p.texts, p.group) for p in usual])
    assert re.fullmatch("[0-9a-f]{64}", fingerprint(usual))
    changed = [
        usual[::-1],
        usual[:1],
        [Passage("a/0", ("one", "two")), usual[1]],
        [Passage("a/9", ("one", "two"), "g"), usual[1]],
        [Passage("a/0", ("one two", ""), "g"), usual[1]],
        [Passage("a/0", ("onetwo",), "g"), usual[1]],
    ]
    assert len({fingerprint(each) for each in [usual, *changed]}) == len(changed) + 1


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the layout of the hub, and a cache of its own."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "glue"
    (folder / "qnli").mkdir(parents=True)
    (folder / "sst2").mkdir()
    rows = {"question": ["Who?", "When?"], "sentence": ["He did.", "Now."], "label": [0, 1], "idx": [0, 1]}
    pd.DataFrame(rows).to_parquet(folder / "qnli" / "validation-00000-of-00001.parquet")
    pd.DataFrame({"sentence": ["good", " "]}).to_parquet(
        folder / "sst2" / "validation-00000-of-00001.parquet"
    )
    parts = [
        f"- config_name: {name}\n  data_files:\n  - split: validation\n    path: {name}/validation-*\n"
        for name in ("qnli", "sst2")
    ]
    (folder / "README.md").write_text("---\nconfigs:\n" + "".join(parts) + "---\n")
    return folder


def test_a_local_folder_in_the_hubs_layout_is_read_offline(dataset: Path) -> None:
    passages = read_hub(task_of("QNLI"), str(dataset), "QNLI")
    assert [(each.key, each.texts) for each in passages] == [
        ("QNLI/0", ("Who?", "He did.")),
        ("QNLI/1", ("When?", "Now.")),
    ]


def test_a_local_folder_is_read_as_it_is_now(dataset: Path) -> None:
    assert len(read_hub(task_of("QNLI"), str(dataset), "QNLI")) == 2
    file = dataset / "qnli" / "validation-00000-of-00001.parquet"
    pd.DataFrame({"question": ["Why?"], "sentence": ["So."]}).to_parquet(file)
    assert [each.texts for each in read_hub(task_of("QNLI"), str(dataset), "QNLI")] == [("Why?", "So.")]


def test_a_dataset_without_what_the_task_needs_is_one_sentence(dataset: Path) -> None:
    with pytest.raises(BadInput, match=r"gives no split 'validation' of the configuration 'mrpc'"):
        read_hub(task_of("MRPC"), str(dataset), "MRPC")
    with pytest.raises(BadInput, match=r"sst2 validation, row 1: every row has its texts, but 'sentence'"):
        read_hub(task_of("SST-2"), str(dataset), "SST-2")
    pd.DataFrame({"text": ["good"]}).to_parquet(dataset / "sst2" / "validation-00000-of-00001.parquet")
    with pytest.raises(BadInput, match=r"row 0: the field 'sentence' is needed but not there; fields: text"):
        read_hub(task_of("SST-2"), str(dataset), "SST-2")
    (dataset / "sst2" / "validation-00000-of-00001.parquet").write_bytes(b"PAR1 torn")
    with pytest.raises(BadInput, match=r"gives no split 'validation' of the configuration 'sst2'"):
        read_hub(task_of("SST-2"), str(dataset), "SST-2")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("headroles-tests/no-such-dataset", r"the (hub|dataset 'headroles-tests/no-such-dataset')"),
        ("three/part/name", "neither a local folder nor a name on the hub"),
        ("x" * 5000, "neither a local folder nor a name on the hub"),
    ],
)
def test_a_dataset_that_cannot_be_had_is_one_sentence_after_a_try_or_two_at_most(
    name: str, sentence: str, offline: list[object]
) -> None:
    with pytest.raises(BadInput, match=sentence):
        read_hub(task_of("QNLI"), name, "QNLI")
    assert len(offline) in ((1, 2) if name.startswith("headroles-tests/") else (0,))
