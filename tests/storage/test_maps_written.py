"""Attention maps on disk are the plain model's, with their own list, and nothing is half-written."""

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import headroles
from headroles.errors import BadInput
from headroles.storage import MapFile
from tests.support.folders import contents, names
from tests.support.reference import rounding_bound

ModelOf = Callable[..., Path]
TEXT = "the cat is on a red house ."
PAIR = ["who did it ?", "a small dog is in the rain"]
ROWS: list[dict[str, Any]] = [
    {"text": TEXT, "id": 7, "note": {"kept": [1, 2]}},
    {"text": PAIR},
    {"words": ["it", "is", "rain", "."], "group": "g"},
    {"tokens": ["[CLS]", "the", "dog", "[SEP]", "house", "[SEP]"]},
    {"text_a": PAIR[0], "text_b": PAIR[1], "group": "Dogs", "note": [1]},
    {"text": TEXT, "input": 1, "texts": ["mine"], "visible": "yes"},
]
WORDS = "the unbelievable committee did n't believe in re-opening the treaty , nobody objected to it ."
EVEN = np.full((2, 3, 3, 3), 1 / 3)
ABC = ["a", "b", "c"]
ENDINGS = pytest.mark.parametrize("ending", [".safetensors", ".npz"])


def given(folder: Path, rows: Sequence[dict[str, Any]] = ROWS) -> Path:
    """Write inputs, and return their file."""
    file = folder / "texts.json"
    file.write_text(json.dumps(rows))
    return file


def listed(file: Path) -> dict[str, Any]:
    """Return the list beside maps."""
    found: dict[str, Any] = json.loads(file.with_suffix(".json").read_text())
    return found


def arrays(file: Path) -> list[np.ndarray]:
    """Return the maps of a file in the order of its list."""
    with MapFile.open(file) as maps:
        return [maps[row["attns"]] for row in listed(file)["examples"]]


