"""Exact sets of roles: how many heads hold just these, beside a dealing within layers."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import hypergeom

from headroles.records.assessment import RoleSet
from headroles.stats.relabel import Grid
from headroles.stats.together import middle_of

NEGLIGIBLE = 1e-15
"""Chances of more heads of a layer that are left out."""


def role_sets(names: Sequence[str], held: Bool[np.ndarray, "roles heads"], grid: Grid) -> tuple[RoleSet, ...]:
    """Every set of roles that some head holds exactly, most frequent first, then in the order of roles.

    The reference deals the labels of every role anew within each layer, one role apart from another.
    A description: heads are no sample, and roles that ask for a part of one another (such as
    ``delimiter`` and ``delimiter:cls``) meet more often than any dealing has it.

    Args:
        names: The roles.
        held: Which head holds which, layer after layer.
        grid: Layers and heads.

    Returns:
        Observed and expected numbers of heads; heads without any role are in no set.

    Example:
        >>> held = np.array([[True, True, False, False], [True, False, False, False]])
        >>> [(each.roles, each.heads, each.expected) for each in role_sets(("a", "b"), held, Grid(1, 4))]
        [('a', 1, 1.5), ('a;b', 1, 0.5)]
    """
    columns = held.T[held.any(axis=0)]
    if not len(columns):
        return ()
    kinds, counts = np.unique(columns, axis=0, return_counts=True)
    places = [tuple(np.flatnonzero(kind).tolist()) for kind in kinds]
    chances = _dealt(kinds, held.reshape(len(names), grid.layers, grid.heads).sum(axis=2), grid.heads)
    order = sorted(range(len(kinds)), key=lambda number: (-int(counts[number]), places[number]))
    return tuple(
        RoleSet(
            ";".join(names[place] for place in places[number]), int(counts[number]),
            *middle_of(chances[number]),
        )
        for number in order
    )  # fmt: skip


def _dealt(
    kinds: Bool[np.ndarray, "sets roles"], counted: Int[np.ndarray, "roles layers"], heads: int
) -> list[Float[np.ndarray, " heads_and_none"]]:
    """Per set, the chance of every number of heads.

    Exact: of m heads of a layer that are so far as the set asks, those to whom the next role is dealt
    are hypergeometric; layers are then convolved.
    """
    state = np.zeros((counted.shape[1], len(kinds), heads + 1))
    state[:, :, heads] = 1.0
    tables = {count: _given(int(count), heads) for count in np.unique(counted).tolist()}
    for role, layers in enumerate(counted):
        given = np.stack([tables[count] for count in layers.tolist()])
        asked = kinds[:, role]
        without = np.zeros_like(given)
        for left in range(heads + 1):
            without[:, left, : left + 1] = given[:, left, left::-1]
        state[:, asked] = state[:, asked] @ given
        state[:, ~asked] = state[:, ~asked] @ without
    found = []
    for number in range(len(kinds)):
        chances = np.ones(1)
        for layer in state[:, number]:
            chances = np.convolve(chances, layer[: np.flatnonzero(layer > NEGLIGIBLE)[-1] + 1])
        found.append(chances / chances.sum())
    return found


def _given(count: int, heads: int) -> Float[np.ndarray, "before after"]:
    """Chance that ``count`` labels, dealt to ``heads`` heads, fall on so many of the first ones."""
    before, after = np.ogrid[: heads + 1, : heads + 1]
    chances: np.ndarray = np.asarray(hypergeom.pmf(after, heads, count, before))
    return chances
