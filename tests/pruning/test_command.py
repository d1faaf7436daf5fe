"""The command, what it prints, and what is left where it is killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import headroles
from headroles.errors import BadInput
from headroles.records.causal.statement import certificate_sentence, gain_sentence
from headroles.storage.causal.pruning import load_pruning
from tests.conftest import Command

RunOf = Callable[..., Path]
KILL = """
import os, signal, sys
import headroles, headroles.storage.integrity.switch as switch
from headroles.reports.causal import pruning_page

pruning_page.pruning_page = lambda pruning, files: "<!doctype html>"
move, moved = switch.Path.replace, []

def dying(path, target):
    moved.append(path)
    if len(moved) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return move(path, target)

switch.Path.replace = dying
headroles.prune(sys.argv[1], bound=0.3, sizes=[2], out=sys.argv[2], overwrite=True)
"""
"""Prunes, and kills itself when the given file moves to its place."""


def test_a_run_is_pruned_shown_verified_and_checked_by_commands(
    command: Command, run_of: RunOf, made_of: Any, tmp_path: Path
) -> None:
    run, out = run_of("bert", label="label"), tmp_path / "pruned"
    code, printed, error = command("prune", run, "--bound", "0.2", "--sizes", "1-3", "--out", out)
    assert (code, error) == (0, "")
    pruning = load_pruning(out)
    words = " ".join(printed.split())
    assert certificate_sentence(pruning) in words
    assert gain_sentence(pruning) in words
    assert f"{out}/model" in printed
    assert "layer 0 0, 1" in words
    code, again, _ = command("show", out)
    assert (code, again) == (0, printed)
    code, printed, _ = command("verify", out)
    assert code == 0
    assert f"{out} is whole" in printed
    code, printed, _ = command("prune", out, "--check", "--data", made_of("bert").fresh, "--verbose")
    assert code == 0
    assert "On 80 fresh units of" in " ".join(printed.split())
    assert "within the bound" in printed


def test_json_has_certificate_heads_and_sets(command: Command, run_of: RunOf, tmp_path: Path) -> None:
    code, printed, _ = command(
        "prune", run_of("bert"), "--bound", "0.2", "--sizes", "1,3", "--out", tmp_path / "out", "--json"
    )
    facts = json.loads(printed)
    assert code == 0
    assert facts["kind"] == "pruning"
    assert facts["removed"] == {"0": [0, 1], "1": [3]}
    assert [step["size"] for step in facts["steps"]] == [1, 3]
    assert facts["certified"]["decision"] == "within the bound"


def test_a_grid_and_a_table_of_a_pruning_are_refused(command: Command, run_of: RunOf, tmp_path: Path) -> None:
    out = tmp_path / "pruned"
    headroles.prune(run_of("bert"), bound=0.2, sizes=[1], out=out)
    assert "a pruned model has none" in command("show", out, "--grid")[2]
    assert "is a model without some of its heads" in command("table", out)[2]
    assert "is a model without some of its heads" in command("judge", out)[2]


@pytest.mark.with_report
def test_the_page_has_the_certificate_and_its_files(run_of: RunOf, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("headroles.reports.causal.page.ablation_page", lambda labelling: "<!doctype html>")
    out = tmp_path / "pruned"
    pruning = headroles.prune(run_of("bert"), bound=0.2, sizes=[1, 3], out=out)
    page = (out / "report.html").read_text()
    assert "certificate.json" in page
    assert certificate_sentence(pruning).partition(":")[0] in page


def test_a_network_with_cut_heads_computes_what_the_checkpoint_computes(
    run_of: RunOf, tmp_path: Path
) -> None:
    out = tmp_path / "pruned"
    headroles.prune(run_of("llama"), bound=0.3, sizes=[3], out=out)
    smaller = headroles.load_cut(out, device="cpu")
    whole = transformers.AutoModelForCausalLM.from_pretrained(out / "model").train(False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(out / "model")
    inputs = tokenizer("the heads look at words", return_tensors="pt")
    with torch.no_grad():
        torch.testing.assert_close(smaller(**inputs)[0], whole(**inputs)[0], rtol=0, atol=1e-5)
    assert smaller.model.layers[0].self_attn.k_proj.out_features == 8
    assert sum(w.numel() for w in smaller.parameters()) < sum(w.numel() for w in whole.parameters())
    with pytest.raises(BadInput, match="this needs a pruning"):
        headroles.load_cut(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("moment", [1, 3, 7])
def test_a_kill_while_writing_leaves_the_earlier_model_or_the_new_one(
    moment: int, run_of: RunOf, tmp_path: Path
) -> None:
    run, out = run_of("bert"), tmp_path / "pruned"
    headroles.prune(run, bound=0.3, sizes=[1], out=out)
    ended = subprocess.run(
        [sys.executable, "-c", KILL, str(run), str(out), str(moment)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    found = load_pruning(out)
    assert found.removed.sum() in (1, 2)
    assert found.removed.sum() == found.steps[0].size
    transformers.AutoModelForSequenceClassification.from_pretrained(out / "model")
    headroles.prune(run, bound=0.3, sizes=[2], out=out, overwrite=True)
    assert load_pruning(out).removed.sum() == 2
