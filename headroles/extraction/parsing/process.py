"""A process that parses: texts come in by its standard input, packed words go out by its standard output.

The pool starts it as ``python -P -m headroles.extraction.parsing.process``. It ends when its input ends,
so that none outlives the process that started it, however that one ended.
"""

import json
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from headroles.extraction.parsing.packing import pack

SIZE = struct.Struct("<I")
"""What goes before every message: its bytes."""
KEY = b"parser process"
"""What packed words are checked with on their way."""


def send(stream: BinaryIO, parts: Sequence[bytes]) -> None:
    """Write how many parts there are, and each with its size before it."""
    stream.write(SIZE.pack(len(parts)) + b"".join(SIZE.pack(len(part)) + part for part in parts))
    stream.flush()


def receive(stream: BinaryIO) -> list[bytes]:
    """The parts of one message.

    Raises:
        EOFError: When the other side has ended.
    """
    return [_exactly(stream, _size(stream)) for _ in range(_size(stream))]


def _size(stream: BinaryIO) -> int:
    (size,) = SIZE.unpack(_exactly(stream, SIZE.size))
    return int(size)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found


def answer(come: BinaryIO, go: BinaryIO) -> None:
    """Load the parser that the first message names, say what it is, and parse until the input ends."""
    from headroles.extraction.parsing.pipeline import load_parser, parsed

    (named,) = receive(come)
    parser, described = load_parser(json.loads(named))
    send(go, [json.dumps(described).encode()])
    for texts in _messages(come):
        send(go, [pack(words, KEY) for words in parsed(parser, [text.decode() for text in texts])])


def _messages(stream: BinaryIO) -> Iterator[list[bytes]]:
    while True:
        try:
            yield receive(stream)
        except EOFError:
            return


def main() -> None:
    """Serve; whatever a library prints goes to the standard error, never among the answers."""
    go = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        answer(sys.stdin.buffer, go)
    except (KeyboardInterrupt, BrokenPipeError, EOFError):
        os._exit(0)  # the other side has gone: nothing to say, and nobody to say it to


if __name__ == "__main__":
    main()
