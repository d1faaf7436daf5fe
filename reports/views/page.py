"""The page of a view:

heads, the whole model, and the parts that weights are made of. The page's scripts read tokens once and arrays
packed layer by layer.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from headroles.errors import UnknownName
from headroles.records.numbers import plural
from headroles.records.roles import explained_words, looks_of, phrase_of, tone_of, without_wholes
from headroles.records.view import CROSS, DECODER, ENCODER, SELF, Maps, Neurons, View, ViewOrigins, ViewRoles
from headroles.reports.document import environment, policy, template
from headroles.reports.sections.map_data import pack, tokens_of
from headroles.reports.summary.embedded import script_json
from headroles.reports.views.opening import MOSTLY, opening_of, sink_shares

LARGEST = float(np.finfo(np.float16).max)
"""Beyond it, 16 bits hold no number: queries, keys and biases are clipped there."""
DECISION_WORDS = ("role", "not", "undetermined", "untestable", "explained")
"""Decisions by code."""


def view_json(view: View) -> str:
    """Return everything that is drawn, as JSON that can stand inside a script element.

    Weights are bytes per layer (heads, queries, keys). Queries, keys and biases are little-endian
    16-bit floats, what is visible is one bit per query and key, the first in the highest bit.

    Args:
        view: What to show.

    Returns:
        One object with ``maps``, one entry per kind; ``opening``, the indices of kind, layer, head and role
        that are shown first; ``roles``, those of a run; and ``origins``, the dimensions that carry them.
    """
    opening, kinds = opening_of(view), [maps.kind for maps in view.maps]
    content = {
        "maps": [_maps(maps) for maps in view.maps],
        "opening": [opening.kind, opening.layer, opening.head, opening.role],
        "mostly": MOSTLY,
        "roles": None if view.roles is None else _roles(view.roles, kinds),
        "origins": None if view.origins is None else _origins(view.origins, kinds),
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def pack_halves(values: np.ndarray) -> str:
    """Return numbers as packed 16-bit floats, clipped to the range of those."""
    return pack(np.clip(values, -LARGEST, LARGEST).astype("<f2"))


def unique_texts(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Return texts that repeat, each stored once.

    Returns:
        ``held``: the different texts in order of appearance; ``of``: the place of each text in it.

    Example:
        >>> unique_texts(("a", "b", "a"))
        {'held': ['a', 'b'], 'of': [0, 1, 0]}
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return {"held": list(places), "of": [places[text] for text in texts]}


def _maps(maps: Maps) -> dict[str, Any]:
    """Return attention of one kind as the scripts read it."""
    same = maps.keys is maps.queries
    return {
        "kind": maps.kind,
        "layers": maps.layers,
        "heads": maps.heads,
        "queries": tokens_of(maps.queries),
        "keys": None if same else tokens_of(maps.keys),
        "shares": [round(share, 4) for share in sink_shares(maps)],
        "weights": [pack(layer) for layer in maps.weights],
        "neurons": _neurons(maps.neurons) if maps.neurons else None,
    }


def _roles(roles: ViewRoles, kinds: Sequence[str]) -> dict[str, Any]:
    """Return roles as the scripts read them: a digit per head for its decision, a number for its mean."""
    looks = looks_of(roles.names)
    drawn = without_wholes(roles.names, roles.decision == 0)
    return {
        "kind": kinds.index(roles.kind),
        "names": roles.names,
        "titles": [phrase_of(name).title for name in roles.names],
        "marks": [look.mark for look in looks],
        "tones": [look.tone for look in looks],
        "key_tones": [tone_of(look.family) for look in looks],
        "words": [
            [*DECISION_WORDS[:-1], explained_words(control or "distance")] for control in roles.control
        ],
        "decision": ["".join(map(str, codes.ravel().tolist())) for codes in roles.decision],
        "drawn": ["".join(map(str, held.astype(int).ravel().tolist())) for held in drawn],
        "mean": [_nan_to_none(np.round(means.ravel(), 3)) for means in roles.mean],
        "keys": [None if keys is None else pack(np.packbits(keys)) for keys in roles.keys],
    }


def _origins(origins: ViewOrigins, kinds: Sequence[str]) -> dict[str, Any]:
    """Return dimensions that carry roles as the scripts read them; None where a number is not known."""
    return {
        "kind": kinds.index(origins.kind),
        "paired": origins.paired,
        "group": origins.group.tolist(),
        "carriers": [
            {
                "title": phrase_of(carriers.role).title,
                "layer": carriers.layer,
                "head": carriers.head,
                "share": _nan_to_none(np.round(carriers.share, 4)),
                "q": _nan_to_none(np.round(carriers.q, 6)),
                "found": np.flatnonzero(carriers.found).tolist(),
                "text": carriers.text,
            }
            for carriers in origins.carriers
        ],
    }


def _neurons(neurons: Neurons) -> dict[str, Any]:
    """Return queries and keys; keys that several query heads share are written once, at the first of them."""
    groups = list(dict.fromkeys(neurons.group))
    first = [neurons.group.index(group) for group in groups]
    bias = neurons.bias
    return {
        "size": neurons.query.shape[-1],
        "query": [pack_halves(layer) for layer in neurons.query],
        "key": [pack_halves(layer[first]) for layer in neurons.key],
        "place": [groups.index(group) for group in neurons.group],
        "group": neurons.group,
        "scaling": neurons.scaling.tolist(),
        "softcap": _nan_to_none(neurons.softcap),
        "bias": None if bias is None else unique_texts([pack_halves(layer) for layer in bias]),
        "visible": unique_texts([pack(np.packbits(layer)) for layer in neurons.visible]),
        "sink": [_nan_to_none(layer) for layer in neurons.sink],
    }


def _nan_to_none(values: Float[np.ndarray, " entries"]) -> list[float | None]:
    """Return numbers as JSON has them, None for NaN."""
    return [None if np.isnan(value) else float(value) for value in values]


SHOWS = {"head": "Heads", "model": "Model", "neuron": "Neurons"}
"""The views of a page, and the names of their tabs."""
SCRIPTS = (
    "view/view.js", "view/roles.js", "attention/attention.js", "attention/draw.js", "view/thumbs.js",
    "view/head.js", "view/preview.js", "view/model.js", "view/products.js", "view/strips.js", "view/links.js",
    "view/carriers.js", "view/neuron.js", "view/tabs.js",
)  # fmt: skip
STYLES = ("shared/page.css", "attention/attention.css", "view/view.css")
KINDS = {
    SELF: "self-attention",
    ENCODER: "encoder: the input attends to itself",
    DECODER: "decoder: the output attends to itself",
    CROSS: "cross: the output attends to the input",
}
LONG = 400
"""Letters above which a text scrolls in a box of its own."""


def view_page(view: View, show: str = "head") -> str:
    """Return attention over one input as one HTML file that requests nothing.

    The same view gives the same text, byte for byte. Text from data is escaped everywhere, and the
    page's own policy lets only its own scripts run.

    Args:
        view: Weights, tokens, and queries and keys where they are known.
        show: What is open first: ``"head"``, ``"model"`` or ``"neuron"``; the address of a link, such as
            ``view.html#model``, goes first.

    Returns:
        A complete HTML document.

    Raises:
        UnknownName: When there is no such view.
    """
    if show not in SHOWS:
        raise UnknownName("view", show, SHOWS)
    scripts = ["\n".join(template(name) for name in SCRIPTS)]
    return environment().get_template("view/view.html").render(
        view=view,
        show=show,
        shows=SHOWS,
        kinds=[KINDS[maps.kind] for maps in view.maps],
        heads=_sizes_text(view),
        long=LONG,
        neurons=any(maps.neurons is not None for maps in view.maps),
        style=Markup("\n".join(template(name) for name in STYLES)),
        scripts=[Markup(script) for script in scripts],
        policy=policy(scripts),
        content=Markup(view_json(view)),
    )  # fmt: skip


def _sizes_text(view: View) -> str:
    """Return the numbers of layers, heads and tokens in words."""
    parts = []
    for maps in view.maps:
        tokens = plural(maps.queries.size, "token")
        if maps.kind == CROSS:
            tokens = f"{plural(maps.queries.size, 'token')} that attend to {maps.keys.size}"
        kind = "" if maps.kind == SELF else f"{maps.kind}: "
        parts.append(
            f"{kind}{plural(len(maps.layers), 'layer')}, {plural(len(maps.heads), 'head')}, {tokens}"
        )
    return "; ".join(parts)
