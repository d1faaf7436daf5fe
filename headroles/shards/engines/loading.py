"""Load libraries and models without searches for garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Let Python search for no unreachable cycles of objects, then again if it did before.

    Libraries and models make a million objects that stay. Searches among them take a tenth of the time in
    which a worker starts, and find nothing.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
