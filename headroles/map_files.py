"""Attention maps in one file, as other tools read and write them: safetensors or npz, never pickle."""

import errno
import hashlib
import json
import os
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from headroles.errors import BadInput

FORMS = (".safetensors", ".npz")
"""How names of files of maps end."""
KINDS = {"float16": "F16", "float32": "F32"}
"""Precisions of maps, and what safetensors calls them."""
Shape = tuple[int, ...]


def form_of(path: Path) -> str:
    """The ending that says how maps are stored.

    Raises:
        BadInput: For another ending.
    """
    if path.suffix not in FORMS:
        raise BadInput(f"files of attention maps end in {' or '.join(FORMS)}, but '{path}' came")
    return path.suffix


def bytes_of(shapes: Sequence[Shape], precision: str) -> int:
    """How many bytes maps of these shapes take.

    Example:
        >>> bytes_of([(2, 3, 10, 10), (2, 3, 5, 5)], "float16")
        1500
    """
    return sum(int(np.prod(shape)) for shape in shapes) * np.dtype(precision).itemsize


def sha256_of(path: Path) -> str:
    """SHA-256 of a file of maps, by which its list knows it.

    Raises:
        BadInput: When it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"'{path}' cannot be read ({error.strerror or error}); give another file") from error


@dataclass(slots=True, eq=False)
class Making:
    """Maps on their way to disk.

    Attributes:
        arrays: To be filled, by name.
        listed: Gives the list that is written beside the maps, from the SHA-256 of their file; None: no list.
    """

    arrays: dict[str, np.ndarray]
    listed: Callable[[str], str] | None = None


@contextmanager
def writing_maps(path: Path, shapes: Mapping[str, Shape], precision: str) -> Iterator[Making]:
    """Arrays on disk to be filled, in a file that takes its place, with its list, when the block ends well.

    Memory holds none of them: they are parts of one mapped file, which has its whole size from the beginning.
    The list of maps that were there before goes before they do, so that no list is ever beside the maps of
    another.

    Args:
        path: Ending in .safetensors or .npz.
        shapes: Of each array, by name.
        precision: "float16" or "float32".

    Raises:
        BadInput: For another ending, or when the disk has no room or cannot be written.
    """
    form, beside = form_of(path), path.with_suffix(".json")
    partial = [
        path.with_name(f".{path.name}.{os.getpid()}.{kind}.partial") for kind in ("raw", "whole", "list")
    ]
    raw, whole, told = partial
    head = _header(shapes, precision) if form == ".safetensors" else b""
    size = len(head) + bytes_of(list(shapes.values()), precision)
    try:
        with _on_disk(path):
            _check_room(path, size, form)
            _take_room(raw, head, size)
            flat = np.memmap(raw, precision, "r+", len(head)) if size > len(head) else np.zeros(0, precision)
        making = Making(_parts(flat, shapes))
        yield making
        with _on_disk(path):
            if isinstance(flat, np.memmap):
                flat.flush()
            if form == ".npz":
                _zipped(whole, making.arrays)
                raw.unlink()
            else:
                raw.replace(whole)
            if making.listed is not None:
                told.write_text(making.listed(sha256_of(whole)), encoding="utf-8", newline="")
            beside.unlink(missing_ok=True)
            whole.replace(path)
            if making.listed is not None:
                told.replace(beside)
    finally:
        for each in partial:
            each.unlink(missing_ok=True)


def _take_room(path: Path, head: bytes, size: int) -> None:
    """A file that begins so and has its whole size on the disk, so that none lacks while it is filled."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)
        file.flush()
        if size and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # what some file systems do not know
                    raise


def _parts(flat: np.ndarray, shapes: Mapping[str, Shape]) -> dict[str, np.ndarray]:
    """Arrays that lie one after another."""
    parts, start = {}, 0
    for name, shape in shapes.items():
        stop = start + int(np.prod(shape))
        parts[name] = flat[start:stop].reshape(shape)
        start = stop
    return parts


def _header(shapes: Mapping[str, Shape], precision: str) -> bytes:
    """What opens a file of safetensors: its length, then where each array lies; aligned to 8 bytes."""
    placed: dict[str, Any] = {}
    start = 0
    for name, shape in shapes.items():
        stop = start + bytes_of([shape], precision)
        placed[name] = {"dtype": KINDS[precision], "shape": list(shape), "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(placed, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def _zipped(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An npz of arrays, not compressed; with one date, so that equal maps are equal files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)


def _check_room(path: Path, size: int, form: str) -> None:
    """Refuse what the disk cannot hold; an npz lies there twice while it is packed."""
    needed = size * (2 if form == ".npz" else 1)
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise BadInput(
            f"the maps need {needed / 1e9:.1f} GB of disk while they are written, but '{path.parent}' has "
            f"{free / 1e9:.1f} GB free; give fewer inputs, --precision float16, or another --out"
        )


@contextmanager
def _on_disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadInput(
            f"'{path}' cannot be written ({error.strerror or error}); name another --out, or make room"
        ) from error


@dataclass(frozen=True, slots=True, eq=False)
class MapFile:
    """A file of maps, its arrays read one by one; used as a context.

    Attributes:
        path: Where it lies.
    """

    path: Path
    _held: ExitStack
    _arrays: Any

    @classmethod
    def open(cls, path: Path) -> "MapFile":
        """Open a file.

        Raises:
            BadInput: For another ending, or a file that is missing or damaged.
        """
        form, held = form_of(path), ExitStack()
        try:
            if form == ".npz":
                file = held.enter_context(path.open("rb"))
                arrays = held.enter_context(np.load(file, allow_pickle=False))
            else:
                from safetensors import safe_open

                arrays = held.enter_context(safe_open(path, framework="numpy"))
        except Exception as error:  # each library has errors of its own
            held.close()
            raise BadInput(
                f"attention maps are read from a whole {form} file, but '{path}' cannot be read "
                f"({' '.join(str(error).split())[:200]}); give another file"
            ) from error
        return cls(path, held, arrays)

    def __enter__(self) -> "MapFile":
        """The file itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self._held.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its arrays."""
        return tuple(self._arrays.keys())

    def __getitem__(self, name: str) -> np.ndarray:
        """One array.

        Raises:
            BadInput: When there is none of that name, or it is damaged.
        """
        if name not in self.names:
            raise BadInput(
                f"'{self.path}' has no array {name!r}, which the list of its examples names; it has "
                f"{', '.join(self.names[:5]) or 'none'}{', …' * (len(self.names) > 5)}"
            )
        try:
            npz = self.path.suffix == ".npz"
            found: np.ndarray = self._arrays[name] if npz else self._arrays.get_tensor(name)
        except Exception as error:  # each library has errors of its own
            raise BadInput(
                f"'{self.path}' is damaged: its array {name!r} cannot be read "
                f"({' '.join(str(error).split())[:200]})"
            ) from error
        if not isinstance(found, np.ndarray):  # an npz gives the bytes of what is no .npy
            raise BadInput(f"'{self.path}' is damaged: what it calls {name!r} is no array; give another file")
        return found
