"""Names that rows in Python use: prepared objects, public functions of headroles, and those of its rooms."""

from importlib import import_module
from inspect import isfunction, signature
from pathlib import Path
from typing import Any

import pytest

PREPARED = ("tests.refusals.prepared", "tests.refusals.prepared_inputs")
"""Modules of prepared objects."""
LINES = (Path(__file__).parent / "prepared.txt").read_text(encoding="utf-8").splitlines()
EXPRESSIONS = dict(line.split(" | ", 1) for line in LINES if line and line[0] != "#")
"""Prepared objects that an expression makes."""
FACES = (
    "headroles", "headroles.stats", "headroles.records", "headroles.extraction", "headroles.reports",
    "headroles.storage", "headroles.shards", "headroles.inputs", "headroles.exporting", "headroles.planning",
    "headroles.plain", "headroles.arrays", "headroles.catalogue", "headroles.plugins", "headroles.testing",
    "headroles.errors", "headroles.options.values", "headroles.kinds", "headroles.tasks",
)  # fmt: skip
"""Modules whose public names rows use; the first that has a name gives it."""


class Names(dict[str, Any]):
    """The names of an expression, each found when it is first used.

    An expression of ``prepared.txt``, or a function of the modules ``PREPARED`` whose only parameter is
    ``names``, makes a prepared object, once. Other functions there are helpers that rows call.
    """

    def __init__(self, request: pytest.FixtureRequest, desk: Path, made: Path) -> None:
        """Keep where fixtures come from, the folder where rows run, and the one for whatever they need."""
        super().__init__(names=self, desk=desk, made=made, np=import_module("numpy"), Path=Path)
        self.request, self.desk, self.made = request, desk, made
        self.altered: list[Path] = []
        made.mkdir()

    def __missing__(self, name: str) -> Any:
        """Return a name from the first place that has it."""
        self[name] = value = self._find(name)
        return value

    def _find(self, name: str) -> Any:
        if name in EXPRESSIONS:
            return eval(EXPRESSIONS[name], self)
        for module in map(import_module, PREPARED):
            if (value := vars(module).get(name)) is not None:
                makes = isfunction(value) and list(signature(value).parameters) == ["names"]
                return value(self) if makes else value
        for place in FACES:
            module = import_module(place)
            offered: Any = getattr(module, "__all__", None) or vars(module)
            if name in offered:
                return getattr(module, name)
        raise KeyError(name)

    def fixture(self, name: str) -> Any:
        """Return a fixture of the session."""
        return self.request.getfixturevalue(name)

    def link(self, name: str, target: Path) -> None:
        """Show a folder on the desk under a short name."""
        (self.desk / name).symlink_to(target)
