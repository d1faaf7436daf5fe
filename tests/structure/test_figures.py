"""Pages of simulated figures say what their figures say, and the scripts that make them run."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles

ROOT = Path(__file__).resolve().parents[2]
CALIBRATION = ROOT / "benchmarks" / "calibration"
DOCS = ROOT / "docs" / "reference"
FINDINGS = ROOT / "docs" / "findings"


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


def _run(file: Path, *options: object) -> list[str]:
    """Run a script; return the lines that it prints."""
    words: list[str | Path] = [sys.executable, file, *map(str, options)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_pages_pictures_and_tables_of_the_calibration_are_current(script: Any, figures: Any) -> None:
    pages = script("page").pages(figures)
    assert sorted(pages) == sorted(file.name for file in DOCS.glob("calibration*[!n]"))
    for name, text in pages.items():
        assert text == (DOCS / name).read_text("utf-8"), name
        assert len(text) < 150_000 or name == "calibration-tables.md"
        assert not re.search(r"/(work|tmp|home|root)\b", text), name
    assert all(f"]({name})" in pages["calibration.md"] for name in pages if name.endswith(".svg"))


def test_a_figure_that_changes_moves_its_own_pictures_alone(script: Any, figures: Any) -> None:
    pictures = script("plots").PICTURES
    before = {name: draw(figures) for name, draw in pictures.items()}
    cell = next(cell for cell in figures["cells"] if cell["population"] == "normal" and cell["units"] == 128)
    cell["errors"]["t-skew"]["holm"][0] += 0.3
    cell["coverage"]["t"][0] -= 0.02
    changed = {name for name, draw in pictures.items() if before[name] != draw(figures)}
    assert changed == {"calibration-roles.svg", "calibration-power.svg"}


def test_pages_of_few_cells_leave_out_what_has_no_figures(script: Any, figures: Any) -> None:
    assert len(script("summary").answer(figures)) == 2 + 8 + 1
    few = {"about": figures["about"], "cells": [cell for cell in figures["cells"] if cell["units"] < 50]}
    pages = script("page").pages(few)
    assert "| false" not in pages["calibration.md"]
    assert "<svg" in pages["calibration-nots.svg"]


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


def test_every_default_column_of_four_tasks_was_simulated_in_both_directions(figures: Any) -> None:
    by_task: dict[str, set[str]] = {}
    for cell in figures["columns"]["cells"]:
        by_task.setdefault(cell["task"], set()).add(cell["sieve"])
        assert {len(cell["errors"][f"all, {guard}"]) for guard in ("bare", "guarded")} == {2}
    assert {*by_task} == {"QNLI", "MRPC", "SST-2", "QQP"}
    wanted = {"local", "delimiter", "syntactic", "syntactic:obj", "syntactic:obj:matched"}
    assert all(wanted <= sieves for sieves in by_task.values())
    assert {cell["units"] for cell in figures["columns"]["cells"]} == {30, 60, 128, 300}


def test_every_simulated_claim_is_on_both_pages_with_its_promise(script: Any, figures: Any) -> None:
    tables, page = ((DOCS / name).read_text("utf-8") for name in ("calibration-tables.md", "calibration.md"))
    claims = [claim for own in script("intervention_tables").CLAIMS.values() for claim in own]
    headings = {"interventions": "Claim", "across": "Many runs", "origins": "Where roles come from"}
    for part, heading in headings.items():
        found = {cell["claim"] for cell in figures[part]["cells"]}
        assert found == {*claims} or part != "interventions"
        for claim in found:
            assert f"### {heading}: {claim}" in tables
            assert f"| {claim} | 0.{'95' if 'interval' in claim and part == 'across' else '05'} |" in page
    assert {cell["units"] for cell in figures["interventions"]["cells"]} == {50, 75, 100, 200, 400}
    assert figures["interventions"]["about"]["runs"] >= 1000
    assert figures["across"]["about"]["times"] >= 1000
    times = figures["origins"]["about"]["times"]
    late = [c for c in figures["origins"]["cells"] if c["case"] not in ("50 units", "100 units")]
    assert times >= 200
    assert max(cell["false"] for cell in late) <= 0.05 + 3.5 * (0.05 * 0.95 / times) ** 0.5


def test_the_page_of_certificates_is_that_of_its_figures_and_keeps_its_promise(script: Any) -> None:
    data = json.loads((DOCS / "certificates.json").read_text("utf-8"))
    assert script("certificate").page(data) == (DOCS / "certificates.md").read_text("utf-8")
    promised = [cell for cell in data["cells"] if not cell["noise"].startswith("one unit in fifty")]
    assert data["about"]["runs"] >= 1000
    assert len(promised) == 60
    assert all(cell["wrong"] <= 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5 for cell in promised)
    assert max(cell["found"] for cell in promised) > 0.9


@pytest.mark.ci
def test_the_page_of_probes_says_what_its_figures_say(tmp_path: Path) -> None:
    page = (FINDINGS / "probes.md").read_text("utf-8")
    (tmp_path / "probes.json").write_text((FINDINGS / "probes.json").read_text("utf-8"), "utf-8")
    emptied = re.sub(r"(<!-- figures: [a-z]+ -->\n).*?(<!-- end)", r"\1\2", page, flags=re.DOTALL)
    assert len(page) - len(emptied) > 900
    (tmp_path / "probes.md").write_text(emptied, "utf-8")
    _run(ROOT / "benchmarks" / "probe_page.py", "--out", tmp_path)
    assert (tmp_path / "probes.md").read_text("utf-8") == page


@pytest.mark.parametrize(("kind", "near"), [(np.float64, 1e-9), (np.float32, 1e-5)])
def test_the_loops_that_are_timed_give_the_published_scores(kind: Any, near: float, script: Any) -> None:
    loops = script("plain_arrays")
    example = loops.made_example(40)
    attention = np.random.default_rng(3).dirichlet(np.ones(40), size=(1, 3, 40)).astype(kind)
    sieves = (*loops.SIEVES, "syntactic")
    ours = headroles.score(attention, example, sieves, preset="published")
    looped = loops.published_scores(attention[0], example.segment, loops.pairs_of(example))
    assert tuple(looped) == sieves
    for name, scores in looped.items():
        np.testing.assert_allclose(scores, ours[name][0], rtol=near, err_msg=name)


def test_the_loop_over_heads_gives_the_divergences_of_the_released_script(script: Any) -> None:
    plain = script("divergence")
    attention = plain.made_attention(4, 20, 1).numpy()
    ours = headroles.head_distances(attention[None], smoothing=plain.SMOOTHING, way="sum")
    looped = [plain.plain_row(attention, head) for head in range(4)]
    np.testing.assert_allclose(looped, ours, rtol=1e-5, atol=1e-5)


@pytest.mark.release
def test_a_small_simulation_has_every_test_and_correction_at_plausible_rates(tmp_path: Path) -> None:
    options = ["--runs", 200, "--cells", "symmetric", "--units", 200, "--jobs", 2, "--out", tmp_path]
    printed = _run(CALIBRATION / "simulate.py", *options)
    cells = json.loads((tmp_path / "calibration.json").read_text("utf-8"))["cells"]
    assert len(cells) == 3 * 3
    for cell in cells:
        assert {*cell["errors"]} == {*cell["rates"]} >= {"t-skew", "t", "bootstrap-t", "wilcoxon"}
        assert {"holm", "fdr_bh", "none", "maxT"} <= {*cell["errors"]["t-skew"]}
        for side in (0, 2):  # 200 runs of at least 12 heads: breaks with p and 1 − p exchanged
            assert 0.02 < cell["rates"]["t-skew"]["0.05"][side] < 0.10
        assert min(cell["errors"]["t-skew"]["none"][:2]) > 0.5
    assert min(cells[0]["errors"]["t-skew"]["holm"][6:]) > 0.99  # d = 0.5 with 200 units
    lines = [json.loads(line) for line in printed if line.startswith("{")]
    assert len(lines) >= 15
    assert all("held" in line for line in lines)


PARTS = {
    "interventions": ["--runs", "20", "--units", "60"],
    "across": ["--times", "3"],
    "origins": ["--times", "3"],
}


@pytest.mark.release
@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_figures_is_simulated_and_joins_the_pages(part: str, tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text((DOCS / "calibration.json").read_text("utf-8"), "utf-8")
    _run(CALIBRATION / f"{part}.py", *PARTS[part], "--out", tmp_path)
    data = json.loads((tmp_path / "calibration.json").read_text("utf-8"))
    assert {"cells", "columns", *PARTS} <= data.keys()
    assert all(0 <= cell.get("false", cell.get("covers")) <= 1 for cell in data[part]["cells"])
    tables = (tmp_path / "calibration-tables.md").read_text("utf-8")
    claims = {cell["claim"] for cell in data[part]["cells"]}
    assert [claim for claim in claims if claim not in tables] == []


@pytest.mark.release
def test_columns_of_a_run_are_simulated_and_join_the_page(tmp_path: Path, figures: Any) -> None:
    headroles.label("MRPC", limit=60, sieve=["local", "block"], out=str(tmp_path / "run"))
    del figures["columns"]
    (tmp_path / "calibration.json").write_text(json.dumps(figures), "utf-8")
    options = ["--runs", 50, "--units", 60, "--jobs", 1, "--out", tmp_path]
    _run(CALIBRATION / "columns.py", tmp_path / "run", *options)
    cells = json.loads((tmp_path / "calibration.json").read_text("utf-8"))["columns"]["cells"]
    assert [cell["sieve"] for cell in cells][:2] == ["local", "block"]
    assert all(0.8 < cell["coverage"]["mean"] <= 1 for cell in cells)
    block = next(cell for cell in cells if cell["sieve"] == "block")
    assert block["contrast"].startswith("block:")
    assert len(block["errors"]["at the margin, guarded"]) == 9
