"""Arrays of records: read-only views, and groups of query heads that share keys and values."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array.

    Example:
        >>> read_only(np.zeros(2)).flags.writeable
        False
    """
    view = array.view()
    view.flags.writeable = False
    return view


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
