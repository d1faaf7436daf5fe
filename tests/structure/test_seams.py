"""Tests reach the product through public names, commands and a short list of seams."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SEAMS = {
    "headroles", "headroles.arrays", "headroles.catalogue", "headroles.cli.main", "headroles.cli.reference",
    "headroles.errors", "headroles.exporting", "headroles.extraction", "headroles.inputs",
    "headroles.kinds", "headroles.options.values", "headroles.planning",
    "headroles.progress", "headroles.pruning", "headroles.records",
    "headroles.reports", "headroles.runs", "headroles.shards", "headroles.sieves", "headroles.stats",
    "headroles.storage", "headroles.tasks", "headroles.testing",
}  # fmt: skip
"""Modules of the product that tests import; a package among them names what it offers in its ``__init__``."""
MOST = 40


def imported(file: Path) -> set[str]:
    """Return the modules of the product that a file imports, in strings with programs, too."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= {*re.findall(r"^\s*(?:from|import) (headroles[\w.]*)", node.value, re.MULTILINE)}
    return {name for name in names if name.split(".")[0] == "headroles"}


def test_tests_import_public_names_and_seams_alone() -> None:
    assert len(SEAMS) <= MOST
    found = {file.relative_to(TESTS): imported(file) - SEAMS for file in sorted(TESTS.rglob("*.py"))}
    assert {str(file): sorted(names) for file, names in found.items() if names} == {}


def test_every_seam_is_used() -> None:
    used = set().union(*(imported(file) for file in TESTS.rglob("*.py")))
    assert sorted(SEAMS - used) == []
