"""Attention maps in one file, as other tools read and write them: safetensors or npz, never pickle."""

import json
import shutil
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
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
STEP = 2**24
"""Bytes copied at once."""

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


@contextmanager
def writing_maps(path: Path, shapes: Mapping[str, Shape], precision: str) -> Iterator[dict[str, np.ndarray]]:
    """Arrays on disk to be filled, in a file that takes its place when the block ends well.

    Memory holds none of them: they are mapped, and the file has its whole size from the beginning.

    Args:
        path: Ending in .safetensors or .npz.
        shapes: Of each array, by name.
        precision: "float16" or "float32".

    Raises:
        BadInput: For another ending, or when the disk has no room or cannot be written.
    """
    form = form_of(path)
    raw, whole = (path.with_name(f".{path.name}.{kind}.partial") for kind in ("raw", "whole"))
    head = _header(shapes, precision) if form == ".safetensors" else b""
    try:
        with _on_disk(path):
            _check_room(path, len(head) + bytes_of(list(shapes.values()), precision), form)
            with raw.open("wb") as file:
                file.write(head)
                file.truncate(len(head) + bytes_of(list(shapes.values()), precision))
        arrays, start = {}, len(head)
        for name, shape in shapes.items():
            arrays[name] = (
                np.memmap(raw, precision, "r+", start, shape) if np.prod(shape) else np.zeros(shape)
            )
            start += bytes_of([shape], precision)
        yield arrays
        with _on_disk(path):
            for array in arrays.values():
                if isinstance(array, np.memmap):
                    array.flush()
            if form == ".npz":
                _zipped(whole, arrays)
                raw.unlink()
            else:
                raw.replace(whole)
            whole.replace(path)
    finally:
        raw.unlink(missing_ok=True)
        whole.unlink(missing_ok=True)


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
        return found
