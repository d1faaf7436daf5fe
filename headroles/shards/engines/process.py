"""One worker's process: started, spoken to, and waited for."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any

from headroles.shards.engines.losses import make_headroles_error
from headroles.shards.work import Order, Task

PATIENCE = 10.0
"""Seconds that a worker has to end after its pipe is closed, before it is killed."""
WORKER_CODE = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from headroles.shards.engines.server import serve; serve()"
)
"""Code that the interpreter of a worker runs, with ``-P``.

The main module of this process is not imported. Modules are imported from the current folder only where this
process would do so."""


def error_of_worker(name: str, text: str, pickled: bytes | None) -> BaseException:
    """Return the error of a worker as an error of this process.

    Args:
        name: Name of its class.
        text: Its message.
        pickled: The pickled error, where it can be pickled; None for errors of headroles.
    """
    if (own_error := make_headroles_error(name, text)) is not None:
        return own_error
    if pickled is not None:
        with suppress(Exception):
            error = pickle.loads(pickled)
            if isinstance(error, BaseException):
                return error
    return RuntimeError(f"{name}: {text}")


class Process:
    """The process of one worker, and a thread that reads its messages.

    Attributes:
        task: The shard that it scores; None while it scores none.
        loaded: Whether it has loaded the model.
        advanced: Number of examples of its shard that it has reported, by phase.
    """

    def __init__(self, order: Order, messages: SimpleQueue[tuple[Process, Any]]) -> None:
        """Start the process.

        Args:
            order: Instructions for the worker.
            messages: Queue that receives its messages, each a kind and a content; the last one is "lost"
                with the exit code.
        """
        self.task: Task | None = None
        self.loaded = False
        self.advanced: Counter[str] = Counter()
        threads = str(order.threads or 1)
        limits = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER_CODE, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | limits,
        )
        self._listener = Thread(target=self._listen, args=(messages,), daemon=True, name="worker")
        self._listener.start()
        self.send(order)

    def send(self, content: Any) -> None:
        """Send a message; the loss of a worker is reported by its listener, not here."""
        pipe = self._process.stdin
        with suppress(BrokenPipeError, ValueError):
            if pipe is not None:
                pickle.dump(content, pipe)
                pipe.flush()

    def _listen(self, messages: SimpleQueue[tuple[Process, Any]]) -> None:
        pipe = self._process.stdout
        while pipe is not None:
            try:
                message = pickle.load(pipe)
            except (EOFError, pickle.UnpicklingError, ValueError, OSError):
                pipe.close()
                break
            messages.put((self, message))
        messages.put((self, ("lost", self._process.wait())))

    def dismiss(self) -> None:
        """Close its pipe, so that it ends."""
        if self._process.stdin is not None:
            with suppress(OSError):  # the process has ended before it read all messages
                self._process.stdin.close()

    def wait(self) -> None:
        """Wait until it has ended; kill it after ``PATIENCE`` seconds."""
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join()
