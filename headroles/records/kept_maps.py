"""Attention maps that a run keeps: of inputs typical of a head's roles, and of a few inputs of others."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Int, UInt8

from headroles.errors import BadInput
from headroles.records.arrays import read_only
from headroles.records.brief import brief
from headroles.records.example import Example
from headroles.records.table import HEAD, LAYER, Column, Table, counted

MOST_TYPICAL, LEAST_TYPICAL = 3, 2
"""Examples per role and head: with the highest scores, and with the lowest."""
ANY_INPUT = ""
"""In place of a role: inputs of a head that holds none, which were not chosen by their scores."""


@dataclass(frozen=True, slots=True)
class TypicalInput:
    """One typical (or least typical) input of a role and head, or an input of a head without a role.

    Attributes:
        sieve: The role; ``ANY_INPUT`` for a head that held none.
        layer: Layer of the head.
        head: Head within the layer.
        rank: 1, 2, 3 for the highest scores; −1, −2 for the lowest. Without a role, 1, 2, 3 only count.
        score: Score of the head on the example; NaN without a role.
        map: Index of its attention map in ``KeptMaps.weights``.
    """

    sieve: str
    layer: int
    head: int
    rank: int
    score: float
    map: int

    __repr__ = brief


TYPICAL_INPUTS = Table(
    "typical.csv",
    "Typical inputs of heads",
    "an input of a head",
    (
        Column("sieve", "The role; empty for inputs of a head without a role.", str),
        LAYER,
        HEAD,
        Column("rank", "1, 2, 3 for the highest scores; −1, −2 for the lowest.", int),
        Column("example", "Name of the input.", str),
        Column("score", "Score of the head on it; empty without a role."),
        counted("map", "Row of its attention in `maps.parquet`, from 0."),
    ),
)
"""Typical inputs of roles and heads, and inputs of heads without a role."""


@dataclass(frozen=True, slots=True, eq=False)
class KeptMaps:
    """Typical inputs of all roles and heads, with the attention maps that the head panel shows.

    Attributes:
        examples: The inputs of the maps.
        places: Example (index in ``examples``), layer and head of each map; no two alike.
        weights: The maps (queries, keys), attention in steps of 1/255, rounded to the nearest.
        exhibits: The typical inputs, by sieve, then head, best rank first.
        left: Typical inputs left out because the maps would have taken more than the limit.
        limit: Most maps that may be kept.
        counted: By example (index in ``examples``) and role: the (queries, keys) cells that its sieve counts.
            Only of typical inputs; sieves that compute from attention have none, nor have older folders.

    Raises:
        BadInput: When a map or its cells are not as long as its example, or a typical input has no map.
    """

    examples: tuple[Example, ...]
    places: Int[np.ndarray, "maps 3"]
    weights: tuple[UInt8[np.ndarray, "_ _"], ...]
    exhibits: tuple[TypicalInput, ...]
    left: int
    limit: int
    counted: Mapping[tuple[int, str], Bool[np.ndarray, "_ _"]] = field(default_factory=dict)

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check that all parts fit together, and make the arrays read-only."""
        places = np.asarray(self.places, dtype=np.int64).reshape(-1, 3)
        sizes = [self.examples[place].size for place in places[:, 0]]
        if [weights.shape for weights in self.weights] != [(n, n) for n in sizes]:
            raise BadInput("every kept map has one row and one column per token of its example; one has not")
        if any(not 0 <= typical.map < len(self.weights) for typical in self.exhibits):
            raise BadInput("every typical input has a map among those kept; one has not")
        for (place, _), cells in self.counted.items():
            if not 0 <= place < len(self.examples) or cells.shape != (self.examples[place].size,) * 2:
                raise BadInput("counted cells have one row and one column per token of their example")
        object.__setattr__(self, "places", read_only(places))
        object.__setattr__(self, "weights", tuple(read_only(weights) for weights in self.weights))
        object.__setattr__(self, "counted", {key: read_only(cells) for key, cells in self.counted.items()})


@dataclass(frozen=True, slots=True)
class WantedMaps:
    """The maps and cells that are wanted of one input.

    Attributes:
        heads: Heads by layer.
        sieves: Sieves whose cells are wanted.
    """

    heads: dict[int, list[int]] = field(default_factory=dict)
    sieves: tuple[str, ...] = ()

    __repr__ = brief


@dataclass(frozen=True, slots=True, eq=False)
class InputMaps:
    """Attention of one input in the requested heads, and the cells that sieves count on it.

    Attributes:
        example: The input with its words, without trees.
        weights: By layer and head: (queries, keys) uint8, attention in steps of 1/255.
        counted: By sieve: (queries, keys) bool, the cells that it counts; none of sieves without cells.
    """

    example: Example
    weights: dict[tuple[int, int], np.ndarray]
    counted: dict[str, np.ndarray] = field(default_factory=dict)

    __repr__ = brief
