"""Masks of the sieves for one example before visible keys are applied: the input of plans for whole batches.

A ``Plan`` has the final weights of one example. These records have only the masks that its sieves return,
which the batch engine applies to many examples at once, on the device of the attention.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from headroles.plans.masks import Mask

Labels = Int[np.ndarray, " tokens"] | None


@dataclass(frozen=True, slots=True)
class SieveLayout:
    """Layout of a selection of sieves, the same for every example.

    Attributes:
        columns: Number of columns of mask sieves and contrasts.
        ratio: Whether scores of mask sieves are the bias, a ratio, instead of the selectivity.
        linear: Column of each mask sieve.
        specials: Whether each mask sieve may count special tokens as keys.
        arcs: Whether the cells of each mask sieve are its groups rather than its queries.
        contrasts: Column of each contrast.
        words: Whether the units of each contrast are words rather than tokens.
        space: Index of the profile of each contrast; contrasts of one space are compared within the
            same pairs.
        swaps: Column of each swap.
        exchanged: Layout of the two sieves of each swap, one swap after the other; None without swaps.
    """

    columns: int
    ratio: bool
    linear: tuple[int, ...]
    specials: tuple[bool, ...]
    arcs: tuple[bool, ...]
    contrasts: tuple[int, ...]
    words: tuple[bool, ...]
    space: tuple[int, ...]
    swaps: tuple[int, ...] = ()
    exchanged: "SieveLayout | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class SieveMasks:
    """Masks of a selection of sieves on one example.

    Attributes:
        counted: Counted cells per mask sieve, before visible keys, scope and special tokens are applied.
        scope: Cells to compare within, per mask sieve; None for every visible key.
        labels: Group of each token, per mask sieve; None: every query is its own group.
        cells: Counted cells per contrast, over its units (words, or tokens).
        compared: Cells to compare within, per space of contrasts.
        families: Label of each unit, per contrast; None: all units are one group.
        others: Cells over which keys are compared with themselves, per contrast; None where they are not.
        exchanged: Masks of the two sieves of each swap; None without swaps.
    """

    counted: tuple[Mask, ...]
    scope: tuple[Mask | None, ...]
    labels: tuple[Labels, ...]
    cells: tuple[Mask, ...]
    compared: tuple[Mask, ...]
    families: tuple[Labels, ...]
    others: tuple[Mask | None, ...]
    exchanged: "SieveMasks | None" = None
