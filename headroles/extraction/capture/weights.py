"""Form attention weights outside the model, in float32: by its own eager function, or as a plain softmax.

Weights of one example are formed in blocks of query rows, those of a batch of short examples at once,
and cross attention in blocks of rows of joint examples.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from headroles.extraction.capture.cross import CrossLayout
from headroles.extraction.capture.readers import (
    GraphReader,
    LongReader,
    OptionalBatchReader,
    Place,
    Reader,
    VisibleMask,
)
from headroles.extraction.capture.softmax import group_of_heads, scale_of, softmax_attention
from headroles.extraction.capture.visible import ForwardPass, hides_later_keys
from headroles.plans.masks import Band

WHOLE = 256
"""Most tokens of an example whose weights are formed at once; longer ones are formed in blocks of rows."""
CACHE = 8 * 2**20
"""Most bytes of one block of weights of all heads on a CPU, so that it stays in the cache."""
FEWEST_ROWS = 128
"""Fewest query rows of such a block; inputs whose blocks would have fewer are formed by groups of heads."""
GROUP = 2 * 2**20
"""Most bytes of one block of weights of a group of heads; a block of few heads has more rows."""
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


@dataclass(frozen=True, slots=True)
class LayerCall:
    """One call of the attention function of a layer.

    Attributes:
        module: The module that computes attention.
        parts: Queries, keys and values.
        mask: The mask of the call; None where it has none.
        rest: Its other arguments.
    """

    module: Any
    parts: QueryKeyValue
    mask: Any
    rest: dict[str, Any]

    @property
    def causal(self) -> bool:
        """Return whether later keys are hidden without a mask."""
        return hides_later_keys(self.module, self.parts[0], self.mask, self.rest)


def forms_output(query: torch.Tensor) -> bool:
    """Return whether the output of a layer is taken from the weights that are formed for readers.

    On a CPU in float32 that costs one product, while the library's fused kernel would form all weights once
    more. In half precision the output would have another precision than that of the plain model. Other
    devices have much faster kernels.
    """
    return query.device.type == "cpu" and query.dtype == torch.float32


def read_in_blocks(running: ForwardPass, call: LayerCall) -> torch.Tensor | None:
    """Form the weights by the model's own eager function and hand them to the readers, block by block.

    Keys that no query of a block can see are left out, and count as 0 where a reader takes whole rows.
    Weights are float32; in the check at load they have the model's precision and its number of blocks.

    Returns:
        The output (examples, queries, heads, size) of the layer from the same weights, 0 for padding; None
        where the model goes on with the output of another function.
    """
    if isinstance(running.reader, GraphReader):
        raise TypeError(
            "weights that are recomputed outside the model have no gradients; run it with 'headroles-eager'"
        )
    query, _, value = call.parts
    output = None
    if forms_output(query) and running.reads_all and running.trial != 1:
        output = query.new_zeros((query.shape[0], query.shape[2], query.shape[1], value.shape[-1]))
    for example in range(len(running.lengths)):
        _read_example(running, call, example, None if output is None else output[example])
    return output


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of the weights of one example: some heads, their key heads, some queries and some keys."""

    heads: slice
    key_heads: slice
    rows: slice
    keys: slice


def _read_example(running: ForwardPass, call: LayerCall, example: int, output: torch.Tensor | None) -> None:
    """Form the weights of one example and hand them over; write its output (queries, heads, size)."""
    (query, key, value), length = call.parts, running.lengths[example]
    parts = query[example], key[example, :, :length], value[example, :, :length]
    norms = running.norms_of(value[example : example + 1, :, :length])
    if output is None:
        parts = (*parts[:2], parts[2][..., :0])  # without an output, values are not multiplied
    visible = None
    if length > WHOLE or running.trial > 1:
        visible = running.visible_sets.visible_mask(call.mask, call.causal, example)
    for heads, key_heads, step in _cut(running, length, query, key):
        for start in range(0, length, step):
            rows = slice(start, min(start + step, length))
            keys = slice(*visible_key_range(visible, rows.start, rows.stop, length))
            block = _Block(heads, key_heads, rows, keys)
            formed, weights = _form_block(running, call, example, parts, block)
            if output is not None:
                output[rows, heads] = formed
            place = Place(running.layer, example, heads, start, keys.start)
            kept = None if norms is None else norms[0, heads, keys]
            for reader, given in running.readings(weights.float().to(running.home), kept):
                _hand_over(running, reader, (call.mask, call.causal), place, given)


