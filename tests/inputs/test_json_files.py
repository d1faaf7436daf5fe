"""JSON objects have the same fields in every command, as a list or one a line."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.errors import BadInput
from headroles.extraction.gold.read import read_documents
from headroles.extraction.texts.rows import read_json_objects
from headroles.inputs.corpora import Corpus
from headroles.inputs.passages import read_corpus
from headroles.options.label import LabelOptions
from headroles.options.values import record_of
from tests.inputs.corpus_files import NOWHERE, ROWS, read, written

TREE = {"words": ["We", "rest", "."], "heads": [2, 0, 2], "relations": ["nsubj", "root", "punct"]}
TEXTS: list[dict[str, Any]] = [
    {"text": "It rains.", "group": "a"},
    {"text": ["Does it rain?", "It rains."], "group": 7},
    {"text_a": "Why?", "text_b": "So.", "group": None},
    {"words": ["It", "rains", "."], "spaces": [True, False, False]},
]


def _corpus(file: Path | str, **options: Any) -> Corpus:
    return read_corpus(record_of(LabelOptions, data=str(file), **options), frozenset(), NOWHERE)


def _file(folder: Path, ending: str, rows: list[dict[str, Any]]) -> Path:
    file = folder / f"own{ending}"
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    text = lines if ".jsonl" in ending else json.dumps(rows, indent=1)
    file.write_bytes(gzip.compress(text.encode()) if ending.endswith(".gz") else text.encode())
    return file


every_form = pytest.mark.parametrize("ending", [".json", ".jsonl", ".json.gz", ".jsonl.gz"])


@every_form
def test_a_table_of_json_is_a_list_or_lines(ending: str, tmp_path: Path) -> None:
    file = _file(tmp_path, ending, ROWS)
    assert read(file) == [(f"own/{n}", (row["text"],), row["from"]) for n, row in enumerate(ROWS)]


@every_form
def test_fields_say_what_the_texts_are_where_no_column_is_named(ending: str, tmp_path: Path) -> None:
    corpus = _corpus(_file(tmp_path, ending, TEXTS))
    found = [(each.key, each.texts, each.group) for each in corpus]
    assert found == [
        ("own/0", ("It rains.",), "a"),
        ("own/1", ("Does it rain?", "It rains."), "7"),
        ("own/2", ("Why?", "So."), None),
        ("own/3", ("It rains.",), None),
    ]
    assert not corpus.gold
    assert all(each.words is None for each in corpus)


def test_a_group_that_is_named_is_that_of_another_field(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"text": "It rains.", "group": "a", "page": 3},
        {"text": "It rains.", "page": " "},
    ]
    assert [each.group for each in _corpus(_file(tmp_path, ".json", rows), group="page")] == ["3", None]
    with pytest.raises(
        BadInput, match="line 1: the field 'chapter' is needed but not there; fields: text, gr"
    ):
        list(_corpus(_file(tmp_path, ".jsonl", rows), group="chapter"))


@every_form
@pytest.mark.parametrize("relations", ["relations", "relns"])
def test_words_with_heads_are_sentences_with_gold_trees(relations: str, ending: str, tmp_path: Path) -> None:
    tree: dict[str, Any] = {relations if name == "relations" else name: value for name, value in TREE.items()}
    two = {
        "words": ["We", "rest", "."] * 2,
        "heads": [2, 0, 2] * 2,
        relations: ["nsubj", "root", "punct"] * 2,
        "sentences": [3, 3],
        "document": "two",
    }
    file = _file(tmp_path, ending, [tree, two, tree | {"group": "g"}])
    corpus = _corpus(file)
    assert corpus.gold
    assert corpus.source["trees"] == "gold"
    passages = list(corpus)
    assert [each.key for each in passages] == ["own/0", "own/1@0", "own/1@3", "own/2"]
    assert [each.group for each in passages] == ["own/0", "two", "two", "g"]
    for passage in passages:
        assert passage.texts == ("We rest .",)
        assert passage.words is not None
        assert passage.words[0].heads.tolist() == [1, -1, 1]
        assert passage.words[0].relations == ("nsubj", "root", "punct")
    documents = read_documents(file, "own")
    assert [document.relations for document in documents] == [
        ("nsubj", "root", "punct"),
        ("nsubj", "root", "punct") * 2,
        ("nsubj", "root", "punct"),
    ]


def test_trees_of_a_parser_say_so(tmp_path: Path) -> None:
    file = _file(tmp_path, ".jsonl", [TREE | {"trees": "automatic", "parser": "small 1.0"}])
    assert _corpus(file).source["trees"] == "automatic: small 1.0"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"tokens": ["[CLS]"]}], "line 1: 'tokens' are those of one model, which only headroles extract"),
        (
            [{"other": "It rains."}],
            "line 1: each object has exactly one of text, text_a, words, tokens, but go",
        ),
        ([{"text": "It rains.", "text_b": "So."}], "'text_b' is the second text of 'text_a'"),
        ([{"text": " "}], "'text' is a string, or a list of two, none blank"),
        ([{"text": "\ud800"}], "line 1: every text is Unicode, but 'text' holds half a character"),
        ([{"text": "a", "group": [1]}], "'group' is a name or a whole number, or null where it is unknown"),
        (
            [TREE, {"words": ["It"]}],
            "line 2: all objects of the data have trees .* but this one has non",
        ),
        (
            [{"words": ["It"]}, TREE],
            "line 2: all objects of the data have trees .* but this one has one",
        ),
        ([TREE | {"heads": [2, 2, 2]}], "line 1: a sentence has one root"),
    ],
)
def test_an_object_that_breaks_a_rule_is_named_with_its_line(
    rows: list[dict[str, Any]], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=sentence):
        list(_corpus(_file(tmp_path, ".jsonl", rows)))


def test_objects_of_a_list_have_the_lines_where_they_begin() -> None:
    text = json.dumps([{"a": {"b": [1, "}"]}}, {"a": 2}, {"a": 3}], indent=1)
    lines = ["\n", *text.splitlines(keepends=True)]
    begins = [number for number, line in enumerate(lines, start=1) if line == " {\n"]
    assert [number for number, _ in read_json_objects(lines, "x.json")] == begins
    assert len(begins) == 3


def test_a_list_beside_tables_in_a_folder_is_about_them(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "dataset_infos.json").write_text(json.dumps([{"about": "the tables"}]))
    written(folder / "part-0.jsonl", ROWS[:3])
    assert len(read(folder)) == 3
    (folder / "part-0.jsonl").unlink()
    (folder / "dataset_infos.json").write_text(json.dumps(TEXTS))
    assert len(list(_corpus(folder))) == len(TEXTS)


def test_one_list_is_read_by_label_extract_and_probe(planted: Path, tmp_path: Path) -> None:
    words = (["we", "rest", word] for word in ("here", "there", "now", "then"))
    file = _file(
        tmp_path,
        ".json",
        [{"words": own, "relns": ["nsubj", "root", "obj"], "heads": [2, 0, 2]} for own in words],
    )
    common: dict[str, Any] = {"model": planted}
    run = headroles.label(data=file, sieve=["syntactic", "local"], maps=0, max_length=48, **common)
    assert run.manifest["parser"] is None
    assert run.manifest["counts"] == {"examples": 4, "units": 4, "tokens": 20, "truncated": 0}
    done = headroles.extract(file, out=tmp_path / "maps.npz", model=planted, precision="float32")
    assert done.count == 4
    stored = headroles.label(attention=tmp_path / "maps.npz", sieve=["syntactic", "local"])
    np.testing.assert_allclose(stored.scores.values, run.scores.values, rtol=0, atol=1e-5)
    asked = headroles.probe("dependency", data=file, relations="nsubj", max_length=48, **common)
    assert asked.manifest["source"]["layout"] == "jsonl"
    again = headroles.probe("dependency", attention=tmp_path / "maps.npz", relations="nsubj")
    assert (asked.scores.cells == again.scores.cells).all()
