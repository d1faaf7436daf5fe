"""Sharing a run: the block for a model card, what is uploaded, what stays here, and refusals."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import headroles
from headroles.errors import BadInput
from headroles.kinds import KINDS
from headroles.terminal.facts import run_facts
from tests.sharing.conftest import TOKEN, Hub

Run = Callable[..., tuple[int, str, str]]
SECRET = "xyzzy"
"""A word of an input that no file may hold."""


@pytest.fixture(scope="module")
def labelled(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of sieves on made-up texts, with kept maps; its file lies in a folder with a telling name."""
    desk = tmp_path_factory.mktemp("ann-secret-project")
    rows = [{"text": f"the {SECRET} dog number {k} was seen near the old house"} for k in range(20)]
    (desk / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = desk / "run"
    headroles.label(
        data=str(desk / "texts.jsonl"),
        text_a="text",
        model=str(planted),
        sieve="local",
        maps=20,
        max_length=64,
        out=str(folder),
    )
    return folder


def test_the_block_has_the_counts_bounds_and_intervals_of_the_run(labelled: Path) -> None:
    run = headroles.load(labelled)
    facts = run_facts(run)
    card = headroles.share(labelled).card
    for name, result in facts["results"].items():
        least, most = result["counts"]["role"], result["counts"]["role"] + result["counts"]["undetermined"]
        (row,) = [line for line in card.splitlines() if line.startswith(f"| {name}: ")]
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[1:3] == [str(least), f"[{least}, {most}]"]
        if result["strongest"]:
            top = result["strongest"]
            assert cells[3] == f"{top['layer']}-{top['head']}"
            assert cells[4] == f"{top['mean']:.2f} [{top['low']:.2f}, {top['high']:.2f}]"
    assert "@misc{headroles," in card
    assert "false labels ≤ 5" in card
    assert "headroles label --data texts.jsonl" in card


def test_no_text_and_no_local_folder_leaves_without_maps(labelled: Path, hub: Hub) -> None:
    shared = headroles.share(labelled, "user/roles", private=True)
    files = hub.repositories["user/roles"]
    assert shared.address == f"{hub.url}/datasets/user/roles"
    assert shared.files == tuple(sorted(files))
    assert hub.private == {"user/roles"}
    assert not {"shown.parquet", "maps.parquet", "typical.csv", "cells.parquet"} & files.keys()
    assert (labelled / "shown.parquet").is_file()
    for name, data in files.items():
        assert SECRET.encode() not in data, name
        assert b"ann-secret-project" not in data, name
    assert f"({shared.address}/blob/main/report.html)" in shared.card


def test_maps_leave_when_they_are_asked_for(labelled: Path, hub: Hub) -> None:
    headroles.share(labelled, "user/roles", with_maps=True)
    files = hub.repositories["user/roles"]
    assert {"shown.parquet", "maps.parquet", "typical.csv"} <= files.keys()
    assert b"ann-secret-project" not in b"".join(files.values())
    assert b"It holds pieces and attention maps of some inputs." in files["README.md"]


def test_an_uploaded_run_is_whole_and_has_the_same_findings(labelled: Path, hub: Hub, tmp_path: Path) -> None:
    from headroles.shards.verify import verify

    headroles.share(labelled, "user/roles")
    for name, data in hub.repositories["user/roles"].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert verify(str(tmp_path)).findings > 0
    assert (tmp_path / "findings.csv").read_bytes() == (labelled / "findings.csv").read_bytes()


def test_the_card_of_the_data_set_has_a_header_that_the_library_reads(labelled: Path, hub: Hub) -> None:
    from huggingface_hub import DatasetCard

    headroles.share(labelled, "user/roles")
    text = hub.repositories["user/roles"]["README.md"].decode()
    card = DatasetCard(text)
    header = yaml.safe_load(card.data.to_yaml())
    assert header["tags"] == ["headroles", "attention-heads", "interpretability"]
    assert [config["data_files"] for config in header["configs"]] == ["findings.csv", "labels.csv"]
    for line in text.splitlines():
        if line.startswith("Files: "):
            for name in hub.repositories["user/roles"].keys() & {"report.html", "heads.json"}:
                assert f"[{name}](./{name})" in line


def test_a_data_set_that_exists_is_replaced_on_request_only(labelled: Path, hub: Hub) -> None:
    headroles.share(labelled, "user/roles", with_maps=True)
    with pytest.raises(
        BadInput, match="needs a free name, but the hub has 'user/roles' already; give --overwr"
    ):
        headroles.share(labelled, "user/roles")
    headroles.share(labelled, "user/roles", overwrite=True)
    assert "shown.parquet" not in hub.repositories["user/roles"]


@pytest.mark.parametrize(
    ("variable", "to", "sentence"),
    [
        (
            "",
            "user/roles",
            "an upload needs a token of the hub, but none is set; type 'hf auth login', or set",
        ),
        (
            "hf_other",
            "user/roles",
            "the token must be allowed to write to 'user/roles', but the hub refused it",
        ),
        (
            TOKEN,
            "others/roles",
            "the token must be allowed to write to 'others/roles', but the hub refused it",
        ),
        (TOKEN, "user/a--b", "'user/a--b' is no name that the hub takes: "),
    ],
)
def test_an_upload_without_rights_is_refused(
    variable: str, to: str, sentence: str, labelled: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", variable)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nowhere/token")
    with pytest.raises(BadInput, match=sentence):
        headroles.share(labelled, to)
    assert hub.repositories == {}


def test_without_a_network_the_error_is_one_sentence(
    labelled: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(
        BadInput, match=r"an upload needs the hub, but http://127\.0\.0\.1:9 cannot be reached"
    ):
        headroles.share(labelled, "user/roles")


def test_a_run_that_is_not_finished_is_refused(labelled: Path, hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes((labelled / "plan.json").read_bytes())
    with pytest.raises(BadInput):
        headroles.share(tmp_path, "user/roles")
    assert hub.repositories == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_every_kind_is_shared(kind: str, runs: dict[str, Path], hub: Hub) -> None:
    headroles.share(runs[kind], f"user/{kind}")
    cards = json.loads(hub.repositories[f"user/{kind}"]["heads.json"])
    assert (cards["kind"], len(cards["cards"])) == (kind, cards["layers"] * cards["heads"])


def test_text_from_data_is_no_markup_in_the_block(runs: dict[str, Path], tmp_path: Path) -> None:
    run = headroles.load(runs["surface"])
    manifest = dict(run.manifest) | {
        "model": dict(run.manifest["model"]) | {"name": "<script>alert(1)</script>[x](http://y)"},
        "command": "headroles surface --data '```\n# a'",
    }
    headroles.save(replace(run, manifest=manifest), tmp_path / "run")
    card = headroles.share(tmp_path / "run").card
    assert "<script>" not in card.replace("\\<script>", "")
    assert "[x](http" not in card
    assert "````\nheadroles surface" in card


def test_a_comparison_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    headroles.compare(runs["label"], runs["label"], swaps=0, out=str(tmp_path / "both"))
    with pytest.raises(
        BadInput, match=r"a run or an atlas is shared, but '.*both' holds a comparison; share its two runs"
    ):
        headroles.share(tmp_path / "both")


def test_the_command_prints_the_block_or_writes_it(labelled: Path, command: Run, tmp_path: Path) -> None:
    card = headroles.share(labelled).card
    assert command("share", labelled) == (0, card, "")
    file = tmp_path / "block.md"
    for _ in range(2):
        assert command("share", labelled, "--out", file) == (0, f"block   {file}\n", "")
        assert file.read_text() == card
    file.write_text("# My model\n\n" + card)
    code, out, error = command("share", labelled, "--out", file)
    assert (code, out) == (1, "")
    assert error.startswith("headroles: a block is written to a new file, or over an earlier block, but ")
    assert file.read_text().startswith("# My model")


def test_the_command_names_the_data_set(labelled: Path, hub: Hub, command: Run) -> None:
    code, out, error = command("share", labelled, "--to", "user/roles")
    assert (code, out.splitlines()[0]) == (0, "## Attention heads")
    assert error == f"data    {hub.url}/datasets/user/roles ({len(hub.repositories['user/roles'])} files)\n"
