"""Attention that word classes, nearness, distance, length and frequency explain, by a shard's other half.

With A the attention between words, i and j words of one sentence of n words and c_t(i, j) the cell of a pair
in table t (``headroles.plans.word_pairs``), the profile of a head on one half of the units of a shard is

    g(i, j) = f(c_0) r_1(c_1) r_2(c_2) r_3(c_3)

f is a mean by cells that shrinks towards coarser cells: level l has

    f_l(c) = (Σ A_ij + K f_{l−1}(c)) / (Σ 1/n + K)

over the pairs of the half that agree with c in level l. The levels are those of ``coarser``, from the
distance alone (a plain mean) to the cell of the first table. So f is the share of even attention: 1 for a
head whose attention is even. The factors start at 1 and rake g to the sums of the other tables, in the order
length, query, key and length again: each cell of a table gets

    r(c) ← r(c) (Σ A_ij + K) / (Σ g(i, j) / n + K)

over the pairs of the half in the cell. K is 1/20: a pair of a sentence of 20 words whose attention is even.

In the other half, a row of mass m_i = Σ_k A_ik over the other words of its sentence is expected to spread as
``E_ij = m_i g(i, j) / Σ_k g(i, k)``. A contrast is the mean of ``A_ij − E_ij`` over the counted pairs of an
input. It is near 0 for a head whose attention is such a product, if the half has enough pairs to estimate it.

No unit is compared with a profile that it contributed to. Halves, profiles and contrasts depend only on the
inputs of the shard.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

SHRINKAGE = 1 / 20
"""K."""
RAKED = (1, 2, 3, 1)
"""The tables that a profile is raked to, in order."""
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
