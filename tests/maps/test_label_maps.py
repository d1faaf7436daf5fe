"""Stored maps are scored and judged as those of a model that runs."""

import csv
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import headroles
from headroles.errors import BadInput, BadSieve
from headroles.maps.examples import read_map_list
from tests.support.reference import rounding_bound

ModelOf = Callable[..., Path]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pairs(table: Path, tmp_path: Path) -> Path:
    """The table of pairs in the layout that extract reads."""
    with table.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    made = [{"text": [row["question"], row["sentence"]], "group": row["document"]} for row in rows]
    place = tmp_path / "pairs.jsonl"
    place.write_text("\n".join(map(json.dumps, made)))
    return place


def _saved(file: Path, arrays: dict[str, Any]) -> None:
    np.savez(file, **arrays)


def _same(one: headroles.Labelling, other: headroles.Labelling, close: float) -> None:
    assert one.scores.sieves == other.scores.sieves
    assert one.scores.units == other.scores.units
    np.testing.assert_array_equal(one.scores.tokens, other.scores.tokens)
    np.testing.assert_array_equal(one.scores.cells, other.scores.cells)
    np.testing.assert_allclose(one.scores.values, other.scores.values, rtol=0, atol=close)
    np.testing.assert_allclose(one.scores.null, other.scores.null)
    for mine, theirs in zip(one.findings.rules, other.findings.rules, strict=True):
        np.testing.assert_allclose([mine.low, mine.high], [theirs.low, theirs.high], rtol=1e-6)
    np.testing.assert_array_equal(one.findings.decision, other.findings.decision)


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("bert", ".npz"),
        ("gpt2", ".safetensors"),
        ("mistral", ".npz"),
        ("albert", ".safetensors"),
        ("gpt-oss", ".npz"),
    ],
)
def test_stored_maps_give_the_labelling_of_the_model_that_made_them(
    name: str, ending: str, pairs: Path, table: Path, model_of: ModelOf, tmp_path: Path
) -> None:
    sieves = ["local", "delimiter", "block", "syntactic", "previous"]
    options: dict[str, Any] = {"sieve": sieves}
    maps = tmp_path / f"maps{ending}"
    headroles.extract(pairs, out=maps, model=model_of(name), precision="float32", max_length=300)
    stored = headroles.label(attention=maps, **options)
    ran = headroles.label(
        "QNLI", data=table, group="document", model=model_of(name), max_length=300, maps=0, **options
    )
    _same(stored, ran, rounding_bound(64))


@pytest.mark.with_report
def test_a_run_of_maps_is_a_run_folder_that_can_be_judged_again(
    pairs: Path, planted: Path, tmp_path: Path
) -> None:
    maps = tmp_path / "maps.safetensors"
    headroles.extract(pairs, out=maps, model=planted)
    made = headroles.label(attention=maps, sieve=["local", "block"], out=tmp_path / "run")
    kept = headroles.load(tmp_path / "run")
    assert kept.manifest["source"]["kind"] == "maps"
    assert kept.manifest["model"]["capture"] == "stored maps"
    assert kept.manifest["model"]["architecture"] == "BertModel"
    np.testing.assert_array_equal(kept.findings.decision, made.findings.decision)
    assert headroles.judge_again(tmp_path / "run", alpha=0.01).decision.alpha == 0.01
    assert (tmp_path / "run" / "report.html").stat().st_size > 1_000_000


def test_maps_of_words_are_scored_by_words(pairs: Path, planted: Path, tmp_path: Path) -> None:
    maps = tmp_path / "words.npz"
    headroles.extract(pairs, out=maps, model=planted, word_level=True)
    found = headroles.label(attention=maps, sieve=["local", "syntactic"])
    assert np.isfinite(found.scores.values[0]).all()
    assert (found.scores.cells[1] > 0).mean() > 0.9


