"""Shards scored on a Ray cluster, by actors of Ray Data with a model each; or on a Ray of our own."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any
from weakref import finalize

from headroles import errors
from headroles.addresses import is_address
from headroles.records.kept_maps import Maps
from headroles.records.passage import Passage
from headroles.shards.engines.on_ray.feed import FACTS
from headroles.shards.engines.on_ray.pool import Pool
from headroles.shards.engines.on_ray.session import connected
from headroles.shards.work import Facts, Order, Receipt, Task


def worker_of(order: Order) -> Any:
    """A worker of a run, with its threads for as long as it is there."""
    from headroles.extraction.model.machine import threads_of
    from headroles.shards.worker import Worker

    with ExitStack() as held:
        held.enter_context(threads_of(order.threads))
        worker = Worker(order)
        finalize(worker, held.pop_all().close).atexit = False
    return worker


class RayEngine:
    """A pool of workers on a Ray cluster, or on a Ray of its own on this machine."""

    def __init__(
        self,
        order: Order,
        advance: Callable[[int], None] = lambda count: None,
        make: Callable[[Order], Any] = worker_of,
    ) -> None:
        """Take what the workers do; they are made when the engine is entered.

        Args:
            order: What they do; its options say how many they are, and where.
            advance: Called with the examples done since the last call.
            make: Makes a worker in the process of an actor.
        """
        self._order, self._advance, self._make = order, advance, make
        self._held = ExitStack()
        self._pool: Pool | None = None
        self._facts: Facts | None = None
        self._seen = False

    @property
    def facts(self) -> Facts:
        """Of the model and annotation, as the first worker said."""
        if self._facts is None:
            raise RuntimeError("an engine is used within 'with'")
        return self._facts

    def score(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Score shards; each receipt comes when the files of its shard are whole, in any order.

        Raises:
            HeadrolesError: What a worker raised.
        """
        ahead, waiting, coming = 2 * self._order.options.workers, 0, iter(tasks)
        while True:
            while waiting < ahead and (task := next(coming, None)) is not None:
                self._started().ask(task)
                waiting += 1
            if not waiting:
                return
            receipt: Receipt = self._started().answer()
            waiting -= 1
            self._check_seen(receipt)
            self._advance(receipt.examples)
            yield receipt

    def keep(self, passages: Sequence[Passage], asked: Sequence[dict[int, list[int]]]) -> list[Maps]:
        """Run some inputs once more and keep maps of the heads asked for, by layer, for each."""
        self._started().ask((list(passages), list(asked)))
        kept: list[Maps] = self._started().answer()
        return kept

    def _started(self) -> "Pool":
        if self._pool is None:
            raise RuntimeError("an engine is used within 'with'")
        return self._pool

    def _check_seen(self, receipt: Receipt) -> None:
        """Refuse a folder that workers on other machines have to themselves, once, at the first receipt."""
        place = self._order.place
        if self._seen or place is None or is_address(place):
            return
        self._seen = True
        missing = [name for name in receipt.files if not (Path(place) / name).exists()]
        if missing:
            raise errors.BadInput(
                f"a worker wrote '{missing[0]}' to '{place}' on another machine, and it is not there on this "
                f"one; give --out a folder that all machines share, or an address such as s3://bucket/run"
            )

    def __enter__(self) -> "RayEngine":
        """Start or join Ray, and the workers; wait until the first one is ready.

        Raises:
            MissingExtra: When Ray is not installed.
            HeadrolesError: When the cluster cannot be reached, and what a worker raised.
        """
        with ExitStack() as held:
            held.enter_context(connected(self._order))
            self._pool = held.enter_context(Pool(self._order, self._make))
            self._pool.ask(FACTS)
            self._facts = self._pool.answer()
            self._held = held.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the workers, and Ray where it was started here."""
        self._pool = None
        self._held.close()
