"""Let numpy's linear algebra use one thread, because the last bits of its products depend on their number."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController


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
