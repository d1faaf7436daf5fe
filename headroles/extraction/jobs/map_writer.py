"""Write attention maps to disk while a model runs, by pieces or by words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from headroles.errors import BadInput
from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.scoring.finite import NotFiniteError
from headroles.extraction.texts.json_inputs import MapInput
from headroles.extraction.texts.tokens import Tokenised

OffsetRange = tuple[int | None, int | None]
"""Smallest and largest visible offset (key minus query); None where there is no bound."""
KeyRanges = list[list[int]]
"""First and last key that each query can see; the last is before the first where it sees none."""


def number_units(given: MapInput) -> Int[np.ndarray, " tokens"]:
    """Return the unit of each token, numbered from 0: its word, or a special token by itself.

    Example:
        >>> from headroles.records.passage import Passage
        >>> word, spans = np.array([-1, 0, 0, -1]), np.zeros((4, 2), dtype=np.int64)
        >>> tokens, passage = ("<s>", "rain", "##s", "</s>"), Passage("note", ("rains",))
        >>> pieces = Tokenised(passage, {}, tokens, word, spans, word < 0, False)
        >>> number_units(MapInput({}, "text", pieces, word)).tolist()
        [0, 1, 1, 2]
    """
    places = np.arange(given.tokenised.size)
    own = np.where(given.word < 0, -1 - places, given.word)
    first: dict[int, int] = {}
    return np.array([first.setdefault(int(unit), len(first)) for unit in own], dtype=np.int64)


def sum_between_units(
    rows: Float[torch.Tensor, "heads rows tokens"],
    units: Int[torch.Tensor, " tokens"],
    start: int,
    *,
    by_first: bool = False,
) -> Float[torch.Tensor, "heads units units"]:
    """Return the part of attention between units that a block of query rows adds.

    Attention to a unit is the sum over its pieces, attention from one the mean over its pieces (Clark
    et al. 2019, section 4.1).

    Args:
        rows: Attention of the block.
        units: Unit of every token.
        start: Token of the first row.
        by_first: Whether attention from a unit is that of its first piece, as the released script has it.
    """
    count = int(units.max()) + 1
    keys = rows.new_zeros((*rows.shape[:2], count)).index_add_(2, units, rows)
    own = units[start : start + rows.shape[1]]
    if by_first:
        places = torch.arange(len(units), device=units.device)
        first = torch.full_like(units[:count], len(units)).scatter_reduce_(0, units, places, "amin")
        keys = keys * (places[start : start + rows.shape[1]] == first[own])[None, :, None]
    else:
        keys = keys / torch.bincount(units, minlength=count).to(rows.dtype)[own][None, :, None]
    sums = rows.new_zeros((rows.shape[0], count, count))
    return sums.index_add_(1, own, keys)


def visible_units(
    visible: Bool[np.ndarray, "tokens tokens"] | None, units: Int[np.ndarray, " tokens"]
) -> Bool[np.ndarray, "units units"] | None:
    """Return the units visible to each unit: any of its pieces sees any piece of theirs.

    Example:
        >>> window = np.tri(4, dtype=bool) & ~np.tri(4, k=-2, dtype=bool)
        >>> visible_units(window, np.array([0, 0, 0, 1])).tolist()
        [[True, False], [True, True]]
    """
    if visible is None:
        return None
    order = np.argsort(units, kind="stable")
    starts = np.searchsorted(units[order], np.arange(units.max() + 1))
    keys = np.logical_or.reduceat(visible[:, order], starts, axis=1)
    pairs: np.ndarray = np.logical_or.reduceat(keys[order], starts, axis=0)
    return pairs


def visible_range(visible: VisibleArray) -> OffsetRange | KeyRanges:
    """Return the visible offsets, or else the first and last visible key of each query.

    Raises:
        BadInput: When some query does not see every key between the first and the last that it sees.

    Example:
        >>> visible_range(None), visible_range(np.tri(4, dtype=bool)), visible_range(np.eye(4, dtype=bool))
        ((None, None), (None, 0), (0, 0))
        >>> visible_range(np.array([[True, False, False], [True, True, False], [False, True, True]]))
        (-1, 0)
        >>> visible_range(np.array([[True, False, False], [True, True, True], [True, True, True]]))
        [[0, 0], [0, 2], [0, 2]]
    """
    if visible is None:
        return None, None
    array = np.asarray(visible)
    n = len(array)
    place = np.arange(n)
    sees_any = array.any(axis=1)
    first = np.where(sees_any, array.argmax(axis=1), 0)
    last = np.where(sees_any, n - 1 - array[:, ::-1].argmax(axis=1), -1)
    low, high = (
        (int((first - place)[sees_any].min()), int((last - place)[sees_any].max()))
        if sees_any.any()
        else (0, -1)
    )
    offset = place[None, :] - place[:, None]
    if np.array_equal(array, (offset >= low) & (offset <= high)):
        return (None if low == 1 - n else low), (None if high == n - 1 else high)
    if not np.array_equal(array, (place >= first[:, None]) & (place <= last[:, None])):
        raise BadInput(
            "maps can be stored if each query sees all keys from its first to its last, but in this "
            "model some query does not; its maps cannot be stored"
        )
    return np.stack([first, last], axis=1).tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False)
class WriteMapsInput:
    """One input that is ready for the model, and its number among all."""

    number: int
    tokenised: Tokenised


class WriteMapsJob:
    """The job of writing maps to disk; the result of a shard is the visible keys by input and layer.

    Attributes:
        least: Smallest sum of a row so far; far below 1 where part of the attention went to a sink.
    """

    def __init__(
        self,
        inputs: Sequence[MapInput],
        maps: Sequence[np.ndarray],
        numbers: Sequence[Sequence[int]],
        words: bool,
        *,
        by_first: bool = False,
    ) -> None:
        """Take the inputs and the arrays for their maps.

        Args:
            inputs: All inputs.
            maps: Arrays (layers, heads, units, units) to be filled, one per input.
            numbers: Numbers of the inputs in each shard of ``streamed``.
            words: Whether units are words; else tokens.
            by_first: Whether attention from a word is that of its first piece; else the mean over its pieces.
        """
        self._inputs, self._maps, self._words, self._by_first = inputs, maps, words, by_first
        self._numbers = iter(numbers)
        self.least = 1.0

    def table(self, tokenised: Sequence[Tokenised]) -> "VisibleRanges":
        """Return a shard's table, still without visible keys."""
        return VisibleRanges(tuple(next(self._numbers)))

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[WriteMapsInput]:
        """Return the batch; until the reader is made, the number is the place within the shard."""
        return [WriteMapsInput(int(place), tokenised[place]) for place in places]

    def reader(self, batch: list[WriteMapsInput], table: "VisibleRanges") -> "MapWriter":
        """Return the reader of a batch's attention."""
        numbers = [table.numbers[placed.number] for placed in batch]
        units = [
            torch.from_numpy(number_units(self._inputs[number])) if self._words else None
            for number in numbers
        ]
        names = [placed.tokenised.passage.key for placed in batch]
        maps = [self._maps[number] for number in numbers]
        return MapWriter(maps, units, numbers, names, table, self._by_first)

    def result(self, table: "VisibleRanges") -> dict[int, list[OffsetRange | KeyRanges]]:
        """Return the visible keys of every layer, by number of the input."""
        self.least = min(self.least, table.least)
        layers = 1 + max((layer for _, layer in table.visible_keys), default=-1)
        return {
            number: [table.visible_keys[number, layer] for layer in range(layers)] for number in table.numbers
        }


