"""Reading attention while a model runs: the weights of each layer pass by and are dropped.

Two names are registered with transformers' attention interfaces. ``headroles-eager`` uses the eager
mask and the model's own eager attention, whose weights it reads. ``headroles`` uses the sdpa mask and
returns the library's sdpa output, so the model's activations are those of the plain model; the
weights are formed beside it by the model's own eager function, in float32. Models outside the
interface run eagerly with ``output_attentions=True``.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask, sdpa_mask

from headroles.extraction.readers import BatchReader, GraphReader, Reader, Visible

FUSED, EAGER, RETURNED = "headroles", "headroles-eager", "output_attentions"
WHOLE = 256
"""Up to this many tokens an example's weights are formed at once; beyond, in blocks of query rows."""
CACHE = 8 * 2**20
"""Bytes that one block of weights may take, so that it stays in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Way:
    """How attention is read: by which registered name, or as returned by the model.

    Attributes:
        name: "headroles", "headroles-eager" or "output_attentions".
        causal: Whether every layer hides later keys; returned attention comes without its mask, so
            this is all that is known of it, and elsewhere plans are made by it beforehand.
    """

    name: str
    causal: bool = False


class _Pass:
    """One forward pass: which call it is at, and what each mask lets be seen."""

    def __init__(self, reader: Reader | GraphReader, lengths: Sequence[int], trial: int) -> None:
        self.reader = reader
        self.lengths = lengths
        self.trial = trial
        self.layer = 0
        self._seen: list[tuple[object, bool, list[Visible]]] = []

    def visible(self, mask: torch.Tensor | None, causal: bool) -> list[Visible]:
        """Visible sets of all examples under a mask, worked out once per kind of mask."""
        for known, rule, sets in self._seen:
            if known is mask and rule == causal:
                return sets
        sets = [_visible(mask, causal, k, n) for k, n in enumerate(self.lengths)]
        self._seen.append((mask, causal, sets))
        return sets


_RUNNING: ContextVar[_Pass | None] = ContextVar("headroles_pass", default=None)


def _visible(mask: torch.Tensor | None, causal: bool, example: int, length: int) -> Visible:
    if mask is None:
        return np.tril(np.ones((length, length), dtype=np.bool_)) if causal and length > 1 else None
    own = mask[min(example, mask.shape[0] - 1), 0, :length, :length]
    seen = own if own.dtype == torch.bool else own > torch.finfo(own.dtype).min / 2
    return None if bool(seen.all()) else seen.cpu().numpy()


def own_eager(module: torch.nn.Module) -> Callable[..., Any]:
    """The eager attention function of the module's own file, or of a base class's file."""
    for base in type(module).__mro__:
        found = getattr(sys.modules.get(base.__module__), "eager_attention_forward", None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    raise LookupError(f"{type(module).__name__} has no eager attention function")


def _eager(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **rest: Any) -> Any:
    running = _RUNNING.get()
    if running is not None and torch.is_grad_enabled() and not query.requires_grad:
        query = query.detach().requires_grad_()  # parameters are frozen: the graph begins at these weights
    output, weights = own_eager(module)(module, query, key, value, attention_mask, **rest)
    if running is not None:
        _hand_over(running, weights, running.visible(attention_mask, causal=False))
    return output, None


def _hand_over(running: _Pass, weights: torch.Tensor, visible: list[Visible]) -> None:
    """Give a layer's weights (examples, heads, tokens, tokens) to the reader, whole or one by one."""
    layer, running.layer = running.layer, running.layer + 1
    if isinstance(running.reader, GraphReader):
        running.reader.read_graph(layer, weights, visible)
        return
    with _one_thread(weights.device):
        if isinstance(running.reader, BatchReader) and len(running.lengths) > 1:
            running.reader.read_batch(layer, weights.float(), visible)
            return
        for example, length in enumerate(running.lengths):
            rows = weights[example, :, :length, :length].float()
            running.reader.read(layer, example, 0, rows, visible[example])


