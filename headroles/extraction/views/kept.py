"""What is kept of the attention of one kind: chosen layers and heads, as bytes, and what they are made of."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, UInt8

from headroles.errors import BadInput
from headroles.extraction.capture.neurons import Call, Parts, nearest_parts, neurons_of
from headroles.extraction.jobs.keep_maps import bytes_of
from headroles.extraction.model.trial import TOLERANCE
from headroles.extraction.views.check import Stack
from headroles.records.example import Example
from headroles.records.view import Maps, Neurons

REBUILT = {**TOLERANCE, torch.float32: 1e-5}
"""Largest difference of weights put together in float32 from the model's, by its precision."""


class Keeper:
    """Takes the calls of one kind of attention in their order, and keeps those that were chosen."""

    def __init__(
        self,
        kind: str,
        stack: Stack,
        sides: tuple[Example, Example],
        layers: Sequence[int],
        heads: Sequence[int],
    ) -> None:
        """Say what will be kept."""
        self.kind, self.stack, self.sides = kind, stack, sides
        self.layers, self.heads = tuple(layers), tuple(heads)
        self.apart = 0.0
        self._parts: list[Parts | None] = []
        self._weights: list[np.ndarray] = []
        self._next = 0

    @property
    def cells(self) -> tuple[int, int]:
        """Queries and keys."""
        return self.sides[0].size, self.sides[1].size

    @property
    def weight_bytes(self) -> int:
        """What the weights of the chosen layers and heads take, one byte each."""
        queries, keys = self.cells
        return len(self.layers) * len(self.heads) * queries * keys

    @property
    def neuron_bytes(self) -> int:
        """What the queries, keys and biases of the chosen layers and heads take."""
        queries, keys = self.cells
        each = (queries + keys) * self.stack.size + queries * keys * self.stack.biased
        return len(self.layers) * (4 * len(self.heads) * each + queries * keys)

    def take(self, call: Call, neurons: bool) -> None:
        """Take the next layer's call, with what its weights are made of where that is wanted."""
        layer = self._next
        self.keep(call.weights[0])
        if neurons and layer in self.layers:
            parts, apart = nearest_parts(call, self.heads)
            close = apart <= REBUILT[call.weights.dtype]
            self.apart = max(self.apart, apart)
            self._parts.append(parts if close else None)

    def keep(self, weights: Float[torch.Tensor, "heads queries keys"]) -> None:
        """Take the next layer's weights."""
        if weights.shape[1:] != self.cells:
            raise ValueError(f"attention of {self.cells} tokens came as {tuple(weights.shape[1:])}")
        if self._next in self.layers:
            self._weights.append(in_bytes(weights[list(self.heads)]))
        self._next += 1

    @property
    def complete(self) -> bool:
        """Whether every layer came."""
        return self._next == self.stack.layers

    @property
    def unclear(self) -> tuple[int, ...]:
        """Layers whose weights could not be put together again."""
        return tuple(layer for layer, parts in zip(self.layers, self._parts, strict=False) if parts is None)

    def maps(self) -> Maps:
        """What was kept; with neurons where the weights of every layer can be put together again."""
        found = [parts for parts in self._parts if parts is not None]
        neurons: Neurons | None = neurons_of(found) if found and not self.unclear else None
        return Maps(self.kind, self.layers, self.heads, *self.sides, np.stack(self._weights), neurons)


def in_bytes(weights: Float[torch.Tensor, "heads queries keys"]) -> UInt8[np.ndarray, "heads queries keys"]:
    """Weights in steps of 1/255, rounded to the nearest.

    Raises:
        BadInput: When one is no number.

    Example:
        >>> in_bytes(torch.tensor([[[0.0, 0.5, 1.0]]])).tolist()
        [[[0, 128, 255]]]
    """
    if not bool(torch.isfinite(weights).all()):
        raise BadInput(
            "attention weights must be finite, but on this input the model gives some that are not; try "
            "--dtype float32"
        )
    return bytes_of(weights)
