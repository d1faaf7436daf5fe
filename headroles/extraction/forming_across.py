"""Cross attention formed beside the model: by its own eager function, in blocks of rows of joint examples."""

from typing import Any

import torch

from headroles.extraction import forming
from headroles.extraction.across import Crossing
from headroles.extraction.forward import Pass
from headroles.extraction.readers import GraphReader, LongReader


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
        step = forming.rows_at_once(tokens, query.shape[1], query.device)
        step = -(-tokens // running.trial) if running.trial else step
        keys = key[example, None, :, :read].to(kind)
        for start in range(0, tokens, step):
            stop, inner = min(start + step, tokens), min(start + step, said)
            rows = torch.zeros((query.shape[1], stop - start, read), device=query.device)
            if start < inner:
                here = slice(start, inner)
                seen, extra = _beside(mask, rest, example, here, read, kind)
                asked = query[example, None, :, here].to(kind)
                formed = forming.own_eager(module)(module, asked, keys, keys[..., :0], seen, **extra)[1]
                rows[:, : inner - start] = formed[0]
            _hand_over(running, crossing, mask, (example, start), rows)


def _hand_over(
    running: Pass, crossing: Crossing, mask: Any, place: tuple[int, int], rows: torch.Tensor
) -> None:
    """Give rows of a joint example, from one on, with their weights on the encoder, to the reader."""
    (example, start), reader = place, running.reader
    said, read = crossing.sides[example]
    assert not isinstance(reader, GraphReader)
    if said + read > forming.WHOLE and isinstance(reader, LongReader):
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
