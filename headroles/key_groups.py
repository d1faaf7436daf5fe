"""Query heads that share keys and values: which they are, and what that means for counting them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int


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
