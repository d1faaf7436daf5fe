"""Keep attention maps of chosen heads as bytes while a model runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import UInt8

from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.texts.spelling import number_words
from headroles.extraction.texts.tokens import Tokenised, example_of
from headroles.records.example import Example


@dataclass(slots=True)
class KeptInput:
    """One input, and its attention in the chosen heads.

    Attributes:
        tokenised: Its pieces.
        asked: Chosen heads by layer.
        maps: By layer, with the heads in the order of ``asked``; filled as the model runs.
    """

    tokenised: Tokenised
    asked: Mapping[int, Sequence[int]]
    maps: dict[int, UInt8[np.ndarray, "_ queries keys"]] = field(default_factory=dict)

    def weights(self, layer: int, head: int) -> UInt8[np.ndarray, "queries keys"]:
        """Return one map, in steps of 1/255."""
        kept: np.ndarray = self.maps[layer][list(self.asked[layer]).index(head)]
        return kept

    def example(self) -> Example:
        """Return the input with its gold or listed words, or else with words by spelling; without trees."""
        passage = self.tokenised.passage
        example = example_of(self.tokenised, passage.words, arcs=False)
        known = passage.words or self.tokenised.word is not None
        word = example.word if known else number_words(self.tokenised)
        return Example(example.key, example.tokens, example.segment, example.special, example.first, word)


class KeepMapsJob:
    """The job of keeping maps; the result of a shard is its inputs with their maps.

    It counts inputs in the order of ``stream``, so each stream needs a job of its own.
    """

    def __init__(self, heads: Sequence[Mapping[int, Sequence[int]]]) -> None:
        """Take the chosen heads by layer, one mapping for each input."""
        self._heads = heads
        self._count = 0

    def table(self, tokenised: Sequence[Tokenised]) -> list[KeptInput]:
        """Return a shard's inputs, still without maps."""
        start, self._count = self._count, self._count + len(tokenised)
        chosen = self._heads[start : self._count]
        return [KeptInput(passage, heads) for passage, heads in zip(tokenised, chosen, strict=True)]

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list["KeepMapsInput"]:
        """Return the batch; nothing else is prepared."""
        return [KeepMapsInput(int(place), tokenised[place]) for place in places]

    def reader(self, batch: list["KeepMapsInput"], table: list[KeptInput]) -> "KeepMapsReader":
        """Return the reader of a batch's attention."""
        return KeepMapsReader([table[prepared.place] for prepared in batch])

    def result(self, table: list[KeptInput]) -> list[KeptInput]:
        """Return the inputs with all their maps."""
        return table


@dataclass(frozen=True, slots=True, eq=False)
class KeepMapsInput:
    """One input that is ready for the model, and its place in its shard."""

    place: int
    tokenised: Tokenised


class KeepMapsReader:
    """Writes the rows of the chosen heads into the maps of their inputs."""

    def __init__(self, batch: Sequence[KeptInput]) -> None:
        """Take the inputs of a batch, in its order."""
        self._batch = batch

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        """Take a block of query rows of one input; layers without chosen heads are skipped."""
        kept = self._batch[example]
        heads = list(kept.asked.get(layer, ()))
        if not heads:
            return
        size = kept.tokenised.size
        maps = kept.maps.setdefault(layer, np.zeros((len(heads), size, size), dtype=np.uint8))
        chosen = rows if heads == [*range(len(rows))] else rows[heads]
        maps[:, start : start + rows.shape[1]] = bytes_of(chosen)


def bytes_of(weights: torch.Tensor) -> UInt8[np.ndarray, "..."]:
    """Return attention weights in steps of 1/255, rounded to the nearest; NaN becomes 0.

    Example:
        >>> bytes_of(torch.tensor([0.0, 0.25, 1.0, float("nan")]))
        array([  0,  64, 255,   0], dtype=uint8)
    """
    steps = weights.float().mul(255).nan_to_num_(0.0).round_().clamp_(0, 255)
    kept: np.ndarray = steps.cpu().numpy().astype(np.uint8)  # four times as fast as torch
    return kept
