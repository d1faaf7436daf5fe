"""A file of attention maps as other tools write it: safetensors or npz, read array by array, never pickle."""

from contextlib import ExitStack
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


def form_of(path: Path) -> str:
    """The ending that says how maps are stored.

    Raises:
        BadInput: For another ending.
    """
    if path.suffix not in FORMS:
        raise BadInput(f"files of attention maps end in {' or '.join(FORMS)}, but '{path}' came")
    return path.suffix


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
