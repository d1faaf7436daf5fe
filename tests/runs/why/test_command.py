"""The command ``headroles why``: its run, what it prints, and the default folder."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import headroles
from headroles.options.causal.why import WhyOptions
from headroles.runs.defaults import default_folder, judge_instead

Command = Callable[..., tuple[int, str, str]]


def test_the_command_makes_the_run_of_the_function(
    command: Command, labelled: Path, answered: headroles.Labelling, tmp_path: Path
) -> None:
    code, out, err = command("why", labelled, "--rotations", 199, "--out", tmp_path / "run")
    assert (code, err) == (0, "")
    assert "vertical" in out
    run = headroles.load(tmp_path / "run")
    assert run.origins is not None
    assert answered.origins is not None
    assert repr(run.origins.origins) == repr(answered.origins.origins)
    assert run.manifest == answered.manifest


def test_show_and_judge_print_it_again(command: Command, asked: Path, tmp_path: Path) -> None:
    code, out, err = command("show", asked, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["kind"] == "why"
    headroles.save(headroles.load(asked), tmp_path / "copy")
    code, out, _ = command("judge", tmp_path / "copy", "--alpha", 0.01)
    assert code == 0
    assert "vertical" in out
    assert headroles.load(tmp_path / "copy").decision.alpha == 0.01


def test_help_names_the_folder_and_leaves_out_what_has_no_meaning(command: Command) -> None:
    code, out, _ = command("why", "--help")
    assert code == 0
    assert "Usage: headroles why [OPTIONS] FOLDER" in out
    assert "--redeals" in out
    assert "--margin" not in out
    assert "--family" not in out


def test_the_default_folder_names_kind_inputs_and_model_and_is_judged_again(
    labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = WhyOptions(folder=str(labelled), redeals=0, rotations=99, limit=40)
    folder = default_folder(options)
    assert folder.startswith("runs/why-QNLI-planted-data-pairs-limit-40-max-length-48-redeals-0-rotations-99")
    headroles.why(labelled, redeals=0, rotations=99, limit=40, out=folder)
    assert default_folder(options) == folder
    hint = judge_instead(WhyOptions(folder=str(labelled), redeals=0, rotations=99, limit=40, alpha=0.01))
    assert hint is not None
    assert f"headroles judge {folder} --alpha 0.01 decides again without the model" in hint


def test_another_label_run_of_the_same_inputs_gets_a_folder_of_its_own(
    labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = default_folder(WhyOptions(folder=str(labelled), redeals=0))
    Path(first).mkdir(parents=True)
    settings = WhyOptions(folder="elsewhere", task="QNLI").settings() | {"folder": "elsewhere"}
    (Path(first) / "plan.json").write_text(json.dumps({"settings": settings}))
    assert default_folder(WhyOptions(folder=str(labelled), redeals=0)) != first
