"""The engine that scores shards in parallel, in processes of this machine that live as long as the run.

Each worker is a new interpreter. It gets its order and its shards over a pipe and writes its files itself,
so only receipts return. A lost worker is replaced and its shard is done again. When this process is lost,
its workers see the end of their pipes and end, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from headroles.errors import BadInput
from headroles.progress import PARSE, SCORE, Advance
from headroles.records.kept_maps import InputMaps, WantedMaps
from headroles.records.passage import Passage
from headroles.shards.engines.losses import MOST_LOSSES, describe_scoring, lost_worker_error
from headroles.shards.engines.process import Process, error_of_worker
from headroles.shards.work import Facts, Order, Receipt, Task


class Processes:
    """Workers in processes of their own."""

    def __init__(self, order: Order, advance: Advance) -> None:
        """Keep the instructions; workers are started when the engine is entered.

        Args:
            order: Instructions for the workers.
            advance: Called with the number of examples scored or parsed since the last call; negative when
                the shard of a lost worker has to be done again.
        """
        self._order, self._advance = order, advance
        self._workers: list[Process] = []
        self._messages: SimpleQueue[tuple[Process, Any]] = SimpleQueue()
        self._facts: Facts | None = None
        self._unloaded = 0

    @property
    def facts(self) -> Facts:
        """Return the facts of the model and annotation, as the first worker loaded them."""
        if self._facts is None:
            raise RuntimeError("an engine is used within 'with'")
        return self._facts

    @property
    def source(self) -> None:
        """Return None: models are in other processes."""
        return None

    def score(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Score shards in parallel and yield receipts in the order in which shards are done.

        A task is taken from the iterable when a worker is free for it.

        Raises:
            HeadrolesError: When a worker raised it, or when a shard lost its worker too often.
        """
        feed = _Feed(tasks)
        while True:
            self._hand_out(feed)
            if not feed.has(1) and not any(worker.task for worker in self._workers):
                return
            receipt = self._next(feed)
            if receipt is not None:
                self._hand_out(feed)  # before the caller takes time for it
                yield receipt

    def drop(self) -> None:
        """Wait for shards that are being scored, and drop their receipts and errors."""
        while any(worker.task for worker in self._workers):
            worker, (kind, content) = self._messages.get()
            if kind == "receipt":
                worker.task = None
                worker.advanced.clear()
            elif kind == "error":
                self._forget(worker)
            else:
                self._note(worker, kind, content)

    def keep(self, passages: Sequence[Passage], asked: Sequence[WantedMaps]) -> list[InputMaps]:
        """Return, for each of some inputs, the wanted attention maps and cells."""
        for _ in range(MOST_LOSSES):
            worker = self._ready()
            worker.send(("keep", list(passages), list(asked)))
            for sender, (kind, content) in iter(self._messages.get, None):
                if sender is worker and kind == "lost":
                    self._forget(worker)
                    break
                if sender is worker and kind == "error":
                    raise error_of_worker(*content)
                if sender is worker and kind == "kept":
                    maps: list[InputMaps] = content
                    return maps
                self._note(sender, kind, content)
        raise lost_worker_error("keeping maps of heads", content)

    def _ready(self) -> Process:
        """Return a worker that has loaded its model and is idle."""
        while True:
            for worker in self._workers:
                if worker.loaded and worker.task is None:
                    return worker
            if not self._workers:
                self._start()
            sender, (kind, content) = self._messages.get()
            self._note(sender, kind, content)

    def _hand_out(self, feed: _Feed) -> None:
        """Give every free worker a shard, and start workers while more shards are left than workers."""
        for worker in self._workers:
            if worker.loaded and worker.task is None and (task := feed.take()) is not None:
                worker.task = task
                worker.send(("score", task))
        waiting = sum(not worker.loaded for worker in self._workers)
        while len(self._workers) < self._order.options.workers and feed.has(waiting + 1):
            self._start()
            waiting += 1

    def _next(self, feed: _Feed) -> Receipt | None:
        """Handle the next message of a worker; return the receipt when it says that a shard is done."""
        worker, (kind, content) = self._messages.get()
        task = worker.task
        if kind == "receipt" and task is not None:
            worker.task = None
            for phase in (PARSE, SCORE):
                if (remaining := len(task.passages) - worker.advanced[phase]) > 0:
                    self._advance(remaining, phase)
            worker.advanced.clear()
            receipt: Receipt = content
            return receipt
        if kind == "lost" and task is not None:
            for phase, count in worker.advanced.items():
                self._advance(-count, phase)
            feed.give_back(task, content)
        self._note(worker, kind, content)
        return None

    def _note(self, worker: Process, kind: str, content: Any) -> None:
        """Handle a message that is not a receipt."""
        if kind == "facts":
            worker.loaded, self._unloaded = True, 0
            if self._facts is None:
                self._facts = content
            elif content.identity != self._facts.identity:
                raise BadInput(
                    "all workers of a run load the same model, code and parser, but a worker loaded others "
                    "than the first; do not change them while a run is made, and start it again"
                )
        elif kind == "advance":
            count, phase = content
            worker.advanced[phase] += count
            self._advance(count, phase)
        elif kind == "error":
            raise error_of_worker(*content)
        elif kind == "lost":
            self._forget(worker)
            self._unloaded += not worker.loaded
            if self._unloaded >= MOST_LOSSES:
                raise lost_worker_error("loading the model", content)

    def _forget(self, worker: Process) -> None:
        self._workers.remove(worker)
        worker.dismiss()
        worker.wait()

    def _start(self) -> None:
        self._workers.append(Process(self._order, self._messages))

    def __enter__(self) -> Processes:
        """Start the workers that the run is known to need, and wait until one has loaded the model."""
        try:
            for _ in range(min(self._order.options.workers, self._order.shards or 1)):
                self._start()
            while self._facts is None:
                if not self._workers:
                    self._start()
                sender, (kind, content) = self._messages.get()
                self._note(sender, kind, content)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop all workers and wait until they have ended."""
        self._stop()

    def _stop(self) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.dismiss()
        for worker in workers:
            worker.wait()


class _Feed:
    """The tasks that are left; those that were given back come first."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._remaining = iter(tasks)
        self._waiting: list[Task] = []
        self._losses: dict[int, int] = {}

    def has(self, number: int) -> bool:
        """Return whether at least this many tasks are left; no more than these are made."""
        while len(self._waiting) < number:
            task = next(self._remaining, None)
            if task is None:
                return False
            self._waiting.append(task)
        return True

    def take(self) -> Task | None:
        """Return the next task; None when none is left."""
        return self._waiting.pop(0) if self.has(1) else None

    def give_back(self, task: Task, how: int) -> None:
        """Take back a task whose worker was lost.

        Args:
            task: The task.
            how: Exit code of the worker, or minus its signal.

        Raises:
            BadInput: When the task has lost too many workers.
        """
        losses = self._losses[task.number] = self._losses.get(task.number, 0) + 1
        if losses >= MOST_LOSSES:
            raise lost_worker_error(describe_scoring(task), how)
        self._waiting.insert(0, task)
