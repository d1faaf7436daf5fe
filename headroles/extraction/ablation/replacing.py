"""Replace the output of heads while a model runs.

A name is registered with transformers' attention interfaces: ``headroles-ablate`` uses the eager mask and
the model's own eager attention, and then assigns to its output (rows, queries, heads, head_dim). A row of
the batch is one copy of an input; every row has replacements of its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from headroles.extraction.ablation.removal import even_weights, remove_cells, remove_matched
from headroles.extraction.capture.weights import own_eager
from headroles.records.causal.columns import CELLS, EVEN

ABLATE = "headroles-ablate"


@dataclass(frozen=True, slots=True, eq=False)
class Replacement:
    """What one head of one row puts out in place of its own output.

    Attributes:
        head: The head.
        output: Its new output (queries, head_dim), or (1, 1) for the same number everywhere; None where it
            follows from new weights.
        weights: How new weights are made: "even", "cells" or "cells:matched".
        cells: The (query, key) cells of the role; None where weights do not ask for them.
        others: The cells that "cells:matched" may remove; None where weights do not ask for them.
    """

    head: int
    output: Float[torch.Tensor, "queries head_dim"] | None = None
    weights: str = ""
    cells: Bool[torch.Tensor, "queries keys"] | None = None
    others: Bool[torch.Tensor, "queries keys"] | None = None


Row = Mapping[int, Sequence[Replacement]]
"""The replacements of one row of a batch, by layer; empty for a clean row."""


@dataclass(frozen=True, slots=True, eq=False)
class Attended:
    """What the attention of one layer computed for a batch.

    Attributes:
        module: The attention module.
        output: (rows, queries, heads, head_dim).
        weights: (rows, heads, queries, keys).
        value: (rows, key heads, keys, head_dim).
        mask: Added to the logits (rows or 1, 1, queries, keys); None where every key is visible.
    """

    module: torch.nn.Module
    output: torch.Tensor
    weights: torch.Tensor
    value: torch.Tensor
    mask: torch.Tensor | None

    def visible(self, row: int) -> Bool[torch.Tensor, "queries keys"]:
        """Return the keys that each query of a row can see."""
        queries, keys = self.weights.shape[2:]
        if self.mask is None:
            return torch.ones((queries, keys), dtype=torch.bool, device=self.weights.device)
        own = self.mask[min(row, self.mask.shape[0] - 1), 0, :, :keys].expand(queries, keys)
        return own if own.dtype == torch.bool else own > torch.finfo(own.dtype).min / 2

    def values(self, row: int, head: int) -> Float[torch.Tensor, "keys head_dim"]:
        """Return the values that a head of a row reads; query heads that share keys are neighbours."""
        share = self.output.shape[2] // self.value.shape[1]
        return self.value[row, head // share]


Taker = Callable[[int, Attended], None]
Watch = Callable[[torch.Tensor], torch.Tensor]


@dataclass(slots=True, eq=False)
class Replacing:
    """The state of one forward pass with replacements.

    Attributes:
        rows: Replacements of every row.
        modules: Attention modules whose heads are meant; None for all.
        layer: The layer whose attention is computed next.
        taker: Gets what every layer computed, before anything is replaced.
        watch: Gets the outputs of every layer, and returns those that the network goes on with.
        matched: For each row, the share of the role's mass that other cells at the same offsets have.
        equal: Whether all rows are still equal, as they are before the attention of the first layer that is
            computed. What is computed until then is computed for one of them.
        kept: Whether all replacements of a row so far equal what they replaced; None before any.
    """

    rows: Sequence[Row]
    modules: frozenset[torch.nn.Module] | None
    layer: int = 0
    taker: Taker | None = None
    watch: Watch | None = None
    matched: dict[int, float] = field(default_factory=dict)
    equal: bool = False
    kept: Bool[torch.Tensor, " rows"] | None = None

    def unchanged(self) -> Bool[np.ndarray, " rows"]:
        """Return the rows whose replacements equal, to the bit, what they replaced."""
        if self.kept is None:
            return np.ones(len(self.rows), dtype=np.bool_)
        same: np.ndarray = self.kept.cpu().numpy()
        return same


_RUNNING: ContextVar[Replacing | None] = ContextVar("headroles_ablate", default=None)


def _attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **rest: Any) -> Any:
    running = _RUNNING.get()
    if running is None or (running.modules is not None and module not in running.modules):
        return own_eager(module)(module, query, key, value, attention_mask, **rest)[0], None
    output, weights = _computed(running, module, (query, key, value), attention_mask, rest)
    layer, running.layer = running.layer, running.layer + 1
    attended = Attended(module, output, weights, value, attention_mask)
    if running.taker is not None:
        running.taker(layer, attended)
    output = _replaced(running, layer, attended)
    return (output if running.watch is None else running.watch(output)), None


def _computed(
    running: Replacing, module: Any, parts: tuple[Any, Any, Any], mask: Any, rest: dict[str, Any]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return outputs and weights of a layer, computed for one row while all are equal."""
    equal, running.equal = running.equal, False
    if not equal or any(_may_have_rows(name, value) for name, value in rest.items()):
        output, weights = own_eager(module)(module, *parts, mask, **rest)
        return output, weights
    first = [part[:1] for part in parts]
    output, weights = own_eager(module)(module, *first, None if mask is None else mask[:1], **rest)
    rows = len(running.rows)
    return output.expand(rows, -1, -1, -1), weights.expand(rows, -1, -1, -1)


