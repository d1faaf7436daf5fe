"""Attention maps written to disk while a model runs, by pieces or by words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from headroles.errors import BadInput
from headroles.extraction.capture.readers import Visible
from headroles.extraction.scoring.finite import not_finite
from headroles.extraction.texts.json_inputs import MapInput
from headroles.extraction.texts.tokens import Tokenised

Reach = tuple[int | None, int | None]
"""Smallest and largest signed offset (key minus query) that can be seen; None where nothing ends it."""
Rows = list[list[int]]
"""First and last key that each query can see; the last before the first where it sees none."""


def units_of(given: MapInput) -> Int[np.ndarray, " tokens"]:
    """The unit each token belongs to, from 0 in the order of the tokens: its word; a special token alone.

    Example:
        >>> from headroles.records.passage import Passage
        >>> word, spans = np.array([-1, 0, 0, -1]), np.zeros((4, 2), dtype=np.int64)
        >>> tokens, passage = ("<s>", "rain", "##s", "</s>"), Passage("note", ("rains",))
        >>> pieces = Tokenised(passage, {}, tokens, word, spans, word < 0, False)
        >>> units_of(MapInput({}, "text", pieces, word)).tolist()
        [0, 1, 1, 2]
    """
    places = np.arange(given.tokenised.size)
    own = np.where(given.word < 0, -1 - places, given.word)
    first: dict[int, int] = {}
    return np.array([first.setdefault(int(each), len(first)) for each in own], dtype=np.int64)


def between_units(
    rows: Float[torch.Tensor, "heads rows tokens"], units: Int[torch.Tensor, " tokens"], start: int
) -> Float[torch.Tensor, "heads units units"]:
    """What a block of query rows adds to attention between units.

    Attention to a unit is the sum over its pieces, attention from one the mean over its pieces (Clark
    et al. 2019, section 4.1).
    """
    count = int(units.max()) + 1
    keys = rows.new_zeros((*rows.shape[:2], count)).index_add_(2, units, rows)
    pieces = torch.bincount(units, minlength=count).to(rows.dtype)
    own = units[start : start + rows.shape[1]]
    made = rows.new_zeros((rows.shape[0], count, count))
    return made.index_add_(1, own, keys / pieces[own][None, :, None])


def units_seen(
    visible: Bool[np.ndarray, "tokens tokens"] | None, units: Int[np.ndarray, " tokens"]
) -> Bool[np.ndarray, "units units"] | None:
    """Which units each unit sees: one sees another where any piece of it sees any piece of that.

    Example:
        >>> window = np.tri(4, dtype=bool) & ~np.tri(4, k=-2, dtype=bool)
        >>> units_seen(window, np.array([0, 0, 0, 1])).tolist()
        [[True, False], [True, True]]
    """
    if visible is None:
        return None
    order = np.argsort(units, kind="stable")
    starts = np.searchsorted(units[order], np.arange(units.max() + 1))
    keys = np.logical_or.reduceat(visible[:, order], starts, axis=1)
    seen: np.ndarray = np.logical_or.reduceat(keys[order], starts, axis=0)
    return seen


def reach_of(visible: Visible) -> Reach | Rows:
    """What queries can see: offsets, or else the first and last key of each query.

    Raises:
        BadInput: When some query does not see all keys from the first one that it sees to the last.

    Example:
        >>> reach_of(None), reach_of(np.tri(4, dtype=bool)), reach_of(np.eye(4, dtype=bool))
        ((None, None), (None, 0), (0, 0))
        >>> reach_of(np.array([[True, False, False], [True, True, False], [False, True, True]]))
        (-1, 0)
        >>> reach_of(np.array([[True, False, False], [True, True, True], [True, True, True]]))
        [[0, 0], [0, 2], [0, 2]]
    """
    if visible is None:
        return None, None
    seen = np.asarray(visible)
    n = len(seen)
    place = np.arange(n)
    some = seen.any(axis=1)
    first = np.where(some, seen.argmax(axis=1), 0)
    last = np.where(some, n - 1 - seen[:, ::-1].argmax(axis=1), -1)
    low, high = (int((first - place)[some].min()), int((last - place)[some].max())) if some.any() else (0, -1)
    offset = place[None, :] - place[:, None]
    if np.array_equal(seen, (offset >= low) & (offset <= high)):
        return (None if low == 1 - n else low), (None if high == n - 1 else high)
    if not np.array_equal(seen, (place >= first[:, None]) & (place <= last[:, None])):
        raise BadInput(
            "maps are stored with the first and the last key that each query can see, but in this model some "
            "query does not see all keys between; its maps cannot be stored"
        )
    return np.stack([first, last], axis=1).tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """One input ready for the model, and its number among all."""

    number: int
    tokenised: Tokenised


class Extracting:
    """The job of writing maps to disk; a shard's result is the reach of each layer, by input.

    Attributes:
        least: Smallest sum of a row so far; far below 1 where part of the attention went to a sink.
    """

    def __init__(
        self,
        inputs: Sequence[MapInput],
        maps: Sequence[np.ndarray],
        numbers: Sequence[Sequence[int]],
        words: bool,
    ) -> None:
        """Take where maps go.

        Args:
            inputs: All of them.
            maps: Arrays (layers, heads, units, units) to be filled, one per input.
            numbers: Of the inputs in each shard as ``streamed`` gets them.
            words: Whether units are words; else tokens.
        """
        self._inputs, self._maps, self._words = inputs, maps, words
        self._numbers = iter(numbers)
        self.least = 1.0

    def table(self, tokenised: Sequence[Tokenised]) -> "Reaches":
        """A shard's inputs, of which nothing is known yet."""
        return Reaches(tuple(next(self._numbers)))

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Placed]:
        """Nothing is laid over attention beforehand; the place within the shard stands for the number."""
        return [Placed(int(place), tokenised[place]) for place in places]

    def reader(self, batch: list[Placed], table: "Reaches") -> "Writer":
        """What takes the attention of a batch."""
        numbers = [table.numbers[each.number] for each in batch]
        units = [torch.from_numpy(units_of(self._inputs[each])) if self._words else None for each in numbers]
        names = [each.tokenised.passage.key for each in batch]
        return Writer([self._maps[each] for each in numbers], units, numbers, names, table)

    def result(self, table: "Reaches") -> dict[int, list[Reach | Rows]]:
        """The reach of every layer, by number of the input."""
        self.least = min(self.least, table.least)
        layers = 1 + max((layer for _, layer in table.found), default=-1)
        return {number: [table.found[number, layer] for layer in range(layers)] for number in table.numbers}


