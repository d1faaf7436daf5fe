"""Keep chosen layers and heads of one kind of attention as bytes, with queries, keys and biases."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, UInt8

from headroles.errors import BadInput
from headroles.extraction.capture.neurons import Call, Parts, fit_parts, neurons_of
from headroles.extraction.jobs.keep_maps import bytes_of
from headroles.extraction.model.trial import TOLERANCE
from headroles.extraction.views.check import KindLayers
from headroles.records.example import Example
from headroles.records.view import Maps, Neurons

RECOMPUTED_TOLERANCE = {**TOLERANCE, torch.float32: 1e-5}
"""Largest difference of weights recomputed in float32 from those of the model, by its precision."""


class KindKeeper:
    """Takes the attention calls of one kind in their order, and keeps the chosen layers and heads."""

    def __init__(
        self,
        kind: str,
        stack: KindLayers,
        sides: tuple[Example, Example],
        layers: Sequence[int],
        heads: Sequence[int],
    ) -> None:
        """Take the kind, its layers, its queries' and keys' examples, and the layers and heads to keep.

        The layers to keep are named by their positions.
        """
        self.kind, self.stack, self.sides = kind, stack, sides
        self.layers, self.heads = tuple(layers), tuple(heads)
        self.largest_difference = 0.0
        self._parts: list[Parts | None] = []
        self._weights: list[np.ndarray] = []
        self._next = 0

    @property
    def cells(self) -> tuple[int, int]:
        """Return the numbers of queries and keys."""
        return self.sides[0].size, self.sides[1].size

    @property
    def weight_bytes(self) -> int:
        """Return the size of the weights of the chosen layers and heads, one byte each."""
        queries, keys = self.cells
        return len(self.layers) * len(self.heads) * queries * keys

    @property
    def neuron_bytes(self) -> int:
        """Return the size in bytes of the queries, keys and biases of the chosen layers and heads."""
        queries, keys = self.cells
        numbers = (queries + keys) * self.stack.size + queries * keys * self.stack.biased
        return len(self.layers) * (4 * len(self.heads) * numbers + queries * keys)

    def take(self, call: Call, neurons: bool) -> None:
        """Take the next layer's call, with the parts of its weights where ``neurons`` is true."""
        wanted = self._wanted
        self.keep(call.weights[0])
        if neurons and wanted:
            parts, difference = fit_parts(call, self.heads)
            close = difference <= RECOMPUTED_TOLERANCE[call.weights.dtype]
            self.largest_difference = max(self.largest_difference, difference)
            self._parts.append(parts if close else None)

    def keep(self, weights: Float[torch.Tensor, "heads queries keys"]) -> None:
        """Take the next layer's weights."""
        if weights.shape[1:] != self.cells:
            raise ValueError(f"attention of {self.cells} tokens has the shape {tuple(weights.shape[1:])}")
        if self._wanted:
            self._weights.append(finite_weights_to_bytes(weights[list(self.heads)]))
        self._next += 1

    @property
    def _wanted(self) -> bool:
        """Return whether the next layer is kept; a layer beyond those of the check is not."""
        return self._next < len(self.stack.layers) and self.stack.layers[self._next] in self.layers

    @property
    def complete(self) -> bool:
        """Return whether every layer was taken."""
        return self._next == len(self.stack.layers)

    @property
    def unclear(self) -> tuple[int, ...]:
        """Return the layers whose weights could not be recomputed from their parts."""
        return tuple(layer for layer, parts in zip(self.layers, self._parts, strict=False) if parts is None)

    def maps(self) -> Maps:
        """Return the kept maps, with neurons where the weights of every layer can be recomputed."""
        known = [parts for parts in self._parts if parts is not None]
        neurons: Neurons | None = neurons_of(known) if known and not self.unclear else None
        return Maps(self.kind, self.layers, self.heads, *self.sides, np.stack(self._weights), neurons)


def finite_weights_to_bytes(
    weights: Float[torch.Tensor, "heads queries keys"],
) -> UInt8[np.ndarray, "heads queries keys"]:
    """Return weights in steps of 1/255, rounded to the nearest.

    Raises:
        BadInput: When a weight is not finite.

    Example:
        >>> finite_weights_to_bytes(torch.tensor([[[0.0, 0.5, 1.0]]])).tolist()
        [[[0, 128, 255]]]
    """
    if not bool(torch.isfinite(weights).all()):
        raise BadInput(
            "attention weights must be finite, but on this input the model gives some that are not; try "
            "--dtype float32"
        )
    return bytes_of(weights)
