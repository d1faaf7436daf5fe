"""Form attention weights outside the model, by its own eager function, in float32.

Weights of one example are formed in blocks of query rows, those of a batch of short examples at once,
and cross attention in blocks of rows of joint examples.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch

from headroles.extraction.capture.cross import CrossLayout
from headroles.extraction.capture.readers import (
    GraphReader,
    LongReader,
    OptionalBatchReader,
    Reader,
    VisibleMask,
)
from headroles.extraction.capture.visible import ForwardPass, hides_later_keys
from headroles.plans.masks import Band

WHOLE = 256
"""Most tokens of an example whose weights are formed at once; longer ones are formed in blocks of rows."""
CACHE = 8 * 2**20
"""Most bytes of one block of weights on a CPU, so that it stays in the cache."""
ROOM = 2**27
"""Most bytes of one block on other devices, where many small blocks would take longer."""


def own_eager(module: torch.nn.Module) -> Callable[..., Any]:
    """Return the eager attention function of the module's own file, or of a base class's file."""
    for base in type(module).__mro__:
        function = getattr(sys.modules.get(base.__module__), "eager_attention_forward", None)
        if function is not None:
            return function  # type: ignore[no-any-return]
    raise LookupError(f"{type(module).__name__} has no eager attention function")


QueryKeyValue = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Queries (examples, heads, queries, size), and keys and values (examples, key heads, keys, size)."""


