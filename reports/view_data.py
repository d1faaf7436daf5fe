"""A view as its page's scripts read it: tokens once, arrays packed layer by layer."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.records.view import Maps, Neurons, View
from headroles.reports.embedded import script_json
from headroles.reports.map_data import packed, tokens_of

LARGEST = float(np.finfo(np.float16).max)
"""Beyond it, 16 bits hold no number: queries, keys and biases are clipped there."""


def view_json(view: View) -> str:
    """Everything that is drawn, as JSON that can stand inside a script element.

    Weights are bytes per layer (heads, queries, keys). Queries, keys and biases are little-endian
    16-bit floats, what is visible is one bit per query and key, the first in the highest bit.

    Args:
        view: What to show.

    Returns:
        One object with ``maps``, one entry per kind.
    """
    content = {"maps": [_maps(maps) for maps in view.maps]}
    return script_json(json.dumps(content, separators=(",", ":")))


def halves(values: np.ndarray) -> str:
    """Numbers as packed 16-bit floats, clipped to what those can hold."""
    return packed(np.clip(values, -LARGEST, LARGEST).astype("<f2"))


def held_once(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Texts that repeat, each kept once.

    Returns:
        ``held``: the different ones in the order they came; ``of``: the place of each in it.

    Example:
        >>> held_once(("a", "b", "a"))
        {'held': ['a', 'b'], 'of': [0, 1, 0]}
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return {"held": list(places), "of": [places[text] for text in texts]}


def _maps(maps: Maps) -> dict[str, Any]:
    same = maps.keys is maps.queries
    return {
        "kind": maps.kind,
        "layers": maps.layers,
        "heads": maps.heads,
        "queries": tokens_of(maps.queries),
        "keys": None if same else tokens_of(maps.keys),
        "weights": [packed(layer) for layer in maps.weights],
        "neurons": _neurons(maps.neurons) if maps.neurons else None,
    }


def _neurons(neurons: Neurons) -> dict[str, Any]:
    """Keys that several query heads share are written once, at the first of them."""
    groups = list(dict.fromkeys(neurons.group))
    first = [neurons.group.index(group) for group in groups]
    bias = neurons.bias
    return {
        "size": neurons.query.shape[-1],
        "query": [halves(layer) for layer in neurons.query],
        "key": [halves(layer[first]) for layer in neurons.key],
        "place": [groups.index(group) for group in neurons.group],
        "group": neurons.group,
        "scaling": neurons.scaling.tolist(),
        "softcap": _known(neurons.softcap),
        "bias": None if bias is None else held_once([halves(layer) for layer in bias]),
        "visible": held_once([packed(np.packbits(layer)) for layer in neurons.visible]),
        "sink": [_known(layer) for layer in neurons.sink],
    }


def _known(values: Float[np.ndarray, " entries"]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
