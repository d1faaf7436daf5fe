"""Smallest and largest scores that can occur, stated by sieves before any data.

The test ``betting`` needs them. An input states bounds of its own, by its length and layout. Those of all
inputs that can occur may be so wide that no bet is worth much: an input of four tokens can have a selectivity
of −3. So a sieve states how low its scores may go (``MaskSieve.lowest``). An input that could score lower is
left out of the column, whatever it scores: its layout decides.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from headroles.sieves.base import Contrast, MaskSieve, Scorer, Swap
from headroles.sieves.weights.plan import class_column, contrast_column, values_column

UNSTATED = (float("nan"), float("nan"))


def bounds_before_data(
    masks: Sequence[MaskSieve],
    beside: Mapping[str, Contrast],
    swaps: Mapping[str, Swap],
    scorers: Sequence[Scorer],
    statistic: str = "selectivity",
) -> dict[str, tuple[float, float]]:
    """Return the smallest and the largest difference of a score from its chance value, by column.

    Of selectivity these are ``MaskSieve.lowest`` and 1. Of a contrast, they are the number of its groups in
    either direction. Of a scorer, they follow from its ``low`` and ``high``, between which its chance value
    lies too. The bias of published work has none.

    Args:
        masks: Mask sieves.
        beside: Contrasts of scorers, by their columns.
        swaps: Contrasts beyond position, by their columns.
        scorers: Sieves that see attention.
        statistic: "selectivity" or "bias".

    Returns:
        NaN twice where a column has no stated bounds.

    Example:
        >>> from headroles.sieves.built_in.block import block
        >>> bounds_before_data([block], {}, {}, [])
        {'block': (-1.0, 1.0), 'block:matched': (-2.0, 2.0)}
    """
    bounds: dict[str, tuple[float, float]] = {}
    for mask in masks:
        bounds[mask.name] = (mask.lowest, 1.0) if statistic == "selectivity" else UNSTATED
        if mask.contrast is not None:
            bounds[contrast_column(mask)] = _reach(mask.contrast)
        if mask.word_class is not None:
            most = 1 + mask.word_class.share
            bounds[class_column(mask)] = (-most, most)
        if mask.values_below is not None:
            bounds[values_column(mask)] = (-1.0, -mask.lowest)
    bounds |= {column: _reach(contrast) for column, contrast in beside.items()}
    for column, swap in swaps.items():
        bounds[column] = (swap.own.lowest - 1, 1 - swap.partner.lowest)
    for scorer in scorers:
        width = float(getattr(scorer, "high", np.nan)) - float(getattr(scorer, "low", np.nan))
        bounds[scorer.name] = (-width, width)
    return bounds


def _reach(contrast: Contrast) -> tuple[float, float]:
    """Return the bounds of a contrast: groups are summed, and each lies between −1 and 1.

    What keys get from other queries lies between the same bounds, and is subtracted.
    """
    most = float(contrast.most if contrast.others is None else 2 * contrast.most)
    return (-most, most)
