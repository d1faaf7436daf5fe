"""Names and sizes of the attentions of an encoder-decoder, and the inputs of its two stacks."""

import torch

from headroles.records.view import CROSS, DECODER, ENCODER, SELF

Inputs = dict[str, torch.Tensor]
ENCODED, DECODED = "input_ids", "decoder_input_ids"
MASKS = {ENCODED: "attention_mask", DECODED: "decoder_attention_mask"}
"""Name of the padding mask for the tokens of encoder and of decoder."""
BOTH = (ENCODER, DECODER, CROSS)
"""Kinds of attention of an encoder-decoder whose decoder reads a text."""
RETURNED = {
    SELF: "attentions",
    ENCODER: "encoder_attentions",
    DECODER: "decoder_attentions",
    CROSS: "cross_attentions",
}
"""Output of the library with attention of each kind; that of an encoder run alone is in "attentions"."""


def cut(inputs: Inputs, most: int) -> Inputs:
    """Cut or repeat an input so that it is short, and encoder and decoder read different numbers of tokens.

    Args:
        inputs: Tensors for the model.
        most: Most tokens of each stack.

    Example:
        >>> ids = torch.arange(5)[None]
        >>> short = cut({"input_ids": ids, "decoder_input_ids": ids}, 4)
        >>> short["input_ids"].tolist(), short["decoder_input_ids"].tolist()
        ([[0, 1, 2, 3]], [[0, 1, 2]])
    """
    encoder = min(inputs[ENCODED].shape[1], most)
    decoder = min(inputs[DECODED].shape[1], most) if DECODED in inputs else 0
    if encoder == decoder:
        encoder, decoder = (encoder, decoder - 1) if decoder > 1 else (encoder + 1, decoder)
    lengths = {name: decoder if name in (DECODED, MASKS[DECODED]) else encoder for name in inputs}
    return {
        name: ids[:, torch.arange(lengths[name], device=ids.device) % ids.shape[1]]
        for name, ids in inputs.items()
    }


def sizes(inputs: Inputs, kind: str) -> tuple[int, int]:
    """Return the numbers of queries and keys of a kind of attention, padding included.

    Example:
        >>> ids = torch.zeros(1, 5)
        >>> sizes({"input_ids": ids, "decoder_input_ids": ids[:, :3]}, "cross")
        (3, 5)
    """
    encoder = inputs[ENCODED].shape[1]
    decoder = inputs[DECODED].shape[1] if DECODED in inputs else encoder
    return (decoder if kind in (DECODER, CROSS) else encoder), (decoder if kind == DECODER else encoder)


def uncached(inputs: Inputs) -> dict[str, bool]:
    """Return the arguments that turn off the cache: a decoder that reads its whole text needs none."""
    return {"use_cache": False} if DECODED in inputs else {}
