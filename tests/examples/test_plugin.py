"""The plug-in of the examples, really installed, found through its entry point, and run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "examples" / "headroles-punctuation"


def _run(words: list[str], where: Path, path: Path) -> str:
    clean = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTEST_ADDOPTS")
    }
    done = subprocess.run(
        [sys.executable, *words],
        cwd=where,
        env=clean | {"PYTHONPATH": str(path), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=720,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the plug-in was installed into, without network."""
    place = tmp_path_factory.mktemp("plugin")
    copy = shutil.copytree(
        SOURCE, place / "source", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    _run([*words, "--disable-pip-version-check", "--target", str(place / "site"), str(copy)], place, place)
    return place / "site"


@pytest.mark.slow
def test_an_installed_plug_in_is_listed(installed: Path, tmp_path: Path) -> None:
    listed = _run(["-m", "headroles", "sieves"], tmp_path, installed)
    (marks,) = [line.split() for line in listed.splitlines() if line.startswith("marks ")]
    assert marks[:5] == ["marks", "look", "at", "punctuation", "marks?"]
    assert marks[-1] == "headroles-punctuation"
    (family,) = [line.split() for line in listed.splitlines() if line.startswith("mark:<")]
    assert family[:2] == ["mark:<mark>", "family"]


@pytest.mark.slow
def test_an_installed_plug_in_labels_heads(installed: Path, planted: Path, tmp_path: Path) -> None:
    words = ["-m", "headroles", "label", "--task", "QNLI", "--model", str(planted), "--max-length", "48"]
    out = _run([*words, "--sieve", "marks", "--limit", "60", "--out", "run"], tmp_path, installed)
    assert "• No head has the role marks." in out
    facts = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert facts["settings"]["sieve"] == ["marks"]
    assert "--sieve marks" in facts["command"]
    labels = (tmp_path / "run" / "labels.csv").read_text().splitlines()
    assert labels[0] == "layer,head,roles,marks"
    assert labels[2] == "0,1,,0"


@pytest.mark.slow
def test_the_plug_in_s_own_test_passes(installed: Path) -> None:
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir", "."]
    assert "2 passed" in _run([*words, str(installed.parent / "source")], installed.parent, installed)


def test_the_plug_in_is_as_small_as_promised() -> None:
    code = (SOURCE / "headroles_punctuation.py").read_text().splitlines()
    assert len([line for line in code if line.strip() and not line.lstrip().startswith('"""')]) <= 10
