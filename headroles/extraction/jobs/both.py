"""Do two jobs in one pass over the inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch

from headroles.errors import BadInput
from headroles.extraction.capture.readers import BatchReader, GraphReader, Reader, Visible
from headroles.extraction.stream import Job, Ready
from headroles.extraction.texts.tokens import Tokenised

One = TypeVar("One", bound=Ready)
Other = TypeVar("Other", bound=Ready)
OneTable = TypeVar("OneTable")
OtherTable = TypeVar("OtherTable")
OneResult = TypeVar("OneResult")
OtherResult = TypeVar("OtherResult")


@dataclass(frozen=True, slots=True)
class Twice(Generic[One, Other]):
    """One example that is prepared for both jobs."""

    first: One
    second: Other

    @property
    def tokenised(self) -> Tokenised:
        """Return its pieces."""
        return self.first.tokenised


class Both(Generic[One, OneTable, OneResult, Other, OtherTable, OtherResult]):
    """Two jobs that read the same attention: ``stream`` gives the results of both, shard by shard."""

    def __init__(
        self, first: Job[One, OneTable, OneResult], second: Job[Other, OtherTable, OtherResult]
    ) -> None:
        """Take the jobs; at each layer the first reads first."""
        self._first, self._second = first, second

    def table(self, tokenised: Sequence[Tokenised]) -> tuple[OneTable, OtherTable]:
        """Return empty tables for the results of both."""
        return self._first.table(tokenised), self._second.table(tokenised)

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Twice[One, Other]]:
        """Prepare a batch for both."""
        first = self._first.prepare(tokenised, places)
        second = self._second.prepare(tokenised, places)
        return [Twice(own, other) for own, other in zip(first, second, strict=True)]

    def reader(self, batch: list[Twice[One, Other]], table: tuple[OneTable, OtherTable]) -> Reader:
        """Return a reader that hands the attention of a batch to the readers of both.

        Raises:
            BadInput: When one job reads gradients, which needs a pass of its own.
        """
        first = self._first.reader([prepared.first for prepared in batch], table[0])
        second = self._second.reader([prepared.second for prepared in batch], table[1])
        if isinstance(first, GraphReader) or isinstance(second, GraphReader):
            raise BadInput(
                "gradients are read in a pass of their own, not beside another job; run them apart"
            )
        return _ReaderPair(first, second, [prepared.tokenised.size for prepared in batch])

    def result(self, table: tuple[OneTable, OtherTable]) -> tuple[OneResult, OtherResult]:
        """Return both results of a finished shard."""
        return self._first.result(table[0]), self._second.result(table[1])


class _ReaderPair:
    """Hands attention to two readers in turn."""

    def __init__(self, first: Reader, second: Reader, sizes: Sequence[int]) -> None:
        self._first, self._second, self._sizes = first, second, sizes

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Visible) -> None:
        """Hand rows to both."""
        self._first.read(layer, example, start, rows, visible)
        self._second.read(layer, example, start, rows, visible)

    def read_batch(self, layer: int, weights: torch.Tensor, visible: Sequence[Visible]) -> None:
        """Hand a whole batch to both, or its examples one by one to a reader that takes no batches."""
        for reader in (self._first, self._second):
            if isinstance(reader, BatchReader):
                reader.read_batch(layer, weights, visible)
                continue
            for example, size in enumerate(self._sizes):
                reader.read(layer, example, 0, weights[example, :, :size, :size], visible[example])
