"""How the C library keeps free memory while inputs of many lengths pass by; nothing where it is not glibc."""

import ctypes
import sys
from functools import cache
from typing import Any

MMAP_THRESHOLD, LARGE = -3, 8 * 2**20
"""glibc's name for the smallest block that is mapped on its own, and what we set it to, in bytes."""
TRIM_THRESHOLD, SPARE = -1, 128 * 2**20
"""glibc's name for how much free memory it keeps at the end of its heap, and what we set it to, in bytes."""


def keep_blocks() -> None:
    """Have the C library keep blocks of up to 8 MB, and give larger ones back as soon as they are freed.

    A block that is given back and asked for again has each of its pages cleared by the system, which
    took a fifth of the time of a run of short inputs when blocks of 1 MB were. Left to itself, the
    library soon keeps blocks of up to 32 MB, where batches of many shapes leave holes, and memory
    grows with the number of batches.
    """
    set_option = _function("mallopt")
    if set_option is not None:
        set_option(MMAP_THRESHOLD, LARGE)
        set_option(TRIM_THRESHOLD, SPARE)


def give_back() -> None:
    """Have the C library give the pages of all free blocks back, holes among them.

    Asked for after each batch, whose layers use the same blocks again and again, it costs a run of short
    inputs 3 to 5 % of its time, and keeps memory from growing with the number of batches.
    """
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _function(name: str) -> Any:
    """A function of the C library; None where there is none of that name."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
