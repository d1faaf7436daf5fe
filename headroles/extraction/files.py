"""Opening a user's file of text: one place for missing, empty, binary and wrongly encoded ones."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from headroles.errors import BadInput


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """A UTF-8 text file, plain or gzipped, a byte-order mark passed over.

    Raises:
        BadInput: When it is missing, a folder, empty, binary or not UTF-8.
    """
    try:
        if not path.exists():
            raise BadInput(f"a file to read must exist, but there is none at '{path}'")
        if path.is_dir():
            raise BadInput(f"a file to read must be no folder, but '{path}' is a folder; name a file in it")
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if zipped else path.open("rb") as raw:
            start = raw.read(65536)
        if not start.strip(b"\xef\xbb\xbf \t\r\n"):
            raise BadInput(f"a file to read must hold text, but '{path}' is empty")
        if b"\x00" in start:
            raise BadInput(f"the data must be text in UTF-8, but '{path}' is binary (it holds zero bytes)")
        with (
            gzip.open(path, "rt", encoding="utf-8-sig", newline="")
            if zipped
            else path.open("rt", encoding="utf-8-sig", newline="") as text
        ):
            yield text
    except UnicodeDecodeError as error:
        raise BadInput(
            f"the data must be text in UTF-8, but '{path}' holds the byte 0x{error.object[error.start]:02x}, "
            f"which is not; save it as UTF-8"
        ) from error
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"the data file '{path}' cannot be read: {error}") from error
