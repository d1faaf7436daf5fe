"""Read attention while a model runs: the weights of each layer are handed to a reader and then dropped.

Two names are registered with transformers' attention interfaces. ``headroles-eager`` uses the eager mask,
and reads the weights that the layer goes on with. ``headroles`` uses the sdpa mask, and forms the weights in
float32. On a CPU in float32 the output of the layer is taken from the same weights. Elsewhere it is that of
the library's sdpa function, as in the plain model. Both form weights by the model's own eager function, or as
a plain softmax where the model computes just that. ``fused.call`` registers a third name,
``headroles-fused``. Models that do not use the interface run eagerly with ``output_attentions=True``.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask, sdpa_mask

from headroles.extraction.capture import stacks
from headroles.extraction.capture.blocks import read_in_blocks
from headroles.extraction.capture.cross import CrossLayout, side_lengths
from headroles.extraction.capture.gates import show_outputs, taken_gates
from headroles.extraction.capture.joint import read_cross
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.capture.readers import BatchReader, GraphReader, KeyReader, Reader, VisibleArray
from headroles.extraction.capture.threads import one_thread
from headroles.extraction.capture.visible import ForwardPass, LayersRead, hides_later_keys
from headroles.extraction.capture.weights import (
    LayerCall,
    block_mask,
    form_examples,
    own_eager,
    read_whole_batch,
)
from headroles.records.rules.names import EAGER, FORMED, RETURNED
from headroles.records.view import CROSS, DECODER, SELF

_RUNNING: ContextVar[ForwardPass | None] = ContextVar("headroles_pass", default=None)


def running_pass() -> ForwardPass | None:
    """Return the forward pass whose attention is read now; None where nothing is read."""
    return _RUNNING.get()


def _eager(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **rest: Any) -> Any:
    running = _RUNNING.get()
    if running is not None and torch.is_grad_enabled() and not query.requires_grad:
        query = query.detach().requires_grad_()  # parameters are frozen: the graph begins at these weights
    if running is not None and running.plain:
        without = rest | {"is_causal": False}  # eager functions hide by masks alone
        output, weights = form_examples(
            running, LayerCall(module, (query, key, value), attention_mask, without)
        )
        if running.trial:  # the next layer gets what it gets in the plain model
            output = own_eager(module)(module, query, key, value, attention_mask, **rest)[0]
    else:
        output, weights = own_eager(module)(module, query, key, value, attention_mask, **rest)
    if running is not None and running.reads(module):
        hand_over_keys(running, key)
        hand_over(running, weights, attention_mask, norms=running.norms_of(value))
    return output, None


def hand_over_keys(running: ForwardPass, key: torch.Tensor) -> None:
    """Pass on how many key heads a layer has: here they are not yet repeated for query heads."""
    if isinstance(running.reader, KeyReader):
        running.reader.read_keys(running.layer, key.shape[1])


def hand_over(
    running: ForwardPass,
    weights: torch.Tensor,
    mask: Any,
    *,
    causal: bool = False,
    norms: torch.Tensor | None = None,
) -> None:
    """Give a layer's weights (examples, heads, queries, keys) to the readers, at once or one by one."""
    layer = running.layer
    visible: Sequence[VisibleArray]
    cross = running.cross
    visible = running.visible_sets.arrays(mask, causal) if cross is None else cross.arrays(mask)
    if isinstance(running.reader, GraphReader):
        running.check_rows(weights.detach())
        running.reader.read_graph(layer, weights if cross is None else cross.to_squares(weights), visible)
        running.finish_layer()
        return
    weights = weights.to(running.home)
    with one_thread(weights.device):
        for reader, given in running.readings(weights, norms):
            taken = given if cross is None else cross.to_squares(given)
            if isinstance(reader, BatchReader) and len(running.lengths) > 1:
                reader.read_batch(layer, taken.float(), visible)
                continue
            for example, length in enumerate(running.lengths):
                reader.read(layer, example, 0, taken[example, :, :length, :length].float(), visible[example])
    running.finish_layer()


def _formed(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **rest: Any) -> Any:
    running, output = _RUNNING.get(), None
    if running is not None and running.reads(module):
        if isinstance(running.reader, GraphReader):
            raise TypeError(
                "weights that are recomputed outside the model have no gradients; run it with "
                "'headroles-eager'"
            )
        call = LayerCall(module, (query, key, value), attention_mask, rest)
        hand_over_keys(running, key)
        if running.cross is not None:
            read_cross(running, running.cross, call)
        else:
            done, output = read_whole_batch(running, call)
            output = output if done else read_in_blocks(running, call)
        running.finish_layer()
    if output is not None:
        return output, None
    if running is not None and running.trial:
        causal = hides_later_keys(module, query, attention_mask, rest)
        rows, keys, dtype = slice(0, query.shape[2]), key.shape[2], query.dtype
        mask = block_mask(attention_mask, causal, 0, rows, keys, dtype, query.device)
        return own_eager(module)(module, query, key, value, mask, **rest)[0], None
    return sdpa_attention_forward(module, query, key, value, attention_mask, **rest)


