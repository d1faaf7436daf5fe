"""Shards scored one after the other in this process."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType

from headroles.extraction.model.machine import threads_of
from headroles.inputs.corpora import Corpus
from headroles.records.kept_maps import Maps
from headroles.records.passage import Passage
from headroles.shards.work import Facts, Order, Receipt, Task
from headroles.shards.worker import Worker
from headroles.storage.places import Place


class Here:
    """One worker, in this process."""

    def __init__(self, order: Order, place: Place, corpus: Corpus, advance: Callable[[int], None]) -> None:
        """Take what the worker does; it is made when the engine is entered.

        Args:
            order: What it does.
            place: Where it writes.
            corpus: The inputs.
            advance: Called with the examples done since the last call.
        """
        self._order, self._place, self._corpus, self._advance = order, place, corpus, advance
        self._worker: Worker | None = None
        self._held = ExitStack()

    @property
    def facts(self) -> Facts:
        """Of the model and annotation."""
        return self._made().facts

    def score(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Score shards in their order.

        Raises:
            HeadrolesError: When an input cannot be scored.
        """
        coming = iter(tasks)
        task = next(coming, None)
        while task is not None:
            later = next(coming, None)
            if later is not None:
                self._made().expect(later)
            yield self._made().score(task, self._advance)
            task = later

    def keep(self, passages: Sequence[Passage], asked: Sequence[dict[int, list[int]]]) -> list[Maps]:
        """Run some inputs once more and keep maps of the heads asked for, by layer, for each."""
        return self._made().keep(passages, asked)

    def _made(self) -> Worker:
        if self._worker is None:
            raise RuntimeError("an engine is used within 'with'")
        return self._worker

    def __enter__(self) -> "Here":
        """Make the worker."""
        with ExitStack() as held:
            held.enter_context(threads_of(self._order.threads))
            self._worker = Worker(self._order, place=self._place, corpus=self._corpus)
            self._held = held.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the worker go, and give torch its threads back."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
        self._held.close()
