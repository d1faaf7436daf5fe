"""How the tests run: marks, CI, the guard of their price, and examples in docstrings."""

import doctest
import importlib
import re
import shlex
import tomllib

from tests.strength.mutants import ROOT, product_files
from tests.support.budget import FOLDERS, LINES, lines_of_tests

OPTIONS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]


def test_a_developers_run_leaves_out_two_markers_and_ci_one() -> None:
    (default,) = (option.removeprefix("-m ") for option in OPTIONS["addopts"] if option.startswith("-m"))
    script = (ROOT / ".ci" / "run").read_text()
    (given,) = re.findall(r'PYTEST_ADDOPTS="(.*)"$', script, re.MULTILINE)
    words = shlex.split(given)
    assert default == "not ci and not release"
    assert words[words.index("-m") + 1] == "not release"
    assert not {"-k", "--deselect"} & {*words}
    assert "export HEADROLES_REQUIRE_ALL=1" in script
    assert "CI=true" in script


def test_every_folder_of_tests_has_a_budget_and_all_fit_into_their_lines() -> None:
    folders = {file.parent.name for file in (ROOT / "tests").glob("*/test_*.py")}
    assert folders == {*FOLDERS}
    assert lines_of_tests() <= LINES


def test_examples_in_docstrings_give_what_they_show() -> None:
    failures: list[str] = []
    examples = 0
    for file in product_files():
        if ">>>" not in file.read_text(encoding="utf-8"):
            continue
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module = importlib.import_module(name if name.startswith("headroles") else f"headroles.{name}")
        for test in doctest.DocTestFinder(exclude_empty=True).find(module):
            told: list[str] = []
            results = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
            examples += results.attempted
            failures += told if results.failed else []
    assert "".join(failures) == ""
    assert examples > 400
