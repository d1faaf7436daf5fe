"""Arrays that records hand out: no one changes them.

Query heads that share keys and values: which they are, and what that means for counting them.

Arrays of a record that have one entry per sieve, layer and head.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput


def frozen(array: np.ndarray) -> np.ndarray:
    """A read-only view of an array.

    Example:
        >>> frozen(np.zeros(2)).flags.writeable
        False
    """
    view = array.view()
    view.flags.writeable = False
    return view


def key_groups(model: object, layers: int, heads: int) -> Int[np.ndarray, "layers heads"] | None:
    """The group of key-value heads that each query head belongs to.

    Query heads that share keys and values stand next to one another: with h query heads and k key-value
    heads, head i reads the keys of head ``i // (h / k)``, as the library's ``repeat_kv`` lays them out.

    Args:
        model: What a manifest says of the model: a mapping whose ``kv_heads`` is one number, or one of
            each layer; whatever else it may be says nothing.
        layers: Number of layers.
        heads: Query heads of each.

    Returns:
        Groups counted from 0 in each layer; None where every query head has keys of its own, or
        nothing is known of it (runs from before it was counted).

    Example:
        >>> key_groups({"kv_heads": 2}, 1, 4).tolist()
        [[0, 0, 1, 1]]
        >>> key_groups({"kv_heads": 4}, 1, 4) is None
        True
    """
    shared = _by_layer(model.get("kv_heads") if isinstance(model, Mapping) else None, layers)
    if shared is None or all(each == heads for each in shared):
        return None
    if any(each < 1 or heads % each for each in shared):
        return None
    return np.stack([np.arange(heads) // (heads // each) for each in shared])


def _by_layer(known: object, layers: int) -> list[int] | None:
    if isinstance(known, int):
        return [known] * layers
    if isinstance(known, list | tuple) and len(known) == layers:
        return [int(each) for each in known]
    return None


def sharing_told(model: Mapping[str, Any]) -> list[str]:
    """One sentence on what sharing keys and values means for roles; none where no heads share them.

    Args:
        model: What a manifest says of the model.
    """
    layers, heads = int(model["layers"]), int(model["heads"])
    groups = key_groups(model, layers, heads)
    if groups is None:
        return []
    counts = sorted({int(layer.max()) + 1 for layer in groups})
    number = " or ".join(map(str, counts))
    return [
        f"The {heads} query heads of a layer share {number} {'head' if counts == [1] else 'heads'} of keys "
        f"and values (kv_group says which): heads of one group are dependent, so that a role held by several "
        f"of them is not evidence from several independent heads. q of fdr_bh holds where heads depend "
        f"positively, that of fdr_by and holm however they depend."
    ]


def frozen_grids(record: Any, what: str, names: Iterable[str]) -> None:
    """Make arrays of a record read-only, each with one entry per sieve, layer and head.

    Args:
        record: With ``rules``, one per sieve, and the array ``count`` of units.
        what: What the record holds, for the error.
        names: Of the arrays.

    Raises:
        BadInput: When an array has another shape.
    """
    for name in names:
        array = getattr(record, name)
        if array.ndim != 3 or array.shape != (len(record.rules), *record.count.shape[1:]):
            raise BadInput(
                f"{what} have one entry per sieve, layer and head, but {name!r} of {len(record.rules)} "
                f"sieves has shape {array.shape}"
            )
        object.__setattr__(record, name, frozen(array))
