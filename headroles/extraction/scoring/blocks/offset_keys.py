"""The units of keys, laid out for the compiled loop over cells of attention."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

RUN = 64
"""Fewest keys of consecutive units, one token each, that are added together."""


@dataclass(frozen=True, slots=True, eq=False)
class OffsetKeys:
    """The units of all keys of an input, laid out for the loop.

    Attributes:
        runs: First key and one past the last of keys of consecutive units, and the first unit.
        key: The other keys with a unit, sorted.
        to: The unit of each.
        opens: Place in ``member`` of the first key of each unit, and one past the last of all; empty where a
            unit is compared with itself, too.
        member: The keys of each unit, one unit after another.
    """

    runs: Int[np.ndarray, "runs 3"]
    key: Int[np.ndarray, " singles"]
    to: Int[np.ndarray, " singles"]
    opens: Int[np.ndarray, "_"]
    member: Int[np.ndarray, "_"]

    @classmethod
    def of(cls, unit: Int[np.ndarray, " keys"], units: int, apart: bool) -> "OffsetKeys":
        """Lay out keys.

        Args:
            unit: Unit of each key; −1 for keys that are not compared.
            units: Number of units.
            apart: Whether a unit is not compared with itself.

        Example:
            >>> keys = OffsetKeys.of(np.array([-1, 1, 1, 2]), 3, True)
            >>> keys.key.tolist(), keys.to.tolist(), keys.opens.tolist()
            ([1, 2, 3], [1, 1, 2], [0, 0, 2, 3])
        """
        inside = unit >= 0
        edges = np.flatnonzero((np.diff(unit) != 1) | ~inside[:-1]) + 1
        opens, stops = np.concatenate([[0], edges]), np.concatenate([edges, [len(unit)]])
        long = (stops - opens >= RUN) & inside[opens]
        runs = np.stack([opens, stops, unit[opens]], axis=1)[long]
        key = np.flatnonzero(inside & ~np.repeat(long, stops - opens))
        members = np.argsort(unit, kind="stable")[np.count_nonzero(~inside) :] if apart else key[:0]
        return cls(
            runs=runs.astype(np.int64),
            key=key.astype(np.uint32),
            to=unit[key].astype(np.uint32),
            opens=np.searchsorted(unit[members], np.arange(units + 1)) if apart else key[:0],
            member=members,
        )
