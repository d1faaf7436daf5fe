"""Kinds of mask of many examples at once, as booleans on the device where attention lies.

What travels there are numbers per token (labels, keys, pairs), never a cell per pair, unless a sieve named
its cells one by one.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Bool

from headroles.plans.masks import Band, Cells, Every, Keys, Mask, Match, Pairs, Same, Without

Cube = Bool[torch.Tensor, "examples #tokens #tokens"]


def padded(arrays: Sequence[np.ndarray], width: int, fill: int, kind: type[np.generic]) -> np.ndarray:
    """Arrays (tokens,) of several examples as one (examples, width), filled up on the right.

    Example:
        >>> padded([np.array([3]), np.array([1, 2])], 2, -1, np.int64).tolist()
        [[3, -1], [1, 2]]
    """
    made = np.full((len(arrays), width), fill, dtype=kind)
    for row, each in enumerate(arrays):
        made[row, : len(each)] = each
    return made


def laid_out(masks: Sequence[Mask], sizes: Sequence[int], width: int, device: torch.device) -> Cube:
    """One mask per example, all of one sieve, as cells of a padded batch.

    Args:
        masks: What the sieve says of each example.
        sizes: Units of each example.
        width: Units of the widest.
        device: Where the cells are wanted.

    Returns:
        Cells (examples, width, width), or of width 1 where they are the same for all queries. Those beyond
        an example's own units are unspecified.
    """
    kinds = {type(mask) for mask in masks}
    known = _KINDS.get(kinds.pop()) if len(kinds) == 1 else None
    if known is None:
        return _cells(masks, sizes, width, device)
    return known(masks, sizes, width, device)


def _cells(masks: Sequence[Mask], sizes: Sequence[int], width: int, device: torch.device) -> Cube:
    """Masks of any kind, by their own rows."""
    made = np.zeros((len(masks), width, width), dtype=np.bool_)
    for row, (mask, size) in enumerate(zip(masks, sizes, strict=True)):
        made[row, :size, :size] = mask.cells if isinstance(mask, Cells) else mask.rows(0, size)
    return torch.from_numpy(made).to(device)


def _keys(masks: Sequence[Keys], sizes: Sequence[int], width: int, device: torch.device) -> Cube:
    made = padded([mask.keys for mask in masks], width, 0, np.bool_)
    return torch.from_numpy(made).to(device)[:, None]


def _band(masks: Sequence[Band], sizes: Sequence[int], width: int, device: torch.device) -> Cube:
    place = torch.arange(width, device=device)
    offset = (place[None, :] - place[:, None])[None]
    low = torch.tensor([mask.low for mask in masks], device=device)[:, None, None]
    high = torch.tensor([mask.high for mask in masks], device=device)[:, None, None]
    return (offset >= low) & (offset <= high)


def _same(masks: Sequence[Same], sizes: Sequence[int], width: int, device: torch.device) -> Cube:
    labels = torch.from_numpy(padded([mask.labels for mask in masks], width, -1, np.int64)).to(device)
    return (labels[:, :, None] == labels[:, None, :]) & (labels >= 0)[:, :, None]


def _match(masks: Sequence[Match], sizes: Sequence[int], width: int, device: torch.device) -> Cube:
    query = torch.from_numpy(padded([mask.query for mask in masks], width, -1, np.int64)).to(device)
    key = torch.from_numpy(padded([mask.key for mask in masks], width, -1, np.int64)).to(device)
    return (query[:, :, None] == key[:, None, :]) & (query >= 0)[:, :, None]


def _pairs(masks: Sequence[Pairs], sizes: Sequence[int], width: int, device: torch.device) -> Cube:
    query, key = (np.concatenate([getattr(mask, name) for mask in masks]) for name in ("query", "key"))
    row = np.repeat(np.arange(len(masks)), [len(mask.query) for mask in masks])
    cell = (row * width + query) * width + key
    made = torch.zeros(len(masks) * width**2, dtype=torch.bool, device=device)
    made[torch.from_numpy(cell).to(device)] = True
    return made.view(len(masks), width, width)


def _every(masks: Sequence[Every], sizes: Sequence[int], width: int, device: torch.device) -> Cube:
    if len({len(mask.masks) for mask in masks}) > 1:
        return _cells(masks, sizes, width, device)
    inner = zip(*(mask.masks for mask in masks), strict=True)
    inside, *others = (laid_out(each, sizes, width, device) for each in inner)
    for each in others:
        inside = inside & each
    return inside


def _without(masks: Sequence[Without], sizes: Sequence[int], width: int, device: torch.device) -> Cube:
    inside = laid_out([mask.mask for mask in masks], sizes, width, device)
    return inside & ~laid_out([mask.taken for mask in masks], sizes, width, device)


_KINDS: dict[type, Callable[..., Cube]] = {
    Keys: _keys,
    Band: _band,
    Same: _same,
    Match: _match,
    Pairs: _pairs,
    Every: _every,
    Without: _without,
}
