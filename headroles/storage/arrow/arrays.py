"""Arrays of Arrow from arrays of numpy and lists of texts, and back.

``pyarrow.array`` imports pandas where it is installed, and so do ``to_numpy`` and ``flatten`` in part; that
takes half a second. So arrays are laid out here as Arrow states it: values, and offsets where they vary in
length. None of them has a missing value.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

LARGEST = 2**31 - 1
"""Largest sum of the lengths of texts or lists that offsets of 32 bits can state."""


def numbers(values: np.ndarray) -> Any:
    """Return numbers or truth values as an array of Arrow of the same type; NaN stays NaN.

    Args:
        values: One-dimensional, of a type of Arrow; truth values become bits.

    Example:
        >>> numbers(np.array([1.0, np.nan])).to_pylist(), str(numbers(np.array([True])).type)
        ([1.0, nan], 'bool')
    """
    import pyarrow as pa

    kind = pa.from_numpy_dtype(values.dtype)
    is_bits = values.dtype == np.bool_
    content = np.packbits(values, bitorder="little") if is_bits else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(content)])


def texts(values: Sequence[str]) -> Any:
    """Return texts as an array of Arrow.

    Raises:
        ValueError: When they have more than 2³¹ bytes together.
    """
    import pyarrow as pa

    return _of_bytes(pa.string(), [value.encode() for value in values])


def blobs(values: Sequence[bytes]) -> Any:
    """Return contents as an array of Arrow.

    Raises:
        ValueError: When they have more than 2³¹ bytes together.
    """
    import pyarrow as pa

    return _of_bytes(pa.binary(), values)


def lists(lengths: Sequence[int], values: Any) -> Any:
    """Return an array of lists of any length.

    Args:
        lengths: Of the lists.
        values: Their values one after the other, as an array of Arrow.

    Raises:
        ValueError: When they have more than 2³¹ values together.

    Example:
        >>> lists([2, 0, 1], texts(["a", "b", "c"])).to_pylist()
        [['a', 'b'], [], ['c']]
    """
    import pyarrow as pa

    return pa.ListArray.from_arrays(numbers(_offsets(lengths)), values)


def rows(values: np.ndarray) -> Any:
    """Return an array of lists of one length, from the rows of a table of numbers.

    Args:
        values: Of any shape with at least two axes; all but the first are laid out in a row.
    """
    import pyarrow as pa

    table = values.reshape(len(values), math.prod(values.shape[1:]))
    return pa.FixedSizeListArray.from_arrays(numbers(table.ravel()), table.shape[1])


def numbers_of(column: Any) -> np.ndarray:
    """Return the numbers of a column, of whatever chunks.

    Raises:
        TypeError: Where a number is missing.
    """
    return _join(column.chunks)


def numbers_of_rows(column: Any) -> np.ndarray:
    """Return all numbers of a column of lists of one length, one after the other.

    Raises:
        TypeError: Where a list or a number is missing.
        ValueError: When the lists have no common length.
    """
    import pyarrow as pa

    if not pa.types.is_fixed_size_list(column.type):
        raise ValueError(f"a column of lists of one length is needed, but it holds {column.type}")
    if column.null_count:
        raise TypeError("a list is missing")
    size = column.type.list_size
    return _join([chunk.values.slice(chunk.offset * size, len(chunk) * size) for chunk in column.chunks])


def _of_bytes(kind: Any, values: Sequence[bytes]) -> Any:
    import pyarrow as pa

    offsets = _offsets([len(value) for value in values])
    return pa.Array.from_buffers(
        kind, len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    )


def _offsets(lengths: Sequence[int]) -> np.ndarray:
    """Return where parts of these lengths begin, and where the last one ends."""
    places = list(itertools.accumulate(lengths, initial=0))
    if places[-1] > LARGEST:
        raise ValueError(f"a column holds at most {LARGEST:,} bytes or values, but got {places[-1]:,}")
    return np.array(places, dtype=np.int32)


def _join(chunks: Sequence[Any]) -> np.ndarray:
    """Return the numbers of arrays of Arrow, one after the other."""
    if any(chunk.null_count for chunk in chunks):
        raise TypeError("a number is missing")
    return np.concatenate([np.from_dlpack(chunk) for chunk in chunks]) if chunks else np.empty(0, np.float32)
