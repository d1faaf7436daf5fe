"""The tests themselves: CI leaves none out, and programs that tests start import modules that exist."""

import ast
import importlib
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]

MARKERS = [option.partition(":")[0] for option in OPTIONS["markers"]]


def _is(marker: str) -> Callable[..., bool]:
    """Return a matcher of a test with one marker."""

    def matches(name: str, /, **given: str | int | bool | None) -> bool:
        return name == marker

    return matches


def test_ci_runs_tests_of_every_marker_and_requires_all_they_need() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    (given,) = re.findall(r'^export PYTEST_ADDOPTS="(.*)"$', script, re.MULTILINE)
    words = shlex.split(given)
    chosen = Expression.compile(words[words.index("-m") + 1])
    for marker in ("", *MARKERS):
        assert chosen.evaluate(_is(marker)), marker
    assert "-k" not in words
    assert "--deselect" not in given
    assert "export HEADROLES_REQUIRE_ALL=1" in script


def test_slow_tests_alone_are_left_out_of_a_developers_run() -> None:
    (given,) = (option.removeprefix("-m ") for option in OPTIONS["addopts"] if option.startswith("-m"))
    chosen = Expression.compile(given)
    left_out = [marker for marker in MARKERS if not chosen.evaluate(_is(marker))]
    assert left_out == ["slow"]


def _programs() -> list[tuple[str, str]]:
    """Every import of ours in the strings of the tests, by its file."""
    found = []
    for file in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                own = re.findall(r"^\s*(?:from|import) (headroles\.[\w., ]+)", node.value, re.MULTILINE)
                names = [name for line in own for name in re.findall(r"headroles(?:\.\w+)+", line)]
                found += [(file.name, name) for name in names]
    return found


@pytest.mark.parametrize("name", sorted({name for _, name in _programs()}))
def test_programs_that_tests_start_import_modules_that_exist(name: str) -> None:
    importlib.import_module(name)
