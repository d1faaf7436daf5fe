"""The engine that scores shards one after the other in this process."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType

from headroles.extraction.model.machine import use_threads
from headroles.extraction.source import AttentionSource
from headroles.extraction.stream import free_memory
from headroles.inputs.corpora import Corpus
from headroles.progress import Advance
from headroles.records.kept_maps import InputMaps, WantedMaps
from headroles.records.passage import Passage
from headroles.shards.work import Facts, Order, Receipt, Task
from headroles.shards.worker import Worker
from headroles.storage.places import Place


class InProcess:
    """One worker, in this process."""

    def __init__(self, order: Order, place: Place, corpus: Corpus, advance: Advance) -> None:
        """Keep the instructions; the worker is made when the engine is entered.

        Args:
            order: Instructions for the worker.
            place: Where it writes.
            corpus: The inputs.
            advance: Called with the number of examples scored or parsed since the last call.
        """
        self._order, self._place, self._corpus, self._advance = order, place, corpus, advance
        self._worker: Worker | None = None
        self._stack = ExitStack()

    @property
    def facts(self) -> Facts:
        """Return the facts of the model and annotation."""
        return self._ready_worker().facts

    @property
    def source(self) -> AttentionSource:
        """Return the model, or the stored maps."""
        return self._ready_worker().source

    def score(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Score shards in their order, and return the free memory of this process after the last.

        Raises:
            HeadrolesError: When an input cannot be scored.
        """
        remaining = iter(tasks)
        task = next(remaining, None)
        while task is not None:
            next_task = next(remaining, None)
            if next_task is not None:
                self._ready_worker().expect(next_task)
            yield self._ready_worker().score(task, self._advance)
            if next_task is None:
                free_memory().release()
            task = next_task

    def drop(self) -> None:
        """Do nothing: no shard is being scored while a receipt is taken."""

    def keep(self, passages: Sequence[Passage], asked: Sequence[WantedMaps]) -> list[InputMaps]:
        """Return, for each of some inputs, the wanted attention maps and cells."""
        return self._ready_worker().keep(passages, asked)

    def _ready_worker(self) -> Worker:
        if self._worker is None:
            raise RuntimeError("an engine is used within 'with'")
        return self._worker

    def __enter__(self) -> "InProcess":
        """Make the worker."""
        with ExitStack() as stack:
            stack.enter_context(use_threads(self._order.threads))
            self._worker = Worker(self._order, place=self._place, corpus=self._corpus)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the worker, and restore the number of threads of torch."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
        self._stack.close()
