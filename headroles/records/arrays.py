"""Arrays of records: checks against their annotations, read-only views, heads that share keys and values."""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput

NUMBERS = {"Float": "floats", "Int": "whole numbers"}
"""Kinds of numbers in sentences, by the name of their annotation."""


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array.

    Example:
        >>> read_only(np.zeros(2)).flags.writeable
        False
    """
    view = array.view()
    view.flags.writeable = False
    return view


@cache
def array_fields(kind: type) -> Mapping[str, Any]:
    """Return the annotation of every array field of a record, by name and in their order.

    Args:
        kind: A dataclass whose arrays are annotated as ``Float[np.ndarray, "rows columns"]`` and the like.
    """
    hints = get_type_hints(kind)
    return {name: hint for name, hint in hints.items() if getattr(hint, "array_type", None) is np.ndarray}


def check_arrays(kind: type, arrays: Mapping[str, np.ndarray], what: str, axes: Mapping[str, int]) -> None:
    """Refuse arrays whose numbers or shapes are not those that a record's annotations name.

    An axis has one length in all fields: that of ``axes``, or else that of the first array that has it.

    Args:
        kind: Class of the record; all of its array fields are checked.
        arrays: Its arrays by name.
        what: Name of the record in the sentence, in the plural.
        axes: Known lengths by the names of axes.

    Raises:
        BadInput: Naming the first array that does not fit.
        KeyError: When an array is missing.

    Example:
        >>> from headroles.records.clusters import Neighbours
        >>> heads, far = np.zeros((3, 2), dtype=np.int64), np.zeros((3, 2))
        >>> arrays = {"head": heads, "distance": far, "low": far, "high": far[:, :1]}
        >>> try:
        ...     check_arrays(Neighbours, arrays, "neighbours", {})
        ... except BadInput as error:
        ...     print(str(error).partition(";")[0])
        neighbours have 'high' as floats of shape (3, 2), but got float64 of shape (3, 1)
    """
    lengths = dict(axes)
    for name, annotation in array_fields(kind).items():
        array, axis_names = arrays[name], annotation.dim_str.split()
        sizes = array.shape if array.ndim == len(axis_names) else axis_names
        shape = tuple(
            int(axis) if axis.isdigit() else lengths.get(axis, size)
            for axis, size in zip(axis_names, sizes, strict=True)
        )
        if array.shape != shape or array.dtype.name not in annotation.dtypes:
            numbers = NUMBERS.get(annotation.dtype.__name__, annotation.dtype.__name__)
            wanted = f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
            raise BadInput(
                f"{what} have {name!r} as {numbers} of shape {wanted}, but got {array.dtype} of shape "
                f"{array.shape}; give arrays of one model and one run"
            )
        lengths |= zip(axis_names, array.shape, strict=True)


def seal_arrays(record: Any, what: str, axes: Mapping[str, int]) -> None:
    """Check the arrays of a record against its annotations (``check_arrays``), and make them read-only.

    Raises:
        BadInput: Naming the first array that does not fit.
    """
    kind: type = type(record)
    arrays = {name: getattr(record, name) for name in array_fields(kind)}
    check_arrays(kind, arrays, what, axes)
    for name, array in arrays.items():
        object.__setattr__(record, name, read_only(array))


def key_groups(model: object, layers: int, heads: int) -> Int[np.ndarray, "layers heads"] | None:
    """Return the group of key-value heads that each query head belongs to.

    Query heads that share keys and values stand next to one another: with h query heads and k key-value
    heads, head i reads the keys of head ``i // (h / k)``, as the library's ``repeat_kv`` lays them out.

    Args:
        model: The manifest's entry of the model: a mapping whose ``kv_heads`` is one number, or one
            per layer; anything else is ignored.
        layers: Number of layers.
        heads: Query heads of each.

    Returns:
        Groups counted from 0 in each layer; None where every query head has keys of its own, or
        where it is not known (runs from before it was recorded).

    Example:
        >>> key_groups({"kv_heads": 2}, 1, 4).tolist()
        [[0, 0, 1, 1]]
        >>> key_groups({"kv_heads": 4}, 1, 4) is None
        True
    """
    shared = _heads_by_layer(model.get("kv_heads") if isinstance(model, Mapping) else None, layers)
    if shared is None or all(count == heads for count in shared):
        return None
    if any(count < 1 or heads % count for count in shared):
        return None
    return np.stack([np.arange(heads) // (heads // count) for count in shared])


def _heads_by_layer(known: object, layers: int) -> list[int] | None:
    if isinstance(known, int):
        return [known] * layers
    if isinstance(known, list | tuple) and len(known) == layers:
        return [int(count) for count in known]
    return None


def shared_keys_note(model: Mapping[str, Any]) -> list[str]:
    """Return one sentence on what shared keys and values mean for roles; none where no heads share them.

    Args:
        model: The manifest's entry of the model.
    """
    layers, heads = len(model["layers"]), int(model["heads"])
    groups = key_groups(model, layers, heads)
    if groups is None:
        return []
    counts = sorted({int(layer.max()) + 1 for layer in groups})
    number = " or ".join(map(str, counts))
    return [
        f"The {heads} query heads of a layer share {number} {'head' if counts == [1] else 'heads'} of "
        "keys and values (kv_group says which). Heads of one group depend on each other. So a role that "
        "several of them hold is less evidence than it seems. q of fdr_bh is right where heads depend "
        "positively, q of fdr_by and holm always."
    ]
