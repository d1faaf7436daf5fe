"""Find where in a model's stack the layers stand whose attention is read.

A stack is a list of blocks that run one after another, such as ``encoder.layer``. In hybrids some blocks
compute no attention, and in some models one block runs several times. Blocks are counted as they run.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from headroles.extraction.capture.neurons import Call
from headroles.extraction.capture.plain import run_with_calls, same_attention
from headroles.extraction.capture.stacks import ModelInputs
from headroles.records.layers import Stack, StackLayer


@dataclass(slots=True)
class _Level:
    """Blocks of lists at one place of a model, with the runs of them.

    Attributes:
        paths: Path of each block.
        runs: Path of the block of every run, in their order.
        running: Number of the run that goes on; None between runs.
        calls: Number of the run that each attention call belongs to; None where it is in no block.
    """

    paths: dict[torch.nn.Module, str] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    running: int | None = None
    calls: list[int | None] = field(default_factory=list)


def find_stack(
    network: Any,
    inputs: ModelInputs,
    modules: Collection[torch.nn.Module] | None,
    returned: Sequence[int],
    every: int,
) -> Stack:
    """Return the layers that are read, by their positions in the stack, from one run of the network.

    The stack is the outermost list of blocks in which no block holds two of the layers.

    Args:
        network: The network; its attention implementation is the same afterwards.
        inputs: Tensors for one short input.
        modules: Attention modules that are read; None for all.
        returned: Place of each layer that is read among those that the model returns.
        every: Number of places that the model returns.
    """
    levels, called = _levels(network), list[torch.nn.Module]()

    def take(call: Call) -> None:
        if modules is None or call.module in modules:
            called.append(call.module)
            for level in levels:
                level.calls.append(level.running)

    with same_attention(network), _counted(levels):
        run_with_calls(network, inputs, take)
    paths = _shared_paths(network, called)
    for level in levels:
        places = [place for place in level.calls if place is not None]
        if len(places) == len(returned) == len(called) == len(set(places)):
            return _stack(places, paths, len(level.runs))
        if not called and len(level.runs) == every:
            return _stack(returned, [level.runs[place] for place in returned], every)
    return _stack(returned, paths if len(paths) == len(returned) else [""] * len(returned), every)


def _shared_paths(network: Any, modules: Sequence[torch.nn.Module]) -> list[str]:
    """Return the path of each module, or of the first one that it shares memory of weights with."""
    names = {module: path for path, module in network.named_modules()}
    owner: dict[int, str] = {}
    paths = []
    for module in modules:
        weights = [
            weight.untyped_storage().data_ptr() for weight in module.parameters() if not weight.is_meta
        ]
        path = next((owner[place] for place in weights if place in owner), names[module])
        owner |= dict.fromkeys(weights, path)
        paths.append(path)
    return paths


def _levels(network: Any) -> list[_Level]:
    """Return the blocks of a network by the place of their lists, outer lists first."""
    found: dict[tuple[str, ...], _Level] = {}
    for path, module in network.named_modules():
        if isinstance(module, torch.nn.ModuleList):
            place = tuple("*" if part.isdigit() else part for part in path.split("."))
            level = found.setdefault(place, _Level())
            level.paths.update(
                {block: f"{path}.{number}" for number, block in reversed([*enumerate(module)])}
            )
    return [found[place] for place in sorted(found, key=len)]


@contextmanager
def _counted(levels: Sequence[_Level]) -> Iterator[None]:
    """Count the runs of all blocks."""

    def hooks(level: _Level, path: str) -> tuple[Any, Any]:
        def begin(*_: Any) -> None:
            level.running = len(level.runs)
            level.runs.append(path)

        def end(*_: Any) -> None:
            level.running = None

        return begin, end

    handles = []
    for level in levels:
        for block, path in level.paths.items():
            begin, end = hooks(level, path)
            handles += [block.register_forward_pre_hook(begin), block.register_forward_hook(end)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _stack(places: Sequence[int], paths: Sequence[str], blocks: int) -> Stack:
    """Return the layers of a stack; those of one module name one another."""
    users: dict[str, list[int]] = {}
    for place, path in zip(places, paths, strict=True):
        users.setdefault(path, []).append(place)
    layers = tuple(
        StackLayer(place, path, tuple(other for other in users[path] if path and other != place))
        for place, path in zip(places, paths, strict=True)
    )
    return Stack(layers, blocks)
