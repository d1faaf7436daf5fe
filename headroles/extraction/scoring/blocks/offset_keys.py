"""The units of keys, laid out for the compiled loop over cells of attention."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

RUN = 64
"""Fewest keys of consecutive units, one token each, that are added together."""


@dataclass(frozen=True, slots=True, eq=False)
class OffsetKeys:
    """The units of all keys of an input, laid out for the loop.

    Attributes:
        runs: First key and one past the last of keys of consecutive units, and the first unit.
        lead: The first of the other keys of each unit, sorted, where units follow each other.
        pieces: First place in ``lead`` and one past the last of consecutive units, and the first unit.
        key: The remaining keys with a unit, sorted.
        to: The unit of each.
        opens: Place in ``member`` of the first key of each unit, and one past the last of all; empty where a
            unit is compared with itself, too.
        member: The keys of each unit, one unit after another.
    """

    runs: Int[np.ndarray, "runs 3"]
    lead: Int[np.ndarray, " leads"]
    pieces: Int[np.ndarray, "pieces 3"]
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
            >>> keys.lead.tolist(), keys.key.tolist(), keys.to.tolist(), keys.opens.tolist()
            ([], [1, 2, 3], [1, 1, 2], [0, 0, 2, 3])
        """
        inside = unit >= 0
        runs, taken = _runs_of_units(unit)
        others = np.flatnonzero(inside & ~taken)
        lead = others[np.sort(np.unique(unit[others], return_index=True)[1])]
        pieces, led = _runs_of_units(unit[lead])
        lengths = pieces[:, 1] - pieces[:, 0]
        pieces[:, 1] = np.cumsum(lengths)
        pieces[:, 0] = pieces[:, 1] - lengths
        lead = lead[led]
        key = np.setdiff1d(others, lead, assume_unique=True)
        members = np.argsort(unit, kind="stable")[np.count_nonzero(~inside) :] if apart else key[:0]
        return cls(
            runs=runs,
            lead=lead.astype(np.uint32),
            pieces=pieces,
            key=key.astype(np.uint32),
            to=unit[key].astype(np.uint32),
            opens=np.searchsorted(unit[members], np.arange(units + 1)) if apart else key[:0],
            member=members,
        )


def _runs_of_units(
    unit: Int[np.ndarray, " keys"],
) -> tuple[Int[np.ndarray, "runs 3"], Bool[np.ndarray, " keys"]]:
    """Return the runs of at least ``RUN`` keys whose units follow each other, and which keys are in one."""
    edges = np.flatnonzero((np.diff(unit) != 1) | (unit[:-1] < 0)) + 1
    opens = np.concatenate([[0], edges])[: len(unit)]
    stops = np.concatenate([edges, [len(unit)]])[: len(opens)]
    long = (stops - opens >= RUN) & (unit[opens] >= 0)
    runs: np.ndarray = np.stack([opens, stops, unit[opens]], axis=1)[long].astype(np.int64)
    return runs, np.repeat(long, stops - opens)
