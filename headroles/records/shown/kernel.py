"""What a notebook's kernel offers: whether one is running, and an output that changes in place.

IPython is no part of headroles. It is used where a notebook has imported it already.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook.

    Example:
        >>> in_notebook()
        False
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def display(value: Any) -> None:
    """Show a value in the output of the cell that runs; only in a notebook."""
    import_module("IPython.display").display(value)


def display_in_place(value: Any) -> Callable[[Any], None]:
    """Show a value in the output of the cell that runs, and return a function that replaces it."""
    handle = import_module("IPython.display").display(value, display_id=True)
    update: Callable[[Any], None] = handle.update
    return update
