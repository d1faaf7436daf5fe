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
from headroles.extraction.scoring.token_pairs import pairs_of_tokens, spread_bags

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
    """Bags of cells whose attention is summed.

    Attributes:
        index: The cells of each bag, one bag after another.
        weight: The weight of each.
        opens: First place in ``index`` of each bag.
    """

    index: Int[torch.Tensor, " members"]
    weight: Float[torch.Tensor, " members"]
    opens: Int[torch.Tensor, " bags"]

    def sums(self, cells: Float[torch.Tensor, "cells heads"]) -> Float[torch.Tensor, "bags heads"]:
        """Return the weighted sum of attention over each bag; 0 for an empty one."""
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
    example, query, key = np.nonzero(inside.cpu().numpy())
    pieces, span = units.pieces.cpu().numpy(), 2 * width - 1
    offset, unit = example * span + key - query + width - 1, example * width + query
    order = np.argsort(offset.astype(np.uint16) if examples * span <= FEW else offset, kind="stable")
    ones = np.ones(len(order))
    by_offset = order, ones, _opens(offset, examples * span)
    by_unit = np.arange(len(order)), ones, _opens(unit, examples * width)
    if units.words:
        own = units.unit.cpu().numpy()
        placed = np.where(own < width, own + width * np.arange(examples)[:, None], -1).ravel()
        counts = np.bincount(placed[placed >= 0], minlength=examples * width)
        number, asking, asked = pairs_of_tokens(placed, counts, unit, example * width + key)
        cell = asking * batch.width + asked % batch.width
    else:
        number, cell = np.ones(len(order), dtype=np.int64), (example * width + query) * width + key
    index, weight, opens = spread_bags((by_offset, by_unit), number, 1 / pieces[example, query])
    return CellBags(
        index=torch.from_numpy(cell[index]).to(batch.device),
        weight=torch.from_numpy(weight.astype(np.float32)).to(batch.device),
        opens=torch.from_numpy(opens).to(batch.device),
    )


def _opens(bag: Int[np.ndarray, " members"], bags: int) -> Int[np.ndarray, " bags"]:
    """Return the first place of each bag, where members are in the order of their bags."""
    counts = np.bincount(bag, minlength=bags)
    opens: np.ndarray = np.cumsum(counts) - counts
    return opens
