"""Skip the layers of a network below an intervention: their output is that of the pass without one.

All rows are equal up to the attention of the lowest intervention. So modules of its layer that come before
(the projections to queries, keys and values) are computed for one row.

The layers are the modules of a ``ModuleList`` that hold one attention module each. While a network is
prepared, their ``forward`` looks up whether the running pass keeps its output, or skips the layer and
returns the output that was kept. Which pass runs is a matter of the thread.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch

from headroles.extraction.ablation.replacing import rows_are_equal


@dataclass(slots=True, eq=False)
class Prefix:
    """What the layers of one input put out without intervention, in one row.

    Attributes:
        kept: Output of each layer; under −1 that of the encoder that a decoder reads.
    """

    kept: dict[int, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class SharedPass:
    """How a pass uses the layers of a prefix.

    Attributes:
        prefix: Where outputs are kept, or taken from.
        start: The first layer that is computed; None for a pass that computes and keeps all.
        rows: Rows of the pass.
    """

    prefix: Prefix
    start: int | None = None
    rows: int = 1


_PASS: ContextVar[SharedPass | None] = ContextVar("headroles_prefix", default=None)


@contextmanager
def shared(running: SharedPass | None) -> Iterator[None]:
    """Keep or skip layers in the forward passes of this thread; None for neither."""
    token = _PASS.set(running)
    try:
        yield
    finally:
        _PASS.reset(token)


def find_blocks(network: torch.nn.Module, attention: Sequence[torch.nn.Module]) -> list[torch.nn.Module]:
    """Return the modules of a ``ModuleList`` that hold one attention module each, in their order.

    Args:
        network: The network.
        attention: Attention modules in the order of their calls.

    Returns:
        The modules; none where there is no such list, as where layers share an attention module.
    """
    inside = [set(module.modules()) for module in attention]
    for child in network.modules():
        if not isinstance(child, torch.nn.ModuleList) or len(child) != len(attention):
            continue
        modules = [set(block.modules()) for block in child]
        if all(
            own <= block and not any(own & other for other in modules[:k] + modules[k + 1 :])
            for k, (own, block) in enumerate(zip(inside, modules, strict=True))
        ):
            return list(child)
    return []


def find_early(
    blocks: Sequence[torch.nn.Module], rows: int, run: Callable[[Callable[[int], None]], object]
) -> list[torch.nn.Module]:
    """Return the modules of layers that compute every row by itself, and are called before attention.

    Args:
        blocks: The layers.
        rows: Rows of the pass, another number than that of tokens.
        run: Runs the network, and calls what it is given with the number of every layer whose attention is
            computed.
    """
    found: dict[torch.nn.Module, bool] = {}
    attended = set[int]()

    def hook(place: int) -> Callable[..., None]:
        def see(module: torch.nn.Module, given: Any, named: Any, output: Any) -> None:
            if place not in attended:
                tensors = [own for own in (*given, *named.values(), output) if isinstance(own, torch.Tensor)]
                alone = isinstance(output, torch.Tensor) and all(
                    own.dim() > 2 and own.shape[0] == rows for own in tensors
                )
                found[module] = alone and found.get(module, True)

        return see

    hooks = [
        module.register_forward_hook(hook(place), with_kwargs=True)
        for place, block in enumerate(blocks)
        for module in block.modules()
        if not any(True for _ in module.children())
    ]
    try:
        run(attended.add)
    finally:
        for handle in hooks:
            handle.remove()
    return [module for module, alone in found.items() if alone]


@contextmanager
def skippable(
    blocks: Sequence[torch.nn.Module],
    encoder: torch.nn.Module | None,
    early: Sequence[torch.nn.Module] = (),
) -> Iterator[None]:
    """Let passes keep and skip the outputs of layers, and of the encoder that a decoder reads.

    Args:
        blocks: The layers.
        encoder: The encoder; None for none.
        early: Modules that compute one row where all are equal.
    """
    places = {**dict(enumerate(blocks)), **({} if encoder is None else {-1: encoder})}
    modules = [*places.values(), *early]
    before = [module.__dict__.get("forward") for module in modules]
    try:
        for place, module in places.items():
            module.forward = _forward(place, module.forward)
        for module in early:
            module.forward = _once(module.forward)
        yield
    finally:
        for module, own in zip(modules, before, strict=True):
            module.__dict__.pop("forward", None)
            if own is not None:
                module.forward = own


def _forward(place: int, own: Callable[..., Any]) -> Callable[..., Any]:
    """Return the forward function of a layer that may be kept or skipped."""

    def forward(*arguments: Any, **named: Any) -> Any:
        running = _PASS.get()
        if running is None:
            return own(*arguments, **named)
        kept = running.prefix.kept
        if running.start is None:
            kept[place] = own(*arguments, **named)
            return kept[place]
        if place >= running.start:
            return own(*arguments, **named)
        return _in_rows(kept[place], running.rows, whole=place in (running.start - 1, -1))

    return forward


def _once(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return the forward function of a module that is computed for one row while all are equal."""

    def forward(*arguments: Any, **named: Any) -> Any:
        if not rows_are_equal():
            return own(*arguments, **named)
        rows = next(own.shape[0] for own in (*arguments, *named.values()) if isinstance(own, torch.Tensor))
        output = own(*map(_first, arguments), **{name: _first(value) for name, value in named.items()})
        return output.expand(rows, *output.shape[1:])

    return forward


def _first(value: Any) -> Any:
    """Return the first row of a tensor, and anything else as it is."""
    return value[:1] if isinstance(value, torch.Tensor) else value


def _in_rows(kept: Any, rows: int, *, whole: bool) -> Any:
    """Return what a layer put out for one row in several equal rows; in memory of their own where asked."""
    if rows == 1:
        return kept
    if isinstance(kept, torch.Tensor):
        if not kept.dim() or kept.shape[0] != 1:
            return kept
        expanded = kept.expand(rows, *kept.shape[1:])
        return expanded.contiguous() if whole else expanded
    if isinstance(kept, dict):
        return type(kept)(**{name: _in_rows(own, rows, whole=whole) for name, own in kept.items()})
    if type(kept) in (tuple, list):
        return type(kept)(_in_rows(own, rows, whole=whole) for own in kept)
    return kept
