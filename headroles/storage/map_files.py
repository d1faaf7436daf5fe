"""Files of attention maps from other programs: safetensors or npz, read array by array, never pickle."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.storage.archive import check_sizes
from headroles.storage.integrity.switch import after_name, is_switching
from headroles.storage.places import open_regular

FORMS = (".safetensors", ".npz")
"""Endings of the names of map files."""
KINDS = {"float16": "F16", "float32": "F32"}
"""Precisions of maps, and their names in safetensors."""


def file_form(path: Path) -> str:
    """Return the ending of a map file, which determines its format.

    Raises:
        BadInput: For another ending.
    """
    if path.suffix not in FORMS:
        raise BadInput(f"files of attention maps end in {' or '.join(FORMS)}, but got '{path}'")
    return path.suffix


@dataclass(frozen=True, slots=True, eq=False)
class MapFile:
    """An open file of maps whose arrays are read one by one; used as a context manager.

    Attributes:
        path: Path of the file.
    """

    path: Path
    _stack: ExitStack
    _arrays: Any

    @classmethod
    def open(cls, path: Path) -> "MapFile":
        """Open a file.

        Raises:
            BadInput: For another ending, or a file that is missing or damaged.
        """
        form, stack = file_form(path), ExitStack()
        if is_switching(path.parent, after_name(path.name)):
            raise BadInput(
                f"a command was stopped while it replaced '{path}', or is still at work; start it again, and "
                f"the maps are whole"
            )
        try:
            file = stack.enter_context(open_regular(path))  # no pipe, which would keep the reader waiting
            if form == ".npz":
                arrays = stack.enter_context(np.load(file, allow_pickle=False))
                check_sizes(arrays, path.stat().st_size)
            else:
                from safetensors import safe_open

                arrays = stack.enter_context(safe_open(path, framework="numpy"))
        except Exception as error:  # each library has errors of its own
            stack.close()
            raise BadInput(
                f"attention maps are read from a whole {form} file, but '{path}' cannot be read "
                f"({' '.join(str(error).split())[:200]}); give another file"
            ) from error
        return cls(path, stack, arrays)

    def __enter__(self) -> "MapFile":
        """Return the open file."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._stack.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its arrays."""
        return tuple(self._arrays.keys())

    def __getitem__(self, name: str) -> np.ndarray:
        """Read one array.

        Raises:
            BadInput: When there is no array of that name, or it is damaged.
        """
        if name not in self.names:
            raise BadInput(
                f"'{self.path}' has no array {name!r}, which the list of its examples names; it has "
                f"{', '.join(self.names[:5]) or 'none'}{', …' * (len(self.names) > 5)}"
            )
        try:
            npz = self.path.suffix == ".npz"
            array: np.ndarray = self._arrays[name] if npz else self._arrays.get_tensor(name)
        except Exception as error:  # each library has errors of its own
            raise BadInput(
                f"'{self.path}' is damaged: its array {name!r} cannot be read "
                f"({' '.join(str(error).split())[:200]})"
            ) from error
        return array
