"""Take queries, keys and biases where a layer computes its weights, and recompute the weights from them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from headroles.records.view import Neurons


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call of a layer's attention, for one example.

    Attributes:
        module: The layer's attention module.
        query: (1, heads, queries, size), after rotary positions and norms.
        key: (1, key heads, keys, size), likewise.
        value: (1, key heads, keys, value size).
        mask: Added to the logits (1, 1, queries, keys); None where every key is visible.
        weights: (1, heads, queries, keys), by the model's own function.
        output: (1, queries, heads, value size): the weighted sums of values, likewise.
        settings: Other arguments of the function: scaling, softcap, position_bias, ….
    """

    module: torch.nn.Module
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: torch.Tensor | None
    weights: torch.Tensor
    output: torch.Tensor
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The parts that one layer's weights are computed from, in float32, for chosen heads.

    Attributes:
        query: (heads, queries, size).
        key: (heads, keys, size); a key head that several heads share is repeated for each of them.
        scaling: Factor of the products.
        softcap: Cap of the logits; NaN for none.
        bias: (heads, queries, keys); None for none.
        visible: (queries, keys), whether a query sees a key.
        sink: (heads,), logit of the key that is dropped; None for none.
        group: Key head of each head.
    """

    query: torch.Tensor
    key: torch.Tensor
    scaling: float
    softcap: float
    bias: torch.Tensor | None
    visible: torch.Tensor
    sink: torch.Tensor | None
    group: tuple[int, ...]


def parts_of(call: Call, heads: Sequence[int]) -> Parts:
    """Return the parts that a call's weights are computed from.

    Heads that share keys are neighbours: of 8 heads on 2 key heads, the first four share key head 0.

    Raises:
        ValueError: When the call's arrays do not have the layout of attention.
    """
    settings, chosen = call.settings, list(heads)
    share = call.query.shape[1] // call.key.shape[1]
    group = tuple(head // share for head in chosen)
    scaling, softcap, bias = settings.get("scaling"), settings.get("softcap"), settings.get("position_bias")
    if bias is not None:
        bias = bias.expand(call.weights.shape)[0, chosen].float() if bool(bias.any()) else None
    return Parts(
        query=call.query[0, chosen].float(),
        key=call.key[0, list(group)].float(),
        scaling=call.query.shape[-1] ** -0.5 if scaling is None else float(scaling),
        softcap=float("nan") if softcap is None else float(softcap),
        bias=bias,
        visible=_visible_cells(call),
        sink=_sink_logits(call, chosen),
        group=group,
    )


def recompute_weights(parts: Parts) -> torch.Tensor:
    """Return the weights (heads, queries, keys) computed from parts, in float32.

    Example:
        >>> one = torch.ones(1, 2, 4)
        >>> parts = Parts(one, one, 0.5, float("nan"), None, torch.ones(2, 2).tril() > 0, None, (0,))
        >>> recompute_weights(parts).tolist()
        [[[1.0, 0.0], [0.5, 0.5]]]
    """
    logits = parts.query @ parts.key.transpose(1, 2) * parts.scaling
    if not np.isnan(parts.softcap):
        logits = torch.tanh(logits / parts.softcap) * parts.softcap
    if parts.bias is not None:
        logits = logits + parts.bias
    logits = logits.masked_fill(~parts.visible, float("-inf"))
    if parts.sink is not None:
        sink = parts.sink[:, None, None].expand(-1, logits.shape[1], 1)
        return torch.cat([logits, sink], dim=-1).softmax(-1)[..., :-1]
    return logits.softmax(-1)


def fit_parts(call: Call, heads: Sequence[int]) -> tuple[Parts | None, float]:
    """Return the parts of a call's weights, and how far the weights computed from them are off.

    A sink is kept only where it brings the weights closer: some models use theirs after the weights.

    Returns:
        The parts and the largest difference; None and infinity where the call has no such parts.
    """
    try:
        parts = parts_of(call, heads)
        weights = call.weights[0, list(heads)].float()
        nearest = parts, _largest_difference(parts, weights)
        if parts.sink is not None:
            without = replace(parts, sink=None)
            other = without, _largest_difference(without, weights)
            nearest = min(nearest, other, key=lambda pair: pair[1])
    except (RuntimeError, TypeError, ValueError, IndexError, ZeroDivisionError):
        return None, float("inf")
    return nearest


def neurons_of(layers: Sequence[Parts]) -> Neurons:
    """Return the record of several layers' parts."""
    first = layers[0]
    bias = None
    if any(layer.bias is not None for layer in layers):
        zeros = torch.zeros(*first.query.shape[:2], first.key.shape[1])
        bias = _stack_arrays([zeros if layer.bias is None else layer.bias for layer in layers])
    heads = len(first.group)
    no_sink = torch.full((heads,), float("nan"))
    return Neurons(
        query=_stack_arrays([layer.query for layer in layers]),
        key=_stack_arrays([layer.key for layer in layers]),
        scaling=np.array([layer.scaling for layer in layers]),
        softcap=np.array([layer.softcap for layer in layers]),
        bias=bias,
        visible=_stack_arrays([layer.visible for layer in layers]),
        sink=_stack_arrays([no_sink if layer.sink is None else layer.sink for layer in layers]),
        group=first.group,
    )


def _stack_arrays(arrays: Sequence[torch.Tensor]) -> np.ndarray:
    return np.stack([array.cpu().numpy() for array in arrays])


def _largest_difference(parts: Parts, weights: torch.Tensor) -> float:
    """Return the largest difference of the recomputed weights from the model's; infinity where it is NaN."""
    largest = float((recompute_weights(parts) - weights).abs().max())
    return float("inf") if np.isnan(largest) else largest


def _visible_cells(call: Call) -> torch.Tensor:
    queries, keys = call.weights.shape[2:]
    if call.mask is None:
        return torch.ones((queries, keys), dtype=torch.bool, device=call.weights.device)
    mask = call.mask[0, :1, :, :keys].expand(1, queries, keys)[0]
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def _sink_logits(call: Call, heads: list[int]) -> torch.Tensor | None:
    """Return the logits of the key that is dropped, one per head; None for none."""
    settings = call.settings
    sinks = settings.get("s_aux", settings.get("sinks", getattr(call.module, "sinks", None)))
    if sinks is None or sinks.numel() != call.query.shape[1]:
        return None
    return sinks.detach().reshape(-1)[heads].float()  # type: ignore[no-any-return]