def _mask_maker(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes masks: of all rows, or where examples are packed that of the longest one.

    A mask depends on places alone. That of a shorter example is the first rows and columns of it.
    """

    def make_mask(batch_size: int, q_length: int, kv_length: int, *args: Any, **rest: Any) -> Any:
        running = _RUNNING.get()
        if running is not None and running.packed:
            q_length = kv_length = max(running.lengths)
        return make(batch_size, q_length, kv_length, *args, **rest)

    return make_mask


AttentionInterface.register(FORMED, show_outputs(_formed))
AttentionMaskInterface.register(FORMED, _mask_maker(sdpa_mask))
AttentionInterface.register(EAGER, show_outputs(_eager))
AttentionMaskInterface.register(EAGER, _mask_maker(eager_mask))


def run(
    model: Any,
    way: CaptureMethod,
    inputs: dict[str, torch.Tensor],
    lengths: Sequence[int],
    reader: Reader | GraphReader,
    *,
    trial: int = 0,
    last: int | None = None,
) -> tuple[torch.Tensor, int]:
    """Run a model once and hand every layer's attention to a reader.

    Args:
        model: The model, with its attention implementation already set for the way.
        way: The way attention is read.
        inputs: Tensors for the model: padded on the right, or one row in which the examples are packed.
        lengths: Tokens of each example without padding; for cross attention of decoder and encoder together.
        reader: Takes the attention, layer by layer; a ``GraphReader`` gets it with the graph of gradients.
        trial: For the check at load: number of blocks into which an input is cut, while every layer passes
            on the output of the eager function and weights have the model's precision; 0 for no trial.
        last: Number of layers after which the pass ends; None to run the whole model.

    Returns:
        The model's last hidden state (logits, where it has a head) and the number of layers read.

    Raises:
        LayersRead: When as many layers as ``last`` are read.
    """
    cross = CrossLayout(side_lengths(inputs)) if way.kind == CROSS else None
    home = next(iter(inputs.values())).device
    packed = cross is None and len(next(iter(inputs.values()))) < len(lengths)
    running = ForwardPass(reader, lengths, way, home=home, cross=cross, packed=packed, trial=trial, last=last)
    if isinstance(reader, GraphReader):
        with torch.enable_grad():
            output = _forward(model, way, inputs, running)
            reader.loss(output).backward()  # type: ignore[no-untyped-call]
        return output.detach(), running.layer
    with torch.inference_mode():
        return _forward(model, way, inputs, running), running.layer


def read_attention(
    model: Any,
    way: CaptureMethod,
    inputs: dict[str, torch.Tensor],
    lengths: Sequence[int],
    reader: Reader | GraphReader,
    layers: int,
) -> None:
    """Run a model as ``run`` does, but only as far as its attention needs.

    What follows the attention of the last layer is left out: a twentieth of the products of a base-sized
    model, and an eighth of those of six layers. A loss needs the whole model. So do the hooks that move
    weights of a model on several devices.
    """
    whole = isinstance(reader, GraphReader) or getattr(model, "hf_device_map", None) is not None
    with suppress(LayersRead):
        _, read = run(model, way, inputs, lengths, reader, last=None if whole else layers)
        if read != layers:
            raise RuntimeError(f"{read} of {layers} layers were read: their attention is no longer captured")


def _forward(
    model: Any, way: CaptureMethod, inputs: dict[str, torch.Tensor], running: ForwardPass
) -> torch.Tensor:
    """Run the model, hand its attention to the reader, and return the first output."""
    arguments = inputs | stacks.cache_arguments(inputs)
    if way.name == RETURNED:
        returned = model(**arguments, output_attentions=True)
        decodes = way.kind in (DECODER, CROSS)
        for weights in getattr(returned, stacks.OUTPUT_NAMES[way.kind if decodes else SELF]):
            hand_over(running, weights, None, causal=way.causal)
    else:
        if running.gated:
            with taken_gates(running.gated, running.reads) as running.gates:
                model(**arguments)
        token = _RUNNING.set(running)
        try:
            returned = model(**arguments)
        finally:
            _RUNNING.reset(token)
    return returned[0]  # type: ignore[no-any-return]
