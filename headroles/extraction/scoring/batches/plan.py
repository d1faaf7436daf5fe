"""Mask sieves laid over a whole batch at once, as ``headroles.sieves.weights.plan`` does over one example.

Masks are laid out as booleans on the device of the attention. Only numbers per token (labels, keys, pairs)
are copied there, never a cell for each pair of tokens, unless a sieve gave its cells one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from headroles.extraction.capture.readers import VisibleArray
from headroles.plans.batch import SieveLayout, SieveMasks
from headroles.plans.masks import Band, Cells, Every, Keys, Mask, Match, Pairs, Same, Without
from headroles.records.example import Example

Cube = Bool[torch.Tensor, "examples #tokens #tokens"]


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Where the masks of a batch are laid.

    Attributes:
        width: Units of the widest example.
        device: The device of the cells.
        known: Masks that were laid, and their cells, which nobody changes.
    """

    width: int
    device: torch.device
    known: dict[tuple[int, ...], tuple[Sequence[Mask], Cube]] = field(default_factory=dict)


def pad_arrays(arrays: Sequence[np.ndarray], width: int, fill: int, kind: type[np.generic]) -> np.ndarray:
    """Join arrays (tokens,) of several examples to one (examples, width), padded on the right.

    Example:
        >>> pad_arrays([np.array([3]), np.array([1, 2])], 2, -1, np.int64).tolist()
        [[3, -1], [1, 2]]
    """
    joined = np.full((len(arrays), width), fill, dtype=kind)
    for row, array in enumerate(arrays):
        joined[row, : len(array)] = array
    return joined


def lay_masks(masks: Sequence[Mask], sizes: Sequence[int], space: Space) -> Cube:
    """Lay out the masks of one sieve, one per example, as cells of a padded batch.

    Args:
        masks: One per example. What several sieves share is laid once.
        sizes: Units of each example.
        space: Where they are laid.

    Returns:
        Cells (examples, width, width), or of width 1 where they are the same for all queries. Those beyond
        an example's own units are unspecified.
    """
    shared = tuple(map(id, masks))
    if shared not in space.known:
        kinds = {type(mask) for mask in masks}
        lay = _KINDS.get(kinds.pop(), _cells) if len(kinds) == 1 else _cells
        space.known[shared] = masks, lay(masks, sizes, space)
    return space.known[shared][1]


def _cells(masks: Sequence[Mask], sizes: Sequence[int], space: Space) -> Cube:
    """Lay out masks of any kind by their own rows."""
    cells = np.zeros((len(masks), space.width, space.width), dtype=np.bool_)
    for row, (mask, size) in enumerate(zip(masks, sizes, strict=True)):
        cells[row, :size, :size] = mask.cells if isinstance(mask, Cells) else mask.rows(0, size)
    return torch.from_numpy(cells).to(space.device)


def _keys(masks: Sequence[Keys], sizes: Sequence[int], space: Space) -> Cube:
    keys = pad_arrays([mask.keys for mask in masks], space.width, 0, np.bool_)
    return torch.from_numpy(keys).to(space.device)[:, None]


def _band(masks: Sequence[Band], sizes: Sequence[int], space: Space) -> Cube:
    place = torch.arange(space.width, device=space.device)
    offset = (place[None, :] - place[:, None])[None]
    bounds = np.array([(mask.low, mask.high) for mask in masks])
    sides = [np.where(np.abs(own) >= sizes, np.sign(own) * space.width, own) for own in bounds.T]
    sides = [own[:1] if (own == own[0]).all() else own for own in sides]  # one comparison for all examples
    low, high = (torch.from_numpy(own).to(space.device)[:, None, None] for own in sides)
    return ((offset >= low) & (offset <= high)).expand(len(masks), -1, -1)


def _same(masks: Sequence[Same], sizes: Sequence[int], space: Space) -> Cube:
    return _match([Match(mask.labels, mask.labels) for mask in masks], sizes, space)


def _match(masks: Sequence[Match], sizes: Sequence[int], space: Space) -> Cube:
    query, key = (
        torch.from_numpy(pad_arrays([getattr(mask, name) for mask in masks], space.width, -1, np.int64))
        for name in ("query", "key")
    )
    query, key = query.to(space.device), key.to(space.device)
    asking = query.masked_fill(query < 0, torch.iinfo(query.dtype).min)  # equals no key's label
    return asking[:, :, None] == key[:, None, :]


def _pairs(masks: Sequence[Pairs], sizes: Sequence[int], space: Space) -> Cube:
    query, key = (np.concatenate([getattr(mask, name) for mask in masks]) for name in ("query", "key"))
    row = np.repeat(np.arange(len(masks)), [len(mask.query) for mask in masks])
    cell = (row * space.width + query) * space.width + key
    cells = torch.zeros(len(masks) * space.width**2, dtype=torch.bool, device=space.device)
    cells[torch.from_numpy(cell).to(space.device)] = True
    return cells.view(len(masks), space.width, space.width)


