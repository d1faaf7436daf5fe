"""Write attention maps to one memory-mapped file, and the list of their examples to another."""

import errno
import json
import os
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.storage.folder import write_errors
from headroles.storage.integrity.switch import after_name, begin_switch, commit_switch, finish_switch
from headroles.storage.map_files import KINDS, file_form
from headroles.storage.places import sha256_of

Shape = tuple[int, ...]
RAW = "raw"
"""Name of the file that an npz is packed from."""


def size_in_bytes(shapes: Sequence[Shape], precision: str) -> int:
    """Return how many bytes maps of these shapes take.

    Example:
        >>> size_in_bytes([(2, 3, 10, 10), (2, 3, 5, 5)], "float16")
        1500
    """
    return sum(int(np.prod(shape)) for shape in shapes) * np.dtype(precision).itemsize


@dataclass(slots=True, eq=False)
class OpenMaps:
    """Maps that are being written.

    Attributes:
        arrays: Arrays to fill, by name.
        listed: Returns the text of the list, from the SHA-256 of the file of maps; None: no list.
    """

    arrays: dict[str, np.ndarray]
    listed: Callable[[str], str] | None = None


@contextmanager
def open_maps(path: Path, shapes: Mapping[str, Shape], precision: str) -> Iterator[OpenMaps]:
    """Give arrays on disk to fill; the file and its list appear when the block ends without an error.

    The arrays are parts of one mapped file, which has its whole size from the beginning, so memory holds none
    of them. Maps and list are replaced in one step, so that no list ever stands with the maps of another.

    Args:
        path: Ending in .safetensors or .npz.
        shapes: Shape of each array, by name.
        precision: "float16" or "float32".

    Raises:
        BadInput: For another ending, or when the disk has no room or cannot be written.
    """
    form, beside, after = file_form(path), path.with_suffix(".json"), after_name(path.name)
    head = _header(shapes, precision) if form == ".safetensors" else b""
    size = len(head) + size_in_bytes(list(shapes.values()), precision)
    with write_errors(f"'{path}'"):
        finish_switch(path.parent, {path.name, beside.name}.__contains__, after)
        staging = begin_switch(path.parent, after)
    raw, whole = staging / (RAW if form == ".npz" else path.name), staging / path.name
    try:
        with write_errors(f"'{path}'"):
            _check_room(path, size, form)
            _allocate(raw, head, size)
            flat = np.memmap(raw, precision, "r+", len(head)) if size > len(head) else np.zeros(0, precision)
        making = OpenMaps(_parts(flat, shapes))
        yield making
        with write_errors(f"'{path}'"):
            if isinstance(flat, np.memmap):
                flat.flush()
            if form == ".npz":
                _write_npz(whole, making.arrays)
                raw.unlink()
            if making.listed is not None:
                text = making.listed(sha256_of(whole))
                (staging / beside.name).write_text(text, encoding="utf-8", newline="")
            commit_switch(path.parent, staging, [beside.name], path.name, after)
    finally:
        shutil.rmtree(staging, ignore_errors=True)  # or the next command that writes these maps removes it


def _allocate(path: Path, head: bytes, size: int) -> None:
    """Make a file with this header and its whole size, so that the disk cannot fill up later."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)
        file.flush()
        if size and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # some file systems do not support it
                    raise


def _parts(flat: np.ndarray, shapes: Mapping[str, Shape]) -> dict[str, np.ndarray]:
    """Cut a flat array into arrays of these shapes, one after another."""
    parts, start = {}, 0
    for name, shape in shapes.items():
        stop = start + int(np.prod(shape))
        parts[name] = flat[start:stop].reshape(shape)
        start = stop
    return parts


def _header(shapes: Mapping[str, Shape], precision: str) -> bytes:
    """Return the header of a safetensors file: its length, then where each array lies; aligned to 8 bytes."""
    placed: dict[str, Any] = {}
    start = 0
    for name, shape in shapes.items():
        stop = start + size_in_bytes([shape], precision)
        placed[name] = {"dtype": KINDS[precision], "shape": list(shape), "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(placed, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def _write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as an npz, not compressed; with one date, so that equal maps are equal files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)


def _check_room(path: Path, size: int, form: str) -> None:
    """Check that the maps fit on the disk; an npz needs its size twice while it is packed."""
    needed = size * (2 if form == ".npz" else 1)
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise BadInput(
            f"the maps need {needed / 1e9:.1f} GB of disk while they are written, but '{path.parent}' has "
            f"{free / 1e9:.1f} GB free; give fewer inputs, --precision float16, or another --out"
        )
