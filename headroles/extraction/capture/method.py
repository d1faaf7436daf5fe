"""The way in which the attention of a model is read."""

from dataclasses import dataclass, field

import torch

from headroles.extraction.capture.norms import ValueNorms
from headroles.records.view import SELF

PADDED, EQUAL, SINGLE = "padded", "of equal lengths", "of one input"
"""Which inputs may share a batch."""


@dataclass(frozen=True, slots=True)
class Packing:
    """How a model takes examples that follow one another in a single row, without padding.

    Attributes:
        first: Position of the first token of each example.
        most: Most tokens of a row; None for any number.
    """

    first: int
    most: int | None = None


@dataclass(frozen=True, slots=True)
class CaptureMethod:
    """The way attention is read: under a registered name, or as returned by the model.

    Attributes:
        name: One of the names of ``records.rules.names``.
        causal: Whether every layer hides later keys. Returned attention has no mask, so nothing else is
            known about it; otherwise plans are made by this before the model runs.
        kind: "decoder" or "cross" for an encoder-decoder that reads two texts; "self" for any network
            with one stack, also an encoder by itself.
        modules: Modules that compute this kind, where the network computes others too; None for all.
        norms: Norms of values, by which attention is weighted for all readers or for some; None for none.
        by_heads: Whether the eager function of the model computes some heads without the others.
        plain: Whether the weights of the model are the softmax of scaled products, with a mask and nothing
            else, so that they may be formed without its eager function.
        packs: How examples may follow one another in a single row; None where they have to be padded.
        batches: Which inputs may share a batch: any (``PADDED``), those of ``EQUAL`` lengths, or none
            (``SINGLE``).
        numbers: Position of each layer in the model, for messages; empty where layers are 0, 1, ….
    """

    name: str
    causal: bool = False
    kind: str = SELF
    modules: frozenset[torch.nn.Module] | None = field(default=None, repr=False)
    norms: ValueNorms | None = field(default=None, repr=False, compare=False)
    by_heads: bool = False
    plain: bool = False
    packs: Packing | None = None
    batches: str = PADDED
    numbers: tuple[int, ...] = ()

    def number(self, layer: int) -> int:
        """Return the position in the model of a layer that is read, by its place among these."""
        return self.numbers[layer] if self.numbers else layer
