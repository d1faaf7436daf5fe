"""Examples to look at: the inputs a head does most, and least, of what its role says."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, UInt8

from headroles.errors import BadInput
from headroles.records.arrays import frozen
from headroles.records.example import Example

MOST_TYPICAL, LEAST_TYPICAL = 3, 2
"""Examples per role and head: those with the highest scores, and those with the lowest."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One example shown for a role of a head.

    Attributes:
        sieve: The role.
        layer: Layer of the head.
        head: Head within the layer.
        rank: 1, 2, 3 for the highest scores; −1, −2 for the lowest.
        score: Of the head on the example.
        map: Place of its attention map among ``Exhibited.weights``.
    """

    sieve: str
    layer: int
    head: int
    rank: int
    score: float
    map: int


@dataclass(frozen=True, slots=True, eq=False)
class Exhibited:
    """Attention maps kept for head cards.

    Attributes:
        examples: The inputs that any map is of.
        places: Example (place in ``examples``), layer and head of each map; no two alike.
        weights: The maps (queries, keys), attention in steps of 1/255, rounded to the nearest.
        exhibits: What they are shown for, sieve by sieve, head by head, best rank first.
        left: Exhibits that were left out because the maps would have taken more than the limit.
        limit: Most maps that were to be kept.

    Raises:
        BadInput: When a map is not as long as its example, or an exhibit has no map.
    """

    examples: tuple[Example, ...]
    places: Int[np.ndarray, "maps 3"]
    weights: tuple[UInt8[np.ndarray, "_ _"], ...]
    exhibits: tuple[Exhibit, ...]
    left: int
    limit: int

    def __post_init__(self) -> None:
        """Check that everything fits, and make the arrays read-only."""
        places = np.asarray(self.places, dtype=np.int64).reshape(-1, 3)
        sizes = [self.examples[place].size for place in places[:, 0]]
        if [each.shape for each in self.weights] != [(n, n) for n in sizes]:
            raise BadInput("every kept map has one row and one column per token of its example; it has not")
        if any(not 0 <= each.map < len(self.weights) for each in self.exhibits):
            raise BadInput("every exhibit has a map among those kept; one has not")
        object.__setattr__(self, "places", frozen(places))
        object.__setattr__(self, "weights", tuple(frozen(each) for each in self.weights))


@dataclass(frozen=True, slots=True, eq=False)
class Maps:
    """Attention of one input in the heads that were asked for.

    Attributes:
        example: The input with its words, without trees.
        weights: By layer and head: (queries, keys) uint8, attention in steps of 1/255.
    """

    example: Example
    weights: dict[tuple[int, int], np.ndarray]
