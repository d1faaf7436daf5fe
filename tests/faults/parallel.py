"""Many small trials over a few forks, until a time is up."""

import os
import pickle
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
NUMBER = struct.Struct("<I")
MOST = 1 << 14
"""Most tasks; their numbers wait in a pipe, which holds 64 KiB."""


def do_in_forks(
    act: Callable[[Task], Result], tasks: Sequence[Task], jobs: int, until: float = float("inf")
) -> list[Result]:
    """Do tasks in forks of this process, in their order as far as time allows; gives the results.

    Raises:
        RuntimeError: When a fork ends with an exception, which it prints.
    """
    reading, writing = os.pipe()
    os.write(writing, b"".join(map(NUMBER.pack, range(min(len(tasks), MOST)))))
    os.close(writing)
    sys.stdout.flush()
    done: list[tuple[int, Result]] = []
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, str(number)) for number in range(jobs)]
        forks = [_fork(act, tasks, reading, until, file) for file in files]
        os.close(reading)
        codes = [os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) for fork in forks]
        if any(codes):
            raise RuntimeError(f"forks of the trials ended with the exit codes {codes}")
        for file in files:
            with file.open("rb") as stored:
                while stored.peek(1):
                    done.append(pickle.load(stored))
    return [result for _, result in sorted(done, key=lambda pair: pair[0])]


def _fork(act: Callable[[Any], Any], tasks: Sequence[Any], reading: int, until: float, file: Path) -> int:
    """Start a fork that does tasks whose numbers it reads, and return its process."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        with file.open("wb") as results:
            while time.monotonic() < until and (number := os.read(reading, NUMBER.size)):
                (index,) = NUMBER.unpack(number)
                pickle.dump((index, act(tasks[index])), results)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
