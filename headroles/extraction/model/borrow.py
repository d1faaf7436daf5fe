"""Use a model that was given as an object, and leave it exactly as its owner had it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headroles.records.objects import ModelObject

if TYPE_CHECKING:
    import torch

QUIET = {"output_attentions": False, "output_hidden_states": False, "return_dict": True}
"""Settings of a configuration under which a model returns what passes of headroles expect."""


@contextmanager
def borrow(model: object) -> Iterator[None]:
    """Let a loaded model be used, and then restore everything that reading its attention changes.

    It restores the training mode and the settings of every module, the implementation of attention, the
    hooks, the device, and which weights take gradients. Values of weights are never changed.

    Args:
        model: A model as options hold it; nothing is done unless it is a loaded one.
    """
    network = model.network if isinstance(model, ModelObject) else None
    if network is None:
        yield
        return
    modules = list(network.modules())
    training = [module.training for module in modules]
    configs = _configs(modules)
    settings = [dict(vars(config)) for config in configs]
    gradients = [(weights, weights.requires_grad) for weights in network.parameters()]
    device = network.device
    try:
        for config in configs:
            for name, value in QUIET.items():
                setattr(config, name, value)
        yield
    finally:
        if network.device != device:
            network.to(device)
        for module, mode in zip(modules, training, strict=True):
            module.training = mode
            _remove_hooks(module)
        for config, values in zip(configs, settings, strict=True):
            vars(config).clear()
            vars(config).update(values)
        for weights, required in gradients:
            weights.requires_grad_(required)


def _remove_hooks(module: torch.nn.Module) -> None:
    """Remove the hooks of headroles; the library may have installed some of its own that it counts on."""
    hooks = module._forward_hooks
    for number in [number for number, hook in hooks.items() if hook.__module__.startswith("headroles.")]:
        del hooks[number]


def _configs(modules: list[torch.nn.Module]) -> list[Any]:
    """Return every configuration of a model once: those of its modules, and those inside them."""
    known: dict[int, Any] = {}
    waiting = [vars(module).get("config") for module in modules]
    while waiting:
        config = waiting.pop()
        if hasattr(config, "_attn_implementation_internal") and id(config) not in known:
            known[id(config)] = config
            waiting += vars(config).values()
    return list(known.values())
