"""Attention by cell in one half of a shard, and the profile of every head that follows from it."""

import numpy as np
import torch
from jaxtyping import Float, Int

from headroles.plans.class_profile import SHRINKAGE
from headroles.plans.word_pairs import FREQUENCIES, coarser, coarser_pair

Table = Float[torch.Tensor, "rows heads"]


class Totals:
    """Sums of attention and numbers of pairs by place of one level.

    Attributes:
        place: The places that occur, sorted.
        sums: Σ n A of each, float64.
        count: Its pairs.
    """

    def __init__(
        self, place: Int[np.ndarray, " rows"], sums: Table, count: Float[np.ndarray, " rows"]
    ) -> None:
        """Add up rows by their places, in any order."""
        self.place, row = np.unique(place, return_inverse=True)
        self.count = np.bincount(row, count, len(self.place))
        self.sums = torch.zeros((len(self.place), sums.shape[1]), dtype=torch.float64)
        self.sums.index_add_(0, torch.from_numpy(row), sums.double())

    def join(self, place: Int[np.ndarray, " rows"]) -> "Totals":
        """Return the totals of a coarser level, given the coarser place of each place."""
        return Totals(place, self.sums, self.count)

    def blend(self, wanted: Int[np.ndarray, " wanted"], coarser: Table | None) -> Table:
        """Return the mean of some places (wanted, heads), shrunk towards those of a coarser level.

        Args:
            wanted: Places; those that do not occur have no pair.
            coarser: The profile of the coarser level at these places; None for plain means.
        """
        row = np.minimum(np.searchsorted(self.place, wanted), len(self.place) - 1)
        known = self.place[row] == wanted
        number = torch.from_numpy(np.where(known, self.count[row], 0.0))[:, None]
        total = self.sums.index_select(0, torch.from_numpy(row)).mul_(torch.from_numpy(known)[:, None])
        if coarser is None:
            return total.div_(number.clamp(min=1))
        return total.add_(coarser, alpha=SHRINKAGE).div_(number + SHRINKAGE)


def profile(totals: Totals, cells: Int[np.ndarray, " cells"]) -> Table:
    """Return f of ``headroles.plans.class_profile`` (cells, heads), for every head.

    Each level is computed once for all cells that it does not tell apart.

    Args:
        totals: Of the cells of one half, with the frequency of the key.
        cells: The cells that are asked for.
    """
    wholes = totals.join(totals.place // FREQUENCIES)
    levels = coarser(wholes.place * FREQUENCIES)
    by_side, by_distance = wholes.join(levels[3]), wholes.join(levels[2])
    distances, sides = (by_distance.join(place) for place in coarser_pair(by_distance.place))
    whole, of_cell = np.unique(cells // FREQUENCIES, return_inverse=True)
    wanted = coarser(whole * FREQUENCIES)
    asked, of_whole = np.unique(wanted[2], return_inverse=True)
    distance, side = coarser_pair(asked)
    found = by_distance.blend(asked, sides.blend(side, distances.blend(distance, None)))
    found = by_side.blend(wanted[3], found[torch.from_numpy(of_whole)])
    found = wholes.blend(whole, found)
    return totals.blend(cells, found[torch.from_numpy(of_cell)])
