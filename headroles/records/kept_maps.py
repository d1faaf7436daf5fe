"""Attention maps that a run keeps: of the inputs that are most and least typical of a head's role."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, UInt8

from headroles.errors import BadInput
from headroles.records.arrays import read_only
from headroles.records.example import Example
from headroles.records.shown.brief import brief

MOST_TYPICAL, LEAST_TYPICAL = 3, 2
"""Examples per role and head: with the highest scores, and with the lowest."""


@dataclass(frozen=True, slots=True)
class TypicalInput:
    """One typical (or least typical) input of a role and head.

    Attributes:
        sieve: The role.
        layer: Layer of the head.
        head: Head within the layer.
        rank: 1, 2, 3 for the highest scores; −1, −2 for the lowest.
        score: Score of the head on the example.
        map: Index of its attention map in ``KeptMaps.weights``.
    """

    sieve: str
    layer: int
    head: int
    rank: int
    score: float
    map: int

    __repr__ = brief


@dataclass(frozen=True, slots=True, eq=False)
class KeptMaps:
    """Typical inputs of all roles and heads, with the attention maps that head cards show.

    Attributes:
        examples: The inputs of the maps.
        places: Example (index in ``examples``), layer and head of each map; no two alike.
        weights: The maps (queries, keys), attention in steps of 1/255, rounded to the nearest.
        exhibits: The typical inputs, by sieve, then head, best rank first.
        left: Typical inputs left out because the maps would have taken more than the limit.
        limit: Most maps that may be kept.

    Raises:
        BadInput: When a map is not as long as its example, or a typical input has no map.
    """

    examples: tuple[Example, ...]
    places: Int[np.ndarray, "maps 3"]
    weights: tuple[UInt8[np.ndarray, "_ _"], ...]
    exhibits: tuple[TypicalInput, ...]
    left: int
    limit: int

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check that all parts fit together, and make the arrays read-only."""
        places = np.asarray(self.places, dtype=np.int64).reshape(-1, 3)
        sizes = [self.examples[place].size for place in places[:, 0]]
        if [weights.shape for weights in self.weights] != [(n, n) for n in sizes]:
            raise BadInput("every kept map has one row and one column per token of its example; one has not")
        if any(not 0 <= typical.map < len(self.weights) for typical in self.exhibits):
            raise BadInput("every typical input has a map among those kept; one has not")
        object.__setattr__(self, "places", read_only(places))
        object.__setattr__(self, "weights", tuple(read_only(weights) for weights in self.weights))


@dataclass(frozen=True, slots=True, eq=False)
class InputMaps:
    """Attention of one input in the requested heads.

    Attributes:
        example: The input with its words, without trees.
        weights: By layer and head: (queries, keys) uint8, attention in steps of 1/255.
    """

    example: Example
    weights: dict[tuple[int, int], np.ndarray]

    __repr__ = brief
