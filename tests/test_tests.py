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


def _imports_in_strings() -> set[tuple[str, str]]:
    """Return every module and name of ours that a program in a string of the tests imports."""
    pairs = set()
    for file in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for line in re.findall(r"^\s*import (headroles\.[\w., ]+)", node.value, re.MULTILINE):
                    pairs |= {(name, "") for name in re.findall(r"headroles(?:\.\w+)+", line)}
                for module, names in re.findall(
                    r"^\s*from (headroles(?:\.\w+)*) import ([\w, ]+)$", node.value, re.MULTILINE
                ):
                    pairs |= {(module, name.split(" as ")[0].strip()) for name in names.split(",")}
    return pairs


@pytest.mark.parametrize(("module", "name"), sorted(_imports_in_strings()))
def test_programs_that_tests_start_import_names_that_exist(module: str, name: str) -> None:
    imported = importlib.import_module(module)
    if name and not hasattr(imported, name):
        importlib.import_module(f"{module}.{name}")
