"""Read the gates of a network: what the outputs of its heads are multiplied by before the output projection.

A gate is a local variable of an architecture's code. But what the projection reads is the output of the
attention times the gate, element by element, so their quotient is the gate to the rounding of one product.
``model.projections`` checks at load that nothing else stands before the projection.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from jaxtyping import Float

Gates = Sequence[Float[torch.Tensor, "examples queries heads size"]]
"""Gates by layer."""

_TAKER: ContextVar[Callable[[torch.nn.Module, torch.Tensor], None] | None] = ContextVar(
    "headroles_gates", default=None
)


def show_outputs(attend: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same attention function, which also shows its outputs while gates are read."""

    def watched(module: Any, *args: Any, **rest: Any) -> Any:
        output, weights = attend(module, *args, **rest)
        taker = _TAKER.get()
        if taker is not None:
            taker(module, output)
        return output, weights

    return watched


@contextmanager
def taken_gates(
    projections: Sequence[torch.nn.Module], reads: Callable[[torch.nn.Module], bool]
) -> Iterator[Gates]:
    """Take the gates of every layer while the network runs inside.

    Args:
        projections: The output projection of every layer.
        reads: Whether an attention module is one of these layers.

    Yields:
        A list that the gates are added to, float32 or float64; 0 where an output is 0.
    """
    gates: list[torch.Tensor] = []
    latest: list[torch.Tensor] = []

    def take(module: torch.nn.Module, output: torch.Tensor) -> None:
        if reads(module):
            latest.append(output)

    def divide(module: Any, arguments: tuple[torch.Tensor, ...]) -> None:
        if latest:
            output = latest.pop()
            output = output if output.dtype == torch.float64 else output.float()
            quotient = arguments[0].reshape(output.shape).to(output) / output
            gates.append(quotient.masked_fill(output == 0, 0))

    hooks = [module.register_forward_pre_hook(divide) for module in dict.fromkeys(projections)]
    token = _TAKER.set(take)
    try:
        yield gates
    finally:
        _TAKER.reset(token)
        for hook in hooks:
            hook.remove()
