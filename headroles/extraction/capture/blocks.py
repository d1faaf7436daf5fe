"""Form the weights of long examples in blocks of query rows, and hand each block to the readers.

They come from the model's own eager function, or from a plain softmax where the model computes just that.
Groups of heads are read by different threads.
"""

from dataclasses import dataclass
from functools import partial

import torch

from headroles.extraction.capture import weights as short
from headroles.extraction.capture.readers import Place, Reader, VisibleMask
from headroles.extraction.capture.softmax import group_of_heads, scale_of, softmax_attention
from headroles.extraction.capture.visible import ForwardPass
from headroles.extraction.capture.weights import (
    LayerCall,
    QueryKeyValue,
    block_mask,
    eager_arguments,
    forms_output,
    own_eager,
)
from headroles.plans.masks import Band

CACHE = 8 * 2**20
"""Most bytes of one block of weights of all heads on a CPU, so that it stays in the cache."""
FEWEST_ROWS = 128
"""Fewest query rows of such a block; inputs whose blocks would have fewer are formed by groups of heads."""
GROUP = 2 * 2**20
"""Most bytes of one block of weights of a group of heads; a block of few heads has more rows."""
ROOM = 2**27
"""Most bytes of one block on other devices, where many small blocks would take longer."""


def read_in_blocks(running: ForwardPass, call: LayerCall) -> torch.Tensor | None:
    """Form the weights and hand them to the readers, block by block.

    Keys that no query of a block can see are left out, and count as 0 where a reader takes whole rows.
    Weights are float32; in the check at load they have the model's precision and its number of blocks.

    Returns:
        The output (examples, queries, heads, size) of the layer from the same weights, 0 for padding; None
        where the model goes on with the output of another function.
    """
    query, _, value = call.parts
    output = None
    if forms_output(query) and running.reads_all and running.trial != 1:
        output = query.new_zeros((query.shape[0], query.shape[2], query.shape[1], value.shape[-1]))
    for example in range(len(running.lengths)):
        _ExampleBlocks(running, call, example, None if output is None else output[example]).read()
    return output


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of the weights of one example: some heads, their key heads, some queries and some keys."""

    heads: slice
    key_heads: slice
    rows: slice
    keys: slice


class _ExampleBlocks:
    """The weights of one example in one layer, block by block."""

    def __init__(
        self, running: ForwardPass, call: LayerCall, example: int, output: torch.Tensor | None
    ) -> None:
        """Take a layer's call, the example, and where its output (queries, heads, size) is written."""
        self._running, self._call, self._example, self._output = running, call, example, output
        self._length = running.lengths[example]
        query, key, value = (part[example] for part in call.parts)
        key, value = key[:, : self._length], value[:, : self._length]
        self._value = value
        self._norms = None if running.gated else running.norms_of(value[None])
        value = value if output is not None else value[..., :0]  # without an output, it is not multiplied
        self._parts: QueryKeyValue = query, key, value
        self._in_blocks = self._length > short.WHOLE or running.trial > 1
        self._visible: VisibleMask = None
        if self._in_blocks:
            self._visible = running.visible_sets.visible_mask(call.mask, call.causal, example)
        self._by_rule = self._in_blocks and (call.mask is None or call.mask.dtype == torch.bool)

    def read(self) -> None:
        """Form all weights, hand them over, and write the output."""
        query, key = self._call.parts[:2]
        groups = cut_heads(self._running, self._length, query, key)
        tasks = [partial(self._read_heads, *group) for group in groups]
        self._running.threads.run(tasks, query.device)

    def _read_heads(self, heads: slice, key_heads: slice, step: int) -> None:
        """Form the weights of a group of heads, some rows at a time."""
        for start in range(0, self._length, step):
            rows = slice(start, min(start + step, self._length))
            keys = slice(*visible_key_range(self._visible, rows.start, rows.stop, self._length))
            output, weights = self._form(_Block(heads, key_heads, rows, keys))
            if self._output is not None:
                self._output[rows, heads] = output
            place = Place(self._running.layer, self._example, heads, start, keys.start)
            norms = None if self._norms is None else self._norms[0, heads, :, keys]
            if self._running.gated:
                own = slice(self._example, self._example + 1)
                gated = self._running.norms_of(self._value[None, key_heads, keys], own, rows, heads)
                norms = None if gated is None else gated[0]
            home = weights.float().to(self._running.home)
            for reader, given in self._running.readings(home, norms):
                self._hand_over(reader, place, given)

    def _form(self, block: _Block) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output (queries, heads, size) and weights (heads, queries, keys) of a block.

        They are float32; in the check at load they have the model's precision.
        """
        dtype = self._parts[0].dtype if self._running.trial else torch.float32
        query = self._parts[0][block.heads, block.rows].to(dtype)
        key, value = (part[block.key_heads, block.keys].to(dtype) for part in self._parts[1:])
        if not self._running.plain:
            additive = self._additive(block, dtype)
            rest = eager_arguments(self._call.rest, partial(self._own_bias, block, dtype))
            parts = (part[None] for part in (query, key, value))
            output, weights = own_eager(self._call.module)(self._call.module, *parts, additive, **rest)
            return output[0], weights[0]
        band = self._visible if self._by_rule and isinstance(self._visible, Band) else None
        additive = None if band is not None else self._additive(block, dtype)
        output, weights = softmax_attention(
            query,
            key,
            value,
            scale_of(query, self._call.rest),
            None if additive is None else additive[0],
            band,
            block.rows.start - block.keys.start,
        )
        return output.transpose(0, 1), weights

    def _additive(self, block: _Block, dtype: torch.dtype) -> torch.Tensor | None:
        """Return what is added to the logits of a block (1, 1 or heads, queries, keys); None for nothing."""
        if self._by_rule and self._visible is None:
            return None
        mask, causal = self._call.mask, self._call.causal
        device = self._parts[1].device
        added = block_mask(mask, causal, self._example, block.rows, self._length, dtype, device)
        return None if added is None else _of_heads(added, block.heads)[..., block.keys]

    def _own_bias(self, block: _Block, dtype: torch.dtype, bias: torch.Tensor) -> torch.Tensor:
        """Return the bias of positions of a block."""
        own = bias[min(self._example, bias.shape[0] - 1)][None, :, block.rows, block.keys]
        return _of_heads(own, block.heads).to(dtype)

    def _hand_over(self, reader: Reader, place: Place, rows: torch.Tensor) -> None:
        """Give a reader a block of rows."""
        running, length = self._running, self._length
        hidden = self._call.mask, self._call.causal
        taker = running.long_reader(reader)
        if taker is not None and (length > short.WHOLE or running.trial):
            taker.read_rows(place, rows, running.visible_sets.visible_mask(*hidden, place.example))
            return
        if rows.shape[2] < length:
            rows = torch.nn.functional.pad(rows, (place.first, length - place.first - rows.shape[2]))
        visible = running.visible_sets.array(*hidden, place.example)
        reader.read(place.layer, place.example, place.start, rows, visible)


def _of_heads(tensor: torch.Tensor, heads: slice) -> torch.Tensor:
    """Return the part (1, heads, ...) of some heads, or the one part that stands for all heads."""
    return tensor if tensor.shape[1] == 1 else tensor[:, heads]


def cut_heads(
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
        split = split and length > short.WHOLE
    else:
        most = max(1, GROUP * key_heads // (4 * FEWEST_ROWS * length * heads))
        step = max(1, GROUP * key_heads // (4 * length * heads * most))
        long = query.device.type == "cpu" and length > short.WHOLE
        split = split and long and rows < FEWEST_ROWS and step >= rows
    if not split:
        return [(slice(0, heads), slice(0, key_heads), rows)]
    shared, groups = heads // key_heads, []
    for first in range(0, key_heads, most):
        last = min(first + most, key_heads)
        groups.append((slice(first * shared, last * shared), slice(first, last), step))
    return groups


def rows_per_block(length: int, heads: int, device: torch.device) -> int:
    """Return how many query rows of all heads are formed at a time."""
    if length <= short.WHOLE:
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
