"""The kinds of mask that a sieve may return, and the check of a returned mask."""

import numpy as np

from headroles.errors import BadSieve
from headroles.plans.masks import Band, Cells, Every, Keys, Mask, Match, Pairs, Same, Without

__all__ = [
    "Band",
    "Cells",
    "Every",
    "Keys",
    "Mask",
    "Match",
    "Pairs",
    "Same",
    "Without",
    "as_mask",
]

KINDS = (Band, Cells, Every, Keys, Match, Pairs, Same, Without)
"""The kinds of headroles; any other object with ``rows`` is a mask, too."""


def as_mask(returned: object, size: int, sieve: str, key: str, unit: str = "tokens") -> Mask:
    """Return the result of a mask function as one of the kinds of mask.

    Args:
        returned: A kind of mask, or anything else with their ``rows``, or a bool array of shape
            (tokens, tokens) or (tokens,).
        size: Tokens of the example, or words for a contrast over words.
        sieve: Name of the sieve, for the error.
        key: Key of the example, for the error.
        unit: "tokens" or "words", for the error.

    Raises:
        BadSieve: When it is neither, or has another shape.
    """
    if isinstance(returned, KINDS) and _has_size(returned, size):
        return returned
    if not isinstance(returned, np.ndarray) and isinstance(
        returned, (*KINDS, Mask)
    ):  # the check of a protocol is slow
        row = returned.rows(0, 1)
        if row.shape == (1, size) and row.dtype == np.bool_:
            return returned
        shape: tuple[int, ...] = (size, int(row.shape[-1]))
        kind = row.dtype
    else:
        array = np.asarray(returned)
        shape, kind = array.shape, array.dtype
        if kind == np.bool_ and shape == (size, size):
            return Cells(array)
        if kind == np.bool_ and shape == (size,):
            return Keys(array)
    raise BadSieve(
        f"sieve {sieve!r} made a mask of shape {shape} and type {kind} for example {key!r}, which has "
        f"{size} {unit}; a mask is bool of shape ({unit}, {unit}) = ({size}, {size}) or ({unit},) = ({size},)"
    )


def _has_size(mask: Mask, size: int) -> bool:
    """Return whether a mask has so many units without laying out a row; False where that is not known."""
    if isinstance(mask, Pairs | Band):
        return mask.size == size
    if isinstance(mask, Same):
        return mask.labels.shape == (size,)
    if isinstance(mask, Keys):
        return mask.keys.shape == (size,) and mask.keys.dtype == np.bool_
    return isinstance(mask, Without) and _has_size(mask.mask, size) and _has_size(mask.taken, size)
