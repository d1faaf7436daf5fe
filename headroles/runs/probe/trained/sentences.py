"""Sentences with trees for training and testing probes, and batches of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from headroles.extraction.jobs.word_attention import SPECIAL_UNITS, WordMaps
from headroles.extraction.parsing.vectors import Vectors
from headroles.records.arrays import read_only

POOL = 64
"""Batches whose sentences are sorted by length together, so that random batches have little padding."""
PAIRS = 64 * 30**2
"""Largest number of pairs of units in a batch."""


@dataclass(frozen=True, slots=True, eq=False)
class Sentence:
    """A sentence with its tree.

    Attributes:
        words: Words of the sentence.
        heads: Head word of each word, counted from the start of the sentence; −1 for a root.
        judged: Words that count in the accuracy: all except punctuation.
        unit: Document of the sentence.
        number: Position among the sentences whose word attention was read.
    """

    words: tuple[str, ...]
    heads: Int[np.ndarray, " words"]
    judged: Bool[np.ndarray, " words"]
    unit: str
    number: int

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("heads", "judged"):
            object.__setattr__(self, name, read_only(getattr(self, name)))


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Sentences side by side, padded on the right; candidates are ROOT (0) and the words (from 1).

    Attributes:
        lengths: Words of each sentence.
        target: Head of each word as a candidate; 0 where padded.
        words: Row of each word among the vectors, or the number of vectors if unknown; None without vectors.
        attention: Query, key and map (layer by layer, heads in order); None where no attention is read.
    """

    lengths: Int[torch.Tensor, " sentences"]
    target: Int[torch.Tensor, "sentences words"]
    words: Int[torch.Tensor, "sentences words"] | None
    attention: Float[torch.Tensor, "sentences units units maps"] | None

    @property
    def real(self) -> Bool[torch.Tensor, "sentences words"]:
        """Mask of words that are not padding."""
        places = torch.arange(self.target.shape[1], device=self.target.device)
        return places < self.lengths[:, None]

    @property
    def candidates(self) -> Bool[torch.Tensor, "sentences words candidates"]:
        """Mask of each word's candidates: ROOT and the other real words; ROOT alone where padded."""
        real, width = self.real, self.target.shape[1]
        other = ~torch.eye(width, dtype=torch.bool, device=real.device)
        words = real[:, None, :] & real[:, :, None] & other
        return torch.nn.functional.pad(words, (1, 0), value=True)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Source of batches.

    Attributes:
        vectors: Word vectors, for probes that read words.
        maps: Word attention, for probes that read it.
        device: Device of the batches.
    """

    vectors: Vectors | None = None
    maps: WordMaps | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def batch(self, sentences: Sequence[Sentence]) -> Batch:
        """Return sentences as one batch."""
        count, width = len(sentences), max(len(sentence.words) for sentence in sentences)
        target = np.zeros((count, width), dtype=np.int64)
        words = np.zeros((count, width), dtype=np.int64)
        for row, sentence in enumerate(sentences):
            target[row, : len(sentence.words)] = sentence.heads + 1
            if self.vectors is not None:
                words[row, : len(sentence.words)] = self.vectors.rows(sentence.words)
        return Batch(
            lengths=torch.tensor([len(sentence.words) for sentence in sentences], device=self.device),
            target=torch.from_numpy(target).to(self.device),
            words=None if self.vectors is None else torch.from_numpy(words).to(self.device),
            attention=None if self.maps is None else self._attention(self.maps, sentences, width),
        )

    def _attention(self, maps: WordMaps, sentences: Sequence[Sentence], width: int) -> torch.Tensor:
        """Return the word attention of sentences, padded to one width."""
        units = width + SPECIAL_UNITS
        padded = np.zeros((len(sentences), units, units, maps.maps), dtype=np.float16)
        for row, sentence in enumerate(sentences):
            size = len(sentence.words) + SPECIAL_UNITS
            padded[row, :size, :size] = maps(sentence.number)
        return torch.from_numpy(padded).to(self.device).float()


def batches_by_length(lengths: Sequence[int], size: int, order: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield positions of sentences in batches of similar length, in random order, each position once.

    Args:
        lengths: Words of each sentence.
        size: Sentences in a batch; fewer where they are long.
        order: Generator that draws the order.
    """
    drawn = order.permutation(len(lengths))
    batches = []
    for start in range(0, len(drawn), POOL * size):
        pool = drawn[start : start + POOL * size]
        ranked = pool[np.argsort([-lengths[position] for position in pool], kind="stable")]
        batches += list(chop_batches(ranked, lengths, size))
    yield from (batches[k] for k in order.permutation(len(batches)))


def chop_batches(places: np.ndarray, lengths: Sequence[int], size: int) -> Iterator[np.ndarray]:
    """Yield positions, longest first, in batches of up to ``size`` sentences and ``PAIRS`` pairs of units."""
    start = 0
    while start < len(places):
        fitting = max(1, PAIRS // (lengths[places[start]] + SPECIAL_UNITS) ** 2)
        stop = start + min(size, fitting)
        yield places[start:stop]
        start = stop
