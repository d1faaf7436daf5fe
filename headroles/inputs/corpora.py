"""Corpora: inputs of any size that are read again in every pass, or kept in a list."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from headroles.extraction.texts.sources import draw_indices
from headroles.inputs.identity import Identity
from headroles.records.passage import Passage

Read = Callable[[], Iterator[Passage]]
"""Function that starts to read from the first passage, each time it is called."""


@runtime_checkable
class Corpus(Protocol):
    """The inputs of a run, iterated as often as needed and never loaded as a whole."""

    @property
    def source(self) -> dict[str, Any]:
        """Source of the inputs: at least ``kind`` and ``name``, as in the manifest."""

    @property
    def gold(self) -> bool:
        """Whether every input has words and trees of its own."""

    @property
    def units(self) -> Sequence[str] | None:
        """The unit of each passage, where the passages alone do not say it; None where they do."""

    @property
    def identity(self) -> Identity:
        """What tells which inputs are the same."""

    def __iter__(self) -> Iterator[Passage]:
        """Yield all passages in their order, from the first, in every pass the same.

        Raises:
            HeadrolesError: When file or dataset cannot be used, naming the place.
        """

    def close(self) -> None:
        """Close what stays open between passes."""


class StreamedCorpus:
    """A ``Corpus`` that is read from its source in every pass.

    A limit selects the random subset that the seed draws, in the order of the inputs; for this they are
    counted once, in a separate pass. The first ones are selected without counting.
    Memory is that of one passage and, with a limit, of the drawn indices.
    """

    def __init__(
        self,
        read: Read,
        source: dict[str, Any],
        *,
        gold: bool,
        limit: int | None = None,
        seed: int = 0,
        first: int | None = None,
    ) -> None:
        """Keep the settings, without reading.

        Args:
            read: Function that starts to read from the first passage.
            source: Source of the passages: ``kind``, ``name`` and whatever else is known of it.
            gold: Whether every passage has words and trees of its own.
            limit: Number of passages in a random subset; None for all.
            seed: Seed of the random subset.
            first: Number of passages selected from the first on; None for all.
        """
        self._read, self._source, self.gold = read, source, gold
        self._limit, self._seed, self._first = limit, seed, first
        self._rows: int | None = None
        self.units: Sequence[str] | None = None
        self.identity = Identity()

    @property
    def source(self) -> dict[str, Any]:
        """Source of the inputs, with their number as ``rows`` once they were all counted."""
        rows = {} if self._rows is None else {"rows": self._rows}
        return self._source | first_inputs(self._first) | rows

    def __iter__(self) -> Iterator[Passage]:
        """Yield the selected passages, from the first.

        Raises:
            HeadrolesError: When file or dataset cannot be used, naming the place.
        """
        if self._first is not None:
            with closing(_generator(self._read_all())) as passages:
                yield from islice(passages, self._first)
        elif self._limit is not None:
            yield from self._read_subset(self._limit)
        else:
            yield from self._read_all()

    def _read_all(self) -> Iterator[Passage]:
        """Yield and count all passages."""
        count = 0
        with closing(_generator(self._read())) as passages:
            for passage in passages:
                count += 1
                yield passage
        self._rows = count

    def _read_subset(self, limit: int) -> Iterator[Passage]:
        """Yield the passages that the seed draws."""
        indices = self._draw_indices(limit)
        if indices is None:
            yield from self._read_all()
            return
        following = 0
        with closing(_generator(self._read())) as passages:
            for index, passage in enumerate(passages):
                if index == indices[following]:
                    yield passage
                    following += 1
                    if following == len(indices):
                        return

    def _draw_indices(self, limit: int) -> Int[np.ndarray, " limit"] | None:
        """Draw the indices of the passages, after counting them if no pass has; None for all passages."""
        if self._rows is None:
            for _ in self._read_all():
                pass
        count = self._rows or 0
        return None if limit >= count else draw_indices(count, limit, self._seed)

    def close(self) -> None:
        """Do nothing: each pass closes its files."""


def first_inputs(first: int | None) -> dict[str, str]:
    """Return the entry of a source that says how many inputs were taken, from the first; none for all.

    Example:
        >>> first_inputs(30), first_inputs(None)
        ({'taken': 'the first 30'}, {})
    """
    return {} if first is None else {"taken": f"the first {first}"}


def _generator(passages: Iterator[Passage]) -> Any:
    """Yield the passages from a generator, which closes the inner one when it is closed."""
    yield from passages


class ListCorpus:
    """A ``Corpus`` of a list of passages, such as samples and windows of documents."""

    def __init__(
        self, passages: list[Passage], source: dict[str, Any], units: Sequence[str] | None = None
    ) -> None:
        """Keep the passages, their source, and the unit of each (None: as groups and texts say)."""
        self._passages, self.source, self.units = passages, source, units
        self.identity = Identity()
        self.gold = all(passage.words is not None for passage in passages)

    def __iter__(self) -> Iterator[Passage]:
        """Return an iterator over the passages, from the first."""
        return iter(self._passages)

    def close(self) -> None:
        """Do nothing: the passages are in memory."""


def first_part(corpus: Corpus, count: int) -> ListCorpus:
    """Return the first inputs of a corpus, as a corpus of their own.

    Args:
        corpus: The inputs in their order.
        count: Number of inputs.

    Raises:
        HeadrolesError: When the inputs cannot be read.
    """
    units = None if corpus.units is None else corpus.units[:count]
    source = {name: value for name, value in corpus.source.items() if name != "sha256"}  # of all inputs
    part = ListCorpus(list(islice(corpus, count)), source, units)
    part.identity = corpus.identity
    return part
