"""The attention function of the fused path: it returns the plain output, and hands out sums.

``headroles-fused`` uses the sdpa mask and returns the library's sdpa output, as ``headroles`` does. A reader
that can take sums gets ``FusedAttention`` for each input; any other reader gets rows, as before.
"""

from typing import Any, Protocol, runtime_checkable

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from headroles.errors import BadInput
from headroles.extraction.capture.attention import hand_over_keys, running_pass
from headroles.extraction.capture.blocks import read_in_blocks
from headroles.extraction.capture.readers import VisibleMask
from headroles.extraction.capture.visible import hides_later_keys
from headroles.extraction.capture.weights import LayerCall
from headroles.extraction.fused.attention import FusedAttention
from headroles.records.rules.names import FORMED, SUMS

LEAVE_OUT = "leave --path fused out"
REFUSED = {
    "position_bias": "adds a bias of positions to its logits",
    "softcap": "caps its logits",
    "s_aux": "attends to a sink that is no token",
}
"""Arguments of attention functions that the sums do not cover, and what such a model does."""


@runtime_checkable
class FusedReader(Protocol):
    """A reader that takes sums over attention that is never formed."""

    @property
    def also_rows(self) -> bool:
        """Return whether the weights of a layer are formed and read as well, just before its sums."""

    def read_fused(self, layer: int, example: int, attention: FusedAttention, visible: VisibleMask) -> None:
        """Take the attention of a layer of one example, and the keys that its queries see."""


def _attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **rest: Any) -> Any:
    running = running_pass()
    if running is None or running.trial or not isinstance(running.reader, FusedReader):
        by_rows = AttentionInterface()[FORMED]  # type: ignore[no-untyped-call]
        return by_rows(module, query, key, value, attention_mask, **rest)
    if running.reads(module):
        check_arguments(module, attention_mask, rest)
        hand_over_keys(running, key)
        if running.reader.also_rows:
            read_in_blocks(running, LayerCall(module, (query, key, value), attention_mask, rest))
        causal = hides_later_keys(module, query, attention_mask, rest)
        scale = rest.get("scaling")
        for example, length in enumerate(running.lengths):
            shown = running.visible_sets.visible_mask(attention_mask, causal, example)
            attention = FusedAttention(
                query[example, :, :length],
                key[example, :, :length],
                query.shape[-1] ** -0.5 if scale is None else scale,
                shown,
                running.home,
            )
            running.reader.read_fused(running.layer, example, attention, shown)
        running.finish_layer()
    return sdpa_attention_forward(module, query, key, value, attention_mask, **rest)


def check_arguments(module: torch.nn.Module, mask: torch.Tensor | None, rest: dict[str, Any]) -> None:
    """Refuse attention that the sums do not cover.

    Raises:
        BadInput: For a bias of positions, a cap of logits and a sink.
    """
    found = [reason for name, reason in REFUSED.items() if rest.get(name) is not None]
    if mask is not None and mask.dtype != torch.bool:
        found.append(REFUSED["position_bias"])
    if found:
        raise BadInput(
            f"the fused path reads attention that is a softmax of scaled products alone, but "
            f"{type(module).__name__} {found[0]}; {LEAVE_OUT}"
        )


AttentionInterface.register(SUMS, _attend)
AttentionMaskInterface.register(SUMS, sdpa_mask)
