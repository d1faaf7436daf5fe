"""Attention of one input, to be looked at: weights as bytes, and the queries and keys they come from."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, UInt8

from headroles.errors import BadInput
from headroles.records.arrays import frozen
from headroles.records.example import Example

SELF, ENCODER, DECODER, CROSS = "self", "encoder", "decoder", "cross"
KINDS = (SELF, ENCODER, DECODER, CROSS)
"""Whose attention maps are: of a model with one stack, or of one part of an encoder-decoder."""


@dataclass(frozen=True, slots=True, eq=False)
class Neurons:
    """What attention weights are made of, per layer and query head.

    The weights are ``softmax(cap(scaling · q·k) + bias)`` over the visible keys, with ``cap(x) = softcap ·
    tanh(x / softcap)`` where there is a soft cap, and with the sink as one more key that is then dropped.
    Queries and keys are those the scores are made of: after rotary positions and norms. Keys of a group
    that several query heads share stand at each of them.

    Attributes:
        query: Per layer, head, query and dimension.
        key: Per layer, head, key and dimension.
        scaling: What products are multiplied with, per layer.
        softcap: Per layer; NaN where there is none.
        bias: Added after the cap (relative positions), per layer, head, query and key; None without one.
        visible: Whether a query can see a key, per layer.
        sink: Logit of the key that is dropped, per layer and head; NaN where there is none.
        group: Number of the key head of each query head, from 0.
    """

    query: Float32[np.ndarray, "layers heads queries size"]
    key: Float32[np.ndarray, "layers heads keys size"]
    scaling: Float[np.ndarray, " layers"]
    softcap: Float[np.ndarray, " layers"]
    bias: Float32[np.ndarray, "layers heads queries keys"] | None
    visible: Bool[np.ndarray, "layers queries keys"]
    sink: Float[np.ndarray, "layers heads"]
    group: tuple[int, ...]

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("query", "key", "scaling", "softcap", "bias", "visible", "sink"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, frozen(array))


@dataclass(frozen=True, slots=True, eq=False)
class Maps:
    """Attention of one kind over one input, in the layers and heads that were chosen.

    Attributes:
        kind: One of ``KINDS``.
        layers: Number of each layer shown, from 0.
        heads: Number of each head shown, from 0.
        queries: The tokens that attend; ``segment`` tells text 0 and text 1 apart.
        keys: The tokens attended to; the same as ``queries`` but in cross attention.
        weights: Attention in steps of 1/255, rounded to the nearest; 255 is 1.
        neurons: What the weights are made of; None where it is not known or not asked for.

    Raises:
        BadInput: When the arrays do not fit the tokens, layers and heads.
    """

    kind: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    queries: Example
    keys: Example
    weights: UInt8[np.ndarray, "layers heads queries keys"]
    neurons: Neurons | None = None

    def __post_init__(self) -> None:
        """Check the shape, and make the array read-only."""
        shape = (len(self.layers), len(self.heads), self.queries.size, self.keys.size)
        if self.kind not in KINDS or self.weights.shape != shape:
            raise BadInput(
                f"maps are of a kind of {', '.join(KINDS)} and have one layer, head, query and key each for "
                f"what they name, {shape}, but {self.kind!r} of shape {self.weights.shape} came"
            )
        object.__setattr__(self, "weights", frozen(self.weights))


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A model's attention over one input.

    Attributes:
        model: Its name.
        texts: The input, one text or two.
        maps: One of kind "self", or those of encoder, decoder and cross attention, in this order.
        notes: What must be known to read them, one sentence each.
    """

    model: str
    texts: tuple[str, ...]
    maps: tuple[Maps, ...]
    notes: tuple[str, ...] = ()
