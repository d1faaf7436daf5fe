"""What a model runs on: threads, processor and linear algebra, which the last bits of scores depend on.

How many processors there are for this process, asked without loading anything.
"""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch


@contextmanager
def threads_of(number: int | None) -> Iterator[None]:
    """Have torch use some threads in this process, and afterwards as many as before; None changes nothing."""
    before = torch.get_num_threads()
    if number is not None:
        torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def machine() -> dict[str, str]:
    """The processor and the library of linear algebra, for the record."""
    told = torch.__config__.show().split("\n")
    known = ("Math Kernel Library", "OpenBLAS", "BLIS", "Accelerate")
    names = [line.strip(" -") for line in told if any(each in line for each in known)]
    modes = [line.strip(" -") for line in told if "CPU capability" in line]
    return {"cpu": _cpu(), "blas": "; ".join([*names[:1], *modes]) or "unknown"}


def device_name(device: torch.device) -> str:
    """What a device is: of a graphics processor its name, else its kind."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def _cpu() -> str:
    """The name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
