"""Files of the released code become maps, tables and lines that all commands read."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headroles
from headroles.converting.alignment import align_pieces
from headroles.errors import BadInput, UnknownName
from headroles.maps.documents import read_map_documents
from headroles.maps.examples import read_map_list
from headroles.storage.integrity.leftovers import HOST
from headroles.storage.map_files import MapFile
from tests.converting.old_files import (
    PIECES,
    TREE,
    WORDS,
    attention,
    old_pairs,
    old_words,
    write_pickle,
    write_scores,
    write_trees,
)


def _rows(maps: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(maps.with_suffix(".json").read_text())["examples"]
    return listed


def test_maps_whose_list_a_killed_command_did_not_write_are_converted_again(tmp_path: Path) -> None:
    old, out = write_pickle(tmp_path / "old_attn.pkl", old_pairs(2)), tmp_path / "maps.safetensors"
    headroles.convert(old, out=out)
    wanted = out.read_bytes(), _rows(out)
    out.with_suffix(".json").unlink()
    with pytest.raises(BadInput, match="is there already"):  # maps of somebody else
        headroles.convert(old, out=out)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f".maps.safetensors.list.{HOST}.{ended.pid}.partial"
    left.write_text("[]")
    headroles.convert(old, out=out)
    assert (out.read_bytes(), _rows(out)) == wanted
    assert not left.exists()


@pytest.mark.parametrize("ending", ["safetensors", "npz"])
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_old_maps_of_pairs_are_stored_as_they_are_and_labelled(
    ending: str, protocol: int, tmp_path: Path
) -> None:
    old = old_pairs(3)
    done = headroles.convert(
        write_pickle(tmp_path / "unlabeled_attn.pkl", old, protocol), out=tmp_path / f"maps.{ending}"
    )
    assert (done.kind, done.count) == ("maps", 3)
    assert [re.match(r"[a-z ]+", note)[0] for note in done.notes] == [  # type: ignore[index]
        "the released script read pairs of texts with token types ",
        "the maps are in half precision",
    ]
    with MapFile.open(done.file) as maps:
        for number, row in enumerate(old):
            np.testing.assert_array_equal(maps[str(number)], row["attns"])
    example = read_map_list(done.file, "u").examples[0].tokenised
    assert example.texts.tolist() == [-1, 0, 0, 0, -1, 1, 1, 1, -1]
    assert example.class_id.tolist() == [True] + [False] * 8
    found = headroles.label(attention=done.file, sieve=["delimiter", "block"])
    alone = found.scores.sieves.index("block:swap")  # inputs of one layout have no partners
    assert np.isfinite(np.delete(found.scores.values, alone, axis=0)).all()


def test_old_maps_of_words_bring_their_trees(tmp_path: Path) -> None:
    done = headroles.convert(
        write_pickle(tmp_path / "dev_attn.pkl", old_words(1)), out=tmp_path / "words.npz"
    )
    assert "first piece" in done.notes[0]
    (document,) = read_map_documents(done.file, "u")
    assert document.words == tuple(WORDS)
    assert document.relations == tuple(TREE["relns"])
    assert _rows(done.file)[0]["word"] == [-1, 0, 1, 2, 3, -1]


def test_old_maps_of_pieces_get_words_and_characters_from_the_text(tmp_path: Path) -> None:
    old = [
        {"words": WORDS, "tokens": PIECES, "attns": attention(0, 8)} | TREE,
        {"text": "It rejoined us.", "tokens": PIECES, "attns": attention(1, 8)},
        {"text": "Something else", "tokens": PIECES, "attns": attention(2, 8)},
    ]
    done = headroles.convert(write_pickle(tmp_path / "old_attn.pkl", old), out=tmp_path / "maps.npz")
    first, second, third = _rows(done.file)
    assert first["word"] == [-1, 0, 1, 1, 1, 2, 3, -1]
    assert second["spans"][5:7] == [[12, 14], [14, 15]]
    assert "spans" not in third
    assert "word" not in third


def test_other_fields_are_kept_and_inputs_without_maps_are_left_out(tmp_path: Path) -> None:
    old = [old_pairs(1)[0] | {"id": 7, "tags": ("a", "b"), "segment": "own"}, {"tokens": ["[CLS]", "[SEP]"]}]
    done = headroles.convert(write_pickle(tmp_path / "old.pkl", old), out=tmp_path / "maps.npz")
    (row,) = _rows(done.file)
    assert (row["id"], row["tags"], row["input"]) == (7, ["a", "b"], {"segment": "own"})
    assert done.notes[-1] == "1 inputs have no map (they were too long) and are left out"


def test_padded_maps_without_tokens_get_them_from_a_list(tmp_path: Path) -> None:
    arrays = [attention(number, 9).astype(np.float32) for number in range(4)]
    padded = [np.pad(array, ((0, 0), (0, 0), (0, 5), (0, 5))) for array in arrays]
    file = write_pickle(tmp_path / "attention_weights_qnli_small.pkl", padded)
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps([row["tokens"] for row in old_pairs(4)]))
    with pytest.raises(BadInput, match=r"input 0: the tokens of a map .*give them with --tokens"):
        headroles.convert(file, out=tmp_path / "maps.npz")
    done = headroles.convert(file, out=tmp_path / "maps.npz", tokens=tokens)
    with MapFile.open(done.file) as maps:
        np.testing.assert_array_equal(maps["3"], arrays[3])
    tokens.write_text(json.dumps([["a"]]))
    with pytest.raises(BadInput, match=r"tokens of every input, 4 in .* but got 1"):
        headroles.convert(file, out=tmp_path / "other.npz", tokens=tokens)


def test_the_scores_of_a_folder_become_one_table(tmp_path: Path) -> None:
    values = np.random.default_rng(0).gamma(2, size=(2, 6, 2, 3))
    values[1, 2] = np.nan
    folder = write_scores(tmp_path / "sieve_scores", "qnli", {"local": values[0], "syntactic:obj": values[1]})
    write_scores(folder, "sst-2", {"local": values[0]})
    with pytest.raises(BadInput, match="has those of QNLI, SST-2; name one with --task"):
        headroles.convert(folder, out=tmp_path / "scores.csv")
    with pytest.raises(UnknownName, match="no task is called 'MRPC'"):
        headroles.convert(folder, out=tmp_path / "scores.csv", task="mrpc")
    for ending in ("csv", "parquet"):
        done = headroles.convert(folder, out=tmp_path / f"scores.{ending}", task="qnli")
        assert (done.kind, done.count) == ("scores", 66)
        assert "--margin 2 --test t-published --correction none" in done.notes[0]
        read = pd.read_csv if ending == "csv" else pd.read_parquet
        table = read(done.file)
        assert list(table.columns) == ["sieve", "unit", "layer", "head", "score", "null"]
        assert set(table["null"]) == {1.0}
        row = table[(table["sieve"] == "syntactic:obj") & (table["unit"] == 5) & (table["head"] == 2)]
        np.testing.assert_allclose(row["score"], values[1, 5, :, 2], rtol=1e-15)
        assert 2 not in set(table[table["sieve"] == "syntactic:obj"]["unit"])


def test_scores_by_head_in_json_become_a_table(tmp_path: Path) -> None:
    file = tmp_path / "llama.json"
    file.write_text(json.dumps({"0-1": [0.5, 0.0], "1-0": [1.0, 0.25]}))
    done = headroles.convert(file, out=tmp_path / "scores.parquet", score_name="retrieval")
    table = pd.read_parquet(done.file)
    assert table.values.tolist() == [
        ["retrieval", 0, 0, 1, 0.5],
        ["retrieval", 0, 1, 0, 1.0],
        ["retrieval", 1, 0, 1, 0.0],
        ["retrieval", 1, 1, 0, 0.25],
    ]
    file.write_text(json.dumps({"0-1": [0.5, 0.0], "1-0": [1.0]}))
    with pytest.raises(BadInput, match="heads have 1 to 2 scores"):
        headroles.convert(file, out=tmp_path / "other.parquet")


def test_old_labels_become_a_table_of_labels(tmp_path: Path) -> None:
    labels = -np.ones((4, 11))
    labels[2, [0, 4]] = 1
    done = headroles.convert(write_pickle(tmp_path / "qnli_gems.pkl", labels), out=tmp_path / "labels.csv")
    table = pd.read_csv(done.file)
    assert [table[name].tolist()[2] for name in ("layer", "head", "roles")] == [1, 0, "local;syntactic:obj"]
    assert int(pd.isna(table["roles"]).to_numpy().sum()) == 3


def test_the_old_trees_become_lines(tmp_path: Path) -> None:
    done = headroles.convert(write_trees(tmp_path / "dev.json", 3), out=tmp_path / "dev.jsonl")
    lines = [json.loads(line) for line in done.file.read_text().splitlines()]
    assert lines == [{"words": WORDS, "heads": TREE["heads"], "relations": TREE["relns"]}] * 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (np.full((12, 12), 0.5), "which look like p values"),
        (1 - np.eye(6), "distances between heads; headroles cluster --divergence published"),
        ({"a": 1}, "holds {'a': 1}"),
        (np.ones(3), "an array of shape"),
    ],
)
def test_what_cannot_be_converted_is_refused_with_advice(content: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=re.escape(words)):
        headroles.convert(write_pickle(tmp_path / "old.pkl", content), out=tmp_path / "new.csv")
    assert not (tmp_path / "new.csv").exists()


def test_nothing_is_replaced_or_left_half_written(tmp_path: Path) -> None:
    file, out = write_pickle(tmp_path / "old.pkl", old_pairs(2)), tmp_path / "maps.npz"
    with pytest.raises(BadInput, match=r"holds maps, which are written into a file"):
        headroles.convert(file, out=tmp_path / "maps.csv")
    out.with_suffix(".json").write_text("mine")
    with pytest.raises(BadInput, match=r"maps.json' is there already; give --overwrite"):
        headroles.convert(file, out=out)
    broken = old_pairs(2)
    broken[1]["attns"] = broken[1]["attns"] * np.float16(2)
    with pytest.raises(BadInput, match="sums to 1"):
        headroles.convert(write_pickle(tmp_path / "old.pkl", broken), out=out, overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} == {"old.pkl", "maps.json"}
    assert out.with_suffix(".json").read_text() == "mine"


def test_a_small_file_that_stands_for_billions_of_values_is_refused(tmp_path: Path) -> None:
    value: list[Any] = ["x"] * 10
    for _ in range(15):
        value = [value] * 10
    old = [old_pairs(1)[0] | {"more": value}]
    with pytest.raises(BadInput, match="a field holds at most 1,000,000 values"):
        headroles.convert(write_pickle(tmp_path / "old.pkl", old), out=tmp_path / "maps.npz")


@pytest.mark.parametrize(
    ("held", "ending", "takes"),
    [
        ("maps", "npz", "tokens"),
        ("scores", "csv", "score_name"),
        ("scores by head", "csv", "score_name"),
        ("scores of a folder", "csv", "task"),
        ("labels", "csv", ""),
        ("trees", "jsonl", ""),
    ],
)
def test_an_option_that_does_not_fit_the_file_is_refused(
    held: str, ending: str, takes: str, tmp_path: Path
) -> None:
    path, out, grid = tmp_path / "old.pkl", tmp_path / f"new.{ending}", np.full((2, 1, 2), 0.5)
    if held == "trees":
        path = write_trees(tmp_path / "dev.json", 1)
    elif held == "scores by head":
        path = tmp_path / "heads.json"
        path.write_text('{"0-0": [0.5]}')
    elif held == "scores of a folder":
        path = write_scores(tmp_path / "old", "qnli", {"local": grid})
    else:
        write_pickle(path, {"maps": old_pairs(1), "scores": grid, "labels": -np.ones((4, 11))}[held])
    given: dict[str, Any] = {"task": "qnli", "tokens": tmp_path / "tokens.json", "score_name": "mine"}
    given.pop(takes, None)
    kind, holder = held.partition(" ")[0], "folder" if path.is_dir() else "file"
    for name, value in given.items():
        words = f"'{path}' is a {holder} of {kind}; leave the option out"
        with pytest.raises(BadInput, match=f"^--{name.replace('_', '-')} .*{re.escape(words)}"):
            headroles.convert(path, out=out, **{name: value})
        assert not out.exists()


def test_tokens_are_refused_where_the_maps_have_their_own(tmp_path: Path) -> None:
    old, tokens = write_pickle(tmp_path / "old.pkl", old_pairs(1)), tmp_path / "tokens.json"
    tokens.write_text(json.dumps([old_pairs(1)[0]["tokens"]]))
    with pytest.raises(BadInput, match=r"--tokens gives the tokens of maps, but '.*' has its own"):
        headroles.convert(old, out=tmp_path / "maps.npz", tokens=tokens)


@pytest.mark.parametrize("text", ["[]", "[1]", "3", '[{"words": []}, 1]'])
def test_json_of_something_else_than_objects_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "old.json"
    file.write_text(text)
    with pytest.raises(BadInput, match=r"is an object or a list of objects, but '.*old\.json' holds "):
        headroles.convert(file, out=tmp_path / "new.jsonl")


def test_a_file_of_json_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headroles.extraction.texts import files

    opened: list[Any] = []
    binary = files.open_binary

    def count(where: Any) -> Any:
        opened.append(where)
        return binary(where)

    monkeypatch.setattr(files, "open_binary", count)
    headroles.convert(write_trees(tmp_path / "dev.json", 2), out=tmp_path / "dev.jsonl")
    assert opened == [tmp_path / "dev.json"]


def test_pieces_find_their_characters_or_none() -> None:
    assert align_pieces(["a"], "a b") is None
    assert align_pieces(["a", "b", "c"], "a b") is None
    assert align_pieces(["über", "##all"], "Überall") == [(0, 4), (4, 7)]
    assert align_pieces(["uber", "##all"], "Überall ") == [(0, 4), (4, 7)]
