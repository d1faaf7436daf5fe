"""The main loop of a worker process, which ``engines.processes`` starts."""

import os
import pickle
import signal
import sys
from collections import Counter
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, BinaryIO

from headroles.errors import HeadrolesError
from headroles.progress import SCORE
from headroles.shards.engines.loading import without_collection
from headroles.shards.work import Receipt

PAUSE = 0.25
"""Seconds between messages about progress."""


def serve() -> None:
    """Load the model of an order, score each shard that arrives, and end when the pipe is closed.

    Messages arrive on standard input and leave on standard output. Standard output is closed to everything
    else: text that a library prints goes to standard error. An interrupt is ignored, because the process that
    started this one handles it and closes the pipe.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    messages: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_listen, args=(sys.stdin.buffer, messages), daemon=True).start()
    _answer(_Answers(answers), messages)


def _listen(pipe: BinaryIO, messages: "SimpleQueue[Any]") -> None:
    """Read messages into a queue; end the process at once, whatever it does, when the pipe is closed."""
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            messages.put(pickle.load(pipe))
    os._exit(0)


class _Answers:
    """The pipe to the process of the run, for one message at a time.

    Progress is added up and sent every ``PAUSE`` seconds, since every message takes the processor from a
    worker. A receipt says that all of a shard is done, so progress that was not sent is dropped.
    """

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe, self._lock = pipe, Lock()
        self._advanced: Counter[str] = Counter()
        self._sent = monotonic()

    def send(self, kind: str, content: Any) -> None:
        with self._lock:
            self._write(kind, content)

    def receipt(self, receipt: Receipt) -> None:
        with self._lock:
            self._advanced.clear()
            self._write("receipt", receipt)

    def advance(self, count: int, phase: str = SCORE) -> None:
        with self._lock:
            self._advanced[phase] += count
            if monotonic() >= self._sent + PAUSE:
                for known, number in self._advanced.items():
                    self._write("advance", (number, known))
                self._advanced.clear()
                self._sent = monotonic()

    def _write(self, kind: str, content: Any) -> None:
        pickle.dump((kind, content), self._pipe)
        self._pipe.flush()


def _answer(answers: _Answers, messages: "SimpleQueue[Any]") -> None:
    """Answer messages one after the other; an error is sent as an answer."""
    try:
        order = messages.get()
        with ExitStack() as stack:
            with without_collection():
                from headroles.extraction.model.machine import use_threads
                from headroles.shards.worker import Worker

                stack.enter_context(use_threads(order.threads))
                worker = Worker(order)
            answers.send("facts", worker.facts)
            while True:
                kind, *content = messages.get()
                if kind == "score":
                    receipt = worker.score(content[0], answers.advance)
                    answers.receipt(receipt)
                else:
                    answers.send("kept", worker.keep(*content))
    except BrokenPipeError:
        os._exit(0)
    except BaseException as error:
        answers.send("error", (type(error).__name__, str(error), _pickled(error)))
        messages.get()  # waits until the pipe is closed


def _pickled(error: BaseException) -> bytes | None:
    """Pickle an error; return None for errors of headroles and for errors that cannot be pickled."""
    if isinstance(error, HeadrolesError):
        return None
    try:
        return pickle.dumps(error)
    except Exception:  # an error of another library may hold anything
        return None
