"""The tables of models in the documentation are those of the sweep, and have those of the tests."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.architectures import TABLE

ROOT = Path(__file__).resolve().parents[2]


def test_the_tables_of_models_are_those_of_the_sweep_which_reads_or_refuses_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    page = import_module("sweep_page")
    figures = json.loads(page.FIGURES.read_text("utf-8"))
    text = page.PAGE.read_text("utf-8")
    assert page.page_of(text, figures) == text, "run python benchmarks/sweep.py --write"
    assert [*figures] == [*page.entries()]
    assert len(figures) >= 100
    for name, results in figures.items():
        assert all("refused" in result or result["furthest"] <= 2e-6 for result in results.values()), name
    for name, told in TABLE.items():
        result = next(iter(figures[name].values()))
        assert result["path"] == told.path, name
        shared = told.key_heads or (result["heads"],) * result["layers"]
        assert result["key_heads"] == (shared[0] if len(set(shared)) == 1 else list(shared)), name
