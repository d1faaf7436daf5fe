"""Describe the machine of a line of figures, so that tables never mix kinds of machines."""

import torch

from headroles.extraction.model.machine import describe_machine, device_name
from headroles.extraction.model.threads import cpu_count


def machine(device: torch.device | None = None) -> dict[str, str | int]:
    """Return the processor, the instruction set torch uses on it, cores, and the version of torch.

    Args:
        device: The device that was measured; None for processors.
    """
    described: dict[str, str | int] = {
        "processor": describe_machine()["cpu"],
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "cores": cpu_count(),
        "torch": torch.__version__,
    }
    return described | ({} if device is None or device.type == "cpu" else {"device": device_name(device)})
