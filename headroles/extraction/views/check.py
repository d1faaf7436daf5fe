"""The check before a view: attention is read as the plain model computes it, and each call has its place."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from headroles.errors import BadInput
from headroles.extraction.capture.neurons import Call
from headroles.extraction.capture.plain import kind_of, run_plain, run_viewed
from headroles.extraction.capture.stacks import cut
from headroles.extraction.model.trial import TOLERANCE
from headroles.extraction.views.parts import Entry

SHORT = 160
"""Most tokens of the input that the check is made on."""


@dataclass(frozen=True, slots=True)
class Stack:
    """The layers that compute one kind of attention.

    Attributes:
        layers: How many.
        heads: Heads of each.
        size: Dimensions of a query; 0 where queries are not seen.
        biased: Whether something is added to the products.
    """

    layers: int
    heads: int
    size: int = 0
    biased: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """What a model does with an input.

    Attributes:
        stacks: By kind of attention.
        modules: The kind that each module computes; empty where the model is outside the interface.
    """

    stacks: dict[str, Stack]
    modules: dict[torch.nn.Module, str]


def checked(network: Any, entry: Entry) -> Checked:
    """Run a model on the beginning of an input, plain and as a view does, and compare the weights.

    Encoder and decoder get lengths that differ there, which tells what each module computes.

    Raises:
        BadInput: When the model cannot run, shows no attention, or is misread.
    """
    kinds, inputs = tuple(entry.sides), cut(entry.inputs, SHORT)
    plain = run_plain(network, inputs, kinds)
    read: dict[str, list[torch.Tensor]] = {kind: [] for kind in kinds}
    seen: dict[torch.nn.Module, str] = {}
    made: dict[str, Stack] = {kind: Stack(len(each), each[0].shape[0]) for kind, each in plain.items()}

    def take(call: Call) -> None:
        kind = kind_of(call, inputs, kinds)
        if seen.setdefault(call.module, kind) != kind:
            raise ValueError(f"one module computes {seen[call.module]} and {kind} attention")
        read[kind].append(call.weights[0].float())
        bias, own = call.settings.get("position_bias"), made[kind]
        biased = own.biased or (bias is not None and bool(bias.any()))
        made[kind] = Stack(own.layers, own.heads, call.query.shape[-1], biased)

    run_viewed(network, inputs, take)
    if seen and not all(_equal(read[kind], plain[kind], TOLERANCE[network.dtype]) for kind in kinds):
        calls, layers = (sum(map(len, each.values())) for each in (read, plain))
        raise BadInput(
            f"what is read while {type(network).__name__} runs must be what the plain model computes, but it "
            f"is not ({calls} attention calls for {layers} layers); this architecture cannot be viewed"
        )
    return Checked(made, seen)


@contextmanager
def in_one_sentence(network: Any) -> Iterator[None]:
    """What goes wrong while a model runs, as one sentence.

    Raises:
        BadInput: For any error of the model's own.
    """
    try:
        yield
    except (RuntimeError, TypeError, ValueError, AttributeError, LookupError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"the model must run on a text alone and show its attention, but {type(network).__name__} failed "
            f"at that ({type(error).__name__}: {reason}); it cannot be viewed"
        ) from error


def _equal(ours: list[torch.Tensor], theirs: list[torch.Tensor], close: float) -> bool:
    return len(ours) == len(theirs) and all(
        torch.allclose(a, b, rtol=0, atol=close) for a, b in zip(ours, theirs, strict=True)
    )
