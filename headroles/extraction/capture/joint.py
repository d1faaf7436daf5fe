"""Form the weights of cross attention, and hand them over as rows of joint examples."""

from typing import Any

import torch

from headroles.extraction.capture import weights as short
from headroles.extraction.capture.blocks import rows_per_block
from headroles.extraction.capture.cross import CrossLayout
from headroles.extraction.capture.readers import LongReader, Place, Reader
from headroles.extraction.capture.visible import ForwardPass
from headroles.extraction.capture.weights import LayerCall, eager_arguments, own_eager


def read_cross(running: ForwardPass, crossing: CrossLayout, call: LayerCall) -> None:
    """Form the weights of cross attention and hand them over as rows of joint examples, block by block.

    They are float32; in the check at load they have the model's precision and its number of blocks.
    """
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
    if decoder + encoder > short.WHOLE and isinstance(reader, LongReader):
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

    def own_bias(bias: torch.Tensor) -> torch.Tensor:
        own = bias[min(example, bias.shape[0] - 1)][None, :, _own_rows(bias, rows), :encoder]
        return own.to(dtype)

    additive = (
        None
        if mask is None
        else mask[min(example, mask.shape[0] - 1)][None, :, _own_rows(mask, rows), :encoder]
    )
    if additive is not None and additive.dtype == torch.bool:
        zeros = torch.zeros(additive.shape, dtype=dtype, device=additive.device)
        additive = zeros.masked_fill(~additive, torch.finfo(dtype).min)
    return None if additive is None else additive.to(dtype), eager_arguments(rest, own_bias)


def _own_rows(tensor: torch.Tensor, rows: slice) -> slice:
    """Return the rows, or the one row that stands for all queries."""
    return slice(None) if tensor.shape[2] == 1 else rows