def read_in_blocks(
    running: ForwardPass, module: Any, parts: QueryKeyValue, mask: Any, rest: dict[str, Any]
) -> None:
    """Form the weights by the model's own eager function and hand them to the readers, block by block.

    Keys that no query of a block can see are left out, and count as 0 where a reader takes whole rows.
    Weights are float32; in the check at load they have the model's precision and its number of blocks.
    """
    if isinstance(running.reader, GraphReader):
        raise TypeError(
            "weights that are recomputed outside the model have no gradients; run it with 'headroles-eager'"
        )
    query, key, value = parts
    causal = hides_later_keys(module, query, mask, rest)
    for example, length in enumerate(running.lengths):
        dtype = query.dtype if running.trial else torch.float32
        keys = key[example : example + 1, :, :length].to(dtype)
        norms = running.norms_of(value[example : example + 1, :, :length])
        in_blocks = length > WHOLE or running.trial > 1
        visible = running.visible_sets.visible_mask(mask, causal, example) if in_blocks else None
        step = rows_per_block(length, query.shape[1], query.device)
        step = -(-length // running.trial) if running.trial else step
        for start in range(0, length, step):
            stop = min(start + step, length)
            first, last = visible_key_range(visible, start, stop, length)
            block = block_mask(mask, causal, example, slice(start, stop), length, dtype, keys.device)
            extra = {
                name: value for name, value in rest.items() if name not in ("is_causal", "position_bias")
            }
            bias = rest.get("position_bias")
            if bias is not None:
                bias = bias[min(example, bias.shape[0] - 1)][None, :, start:stop, first:last].to(dtype)
                extra["position_bias"] = bias
            queries = query[example : example + 1, :, start:stop].to(dtype)
            additive = None if block is None else block[..., first:last]
            visible_keys = keys[:, :, first:last]
            _, weights = own_eager(module)(
                module, queries, visible_keys, visible_keys[..., :0], additive, **extra
            )
            own = None if norms is None else norms[0, :, first:last]
            for reader, rows in running.readings(weights[0].float().to(running.home), own):
                _hand_over(running, reader, mask, causal, (example, start, first), rows)


def rows_per_block(length: int, heads: int, device: torch.device) -> int:
    """Return how many query rows are formed at a time."""
    if length <= WHOLE:
        return length
    room = CACHE if device.type == "cpu" else ROOM
    return max(1, room // (4 * heads * length))


def visible_key_range(visible: VisibleMask, start: int, stop: int, length: int) -> tuple[int, int]:
    """Return the first and one past the last key that some queries can see; all where that is not a band.

    Example:
        >>> visible_key_range(Band(-2, 0, 9), 4, 6, 9)
        (2, 6)
    """
    if not isinstance(visible, Band):
        return 0, length
    first, last = max(0, start + visible.low), min(length, stop + visible.high)
    return (first, last) if first < last else (0, length)


def _hand_over(
    running: ForwardPass,
    reader: Reader,
    mask: Any,
    causal: bool,
    place: tuple[int, int, int],
    rows: torch.Tensor,
) -> None:
    """Give a reader rows of an example, from one query on and for keys from a first one on."""
    example, start, first = place
    length = running.lengths[example]
    if length > WHOLE and isinstance(reader, LongReader):
        visible = running.visible_sets.visible_mask(mask, causal, example)
        reader.read_rows(running.layer, example, start, rows, first, visible)
        return
    if rows.shape[2] < length:
        rows = torch.nn.functional.pad(rows, (first, length - first - rows.shape[2]))
    reader.read(running.layer, example, start, rows, running.visible_sets.array(mask, causal, example))


def block_mask(
    mask: torch.Tensor | None,
    causal: bool,
    example: int,
    rows: slice,
    length: int,
    kind: torch.dtype,
    device: torch.device,
) -> torch.Tensor | None:
    """Return the additive mask of a block of query rows of one example; None where all keys are visible."""
    if mask is None:
        if not causal:
            return None
        position = torch.arange(length, device=device)
        visible = (position[None, :] <= position[rows, None])[None, None]
    else:
        visible = mask[min(example, mask.shape[0] - 1)][None, :, rows, :length]
        if visible.dtype != torch.bool:
            return visible.to(kind)
    return torch.zeros(visible.shape, dtype=kind, device=device).masked_fill(~visible, torch.finfo(kind).min)


def read_whole_batch(
    running: ForwardPass, module: Any, parts: QueryKeyValue, mask: Any, rest: dict[str, Any]
) -> bool:
    """Form a layer's weights (examples, heads, tokens, tokens) and hand them over, for readers of batches.

    Where examples are short, or the device is not a CPU, one operation on all of them takes hardly longer
    than one on a single example.

    Returns:
        Whether it was done: not in the check at load, nor for a reader that takes examples one by one.
    """
    reader = running.reader
    if running.trial or not isinstance(reader, OptionalBatchReader) or not reader.together:
        return False
    query, key, value = parts
    causal = hides_later_keys(module, query, mask, rest)
    extra = {name: given for name, given in rest.items() if name not in ("is_causal", "position_bias")}
    if rest.get("position_bias") is not None:
        extra["position_bias"] = rest["position_bias"].float()
    keys = key.float()
    additive = _additive_mask(mask, causal, query)
    _, weights = own_eager(module)(module, query.float(), keys, keys[..., :0], additive, **extra)
    visible = running.visible_sets.arrays(mask, causal)
    for taker, taken in running.readings(weights.float().to(running.home), running.norms_of(value)):
        assert isinstance(taker, OptionalBatchReader)
        taker.read_batch(running.layer, taken, visible)
    return True


def _additive_mask(mask: torch.Tensor | None, causal: bool, query: torch.Tensor) -> torch.Tensor | None:
    """Return the mask of a whole batch as numbers that are added to the logits."""
    if mask is None:
        if not causal:
            return None
        position = torch.arange(query.shape[2], device=query.device)
        mask = (position[None, :] <= position[:, None])[None, None]
    if mask.dtype != torch.bool:
        return mask.float()
    lowest = torch.finfo(torch.float32).min
    return torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, lowest)


def read_cross(
    running: ForwardPass,
    crossing: CrossLayout,
    module: Any,
    parts: QueryKeyValue,
    mask: Any,
    rest: dict[str, Any],
) -> None:
    """Form the weights of cross attention and hand them over as rows of joint examples, block by block.

    They are float32; in the check at load they have the model's precision and its number of blocks.
    """
    if isinstance(running.reader, GraphReader):
        raise TypeError(
            "weights that are recomputed outside the model have no gradients; run it with 'headroles-eager'"
        )
    query, key, value = parts
    dtype = query.dtype if running.trial else torch.float32
    for example, (decoder, encoder) in enumerate(crossing.sides):
        tokens = decoder + encoder
        step = rows_per_block(tokens, query.shape[1], query.device)
        step = -(-tokens // running.trial) if running.trial else step
        keys = key[example, None, :, :encoder].to(dtype)
        norms = running.norms_of(value[example, None, :, :encoder])
        for start in range(0, tokens, step):
            stop, last_row = min(start + step, tokens), min(start + step, decoder)
            rows = torch.zeros((query.shape[1], stop - start, encoder), device=query.device)
            if start < last_row:
                block = slice(start, last_row)
                additive, extra = _block_arguments(mask, rest, example, block, encoder, dtype)
                queries = query[example, None, :, block].to(dtype)
                weights = own_eager(module)(module, queries, keys, keys[..., :0], additive, **extra)[1]
                rows[:, : last_row - start] = weights[0]
            own = None if norms is None else norms[0]
            for reader, taken in running.readings(rows.to(running.home), own):
                _hand_over_cross(running, reader, crossing, mask, (example, start), taken)


def _hand_over_cross(
    running: ForwardPass,
    reader: Reader,
    crossing: CrossLayout,
    mask: Any,
    place: tuple[int, int],
    rows: torch.Tensor,
) -> None:
    """Give a reader rows of a joint example, from one query on, with their weights on the encoder."""
    example, start = place
    decoder, encoder = crossing.sides[example]
    if decoder + encoder > WHOLE and isinstance(reader, LongReader):
        reader.read_rows(running.layer, example, start, rows, decoder, crossing.visible_mask(mask, example))
        return
    whole = torch.nn.functional.pad(rows, (decoder, 0))
    reader.read(running.layer, example, start, whole, crossing.array(mask, example))


def _block_arguments(
    mask: torch.Tensor | None,
    rest: dict[str, Any],
    example: int,
    rows: slice,
    encoder: int,
    dtype: torch.dtype,
) -> tuple[torch.Tensor | None, dict[str, Any]]:
    """Return the additive mask and the other arguments of the eager function for a block of query rows."""
    extra = {name: value for name, value in rest.items() if name not in ("is_causal", "position_bias")}
    additive = (
        None
        if mask is None
        else mask[min(example, mask.shape[0] - 1)][None, :, _own_rows(mask, rows), :encoder]
    )
    if additive is not None and additive.dtype == torch.bool:
        zeros = torch.zeros(additive.shape, dtype=dtype, device=additive.device)
        additive = zeros.masked_fill(~additive, torch.finfo(dtype).min)
    bias = rest.get("position_bias")
    if bias is not None:
        own = bias[min(example, bias.shape[0] - 1)][None, :, _own_rows(bias, rows), :encoder]
        extra["position_bias"] = own.to(dtype)
    return None if additive is None else additive.to(dtype), extra


def _own_rows(tensor: torch.Tensor, rows: slice) -> slice:
    """Return the rows, or the one row that stands for all queries."""
    return slice(None) if tensor.shape[2] == 1 else rows