def _form_block(
    running: ForwardPass, call: LayerCall, example: int, parts: QueryKeyValue, block: _Block
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output (queries, heads, size) and weights (heads, queries, keys) of a block.

    They are float32; in the check at load they have the model's precision.
    """
    dtype = parts[0].dtype if running.trial else torch.float32
    query = parts[0][block.heads, block.rows].to(dtype)
    key, value = (part[block.key_heads, block.keys].to(dtype) for part in parts[1:])
    length, mask = running.lengths[example], call.mask
    visible: VisibleMask = None
    by_offset = (length > WHOLE or running.trial > 1) and (mask is None or mask.dtype == torch.bool)
    if by_offset:
        visible = running.visible_sets.visible_mask(mask, call.causal, example)
        by_offset = visible is None or (running.plain and isinstance(visible, Band))
    additive = None
    if not by_offset:
        additive = block_mask(mask, call.causal, example, block.rows, length, dtype, key.device)
        additive = None if additive is None else _of_heads(additive, block.heads)[..., block.keys]
    if running.plain:
        band = visible if by_offset and isinstance(visible, Band) else None
        added = None if additive is None else additive[0]
        start = block.rows.start - block.keys.start
        output, weights = softmax_attention(query, key, value, scale_of(query, call.rest), added, band, start)
        return output.transpose(0, 1), weights
    rest = _other_arguments(call.rest, example, block, dtype)
    output, weights = own_eager(call.module)(
        call.module, query[None], key[None], value[None], additive, **rest
    )
    return output[0], weights[0]


def _other_arguments(rest: dict[str, Any], example: int, block: _Block, dtype: torch.dtype) -> dict[str, Any]:
    """Return the other arguments of the eager function for a block."""
    extra = {name: value for name, value in rest.items() if name not in ("is_causal", "position_bias")}
    bias = rest.get("position_bias")
    if bias is not None:
        own = bias[min(example, bias.shape[0] - 1)][None, :, block.rows, block.keys]
        extra["position_bias"] = _of_heads(own, block.heads).to(dtype)
    return extra


def _of_heads(tensor: torch.Tensor, heads: slice) -> torch.Tensor:
    """Return the part (1, heads, ...) of some heads, or the one part that stands for all heads."""
    return tensor if tensor.shape[1] == 1 else tensor[:, heads]


def _cut(
    running: ForwardPass, length: int, query: torch.Tensor, key: torch.Tensor
) -> list[tuple[slice, slice, int]]:
    """Return the groups of heads: their query heads, their key heads, and the number of rows at a time.

    All heads are one group, unless the input is long, the pass may form groups of heads, and a group has at
    least as many rows at a time as all heads would have. A group has all query heads of its key heads, which
    may be many. In the check at load every input is cut.
    """
    heads, key_heads, trial = query.shape[1], key.shape[1], running.trial
    rows = step = rows_per_block(length, heads, query.device)
    split = running.by_heads and heads % key_heads == 0
    if trial:
        rows = step = -(-length // trial)
        most = -(-key_heads // trial)
    elif running.plain:
        most, step = group_of_heads(length, heads, key_heads)
        split = split and length > WHOLE
    else:
        most = max(1, GROUP * key_heads // (4 * FEWEST_ROWS * length * heads))
        step = max(1, GROUP * key_heads // (4 * length * heads * most))
        split = (
            split and query.device.type == "cpu" and length > WHOLE and rows < FEWEST_ROWS and step >= rows
        )
    if not split:
        return [(slice(0, heads), slice(0, key_heads), rows)]
    shared, groups = heads // key_heads, []
    for first in range(0, key_heads, most):
        last = min(first + most, key_heads)
        groups.append((slice(first * shared, last * shared), slice(first, last), step))
    return groups


def rows_per_block(length: int, heads: int, device: torch.device) -> int:
    """Return how many query rows of all heads are formed at a time."""
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
    running: ForwardPass, reader: Reader, hidden: tuple[Any, bool], place: Place, rows: torch.Tensor
) -> None:
    """Give a reader a block of rows; ``hidden`` is the mask, and whether later keys are hidden without it."""
    length = running.lengths[place.example]
    taker = running.long_reader(reader)
    if taker is not None and (length > WHOLE or running.trial):
        taker.read_rows(place, rows, running.visible_sets.visible_mask(*hidden, place.example))
        return
    if rows.shape[2] < length:
        rows = torch.nn.functional.pad(rows, (place.first, length - place.first - rows.shape[2]))
    visible = running.visible_sets.array(*hidden, place.example)
    reader.read(place.layer, place.example, place.start, rows, visible)


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


def read_whole_batch(running: ForwardPass, call: LayerCall) -> tuple[bool, torch.Tensor | None]:
    """Form a layer's weights (examples, heads, tokens, tokens) and hand them over, for readers of batches.

    Where examples are short, or the device is not a CPU, one operation on all of them takes hardly longer
    than one on a single example.

    Returns:
        Whether it was done, and the output of the layer as ``read_in_blocks`` returns it. It is not done in
        the check at load, nor for a reader that takes examples one by one.
    """
    reader = running.reader
    if running.trial or not isinstance(reader, OptionalBatchReader) or not reader.together:
        return False, None
    value = call.parts[2]
    one_pass = forms_output(call.parts[0]) and running.reads_all
    if running.plain:
        output, weights = form_examples(running, call)
    else:
        output, weights = _form_batch(call, value if one_pass else value[..., :0])
    visible = running.visible_sets.arrays(call.mask, call.causal)
    for taker, taken in running.readings(weights.float().to(running.home), running.norms_of(value)):
        assert isinstance(taker, OptionalBatchReader)
        taker.read_batch(running.layer, taken, visible)
    return True, output if one_pass else None


def _form_batch(call: LayerCall, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and weights of a batch by the model's own eager function."""
    (query, key, _), bias = call.parts, call.rest.get("position_bias")
    extra = {name: given for name, given in call.rest.items() if name not in ("is_causal", "position_bias")}
    if bias is not None:
        extra["position_bias"] = bias.float()
    additive = _additive_mask(call.mask, call.causal, query)
    formed: tuple[torch.Tensor, torch.Tensor] = own_eager(call.module)(
        call.module, query.float(), key.float(), value.float(), additive, **extra
    )
    return formed


def form_examples(running: ForwardPass, call: LayerCall) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output (examples, tokens, heads, size) and weights of a padded batch, as a plain softmax.

    Each example is formed by itself, so that its weights stay in the cache until its output is taken.
    Padding is part of it, as in the model's own function: sums over fewer keys can round differently.
    """
    query, key, value = call.parts
    examples, heads, tokens, _ = query.shape
    weights = query.new_empty((examples, heads, tokens, tokens))
    output = query.new_empty((examples, tokens, heads, value.shape[3]))
    whole = running.visible_sets.open_examples(call.mask, call.causal)
    additive = _additive_mask(call.mask, call.causal, query)
    scale = scale_of(query, call.rest)
    for example, n in enumerate(running.lengths):
        added = None
        if additive is not None and not (n == tokens and whole[example]):
            added = additive[min(example, len(additive) - 1)]
        formed, _ = softmax_attention(
            query[example], key[example], value[example], scale, added, out=weights[example]
        )
        output[example] = formed.transpose(0, 1)
    return output, weights


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


def read_cross(running: ForwardPass, crossing: CrossLayout, call: LayerCall) -> None:
    """Form the weights of cross attention and hand them over as rows of joint examples, block by block.

    They are float32; in the check at load they have the model's precision and its number of blocks.
    """
    if isinstance(running.reader, GraphReader):
        raise TypeError(
            "weights that are recomputed outside the model have no gradients; run it with 'headroles-eager'"
        )
    module, (query, key, value), mask, rest = call.module, call.parts, call.mask, call.rest
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
        block = Place(running.layer, example, slice(0, rows.shape[0]), start, decoder)
        reader.read_rows(block, rows, crossing.visible_mask(mask, example))
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
