"""How far a run is."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Gets the inputs done and their total."""


def ignore_progress(done: int, total: int) -> None:
    """Take the inputs done and their total, and do nothing; the progress of a caller that gives none."""


def counted(progress: Progress, total: int) -> Callable[[int], None]:
    """A function that takes how many inputs were done since the last call, and tells how many are by now.

    Example:
        >>> advance = counted(lambda done, total: print(done, total), 5)
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
