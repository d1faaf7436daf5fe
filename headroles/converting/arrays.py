"""Build arrays from what numpy writes into pickles, without calling what the pickle names."""

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TYPE = re.compile(r"[<>|=]?([fiub])([1248])")
"""Types of numbers: floats, whole numbers and truth values."""
CODEC = ("_codecs", "encode")
EMPTY = {("__builtin__", "bytes"), ("builtins", "bytes")}
"""Names that stand for no bytes, in old protocols."""
KINDS = {
    "_reconstruct": "array",
    "ndarray": "class",
    "dtype": "type",
    "scalar": "number",
    "_frombuffer": "buffer",
}
"""What each name of numpy stands for."""
HOMES = {
    "_reconstruct": ("numpy.core.multiarray", "numpy._core.multiarray"),
    "scalar": ("numpy.core.multiarray", "numpy._core.multiarray"),
    "_frombuffer": ("numpy.core.numeric", "numpy._core.numeric"),
    "ndarray": ("numpy",),
    "dtype": ("numpy",),
}
"""Modules of these names, in numpy 1 and numpy 2."""
KNOWN = {CODEC, *EMPTY, *((module, name) for name, modules in HOMES.items() for module in modules)}
"""All names that a pickle may have."""
HUGE = 1 << 40
"""No dimension is that large."""


@dataclass(frozen=True, slots=True)
class Name:
    """A known name: a mark on the stack, which stands for itself and is never imported."""

    module: str
    name: str


@dataclass(slots=True, eq=False)
class Unfinished:
    """An array or a type of numbers whose content is still to come.

    Attributes:
        type: The type; None for an array.
        places: Numbers under which it is kept.
    """

    type: np.dtype[Any] | None = None
    places: list[int] = field(default_factory=list)

    def build(self, state: tuple[Any, ...]) -> Any:
        """Return the array or the type with its content.

        Raises:
            ValueError: When the content is not that of plain numbers; the text says why.
        """
        return _array(state) if self.type is None else _type_in_order(self.type, state)


def call_name(name: Name, given: tuple[Any, ...]) -> Any:
    """Return what a name with its arguments stands for.

    Raises:
        ValueError: For arguments that numpy does not write for plain numbers; the text says why.
    """
    if (name.module, name.name) == CODEC:
        if len(given) != 2 or type(given[0]) is not str or given[1] not in ("latin1", "latin-1"):
            raise ValueError("it encodes something that is no text in Latin 1")
        return given[0].encode("latin-1")
    if (name.module, name.name) in EMPTY and not given:
        return b""
    kind = KINDS.get(name.name)
    if kind == "array" and given and given[0] == Name("numpy", "ndarray"):
        return Unfinished()
    if kind == "type" and given:
        return Unfinished(_type(given[0]))
    if kind == "number" and len(given) == 2:
        (number,) = _numbers(given[1], _finished(given[0]), (1,), fortran=False)
        return number.item()
    if kind == "buffer" and len(given) == 4:
        raw, dtype, shape, order = given
        return _numbers(raw, _finished(dtype), shape, fortran=order == "F")
    raise ValueError(f"it calls {name.module}.{name.name} in a way that numpy does not")


def _type(text: Any) -> np.dtype[Any]:
    """Return a type of numbers from its name, such as "f2"."""
    spelled = str(text, "ascii", "replace") if isinstance(text, bytes) else text
    match = TYPE.fullmatch(spelled) if isinstance(spelled, str) else None
    if match is None:
        raise ValueError(f"it holds an array of type {spelled!r:.30}, not of numbers")
    try:
        return np.dtype(spelled)
    except TypeError as error:
        raise ValueError(f"it holds an array of type {spelled!r:.30}, which does not exist") from error


def _type_in_order(dtype: np.dtype[Any], state: tuple[Any, ...]) -> np.dtype[Any]:
    """Return a type with the byte order of its state."""
    order = state[1] if len(state) >= 5 else None
    order = str(order, "ascii", "replace") if isinstance(order, bytes) else order
    if not isinstance(order, str) or order not in ("<", ">", "|", "=") or any(state[2:5]):
        raise ValueError("it holds an array with fields, not of numbers")
    return dtype if order in "|=" else dtype.newbyteorder("<" if order == "<" else ">")


def _finished(dtype: Any) -> np.dtype[Any]:
    """Return a type; one without a state is in the order of this machine."""
    if isinstance(dtype, Unfinished) and dtype.type is not None:
        return dtype.type
    if not isinstance(dtype, np.dtype):
        raise ValueError("it holds an array without a type of numbers")
    return dtype


def _array(state: tuple[Any, ...]) -> np.ndarray:
    """Return an array from its state: version, shape, type, order and bytes."""
    if len(state) not in (4, 5):
        raise ValueError("it holds an array in a form that numpy does not write")
    shape, dtype, fortran, raw = state[-4:]
    return _numbers(raw, _finished(dtype), shape, fortran=bool(fortran))


def _numbers(raw: Any, dtype: np.dtype[Any], shape: Any, *, fortran: bool) -> np.ndarray:
    """Return an array of a shape over bytes, which stay where they are."""
    if isinstance(raw, str):  # Python 2 bytes that another program read as Latin 1
        raw = raw.encode("latin-1")
    if not isinstance(raw, bytes | memoryview):
        raise ValueError("it holds an array of objects, not of numbers")
    shape = (shape,) if isinstance(shape, int) else shape
    plain = type(shape) is tuple and len(shape) <= 8 and all(type(side) is int for side in shape)
    if not plain or not all(0 <= side < HUGE for side in shape):
        raise ValueError("it holds an array whose shape is not a few whole numbers")
    if math.prod(shape) * dtype.itemsize != len(raw):
        raise ValueError(f"it holds an array of shape {shape} whose bytes are {len(raw):,}")
    if not len(raw):
        raise ValueError("it holds an array without numbers")
    values: np.ndarray = np.frombuffer(raw, dtype).reshape(shape, order="F" if fortran else "C")
    return values