@dataclass(slots=True)
class Reaches:
    """What the queries of a shard's inputs can see, as it becomes known."""

    numbers: tuple[int, ...]
    found: dict[tuple[int, int], Reach | Rows] = field(default_factory=dict)
    least: float = 1.0


@dataclass(slots=True)
class Writer:
    """Writes the maps of a batch as they pass by."""

    maps: list[np.ndarray]
    units: list[torch.Tensor | None]
    numbers: list[int]
    names: list[str]
    table: Reaches
    sums: dict[int, torch.Tensor] = field(default_factory=dict)
    known: dict[int, list[tuple[Visible, Reach | Rows]]] = field(default_factory=dict)

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Visible) -> None:
        """Write a block of query rows; by words, add it up and write a layer at its last row."""
        size, whole = rows.shape[2], self.maps[example]
        key = (self.numbers[example], layer)
        if key not in self.table.found:
            self.table.found[key] = self._reach(example, visible)
        least = float(rows.sum(2).min())
        if not math.isfinite(least):
            raise not_finite(self.names[example], layer)
        self.table.least = min(self.table.least, least)
        units = self.units[example]
        if units is None:
            whole[layer, :, start : start + rows.shape[1], :size] = rows.cpu().numpy()
            return
        own = between_units(rows, units.to(rows.device), start)
        before = self.sums.pop(example, None)
        total = own if before is None else own + before
        if start + rows.shape[1] < len(units):
            self.sums[example] = total
            return
        whole[layer] = total.cpu().numpy()

    def _reach(self, example: int, visible: Visible) -> Reach | Rows:
        """What the units of an example see, worked out once for all layers that see alike."""
        known = self.known.setdefault(example, [])
        for same, reach in known:
            if same is visible:
                return reach
        units = self.units[example]
        known.append((visible, reach_of(visible if units is None else units_seen(visible, units.numpy()))))
        return known[-1][1]
