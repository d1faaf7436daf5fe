"""A pool of processes that parse texts ahead of the model."""

import json
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Event, Thread, current_thread
from typing import BinaryIO, cast

from headroles.extraction.model.threads import cpu_count
from headroles.extraction.parsing.packing import unpack
from headroles.extraction.parsing.process import KEY, receive, send
from headroles.records.passage import Words

MOST_PROCESSES = 16
"""Largest number of processes; each loads its own parser."""
CHUNK = 32
"""Number of texts that a process gets at once."""

Parses = dict[str, Words]
_Work = SimpleQueue["tuple[list[str], Future[Parses]] | None"]


def processes_here() -> int:
    """Return the number of parser processes: one less than the processors that this process may use.

    The remaining processor is for the model. The number is 0 where there is only one processor.
    """
    return min(cpu_count() - 1, MOST_PROCESSES)


class ParserPool:
    """A few processes with one parser. Results may be waited for, cancelled, or ignored."""

    def __init__(self, parser: str | None, described: dict[str, str], processes: int) -> None:
        """Start the processes; each is used once it has loaded the parser.

        Args:
            parser: Name or path of a pipeline; None for the shipped one.
            described: Its description; a process that loads another parser is not used.
            processes: Number of processes, at least 1.
        """
        self._work: _Work = SimpleQueue()
        self._started: list[subprocess.Popen[bytes]] = []
        request = json.dumps(parser).encode()
        over = Event()
        args = (self._work, self._started, over, request, described)
        self._threads = [
            Thread(target=_serve, args=args, name="parser", daemon=True) for _ in range(processes)
        ]
        for thread in self._threads:
            thread.start()
        self.close: Callable[[], object] = weakref.finalize(
            self, _end, self._work, self._started, over, self._threads
        )
        """Ends the processes; called automatically when nothing refers to the pool any more."""

    @property
    def alive(self) -> bool:
        """Return whether any process can still parse."""
        return any(thread.is_alive() for thread in self._threads)

    def submit(self, texts: Sequence[str]) -> list[tuple[list[str], "Future[Parses]"]]:
        """Queue texts for parsing, in chunks that are parsed in turn.

        Returns:
            The texts of each chunk, and a future of their words. A future that no process has begun can be
            cancelled; the future of a process that died has an exception.
        """
        chunks = [list(texts[start : start + CHUNK]) for start in range(0, len(texts), CHUNK)]
        work = [(chunk, Future[Parses]()) for chunk in chunks]
        for item in work:
            self._work.put(item)
        return work


def _serve(
    work: _Work,
    started: list["subprocess.Popen[bytes]"],
    over: Event,
    request: bytes,
    described: dict[str, str],
) -> None:
    """Start one process and give it chunks until the pool is closed, or until the process fails."""
    with suppress(Exception), _process() as (process, answers, requests):
        started.append(process)
        send(requests, [request])
        (description,) = receive(answers)
        if json.loads(description) != described:
            return
        while not over.is_set() and (item := work.get()) is not None:
            texts, future = item
            if future.set_running_or_notify_cancel():
                _parse(answers, requests, texts, future)


@contextmanager
def _process() -> Iterator[tuple["subprocess.Popen[bytes]", BinaryIO, BinaryIO]]:
    """Start a process; give it with the pipe of its answers and that of its requests, and end it afterwards.

    It imports modules from the same places as this process. The current folder comes last, and only where
    this process uses it, because a ``json.py`` there is a file of the user.
    """
    folders = [*filter(None, sys.path), *([os.getcwd()] if "" in sys.path else [])]
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "headroles.extraction.parsing.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | one_thread | {"PYTHONPATH": os.pathsep.join(folders)},
    )
    requests, answers = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
    try:
        yield process, answers, requests
    finally:
        process.kill()
        process.wait()
        for stream in (answers, requests):
            with suppress(OSError):  # the process never read all of it
                stream.close()


def _parse(answers: BinaryIO, requests: BinaryIO, texts: list[str], future: "Future[Parses]") -> None:
    try:
        send(requests, [text.encode() for text in texts])
        parses = [unpack(packed, KEY) for packed in receive(answers)]
        undamaged = {text: words for text, words in zip(texts, parses, strict=True) if words is not None}
    except BaseException as error:
        future.set_exception(error)
        raise
    future.set_result(undamaged)


def _end(work: _Work, started: list["subprocess.Popen[bytes]"], over: Event, threads: list[Thread]) -> None:
    """End the processes, busy or not, and the threads that serve them."""
    over.set()
    for _ in threads:
        work.put(None)
    for process in started:
        process.kill()
    for thread in threads:
        if thread is not current_thread():
            thread.join(timeout=10)
