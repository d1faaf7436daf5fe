"""Files of the released code become maps, tables and lines; nothing in a pickle is run."""

import codecs
import collections
import datetime
import json
import os
import pickle
import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.errors import BadInput
from tests.support.texts import (
    PIECES,
    SCORE_FILES,
    TREE,
    WORDS,
    old_attention,
    old_pairs,
    old_words,
    write,
    write_old_scores,
    write_pickle,
)


def convert(content: Any, out: Path, protocol: int = -1, **options: Any) -> Any:
    """Convert the pickle of some content."""
    return headroles.convert_old(write_pickle(out.parent / "old.pkl", content, protocol), out=out, **options)


def list_of(maps: Path) -> list[dict[str, Any]]:
    """Return the list of inputs that lies beside a file of maps."""
    listed: list[dict[str, Any]] = json.loads(maps.with_suffix(".json").read_text())["examples"]
    return listed


def test_old_maps_of_pairs_are_stored_as_they_are_with_other_fields(tmp_path: Path) -> None:
    old = [*old_pairs(3), {"tokens": ["[CLS]", "[SEP]"]}]
    old[0] |= {"id": 7, "tags": ("a", "b"), "segment": "own"}
    for protocol in (0, 2, 5):
        out = tmp_path / f"maps{protocol}.npz"
        done = convert(old, out, protocol)
        assert (done.file, done.kind, done.count, done.unit) == (out, "maps", 3, "inputs")
        assert done.notes[-1] == "1 inputs have no map (they were too long) and are left out"
        with np.load(out) as maps:
            assert list(maps) == ["0", "1", "2"]
            assert all(np.array_equal(maps[str(n)], row["attns"]) for n, row in enumerate(old[:3]))
    row = list_of(out)[0]
    assert (row["tokens"], row["first"]) == (old[0]["tokens"], [0])
    assert row["segment"] == [-1, 0, 0, 0, -1, 1, 1, 1, -1]
    assert (row["id"], row["tags"], row["input"]) == (7, ["a", "b"], {"segment": "own"})


def test_old_maps_of_words_and_pieces_bring_trees_words_and_characters(tmp_path: Path) -> None:
    done = convert(old_words(1), tmp_path / "words.npz")
    assert "first piece" in done.notes[0]
    assert list_of(done.file)[0]["word"] == [-1, 0, 1, 2, 3, -1]
    assert list_of(done.file)[0]["relations"] == TREE["relns"]
    marked = ["[CLS]", "et", "uber", "##all", "[SEP]"]
    old = [
        {"words": WORDS, "tokens": PIECES, "attns": old_attention(0, 8)} | TREE,
        {"text": "It rejoined us.", "tokens": PIECES, "attns": old_attention(1, 8)},
        {"text": "Something else", "tokens": PIECES, "attns": old_attention(2, 8)},
        {"text": "ÉT Überall!", "tokens": marked, "attns": old_attention(3, 5)},
        {"text": "ét überall ", "tokens": ["[CLS]", "ét", *marked[2:]], "attns": old_attention(3, 5)},
    ]
    done = convert(old, tmp_path / "maps.npz")
    first, second, third, fourth, fifth = list_of(done.file)
    assert first["word"] == [-1, 0, 1, 1, 1, 2, 3, -1]
    assert second["spans"][5:7] == [[12, 14], [14, 15]]
    for row in (third, fourth):  # its pieces are not all of the text
        assert not {"spans", "word"} & row.keys()
    assert fifth["spans"] == [[0, 0], [0, 2], [3, 7], [7, 10], [0, 0]]


