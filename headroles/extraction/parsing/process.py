"""A parser process: it reads texts from standard input and writes packed words to standard output.

The pool starts it as ``python -P -m headroles.extraction.parsing.process``. It ends when its input ends, so
that it never outlives the process that started it.
"""

import json
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from headroles.extraction.parsing.packing import pack

SIZE = struct.Struct("<I")
"""Layout of the numbers before a message and before each of its parts."""
KEY = b"parser process"
"""Key of the checksum of packed words on their way between processes."""


def send(stream: BinaryIO, parts: Sequence[bytes]) -> None:
    """Write the number of parts, and each part after its size."""
    stream.write(SIZE.pack(len(parts)) + b"".join(SIZE.pack(len(part)) + part for part in parts))
    stream.flush()


def receive(stream: BinaryIO) -> list[bytes]:
    """Read the parts of one message.

    Raises:
        EOFError: When the other process has ended.
    """
    return [_read(stream, _size(stream)) for _ in range(_size(stream))]


def _size(stream: BinaryIO) -> int:
    (size,) = SIZE.unpack(_read(stream, SIZE.size))
    return int(size)


def _read(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


def answer(requests: BinaryIO, answers: BinaryIO) -> None:
    """Load the parser that the first message names, send its description, and parse until the input ends."""
    from headroles.extraction.parsing.pipeline import load_parser, parse_texts

    (name,) = receive(requests)
    parser, described = load_parser(json.loads(name))
    send(answers, [json.dumps(described).encode()])
    for texts in _messages(requests):
        send(answers, [pack(words, KEY) for words in parse_texts(parser, [text.decode() for text in texts])])


def _messages(stream: BinaryIO) -> Iterator[list[bytes]]:
    while True:
        try:
            yield receive(stream)
        except EOFError:
            return


def main() -> None:
    """Serve; text that a library prints goes to standard error, never among the answers."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        answer(sys.stdin.buffer, answers)
    except (KeyboardInterrupt, BrokenPipeError, EOFError):
        os._exit(0)  # the other process has ended


if __name__ == "__main__":
    main()
