"""Protocols of readers, which take attention while a model runs, and of the keys that queries can see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch

from headroles.plans.masks import Band, Cells, Mask, Match

VisibleArray = np.ndarray | None
"""The keys that each query of an example can see (tokens, tokens); None for all."""

VisibleMask = Mask | None
"""The same for long examples: a ``Band`` of offsets where it is one, which takes no memory."""


def visible_key(visible: VisibleArray | Mask) -> bytes:
    """Return bytes that are equal for equal visible sets of an example, for look-up; empty for all keys."""
    if visible is None:
        return b""
    if isinstance(visible, Band):
        return repr((visible.low, visible.high, visible.size)).encode()
    if isinstance(visible, Match):
        return visible.query.tobytes() + visible.key.tobytes()
    if isinstance(visible, Cells):
        visible = visible.cells
    assert isinstance(visible, np.ndarray), "other masks never say what is visible"
    return np.packbits(visible).tobytes()


def to_visible_array(visible: VisibleMask, length: int) -> VisibleArray:
    """Return a visible set as an array, for readers of whole attention."""
    return None if visible is None else np.ascontiguousarray(visible.rows(0, length))


def to_visible_mask(visible: VisibleArray | Mask) -> VisibleMask:
    """Return a visible set as a mask: a band, the same keys for some of the queries, or else its cells.

    Example:
        >>> causal = to_visible_mask(np.tri(4, dtype=bool))
        >>> (causal.low, causal.high), to_visible_mask(np.ones((3, 3), dtype=bool))
        ((-3, 0), None)
    """
    if visible is None or not isinstance(visible, np.ndarray):
        return visible
    if visible.all():
        return None
    size = len(visible)
    band = Band(int(np.argmax(visible[-1])) + 1 - size, int(np.sum(visible[0])) - 1, size)
    if np.array_equal(band.rows(0, size), visible):
        return band
    rows, keys = np.any(visible, axis=1), np.any(visible, axis=0)
    if np.array_equal(rows[:, None] & keys[None, :], visible):
        return Match(np.where(rows, 0, -1), np.where(keys, 0, -1))
    return Cells(visible)


@runtime_checkable
class Reader(Protocol):
    """A reader takes attention while a model runs."""

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        """Take rows (heads, rows, tokens) of the queries from ``start`` on, cut to the example's own length.

        ``visible`` marks the keys that each query of the example can see; None for all.
        """


@runtime_checkable
class BatchReader(Reader, Protocol):
    """A reader that can take the padded weights of a whole batch at once."""

    def read_batch(self, layer: int, weights: torch.Tensor, visible: Sequence[VisibleArray]) -> None:
        """Take weights (examples, heads, tokens, tokens), and the keys visible in each example."""


@runtime_checkable
class OptionalBatchReader(BatchReader, Protocol):
    """A reader that states whether it takes the batch at hand at once, even where that is extra work."""

    @property
    def together(self) -> bool:
        """Return whether weights that are computed outside the model are formed for all examples at once."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a block of attention in a forward pass.

    Attributes:
        layer: The layer.
        example: The example of the batch.
        heads: The query heads, without a step.
        start: The first query.
        first: The first key.
    """

    layer: int
    example: int
    heads: slice
    start: int
    first: int


@runtime_checkable
class LongReader(Reader, Protocol):
    """A reader that takes rows of long examples without the keys that no query of them can see."""

    @property
    def by_heads(self) -> bool:
        """Return whether heads may be handed over in groups: all rows of one group, then of the next."""

    def read_rows(self, place: Place, rows: torch.Tensor, visible: VisibleMask) -> None:
        """Take rows (heads, rows, keys) of a block; keys outside of the block get 0."""


@runtime_checkable
class KeyReader(Reader, Protocol):
    """A reader that also takes the number of key-value heads of a layer, before its weights."""

    def read_keys(self, layer: int, heads: int) -> None:
        """Take the number of key-value heads; fewer than query heads where these share them."""


@runtime_checkable
class NormReader(Reader, Protocol):
    """A reader of attention with another reader, which takes the same attention weighted by norms."""

    @property
    def norm_reader(self) -> Reader | None:
        """Return the reader of norm-weighted attention; None where nothing is read from it."""


@runtime_checkable
class GraphReader(Protocol):
    """A reader that gets the tensors the model itself goes on with, and defines the loss to differentiate."""

    def read_graph(self, layer: int, weights: torch.Tensor, visible: Sequence[VisibleArray]) -> None:
        """Take weights (examples, heads, tokens, tokens) with their graph, padding included."""

    def loss(self, output: torch.Tensor) -> torch.Tensor:
        """Return one number of the output, such as logits (examples, tokens, words), to differentiate."""
