"""Which heads a run takes out, alone and together, and which columns it fills."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from headroles.options.causal.ablate import AblateOptions
from headroles.records.causal.ablation import HeldRoles
from headroles.records.causal.columns import CELLS, MATCHED, MEAN, RESAMPLE, WHOLE, ZERO, Column
from headroles.runs.ablate.sets import SetList
from headroles.stats.causal.controls import nearest_heads

Head = tuple[int, int]
"""Layer and head."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Heads that are taken out on every input, and columns.

    Attributes:
        columns: The columns in their order.
        heads: Heads that are taken out alone.
        removed: Heads that hold each role whose cells are removed.
        sites: Roles that have sites.
        sets: Sets of heads that are taken out together.
    """

    columns: tuple[Column, ...]
    heads: tuple[Head, ...]
    removed: Mapping[str, Sequence[Head]]
    sites: tuple[str, ...]
    sets: SetList

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(column.name for column in self.columns)


def main_intervention(by: Sequence[str]) -> str:
    """Return the whole intervention that sites and sets are measured with: mean, or else the first.

    Example:
        >>> main_intervention(["zero", "cells", "mean"]), main_intervention(["cells", "even"])
        ('mean', 'even')
    """
    whole = [name for name in by if name in WHOLE]
    return MEAN if MEAN in whole else whole[0]


def screened_with(by: Sequence[str]) -> str:
    """Return the intervention whose damage to first order orders heads: zero where it is the main one."""
    return ZERO if main_intervention(by) == ZERO else MEAN


def needs_references(options: AblateOptions) -> bool:
    """Return whether an arm or a screen puts in outputs of reference inputs."""
    screened = options.screen is not None and screened_with(options.by) == MEAN
    return screened or bool({*options.by} & {MEAN, RESAMPLE})


def cell_interventions(by: Sequence[str]) -> tuple[str, ...]:
    """Return the interventions on cells of roles, in the order of the columns."""
    return tuple(name for name in by if name in (CELLS, MATCHED))


def holders(held: HeldRoles | None, roles: Sequence[str]) -> dict[str, Bool[np.ndarray, "layers heads"]]:
    """Return which heads hold each of some roles; roles that no head holds are left out."""
    if held is None:
        return {}
    return {role: own for role in roles if (own := held.heads(role)).any()}


def screened_heads(
    first_order: Float[np.ndarray, "layers heads"],
    norms: Float[np.ndarray, "layers heads"],
    held: Mapping[str, Bool[np.ndarray, "layers heads"]],
    count: int,
) -> Bool[np.ndarray, "layers heads"]:
    """Return which heads are taken out: those of largest damage to first order, and those that roles need.

    A role needs the heads that hold it, and of each layer the heads without it that are nearest in norm.

    Args:
        first_order: Mean damage to first order; the size counts, in either direction.
        norms: Mean norm of each head's output.
        held: The heads that hold each role.
        count: Heads of largest damage.

    Example:
        >>> damage, norms = np.array([[3.0, 0.0, -4.0, 1.0]]), np.array([[1.0, 2.0, 3.0, 4.0]])
        >>> screened_heads(damage, norms, {}, 2).astype(int).tolist()
        [[1, 0, 1, 0]]
    """
    chosen = np.zeros(first_order.shape, dtype=np.bool_)
    largest = np.argsort(-np.abs(np.nan_to_num(first_order.ravel())), kind="stable")[:count]
    chosen[np.unravel_index(largest, first_order.shape)] = True
    for own in held.values():
        chosen |= own
        for layer, head in np.argwhere(own):
            chosen[layer, nearest_heads(norms[layer], int(head), np.flatnonzero(~own[layer]))] = True
    return chosen
