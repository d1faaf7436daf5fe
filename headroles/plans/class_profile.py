"""Attention that word class, nearness, distance and frequency explain, by the other half of a shard.

With A the attention between words, i and j words of one sentence of n words and c(i, j) the cell of a pair
(``headroles.plans.word_pairs``), the profile of a head on one half of the units of a shard is

    f_l(c) = (Σ n A_ij + K f_{l−1}(c)) / (N_l(c) + K)

over the N_l(c) pairs of the half that agree with c in level l. The levels are those of ``coarser``, from
the distance alone (a plain mean) to the cell, and K = 2. In the other half, a row of mass m_i = Σ_k A_ik over
the other words of its sentence is expected to spread as ``E_ij = m_i f(c_ij) / Σ_k f(c_ik)``, with f of the
last level. A contrast is the mean of ``A_ij − E_ij`` over the counted pairs of an input. It is near 0 for a
head whose attention depends on these facts alone, if the half has enough pairs to estimate the profile.

No unit is compared with a profile that it contributed to. Halves, profiles and contrasts depend only on the
inputs of the shard.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.plans.word_pairs import CELLS, WordPairs, coarser

SHRINKAGE = 2.0
"""K: weight of the coarser profile, in pairs."""
LEAST = 20
"""Fewest sentences in each half of a shard; with fewer, the contrasts of the shard have no value."""


def split_in_halves(units: Sequence[str], sizes: Sequence[int]) -> Bool[np.ndarray, " inputs"]:
    """Return which half each input belongs to: units stay whole, and each joins the half with fewer words.

    Args:
        units: Unit of each input of a shard, such as its document.
        sizes: Words of each input.

    Example:
        >>> split_in_halves(["a", "b", "a", "c"], [3, 2, 3, 5]).tolist()
        [False, True, False, True]
    """
    totals: dict[str, int] = {}
    for unit, size in zip(units, sizes, strict=True):
        totals[unit] = totals.get(unit, 0) + size
    weight, second = [0, 0], {}
    for unit, total in totals.items():
        second[unit] = weight[1] < weight[0]
        weight[second[unit]] += total
    return np.array([second[unit] for unit in units], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class ClassSpace:
    """The columns of contrasts that compare the same words.

    Attributes:
        columns: Column of each contrast against word class.
        distance: Column of the contrast of the same cells against distance, D.
        share: Share of D that is taken from C for the score.
    """

    columns: tuple[int, ...]
    distance: tuple[int, ...]
    share: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class InputSums:
    """The sums of one input, for the profiles and contrasts of its shard.

    Attributes:
        place: Place of the input in the shard.
        pairs: Its pairs of words.
        cell: Cell of each pair, with the frequency of the key.
        mass: m_i of each query that counts (queries, heads), in the order of ``queries_of``.
        seen: Mean attention on the counted pairs (contrasts, heads); NaN without any.
    """

    place: int
    pairs: WordPairs
    cell: Int[np.ndarray, " pairs"]
    mass: Float[np.ndarray, "queries heads"]
    seen: Float[np.ndarray, "contrasts heads"]


def queries_of(pairs: WordPairs) -> Int[np.ndarray, " queries"]:
    """Return the attending words of the counted pairs of any contrast, sorted."""
    return np.unique(pairs.query[np.concatenate([*pairs.counted, np.zeros(0, dtype=np.int64)])])


@dataclass(slots=True)
class CellSums:
    """Sums of attention per cell of one half of a shard, while inputs are added.

    Attributes:
        row: Row of each cell in the sums, −1 for cells that did not occur.
        known: The cells that did, in the order of their rows.
        sums: Σ n A per row and head, with room for more rows.
        count: Pairs per row.
        groups: Number of sentences.
    """

    row: np.ndarray = field(default_factory=lambda: np.full(CELLS, -1, dtype=np.int32))
    known: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sums: np.ndarray | None = None
    count: np.ndarray | None = None
    groups: int = 0

    def add(
        self,
        cells: Int[np.ndarray, " cells"],
        sums: Float[np.ndarray, "cells heads"],
        count: Int[np.ndarray, " cells"],
        groups: int,
    ) -> None:
        """Add the sums of some inputs; each cell occurs once."""
        new = cells[self.row[cells] < 0]
        self.row[new] = len(self.known) + np.arange(len(new))
        self.known = np.append(self.known, new)
        rows = self.row[cells]
        if self.sums is None or self.count is None or len(self.known) > len(self.sums):
            room = max(1024, 2 * len(self.known))
            held, number = self.sums, self.count
            self.sums, self.count = np.zeros((room, sums.shape[1])), np.zeros(room)
            if held is not None and number is not None:
                self.sums[: len(held)], self.count[: len(held)] = held, number
        self.sums[rows] += sums
        self.count[rows] += count
        self.groups += groups

    def profile(self, cells: Int[np.ndarray, " cells"]) -> Float[np.ndarray, "cells heads"]:
        """Return f of some cells, for every head."""
        assert self.sums is not None, "a half has inputs"
        assert self.count is not None
        known = self.known
        sums, count = self.sums[: len(known)], self.count[: len(known)]
        profile, weight = np.zeros((len(cells), sums.shape[1])), 0.0
        for own, wanted in zip(coarser(known), coarser(cells), strict=True):
            total, number = _totals(own, wanted, sums, count)
            profile = (total + weight * profile) / np.maximum(number + weight, 1)[:, None]
            weight = SHRINKAGE
        return profile


def _totals(
    place: np.ndarray, wanted: np.ndarray, sums: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums (wanted, heads) and numbers of pairs of the cells that share a wanted place."""
    order = np.argsort(place, kind="stable")
    there, starts = np.unique(place[order], return_index=True)
    row = np.minimum(np.searchsorted(there, wanted), len(there) - 1)
    known = there[row] == wanted
    total = np.add.reduceat(sums[order], starts, axis=0)[row] * known[:, None]
    return total, np.add.reduceat(count[order], starts)[row] * known


