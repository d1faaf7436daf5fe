"""What attention weights are made of: taken where a layer computes them, and put together again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from headroles.records.view import Neurons


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call of a layer's attention, of one example.

    Attributes:
        module: The layer's attention.
        query: (1, heads, queries, size), after rotary positions and norms.
        key: (1, key heads, keys, size), likewise.
        mask: Added to the logits (1, 1, queries, keys); None where every key is seen.
        weights: (1, heads, queries, keys), by the model's own function.
        settings: What else the function got: scaling, softcap, position_bias, ….
    """

    module: torch.nn.Module
    query: torch.Tensor
    key: torch.Tensor
    mask: torch.Tensor | None
    weights: torch.Tensor
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What one layer's weights are made of, in float32, for chosen heads.

    Attributes:
        query: (heads, queries, size).
        key: (heads, keys, size); a key head that several heads share stands at each of them.
        scaling: What products are multiplied with.
        softcap: NaN for none.
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
    """What a call's weights are made of.

    Heads that share keys are neighbours: of 8 heads on 2 key heads, the first four share key head 0.

    Raises:
        ValueError: When the call's arrays are not laid out as attention is.
    """
    given, chosen = call.settings, list(heads)
    each = call.query.shape[1] // call.key.shape[1]
    group = tuple(head // each for head in chosen)
    scaling, softcap, bias = given.get("scaling"), given.get("softcap"), given.get("position_bias")
    if bias is not None:
        bias = bias.expand(call.weights.shape)[0, chosen].float() if bool(bias.any()) else None
    return Parts(
        query=call.query[0, chosen].float(),
        key=call.key[0, list(group)].float(),
        scaling=call.query.shape[-1] ** -0.5 if scaling is None else float(scaling),
        softcap=float("nan") if softcap is None else float(softcap),
        bias=bias,
        visible=_visible(call),
        sink=_sink(call, chosen),
        group=group,
    )


def rebuilt(parts: Parts) -> torch.Tensor:
    """The weights (heads, queries, keys) that parts make, in float32.

    Example:
        >>> one = torch.ones(1, 2, 4)
        >>> parts = Parts(one, one, 0.5, float("nan"), None, torch.ones(2, 2).tril() > 0, None, (0,))
        >>> rebuilt(parts).tolist()
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


def nearest_parts(call: Call, heads: Sequence[int]) -> tuple[Parts | None, float]:
    """The parts that make a call's weights, and how far off they are.

    A sink counts as one only where it is needed: some models use theirs after the weights.

    Returns:
        The parts and the largest difference; None and infinity where the call cannot be read so.
    """
    try:
        parts = parts_of(call, heads)
        wanted = call.weights[0, list(heads)].float()
        found = parts, _apart(parts, wanted)
        if parts.sink is not None:
            without = replace(parts, sink=None)
            found = min(found, (without, _apart(without, wanted)), key=lambda each: each[1])
    except (RuntimeError, TypeError, ValueError, IndexError, ZeroDivisionError):
        return None, float("inf")
    return found


def neurons_of(layers: Sequence[Parts]) -> Neurons:
    """The record of several layers' parts."""
    first = layers[0]
    bias = None
    if any(each.bias is not None for each in layers):
        none = torch.zeros(*first.query.shape[:2], first.key.shape[1])
        bias = _stacked([none if each.bias is None else each.bias for each in layers])
    heads = len(first.group)
    nothing = torch.full((heads,), float("nan"))
    return Neurons(
        query=_stacked([each.query for each in layers]),
        key=_stacked([each.key for each in layers]),
        scaling=np.array([each.scaling for each in layers]),
        softcap=np.array([each.softcap for each in layers]),
        bias=bias,
        visible=_stacked([each.visible for each in layers]),
        sink=_stacked([nothing if each.sink is None else each.sink for each in layers]),
        group=first.group,
    )


def _stacked(arrays: Sequence[torch.Tensor]) -> np.ndarray:
    return np.stack([each.cpu().numpy() for each in arrays])


def _apart(parts: Parts, weights: torch.Tensor) -> float:
    """Largest difference of the rebuilt weights from the model's; infinity where one is no number."""
    largest = float((rebuilt(parts) - weights).abs().max())
    return float("inf") if np.isnan(largest) else largest


def _visible(call: Call) -> torch.Tensor:
    queries, keys = call.weights.shape[2:]
    if call.mask is None:
        return torch.ones((queries, keys), dtype=torch.bool, device=call.weights.device)
    own = call.mask[0, :1, :, :keys].expand(1, queries, keys)[0]
    return own if own.dtype == torch.bool else own > torch.finfo(own.dtype).min / 2


def _sink(call: Call, heads: list[int]) -> torch.Tensor | None:
    """Logits of the key that is dropped, one per head."""
    settings = call.settings
    found = settings.get("s_aux", settings.get("sinks", getattr(call.module, "sinks", None)))
    if found is None or found.numel() != call.query.shape[1]:
        return None
    return found.detach().reshape(-1)[heads].float()  # type: ignore[no-any-return]
