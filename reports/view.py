"""The page of a view: heads, the whole model, and the parts that weights are made of.

The page's scripts read tokens once and arrays packed layer by layer.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from markupsafe import Markup

from headroles.errors import UnknownName
from headroles.records.numbers import plural
from headroles.records.roles import explained_words, family_of, looks_of, phrase_of, tone_of, without_wholes
from headroles.records.view import CROSS, DECODER, ENCODER, SELF, Maps, Neurons, View, ViewOrigins, ViewRoles
from headroles.reports.document import environment, policy, template
from headroles.reports.embedded import pack, script_json, tokens_of

LARGEST = float(np.finfo(np.float16).max)
"""Beyond it, 16 bits hold no number: queries, keys and biases are clipped there."""
MOSTLY = 0.5
"""Mean share of attention above which a page leaves special tokens or the first token out at first."""
DECISION_WORDS = ("role", "not", "undetermined", "untestable")
"""Decisions by code; of the next code, the score is explained by what the role is compared with."""
SHOWS = {"head": "Heads", "model": "Model", "neuron": "Neurons"}
"""The views of a page, and the names of their tabs."""
SCRIPTS = ("elements.js", "attention.js", "view.js", "neuron.js", "tabs.js")
STYLES = ("page.css", "attention.css", "view.css")
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
    sizes = []
    for maps in view.maps:
        tokens = plural(maps.queries.size, "token")
        tokens += f" that attend to {maps.keys.size}" if maps.kind == CROSS else ""
        kind = "" if maps.kind == SELF else f"{maps.kind}: "
        layers, heads = plural(len(maps.layers), "layer"), plural(len(maps.heads), "head")
        sizes.append(f"{kind}{layers}, {heads}, {tokens}")
    script = "\n".join(template(name) for name in SCRIPTS)
    return environment().get_template("view.html").render(
        view=view,
        show=show,
        shows=SHOWS,
        kinds=[KINDS[maps.kind] for maps in view.maps],
        heads="; ".join(sizes),
        long=LONG,
        style=Markup("\n".join(template(name) for name in STYLES)),
        scripts=[Markup(script)],
        policy=policy([script]),
        content=Markup(view_json(view)),
    )  # fmt: skip


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
    kinds = [maps.kind for maps in view.maps]
    content = {
        "maps": [_maps(maps) for maps in view.maps],
        "opening": opening_of(view),
        "mostly": MOSTLY,
        "roles": None if view.roles is None else _roles(view.roles, kinds),
        "origins": None if view.origins is None else _origins(view.origins, kinds),
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def opening_of(view: View) -> tuple[int, int, int, int | None]:
    """Return the head that a page opens with: the strongest role of the run, else the most focused head.

    A head is as focused as the largest weight of a query on one key, in the mean of the queries. Special
    tokens and the first token are left out on both sides.

    Returns:
        Indices of the kind, layer, head and role; None for the role without one.

    Example:
        >>> from headroles.records.example import Example
        >>> example = Example("note", ("it", "rains", "again"))
        >>> weights = np.full((1, 2, 3, 3), 85, dtype=np.uint8)
        >>> weights[0, 1] = 255 * np.eye(3, dtype=np.uint8)[[2, 2, 1]]
        >>> opening_of(View("m", ("t",), (Maps("self", (0,), (4, 7), example, example, weights),)))
        (0, 0, 1, None)
    """
    roles = view.roles
    best = strongest_role(roles.names, roles.decision == 0, roles.mean) if roles else None
    if roles and best:
        role, layer, head = best
        return [maps.kind for maps in view.maps].index(roles.kind), layer, head, role
    maps = view.maps[0]
    queries, keys = (np.flatnonzero(~side.special) for side in (maps.queries, maps.keys))
    rest = maps.weights[:, :, queries[queries > 0]][:, :, :, keys[keys > 0]]
    focus = rest.max(axis=3).mean(axis=2) if rest.size else np.zeros(maps.weights.shape[:2])
    place = np.unravel_index(int(focus.argmax()), focus.shape)
    return 0, int(place[0]), int(place[1]), None


def strongest_role(
    names: tuple[str, ...],
    held: Bool[np.ndarray, "roles layers heads"],
    mean: Float[np.ndarray, "roles layers heads"],
) -> tuple[int, int, int] | None:
    """Return role, layer and head of the role with the highest mean; sinks only where there is no other.

    Args:
        names: Names of the roles.
        held: Whether a head holds a role. A role is left out where the head holds a part of it.
        mean: Mean score of each head.

    Returns:
        Indices, the first of several that are equal; None where no head holds a role.

    Example:
        >>> mean = np.array([[[0.9, 0.2]], [[0.3, 0.4]]])
        >>> strongest_role(("delimiter:cls", "local"), mean > 0.25, mean)
        (1, 0, 1)
    """
    drawn = without_wholes(names, held) & ~np.isnan(mean)
    sinks = np.array([family_of(name) == "sinks" for name in names], dtype=bool)
    for rows in (~sinks, sinks):
        values = np.where(drawn & rows[:, None, None], mean, -np.inf)
        if values.size and np.isfinite(values.max()):
            role, layer, head = np.unravel_index(int(values.argmax()), values.shape)
            return int(role), int(layer), int(head)
    return None


def _maps(maps: Maps) -> dict[str, Any]:
    """Return attention of one kind; ``shares`` are what special tokens and a plain first token get of all."""
    got, special = maps.weights.sum(axis=(0, 1, 2), dtype=np.float64), maps.keys.special
    shares = float(got[special].sum()), 0.0 if special[0] else float(got[0])
    return {
        "kind": maps.kind,
        "layers": maps.layers,
        "heads": maps.heads,
        "queries": tokens_of(maps.queries),
        "keys": None if maps.keys is maps.queries else tokens_of(maps.keys),
        "shares": [round(share / (float(got.sum()) or 1.0), 4) for share in shares],
        "weights": [pack(layer) for layer in maps.weights],
        "neurons": _neurons(maps.neurons) if maps.neurons else None,
    }


def _neurons(neurons: Neurons) -> dict[str, Any]:
    """Return queries and keys; keys that several query heads share are written once, at the first of them."""
    groups = list(dict.fromkeys(neurons.group))
    first = [neurons.group.index(group) for group in groups]
    return {
        "size": neurons.query.shape[-1],
        "query": [_pack_halves(layer) for layer in neurons.query],
        "key": [_pack_halves(layer[first]) for layer in neurons.key],
        "place": [groups.index(group) for group in neurons.group],
        "group": neurons.group,
        "scaling": neurons.scaling.tolist(),
        "softcap": _nan_to_none(neurons.softcap),
        "bias": None if neurons.bias is None else _once([_pack_halves(layer) for layer in neurons.bias]),
        "visible": _once([pack(np.packbits(layer)) for layer in neurons.visible]),
        "sink": [_nan_to_none(layer) for layer in neurons.sink],
    }


def _roles(roles: ViewRoles, kinds: Sequence[str]) -> dict[str, Any]:
    """Return roles: a digit per head for its decision, a number for its mean."""
    looks = looks_of(roles.names)
    drawn = without_wholes(roles.names, roles.decision == 0)
    return {
        "kind": kinds.index(roles.kind),
        "names": roles.names,
        "titles": [phrase_of(name).title for name in roles.names],
        "marks": [look.mark for look in looks],
        "tones": [look.tone for look in looks],
        "key_tones": [tone_of(look.family) for look in looks],
        "words": [[*DECISION_WORDS, explained_words(control or "distance")] for control in roles.control],
        "decision": ["".join(map(str, codes.ravel().tolist())) for codes in roles.decision],
        "drawn": ["".join(map(str, held.astype(int).ravel().tolist())) for held in drawn],
        "mean": [_nan_to_none(np.round(means.ravel(), 3)) for means in roles.mean],
        "keys": [None if keys is None else pack(np.packbits(keys)) for keys in roles.keys],
    }


def _origins(origins: ViewOrigins, kinds: Sequence[str]) -> dict[str, Any]:
    """Return dimensions that carry roles; None where a number is not known."""
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


def _pack_halves(values: np.ndarray) -> str:
    """Return numbers as packed 16-bit floats, clipped to the range of those."""
    return pack(np.clip(values, -LARGEST, LARGEST).astype("<f2"))


def _once(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Return texts that repeat, each stored once (``held``), and the place of each text among them (``of``).

    Example:
        >>> _once(("a", "b", "a"))
        {'held': ['a', 'b'], 'of': [0, 1, 0]}
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return {"held": list(places), "of": [places[text] for text in texts]}


def _nan_to_none(values: Float[np.ndarray, " entries"]) -> list[float | None]:
    """Return numbers as JSON has them, None for NaN."""
    return [None if np.isnan(value) else float(value) for value in values]
