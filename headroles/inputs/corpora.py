"""Inputs that are read anew each time they are gone through, and never held: from a corpus of any size."""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from headroles.extraction.texts.sources import drawn
from headroles.records.passage import Passage

Read = Callable[[], Iterator[Passage]]
"""Begins to read from the first passage, each time it is called."""


class Streamed:
    """A corpus that is read as it is gone through (``work.Corpus``).

    A limit takes the random subset that its seed draws, in the order of the inputs; for this they are
    counted once, in a pass of its own. Where they may not be counted first, it takes the first ones.
    Memory is that of one passage and, with a limit, of the places drawn.
    """

    def __init__(
        self,
        read: Read,
        source: dict[str, Any],
        *,
        gold: bool,
        limit: int | None = None,
        seed: int = 0,
        first: bool = False,
    ) -> None:
        """Take how to read; nothing is read yet.

        Args:
            read: Begins from the first passage.
            source: Where they come from: ``kind`` and ``name`` and whatever else is known of it.
            gold: Whether every passage brings words and trees of its own.
            limit: How many are taken; None for all.
            seed: Of the random subset.
            first: Whether a limit takes the first passages.
        """
        self._read, self._source, self.gold = read, source, gold
        self._limit, self._seed, self._first = limit, seed, first
        self._rows: int | None = None

    @property
    def source(self) -> dict[str, Any]:
        """Where the inputs come from; with ``rows``, how many there are, once they were all counted."""
        told = dict(self._source)
        if self._limit is not None and self._first:
            told["taken"] = f"the first {self._limit}"
        return told | ({} if self._rows is None else {"rows": self._rows})

    def __iter__(self) -> Iterator[Passage]:
        """The passages, from the first.

        Raises:
            HeadrolesError: When file or dataset cannot be used, naming the place.
        """
        if self._limit is not None and self._first:
            with closing(_generator(self._all())) as passages:
                yield from islice(passages, self._limit)
        elif self._limit is not None:
            yield from self._some(self._limit)
        else:
            yield from self._all()

    def _all(self) -> Iterator[Passage]:
        """All passages, counted by the way."""
        count = 0
        with closing(_generator(self._read())) as passages:
            for passage in passages:
                count += 1
                yield passage
        self._rows = count

    def _some(self, limit: int) -> Iterator[Passage]:
        """Those that the seed draws."""
        wanted = self._drawn(limit)
        if wanted is None:
            yield from self._all()
            return
        following = 0
        with closing(_generator(self._read())) as passages:
            for place, passage in enumerate(passages):
                if place == wanted[following]:
                    yield passage
                    following += 1
                    if following == len(wanted):
                        return

    def _drawn(self, limit: int) -> Int[np.ndarray, " limit"] | None:
        """Which are drawn; None for all. They are counted when no pass has done so."""
        if self._rows is None:
            for _ in self._all():
                pass
        count = self._rows or 0
        return None if limit >= count else drawn(count, limit, self._seed)


def _generator(passages: Iterator[Passage]) -> Any:
    """A generator of the passages, which closes the one it reads from when it is closed itself."""
    yield from passages


class Held:
    """A corpus whose passages are there already, as those of samples and of windows of documents."""

    def __init__(self, passages: list[Passage], source: dict[str, Any]) -> None:
        """Take passages, and where they come from."""
        self._passages, self.source = passages, source
        self.gold = all(passage.words is not None for passage in passages)

    def __iter__(self) -> Iterator[Passage]:
        """The passages, from the first."""
        return iter(self._passages)


@runtime_checkable
class Corpus(Protocol):
    """The inputs of a run, gone through as often as needed and never held together."""

    @property
    def source(self) -> dict[str, Any]:
        """Where they come from: at least ``kind`` and ``name``, as in the manifest."""

    @property
    def gold(self) -> bool:
        """Whether every input brings words and trees of its own."""

    def __iter__(self) -> Iterator[Passage]:
        """All passages in their order, from the first, each time anew and each time the same.

        Raises:
            HeadrolesError: When file or dataset cannot be used, naming the place.
        """
