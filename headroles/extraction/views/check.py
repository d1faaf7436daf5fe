"""Check before a view that attention is read as the plain model computes it, and find each module's kind."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from headroles.errors import BadInput
from headroles.extraction.capture.neurons import Call
from headroles.extraction.capture.plain import attention_kind, run_plain, run_with_calls
from headroles.extraction.capture.stacks import shorten_inputs
from headroles.extraction.model.stack import find_stack
from headroles.extraction.model.trial import TOLERANCE
from headroles.extraction.views.parts import ViewInput

MOST_TOKENS = 160
"""Most tokens of the input of the check."""


@dataclass(frozen=True, slots=True)
class KindLayers:
    """The layers that compute one kind of attention.

    Attributes:
        layers: Their positions in the stack.
        heads: Number of heads in each layer.
        size: Dimensions of a query; 0 where queries cannot be read.
        biased: Whether a bias is added to the products.
    """

    layers: tuple[int, ...]
    heads: int
    size: int = 0
    biased: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ModelStacks:
    """The attention that a model computes on an input.

    Attributes:
        stacks: Layers by kind of attention.
        modules: The kind that each module computes; empty where the model does not use the interface.
    """

    stacks: dict[str, KindLayers]
    modules: dict[torch.nn.Module, str]


def check_model(network: Any, entry: ViewInput) -> ModelStacks:
    """Run a model on the beginning of an input, as it is and as a view does, and compare the weights.

    There encoder and decoder get inputs of different lengths, which shows what each module computes.

    Raises:
        BadInput: When the model cannot run, shows no attention, or is read wrongly.
    """
    kinds, inputs = tuple(entry.sides), shorten_inputs(entry.inputs, MOST_TOKENS)
    returned = run_plain(network, inputs, kinds)
    plain = {kind: layers.weights for kind, layers in returned.items()}
    read: dict[str, list[torch.Tensor]] = {kind: [] for kind in kinds}
    kinds_of_modules: dict[torch.nn.Module, str] = {}
    stacks = {kind: KindLayers((), layers[0].shape[0]) for kind, layers in plain.items()}

    def take(call: Call) -> None:
        kind = attention_kind(call, inputs, kinds)
        if kinds_of_modules.setdefault(call.module, kind) != kind:
            raise ValueError(f"one module computes {kinds_of_modules[call.module]} and {kind} attention")
        read[kind].append(call.weights[0].float().to(plain[kind][0].device))
        bias, stack = call.settings.get("position_bias"), stacks[kind]
        biased = stack.biased or (bias is not None and bool(bias.any()))
        stacks[kind] = KindLayers((), stack.heads, call.query.shape[-1], biased)

    run_with_calls(network, inputs, take)
    if kinds_of_modules and not all(
        _all_close(read[kind], plain[kind], TOLERANCE[network.dtype]) for kind in kinds
    ):
        calls, layers = (sum(map(len, weights.values())) for weights in (read, plain))
        raise BadInput(
            f"what is read while {type(network).__name__} runs must be what the plain model computes, but it "
            f"is not ({calls} attention calls for {layers} layers); this architecture cannot be viewed"
        )
    for kind, own in returned.items():
        modules = [module for module, its_kind in kinds_of_modules.items() if its_kind == kind]
        found = find_stack(network, inputs, modules, own.places, own.every)
        stacks[kind] = replace(stacks[kind], layers=found.numbers)
    return ModelStacks(stacks, kinds_of_modules)


@contextmanager
def errors_in_one_sentence(network: Any, ending: str = "it cannot be viewed") -> Iterator[None]:
    """Turn any error of a running model into one sentence.

    Args:
        network: The model.
        ending: What follows from it.

    Raises:
        BadInput: For any error that the model raises.
    """
    try:
        yield
    except (RuntimeError, TypeError, ValueError, AttributeError, LookupError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"the model must run on a text alone and show its attention, but {type(network).__name__} failed "
            f"at that ({type(error).__name__}: {reason}); {ending}"
        ) from error


def _all_close(ours: list[torch.Tensor], theirs: list[torch.Tensor], close: float) -> bool:
    return len(ours) == len(theirs) and all(
        torch.allclose(a, b, rtol=0, atol=close) for a, b in zip(ours, theirs, strict=True)
    )
