"""Form the attention weights of a batch of short examples outside the model, in float32.

They come from the model's own eager function, or from a plain softmax where the model computes just that.
``blocks`` forms the weights of long examples, and ``joint`` those of cross attention.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.nn.functional import pad

from headroles.extraction.capture.readers import OptionalBatchReader
from headroles.extraction.capture.softmax import scale_of, softmax_attention
from headroles.extraction.capture.visible import ForwardPass, hides_later_keys

WHOLE = 256
"""Most tokens of an example whose weights are formed at once; longer ones are formed in blocks of rows."""
EXAMPLES = 4
"""Examples whose weights a thread forms before it looks for more."""
LANES = 16
"""Most float32 numbers of a register of any processor that torch supports."""


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


def eager_arguments(rest: dict[str, Any], own_bias: Callable[[torch.Tensor], torch.Tensor]) -> dict[str, Any]:
    """Return the arguments of the eager function beside queries, keys, values and mask.

    Args:
        rest: Those of the call.
        own_bias: Cuts the part that is formed out of a bias of positions, where the call has one.
    """
    kept = {name: given for name, given in rest.items() if name not in ("is_causal", "position_bias")}
    bias = rest.get("position_bias")
    return kept if bias is None else kept | {"position_bias": own_bias(bias)}


def forms_output(query: torch.Tensor) -> bool:
    """Return whether the output of a layer is taken from the weights that are formed for readers.

    On a CPU in float32 that costs one product, while the library's fused kernel would form all weights once
    more. In half precision the output would have another precision than that of the plain model. Other
    devices have much faster kernels.
    """
    return query.device.type == "cpu" and query.dtype == torch.float32


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
        own = mask[min(example, mask.shape[0] - 1)][None, ..., :length]
        visible = own if own.shape[2] == 1 else own[:, :, rows]  # one row may stand for all
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


def _form_short(
    parts: QueryKeyValue, scale: float, added: torch.Tensor | None, least: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and weights of a packed example, rounded as in a padded batch.

    Sums of fewer numbers than a register holds are rounded differently. So ``least`` keys are formed even
    for a shorter example, and those beyond it are hidden.
    """
    query, key, value = parts
    size = query.shape[1]
    if size >= least:
        return softmax_attention(query, key, value, scale, added)
    missing, hidden = least - size, query.new_zeros(least)
    hidden[size:] = torch.finfo(query.dtype).min
    added = hidden if added is None else pad(added, (0, missing)) + hidden
    key, value = (pad(given, (0, 0, 0, missing)) for given in (key, value))
    output, weights = softmax_attention(query, key, value, scale, added)
    return output, weights[..., :size]


def _form_batch(call: LayerCall, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and weights of a batch by the model's own eager function."""
    query, key, _ = call.parts
    extra = eager_arguments(call.rest, torch.Tensor.float)
    additive = _additive_mask(call.mask, call.causal, query, query.shape[2])
    formed: tuple[torch.Tensor, torch.Tensor] = own_eager(call.module)(
        call.module, query.float(), key.float(), value.float(), additive, **extra
    )
    return formed


def form_examples(running: ForwardPass, call: LayerCall) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output (rows, tokens, heads, size) and padded weights of a batch, as a plain softmax.

    Each example is formed by itself, so that its weights stay in the cache until its output is taken. Where
    the model pads examples, padding is part of it, as in the model's own function: sums over fewer keys can
    round differently. Where examples are packed, the weights of padding are 0.
    """
    query, key, value = call.parts
    heads, lengths = query.shape[1], running.lengths
    examples, tokens = len(lengths), max(lengths) if running.packed else query.shape[2]
    weights = query.new_empty((examples, heads, tokens, tokens))
    if running.packed:
        weights.zero_()
    output = query.new_empty((query.shape[0], query.shape[2], heads, value.shape[3]))
    whole = running.visible_sets.open_examples(call.mask, call.causal)
    additive = _additive_mask(call.mask, call.causal, query, tokens)
    scale = scale_of(query, call.rest)

    def form(first: int) -> None:
        for example in range(first, min(first + EXAMPLES, examples)):
            row, own = running.part_of(example)
            parts = query[row][:, own], key[row][:, own], value[row][:, own]
            size, added = parts[0].shape[1], None
            if additive is not None and not (lengths[example] == size and whole[example]):
                added = additive[min(example, len(additive) - 1)][..., :size, :size]
            if size == tokens:
                formed, _ = softmax_attention(*parts, scale, added, out=weights[example])
            else:
                formed, block = _form_short(parts, scale, added, min(LANES, tokens))
                weights[example, :, :size, :size] = block
            output[row, own] = formed.transpose(0, 1)

    tasks = [partial(form, first) for first in range(0, examples, EXAMPLES)]
    running.threads.run(tasks, query.device)
    return output, weights


def _additive_mask(
    mask: torch.Tensor | None, causal: bool, query: torch.Tensor, tokens: int
) -> torch.Tensor | None:
    """Return the mask of a whole batch as numbers that are added to the logits of examples of some tokens."""
    if mask is None:
        if not causal:
            return None
        position = torch.arange(tokens, device=query.device)
        mask = (position[None, :] <= position[:, None])[None, None]
    if mask.dtype != torch.bool:
        return mask.float()
    lowest = torch.finfo(torch.float32).min
    return torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, lowest)
