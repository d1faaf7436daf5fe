"""What takes attention as it passes by."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch

from headroles.plans.masks import Band, Cells, Mask, Match

Visible = np.ndarray | None
"""Which keys each query of an example can see (tokens, tokens); None means all."""

Shown = Mask | None
"""The same for long examples: a ``Band`` of offsets where it is one, which takes no room."""


def key_of(visible: Visible | Mask) -> bytes:
    """What equal visible sets of one example have in common, to remember by; empty for all keys."""
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


def dense(shown: Shown, length: int) -> Visible:
    """A visible set as an array, for readers of whole attention."""
    return None if shown is None else np.ascontiguousarray(shown.rows(0, length))


def shown_of(visible: Visible | Mask) -> Shown:
    """A visible set as a mask: a band, the same keys for some of the queries, or else its cells.

    Example:
        >>> causal = shown_of(np.tri(4, dtype=bool))
        >>> (causal.low, causal.high), shown_of(np.ones((3, 3), dtype=bool))
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
class TogetherReader(BatchReader, Protocol):
    """A reader that says whether the batch at hand should come as one, also where that takes extra work."""

    @property
    def together(self) -> bool:
        """Whether weights that are formed beside the model should be formed for all examples at once."""


@runtime_checkable
class LongReader(Reader, Protocol):
    """A reader that takes rows of long examples without the keys that none of them can see."""

    def read_rows(
        self, layer: int, example: int, start: int, rows: torch.Tensor, first: int, shown: Shown
    ) -> None:
        """Take rows (heads, rows, keys) of queries ``start`` on to keys ``first`` on; other keys get 0."""


@runtime_checkable
class KeyReader(Reader, Protocol):
    """A reader that is also told how many heads of keys and values a layer has, before its weights."""

    def read_keys(self, layer: int, heads: int) -> None:
        """Take the number of key-value heads; fewer than query heads where these share them."""


@runtime_checkable
class GraphReader(Protocol):
    """A reader that gets the very weights the model goes on with, and says what they have gradients of."""

    def read_graph(self, layer: int, weights: torch.Tensor, visible: Sequence[Visible]) -> None:
        """Take weights (examples, heads, tokens, tokens) with their graph, padding included."""

    def loss(self, output: torch.Tensor) -> torch.Tensor:
        """One number of the model's output, such as logits (examples, tokens, words); then comes backward."""