def plain(folder: Path, *texts: str, **inputs: Any) -> np.ndarray:
    """Return the attention that the library's own model gives."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    network = network.get_encoder() if network.config.is_encoder_decoder else network
    encoded = inputs or AutoTokenizer.from_pretrained(folder)(*texts, return_tensors="pt")
    with torch.inference_mode():
        weights: np.ndarray = torch.cat(network(**encoded, output_attentions=True).attentions).numpy()
    return weights


@ENDINGS
def test_maps_are_the_plain_models_and_fields_are_kept(ending: str, planted: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoTokenizer

    out, told, file = tmp_path / f"maps{ending}", list[Any](), given(tmp_path)
    done = headroles.extract(file, out=out, model=planted, precision="float32", announce=told.append)
    assert told == [done]
    maps, list_ = arrays(out), listed(out)
    ids = AutoTokenizer.from_pretrained(planted).convert_tokens_to_ids(ROWS[3]["tokens"])
    segments = torch.tensor([[0, 0, 0, 0, 1, 1]])
    wanted = [plain(planted, TEXT), plain(planted, *PAIR), plain(planted, "it is rain .")]
    wanted.append(plain(planted, input_ids=torch.tensor([ids]), token_type_ids=segments))
    for found, right in zip(maps, [*wanted, wanted[1], wanted[0]], strict=True):
        np.testing.assert_allclose(found, right, rtol=0, atol=rounding_bound(64))
    assert (done.count, done.size) == (6, sum(array.nbytes for array in maps))
    assert list_["sha256"] == sha256(out.read_bytes()).hexdigest()
    examples = list_["examples"]
    for number in (0, 4):
        assert examples[number].items() >= ROWS[number].items()
    assert examples[1]["texts"] == examples[4]["texts"] == PAIR
    assert examples[1]["segment"] == examples[4]["segment"] == [-1, 0, 0, 0, 0, -1, *[1] * 7, -1]
    assert (examples[3]["tokens"], examples[3]["segment"]) == (ROWS[3]["tokens"], [-1, 0, 0, -1, 1, -1])
    assert examples[5]["input"] == {name: ROWS[5][name] for name in ("input", "texts", "visible")}
    assert [each["first"] for each in examples] == [[0]] * 6
    half = tmp_path / f"half{ending}"
    assert 2 * headroles.extract(file, out=half, model=planted).size == done.size
    for array, exact in zip(arrays(half), maps, strict=True):
        assert array.dtype == np.float16
        np.testing.assert_allclose(array, exact, rtol=1e-3, atol=1e-7)
    before = contents(tmp_path)
    headroles.extract(file, out=half, model=planted, overwrite=True)
    assert contents(tmp_path) == before  # the same bytes, and nothing beside them


@pytest.mark.parametrize(("name", "small"), [("bert", True), ("gpt2", False), ("mistral", True)])
def test_words_are_summed_as_keys_and_averaged_as_queries_and_see_what_their_pieces_see(
    name: str, small: bool, model_of: ModelOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if small:
        from tests.support.read_models import cut_into_blocks

        cut_into_blocks(monkeypatch, 4, 5000)
    words = WORDS.split()
    file = given(tmp_path, [{"words": part} for part in (words, words[:9], words[5:])])
    options: dict[str, Any] = {"model": model_of(name), "precision": "float32", "max_length": 300}
    headroles.extract(file, out=tmp_path / "pieces.npz", **options)
    headroles.extract(file, out=tmp_path / "words.npz", word_level=True, **options)
    rows, several = listed(tmp_path / "pieces.npz")["examples"], 0
    maps = zip(arrays(tmp_path / "pieces.npz"), arrays(tmp_path / "words.npz"), strict=True)
    for row, (pieces, found) in zip(rows, maps, strict=True):
        own: list[list[int]] = []
        for place, word in enumerate(row["word"]):
            if place and word >= 0 and row["word"][place - 1] == word:
                own[-1].append(place)
            else:
                own.append([place])
        several += sum(len(unit) > 1 for unit in own)
        expected = np.stack([pieces[..., unit].sum(-1) for unit in own], axis=-1)
        expected = np.stack([expected[..., unit, :].mean(-2) for unit in own], axis=-2)
        np.testing.assert_allclose(found, expected, rtol=0, atol=rounding_bound(64))
        for layer, layer_pieces in enumerate(pieces):  # what is seen gets attention, and nothing else does
            seen = layer_pieces.max(axis=0) > 0
            wanted = np.array([[seen[np.ix_(one, other)].any() for other in own] for one in own])
            np.testing.assert_array_equal(found[layer].max(axis=0) > 0, wanted)
    assert several > 5
    visible = listed(tmp_path / "words.npz")["examples"][0].get("visible")
    assert visible == {"bert": None, "gpt2": [[None, 0]] * 2}.get(name, visible)


def test_published_maps_have_one_token_type_and_first_pieces(model_of: ModelOf, tmp_path: Path) -> None:
    file, maps = given(tmp_path, [{"text_a": "The dog sat.", "text_b": "Who sat there?"}]), {}
    for name, published, words in (("t", True, False), ("w", True, True), ("own", False, False)):
        out = tmp_path / f"{name}.npz"
        options: dict[str, Any] = {"as_published": published, "word_level": words, "precision": "float32"}
        headroles.extract(file, out=out, model=model_of("bert"), **options)
        (maps[name],) = arrays(out)
        assert listed(out).get("as_published", False) is published
    words_of = listed(tmp_path / "t.npz")["examples"][0]["word"]
    starts = [k for k, word in enumerate(words_of) if word < 0 or word not in words_of[:k]]
    summed = np.add.reduceat(maps["t"], starts, axis=-1)[..., starts, :]
    np.testing.assert_allclose(maps["w"], summed, rtol=0, atol=rounding_bound(64))
    assert np.abs(maps["t"] - maps["own"]).max() > 1e-4


def test_attention_that_is_no_number_is_not_stored(
    model_of: ModelOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from headroles.extraction import load

    def spoilt(*given: Any, **options: Any) -> Any:
        model = load(*given, **options)
        with torch.no_grad():
            dict(model.network.named_parameters())["encoder.layer.1.attention.self.query.bias"][3] = torch.nan
        return model

    monkeypatch.setattr(sys.modules[load.__module__], "load", spoilt)
    file = given(tmp_path, [{"words": ["it"]}])
    for words in (False, True):
        with pytest.raises(BadInput, match="must be finite, but layer 1 gives some that are not"):
            headroles.extract(file, out=tmp_path / "m.npz", model=model_of("bert"), word_level=words)
    assert names(tmp_path) == ["texts.json"]


@ENDINGS
@pytest.mark.parametrize("stop", ["switch", "list", "maps"])
def test_maps_and_list_are_the_old_ones_or_the_new_ones(
    stop: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, beside = tmp_path / f"maps{ending}", tmp_path / "maps.json"
    headroles.write_maps(out, [(EVEN, ABC)])
    before, move = contents(tmp_path), "rename" if stop == "switch" else "replace"
    honest = getattr(Path, move)

    def cut(path: Path, target: Path) -> Path:
        if stop == "switch" or target == (out if stop == "maps" else beside):
            raise KeyboardInterrupt
        moved: Path = honest(path, target)
        return moved

    with monkeypatch.context() as patched:
        patched.setattr(Path, move, cut)
        with pytest.raises(KeyboardInterrupt):
            headroles.write_maps(out, [(EVEN[:, :2], ABC)], overwrite=True)
    if stop == "switch":
        assert contents(tmp_path) == before
    else:
        with pytest.raises(BadInput, match=r"was stopped while it replaced .*; start it again"):
            headroles.label(attention=out, sieve=["local"])
    headroles.write_maps(out, [(EVEN[:, :2], ABC)], overwrite=True)
    assert names(tmp_path) == [beside.name, out.name]
    assert arrays(out)[0].shape == (2, 2, 3, 3)


@ENDINGS
def test_room_on_the_disk_is_asked_for_before_anything_is_written(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room_for(error: int) -> Mock:
        return Mock(side_effect=OSError(error, os.strerror(error)))

    out, usage = tmp_path / f"maps{ending}", shutil.disk_usage(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("shutil.disk_usage", lambda place: usage._replace(free=100))
        with pytest.raises(BadInput, match=r"maps need 0\.0 GB of disk .* has 0\.0 GB free"):
            headroles.write_maps(out, [(EVEN, ABC)] * 9, overwrite=True)
    monkeypatch.setattr(os, "posix_fallocate", no_room_for(errno.ENOSPC), raising=False)
    with pytest.raises(BadInput, match=r"cannot be written \(No space left on device\)"):
        headroles.write_maps(out, [(EVEN, ABC)])
    assert names(tmp_path) == []
    monkeypatch.setattr(os, "posix_fallocate", no_room_for(errno.EOPNOTSUPP), raising=False)
    headroles.write_maps(out, [(EVEN, ABC)])  # where room cannot be asked for
    np.testing.assert_allclose(arrays(out)[0], EVEN, rtol=1e-3)