def test_the_scores_of_a_folder_become_one_table(tmp_path: Path) -> None:
    import pandas as pd

    values = np.random.default_rng(0).gamma(2, size=(len(SCORE_FILES), 6, 2, 3))
    syntactic = [place for place, name in enumerate(SCORE_FILES) if name.startswith("syntactic")]
    values[syntactic, 2] = np.nan
    folder = write_old_scores(tmp_path / "sieve_scores", "qnli", dict(zip(SCORE_FILES, values, strict=True)))
    write_old_scores(folder, "sst-2", {"local": values[0]})
    for ending in ("csv", "parquet"):
        done = headroles.convert_old(folder, out=tmp_path / f"scores.{ending}", task="qnli")
        assert (done.kind, done.count) == ("scores", int((~np.isnan(values)).sum()))
        assert "--margin 2 --test t-published --correction none" in done.notes[0]
        frame = pd.read_csv(done.file) if ending == "csv" else pd.read_parquet(done.file)
        assert list(frame.columns) == ["sieve", "unit", "layer", "head", "score", "null"]
        assert set(frame["null"]) == {1.0}
        for sieve, own in zip(SCORE_FILES, values, strict=True):
            rows = frame[frame["sieve"] == sieve]
            read = own[rows["unit"], rows["layer"], rows["head"]]
            np.testing.assert_allclose(rows["score"], read, rtol=1e-15)
            assert len(rows) == (~np.isnan(own)).sum()


def test_scores_by_head_labels_and_trees_become_tables_and_lines(tmp_path: Path) -> None:
    import pandas as pd

    heads = write(tmp_path / "llama.json", json.dumps({"0-1": [0.5, 0.0], "1-0": [1.0, 0.25]}))
    done = headroles.convert_old(heads, out=tmp_path / "scores.parquet", score_name="retrieval")
    rows = pd.read_parquet(done.file)[["sieve", "unit", "layer", "head", "score"]]
    assert rows.to_numpy().tolist() == [
        ["retrieval", 0, 0, 1, 0.5], ["retrieval", 0, 1, 0, 1.0], ["retrieval", 1, 0, 1, 0.0],
        ["retrieval", 1, 1, 0, 0.25],
    ]  # fmt: skip
    labels = -np.ones((4, 11))
    labels[2, [0, 4]] = 1
    done = convert(labels, tmp_path / "labels.csv")
    frame = pd.read_csv(done.file)
    assert (done.kind, done.count) == ("labels", 4)
    assert [frame[name].tolist()[2] for name in ("layer", "head", "roles")] == [1, 0, "local;syntactic:obj"]
    assert frame["roles"].isna().tolist() == [True, True, False, True]
    assert frame["local"].tolist()[2] == 1
    dev = write(tmp_path / "dev.json", json.dumps([{"words": WORDS} | TREE] * 3))
    done = headroles.convert_old(dev, out=tmp_path / "dev.jsonl")
    lines = [json.loads(line) for line in done.file.read_text().splitlines()]
    assert lines == [{"words": WORDS, "heads": TREE["heads"], "relations": TREE["relns"]}] * 3


def test_plain_values_and_arrays_of_every_protocol_come_back(tmp_path: Path) -> None:
    array = np.arange(6).reshape(2, 3)
    kinds = ("f2", "f4", "f8", "i1", "u2", ">i4", "<i8", ">f4", "?")
    value: dict[str, Any] = {
        "plain": [None, True, False, 0, -1, 300, 70_000, -(2**62), 0.1, -1e300],
        "texts": ["", "é\U0001f389" * 200, "a\nb\\"],
        "arrays": [array.astype(kind) for kind in kinds] + [np.asfortranarray(array), np.zeros((1,) * 5)],
        "numbers": [np.float32(0.5), np.int64(7), np.bool_(True)],
        "nested": [(), (1,), (1, 2), (1, 2, 3), ([],) * 4, {}, {"a": {"b": [[]]}}, [0] * 3000],
        "bytes": [b"ab", b"\xff" * 300],
    }
    wanted = value | {
        "arrays": [each.tolist() for each in value["arrays"]],
        "numbers": [0.5, 7, True],
        "nested": [[], [1], [1, 2], [1, 2, 3], [[]] * 4, {}, {"a": {"b": [[]]}}, [0] * 3000],
        "bytes": ["ab", "ÿ" * 300],
    }
    for protocol in range(6):
        old = old_pairs(1)[0] | {"more": value, "again": [value, value]}
        (row,) = list_of(convert([old], tmp_path / "plain.npz", protocol, overwrite=True).file)
        assert row["more"] == wanted
        assert row["again"] == [wanted] * 2


