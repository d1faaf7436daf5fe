"""Processes that parse texts ahead of the model."""

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

from headroles.extraction.model.machine import processors
from headroles.extraction.parsing.packing import unpack
from headroles.extraction.parsing.process import KEY, receive, send
from headroles.records.passage import Words

MOST = 16
"""Processes at most: each loads a parser of its own."""
CHUNK = 32
"""Texts that a process is given at once."""

Parses = dict[str, Words]
_Work = SimpleQueue["tuple[list[str], Future[Parses]] | None"]


def processes_here() -> int:
    """How many processes parse beside a model: one for each processor that this one may use, but one.

    The one that is left is the model's; 0 where there is only one.
    """
    return min(processors() - 1, MOST)


class ParserPool:
    """A few processes of one parser. Results may be waited for, taken back, or never asked for."""

    def __init__(self, parser: str | None, described: dict[str, str], processes: int) -> None:
        """Start them; each is used once it has loaded the parser.

        Args:
            parser: Name or path of a pipeline; None for the one shipped.
            described: What it is; a process whose parser is another is not used.
            processes: How many, at least 1.
        """
        self._work: _Work = SimpleQueue()
        self._started: list[subprocess.Popen[bytes]] = []
        request = json.dumps(parser).encode()
        over = Event()
        given = (self._work, self._started, over, request, described)
        self._threads = [
            Thread(target=_serve, args=given, name="parser", daemon=True) for _ in range(processes)
        ]
        for thread in self._threads:
            thread.start()
        self.close: Callable[[], object] = weakref.finalize(
            self, _end, self._work, self._started, over, self._threads
        )
        """Ends the processes; called by itself when nothing holds the pool any more."""

    @property
    def alive(self) -> bool:
        """Whether any process is still there to parse."""
        return any(thread.is_alive() for thread in self._threads)

    def submit(self, texts: Sequence[str]) -> list[tuple[list[str], "Future[Parses]"]]:
        """Have texts parsed, in chunks that are taken up in turn.

        Returns:
            The texts of each chunk, and what will hold their words. One that no process has begun can be
            cancelled; one whose process died has an exception.
        """
        chunks = [list(texts[start : start + CHUNK]) for start in range(0, len(texts), CHUNK)]
        work = [(chunk, Future[Parses]()) for chunk in chunks]
        for each in work:
            self._work.put(each)
        return work


def _serve(
    work: _Work,
    started: list["subprocess.Popen[bytes]"],
    over: Event,
    request: bytes,
    described: dict[str, str],
) -> None:
    """Start one process and hand it chunks until there are no more, or it fails and is given up."""
    with suppress(Exception), _process() as (process, come, go):
        started.append(process)
        send(go, [request])
        (told,) = receive(come)
        if json.loads(told) != described:
            return
        while not over.is_set() and (item := work.get()) is not None:
            texts, future = item
            if future.set_running_or_notify_cancel():
                _parse(come, go, texts, future)


@contextmanager
def _process() -> Iterator[tuple["subprocess.Popen[bytes]", BinaryIO, BinaryIO]]:
    """A process and its two ends; it is gone when this is left.

    It finds modules where this process finds them, in the current folder last if at all: a ``json.py``
    there is the user's.
    """
    places = [*filter(None, sys.path), *([os.getcwd()] if "" in sys.path else [])]
    alone = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "headroles.extraction.parsing.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | alone | {"PYTHONPATH": os.pathsep.join(places)},
    )
    go, come = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
    try:
        yield process, come, go
    finally:
        process.kill()
        process.wait()
        for stream in (come, go):
            with suppress(OSError):  # what it never read
                stream.close()


def _parse(come: BinaryIO, go: BinaryIO, texts: list[str], future: "Future[Parses]") -> None:
    try:
        send(go, [text.encode() for text in texts])
        found = [unpack(packed, KEY) for packed in receive(come)]
        whole = {text: words for text, words in zip(texts, found, strict=True) if words is not None}
    except BaseException as error:
        future.set_exception(error)
        raise
    future.set_result(whole)


def _end(work: _Work, started: list["subprocess.Popen[bytes]"], over: Event, threads: list[Thread]) -> None:
    """End the processes, whether they are busy or not, and the threads that served them."""
    over.set()
    for _ in threads:
        work.put(None)
    for process in started:
        process.kill()
    for thread in threads:
        if thread is not current_thread():
            thread.join(timeout=10)
