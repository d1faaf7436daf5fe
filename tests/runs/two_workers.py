"""An engine of two workers in this process that know only what travels to other processes."""

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from headroles.shards.work import Order, Receipt, Task
from headroles.shards.worker import Worker


class TwoWorkers:
    """Two workers in this process that know only what travels to other processes; the last shard is first."""

    def __init__(self, order: Order) -> None:
        self._workers = [Worker(pickle.loads(pickle.dumps(order))) for _ in range(2)]
        self.facts, self.source, self.keep = self._workers[0].facts, None, self._workers[1].keep

    def score(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        for task in reversed(list(tasks)):
            yield self._workers[task.number % 2].score(pickle.loads(pickle.dumps(task)))

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


@contextmanager
def two_workers(order: Order, *_: object) -> Iterator[TwoWorkers]:
    engine = TwoWorkers(order)
    try:
        yield engine
    finally:
        engine.close()
