"""Weights formed beside the model: by its own eager function, in blocks of query rows, in float32.

Weights of a whole batch formed beside the model at once, by its own eager function, in float32.

Cross attention formed beside the model: by its own eager function, in blocks of rows of joint examples.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch

from headroles.extraction.capture.cross import Crossing
from headroles.extraction.capture.readers import GraphReader, LongReader, Shown, TogetherReader
from headroles.extraction.capture.visible import Pass, hides_later
from headroles.plans.masks import Band

WHOLE = 256
"""Up to this many tokens an example's weights are formed at once; beyond, in blocks of query rows."""
CACHE = 8 * 2**20
"""Bytes that one block of weights may take, so that it stays in the processor's cache."""
ROOM = 2**27
"""The same on other devices, where many small blocks would take longer."""


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

    Keys that no query of a block can see are left out, and count as 0 where a reader wants whole rows. In
    float32; on trial in the model's precision, in as many blocks as are to be tried.
    """
    if isinstance(running.reader, GraphReader):
        raise TypeError("weights formed beside the model have no gradients; run it with 'headroles-eager'")
    causal = hides_later(module, query, mask, rest)
    for example, length in enumerate(running.lengths):
        kind = query.dtype if running.trial else torch.float32
        keys = key[example : example + 1, :, :length].to(kind)
        cut = length > WHOLE or running.trial > 1
        shown = running.seen.shown(mask, causal, example) if cut else None
        step = rows_at_once(length, query.shape[1], query.device)
        step = -(-length // running.trial) if running.trial else step
        for start in range(0, length, step):
            stop = min(start + step, length)
            first, last = reach(shown, start, stop, length)
            block = block_mask(mask, causal, example, slice(start, stop), length, kind, keys.device)
            extra = {name: each for name, each in rest.items() if name not in ("is_causal", "position_bias")}
            bias = rest.get("position_bias")
            if bias is not None:
                bias = bias[min(example, bias.shape[0] - 1)][None, :, start:stop, first:last].to(kind)
                extra["position_bias"] = bias
            asked = query[example : example + 1, :, start:stop].to(kind)
            seen = None if block is None else block[..., first:last]
            there = keys[:, :, first:last]
            _, weights = own_eager(module)(module, asked, there, there[..., :0], seen, **extra)
            _hand_over(running, mask, causal, (example, start, first), weights[0].float())


def rows_at_once(length: int, heads: int, device: torch.device) -> int:
    """How many query rows are formed at a time."""
    if length <= WHOLE:
        return length
    room = CACHE if device.type == "cpu" else ROOM
    return max(1, room // (4 * heads * length))


def reach(shown: Shown, start: int, stop: int, length: int) -> tuple[int, int]:
    """First and one past the last key that some queries can see; all where that is not a band.

    Example:
        >>> reach(Band(-2, 0, 9), 4, 6, 9)
        (2, 6)
    """
    if not isinstance(shown, Band):
        return 0, length
    first, last = max(0, start + shown.low), min(length, stop + shown.high)
    return (first, last) if first < last else (0, length)


def _hand_over(
    running: Pass, mask: Any, causal: bool, place: tuple[int, int, int], rows: torch.Tensor
) -> None:
    """Give rows of an example from a query on, to keys from a first one on, to the reader."""
    (example, start, first), reader = place, running.reader
    length = running.lengths[example]
    assert not isinstance(reader, GraphReader)
    if length > WHOLE and isinstance(reader, LongReader):
        shown = running.seen.shown(mask, causal, example)
        reader.read_rows(running.layer, example, start, rows, first, shown)
        return
    if rows.shape[2] < length:
        rows = torch.nn.functional.pad(rows, (first, length - first - rows.shape[2]))
    reader.read(running.layer, example, start, rows, running.seen.of(mask, causal, example))


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


def read_across(
    running: Pass,
    crossing: Crossing,
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    mask: Any,
    rest: dict[str, Any],
) -> None:
    """Form the weights of cross attention and hand them over as rows of joint examples, block by block.

    In float32; on trial in the model's precision, in as many blocks as are to be tried.
    """
    if isinstance(running.reader, GraphReader):
        raise TypeError("weights formed beside the model have no gradients; run it with 'headroles-eager'")
    kind = query.dtype if running.trial else torch.float32
    for example, (said, read) in enumerate(crossing.sides):
        tokens = said + read
        step = rows_at_once(tokens, query.shape[1], query.device)
        step = -(-tokens // running.trial) if running.trial else step
        keys = key[example, None, :, :read].to(kind)
        for start in range(0, tokens, step):
            stop, inner = min(start + step, tokens), min(start + step, said)
            rows = torch.zeros((query.shape[1], stop - start, read), device=query.device)
            if start < inner:
                here = slice(start, inner)
                seen, extra = _beside(mask, rest, example, here, read, kind)
                asked = query[example, None, :, here].to(kind)
                formed = own_eager(module)(module, asked, keys, keys[..., :0], seen, **extra)[1]
                rows[:, : inner - start] = formed[0]
            _hand_over_cross(running, crossing, mask, (example, start), rows)


def _hand_over_cross(
    running: Pass, crossing: Crossing, mask: Any, place: tuple[int, int], rows: torch.Tensor
) -> None:
    """Give rows of a joint example, from one on, with their weights on the encoder, to the reader."""
    (example, start), reader = place, running.reader
    said, read = crossing.sides[example]
    assert not isinstance(reader, GraphReader)
    if said + read > WHOLE and isinstance(reader, LongReader):
        reader.read_rows(running.layer, example, start, rows, said, crossing.shown(mask, example))
        return
    whole = torch.nn.functional.pad(rows, (said, 0))
    reader.read(running.layer, example, start, whole, crossing.of(mask, example))


def _beside(
    mask: torch.Tensor | None, rest: dict[str, Any], example: int, rows: slice, read: int, kind: torch.dtype
) -> tuple[torch.Tensor | None, dict[str, Any]]:
    """The additive mask, and what else the eager function gets, for a block of query rows of one example."""
    extra = {name: each for name, each in rest.items() if name not in ("is_causal", "position_bias")}
    seen = (
        None if mask is None else mask[min(example, mask.shape[0] - 1)][None, :, _within(mask, rows), :read]
    )
    if seen is not None and seen.dtype == torch.bool:
        hidden = torch.zeros(seen.shape, dtype=kind, device=seen.device)
        seen = hidden.masked_fill(~seen, torch.finfo(kind).min)
    bias = rest.get("position_bias")
    if bias is not None:
        own = bias[min(example, bias.shape[0] - 1)][None, :, _within(bias, rows), :read]
        extra["position_bias"] = own.to(kind)
    return None if seen is None else seen.to(kind), extra


def _within(each: torch.Tensor, rows: slice) -> slice:
    """The rows, or the one row that stands for all queries."""
    return slice(None) if each.shape[2] == 1 else rows