class Calls:
    """An object whose pickle calls a function with arguments."""

    def __init__(self, function: Callable[..., Any], *given: Any) -> None:
        self.parts = function, given

    def __reduce__(self) -> Any:
        return self.parts


MARKER = "headroles-was-here"
RUN = f"open({MARKER!r}, 'w').close()"
ATTACKS: list[Any] = [
    Calls(os.system, f"touch {MARKER}"), Calls(eval, RUN), Calls(getattr, [], "append"),
    Calls(open, MARKER, "w"), Calls(np.load, MARKER, None, True),
    Calls(np.memmap, MARKER, "f4", "w+", 0, (4,)), Calls(np.zeros, (10**6,)),
    collections.OrderedDict(a=1), datetime.date(2020, 1, 1), {1, 2}, 1j,
    np.array([{1}, [1]], dtype=object), np.array(["a", "b"]), np.zeros(2, dtype=[("a", "f4")]),
    np.array(["2020-01-01"], dtype="M8[D]"), np.ma.masked_array([1.0, 2.0], [True, False]),
    Calls(codecs.encode, "abc", "rot13"), Calls(codecs.encode, b"abc", "hex"), 10**40, {1: 2}, Path("x"),
]  # fmt: skip
RAW = [
    b"", b"attns", b"(ios\nsystem\n.", b"(cos\nsystem\no.", b"\x80\x02cnumpy\nndarray\n)\x81.", b"Pabc\n.",
    b"K\x01Q.", b"\x80\x02\x82\x01.", b"\x80\x04\x8c\x05numpy\x8c\x0fndarray.tofile\x93.",
    b"\x80\x05\x97.", b"\x80\x04\x8f.", b"t.", b".", b"K\x01K\x02.", b"(K\x01.", b"h\x05.",
    b"X\x01\x00\x00\x00aK\x01a.", b"cnumpy\ndtype\n]R.", b"K\x01)R.", b"K\x01)b.", b"cnumpy\nndarray\n}b.",
    b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\ndtype\nK\x00\x85U\x01btR.", b"I" + b"1" * 5000 + b"\n.",
    b"X\x02\x00\x00\x00\xff\xfe.", b"X\x03\x00\x00\x00\xed\xa0\x80.",
]  # fmt: skip
"""Programs that Python does not write: other steps, other names, and ends that are no value."""
SIZES = [
    b"\x80\x04\x8d" + struct.pack("<Q", 2**40) + b"a.", b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"a.",
    b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b"a.", b"T" + struct.pack("<i", -5) + b"a.",
    b"\x8b" + struct.pack("<i", 2**30) + b"a.",
    b"\x8b" + struct.pack("<i", 100_000) + b"\xff" * 100_000 + b".",
]  # fmt: skip
"""Programs that state the size of what is not there."""


def test_anything_else_is_refused_takes_no_memory_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nested = [[{"tokens": ["a"], "attns": np.ones(2), "more": attack}] for attack in ATTACKS]
    programs = [pickle.dumps(value, protocol) for value in (*ATTACKS, *nested) for protocol in (0, 2, 4, 5)]
    programs += [*RAW, *SIZES]
    wrong = []
    with suppress(BadInput):
        headroles.convert_old(write(tmp_path / "old.pkl", b""), out=tmp_path / "new.npz")  # all is imported
    for program in programs:
        write(tmp_path / "old.pkl", program)
        tracemalloc.start()
        with pytest.raises(BadInput) as error:
            headroles.convert_old(tmp_path / "old.pkl", out=tmp_path / "new.npz")
        said, (_, most) = str(error.value), tracemalloc.get_traced_memory()
        tracemalloc.stop()
        if "and nothing else, but '" not in said or "\n" in said or most > 2**24:
            wrong.append((program[:60], said))
    assert wrong == []
    assert [path.name for path in tmp_path.iterdir()] == ["old.pkl"]
