"""Attention maps of chosen heads kept as bytes while a model runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import UInt8

from headroles.extraction.capture.readers import Visible
from headroles.extraction.texts.spelling import words_of
from headroles.extraction.texts.tokens import Tokenised, example_of
from headroles.records.example import Example


@dataclass(slots=True)
class Kept:
    """One input, and its attention in the heads that were asked for.

    Attributes:
        tokenised: Its pieces.
        asked: Heads by layer.
        maps: By layer, with the heads in the order of ``asked``; filled as the model runs.
    """

    tokenised: Tokenised
    asked: Mapping[int, Sequence[int]]
    maps: dict[int, UInt8[np.ndarray, "_ queries keys"]] = field(default_factory=dict)

    def weights(self, layer: int, head: int) -> UInt8[np.ndarray, "queries keys"]:
        """One map, in steps of 1/255."""
        kept: np.ndarray = self.maps[layer][list(self.asked[layer]).index(head)]
        return kept

    def example(self) -> Example:
        """The input with its words: gold ones where it has them, else as it is spelled; without trees."""
        whole = example_of(self.tokenised, self.tokenised.passage.words, arcs=False)
        word = whole.word if self.tokenised.passage.words else words_of(self.tokenised)
        return Example(whole.key, whole.tokens, whole.segment, whole.special, whole.first, word)


class Keeping:
    """The job of keeping maps; a shard's result is its inputs with their maps.

    It counts inputs as ``stream`` brings them, so each stream needs a job of its own.
    """

    def __init__(self, asked: Sequence[Mapping[int, Sequence[int]]]) -> None:
        """Take the heads that are asked for, by layer, of every input in turn."""
        self._asked = asked
        self._seen = 0

    def table(self, tokenised: Sequence[Tokenised]) -> list[Kept]:
        """A shard's inputs without maps."""
        start, self._seen = self._seen, self._seen + len(tokenised)
        asked = self._asked[start : self._seen]
        return [Kept(each, heads) for each, heads in zip(tokenised, asked, strict=True)]

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list["Chosen"]:
        """Nothing is laid over attention beforehand."""
        return [Chosen(int(place), tokenised[place]) for place in places]

    def reader(self, batch: list["Chosen"], table: list[Kept]) -> "Keeper":
        """What takes the attention of a batch."""
        return Keeper([table[each.place] for each in batch])

    def result(self, table: list[Kept]) -> list[Kept]:
        """The inputs, all their maps filled."""
        return table


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """One input ready for the model, and where it stands in its shard."""

    place: int
    tokenised: Tokenised


class Keeper:
    """Writes the rows of heads that are asked for into the maps of their inputs."""

    def __init__(self, batch: Sequence[Kept]) -> None:
        """Take the inputs of a batch, in its order."""
        self._batch = batch

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Visible) -> None:
        """Take a block of query rows of one input; nothing is done in layers that are not asked for."""
        kept = self._batch[example]
        heads = list(kept.asked.get(layer, ()))
        if not heads:
            return
        size = kept.tokenised.size
        whole = kept.maps.setdefault(layer, np.zeros((len(heads), size, size), dtype=np.uint8))
        whole[:, start : start + rows.shape[1]] = bytes_of(rows[heads])


def bytes_of(weights: torch.Tensor) -> UInt8[np.ndarray, "..."]:
    """Attention weights in steps of 1/255, rounded to the nearest; a weight that is NaN is 0.

    Example:
        >>> bytes_of(torch.tensor([0.0, 0.25, 1.0, float("nan")]))
        array([  0,  64, 255,   0], dtype=uint8)
    """
    steps = weights.float().mul(255).nan_to_num(0.0).round().clamp(0, 255)
    return steps.to(torch.uint8).cpu().numpy()
