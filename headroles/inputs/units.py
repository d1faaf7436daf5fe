"""Units of inference: inputs of one group, or with equal tokens or texts, are one; units in two halves."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
from jaxtyping import Bool


def unit_names(
    groups: Sequence[str | None], marks: Sequence[Iterable[str]], keys: Sequence[str]
) -> list[str]:
    """Return the name of each input's unit.

    Inputs of one group are one unit, and inputs that share a mark (``Identity.unit_marks``) are one, also
    across groups: their scores repeat each other and would otherwise count as independent evidence.

    Args:
        groups: Document or paragraph of each input; None when unknown.
        marks: What each input is told by: hashes of its tokens, or its texts.
        keys: Keys of the inputs; a unit is named by its first input's group, or else by its key.

    Example:
        >>> unit_names([None, None, None], [["a", "b"], ["c", "d"], ["e", "b"]], ["x", "y", "z"])
        ['x', 'y', 'x']
    """
    bonds = UnitFinder()
    for group, own, key in zip(groups, marks, keys, strict=True):
        bonds.add(group, own, key)
    return bonds.names()


class UnitFinder:
    """Units of inputs that are added one by one (union-find); of marks and groups it stores only digests."""

    def __init__(self) -> None:
        """Start without inputs."""
        self._root: list[int] = []
        self._names: list[str] = []
        self._seen: dict[bytes, int] = {}

    def add(self, group: str | None, marks: Iterable[str], key: str) -> None:
        """Add the next input.

        Args:
            group: Document or paragraph of the input; None when unknown.
            marks: What it is told by: hashes of its tokens, or its texts.
            key: Key of the input.
        """
        place = len(self._root)
        self._root.append(place)
        self._names.append(group or key)
        shared = [_digest("mark", mark) for mark in marks]
        for digest in [*shared, *([_digest("group", group)] if group is not None else [])]:
            earlier, current = self._find(self._seen.setdefault(digest, place)), self._find(place)
            self._root[max(earlier, current)] = min(earlier, current)

    def names(self) -> list[str]:
        """Return the unit of each added input, named by its first input's group, or else by its key."""
        return [self._names[self._find(place)] for place in range(len(self._root))]

    def _find(self, place: int) -> int:
        """Return the first input of an input's unit, and shorten the path to it."""
        root = self._root
        while root[place] != place:
            root[place] = root[root[place]]
            place = root[place]
        return place


def half_of_units(units: Sequence[str], seed: int, purpose: str) -> Bool[np.ndarray, " inputs"]:
    """Return whether each input's unit is in the first half; of an odd number, it is the smaller part.

    Units are ranked by a hash of the seed and their names, so the halves depend on nothing else.

    Args:
        units: Unit of each input.
        seed: Of the halves.
        purpose: What they are for, at most 16 letters; halves for different purposes are independent.

    Example:
        >>> half_of_units(["a", "a", "b", "c", "d"], 0, "labels").tolist()
        [False, False, True, False, True]
    """
    ranked = sorted(set(units), key=lambda unit: _digest(purpose, f"{seed}:{unit}"))
    first = {*ranked[: len(ranked) // 2]}
    return np.array([unit in first for unit in units], dtype=np.bool_)


def _digest(kind: str, text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16, person=kind.encode()).digest()