@dataclass(slots=True)
class VisibleRanges:
    """The keys that the queries of a shard's inputs can see, filled while the model runs."""

    numbers: tuple[int, ...]
    visible_keys: dict[tuple[int, int], OffsetRange | KeyRanges] = field(default_factory=dict)
    least: float = 1.0


@dataclass(slots=True)
class MapWriter:
    """Writes the maps of a batch while the model runs."""

    maps: list[np.ndarray]
    units: list[torch.Tensor | None]
    numbers: list[int]
    names: list[str]
    table: VisibleRanges
    by_first: bool = False
    sums: dict[int, torch.Tensor] = field(default_factory=dict)
    known: dict[int, list[tuple[VisibleArray, OffsetRange | KeyRanges]]] = field(default_factory=dict)

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        """Write a block of query rows; by words, add blocks up and write a layer after its last row."""
        size, maps = rows.shape[2], self.maps[example]
        key = (self.numbers[example], layer)
        if key not in self.table.visible_keys:
            self.table.visible_keys[key] = self._reach(example, visible)
        least = float(rows.sum(2).min())
        if not math.isfinite(least):
            raise NotFiniteError(self.names[example], layer)
        self.table.least = min(self.table.least, least)
        units = self.units[example]
        if units is None:
            maps[layer, :, start : start + rows.shape[1], :size] = rows.cpu().numpy()
            return
        part = sum_between_units(rows, units.to(rows.device), start, by_first=self.by_first)
        before = self.sums.pop(example, None)
        total = part if before is None else part + before
        if start + rows.shape[1] < len(units):
            self.sums[example] = total
            return
        maps[layer] = total.cpu().numpy()

    def _reach(self, example: int, visible: VisibleArray) -> OffsetRange | KeyRanges:
        """Return the visible keys of an example's units, computed once for all layers with the same mask."""
        known = self.known.setdefault(example, [])
        for same, reach in known:
            if same is visible:
                return reach
        units = self.units[example]
        known.append(
            (visible, visible_range(visible if units is None else visible_units(visible, units.numpy())))
        )
        return known[-1][1]
