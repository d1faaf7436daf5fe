"""Compile loops by numba, which is slow to load: import the module only where a loop is used."""

from collections.abc import Callable
from typing import Any

import numba

FAST = {"reassoc", "contract", "nsz"}
"""Sums may be taken in any order."""


def compiled(function: Callable[..., Any], signature: str, *, fast: bool = True) -> Callable[..., Any]:
    """Compile a loop that lets other threads run, or read it from disk.

    It is kept on disk where a folder can be written.

    Args:
        function: The loop.
        signature: Types of its arguments, as numba names them.
        fast: Whether its sums may be taken in any order.
    """
    options: dict[str, Any] = {"nogil": True, "fastmath": FAST if fast else False}
    try:
        made: Callable[..., Any] = numba.njit(signature, cache=True, **options)(function)
    except Exception:  # no folder, a full disk, a file that was cut off: numba passes on what it meets
        made = numba.njit(signature, **options)(function)
    return made


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function as a part of a loop, whose sums may be taken in any order."""
    made: Callable[..., Any] = numba.njit(fastmath=FAST)(function)
    return made
