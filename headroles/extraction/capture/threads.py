"""Threads on a CPU: one for small operations, and several that each form a part of a layer."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache

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
        """Take the number of threads that torch uses now."""
        self._count = torch.get_num_threads()

    def run(self, tasks: Sequence[Callable[[], None]], device: torch.device) -> None:
        """Do all tasks, in any order; a single one, and those on other devices, with all threads inside.

        Raises:
            Exception: The first error of a task, when all tasks have ended.
        """
        if device.type != "cpu" or self._count == 1 or len(tasks) == 1:
            for task in tasks:
                task()
            return
        with one_thread(device):
            done = [_pool(self._count).submit(_without_gradients, task) for task in tasks]
            wait(done)
        for task_done in done:
            task_done.result()


@cache
def _pool(count: int) -> Executor:
    """Return the threads of this process, which wait for tasks of any batch."""
    return ThreadPoolExecutor(max_workers=count, thread_name_prefix="heads")


if hasattr(os, "register_at_fork"):  # a forked process has none of the threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _without_gradients(task: Callable[[], None]) -> None:
    """Do a task in the mode that forward passes of readers have; a thread has a mode of its own."""
    with torch.inference_mode():
        task()
