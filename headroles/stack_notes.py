"""Which attention of an encoder-decoder a run labels, in one sentence."""

from collections.abc import Mapping
from typing import Any

SHIFTED = (
    "the decoder reads the second text, shifted right by one token, so that the row of a token is where the "
    "model predicts the one after it"
)
TOLD = {
    "encoder": "The encoder's attention is labelled; layers and heads are those of the encoder.",
    "decoder": f"The decoder's attention to its own tokens is labelled: {SHIFTED}.",
    "cross": (
        "Cross attention is labelled, from the decoder's tokens to those of the first text, which the "
        f"encoder reads: {SHIFTED}. Sieves of offsets and of the query's own text do not apply to it."
    ),
}
"""By kind of attention, as manifests name it."""


def kind_told(model: Mapping[str, Any]) -> list[str]:
    """Which attention is labelled; nothing for a model with one stack.

    Args:
        model: What a manifest says of the model.

    Example:
        >>> kind_told({"kind": "encoder"})
        ["The encoder's attention is labelled; layers and heads are those of the encoder."]
        >>> kind_told({})
        []
    """
    return [TOLD[model["kind"]]] if model.get("kind") in TOLD else []
