"""Many small trials over a few forks, until a time is up."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
_asked: dict[str, Any] = {}
"""What forks do, which they find here as they begin, because it cannot be pickled."""


def do_in_forks(
    act: Callable[[Task], Result], tasks: Sequence[Task], jobs: int, until: float = float("inf")
) -> list[Result]:
    """Do tasks in forks of this process, in their order as far as time allows; gives the results."""
    _asked.update(act=act, tasks=tasks, until=until)
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as forks:
        done = list(forks.map(_do, range(len(tasks))))
    return [result for results in done for result in results]


def _do(number: int) -> list[Any]:
    """Do a task, or nothing when the time is up."""
    return [_asked["act"](_asked["tasks"][number])] if time.monotonic() < _asked["until"] else []
