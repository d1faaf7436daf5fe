"""Do two jobs in one pass over the inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch

from headroles.errors import BadInput
from headroles.extraction.capture.readers import (
    BatchReader,
    GraphReader,
    NormReader,
    OptionalBatchReader,
    Reader,
    VisibleArray,
)
from headroles.extraction.stream import Job, PreparedInput
from headroles.extraction.texts.tokens import Tokenised

First = TypeVar("First", bound=PreparedInput)
Second = TypeVar("Second", bound=PreparedInput)
FirstTable = TypeVar("FirstTable")
SecondTable = TypeVar("SecondTable")
FirstResult = TypeVar("FirstResult")
SecondResult = TypeVar("SecondResult")


@dataclass(frozen=True, slots=True)
class JointInput(Generic[First, Second]):
    """One example that is prepared for both jobs."""

    first: First
    second: Second

    @property
    def tokenised(self) -> Tokenised:
        """Return its pieces."""
        return self.first.tokenised


class JointJob(Generic[First, FirstTable, FirstResult, Second, SecondTable, SecondResult]):
    """Two jobs that read the same attention: ``stream`` gives the results of both, shard by shard."""

    def __init__(
        self, first: Job[First, FirstTable, FirstResult], second: Job[Second, SecondTable, SecondResult]
    ) -> None:
        """Take the jobs; at each layer the first reads first."""
        self._first, self._second = first, second

    def table(self, tokenised: Sequence[Tokenised]) -> tuple[FirstTable, SecondTable]:
        """Return empty tables for the results of both."""
        return self._first.table(tokenised), self._second.table(tokenised)

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[JointInput[First, Second]]:
        """Prepare a batch for both."""
        first = self._first.prepare(tokenised, places)
        second = self._second.prepare(tokenised, places)
        return [JointInput(own, other) for own, other in zip(first, second, strict=True)]

    def reader(self, batch: list[JointInput[First, Second]], table: tuple[FirstTable, SecondTable]) -> Reader:
        """Return a reader that hands the attention of a batch to the readers of both.

        Raises:
            BadInput: When one job reads gradients, which needs a pass of its own.
        """
        first = self._first.reader([prepared.first for prepared in batch], table[0])
        second = self._second.reader([prepared.second for prepared in batch], table[1])
        if isinstance(first, GraphReader) or isinstance(second, GraphReader):
            raise BadInput("gradients need a pass without any other job; run the two apart")
        return _ReaderPair(first, second, [prepared.tokenised.size for prepared in batch])

    def result(self, table: tuple[FirstTable, SecondTable]) -> tuple[FirstResult, SecondResult]:
        """Return both results of a finished shard."""
        return self._first.result(table[0]), self._second.result(table[1])


class _ReaderPair:
    """Hands attention to two readers in turn; only the first may have a reader of norm-weighted attention."""

    def __init__(self, first: Reader, second: Reader, sizes: Sequence[int]) -> None:
        self._first, self._second, self._sizes = first, second, sizes
        self.norm_reader = first.norm_reader if isinstance(first, NormReader) else None

    @property
    def together(self) -> bool:
        """Return whether the first reads all examples as one."""
        return isinstance(self._first, OptionalBatchReader) and self._first.together

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        """Hand rows to both."""
        self._first.read(layer, example, start, rows, visible)
        self._second.read(layer, example, start, rows, visible)

    def read_batch(self, layer: int, weights: torch.Tensor, visible: Sequence[VisibleArray]) -> None:
        """Hand a whole batch to both, or its examples one by one to a reader that takes no batches."""
        for reader in (self._first, self._second):
            if isinstance(reader, BatchReader):
                reader.read_batch(layer, weights, visible)
                continue
            for example, size in enumerate(self._sizes):
                reader.read(layer, example, 0, weights[example, :, :size, :size], visible[example])
