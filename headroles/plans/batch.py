"""What sieves say of an example before any keys are hidden: the raw material of plans made for whole batches.

A ``Plan`` holds finished weights of one example. Here are only the kinds of mask that its sieves named, which
an engine lays over many examples at once, on the device where attention lies.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from headroles.plans.masks import Mask

Labels = Int[np.ndarray, " tokens"] | None


@dataclass(frozen=True, slots=True)
class Asking:
    """What a selection of sieves asks of every example.

    Attributes:
        columns: Number of columns of mask sieves and contrasts.
        ratio: Whether mask sieves give the bias, a ratio, instead of the selectivity.
        linear: Column of each mask sieve.
        specials: Whether each mask sieve may count special tokens as keys.
        arcs: Whether the cells of each mask sieve are its groups rather than its queries.
        contrasts: Column of each contrast.
        words: Whether the units of each contrast are words rather than tokens.
        space: Number of the profile that each contrast is part of; contrasts of one space are
            compared within the same pairs.
    """

    columns: int
    ratio: bool
    linear: tuple[int, ...]
    specials: tuple[bool, ...]
    arcs: tuple[bool, ...]
    contrasts: tuple[int, ...]
    words: tuple[bool, ...]
    space: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """What a selection of sieves says of one example.

    Attributes:
        counted: Per mask sieve the cells counted, before visible keys, scope and special tokens are seen to.
        scope: Per mask sieve the cells compared within; None for every visible key.
        labels: Per mask sieve the group of each token; None: every query by itself.
        cells: Per contrast the cells counted, over its units (words, or tokens).
        compared: Per space of contrasts the cells compared within.
        families: Per contrast the label of each unit; None: one group of all.
    """

    counted: tuple[Mask, ...]
    scope: tuple[Mask | None, ...]
    labels: tuple[Labels, ...]
    cells: tuple[Mask, ...]
    compared: tuple[Mask, ...]
    families: tuple[Labels, ...]
