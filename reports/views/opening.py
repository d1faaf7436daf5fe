"""What a view opens with: a head that stands out, and whether tokens that soak up attention are left out."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.roles import family_of, without_wholes
from headroles.records.view import Maps, View

MOSTLY = 0.5
"""Mean share of attention above which a page leaves special tokens or the first token out at first."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The head that a page opens with.

    Attributes:
        kind: Index of its maps in the view.
        layer: Index of its layer in the maps.
        head: Index of its head in the maps.
        role: Index of the role whose keys are coloured; None without a role.
    """

    kind: int = 0
    layer: int = 0
    head: int = 0
    role: int | None = None


def opening_of(view: View) -> Opening:
    """Return the head that a page opens with: the strongest role of the run, else the most focused head.

    Example:
        >>> from headroles.records.example import Example
        >>> example = Example("note", ("it", "rains", "again"))
        >>> weights = np.full((1, 2, 3, 3), 85, dtype=np.uint8)
        >>> weights[0, 1] = 255 * np.eye(3, dtype=np.uint8)[[2, 2, 1]]
        >>> opening_of(View("m", ("t",), (Maps("self", (0,), (4, 7), example, example, weights),))).head
        1
    """
    roles = view.roles
    if roles is not None:
        best = strongest_role(roles.names, roles.decision == 0, roles.mean)
        if best is not None:
            kind = next(place for place, maps in enumerate(view.maps) if maps.kind == roles.kind)
            role, layer, head = best
            return Opening(kind, layer, head, role)
    focus = focus_of(view.maps[0])
    place = np.unravel_index(int(focus.argmax()), focus.shape)
    return Opening(0, int(place[0]), int(place[1]))


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
    drawn = without_wholes(names, held)
    sinks = np.array([family_of(name) == "sinks" for name in names], dtype=bool)
    for rows in (~sinks, sinks):
        values = np.where(drawn & rows[:, None, None], mean, -np.inf)
        values = np.where(np.isnan(values), -np.inf, values)
        if values.size and np.isfinite(values.max()):
            role, layer, head = np.unravel_index(int(values.argmax()), values.shape)
            return int(role), int(layer), int(head)
    return None


def focus_of(maps: Maps) -> Float[np.ndarray, "layers heads"]:
    """Return how much attention a token gives to a single other one, by head.

    It is the largest weight of a query on one key, in the mean of the queries. Special tokens and the first
    token are left out on both sides, and the weights on the rest are not made larger for it.

    Args:
        maps: Attention of one kind.

    Returns:
        Values from 0 to 1; 0 where no token is left.
    """
    queries, keys = (_plain(example.special) for example in (maps.queries, maps.keys))
    rest = maps.weights[:, :, queries][:, :, :, keys]
    if not rest.size:
        return np.zeros(maps.weights.shape[:2])
    focus: np.ndarray = rest.max(axis=3).mean(axis=2) / 255
    return focus


def _plain(special: Bool[np.ndarray, " tokens"]) -> Int[np.ndarray, " plain"]:
    """Return the places of tokens that are neither special nor first."""
    places = np.flatnonzero(~special)
    return places[places > 0]


def sink_shares(maps: Maps) -> tuple[float, float]:
    """Return the mean shares of attention that special tokens get, and that a plain first token gets.

    Args:
        maps: Attention of one kind.

    Returns:
        Two shares from 0 to 1 of all attention shown, in the mean over heads and queries.
    """
    got = maps.weights.sum(axis=(0, 1, 2), dtype=np.float64)
    whole = float(got.sum()) or 1.0
    special = maps.keys.special
    return float(got[special].sum()) / whole, 0.0 if special[0] else float(got[0]) / whole
