"""Pages of simulated figures say what their figures say, and the scripts that make them run."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CALIBRATION = ROOT / "benchmarks" / "calibration"
DOCS = ROOT / "docs" / "reference"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the scripts of benchmarks by its name."""
    monkeypatch.setattr(sys, "path", [str(CALIBRATION), str(ROOT / "benchmarks"), *sys.path])
    return import_module


@pytest.fixture
def figures() -> dict[str, Any]:
    """The figures of calibration that the documentation ships."""
    found: dict[str, Any] = json.loads((DOCS / "calibration.json").read_text("utf-8"))
    return found


def test_pages_pictures_and_tables_of_the_calibration_are_current(script: Any, figures: Any) -> None:
    pages = script("page").pages(figures)
    assert sorted(pages) == sorted(file.name for file in DOCS.glob("calibration*[!n]"))
    for name, text in pages.items():
        assert text == (DOCS / name).read_text("utf-8"), name
        assert len(text) < 150_000 or name == "calibration-tables.md"
        assert not re.search(r"/(work|tmp|home|root)\b", text), name
    assert all(f"]({name})" in pages["calibration.md"] for name in pages if name.endswith(".svg"))


def test_the_statistics_page_quotes_the_figures_as_they_are(script: Any, figures: Any) -> None:
    page = (DOCS / "statistics.md").read_text("utf-8")
    cells = {(c["population"], c["units"]): c["errors"] for c in figures["cells"] if c["correlation"] == 0.0}
    rows = re.findall(r"^\| ([a-z-]+) \| (50|128) \| (.+) \|$", page, flags=re.MULTILINE)
    assert len(rows) == 12
    for name, units, told in rows:
        skew, plain = (cells[name, int(units)][test] for test in ("t-skew", "t"))
        wanted = [skew["holm"][:2], skew["maxT"][:2], plain["holm"][:2], skew["fdr_bh"][2:4]]
        assert told == " | ".join(f"{one:.3f} / {other:.3f}" for one, other in wanted)
    families = script("column_tables").families(figures)
    quoted = [row for row in families if re.search(r"\| (60|128) \|", row)]
    assert len(quoted) == 8
    assert [row for row in quoted if row not in page] == []


def test_the_page_of_certificates_is_that_of_its_figures_and_keeps_its_promise(script: Any) -> None:
    data = json.loads((DOCS / "certificates.json").read_text("utf-8"))
    assert script("certificate").page(data) == (DOCS / "certificates.md").read_text("utf-8")
    promised = [cell for cell in data["cells"] if not cell["noise"].startswith("one unit in")]
    assert data["about"]["runs"] >= 1000
    assert len(promised) == 168
    assert all(cell["wrong"] <= 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5 for cell in promised)
    assert max(cell["found"] for cell in promised) > 0.9


@pytest.mark.release
def test_a_small_simulation_has_every_test_and_correction_at_plausible_rates(tmp_path: Path) -> None:
    options = ["--runs", 200, "--cells", "symmetric", "--units", 200, "--jobs", 2, "--out", tmp_path]
    words: list[str | Path] = [sys.executable, CALIBRATION / "simulate.py", *map(str, options)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / "calibration.json").read_text("utf-8"))["cells"]
    assert len(cells) == 3 * 3
    for cell in cells:
        assert {*cell["errors"]} == {*cell["rates"]} >= {"t-skew", "t", "bootstrap-t", "wilcoxon"}
        assert {"holm", "fdr_bh", "none", "maxT"} <= {*cell["errors"]["t-skew"]}
        for side in (0, 2):  # 200 runs of at least 12 heads: breaks with p and 1 − p exchanged
            assert 0.02 < cell["rates"]["t-skew"]["0.05"][side] < 0.10
        assert min(cell["errors"]["t-skew"]["none"][:2]) > 0.5
    assert min(cells[0]["errors"]["t-skew"]["holm"][6:]) > 0.99  # d = 0.5 with 200 units
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(lines) >= 15
    assert all("held" in line for line in lines)
