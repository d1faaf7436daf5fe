"""Weights formed beside the model: by its own eager function, in blocks of query rows, in float32."""

import sys
from collections.abc import Callable
from typing import Any

import torch

from headroles.extraction.forward import Pass
from headroles.extraction.readers import GraphReader
from headroles.extraction.seen import hides_later

WHOLE = 256
"""Up to this many tokens an example's weights are formed at once; beyond, in blocks of query rows."""
CACHE = 8 * 2**20
"""Bytes that one block of weights may take, so that it stays in the processor's cache."""


def own_eager(module: torch.nn.Module) -> Callable[..., Any]:
    """The eager attention function of the module's own file, or of a base class's file."""
    for base in type(module).__mro__:
        found = getattr(sys.modules.get(base.__module__), "eager_attention_forward", None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    raise LookupError(f"{type(module).__name__} has no eager attention function")


def read_beside(
    running: Pass, module: Any, query: torch.Tensor, key: torch.Tensor, mask: Any, rest: dict[str, Any]
) -> None:
    """Form the weights by the model's own eager function and hand them over, block by block.

    In float32; on trial in the model's precision, in as many blocks as are to be tried.
    """
    if isinstance(running.reader, GraphReader):
        raise TypeError("weights formed beside the model have no gradients; run it with 'headroles-eager'")
    causal = hides_later(module, query, mask, rest)
    visible = running.seen.under(mask, causal)
    kind = query.dtype if running.trial else torch.float32
    extra = {name: each for name, each in rest.items() if name not in ("is_causal", "position_bias")}
    for example, length in enumerate(running.lengths):
        own = slice(example, example + 1)
        keys = key[own, :, :length].to(kind)
        step = length if length <= WHOLE else max(1, CACHE // (4 * query.shape[1] * length))
        step = -(-length // running.trial) if running.trial else step
        for start in range(0, length, step):
            stop = min(start + step, length)
            block = block_mask(mask, causal, example, slice(start, stop), length, kind, keys.device)
            bias = rest.get("position_bias")
            if bias is not None:
                bias = bias[min(example, bias.shape[0] - 1)][None, :, start:stop, :length].to(kind)
                extra["position_bias"] = bias
            queries = query[own, :, start:stop].to(kind)
            _, weights = own_eager(module)(module, queries, keys, keys[..., :0], block, **extra)
            running.reader.read(running.layer, example, start, weights[0].float(), visible[example])


def block_mask(
    mask: torch.Tensor | None,
    causal: bool,
    example: int,
    rows: slice,
    length: int,
    kind: torch.dtype,
    device: torch.device,
) -> torch.Tensor | None:
    """The additive mask of a block of query rows of one example."""
    if mask is None:
        if not causal:
            return None
        position = torch.arange(length, device=device)
        seen = (position[None, :] <= position[rows, None])[None, None]
    else:
        seen = mask[min(example, mask.shape[0] - 1)][None, :, rows, :length]
        if seen.dtype != torch.bool:
            return seen.to(kind)
    return torch.zeros(seen.shape, dtype=kind, device=device).masked_fill(~seen, torch.finfo(kind).min)
