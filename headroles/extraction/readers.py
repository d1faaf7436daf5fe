"""What takes attention as it passes by."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch

Visible = np.ndarray | None
"""Which keys each query of an example can see (tokens, tokens); None means all."""


def key_of(visible: Visible) -> bytes:
    """What equal visible sets of one example have in common, to remember by; empty for all keys."""
    return b"" if visible is None else np.packbits(visible).tobytes()


@runtime_checkable
class Reader(Protocol):
    """What is done with attention as it passes by."""

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Visible) -> None:
        """Take rows (heads, rows, tokens) of queries ``start`` on, cut to the example's own length.

        ``visible`` says which keys each query of the example can see; None means all.
        """


@runtime_checkable
class BatchReader(Reader, Protocol):
    """A reader that takes a whole batch at once where its weights lie together, padded."""

    def read_batch(self, layer: int, weights: torch.Tensor, visible: Sequence[Visible]) -> None:
        """Take weights (examples, heads, tokens, tokens), and what each example's queries can see."""


@runtime_checkable
class GraphReader(Protocol):
    """A reader that gets the very weights the model goes on with, and says what they have gradients of."""

    def read_graph(self, layer: int, weights: torch.Tensor, visible: Sequence[Visible]) -> None:
        """Take weights (examples, heads, tokens, tokens) with their graph, padding included."""

    def loss(self, output: torch.Tensor) -> torch.Tensor:
        """One number of the model's output, such as logits (examples, tokens, words); then comes backward."""