@contextmanager
def _one_thread(device: torch.device) -> Iterator[None]:
    """One thread for the many small operations on single examples.

    Split over threads, each of them waits for the scheduler whenever another process wants a core,
    which takes longer than the operation itself.
    """
    threads = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _fused(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **rest: Any) -> Any:
    running = _RUNNING.get()
    if running is not None:
        _read_beside(running, module, query, key, attention_mask, rest)
        running.layer += 1
        if running.trial:
            causal = _hides_later(module, query, attention_mask, rest)
            n, kind = query.shape[2], query.dtype
            whole = _block_mask(attention_mask, causal, 0, slice(0, n), n, kind, query.device)
            return own_eager(module)(module, query, key, value, whole, **rest)[0], None
    return sdpa_attention_forward(module, query, key, value, attention_mask, **rest)


def _hides_later(module: Any, query: torch.Tensor, mask: Any, rest: dict[str, Any]) -> bool:
    """The library's own rule for a causal layer that gets no mask."""
    given = rest.get("is_causal")
    rule = getattr(module, "is_causal", False) if given is None else given
    return bool(rule) and mask is None and query.shape[2] > 1


def _read_beside(
    running: _Pass, module: Any, query: torch.Tensor, key: torch.Tensor, mask: Any, rest: dict[str, Any]
) -> None:
    """Form the weights by the model's own eager function and hand them over, block by block.

    In float32; on trial in the model's precision, in as many blocks as are to be tried.
    """
    if isinstance(running.reader, GraphReader):
        raise TypeError(f"weights formed beside the model have no gradients; run it with {EAGER!r}")
    causal = _hides_later(module, query, mask, rest)
    visible = running.visible(mask, causal)
    kind = query.dtype if running.trial else torch.float32
    extra = {name: each for name, each in rest.items() if name not in ("is_causal", "position_bias")}
    for example, length in enumerate(running.lengths):
        own = slice(example, example + 1)
        keys = key[own, :, :length].to(kind)
        step = length if length <= WHOLE else max(1, CACHE // (4 * query.shape[1] * length))
        step = -(-length // running.trial) if running.trial else step
        for start in range(0, length, step):
            stop = min(start + step, length)
            block = _block_mask(mask, causal, example, slice(start, stop), length, kind, keys.device)
            bias = rest.get("position_bias")
            if bias is not None:
                bias = bias[min(example, bias.shape[0] - 1)][None, :, start:stop, :length].to(kind)
                extra["position_bias"] = bias
            queries = query[own, :, start:stop].to(kind)
            _, weights = own_eager(module)(module, queries, keys, keys[..., :0], block, **extra)
            running.reader.read(running.layer, example, start, weights[0].float(), visible[example])


def _block_mask(
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


AttentionInterface.register(FUSED, _fused)
AttentionMaskInterface.register(FUSED, sdpa_mask)
AttentionInterface.register(EAGER, _eager)
AttentionMaskInterface.register(EAGER, eager_mask)


def run(
    model: Any,
    way: Way,
    inputs: dict[str, torch.Tensor],
    lengths: Sequence[int],
    reader: Reader | GraphReader,
    *,
    trial: int = 0,
) -> tuple[torch.Tensor, int]:
    """Run a model once and hand every layer's attention to a reader.

    Args:
        model: With its attention implementation already set for the way.
        way: How attention is read.
        inputs: Padded on the right.
        lengths: Real tokens of each example.
        reader: Gets the attention, layer by layer; a ``GraphReader`` with the graph of gradients.
        trial: For the check at load: into how many blocks an input is cut, while every layer passes
            on what the eager function gives and weights have the model's precision; 0 for no trial.

    Returns:
        The model's last hidden state (logits, where it has a head) and the number of layers read.
    """
    running = _Pass(reader, lengths, trial)
    if isinstance(reader, GraphReader):
        with torch.enable_grad():
            output = _forward(model, way, inputs, running)
            reader.loss(output).backward()  # type: ignore[no-untyped-call]
        return output.detach(), running.layer
    with torch.inference_mode():
        return _forward(model, way, inputs, running), running.layer


def _forward(model: Any, way: Way, inputs: dict[str, torch.Tensor], running: _Pass) -> torch.Tensor:
    """The first output of a run whose attention is handed over."""
    if way.name == RETURNED:
        returned = model(**inputs, output_attentions=True)
        for weights in returned.attentions:
            _hand_over(running, weights, running.visible(None, way.causal))
    else:
        token = _RUNNING.set(running)
        try:
            returned = model(**inputs)
        finally:
            _RUNNING.reset(token)
    return returned[0]  # type: ignore[no-any-return]
