"""Weights of a whole batch formed beside the model at once, by its own eager function, in float32."""

from typing import Any

import torch

from headroles.extraction.forming import own_eager
from headroles.extraction.forward import Pass
from headroles.extraction.readers import TogetherReader
from headroles.extraction.seen import hides_later


def read_together(
    running: Pass, module: Any, query: torch.Tensor, key: torch.Tensor, mask: Any, rest: dict[str, Any]
) -> bool:
    """Form a layer's weights (examples, heads, tokens, tokens) and hand them over, if the reader wants that.

    Where examples are short, or the device is not a processor, one operation on all of them takes hardly
    longer than one on a single example.

    Returns:
        Whether it was done: not on trial, nor for a reader that takes examples one by one.
    """
    reader = running.reader
    if running.trial or not isinstance(reader, TogetherReader) or not reader.together:
        return False
    causal = hides_later(module, query, mask, rest)
    extra = {name: each for name, each in rest.items() if name not in ("is_causal", "position_bias")}
    if rest.get("position_bias") is not None:
        extra["position_bias"] = rest["position_bias"].float()
    keys = key.float()
    hidden = _additive(mask, causal, query)
    _, weights = own_eager(module)(module, query.float(), keys, keys[..., :0], hidden, **extra)
    reader.read_batch(running.layer, weights.float(), running.seen.under(mask, causal))
    return True


def _additive(mask: torch.Tensor | None, causal: bool, query: torch.Tensor) -> torch.Tensor | None:
    """The mask of a whole batch as numbers that are added to scores before the softmax."""
    if mask is None:
        if not causal:
            return None
        position = torch.arange(query.shape[2], device=query.device)
        mask = (position[None, :] <= position[:, None])[None, None]
    if mask.dtype != torch.bool:
        return mask.float()
    lowest = torch.finfo(torch.float32).min
    return torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, lowest)
