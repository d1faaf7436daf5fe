"""Form attention as the softmax of scaled products, each block in the memory of its weights alone.

Most models compute nothing else. Their own eager functions write every block three times: as products, as
scaled products and as weights. Whether a model computes just this is tried when it is loaded.
"""

from typing import Any

import torch
from jaxtyping import Float

from headroles.plans.masks import Band

ROWS = 256
"""Fewest query rows of a block of a long input; products of fewer rows take longer by the row."""
BLOCK = 2 * 2**20
"""Most bytes of a block of weights, so that it stays in the cache until it is read."""


MORE = ("position_bias", "softcap", "s_aux")
"""Arguments of attention functions that change the logits in other ways than a mask does."""


def scale_of(query: torch.Tensor, rest: dict[str, Any]) -> float:
    """Return the factor of the products, by the rule of the library's sdpa function.

    Raises:
        ValueError: When the other arguments ask for more than a softmax of scaled products.
    """
    if any(rest.get(name) is not None for name in MORE):
        raise ValueError("these logits are more than scaled products")
    given = rest.get("scaling")
    return float(query.shape[-1] ** -0.5 if given is None else given)


def group_of_heads(length: int, heads: int, key_heads: int) -> tuple[int, int]:
    """Return how many key heads of a long input are formed at a time, and how many rows of each.

    Example:
        >>> group_of_heads(512, 12, 12), group_of_heads(2048, 12, 12), group_of_heads(2048, 12, 1)
        ((4, 256), (1, 256), (1, 21))
    """
    shared = heads // key_heads
    most = min(key_heads, max(1, BLOCK // (4 * length * min(length, ROWS) * shared)))
    return most, max(1, min(length, BLOCK // (4 * length * most * shared)))


def softmax_attention(
    query: Float[torch.Tensor, "heads rows size"],
    key: Float[torch.Tensor, "key_heads keys size"],
    value: Float[torch.Tensor, "key_heads keys width"],
    scale: float,
    additive: torch.Tensor | None = None,
    inside: Band | None = None,
    start: int = 0,
    out: torch.Tensor | None = None,
) -> tuple[Float[torch.Tensor, "heads rows width"], Float[torch.Tensor, "heads rows keys"]]:
    """Return the output and the weights of a block of one example, all in float32.

    Args:
        query: The queries; key heads are shared by as many query heads in order.
        key: The keys.
        value: The values; of width 0 where no output is needed.
        scale: Factor of the products.
        additive: Numbers to add to the scaled products, for all heads or by head; None for none.
        inside: The keys that queries see, by offset; None for all.
        start: Offset from the first key to the first query, where ``inside`` is given.
        out: Where the weights are written (heads, rows, keys), contiguous; None for new memory.
    """
    heads, rows, size = query.shape
    key_heads, keys = key.shape[:2]
    weights = query.new_empty((heads, rows, keys)) if out is None else out
    products = weights.view(key_heads, -1, keys)
    queries = query if key_heads == heads else query.reshape(key_heads, -1, size)
    torch.baddbmm(products, queries, key.mT, beta=0, alpha=scale, out=products)
    if additive is not None:
        weights += additive
    if inside is not None:
        _hide_outside(weights, inside, start)
    torch.softmax(weights, -1, out=weights)
    return torch.bmm(products, value).view(heads, rows, value.shape[2]), weights


def _hide_outside(logits: torch.Tensor, inside: Band, start: int) -> None:
    """Hide the keys outside a band of offsets in place, reading only keys that some query does not see."""
    _, rows, keys = logits.shape
    left = min(max(start + rows - 1 + inside.low, 0), keys)
    right = max(min(start + inside.high + 1, keys), left)
    query = start + torch.arange(rows, device=logits.device)[:, None]
    for first, last in ((0, left), (right, keys)):
        if first < last:
            offset = torch.arange(first, last, device=logits.device)[None] - query
            outside = (offset < inside.low) | (offset > inside.high)
            logits[..., first:last].masked_fill_(outside, torch.finfo(logits.dtype).min)
