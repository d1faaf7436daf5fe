"""Run a model on one input, and take the queries, keys and weights of each attention call.

A third name is registered with transformers' attention interfaces. ``headroles-view`` uses the eager
mask and the model's own eager attention, so a view shows what the plain eager model computes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from headroles.errors import BadInput
from headroles.extraction.capture.gates import show_outputs
from headroles.extraction.capture.neurons import Call
from headroles.extraction.capture.stacks import (
    ENCODER_IDS,
    OUTPUT_NAMES,
    ModelInputs,
    attention_shape,
    cache_arguments,
)
from headroles.extraction.capture.weights import own_eager
from headroles.records.view import SELF

VIEW = "headroles-view"

CallTaker = Callable[[Call], None]
_TAKER: ContextVar[CallTaker | None] = ContextVar("headroles_view", default=None)


def _hand_over_call(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **rest: Any) -> Any:
    output, weights = own_eager(module)(module, query, key, value, attention_mask, **rest)
    taker = _TAKER.get()
    if taker is not None:
        taker(Call(module, query, key, value, attention_mask, weights, output, rest))
    return output, None


AttentionInterface.register(VIEW, show_outputs(_hand_over_call))
AttentionMaskInterface.register(VIEW, eager_mask)


@contextmanager
def same_attention(network: Any) -> Iterator[None]:
    """Let the attention implementation of a network be set inside, and put that of every part back.

    The whole of a composite may have another one than its parts: the library sets it where it is used.
    """
    before = [(part.config, part.config._attn_implementation) for part in _parts(network)]
    try:
        yield
    finally:
        for config, implementation in before:
            config._attn_implementation_internal = implementation


def copy_attention(network: Any, copied: Any) -> None:
    """Give every part of a copy of a network the attention implementation of that part of the network.

    Args:
        network: The network, of the library.
        copied: One of the same class, whose configuration is a copy; it is changed.
    """
    for part, same in zip(_parts(network), _parts(copied), strict=True):
        same.config._attn_implementation_internal = part.config._attn_implementation


def _parts(network: Any) -> list[Any]:
    """Return the modules of a network that have an attention implementation of their own."""
    return [part for part in network.modules() if hasattr(part, "set_attn_implementation")]


def run_with_calls(network: Any, inputs: ModelInputs, taker: CallTaker) -> None:
    """Run a model once and hand every call of its attention to ``taker``."""
    network.set_attn_implementation(VIEW)
    token = _TAKER.set(taker)
    try:
        with torch.inference_mode():
            network(**inputs, **cache_arguments(inputs))
    finally:
        _TAKER.reset(token)


@dataclass(frozen=True, slots=True, eq=False)
class PlainLayers:
    """The layers of one kind of attention that the plain eager model returns.

    Attributes:
        weights: Weights (heads, queries, keys) of each layer that computes attention.
        places: Place of each such layer among those that the model returns.
        every: Number of places that it returns, those without attention counted.
    """

    weights: list[torch.Tensor]
    places: tuple[int, ...]
    every: int


def run_plain(network: Any, inputs: ModelInputs, kinds: tuple[str, ...]) -> dict[str, PlainLayers]:
    """Return the weights of the plain eager model, by kind.

    Raises:
        BadInput: When no layer of a kind returns attention, or not all have equally many heads.
    """
    network.set_attn_implementation("eager")
    if network.config._attn_implementation != "eager":
        raise BadInput(
            f"weights are checked against plain eager attention, which {type(network).__name__} does not "
            "support; this architecture cannot be read"
        )
    with torch.inference_mode():
        output = network(**inputs, **cache_arguments(inputs), output_attentions=True)
    weights_by_kind = {}
    for kind in kinds:
        every = getattr(output, OUTPUT_NAMES[kind if len(kinds) > 1 else SELF], None) or ()
        every = [own if isinstance(own, torch.Tensor) else None for own in every]
        expected = attention_shape(inputs, kind)
        places = [
            place for place, own in enumerate(every) if own is not None and tuple(own.shape[2:]) == expected
        ]
        if len({every[place].shape[1] for place in places}) != 1:
            shapes = {None if weights is None else tuple(weights.shape[1:]) for weights in every}
            raise BadInput(
                f"layers compute attention of {expected[0]} by {expected[1]} tokens for this input, by as "
                f"many heads each, but {type(network).__name__} gave "
                f"{sorted(map(str, shapes)) or 'none'}; its heads cannot be read"
            )
        home = inputs[ENCODER_IDS].device
        weights = [every[place][0].float().to(home) for place in places]
        weights_by_kind[kind] = PlainLayers(weights, tuple(places), len(every))
    return weights_by_kind


def attention_kind(call: Call, inputs: ModelInputs, kinds: tuple[str, ...]) -> str:
    """Return the kind of attention of a call, by its numbers of queries and keys.

    Raises:
        ValueError: When no kind has these numbers.
    """
    shape = tuple(call.weights.shape[2:])
    for kind in kinds:
        if shape == attention_shape(inputs, kind):
            return kind
    raise ValueError(f"no part of the model computes attention of {shape[0]} by {shape[1]} tokens")
