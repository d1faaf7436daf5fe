"""Describe the CPU and the linear algebra library, and set the number of threads.

The last bits of scores depend on them.
"""

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from headroles.extraction.model.threads import one_numpy_thread


@contextmanager
def use_threads(number: int | None) -> Iterator[None]:
    """Let torch use ``number`` threads in this process, then as many as before; None changes nothing.

    Meanwhile the linear algebra of numpy has one thread, in all threads of the process.
    """
    before = torch.get_num_threads()
    if number is not None:
        torch.set_num_threads(number)
    try:
        with one_numpy_thread():
            yield
    finally:
        torch.set_num_threads(before)


def describe_machine() -> dict[str, str]:
    """Return the CPU and the library of linear algebra, for the record."""
    lines = torch.__config__.show().split("\n")
    libraries = ("Math Kernel Library", "OpenBLAS", "BLIS", "Accelerate")
    names = [line.strip(" -") for line in lines if any(library in line for library in libraries)]
    modes = [line.strip(" -") for line in lines if "CPU capability" in line]
    return {"cpu": _cpu(), "blas": "; ".join([*names[:1], *modes]) or "unknown"}


def device_name(device: torch.device) -> str:
    """Return the name of a GPU, or else the type of the device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def _cpu() -> str:
    """Return the name of the CPU, as far as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
