"""The page of simulated certificates: it is that of its figures, and keeps its promise."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"


def test_the_page_of_certificates_is_that_of_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "calibration"))
    monkeypatch.delitem(sys.modules, "certificate", raising=False)
    data = json.loads((REFERENCE / "certificates.json").read_text(encoding="utf-8"))
    page = import_module("certificate").page(data)
    assert page == (REFERENCE / "certificates.md").read_text(encoding="utf-8")
    assert data["about"]["runs"] >= 1000


def test_the_bound_is_violated_in_at_most_five_per_cent_of_certificates() -> None:
    cells = json.loads((REFERENCE / "certificates.json").read_text(encoding="utf-8"))["cells"]
    promised = [cell for cell in cells if not cell["noise"].startswith("one unit in fifty")]
    assert len(promised) == 60
    assert all(cell["wrong"] <= 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5 for cell in promised)
    assert max(cell["found"] for cell in promised) > 0.9