def _every(masks: Sequence[Every], sizes: Sequence[int], space: Space) -> Cube:
    if len({len(mask.masks) for mask in masks}) > 1:
        return _cells(masks, sizes, space)
    members = zip(*(mask.masks for mask in masks), strict=True)
    inside, *others = (lay_masks(member, sizes, space) for member in members)
    for other in others:
        inside = inside & other
    return inside


def _without(masks: Sequence[Without], sizes: Sequence[int], space: Space) -> Cube:
    inside = lay_masks([mask.mask for mask in masks], sizes, space)
    return inside & ~lay_masks([mask.taken for mask in masks], sizes, space)


_KINDS: dict[type, Callable[..., Cube]] = {
    Keys: _keys,
    Band: _band,
    Same: _same,
    Match: _match,
    Pairs: _pairs,
    Every: _every,
    Without: _without,
}


@dataclass(frozen=True, slots=True, eq=False)
class Padding:
    """The tokens of a padded batch.

    Attributes:
        examples: Its inputs.
        sizes: Tokens of each.
        width: Tokens of the widest.
        real: Tokens that are no padding (examples, tokens).
        special: Special tokens and padding (examples, tokens).
        words: Number of words to pad to, where that is more than there are.
        visible: The keys each query can see, padding never (examples, 1 or tokens, tokens).
        everything: Whether every query of every example sees all keys of its own.
        device: The device of all tensors.
        space: Where masks over tokens are laid.
    """

    examples: Sequence[Example]
    sizes: Sequence[int]
    width: int
    real: Bool[torch.Tensor, "examples tokens"]
    special: Bool[torch.Tensor, "examples tokens"]
    words: int
    visible: Cube
    everything: bool
    device: torch.device
    space: Space

    @property
    def exact(self) -> torch.dtype:
        """Return the best precision of the device, for numbers per token."""
        return torch.float32 if self.device.type == "mps" else torch.float64