def _may_have_rows(name: str, value: Any) -> bool:
    """Return whether an argument of attention may have a part for every row; positions are not read."""
    return isinstance(value, torch.Tensor) and value.dim() > 1 and name != "position_ids"


def rows_are_equal() -> bool:
    """Return whether all rows of the running pass are still equal."""
    running = _RUNNING.get()
    return running is not None and running.equal


AttentionInterface.register(ABLATE, _attend)
AttentionMaskInterface.register(ABLATE, eager_mask)


@contextmanager
def replacing(running: Replacing) -> Iterator[Replacing]:
    """Replace outputs in all forward passes inside."""
    token = _RUNNING.set(running)
    try:
        yield running
    finally:
        _RUNNING.reset(token)


def _replaced(running: Replacing, layer: int, attended: Attended) -> torch.Tensor:
    """Return the output of a layer with the replacements of all rows."""
    changes = [(row, change) for row, own in enumerate(running.rows) for change in own.get(layer, ())]
    if not changes:
        return attended.output
    output = attended.output.clone()
    for row, change in changes:
        if change.output is not None:
            output[row, :, change.head] = change.output.to(output)
            continue
        weights, rows = _new_weights(running, row, change, attended)
        values = attended.values(row, change.head)
        made = weights[rows] @ values.to(weights.dtype)
        output[row, rows, change.head] = made.to(output.dtype)
    same = (output == attended.output).flatten(1).all(1)
    running.kept = same if running.kept is None else running.kept & same
    return output


def _new_weights(
    running: Replacing, row: int, change: Replacement, attended: Attended
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the new weights of a head (queries, keys), and which queries have others than before."""
    visible, own = attended.visible(row), attended.weights[row, change.head]
    own = own if own.dtype == torch.float64 else own.float()
    if change.weights == EVEN:
        return even_weights(visible, own), torch.ones(len(own), dtype=torch.bool, device=own.device)
    assert change.cells is not None
    cells = change.cells.to(own.device)
    if change.weights == CELLS:
        return remove_cells(own, cells, visible)
    assert change.others is not None
    weights, changed, share = remove_matched(own, cells, visible, change.others.to(own.device))
    running.matched[row] = min(share, running.matched.get(row, 1.0))
    return weights, changed
