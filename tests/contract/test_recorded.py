"""Recorded runs are made again: tables, pages and words of every kind of run, and of several runs."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import headroles
from headroles.kinds import KINDS, kind_of
from tests.contract.conftest import Again
from tests.contract.inputs import SCRIPT, STEERING, TURNED
from tests.contract.kinds import JUDGED, OF_MAPS, RUNS, inside, start
from tests.contract.recorded import LISTED_MAPS, NAMES, READ, RECORDED, command_text, means_of, tables_of
from tests.contract.same import byte_differences, names_of, text_difference

NEAR, OF_TORCH = 1e-9, 1e-5
"""Relative differences of numbers that are allowed: where numpy computed them, and where torch did."""
CODES = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\")
SPELLED = re.compile(r"\\x1b|\\u20")
"""Characters that are spelled out, which makes a line of a terminal longer."""
DETAILS = {60: ((), ("--grid",)), 80: ((), ("--verbose",)), 120: ((), ("--verbose",))}
OTHER: dict[str, Any] = {"alpha": 0.06, "correction": "fdr_by"}
"""Another decision, for runs of all kinds."""


def by_name(names: tuple[str, ...]) -> pytest.MarkDecorator:
    """Give each name to a test, all tests of a name in one process."""
    values = [pytest.param(name, marks=pytest.mark.xdist_group(f"recorded {name}")) for name in names]
    return pytest.mark.parametrize("name", values)


def texts_of(folder: Path) -> dict[str, str]:
    """Return the texts of a recorded folder by name."""
    return {file: path.read_text(encoding="utf-8") for file, path in names_of(folder).items()}


def differences(old: dict[str, str], new: dict[str, str], near: float) -> list[str]:
    """Return a sentence on each text that differs."""
    found = [f"{name} is {'new' if name in new else 'missing'}" for name in sorted(old.keys() ^ new.keys())]
    for name in sorted(old.keys() & new.keys()):
        if difference := text_difference(old[name], new[name], near):
            found.append(f"{name}, {difference}")
    return found


def test_all_kinds_of_runs_are_recorded() -> None:
    assert {RUNS[name][0] for name in JUDGED} == {*KINDS, "judge_scores"}
    assert {path.name for path in RECORDED.iterdir()} == {*NAMES, *JUDGED, "maps", "commands"}


@by_name(JUDGED)
def test_a_recorded_run_is_judged_again_with_the_same_tables(name: str, again: Again) -> None:
    folder, _ = again(name)
    stored = RECORDED / name / "run"
    assert differences(tables_of(name, stored), tables_of(name, folder), NEAR) == []
    assert {*names_of(stored), "report.html"} == names_of(folder).keys()


@by_name(NAMES)
def test_a_recorded_result_has_the_same_words_and_the_same_page(name: str, again: Again) -> None:
    folder, words = again(name)
    tables = tables_of(name, folder) if name in READ else {}
    expected = texts_of(RECORDED / name / "expected")
    assert differences(expected, tables | words, 1e-3 if name == "prune" else NEAR) == [], (
        f"read the difference, and where it is meant: python -m tests.contract renew {name}"
    )


@by_name(JUDGED)
def test_a_run_is_loaded_saved_and_loaded_again_without_a_change(
    name: str, again: Again, tmp_path: Path
) -> None:
    folder, _ = again(name)
    run = headroles.load(folder)
    headroles.save(run, tmp_path / "copy")
    changed = {file for file in byte_differences(folder, tmp_path / "copy") if not file.startswith("shards/")}
    assert changed <= {"manifest.json", "plan.json", *(f"scores/part-{k:05}.parquet" for k in range(5))}
    back = headroles.load(tmp_path / "copy")
    np.testing.assert_array_equal(back.scores.values, run.scores.values)
    assert repr(replace(back, folder=run.folder)) == repr(run)
    assert kind_of(back).page(back) == kind_of(run).page(run)


@by_name(JUDGED)
def test_another_decision_changes_findings_and_the_first_one_gives_them_back(
    name: str, again: Again, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(again(name)[0], tmp_path / name))
    before = headroles.load(folder)
    decision = {field: getattr(before.decision, field) for field in OTHER}
    with inside(tmp_path):
        strict = headroles.judge_again(name, **OTHER)
        assert {field: getattr(strict.decision, field) for field in OTHER} == OTHER
        assert (folder / "findings.csv").read_bytes() != (again(name)[0] / "findings.csv").read_bytes()
        np.testing.assert_array_equal(strict.scores.values, before.scores.values)
        headroles.judge_again(name, **decision)
    allowed = {"manifest.json", "report.html"}
    assert set(byte_differences(again(name)[0], folder)) <= allowed
    texts = differences(tables_of(name, again(name)[0]), tables_of(name, folder), 0)
    assert [text for text in texts if not text.startswith("manifest.json")] == []


@pytest.mark.parametrize("name", OF_MAPS)
def test_stored_maps_give_the_recorded_findings(name: str, tmp_path: Path) -> None:
    for file in LISTED_MAPS:
        shutil.copyfile(RECORDED / "maps" / file, tmp_path / file)
    with inside(tmp_path):
        start(name)
    expected = (RECORDED / "maps" / f"{name}.csv").read_text(encoding="utf-8")
    assert text_difference(expected, means_of(tmp_path / name), OF_TORCH) == ""


@by_name(NAMES)
def test_no_name_is_markup_or_steers_a_terminal(name: str, again: Again) -> None:
    folder, words = again(name)
    for file in ("terminal.txt", "verbose.txt", "prompt.txt"):
        assert not {"\x1b", TURNED[0], STEERING[-1]} & set(words.get(file, ""))
    page = folder / "report.html"
    if page.exists():
        assert SCRIPT not in page.read_text(encoding="utf-8")
        assert "<b>one" not in page.read_text(encoding="utf-8").replace('"', "")
    assert SCRIPT not in words.get("card.md", "").replace("\\<script>", "")
    if name == "scores":
        told = ("terminal.txt", "tables.md", "tables.tex", "page.txt", "card.md")
        assert ["alert(1)" in words[file] for file in told] == [True] * 5
        assert SCRIPT in words["page.txt"]
        assert json.loads(words["show.json"])["results"][SCRIPT]


@pytest.mark.parametrize("width", DETAILS)
def test_no_line_is_wider_than_the_terminal(
    width: int, again: Again, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in {"COLUMNS": str(width), "FORCE_COLOR": "1", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(variable, value)
    wide = []
    for name in NAMES if width == 80 else ("label", "probe", "ablate", "compare"):
        if name in ("replicate", "prune"):
            continue
        with inside(again(name)[0].parent):
            for more in DETAILS[width] if name == "label" or width > 60 else ((),):
                text = CODES.sub("", command_text("show", name, *more))
                lines = [line.rstrip() for line in text.splitlines() if not SPELLED.search(line)]
                wide += [f"{name}: {line}" for line in lines if cell_len(line) > width]
    assert wide == []
