"""The other end of ``processes``: what a worker's process does."""

import os
import pickle
import signal
import sys
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, BinaryIO

from headroles.errors import HeadrolesError


def serve() -> None:
    """Load what an order asks for, score shard after shard as they come, and go when no more can come.

    Messages come on standard input and leave on standard output, which is closed to everyone else: what a
    library prints goes to standard error. An interrupt is for the process that started this one, which
    then closes the pipe.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    asked: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_listen, args=(sys.stdin.buffer, asked), daemon=True).start()
    _answer(_Answers(answers), asked)


def _listen(pipe: BinaryIO, asked: "SimpleQueue[Any]") -> None:
    """Pass messages on; end the process at once, whatever it does, when no more can come."""
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            asked.put(pickle.load(pipe))
    os._exit(0)


class _Answers:
    """What goes back, one message at a time."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe, self._lock = pipe, Lock()

    def send(self, kind: str, content: Any) -> None:
        with self._lock:
            pickle.dump((kind, content), self._pipe)
            self._pipe.flush()


def _answer(answers: _Answers, asked: "SimpleQueue[Any]") -> None:
    """Do what is asked, one thing after the other; an error is an answer, too."""
    try:
        order = asked.get()
        from headroles.extraction.model.machine import threads_of
        from headroles.shards.worker import Worker

        with threads_of(order.threads):
            worker = Worker(order)
            answers.send("facts", worker.facts)
            while True:
                kind, *content = asked.get()
                if kind == "score":
                    receipt = worker.score(content[0], lambda count: answers.send("advance", count))
                    answers.send("receipt", receipt)
                else:
                    answers.send("kept", worker.keep(*content))
    except BrokenPipeError:
        os._exit(0)
    except BaseException as error:
        answers.send("error", (type(error).__name__, str(error), _packed(error)))
        asked.get()  # until the pipe is closed


def _packed(error: BaseException) -> bytes | None:
    """An error that is none of ours, as bytes; None where it cannot travel."""
    if isinstance(error, HeadrolesError):
        return None
    try:
        return pickle.dumps(error)
    except Exception:  # whatever a stranger's error holds
        return None
