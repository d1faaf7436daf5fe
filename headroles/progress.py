"""Progress of a run: a callback with the inputs done and their total, and a counter that calls it."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Callback with the number of inputs done and their total."""


def ignore_progress(done: int, total: int) -> None:
    """Take the inputs done and their total, and do nothing; the progress of a caller that gives none."""


def progress_counter(progress: Progress, total: int) -> Callable[[int], None]:
    """Return a function that adds newly done inputs and calls ``progress`` with the sum and the total.

    Example:
        >>> advance = progress_counter(lambda done, total: print(done, total), 5)
        >>> advance(2), advance(3)
        2 5
        5 5
        (None, None)
    """
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress(done, total)

    return advance
