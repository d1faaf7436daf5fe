"""Names and sizes of the attentions of an encoder-decoder, and the inputs of its two stacks."""

import torch

from headroles.records.view import CROSS, DECODER, ENCODER, SELF

ModelInputs = dict[str, torch.Tensor]
ENCODER_IDS, DECODER_IDS = "input_ids", "decoder_input_ids"
PADDING_MASKS = {ENCODER_IDS: "attention_mask", DECODER_IDS: "decoder_attention_mask"}
"""Name of the padding mask for the tokens of encoder and of decoder."""
PAIR_KINDS = (ENCODER, DECODER, CROSS)
"""Kinds of attention of an encoder-decoder whose decoder reads a text."""
OUTPUT_NAMES = {
    SELF: "attentions",
    ENCODER: "encoder_attentions",
    DECODER: "decoder_attentions",
    CROSS: "cross_attentions",
}
"""Output of the library with attention of each kind; that of an encoder run alone is in "attentions"."""


def shorten_inputs(inputs: ModelInputs, most: int) -> ModelInputs:
    """Cut or repeat an input so that it is short, and encoder and decoder read different numbers of tokens.

    Args:
        inputs: Tensors for the model.
        most: Most tokens of each stack.

    Example:
        >>> ids = torch.arange(5)[None]
        >>> short = shorten_inputs({"input_ids": ids, "decoder_input_ids": ids}, 4)
        >>> short["input_ids"].tolist(), short["decoder_input_ids"].tolist()
        ([[0, 1, 2, 3]], [[0, 1, 2]])
    """
    encoder = min(inputs[ENCODER_IDS].shape[1], most)
    decoder = min(inputs[DECODER_IDS].shape[1], most) if DECODER_IDS in inputs else 0
    if encoder == decoder:
        encoder, decoder = (encoder, decoder - 1) if decoder > 1 else (encoder + 1, decoder)
    lengths = {
        name: decoder if name in (DECODER_IDS, PADDING_MASKS[DECODER_IDS]) else encoder for name in inputs
    }
    return {
        name: ids[:, torch.arange(lengths[name], device=ids.device) % ids.shape[1]]
        for name, ids in inputs.items()
    }


def attention_shape(inputs: ModelInputs, kind: str) -> tuple[int, int]:
    """Return the numbers of queries and keys of a kind of attention, padding included.

    Example:
        >>> ids = torch.zeros(1, 5)
        >>> attention_shape({"input_ids": ids, "decoder_input_ids": ids[:, :3]}, "cross")
        (3, 5)
    """
    encoder = inputs[ENCODER_IDS].shape[1]
    decoder = inputs[DECODER_IDS].shape[1] if DECODER_IDS in inputs else encoder
    return (decoder if kind in (DECODER, CROSS) else encoder), (decoder if kind == DECODER else encoder)


def cache_arguments(inputs: ModelInputs) -> dict[str, bool]:
    """Return the arguments that turn off the cache: a decoder that reads its whole text needs none."""
    return {"use_cache": False} if DECODER_IDS in inputs else {}