def class_contrasts(
    inputs: Sequence[InputSums], halves: Bool[np.ndarray, " inputs"], sums: tuple[CellSums, CellSums]
) -> dict[int, Float[np.ndarray, "contrasts heads"]]:
    """Return the contrasts of the inputs of a shard by their places.

    Args:
        inputs: The sums of each input.
        halves: Half of each place of the shard.
        sums: Of both halves.

    Returns:
        NaN where an input has no counted pair; nothing where a half has fewer than ``LEAST`` sentences.
    """
    if min(half.groups for half in sums) < LEAST:
        return {}
    contrasts = {}
    for half in (False, True):
        own = [given for given in inputs if halves[given.place] == half]
        cells = (
            np.unique(np.concatenate([given.cell for given in own])) if own else np.zeros(0, dtype=np.int64)
        )
        profile = sums[not half].profile(cells)
        for given in own:
            contrasts[given.place] = given.seen - _expected(
                given, profile[np.searchsorted(cells, given.cell)]
            )
    return contrasts


def _expected(given: InputSums, profile: Float[np.ndarray, "pairs heads"]) -> np.ndarray:
    """Return the mean of E over the counted pairs of each contrast."""
    pairs = given.pairs
    queries, starts = np.unique(pairs.query, return_index=True)
    whole = np.add.reduceat(profile, starts, axis=0)
    asked = queries_of(pairs)
    expected = np.full(given.seen.shape, np.nan)
    for number, counted in enumerate(pairs.counted):
        if len(counted):
            query = pairs.query[counted]
            level = whole[np.searchsorted(queries, query)]
            rate = np.divide(
                given.mass[np.searchsorted(asked, query)], level, out=np.zeros_like(level), where=level > 0
            )
            expected[number] = (rate * profile[counted]).mean(axis=0)
    return expected
