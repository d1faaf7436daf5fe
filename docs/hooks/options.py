"""Documentation of functions whose keywords are options, which the code makes when it is imported."""

import inspect
from typing import Any

import griffe

import headroles


class Options(griffe.Extension):
    """Give every such function its whole documentation; its source and the type stub have a part of it."""

    def on_package(self, *, pkg: griffe.Module, **given: Any) -> None:
        """Replace the documentation of the functions of the package."""
        for name in headroles.__all__ if pkg.path == "headroles" else ():
            value = getattr(headroles, name)
            if hasattr(value, "record"):
                function = pkg.members[name]
                text = inspect.getdoc(value) or ""
                function.docstring = griffe.Docstring(text, parent=function, parser="google")
