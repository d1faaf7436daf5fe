"""Units that contrasts compare, words or tokens, over a padded batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch.nn.functional import one_hot, pad

from headroles.extraction.scoring.batches.plan import Cube, Padding, Space, lay_masks, pad_arrays
from headroles.plans.masks import Mask


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Units of a padded batch: words that have a token, or tokens.

    Attributes:
        named: Number of units of each example as masks number them, words without a token included.
        names: Numbers of those with a token, in order (examples, units); None where all have one.
        sizes: Number of units of each example that have a token.
        unit: Unit of each token, ``width`` where it is in no unit (examples, tokens).
        pieces: Tokens per unit (examples, units), 1 beyond an example's own units.
        words: Whether units are words rather than tokens.
        space: Where masks over units are laid, words without a token included.
    """

    named: list[int]
    names: Int[np.ndarray, "examples units"] | None
    sizes: Int[np.ndarray, " examples"]
    unit: Int[torch.Tensor, "examples tokens"]
    pieces: Float[torch.Tensor, "examples units"]
    words: bool
    space: Space

    @property
    def width(self) -> int:
        """Return the number of units of the widest example."""
        return int(self.pieces.shape[1])


def unit_cells(masks: Sequence[Mask], units: Units) -> Cube:
    """Lay out one mask per example over the units that have a token."""
    cells, device = lay_masks(masks, units.named, units.space), units.space.device
    if units.names is not None:
        names = torch.from_numpy(units.names).to(device)
        example = torch.arange(len(names), device=device)[:, None, None]
        cells = cells.expand(-1, units.space.width, -1)[example, names[:, :, None], names[:, None, :]]
    place = torch.arange(units.width, device=device)
    real = place[None] < torch.from_numpy(units.sizes).to(device)[:, None]
    return cells & real[:, :, None] & real[:, None, :]


def unit_labels(
    labels: Sequence[Sequence[np.ndarray | None]], units: Units, batch: Padding
) -> Int[torch.Tensor, "examples contrasts units"]:
    """Return the label of each unit, −1 for none, 0 where a contrast has a single group."""
    joined = np.zeros((len(units.named), len(labels), units.width), dtype=np.int64)
    for number, by_example in enumerate(labels):
        for row, own in enumerate(by_example):
            if own is not None:
                size = units.sizes[row]
                names = slice(size) if units.names is None else units.names[row, :size]
                joined[row, number, :size] = own[names]
    return torch.from_numpy(joined).to(batch.device)


def token_units(batch: Padding) -> Units:
    """Make every token a unit."""
    place = torch.arange(batch.width, device=batch.device).expand(len(batch.sizes), -1)
    sizes = np.array(batch.sizes)
    return Units(
        named=list(batch.sizes),
        names=None,
        sizes=np.where(sizes > 1, sizes, 0),
        unit=place,
        pieces=torch.ones((len(sizes), batch.width), device=batch.device),
        words=False,
        space=batch.space,
    )


def word_units(batch: Padding) -> Units:
    """Make every word with a token a unit, in the order of the words."""
    word = pad_arrays([example.word for example in batch.examples], batch.width, -1, np.int64)
    named = word.max(axis=1) + 1
    row, token = np.nonzero(word >= 0)
    pieces = np.zeros((len(word), max(1, batch.words, int(named.max()))), dtype=np.int64)
    np.add.at(pieces, (row, word[row, token]), 1)
    sizes = (pieces > 0).sum(axis=1)
    unit, names = word, None
    if (sizes < named).any():
        width = max(1, batch.words, int(sizes.max()))
        names = np.argsort(pieces == 0, axis=1, kind="stable")[:, :width]
        rank = np.cumsum(pieces > 0, axis=1) - 1
        unit = np.where(word >= 0, np.take_along_axis(rank, np.maximum(word, 0), axis=1), -1)
        pieces = np.take_along_axis(pieces, names, axis=1)
    width = pieces.shape[1]
    return Units(
        named=named.tolist(),
        names=names,
        sizes=np.where(sizes > 1, sizes, 0),
        unit=torch.from_numpy(np.where(unit < 0, width, unit)).to(batch.device),
        pieces=torch.from_numpy(np.maximum(pieces, 1)).to(batch.device, torch.float32),
        words=True,
        space=Space(width if names is None else max(*named, int(names.max()) + 1), batch.device),
    )


def even_units(batch: Padding, units: Units) -> Float[torch.Tensor, "examples units units"]:
    """Return the weight that attention even over the visible keys puts on each pair of units."""
    shape = (len(batch.sizes), units.width, units.width)
    if batch.everything:
        tokens = torch.tensor(batch.sizes, dtype=torch.float32, device=batch.device)
        return (units.pieces / tokens[:, None])[:, None].expand(shape)
    visible = batch.visible.float()
    even = visible / visible.sum(-1, keepdim=True).clamp(min=1)
    if not units.words:
        return even
    member = one_hot(units.unit, units.width + 1)[..., :-1].to(even.dtype)
    pooled: torch.Tensor = member.mT @ even @ member
    return pooled / units.pieces[..., None]


def token_weights(weight: Float[torch.Tensor, "e c u u"], units: Units) -> Float[torch.Tensor, "e c pairs"]:
    """Turn weights of pairs of units into weights of pairs of tokens.

    Attention is averaged over attending pieces and summed over attended ones.
    """
    if not units.words:
        return weight.flatten(2)
    examples, count, _, _ = weight.shape
    rows = weight / units.pieces[:, None, :, None]
    edged = pad(rows, (0, 1, 0, 1))  # tokens of no unit weigh nothing
    width, tokens = edged.shape[-1], units.unit.shape[1]
    cell = units.unit[:, :, None] * width + units.unit[:, None, :]
    cell = cell.view(examples, 1, tokens**2).expand(-1, count, -1)
    return edged.flatten(2).gather(2, cell)
