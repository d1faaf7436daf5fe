"""Run a model on one input, and take the queries, keys and weights of each attention call.

A third name is registered with transformers' attention interfaces. ``headroles-view`` uses the eager
mask and the model's own eager attention, so a view shows what the plain eager model computes.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from headroles.errors import BadInput
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


AttentionInterface.register(VIEW, _hand_over_call)
AttentionMaskInterface.register(VIEW, eager_mask)


def run_with_calls(network: Any, inputs: ModelInputs, taker: CallTaker) -> None:
    """Run a model once and hand every call of its attention to ``taker``."""
    network.set_attn_implementation(VIEW)
    token = _TAKER.set(taker)
    try:
        with torch.inference_mode():
            network(**inputs, **cache_arguments(inputs))
    finally:
        _TAKER.reset(token)


def run_plain(network: Any, inputs: ModelInputs, kinds: tuple[str, ...]) -> dict[str, list[torch.Tensor]]:
    """Return the weights (heads, queries, keys) of the plain eager model, by kind and layer.

    Raises:
        BadInput: When the model does not return one attention per layer, all with equally many heads.
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
        returned = getattr(output, OUTPUT_NAMES[kind if len(kinds) > 1 else SELF], None) or ()
        shapes = {None if weights is None else tuple(weights.shape[1:]) for weights in returned}
        expected = attention_shape(inputs, kind)
        if len(shapes) != 1 or any(shape is None or shape[1:] != expected for shape in shapes):
            raise BadInput(
                f"every layer must compute one attention of {expected[0]} by {expected[1]} tokens for this "
                f"input, by as many heads, but {type(network).__name__} gave "
                f"{sorted(map(str, shapes)) or 'none'}; its heads cannot be read"
            )
        home = inputs[ENCODER_IDS].device
        weights_by_kind[kind] = [weights[0].float().to(home) for weights in returned]
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
