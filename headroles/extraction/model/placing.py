"""Place a network on one device, or its parts on several devices, and find its weights wherever they are.

With a device map the library places parts of a network on several GPUs, in the memory of the processor or
on disk, and moves each part to its device when it runs. headroles reads attention on that device, and moves
it to the home device, which is that of the inputs.
"""

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import torch

from headroles.errors import BadInput, MissingExtra, UnknownName

DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
"""Names of the rules by which the library places the parts of a network."""
DeviceMap = str | Mapping[str, str | int]
"""Name of a rule, or the device of each part of a network by its name; "" names all of it."""
OFFLOADED = ("cpu", "disk")
"""Places whose parts are brought to another device to run, where there is one."""
HOOK = "_hf_hook"
"""Attribute of a module that has part of its work on another device."""


def check_device_map(device_map: DeviceMap | None, device: str) -> None:
    """Check a device map before anything is loaded.

    Args:
        device_map: Name of a rule, or devices of parts; None for one device.
        device: Name of the device that was asked for; "auto" where none was.

    Raises:
        UnknownName: For a rule that does not exist.
        BadInput: For a device together with a device map, or an empty map.
        MissingExtra: When the package accelerate is not installed.
    """
    if device_map is None:
        return
    if isinstance(device_map, str) and device_map not in DEVICE_MAPS:
        raise UnknownName("device map", device_map, DEVICE_MAPS)
    if not device_map:
        raise BadInput(
            "a device map names the device of each part of a model, but got an empty one; leave it out"
        )
    if device != "auto":
        raise BadInput(
            f"a device map places the parts of a model, so --device {device} has no effect; give one of the "
            f"two"
        )
    if importlib.util.find_spec("accelerate") is None:
        raise MissingExtra(
            "a device map needs the package accelerate, which is not installed; run pip install accelerate, "
            "or leave --device-map out"
        )


def move_to_device(network: Any, device: torch.device, name: str) -> None:
    """Move a network to a device and turn off dropout; parts that a device map placed stay where they are.

    Raises:
        BadInput: When the device cannot hold it.
    """
    if any(hasattr(module, HOOK) for module in network.modules()):
        network.eval()
        return
    try:
        if getattr(network, "device", None) != device:
            network.to(device)
        network.eval()
    except (RuntimeError, ValueError) as error:  # the library forbids to move some quantised networks
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"the model {name!r} cannot be brought to {device} ({reason}); give another --device or --dtype"
        ) from error


def home_of(network: Any) -> torch.device:
    """Return the device on which a network that a device map placed takes its inputs."""
    places = getattr(network, "hf_device_map", None)
    if places is None:  # all parts are on one device
        return torch.device(network.device)
    running = [place for place in places.values() if str(place) not in OFFLOADED]
    return torch.device(running[0]) if running else torch.device("cpu")


def describe_places(network: Any, home: torch.device) -> str:
    """Return the devices of a network for the record, such as "cpu" or "cuda:0, cuda:1, disk"."""
    places = getattr(network, "hf_device_map", None) or {"": home}
    return ", ".join(
        sorted({f"cuda:{place}" if isinstance(place, int) else str(place) for place in places.values()})
    )


def weights_of(network: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the name and the numbers of every weight, one module after another.

    Weights that a device map keeps in the memory of the processor or on disk are loaded while they are read.
    Quantised weights become the plain numbers that they stand for, where their type can convert them.
    """
    for path, module in network.named_modules():
        offloaded = any(weights.is_meta for weights in module.parameters(recurse=False))
        with _bring_home(module) if offloaded and hasattr(module, HOOK) else nullcontext():
            for name, weights in module.named_parameters(recurse=False):
                plain = weights.detach()
                if type(plain) is not torch.Tensor and hasattr(type(plain), "dequantize"):
                    plain = plain.dequantize()
                yield f"{path}.{name}".lstrip("."), plain


def _bring_home(module: torch.nn.Module) -> Any:
    """Return a context in which the weights of a module are loaded."""
    from accelerate.utils import align_module_device

    return align_module_device(module)
