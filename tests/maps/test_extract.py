"""Attention maps on disk are the plain model's, sizes are said before, and nothing is half-written."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from transformers import AutoModel, AutoTokenizer

import headroles
from headroles.errors import BadInput, UnknownName
from headroles.extraction.jobs.map_writer import sum_between_units, visible_range
from headroles.maps.examples import read_map_list
from headroles.maps.extract import ExtractedMaps
from headroles.storage.integrity.leftovers import HOST
from headroles.storage.map_files import MapFile
from tests.support.read_models import cut_into_blocks
from tests.support.reference import rounding_bound

ModelOf = Callable[..., Path]
Command = Callable[..., tuple[int, str, str]]

TEXT = "the cat is on a red house ."
ROWS: list[dict[str, Any]] = [
    {"text": TEXT, "id": 7, "note": {"kept": [1, 2]}},
    {"text": ["who did it ?", "a small dog is in the rain"]},
    {"words": ["it", "is", "rain", "."], "group": "g"},
    {"tokens": ["[CLS]", "the", "dog", "[SEP]", "house", "[SEP]"]},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "texts.json"
    file.write_text(json.dumps(ROWS))
    return file


def _plain(folder: Path, *texts: str, ids: Sequence[int] | None = None) -> np.ndarray:
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(*texts, return_tensors="pt") if ids is None else {"input_ids": torch.tensor([ids])}
    with torch.inference_mode():
        weights = network(**inputs, output_attentions=True).attentions
    return torch.cat(weights).numpy()


def _listed(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.with_suffix(".json").read_text())
    return found


@pytest.mark.parametrize("ending", [".safetensors", ".npz"])
def test_maps_are_the_plain_models_and_other_fields_are_kept(
    ending: str, rows: Path, planted: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"maps{ending}"
    told: list[ExtractedMaps] = []
    done = headroles.extract(rows, out=out, model=planted, precision="float32", announce=told.append)
    assert told == [done]
    assert done.count == 4
    with MapFile.open(out) as maps:
        arrays = {name: maps[name] for name in maps.names}
    np.testing.assert_allclose(arrays["0"], _plain(planted, TEXT), rtol=0, atol=rounding_bound(64))
    np.testing.assert_allclose(
        arrays["1"], _plain(planted, *ROWS[1]["text"]), rtol=0, atol=rounding_bound(64)
    )
    np.testing.assert_allclose(arrays["2"], _plain(planted, "it is rain ."), rtol=0, atol=rounding_bound(64))
    assert done.size == sum(each.nbytes for each in arrays.values())
    examples = _listed(out)["examples"]
    assert examples[0]["id"] == 7
    assert examples[0]["note"] == {"kept": [1, 2]}
    assert examples[0]["text"] == TEXT
    assert examples[1]["segment"] == [-1, 0, 0, 0, 0, -1, *[1] * 7, -1]
    assert examples[3]["tokens"] == ROWS[3]["tokens"]
    assert examples[3]["segment"] == [-1, 0, 0, -1, 1, -1]
    assert [each["first"] for each in examples] == [[0]] * 4


def test_pairs_of_text_a_and_text_b_are_read_as_pairs_of_text(planted: Path, tmp_path: Path) -> None:
    pair, file = ["who did it ?", "a small dog is in the rain"], tmp_path / "pairs.jsonl"
    rows: list[dict[str, Any]] = [
        {"text_a": pair[0], "text_b": pair[1], "group": "Dogs", "note": [1]},
        {"text_a": TEXT},
        {"text": pair},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    headroles.extract(file, out=tmp_path / "maps.npz", model=planted)
    arrays = np.load(tmp_path / "maps.npz")
    assert np.array_equal(arrays["0"], arrays["2"])
    first, second, third = _listed(tmp_path / "maps.npz")["examples"]
    for name, value in rows[0].items():
        assert first[name] == value
    assert first["texts"] == third["texts"] == pair
    assert first["segment"] == third["segment"]
    assert second["texts"] == [TEXT]


def test_prepared_running_text_is_extracted_and_labelled_in_its_documents(
    planted: Path, tmp_path: Path, command: Command
) -> None:
    text, pairs, maps = tmp_path / "text.txt", tmp_path / "u.jsonl", tmp_path / "m.npz"
    text.write_text("\n\n".join(f"{TEXT} " * 6 + "a dog " * number for number in range(12)))
    made = ("preprocess", "unlabeled", text, "--out", pairs, "--model", planted, "--max-length", 32)
    for line in (made, ("extract", pairs, "--out", maps, "--model", planted)):
        code, _, err = command(*line)
        assert code == 0, err
    prepared = [json.loads(line) for line in pairs.read_text().splitlines()]
    examples = _listed(maps)["examples"]
    assert [{name: row[name] for name in prepared[0]} for row in examples] == prepared
    assert len({row["group"] for row in examples}) == 12
    with MapFile.open(maps) as stored:
        sizes = [stored[row["attns"]].shape[-1] for row in examples]
    assert sizes == [len(row["tokens"]) for row in examples]
    listed = read_map_list(maps, "maps").examples
    assert [each.tokenised.passage.group for each in listed] == [row["group"] for row in prepared]


def test_fields_of_an_input_that_the_list_needs_itself_are_kept_beside_it(
    planted: Path, tmp_path: Path
) -> None:
    own = {"segment": "two", "word": 3, "texts": None, "visible": [], "input": "mine"}
    file = tmp_path / "texts.jsonl"
    tokens = {"tokens": ["[CLS]", "the", "dog", "[SEP]"], "word": [-1, 0, 1, -1]}
    trees = {"heads": [2, 0], "relations": ["det", "root"]}
    rows = [{"text": TEXT, **own}, {"text": TEXT, "input": 1}, tokens | trees]
    file.write_text("\n".join(map(json.dumps, rows)))
    headroles.extract(file, out=tmp_path / "maps.npz", model=planted)
    first, second, third = _listed(tmp_path / "maps.npz")["examples"]
    assert first["input"] == own
    assert first["texts"] == [TEXT]
    assert second["input"] == 1
    assert "visible" not in first
    assert "input" not in third
    assert {name: third[name] for name in (*tokens, *trees)} == tokens | trees
    (tree,) = read_map_list(tmp_path / "maps.npz", "maps").examples[2].tokenised.passage.words or ()
    assert tree.heads.tolist() == [1, -1]


def test_tokens_go_to_the_model_as_they_came_with_their_segments(
    rows: Path, planted: Path, tmp_path: Path
) -> None:
    out = tmp_path / "maps.safetensors"
    headroles.extract(rows, out=out, model=planted, precision="float32")
    tokenizer = AutoTokenizer.from_pretrained(planted)
    network = AutoModel.from_pretrained(planted, attn_implementation="eager").eval()
    ids = tokenizer.convert_tokens_to_ids(ROWS[3]["tokens"])
    with torch.inference_mode():
        plain = network(
            input_ids=torch.tensor([ids]),
            token_type_ids=torch.tensor([[0, 0, 0, 0, 1, 1]]),
            output_attentions=True,
        ).attentions
    np.testing.assert_allclose(load_file(out)["3"], torch.cat(plain).numpy(), rtol=0, atol=rounding_bound(64))


def test_files_of_the_same_inputs_are_the_same_bytes(rows: Path, planted: Path, tmp_path: Path) -> None:
    for ending in (".safetensors", ".npz"):
        files = [tmp_path / f"{name}-{ending[1:]}{ending}" for name in ("one", "two")]
        for file in files:
            headroles.extract(rows, out=file, model=planted)
        assert files[0].read_bytes() == files[1].read_bytes()
        assert not list(tmp_path.glob(".*"))


def test_half_precision_is_half_as_large_and_close(rows: Path, planted: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.safetensors", tmp_path / "two.safetensors"
    half = headroles.extract(rows, out=one, model=planted)
    whole = headroles.extract(rows, out=two, model=planted, precision="float32")
    assert 2 * half.size == whole.size
    exact = load_file(two)
    for name, array in load_file(one).items():
        assert array.dtype == np.float16
        np.testing.assert_allclose(array, exact[name], rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("small", [False, True])
def test_words_are_summed_as_keys_and_averaged_as_queries(
    small: bool, model_of: ModelOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model_of("llama")
    if small:
        cut_into_blocks(monkeypatch, 4, 700)
    file = tmp_path / "texts.json"
    file.write_text(json.dumps([{"words": ["unbelievable", "rains", "fell", "."]}]))
    options: dict[str, Any] = {"model": folder, "precision": "float32", "max_length": 300}
    headroles.extract(file, out=tmp_path / "pieces.npz", **options)
    headroles.extract(file, out=tmp_path / "words.npz", word_level=True, **options)
    pieces = np.load(tmp_path / "pieces.npz")["0"]
    words = np.load(tmp_path / "words.npz")["0"]
    row = _listed(tmp_path / "pieces.npz")["examples"][0]
    member: list[list[int]] = []
    for place, word in enumerate(row["word"]):
        if word >= 0 and place and row["word"][place - 1] == word:
            member[-1].append(place)
        else:
            member.append([place])
    assert words.shape[-1] == len(member) < pieces.shape[-1]
    expected = np.stack([pieces[..., own].sum(-1) for own in member], axis=-1)
    expected = np.stack([expected[..., own, :].mean(-2) for own in member], axis=-2)
    np.testing.assert_allclose(words, expected, rtol=0, atol=rounding_bound(64))
    assert _listed(tmp_path / "words.npz")["examples"][0]["tokens"][-1] == "."


@pytest.mark.parametrize("mode", ["mean", "first"])
def test_the_released_conversion_to_words_is_reproduced(mode: str, shared: Path) -> None:
    golden = shared / "golden"
    numbers = json.loads((golden / "published.json").read_text())["word_level"]
    pieces = torch.from_numpy(np.load(golden / "published.npz")["pieces_attention"])
    units = torch.empty(9, dtype=torch.int64)
    for unit, own in enumerate(numbers["words_to_pieces"]):
        units[own] = unit
    whole = pieces.reshape(-1, 9, 9)
    by_first = mode == "first"
    blocks = [
        sum_between_units(whole[:, start : start + 4], units, start, by_first=by_first) for start in (0, 4, 8)
    ]
    got = (blocks[0] + blocks[1] + blocks[2]).reshape(*pieces.shape[:-2], *blocks[0].shape[1:])
    np.testing.assert_allclose(got.numpy(), numbers[mode], rtol=0, atol=1e-9)


def test_published_maps_have_one_token_type_and_words_by_their_first_piece(
    model_of: Callable[[str], Path], tmp_path: Path
) -> None:
    file, maps = tmp_path / "texts.json", {}
    file.write_text(json.dumps([{"text_a": "The dog sat.", "text_b": "Who sat there?"}]))
    for name, published, words in (("t", True, False), ("w", True, True), ("own", False, False)):
        out = tmp_path / f"{name}.npz"
        headroles.extract(
            file,
            out=out,
            model=model_of("bert"),
            as_published=published,
            word_level=words,
            precision="float32",
        )
        with np.load(out) as arrays:
            maps[name] = arrays["0"]
        described = json.loads(out.with_suffix(".json").read_text())
        assert described.get("as_published", False) is published
    row = _listed(tmp_path / "t.npz")["examples"][0]
    starts = [place for place, word in enumerate(row["word"]) if word < 0 or word not in row["word"][:place]]
    summed = np.add.reduceat(maps["t"], starts, axis=-1)[..., starts, :]
    np.testing.assert_allclose(maps["w"], summed, rtol=0, atol=rounding_bound(64))
    assert np.abs(maps["t"] - maps["own"]).max() > 1e-4


def test_long_inputs_are_left_out_and_counted(planted: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text("\n".join(json.dumps({"text": text}) for text in (TEXT, " ".join([TEXT] * 5), "a dog")))
    done = headroles.extract(file, out=tmp_path / "maps.npz", model=planted, max_length=20)
    assert (done.count, done.long) == (2, 1)
    assert "1 longer ones left out" in str(done)
    assert [each["text"] for each in _listed(tmp_path / "maps.npz")["examples"]] == [TEXT, "a dog"]
    with pytest.raises(BadInput, match="inputs longer than 4 tokens are left out, but all 2"):
        headroles.extract(file, out=tmp_path / "none.npz", model=planted, max_length=4, first=2)
    assert not (tmp_path / "none.npz").exists()


def test_a_limit_is_a_random_subset_that_keeps_its_keys_and_first_the_first_inputs(
    planted: Path, tmp_path: Path
) -> None:
    file, out = tmp_path / "texts.jsonl", tmp_path / "maps.npz"
    file.write_text("\n".join(json.dumps({"text": f"{'the ' * n} dog", "n": n}) for n in range(9)))
    drawn = []
    for seed in (0, 0, 1, 2):
        headroles.extract(file, out=out, model=planted, limit=4, seed=seed, overwrite=True)
        examples = _listed(out)["examples"]
        assert [each["key"] for each in examples] == [str(each["n"]) for each in examples]
        drawn.append([each["n"] for each in examples])
    assert drawn[0] == drawn[1]
    assert len({tuple(numbers) for numbers in drawn}) > 1
    assert all(numbers == sorted(numbers) and len(numbers) == 4 for numbers in drawn)
    headroles.extract(file, out=out, model=planted, first=4, overwrite=True)
    assert [each["n"] for each in _listed(out)["examples"]] == [0, 1, 2, 3]
    assert "key" not in _listed(out)["examples"][0]
    with pytest.raises(BadInput, match="--limit draws a random sample and --first takes the first"):
        headroles.extract(file, out=out, model=planted, limit=4, first=4, overwrite=True)


def test_an_object_that_breaks_a_rule_has_its_number_in_the_file_also_in_a_subset(
    planted: Path, tmp_path: Path
) -> None:
    file = tmp_path / "texts.json"
    file.write_text(json.dumps([{"text": "a dog"}, {"text": "a dog"}, {"words": "a dog"}]))
    for seed in range(20):
        drawn = np.sort(np.random.default_rng(seed).choice(3, 1, replace=False)).tolist()
        if drawn == [2]:
            break
    with pytest.raises(BadInput, match="object 2: 'words' is a list"):
        headroles.extract(file, out=tmp_path / "maps.npz", model=planted, limit=1, seed=seed)


def test_a_group_is_the_field_that_is_named(planted: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "texts.json", tmp_path / "maps.npz"
    rows = [
        {"text": "a dog", "page": 7, "group": "old"},
        {"text": "the cat is red", "page": None},
        {"words": ["it", "is", "it", "is"], "page": "p", "sentences": [2, 2], "heads": [2, 0, 2, 0]},
    ]
    file.write_text(json.dumps(rows))
    headroles.extract(file, out=out, model=planted, group="page")
    assert [each.get("group") for each in _listed(out)["examples"]] == ["7", None, "p", "p"]
    run = headroles.label(attention=out, sieve="local")
    assert list(run.scores.units) == ["7", "maps/1", "p", "p"]
    for page, sentence in (
        ({}, "the field 'page' is needed but not there; fields: text"),
        ({"page": 2.5}, "'page' is a name or a whole number, or null where it is unknown, but got 2.5"),
    ):
        file.write_text(json.dumps([{"text": "a dog"} | page]))
        with pytest.raises(BadInput, match=sentence):
            headroles.extract(file, out=out, model=planted, group="page", overwrite=True)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({}, "exactly one of text, text_a, words, tokens, but got none"),
        ({"text_b": "a"}, "exactly one of text, text_a, words, tokens, but got none; fields: text_b"),
        ({"text": "a", "text_b": "a"}, "'text_b' is the second text of 'text_a', but got it with 'text'"),
        ({"text": "a", "text_a": "a"}, "but got text and text_a"),
        ({"text_a": "a", "text_b": None}, "'text_a' is a string, like 'text_b', none blank, but got ['a', N"),
        ({"text_a": ["a", "b"]}, "'text_a' is a string, like 'text_b', none blank, but got [['a', 'b']]"),
        ({"text_a": " "}, "'text_a' is a string, like 'text_b', none blank"),
        ({"text": "a", "words": ["a"]}, "but got text and words"),
        ({"text": ""}, "'text' is a string, or a list of two, none blank"),
        ({"text": ["a", "b", "c"]}, "'text' is a string, or a list of two"),
        ({"words": "a dog"}, "'words' is a list of strings"),
        ({"words": ["a", 3]}, "'words' is a list of strings"),
        ({"tokens": ["[CLS]", "zebra"]}, "'zebra' is not; give 'words' or 'text'"),
        ("text", "each is a JSON object, but got a str"),
    ],
)
def test_objects_that_break_a_rule_are_named(row: Any, sentence: str, planted: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.json"
    file.write_text(json.dumps([{"text": "a dog"}, row]))
    with pytest.raises(BadInput, match="object 1: ") as said:
        headroles.extract(file, out=tmp_path / "maps.npz", model=planted)
    assert sentence in str(said.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["texts.json"]


def test_words_of_bare_tokens_are_refused(rows: Path, planted: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--word-level needs to know the words, but 1 inputs"):
        headroles.extract(rows, out=tmp_path / "maps.npz", model=planted, word_level=True)


def test_files_are_not_written_over_one_another(rows: Path, planted: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"end in \.safetensors or \.npz"):
        headroles.extract(rows, out=tmp_path / "maps.pkl", model=planted)
    with pytest.raises(BadInput, match="written over the inputs"):
        headroles.extract(rows, out=rows.with_suffix(".npz"), model=planted)
    with pytest.raises(UnknownName, match="float8"):
        headroles.extract(rows, out=tmp_path / "maps.npz", model=planted, precision="float8")
    (tmp_path / "maps.npz").write_text("mine")
    with pytest.raises(BadInput, match="is there already; give --overwrite"):
        headroles.extract(rows, out=tmp_path / "maps.npz", model=planted)
    assert (tmp_path / "maps.npz").read_text() == "mine"
    headroles.extract(rows, out=tmp_path / "maps.npz", model=planted, overwrite=True)
    assert (tmp_path / "maps.npz").stat().st_size > 4


def test_maps_whose_list_was_not_written_when_the_command_was_killed_are_written_again(
    rows: Path, planted: Path, tmp_path: Path
) -> None:
    out = tmp_path / "maps.npz"
    headroles.extract(rows, out=out, model=planted)
    wanted = out.read_bytes(), _listed(out)
    out.with_suffix(".json").unlink()
    with pytest.raises(BadInput, match="is there already"):  # maps of somebody else
        headroles.extract(rows, out=out, model=planted)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f".maps.npz.list.{HOST}.{ended.pid}.partial"
    left.write_text("[]")
    headroles.extract(rows, out=out, model=planted)
    assert (out.read_bytes(), _listed(out)) == wanted
    assert not left.exists()


def test_a_disk_without_room_is_one_sentence_and_leaves_nothing(
    rows: Path, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("headroles.maps.writer.shutil.disk_usage", lambda place: usage._replace(free=100))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(BadInput, match=r"maps need 0\.0 GB of disk .* has 0\.0 GB free"):
        headroles.extract(rows, out=tmp_path / "maps.npz", model=planted)
    assert sorted(tmp_path.iterdir()) == before


def test_what_queries_see_is_told_as_offsets(model_of: ModelOf, tmp_path: Path) -> None:
    file = tmp_path / "texts.json"
    file.write_text(json.dumps([{"text": " ".join([TEXT] * 3)}]))
    headroles.extract(file, out=tmp_path / "maps.npz", model=model_of("gpt2"))
    assert set(map(tuple, _listed(tmp_path / "maps.npz")["examples"][0]["visible"])) == {(None, 0)}
    assert visible_range(np.tri(6, dtype=np.bool_) & ~np.tri(6, k=-3, dtype=np.bool_)) == (-2, 0)
    with pytest.raises(BadInput, match="in this model some query does not"):
        visible_range(np.eye(4, dtype=np.bool_) | (np.arange(4) == 0))


def test_the_command_says_the_size_before_it_writes(
    rows: Path, planted: Path, tmp_path: Path, command: Command
) -> None:
    code, out, err = command("extract", rows, "--out", tmp_path / "maps.npz", "--model", planted)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0].startswith("writes  4 inputs of 36 tokens, 2 layers × 3 heads: 0.0 MB in")
    assert lines[1].endswith("maps.npz")
    assert lines[2].endswith("maps.json")
