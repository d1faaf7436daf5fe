"""Sharing runs and atlases: what is uploaded, what stays here, and schemas that are true of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

import headroles
from headroles import Labelling
from headroles.exporting import load_result
from headroles.kinds import kind_of
from tests.contract.conftest import Again
from tests.contract.inputs import VERBS
from tests.contract.kinds import JUDGED, inside
from tests.contract.same import names_of

SECRET = "ann-secret-project"
"""Name of a folder that no file may hold."""


class Hub:
    """A stand-in of the hub: it takes data sets, and keeps what it got."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self.files: dict[str, dict[str, bytes]] = {}
        self.asked: list[tuple[str, bool, bool]] = []

    def create_repo(self, name: str, *, repo_type: str, private: bool, exist_ok: bool) -> None:
        """Make a data set, unless it is there."""
        assert repo_type == "dataset"
        self.asked.append((name, private, exist_ok))
        self.files.setdefault(name, {})

    def upload_folder(
        self, *, repo_id: str, folder_path: Path, delete_patterns: str | None, **_: Any
    ) -> None:
        """Keep the files of a folder, in place of those before where it is asked for."""
        own = {name: path.read_bytes() for name, path in names_of(Path(folder_path)).items()}
        self.files[repo_id] = ({} if delete_patterns else self.files[repo_id]) | own


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A hub that the library finds, with a token."""
    held = Hub()
    monkeypatch.setenv("HF_TOKEN", "hf_madeUpForTests")
    for name in ("create_repo", "upload_folder"):
        act = getattr(held, name)
        monkeypatch.setattr(
            f"huggingface_hub.HfApi.{name}", lambda api, *words, act=act, **how: act(*words, **how)
        )
    return held


@pytest.fixture(scope="module")
def secret(again: Again, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A label run with kept maps, whose manifest names a folder of its maker."""
    run = headroles.load(again("label")[0])
    place = f"/home/{SECRET}/pairs.tsv"
    manifest = dict(run.manifest) | {"command": f"headroles label --task QNLI --data {place}"}
    manifest["settings"] = dict(run.manifest["settings"]) | {"data": place}
    manifest["source"] = dict(run.manifest["source"]) | {"name": place}
    folder = tmp_path_factory.mktemp(SECRET) / "run"
    headroles.save(replace(run, manifest=manifest), folder)
    return folder


def test_no_text_and_no_local_folder_leaves_unless_maps_are_asked_for(
    secret: Path, hub: Hub, tmp_path: Path
) -> None:
    shared = headroles.share(secret, "user/roles", private=True)
    files = hub.files["user/roles"]
    assert shared.files == tuple(sorted(files))
    assert shared.address is not None
    assert shared.address.endswith("/datasets/user/roles")
    assert f"({shared.address}/blob/main/report.html)" in shared.card
    kept = {"shown.parquet", "maps.parquet", "typical.csv"}
    assert not kept & files.keys()
    assert (secret / "shown.parquet").is_file()
    sentences = [f"the {word} " for word in VERBS]
    for name, data in files.items():
        assert SECRET.encode() not in data, name
        assert not any(words.encode() in data for words in sentences), name
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert (tmp_path / "findings.csv").read_bytes() == (secret / "findings.csv").read_bytes()
    assert "--data pairs.tsv" in headroles.load(tmp_path).manifest["command"]
    headroles.share(secret, "user/roles", with_maps=True, overwrite=True)
    assert kept <= hub.files["user/roles"].keys()
    assert b"It holds pieces and attention maps of some inputs." in hub.files["user/roles"]["README.md"]
    headroles.share(secret, "user/roles", overwrite=True)
    assert not kept & hub.files["user/roles"].keys()
    assert hub.asked == [("user/roles", True, False), *[("user/roles", False, True)] * 2]


@pytest.mark.parametrize("name", [*JUDGED, "atlas", "atlas-of-parts"])
def test_what_is_uploaded_fits_its_schemas_and_its_card_names_its_files(
    name: str, again: Again, hub: Hub
) -> None:
    folder = again(name)[0]
    with inside(folder.parent):
        headroles.share(name, "user/all")
    files = hub.files["user/all"]
    card = files["README.md"].decode()
    header = yaml.safe_load(card.split("---\n")[1])
    tables = {config["data_files"] for config in header["configs"]}
    assert tables <= files.keys()
    assert sum(config.get("default", False) for config in header["configs"]) <= 1
    for link in [word.partition(")")[0] for word in card.split("](./")[1:]]:
        assert link in files
    schemas = {file: json.loads(data) for file, data in files.items() if file.endswith("schema.json")}
    for schema in schemas.values():
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        jsonschema.Draft202012Validator.check_schema(schema)
    records = {file: json.loads(files[file]) for file in ("manifest.json", "heads.json") if file in files}
    assert ("heads.json" in records) == (not name.startswith("atlas"))
    for file, record in records.items():
        stem = file.partition(".")[0]
        (schema,) = [schema for own, schema in schemas.items() if stem in own or len(schemas) == 1]
        validator = jsonschema.Draft202012Validator(schema)
        assert [error.message for error in validator.iter_errors(record)] == []
        assert not validator.is_valid({}), file
    if "heads.json" not in records:
        return
    cards, run = records["heads.json"], load_result(folder)
    assert isinstance(run, Labelling)
    assert cards["kind"] == kind_of(run).name
    places = [(layer, head) for layer in range(cards["layers"]) for head in range(cards["heads"])]
    assert [(card["layer"], card["head"]) for card in cards["cards"]] == places
    low, high = run.mean_intervals()
    arrays = {"mean": run.findings.mean, "q": run.findings.q, "low": low, "high": high}
    for card in cards["cards"]:
        for role, answer in card["roles"].items():
            spot = (run.findings.of(role), card["layer"], card["head"])
            assert answer["decision"] == kind_of(run).outcomes[int(run.findings.decision[spot])]
            for key, array in arrays.items():
                assert answer[key] == (float(array[spot]) if np.isfinite(array[spot]) else None)
