"""Attention by cell in one half of a shard, and the first factor of the profile of every head.

A level is added up in float32 from the next finer one, so that no sum has many terms of very different
size.
"""

import numpy as np
import torch
from jaxtyping import Float, Float32, Int

from headroles.extraction.scoring.batches.cells import CellBags
from headroles.extraction.scoring.token_pairs import sort_into_bags
from headroles.plans.class_profile import SHRINKAGE
from headroles.plans.word_pairs import coarser, coarser_pair

Table = Float32[torch.Tensor, "rows heads"]


def sum_bags(
    table: Table,
    index: Int[np.ndarray, " members"],
    opens: Int[np.ndarray, "_"],
    weight: Float[np.ndarray, " members"] | None = None,
) -> Table:
    """Return the sums of bags of rows (bags, heads); 0 for an empty bag.

    Args:
        table: The rows.
        index: The rows of each bag, one bag after another.
        opens: First member of each bag, and one past the last of all.
        weight: Weight of each member; None for 1.

    Example:
        >>> rows = torch.tensor([[1.0], [2.0], [4.0]])
        >>> sum_bags(rows, np.array([0, 2, 1]), np.array([0, 2, 3])).tolist()
        [[5.0], [2.0]]
    """
    weights = None if weight is None else torch.from_numpy(weight.astype(np.float32))
    return CellBags(torch.from_numpy(index), weights, torch.from_numpy(opens[:-1])).sums(table)


class Totals:
    """Sums of attention and of even attention by place of one level.

    Attributes:
        place: The places that occur, sorted.
        sums: Σ A of each.
        even: Σ 1/n of each.
    """

    def __init__(
        self, place: Int[np.ndarray, " rows"], sums: Table, even: Float[np.ndarray, " rows"]
    ) -> None:
        """Add up rows by their places, in any order."""
        members, self.place, opens = sort_into_bags(place)
        self.even = np.add.reduceat(even[members], opens)
        self.sums = sum_bags(sums, members, np.append(opens, len(members)))

    def join(self, place: Int[np.ndarray, " rows"]) -> "Totals":
        """Return the totals of a coarser level, given the coarser place of each place."""
        return Totals(place, self.sums, self.even)

    def blend(
        self,
        wanted: Int[np.ndarray, " wanted"],
        coarser: tuple[Table, Int[np.ndarray, " wanted"]] | None = None,
    ) -> Table:
        """Return the mean of some places (wanted, heads), shrunk towards those of a coarser level.

        Args:
            wanted: Places; those that do not occur have no pair.
            coarser: The profile of the coarser level, and its row for each wanted place; None for plain
                means.
        """
        row = np.minimum(np.searchsorted(self.place, wanted), len(self.place) - 1)
        known = self.place[row] == wanted
        even = np.where(known, self.even[row], 0.0)
        every = np.arange(len(wanted) + 1)
        if coarser is None:
            return sum_bags(self.sums, row, every, known / np.where(known, even, 1.0))
        found = sum_bags(self.sums, row, every, known / (even + SHRINKAGE))
        found += sum_bags(*coarser, every, SHRINKAGE / (even + SHRINKAGE))
        return found


def profile(totals: Totals, cells: Int[np.ndarray, " cells"]) -> Table:
    """Return f of ``headroles.plans.class_profile`` (cells, heads), for every head.

    Each level is computed once for all cells that it does not tell apart.

    Args:
        totals: Of the cells of the first table in one half.
        cells: The cells that are asked for, sorted.
    """
    levels, wanted = coarser(totals.place), coarser(cells)
    by_side, by_distance = totals.join(levels[3]), totals.join(levels[2])
    distances, sides = (by_distance.join(place) for place in coarser_pair(by_distance.place))
    asked, of_cell = np.unique(wanted[2], return_inverse=True)
    distance, side = coarser_pair(asked)
    every = np.arange(len(asked))
    found = sides.blend(side, (distances.blend(distance), every))
    found = by_distance.blend(asked, (found, every))
    found = by_side.blend(wanted[3], (found, of_cell))
    return totals.blend(cells, (found, np.arange(len(cells))))
