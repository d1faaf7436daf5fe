"""Sharing an atlas: the block for a model card, what is uploaded, its schema, and refusals."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import headroles
from headroles import Atlas
from headroles.comparing.atlas import atlas
from headroles.errors import BadInput
from headroles.exporting import load_result
from headroles.reports.answer.atlas import answer_of
from headroles.sharing.atlas_card import ATLAS_SCHEMA, atlas_block
from headroles.sharing.atlas_schema import TYPES, atlas_schema, atlas_schema_text
from tests.sharing.conftest import Hub
from tests.support.hostile_runs import SCRIPT, charted

Run = Callable[..., tuple[int, str, str]]
TABLES = ("findings", "several", "agreement", "consensus", "trends")


@pytest.fixture(scope="module")
def folder(planted: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An atlas of three steps of a training, whose runs lie in a folder with a telling name."""
    desk = tmp_path_factory.mktemp("ann-secret-project")
    runs = [desk / f"step{number}" for number in range(3)]
    for run in runs:
        headroles.label(
            "QNLI", data=table, model=planted, max_length=48, sieve=["local", "delimiter"], out=run
        )
    atlas(runs, steps=True, out=desk / "atlas")
    return desk / "atlas"


def _rows(text: str, name: str, schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Read rows as the schema says: numbers by the type of their column, null for empty cells."""
    columns = schema["$defs"][name]["properties"]
    rows = []
    for row in csv.DictReader(text.splitlines()):
        rows.append({key: _value(cell, columns.get(key, {})) for key, cell in row.items()})
    return rows


def _value(cell: str, column: dict[str, Any]) -> Any:
    if column.get("type") == "integer":
        return int(cell)
    return (float(cell) if cell else None) if column.get("type") == ["number", "null"] else cell


def _errors(record: Any, schema: dict[str, Any], part: str = "") -> list[str]:
    whole = {"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]} if part else schema
    return [error.message for error in jsonschema.Draft202012Validator(whole).iter_errors(record)]


def test_the_schema_is_one_of_draft_2020_12_with_every_column_described() -> None:
    schema = json.loads(atlas_schema_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)
    for name in TABLES:
        for column, cell in schema["$defs"][name]["properties"].items():
            assert cell["description"], (name, column)


def test_manifest_and_all_rows_of_real_atlases_are_valid(folder: Path) -> None:
    schema = atlas_schema()
    assert _errors(json.loads((folder / "manifest.json").read_text()), schema) == []
    for name in TABLES:
        rows = _rows((folder / f"{name}.csv").read_text(), name, schema)
        assert rows
        for row in rows:
            assert _errors(row, schema, name) == [], (name, row)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("findings", {"p": 1.5}),
        ("findings", {"layer": -1}),
        ("consensus", {"combination": "stouffer"}),
        ("consensus", {"at_least": None}),
        ("trends", {"trend": "up"}),
        ("several", {"text": "of an input"}),
    ],
)
def test_wrong_rows_are_invalid(name: str, change: dict[str, Any], folder: Path) -> None:
    schema = atlas_schema()
    row = _rows((folder / f"{name}.csv").read_text(), name, schema)[0]
    assert _errors(row, schema, name) == []
    assert len(_errors(row | change, schema, name)) == 1


@pytest.mark.parametrize("field", ["kind", "command", "settings", "runs", "files", "sha256"])
def test_a_manifest_without_a_field_is_invalid(field: str, folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest[field]
    assert len(_errors(manifest, atlas_schema())) == 1


def test_every_type_of_a_column_has_a_schema() -> None:
    assert set(TYPES) == {int, float, str}


def test_the_block_has_the_counts_of_the_consensus_the_answer_and_the_citation(folder: Path) -> None:
    found = load_result(folder)
    assert isinstance(found, Atlas)
    card = headroles.share(folder).card
    for role in found.roles:
        own = [row for row in found.consensus if row.sieve == role]
        (line,) = [line for line in card.splitlines() if re.match(rf"\| {role} \| calibrated", line)]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        wanted = [sum(row.at_least >= u for row in own) for u in (1, 2, 3)]
        assert cells[2:] == [str(number) for number in (3, *wanted, sum(row.held == 3 for row in own))]
        emerged = Counter(row.emerged for row in found.steps if row.sieve == role)
        (line,) = [line for line in card.splitlines() if re.match(rf"\| {role} \| \d", line)]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[1:4] == [str(emerged[run.name]) for run in found.runs]
    assert answer_of(found).sentences[0].lead in card
    assert "@article{benjamini2008screening," in card
    assert "Files: " not in card
    assert "ann-secret-project" not in card


def test_an_uploaded_atlas_can_be_shown_and_names_no_local_folder(
    folder: Path, hub: Hub, tmp_path: Path
) -> None:
    shared = headroles.share(folder, "user/atlas", private=True)
    files = hub.repositories["user/atlas"]
    assert shared.files == tuple(sorted(files))
    assert {"README.md", ATLAS_SCHEMA, "report.html", "manifest.json"} <= files.keys()
    for name, data in files.items():
        assert b"ann-secret-project" not in data, name
        (tmp_path / name).write_bytes(data)
    again = load_result(tmp_path)
    assert isinstance(again, Atlas)
    assert [run.folder for run in again.runs] == ["step0", "step1", "step2"]
    for name in TABLES:
        assert files[f"{name}.csv"] == (folder / f"{name}.csv").read_bytes()
    schema = json.loads(files[ATLAS_SCHEMA])
    assert _errors(json.loads(files["manifest.json"]), schema) == []
    assert f"({shared.address}/blob/main/report.html)" in shared.card
    assert "](./consensus.csv)" in files["README.md"].decode()


def test_the_header_of_the_card_names_every_table_with_a_row(folder: Path, hub: Hub) -> None:
    from huggingface_hub import DatasetCard

    headroles.share(folder, "user/atlas")
    files = hub.repositories["user/atlas"]
    header = yaml.safe_load(DatasetCard(files["README.md"].decode()).data.to_yaml())
    named = {config["data_files"] for config in header["configs"]}
    assert named == {f"{name}.csv" for name in TABLES}
    assert sum(config.get("default", False) for config in header["configs"]) == 1


def test_tables_without_a_row_are_not_linked() -> None:
    card = atlas_block(charted(("local", "block"), (40, 2, 3)), "./")
    assert "(./consensus.csv)" in card
    assert "(./trends.csv)" not in card


def test_text_from_data_is_no_markup_in_the_block() -> None:
    card = atlas_block(charted())
    code = re.sub(r"(?s)```.*?```", "", card)
    assert SCRIPT not in code.replace("\\<script>", "")


def test_maps_of_an_atlas_are_refused(folder: Path, hub: Hub) -> None:
    with pytest.raises(BadInput, match=r"--with-maps is for runs, but '.*atlas' holds an atlas, which"):
        headroles.share(folder, "user/atlas", with_maps=True)
    assert hub.repositories == {}


def test_the_command_writes_the_block(folder: Path, command: Run, tmp_path: Path) -> None:
    file = tmp_path / "block.md"
    assert command("share", folder, "--out", file) == (0, f"block   {file}\n", "")
    assert file.read_text() == headroles.share(folder).card
