"""One worker's process: started, spoken to, and waited for."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any

from headroles.shards.engines.losses import ours
from headroles.shards.work import Order, Task

PATIENCE = 10.0
"""Seconds that a worker has to go when it is told to, before it is killed."""
START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from headroles.shards.engines.server import serve; serve()"
)
"""What a worker's interpreter runs, with ``-P``: this process's main module is left alone, and nothing is
taken from the current folder that this process would not take from there."""


def raised(name: str, text: str, pickled: bytes | None) -> BaseException:
    """The error of a worker as one of this process.

    Args:
        name: Of its class.
        text: What it says.
        pickled: The error itself, where it could travel; None for our own.
    """
    if (made := ours(name, text)) is not None:
        return made
    if pickled is not None:
        with suppress(Exception):
            found = pickle.loads(pickled)
            if isinstance(found, BaseException):
                return found
    return RuntimeError(f"{name}: {text}")


class Process:
    """One worker's process, and a thread that waits for what it says.

    Attributes:
        task: The shard that it scores; None while it scores none.
        loaded: Whether it has loaded what it needs.
        advanced: Examples of its shard that it has told of.
    """

    def __init__(self, order: Order, told: SimpleQueue[tuple[Process, Any]]) -> None:
        """Start it.

        Args:
            order: What it does.
            told: Where what it says comes in: kind and content; "lost" with how it ended is the last.
        """
        self.task: Task | None = None
        self.loaded = False
        self.advanced = 0
        threads = str(order.threads or 1)
        limits = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | limits,
        )
        self._listener = Thread(target=self._listen, args=(told,), daemon=True, name="worker")
        self._listener.start()
        self.send(order)

    def send(self, content: Any) -> None:
        """Send a message; a worker that is gone is heard of otherwise."""
        pipe = self._process.stdin
        with suppress(BrokenPipeError, ValueError):
            if pipe is not None:
                pickle.dump(content, pipe)
                pipe.flush()

    def _listen(self, told: SimpleQueue[tuple[Process, Any]]) -> None:
        pipe = self._process.stdout
        while pipe is not None:
            try:
                message = pickle.load(pipe)
            except (EOFError, pickle.UnpicklingError, ValueError, OSError):
                pipe.close()
                break
            told.put((self, message))
        told.put((self, ("lost", self._process.wait())))

    def dismiss(self) -> None:
        """Close its pipe, which tells it to go."""
        if self._process.stdin is not None:
            with suppress(OSError):  # what was not sent yet, to one that is gone
                self._process.stdin.close()

    def wait(self) -> None:
        """Wait until it is gone; kill it when that takes long."""
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join()