def pad_batch(
    examples: Sequence[Example], visible: Sequence[VisibleArray], device: torch.device, width: int, words: int
) -> Padding:
    """Pad the tokens of a batch on the right to a width, and words to a number of their own."""
    sizes = [example.size for example in examples]
    special = torch.from_numpy(pad_arrays([example.special for example in examples], width, 1, np.bool_)).to(
        device
    )
    real = torch.arange(width, device=device)[None] < torch.tensor(sizes, device=device)[:, None]
    everything = all(seen is None for seen in visible)
    if everything:
        seen = real[:, None]
    else:
        cells = np.zeros((len(sizes), width, width), dtype=np.bool_)
        for row, (own, size) in enumerate(zip(visible, sizes, strict=True)):
            cells[row, :size, :size] = True if own is None else own
        seen = torch.from_numpy(cells).to(device)
    space = Space(width, device)
    return Padding(examples, sizes, width, real, special, words, seen, everything, device, space)


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The mask sieves of a batch, ready to be multiplied with attention.

    Attributes:
        weight: Score = Σ weight · attention (examples, masks and further rows, tokens × tokens).
        divisor: For the bias: the score is divided by Σ divisor · attention; None for selectivity.
        has_value: Whether the sieve has eligible queries in the example; without them its score is NaN.
        cells: Eligible queries, or groups where those are counted (examples, masks).
        low: Smallest value the score can take; unspecified where there is no score.
        high: Largest value.
    """

    weight: Float[torch.Tensor, "examples rows pairs"]
    divisor: Float[torch.Tensor, "examples masks pairs"] | None
    has_value: Bool[torch.Tensor, "examples masks"]
    cells: Int[torch.Tensor, "examples masks"]
    low: Float[torch.Tensor, "examples masks"]
    high: Float[torch.Tensor, "examples masks"]


def lay_sieves(layout: SieveLayout, masks: Sequence[SieveMasks], batch: Padding, beside: int = 0) -> Weights:
    """Compute chance, eligible queries and weights of all mask sieves over all examples.

    The formulas are those of ``headroles.sieves.weights.plan.plan``.

    Args:
        layout: The columns and settings of the selection.
        masks: The masks of each example.
        batch: The tokens.
        beside: Number of further rows of the product, which the caller fills in.
    """
    whole, scopes = _squares(layout, masks, batch, beside)
    counted = whole[:, : len(layout.linear)]
    size = counted.sum(-1)
    room = torch.empty_like(size)
    for number, scope in enumerate(scopes):
        room[:, number] = scope.sum(-1)
    eligible = (size > 0) & (size < room) & ~batch.special[:, None]
    labels = _labels(masks, batch)
    query, groups = _query_weights(labels.clamp(min=0), eligible & (labels >= 0), batch.exact)
    chance = size.to(batch.exact) / room.clamp(min=1)
    queries = (query > 0).sum(-1)
    arcs = torch.tensor(layout.arcs, dtype=torch.bool, device=batch.device)
    expected = (query * chance).sum(-1)
    scaled = query if layout.ratio else query / (1 - expected)[..., None]
    counted *= scaled.float()[..., None]
    level = (scaled * chance).float()[..., None]
    divisor = None
    if layout.ratio:
        divisor = torch.empty_like(counted)
        for number, scope in enumerate(scopes):
            torch.mul(scope, level[:, number], out=divisor[:, number])
        low, high = torch.zeros_like(expected), torch.where(query > 0, 1 / chance, 0.0).amax(-1)
    else:
        for number, scope in enumerate(scopes):
            counted[:, number].addcmul_(scope, level[:, number], value=-1)
        low, high = -expected / (1 - expected), torch.ones_like(expected)
    return Weights(
        weight=whole.flatten(2),
        divisor=None if divisor is None else divisor.flatten(2),
        has_value=groups > 0,
        cells=torch.where(arcs, groups, queries),
        low=low,
        high=high,
    )


def lay_swaps(exchanged: SieveLayout, masks: Sequence[SieveMasks], batch: Padding) -> Weights:
    """Compute the weights of swaps: selectivity under the input's own layout, less that under its partner's.

    Args:
        exchanged: Layout of the two sieves of each swap, one swap after the other.
        masks: The masks of each example.
        batch: The tokens.
    """
    swaps = len(exchanged.linear) // 2
    if all(example.partner is None for example in batch.examples):
        nothing = torch.zeros((len(batch.sizes), swaps), dtype=batch.exact, device=batch.device)
        weight = nothing.float()[..., None].expand(-1, -1, batch.width**2)
        return Weights(weight, None, nothing > 0, nothing.long(), nothing, nothing)
    laid = lay_sieves(exchanged, [own.exchanged for own in masks if own.exchanged is not None], batch)
    own, other = slice(0, None, 2), slice(1, None, 2)
    return Weights(
        weight=laid.weight[:, own] - laid.weight[:, other],
        divisor=None,
        has_value=laid.has_value[:, own] & laid.has_value[:, other],
        cells=laid.cells[:, own],
        low=laid.low[:, own] - laid.high[:, other],
        high=laid.high[:, own] - laid.low[:, other],
    )


def _squares(
    layout: SieveLayout, masks: Sequence[SieveMasks], batch: Padding, beside: int
) -> tuple[Float[torch.Tensor, "e all t t"], list[Float[torch.Tensor, "e #t t"]]]:
    """Return S (with room for further rows) and, for each mask, R of every query, as 1 and 0.

    Masks with one scope share one tensor; R has a single row where all queries have the same keys.
    """
    shape = (len(masks), len(layout.linear) + beside, batch.width, batch.width)
    counted = torch.empty(shape, device=batch.device)
    visible = batch.visible, batch.visible.float()
    known: dict[int, tuple[Cube, torch.Tensor]] = {}
    words, scopes = ~batch.special[:, None], []
    for number, specials in enumerate(layout.specials):
        scope, level = visible
        own = [mask for example in masks if (mask := example.scope[number]) is not None]
        if own:
            key = id(own[0])  # sieves that share the function of a scope got the same object
            if key not in known:
                inside = lay_masks(own, batch.sizes, batch.space) & batch.visible
                known[key] = inside, inside.float()
            scope, level = known[key]
        cells = lay_masks([example.counted[number] for example in masks], batch.sizes, batch.space)
        counted[:, number] = cells & (scope if specials else scope & words)
        scopes.append(level)
    return counted, scopes


def _labels(masks: Sequence[SieveMasks], batch: Padding) -> Int[torch.Tensor, "examples masks tokens"]:
    """Return the group of each query, −1 for none; each query is its own where a sieve has no groups."""
    shape = (len(masks), len(masks[0].labels), batch.width)
    labels = np.broadcast_to(np.arange(batch.width), shape).copy()
    for row, (example, size) in enumerate(zip(masks, batch.sizes, strict=True)):
        for number, own in enumerate(example.labels):
            if own is not None:
                labels[row, number, :size] = own
    return torch.from_numpy(labels).to(batch.device)


def _query_weights(
    labels: Int[torch.Tensor, "e m t"], eligible: Bool[torch.Tensor, "e m t"], exact: torch.dtype
) -> tuple[Float[torch.Tensor, "e m t"], Int[torch.Tensor, "e m"]]:
    """Return the weights of the eligible queries, which sum to 1, and the number of groups."""
    examples, masks, _ = labels.shape
    most = int(labels.max()) + 1 if labels.numel() else 1
    size = torch.zeros((examples, masks, most), dtype=exact, device=labels.device)
    size.scatter_add_(2, labels, eligible.to(exact))
    groups = (size > 0).sum(-1)
    share = 1 / (groups.clamp(min=1)[..., None] * size.clamp(min=1))
    return torch.where(eligible, share.gather(2, labels), 0.0), groups
