"""Threads: how many this process may have, and one for numpy's linear algebra.

The last bits of its products depend on their number.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController


def cpu_count() -> int:
    """Return how many logical CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def one_numpy_thread() -> AbstractContextManager[Any]:
    """Let the OpenBLAS that comes with numpy use one thread, then as many as before.

    Libraries of torch and scipy are left alone. Contexts of several threads may overlap only inside another
    context that lasts as long as all of them.
    """
    controller = _controller()
    return nullcontext() if controller is None else controller.limit(limits=1)


def has_own_openblas() -> bool:
    """Return whether numpy comes with an OpenBLAS of its own, as its wheels do except on some Macs."""
    return _controller() is not None


@cache
def _controller() -> ThreadpoolController | None:
    everything = ThreadpoolController().select(internal_api="openblas")
    folder = Path(np.__file__).resolve().parent  # a file of numpy may be found by way of a link
    paths = [library["filepath"] for library in everything.info()]
    own = [path for path in paths if str(Path(path).resolve()).startswith(str(folder))]  # or numpy.libs
    return everything.select(filepath=own) if own else None
