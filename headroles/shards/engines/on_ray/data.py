"""The engine that scores shards on Ray, with actors of Ray Data that hold one model each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any
from weakref import finalize

from headroles import errors
from headroles.addresses import is_address
from headroles.progress import PARSE, Advance, ignore_advance
from headroles.records.kept_maps import InputMaps, WantedMaps
from headroles.records.passage import Passage
from headroles.shards.engines.on_ray.feed import FACTS
from headroles.shards.engines.on_ray.pool import Pool
from headroles.shards.engines.on_ray.session import connect_to_ray
from headroles.shards.work import Facts, Order, Receipt, Task


def worker_of(order: Order) -> Any:
    """Make a worker of a run, whose number of threads is set as long as it exists."""
    from headroles.extraction.model.machine import use_threads
    from headroles.shards.worker import Worker

    with ExitStack() as stack:
        stack.enter_context(use_threads(order.threads))
        worker = Worker(order)
        finalize(worker, stack.pop_all().close).atexit = False
    return worker


class RayEngine:
    """Workers on a Ray cluster, or on a Ray that is started on this machine."""

    def __init__(
        self,
        order: Order,
        advance: Advance = ignore_advance,
        make: Callable[[Order], Any] = worker_of,
    ) -> None:
        """Keep the instructions; the workers are made when the engine is entered.

        Args:
            order: Instructions for the workers; its options state their number and the cluster.
            advance: Called with the number of examples scored or parsed since the last call.
            make: Makes a worker in the process of an actor.
        """
        self._order, self._advance, self._make = order, advance, make
        self._stack = ExitStack()
        self._pool: Pool | None = None
        self._facts: Facts | None = None
        self._place_checked = False
        self._waiting = 0

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
        """Score shards and yield each receipt when the files of its shard are whole, in any order.

        Raises:
            HeadrolesError: When a worker raised it.
        """
        ahead, remaining = 2 * self._order.options.workers, iter(tasks)
        while True:
            while self._waiting < ahead and (task := next(remaining, None)) is not None:
                self._running_pool().ask(task)
                self._waiting += 1
            if not self._waiting:
                return
            receipt: Receipt = self._running_pool().answer()
            self._waiting -= 1
            self._check_place(receipt)
            self._advance(receipt.examples, PARSE)
            self._advance(receipt.examples)
            yield receipt

    def drop(self) -> None:
        """Wait for shards that are being scored or wait for it, and drop their receipts and errors."""
        while self._waiting:
            self._waiting -= 1
            with suppress(errors.HeadrolesError, RuntimeError):
                self._running_pool().answer()

    def keep(self, passages: Sequence[Passage], asked: Sequence[WantedMaps]) -> list[InputMaps]:
        """Return, for each of some inputs, the wanted attention maps and cells."""
        self._running_pool().ask((list(passages), list(asked)))
        kept: list[InputMaps] = self._running_pool().answer()
        return kept

    def _running_pool(self) -> "Pool":
        if self._pool is None:
            raise RuntimeError("an engine is used within 'with'")
        return self._pool

    def _check_place(self, receipt: Receipt) -> None:
        """Check at the first receipt that workers on other machines write to a shared folder.

        Raises:
            BadInput: When the files of the receipt are missing on this machine.
        """
        place = self._order.place
        if self._place_checked or place is None or is_address(place):
            return
        self._place_checked = True
        missing = [name for name in receipt.files if not (Path(place) / name).exists()]
        if missing:
            raise errors.BadInput(
                f"a worker wrote '{missing[0]}' to '{place}' on another machine, and it is not there on this "
                f"one; give --out a folder that all machines share, or an address such as s3://bucket/run"
            )

    def __enter__(self) -> "RayEngine":
        """Start or join Ray, start the workers, and wait until the first one is ready.

        Raises:
            MissingExtra: When Ray is not installed.
            HeadrolesError: When the cluster cannot be reached, or when a worker raised it.
        """
        with ExitStack() as stack:
            stack.enter_context(connect_to_ray(self._order))
            self._pool = stack.enter_context(Pool(self._order, self._make))
            self._pool.ask(FACTS)
            self._facts = self._pool.answer()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the workers, and Ray where it was started here."""
        self._pool = None
        self._stack.close()
