"""Partners of inputs: two inputs of equal length that exchange layouts, for contrasts beyond position.

A layout says which tokens belong to the first text, which to the second, and which are special. Partners lie
in one shard, so that pairs do not depend on workers. Lengths, boundaries and units alone decide the pairs.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int

from headroles.extraction.texts.tokens import Tokenised

APART = 3
"""Fewest tokens between the boundaries of partners."""


@dataclass(frozen=True, slots=True, eq=False)
class Partners:
    """The pairs of a shard.

    Attributes:
        first: Place of the first input of each pair, which has the value of the pair.
        second: Place of the other.
        two_texts: Whether each input has tokens of two texts, so that it could have a partner.
    """

    first: Int[np.ndarray, " pairs"]
    second: Int[np.ndarray, " pairs"]
    two_texts: Bool[np.ndarray, " inputs"]

    @property
    def alone(self) -> int:
        """Return the number of inputs of two texts that have no partner."""
        return int(self.two_texts.sum()) - 2 * len(self.first)

    def of(self, place: int) -> int | None:
        """Return the place of an input's partner; None where it has none."""
        for own, other in ((self.first, self.second), (self.second, self.first)):
            if (at := np.flatnonzero(own == place)).size:
                return int(other[at[0]])
        return None

    def merge(self, values: Float32[np.ndarray, "columns inputs layers heads"]) -> np.ndarray:
        """Return columns of swaps with one value for each pair, the mean of its two parts; else NaN."""
        merged = np.full_like(values, np.nan)
        merged[:, self.first] = (values[:, self.first] + values[:, self.second]) / 2
        return merged


def find_partners(
    tokenised: Sequence[Tokenised], units: Sequence[str], members: Sequence[int] = ()
) -> Partners:
    """Pair the inputs of a shard by length.

    Two inputs are partners when they have the same number of tokens and their second texts begin at least
    ``APART`` tokens from each other. Units stay whole: two inputs are partners only when they are of one
    unit, or when each is the only input of its unit. The number of pairs is the largest possible, with
    boundaries as far from each other as possible. A joint input for cross attention has no partner.

    Args:
        tokenised: The inputs of the shard.
        units: Unit of each.
        members: Number of inputs in the unit of each, in the whole run; empty: as many as in the shard.
    """
    among = Counter(units)
    counts = members or [among[unit] for unit in units]
    two_texts = np.array([_has_two_texts(given) for given in tokenised], dtype=np.bool_)
    pools: dict[tuple[int, str | None], list[tuple[int, int]]] = {}
    for place in np.flatnonzero(two_texts).tolist():
        given, pool = tokenised[place], units[place] if counts[place] > 1 else None
        boundary = int((given.texts == 1).argmax())
        pools.setdefault((given.size, pool), []).append((boundary, place))
    pairs = sorted(pair for pool in pools.values() for pair in _pair(sorted(pool)))
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Partners(first, second, two_texts)


def _has_two_texts(given: Tokenised) -> bool:
    return given.stack is None and bool((given.texts == 0).any() and (given.texts == 1).any())


def _pair(sorted_pool: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pair the lowest boundaries with the highest, in order, and return the places of each pair.

    Args:
        sorted_pool: Boundary and place of inputs of one length, sorted.

    Example:
        >>> _pair([(4, 0), (5, 3), (8, 1), (9, 2)])
        [(0, 1), (2, 3)]
    """
    boundary = np.array([boundary for boundary, _ in sorted_pool])
    place = [place for _, place in sorted_pool]
    for count in range(len(place) // 2, 0, -1):
        if (boundary[-count:] - boundary[:count] >= APART).all():
            couples = zip(place[:count], place[-count:], strict=True)
            return [(min(couple), max(couple)) for couple in couples]
    return []