def test_maps_under_the_preset_published_say_that_no_text_is_cleaned(
    pairs: Path, planted: Path, tmp_path: Path
) -> None:
    maps = tmp_path / "maps.npz"
    headroles.extract(pairs, out=maps, model=planted)
    found = headroles.label(attention=maps, preset="published", sieve=["local", "syntactic"])
    said = "Stored maps have no tokenizer: the preset 'published' counts pairs of the texts as they are"
    assert any(sentence.startswith(said) for sentence in found.skipped)
    assert np.isfinite(found.scores.values[1]).any()
    plain = headroles.label(attention=maps, preset="published", sieve=["local"])
    assert not any(sentence.startswith(said) for sentence in plain.skipped)


def test_maps_from_anywhere_need_only_their_tokens(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    arrays, rows = {}, []
    for number in range(20):
        n = int(rng.integers(6, 12))
        even = np.full((2, 2, n, n), 1 / n)
        even[0, 1] = 0.9 * np.eye(n)[:, [*range(1, n), n - 1]].T + 0.1 / n
        arrays[f"of {number}"] = even.astype(np.float32)
        rows.append({"tokens": [f"w{number}.{place}" for place in range(n)], "attns": f"of {number}"})
    _saved(tmp_path / "any.npz", arrays)
    (tmp_path / "any.json").write_text(json.dumps(rows))
    found = headroles.label(attention=tmp_path / "any.npz")
    assert any("local" in roles.split(";") for roles in found.labels()["roles"])
    assert [name for name in found.scores.sieves if name.startswith("syntactic")] == []
    assert sum("syntactic" in each and "left out" in each for each in found.skipped) == 5
    with pytest.raises(BadInput, match="the sieve 'syntactic' needs arcs, which the list"):
        headroles.label(attention=tmp_path / "any.npz", sieve=["syntactic"])


def test_real_maps_of_bert_are_labelled_with_trees_that_came_along(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "head_attention"
    items = [
        each for each in json.loads((folder / "index.json").read_text()) if "bert-base-unc" in each["model"]
    ]
    items = [each for each in items if each["layers"] == 12]
    arrays, rows = {}, []
    for number, item in enumerate(items):
        tokens = item["queries"]
        special = [token in ("[CLS]", "[SEP]") for token in tokens]
        ends = np.cumsum([token == "[SEP]" for token in tokens])
        rows.append(
            {
                "tokens": tokens,
                "attns": str(number),
                "segment": [-1 if each else int(end) for each, end in zip(special, ends, strict=True)],
            }
        )
        arrays[str(number)] = np.load(folder / item["file"])["attn"]
    save_file(arrays, tmp_path / "real.safetensors")
    (tmp_path / "real.json").write_text(json.dumps(rows))
    found = headroles.label(attention=tmp_path / "real.safetensors", sieve=["delimiter", "local"])
    scores = found.scores.values[0].mean(axis=0)
    assert found.scores.layers == 12
    assert scores.max() > 0.7
    assert np.nanmean(scores[5:10]) > np.nanmean(scores[0:3])  # middle layers look at separators (Clark 2019)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"tokens": []}, "'tokens' is a list of at least one string"),
        ({"segment": [0]}, "'segment' holds whole numbers for each of its 4 tokens"),
        ({"segment": ["a"] * 4}, "'segment' holds whole numbers"),
        ({"segment": [0, 0, 4, 0]}, "'segment' counts texts from 0, with -1 for none"),
        ({"first": [9]}, "'first' holds places of tokens from 0 to 3"),
        ({"first": 5}, "'first' holds places of tokens from 0 to 3, but got 5"),
        ({"texts": ["e f"], "spans": [[0, 1], [2, 3], [7, 9], [0, 0]]}, "but token 2 has [7, 9] in text 0"),
        ({"texts": ["e f"], "spans": [[1, 0]] * 4}, "but token 0 has [1, 0] in text 0 of 1"),
        (
            {"texts": ["e"], "spans": [[0, 1]] * 4, "segment": [0, 0, 1, 1]},
            "token 2 has [0, 1] in text 1 of 1",
        ),
        (
            {"group": float("nan")},
            "must be JSON in UTF-8, but it cannot be read: NaN is not a number that JSON allows",
        ),
        ({"group": ["a"]}, "'group' is a name or a whole number, but got ['a']"),
        ({"tokens": ["a", "b", "c", "\ud800"]}, "must be JSON in UTF-8, but it cannot be read"),
        ({"word": [0, 1, 2, 3], "heads": [0, 9, 1, 1], "relations": ["a"] * 4}, "heads from 0 to 4"),
        ({"visible": 3}, "'visible' is a list with the smallest and largest offset"),
        ({"visible": [[None, None]] * 3}, "has one pair for each of its 1 layers, but got 3"),
        ({"visible": [[[0, 3], [0, 3], [0, 4], [0, 3]]]}, "first and last key of each of its 4 rows"),
        ({"visible": [[[0, 3], [0, 3]]]}, "first and last key of each of its 4 rows"),
        ({"visible": [[[0, 0], [0, 3], [0, 3], [0, 3]]]}, "visible must hold every key that gets attention"),
        ({"visible": [[0, 0]]}, "visible must hold every key that gets attention"),
        ({"attns": 4}, "'attns' is the name of an array"),
        ({"attns": "other"}, "has no array 'other', which the list of its examples names"),
        ({"tokens": ["a", "b"]}, r"for the 2 tokens of example"),
        ({"key": "0"}, "every example has a key of its own, but 'bad/0' is there twice"),
    ],
)
def test_a_list_that_breaks_a_rule_is_one_sentence(
    change: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    even = np.full((1, 2, 4, 4), 0.25, dtype=np.float32)
    _saved(tmp_path / "bad.npz", {"0": even, "1": even})
    good = {"tokens": ["a", "b", "c", "d"]}
    (tmp_path / "bad.json").write_text(json.dumps([good, good | {"tokens": list("efgh")} | change]))
    with pytest.raises(BadInput) as said:
        headroles.label(attention=tmp_path / "bad.npz", sieve=["local"], out=tmp_path / "run")
    assert sentence in str(said.value)
    assert not (tmp_path / "run").exists()


def test_rows_under_1_are_refused_unless_the_list_says_sinks(tmp_path: Path) -> None:
    half = {str(number): np.full((1, 1, 6, 6), 0.1, dtype=np.float32) for number in range(3)}
    _saved(tmp_path / "sink.npz", half)
    rows = [{"tokens": [f"{number}{each}" for each in "abcdef"]} for number in range(3)]
    (tmp_path / "sink.json").write_text(json.dumps(rows))
    with pytest.raises(BadInput, match="sums to 1 over the keys"):
        headroles.label(attention=tmp_path / "sink.npz", sieve=["local"])
    (tmp_path / "sink.json").write_text(json.dumps({"sinks": True, "examples": rows}))
    found = headroles.label(attention=tmp_path / "sink.npz", sieve=["local"])
    np.testing.assert_allclose(found.scores.values, 0, atol=rounding_bound(6))


def test_options_of_a_model_or_of_inputs_are_refused_beside_maps(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--attention brings inputs and a model of its own, so --task has"):
        headroles.label("QNLI", attention=tmp_path / "maps.npz")
    others: dict[str, Any] = {"max_length": 64, "dtype": "bfloat16", "seed": 3, "kind": "self"}
    for name, value in others.items():
        with pytest.raises(BadInput, match=rf"so --{name.replace('_', '-')} has no effect"):
            headroles.label(attention=tmp_path / "maps.npz", **{name: value})
    with pytest.raises(BadInput, match=r"^No such file: .*maps\.npz$"):
        headroles.label(attention=tmp_path / "maps.npz")
    (tmp_path / "maps.npz").write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(BadInput, match=r"read from a whole \.npz file"):
        headroles.label(attention=tmp_path / "maps.npz")
    np.savez(tmp_path / "lone.npz", a=np.zeros((1, 1, 2, 2)))
    with pytest.raises(BadInput, match="maps need a list of their inputs, but there is no"):
        headroles.label(attention=tmp_path / "lone.npz")


def test_what_is_no_array_is_one_sentence_wherever_it_stands(tmp_path: Path) -> None:
    _saved(tmp_path / "odd.npz", {"0": np.full((1, 1, 3, 3), 1 / 3, dtype=np.float32)})
    with zipfile.ZipFile(tmp_path / "odd.npz", "a") as archive:
        archive.writestr("1", b"no array")
    rows = [{"tokens": list("abc")}, {"tokens": list("def")}]
    (tmp_path / "odd.json").write_text(json.dumps(rows))
    with pytest.raises(BadInput, match="is damaged: its entry '1' is no array"):
        headroles.label(attention=tmp_path / "odd.npz", sieve=["local"])


def test_a_list_of_other_maps_is_refused(pairs: Path, planted: Path, even: Path, tmp_path: Path) -> None:
    headroles.extract(pairs, out=tmp_path / "one.npz", model=planted, limit=4)
    headroles.extract(pairs, out=tmp_path / "two.npz", model=even, limit=4)
    (tmp_path / "two.npz").replace(tmp_path / "one.npz")
    with pytest.raises(
        BadInput, match=r"names another SHA-256 than that of '.*one\.npz'; restore the maps of the list"
    ):
        headroles.label(attention=tmp_path / "one.npz", sieve=["local"])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_cells_are_the_most_of_any_layer_whichever_comes_first(
    order: tuple[int, int], tmp_path: Path
) -> None:
    place = np.arange(12)
    near = np.abs(place[:, None] - place[None, :]) < 3
    layers = np.stack([near / near.sum(axis=1, keepdims=True), np.full((12, 12), 1 / 12)])
    visible = [[-2, 2], [None, None]]
    arrays = {str(number): layers[list(order), None].astype(np.float32) for number in range(2)}
    rows = [
        {"tokens": [f"{number}{each}" for each in place], "visible": [visible[each] for each in order]}
        for number in range(2)
    ]
    _saved(tmp_path / "two.npz", arrays)
    (tmp_path / "two.json").write_text(json.dumps(rows))
    found = headroles.label(attention=tmp_path / "two.npz", sieve=["offset:5"])
    np.testing.assert_array_equal(found.scores.cells[0], 7)
    said = np.isfinite(found.scores.values[0]).all(axis=(0, 2))
    assert said.tolist() == [each == 1 for each in order]


def test_pickled_arrays_are_never_read(tmp_path: Path) -> None:
    _saved(tmp_path / "evil.npz", {"0": np.array([{"a": 1}], dtype=object)})
    (tmp_path / "evil.json").write_text(json.dumps([{"tokens": ["a"]}, {"tokens": ["b"], "attns": "0"}]))
    with pytest.raises(BadInput, match="is damaged: its array '0' cannot be read"):
        headroles.label(attention=tmp_path / "evil.npz", sieve=["local"])


def test_the_command_names_its_folder_after_the_maps(
    pairs: Path, planted: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    headroles.extract(pairs, out="maps.npz", model=planted)
    code, out, err = command("label", "--attention", "maps.npz", "--sieve", "local")
    assert code == 0, err
    assert "report  runs/maps-maps-sieve-local/report.html" in out
    assert read_map_list(Path("maps.npz"), "maps").examples[0].tokenised.passage.group == "document 0"


def test_a_sieve_of_an_unknown_kind_is_still_refused(tmp_path: Path) -> None:
    with pytest.raises((BadSieve, BadInput)):
        headroles.label(attention=tmp_path / "maps.npz", sieve=["local", "local"])
