"""Threads on a CPU: one for small operations, and several that each form a part of a layer."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

import torch


@contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """Use one thread for the many small operations on single examples.

    Split over threads, each operation waits for the scheduler whenever another process wants a core,
    and that takes longer than the operation itself.
    """
    threads = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Threads:
    """As many threads as torch uses, each of which does a whole task by itself.

    A task that splits into few large operations gains nothing from threads inside them: each operation is
    too short. Results do not depend on the number of threads, since each task has one.
    """

    def __init__(self) -> None:
        """Take the number of threads that torch uses now, and start none yet."""
        self._count = torch.get_num_threads()
        self._pool: Executor | None = None

    def run(self, tasks: Sequence[Callable[[], None]], device: torch.device) -> None:
        """Do all tasks, in any order; a single one, and those on other devices, with all threads inside.

        Raises:
            Exception: The first error of a task.
        """
        if device.type != "cpu" or self._count == 1 or len(tasks) == 1:
            for task in tasks:
                task()
            return
        with one_thread(device):
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max_workers=self._count, thread_name_prefix="heads")
            for _ in self._pool.map(_without_gradients, tasks):
                pass

    def close(self) -> None:
        """End the threads, after the tasks that have begun."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _without_gradients(task: Callable[[], None]) -> None:
    """Do a task in the mode that forward passes of readers have; a thread has a mode of its own."""
    with torch.inference_mode():
        task()
