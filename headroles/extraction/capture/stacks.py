"""The attentions of an encoder-decoder: what each is called, how large it is, what a model is called with."""

import torch

from headroles.records.view import CROSS, DECODER, ENCODER, SELF

Inputs = dict[str, torch.Tensor]
ENCODED, DECODED = "input_ids", "decoder_input_ids"
MASKS = {ENCODED: "attention_mask", DECODED: "decoder_attention_mask"}
"""The mask of padding beside the tokens of encoder and decoder."""
BOTH = (ENCODER, DECODER, CROSS)
"""Kinds of attention of an encoder-decoder whose decoder has a text to read."""
RETURNED = {
    SELF: "attentions",
    ENCODER: "encoder_attentions",
    DECODER: "decoder_attentions",
    CROSS: "cross_attentions",
}
"""Where the library returns attention of each kind; that of an encoder run alone is in "attentions"."""


def cut(inputs: Inputs, most: int) -> Inputs:
    """An input cut, or repeated, so that it is short and what encoder and decoder read differs in length.

    Args:
        inputs: What the model is called with.
        most: Most tokens of either.

    Example:
        >>> ids = torch.arange(5)[None]
        >>> short = cut({"input_ids": ids, "decoder_input_ids": ids}, 4)
        >>> short["input_ids"].tolist(), short["decoder_input_ids"].tolist()
        ([[0, 1, 2, 3]], [[0, 1, 2]])
    """
    read = min(inputs[ENCODED].shape[1], most)
    said = min(inputs[DECODED].shape[1], most) if DECODED in inputs else 0
    if read == said:
        read, said = (read, said - 1) if said > 1 else (read + 1, said)
    lengths = {name: said if name in (DECODED, MASKS[DECODED]) else read for name in inputs}
    return {
        name: each[:, torch.arange(lengths[name], device=each.device) % each.shape[1]]
        for name, each in inputs.items()
    }


def sizes(inputs: Inputs, kind: str) -> tuple[int, int]:
    """Queries and keys of a kind of attention, padding included.

    Example:
        >>> ids = torch.zeros(1, 5)
        >>> sizes({"input_ids": ids, "decoder_input_ids": ids[:, :3]}, "cross")
        (3, 5)
    """
    read = inputs[ENCODED].shape[1]
    said = inputs[DECODED].shape[1] if DECODED in inputs else read
    return (said if kind in (DECODER, CROSS) else read), (said if kind == DECODER else read)


def uncached(inputs: Inputs) -> dict[str, bool]:
    """A decoder that reads all of its text at once needs no cache."""
    return {"use_cache": False} if DECODED in inputs else {}
