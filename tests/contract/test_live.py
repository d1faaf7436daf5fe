"""Every kind of run on the seeded checkpoint: from a model to the scores and decisions that are recorded."""

import json
import shutil
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import headroles
from tests.contract.checkpoint import MOST_BYTES
from tests.contract.conftest import Made
from tests.contract.kinds import JUDGED, MODEL
from tests.contract.live import ROOT, compare_products
from tests.contract.recorded import NOT_STORED, RECORDED
from tests.contract.same import file_difference, folder_differences, manifest_facts, names_of
from tests.support.folders import verify

LIVE = [pytest.param(name, marks=pytest.mark.xdist_group(f"live {name}")) for name in JUDGED]
NO_TABLES = r"(?!.*\.csv$).*"
"""What is no table."""


def test_the_checkpoint_is_small_and_the_same_everywhere(workspace: Path) -> None:
    model = workspace / MODEL
    assert sum(path.stat().st_size for path in names_of(model).values()) < MOST_BYTES
    facts = json.loads((RECORDED / "label" / "run" / "manifest.json").read_text(encoding="utf-8"))
    weights = sha256((model / "model.safetensors").read_bytes()).hexdigest()
    assert (facts["model"]["name"], facts["model"]["weights_sha256"]) == (MODEL, weights)


@pytest.mark.parametrize("name", LIVE)
def test_a_run_on_the_checkpoint_has_the_recorded_scores_files_and_facts(name: str, made: Made) -> None:
    folder, stored = made(name), RECORDED / name / "run"
    own = {file for file in names_of(folder) if not file.startswith(NOT_STORED)}
    assert own == names_of(stored).keys()
    assert folder_differences(stored, folder, 1e-2, leave=NO_TABLES) == []
    run = headroles.load(folder)
    facts, expected = (
        manifest_facts((place / "manifest.json").read_text(encoding="utf-8")) for place in (folder, stored)
    )
    for field in ("remarks", "rules"):  # they hold numbers of scores
        facts.pop(field, None), expected.pop(field, None)
    assert facts == expected
    recorded = headroles.load(stored)
    np.testing.assert_allclose(run.scores.values, recorded.scores.values, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(run.findings.decision, recorded.findings.decision)
    assert (run.scores.sieves, run.scores.examples) == (recorded.scores.sieves, recorded.scores.examples)
    assert run.scores.units == recorded.scores.units


@pytest.mark.parametrize("name", LIVE)
def test_a_run_is_whole_and_other_libraries_give_its_findings(name: str, made: Made) -> None:
    verified = verify(made(name), oracles=True)
    run = headroles.load(made(name))
    assert [check for check in verified.checks if not check.fits] == []
    assert {check.quantity for check in verified.checks if check.compared} >= {"p", "q", "decision"}
    assert (verified.examples, verified.findings) == (len(run.scores.examples), run.findings.count.size)


def test_a_difference_of_two_folders_is_named_with_its_place(made: Made, tmp_path: Path) -> None:
    folder = made("label")
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    assert folder_differences(folder, copy) == []
    text = (copy / "findings.csv").read_text()
    line = text.splitlines()[1]
    number = line.split(",")[4]
    (copy / "findings.csv").write_text(text.replace(number, str(float(number) * (1 + 1e-7)), 1))
    assert folder_differences(folder, copy, 1e-6) == []
    (difference,) = folder_differences(folder, copy, 1e-9)
    assert difference.startswith("findings.csv: line 2: ")
    (copy / "findings.csv").write_text(text.replace("role", "rule", 1))
    (copy / "labels.csv").unlink()
    assert [words.split(":")[0] for words in folder_differences(folder, copy, 1.0)] == [
        "findings.csv",
        "labels.csv",
    ]
    with np.load(made("cluster") / "divergence.npz") as arrays:
        np.savez(tmp_path / "one.npz", **arrays)
        np.savez(
            tmp_path / "two.npz",
            **{name: array + 1 if array.dtype.kind == "f" else array for name, array in arrays.items()},
        )
    assert file_difference(tmp_path / "one.npz", made("cluster") / "divergence.npz", 0.0) == ""
    assert "→" in file_difference(tmp_path / "one.npz", tmp_path / "two.npz", 1e-6)


@pytest.mark.release
def test_two_processes_make_equal_products() -> None:
    assert compare_products(str(ROOT)) == []
