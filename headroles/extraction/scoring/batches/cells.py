"""Attention of a batch by cell, and sums of it over bags of cells, for all heads at once.

A row holds the attention of all heads on one (query, key) pair of tokens, so that a sum over cells reads
whole rows.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch.nn.functional import embedding_bag

from headroles.extraction.scoring.batches.plan import Padding
from headroles.extraction.scoring.batches.units import Units

FEW = 2**16
"""Most bags whose numbers are sorted as numbers of two bytes, which takes a tenth of the time."""


def by_cell(
    weights: Float[torch.Tensor, "examples heads tokens tokens"],
    out: Float[torch.Tensor, "cells heads"] | None = None,
) -> Float[torch.Tensor, "cells heads"]:
    """Return attention by cell: one example after another, then one query, then one key.

    Args:
        weights: Attention of a padded batch.
        out: Where it is written; new memory when None.
    """
    examples, heads, tokens, _ = weights.shape
    if out is None:
        out = weights.new_empty((examples * tokens**2, heads))
    out.view(examples, -1, heads).copy_(weights.flatten(2).mT)
    return out


@dataclass(frozen=True, slots=True, eq=False)
class CellBags:
    """Bags of cells, or of other rows, whose attention is summed.

    Attributes:
        index: The cells of each bag, one bag after another.
        weight: The weight of each; None for 1.
        opens: First place in ``index`` of each bag.
    """

    index: Int[torch.Tensor, " members"]
    weight: Float[torch.Tensor, " members"] | None
    opens: Int[torch.Tensor, " bags"]

    def sums(self, cells: Float[torch.Tensor, "cells heads"]) -> Float[torch.Tensor, "bags heads"]:
        """Return the weighted sum of attention over each bag; 0 for an empty one.

        Every row is read once, and none is copied.
        """
        sums: torch.Tensor = embedding_bag(
            self.index, cells, self.opens, mode="sum", per_sample_weights=self.weight
        )
        return sums


def cell_bags(inside: Bool[torch.Tensor, "examples units units"], units: Units, batch: Padding) -> CellBags:
    """Return the bags of all offsets of each example, offset d at d + units − 1, then of all its units.

    A cell weighs one over the tokens of its attending unit.

    Args:
        inside: The compared pairs of units.
        units: The units.
        batch: The tokens.
    """
    examples, width, _ = inside.shape
    tokens, span, member = batch.width, 2 * width - 1, units.unit.cpu().numpy()
    cells = inside.cpu().numpy()
    example, query, key = np.nonzero(_between_tokens(cells, member) if units.words else cells)
    row, start, asking, asked = example * tokens + query, example * width, query, key
    if units.words:
        asking, asked = member.ravel().take(row), member.ravel().take(example * tokens + key)
    offset, unit = example * span + asked - asking + width - 1, start + asking
    by_offset = np.argsort(offset.astype(np.uint16) if examples * span <= FEW else offset, kind="stable")
    in_order = bool((unit[1:] >= unit[:-1]).all())
    by_unit = np.arange(len(unit)) if in_order else np.argsort(unit, kind="stable")
    members = np.concatenate([by_offset, by_unit])
    weight = (1 / units.pieces.cpu().numpy()).ravel().take(unit)
    opens = _opens(offset, examples * span), _opens(unit, examples * width) + len(unit)
    return CellBags(
        index=torch.from_numpy((row * tokens + key).take(members)).to(batch.device),
        weight=torch.from_numpy(weight.take(members)).to(batch.device),
        opens=torch.from_numpy(np.concatenate(opens)).to(batch.device),
    )


def _between_tokens(
    cells: Bool[np.ndarray, "examples units units"], member: Int[np.ndarray, "examples tokens"]
) -> Bool[np.ndarray, "examples tokens tokens"]:
    """Return the pairs of tokens of pairs of units; tokens of no unit are in none."""
    edged = np.pad(cells, ((0, 0), (0, 1), (0, 1)))
    row = np.arange(len(cells))[:, None] * edged.shape[1] + member
    pairs: np.ndarray = edged.ravel().take(row[:, :, None] * edged.shape[2] + member[:, None, :])
    return pairs


def _opens(bag: Int[np.ndarray, " members"], bags: int) -> Int[np.ndarray, " bags"]:
    """Return the first place of each bag, where members are in the order of their bags."""
    counts = np.bincount(bag, minlength=bags)
    opens: np.ndarray = np.cumsum(counts) - counts
    return opens
