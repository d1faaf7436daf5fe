"""Archives of arrays: the arrays, numbers and texts of records as npz and back, without pickle.

Equal content gives equal bytes. Arrays are checked where their record is made, against its own annotations
(``headroles.records.arrays``).
"""

import math
import struct
import zlib
from collections.abc import Collection, Mapping
from functools import cache
from io import BytesIO
from tokenize import TokenError
from typing import Any, TypeVar, get_type_hints
from zipfile import BadZipFile

import numpy as np

from headroles.records.arrays import array_fields
from headroles.storage.arrow.files import check_growth

ERRORS = (BadZipFile, EOFError, OSError, zlib.error, struct.error, RuntimeError, MemoryError)
"""Errors of reading a damaged archive, in addition to ``ValueError``."""
Record = TypeVar("Record")
READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
"""Readers of the headers of arrays, by version."""


def archive_bytes(arrays: Mapping[str, np.ndarray], *, compressed: bool = False) -> bytes:
    """Return arrays as the content of an npz file, in their order.

    Args:
        arrays: By name; none of them of objects.
        compressed: Whether to compress them.

    Raises:
        ValueError: For an array of objects.
    """
    content = BytesIO()
    write = np.savez_compressed if compressed else np.savez
    write(content, allow_pickle=False, **arrays)
    return content.getvalue()


def read_archive(content: bytes, name: str) -> dict[str, np.ndarray]:
    """Return all arrays of an npz file by name.

    Args:
        content: Of the file.
        name: Of the file, for the sentence.

    Raises:
        ValueError: When the content is no archive, or one of objects.
    """
    try:
        archive = np.load(BytesIO(content), allow_pickle=False)
        if isinstance(archive, np.lib.npyio.NpzFile):
            check_sizes(archive, len(content))
            return {name: archive[name] for name in archive.files}
    except (*ERRORS, KeyError) as error:
        raise ValueError(f"{name} is no archive of arrays ({type(error).__name__}: {error})") from error
    raise ValueError(f"{name} is no archive of arrays, but a single one")


def check_sizes(archive: "np.lib.npyio.NpzFile", content: int) -> None:
    """Check the sizes that the headers of all arrays state against their files, and their sum.

    Args:
        archive: An opened npz file, of which nothing is read yet.
        content: Bytes of that file.

    Raises:
        ValueError: When an entry is no array or one of objects, a header states another size than its file
            has, or all are too large.
    """
    total, packed = 0, archive.zip
    assert packed is not None  # it is open
    for info in packed.infolist():
        with packed.open(info) as file:
            try:
                shape, _, kind = READERS[np.lib.format.read_magic(file)](file)
            except (KeyError, ValueError, TokenError) as error:
                raise ValueError(f"its entry {info.filename!r} is no array") from error
            total += (size := math.prod(shape) * kind.itemsize)
            if kind.hasobject:
                raise ValueError(f"its entry {info.filename!r} holds pickled objects, which are never read")
            if size + file.tell() != info.file_size:
                raise ValueError(f"{info.filename} has not the size that its header states")
    check_growth(total, content)


@cache
def _plain_fields(kind: type) -> Mapping[str, Any]:
    """Return parsers of the numbers and texts of a record by name."""
    parsers = {int: int, float: float, str: str, tuple[str, ...]: lambda array: tuple(map(str, array))}
    return {name: parsers[hint] for name, hint in get_type_hints(kind).items() if hint in parsers}


def arrays_of(record: Any, leave_out: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Return arrays, numbers and texts of a record as arrays by name; fields of other types are passed over.

    Args:
        record: A dataclass.
        leave_out: Fields to leave out.
    """
    kind: type = type(record)
    names = (*_plain_fields(kind), *array_fields(kind))
    return {name: np.asarray(getattr(record, name)) for name in names if name not in leave_out}


def record_of(kind: type[Record], arrays: Mapping[str, np.ndarray], **fields: Any) -> Record:
    """Return a record from the arrays of an archive.

    Args:
        kind: Class of the record, which checks its arrays.
        arrays: At least those of its fields that are not given.
        fields: Fields that the archive does not hold, or not as they are.

    Raises:
        KeyError: When an array is missing.
        ValueError: When an array holds no number where the record has one.
        BadInput: When arrays do not fit together.
    """
    known: type = kind
    plain = {name: parse(arrays[name]) for name, parse in _plain_fields(known).items() if name not in fields}
    rest = {name: arrays[name] for name in array_fields(known) if name not in fields}
    return kind(**plain, **rest, **fields)
