"""Distance profiles of words taken from attention between tokens, or between words where that is faster."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch.nn.functional import one_hot, pad

from headroles.extraction.batched_plan import Padding
from headroles.extraction.batched_units import Units
from headroles.extraction.choosing import Compared
from headroles.extraction.scratch import Scratch
from headroles.extraction.word_space import WordSpace, word_space


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """What the tokens of words add to their profile, for processors: there one sum by index over tokens takes
    half as long as attention between words does. Elsewhere such sums come in any order, with other bits each
    time.

    Attributes:
        share: One over the tokens of the attending word, on pairs of tokens of compared words; 0 elsewhere.
        offset: Signed offset d of the words of each pair, as d + words − 1.
        member: 1 where a token is a piece of a word.
    """

    share: Float[torch.Tensor, "examples 1 tokens tokens"]
    offset: Int[torch.Tensor, "examples 1 pairs"]
    member: Float[torch.Tensor, "examples tokens units"]


def by_index(device: torch.device) -> bool:
    """Whether profiles of words are summed by index from attention between tokens."""
    return device.type == "cpu"


def space_of(units: Units, batch: Padding) -> WordSpace:
    """From tokens to the words that have one."""
    unit = units.unit.cpu().numpy()
    own = [np.where(each < units.width, each, -1) for each in unit]
    return word_space(own, [units.width] * len(own), batch.device)


def spread_of(inside: Bool[torch.Tensor, "e u u"], units: Units) -> Spread:
    """What tokens add to the profile of their words."""
    width, tokens = units.width, units.unit.shape[1]
    edged = pad(inside / units.pieces[..., None], (0, 1, 0, 1))
    cell = units.unit[:, :, None] * (width + 1) + units.unit[:, None, :]
    offset = units.unit[:, None, :] - units.unit[:, :, None] + width - 1
    none = (units.unit == width)[:, None, :] | (units.unit == width)[:, :, None]
    return Spread(
        share=edged.flatten(1).gather(1, cell.flatten(1)).view(-1, 1, tokens, tokens),
        offset=offset.masked_fill_(none, 0).view(-1, 1, tokens**2),
        member=one_hot(units.unit, width + 1)[..., :width].float(),
    )


def spread_profile(
    spread: Spread, pairs: Compared, weights: torch.Tensor, scratch: Scratch
) -> tuple[torch.Tensor, torch.Tensor]:
    """Profiles (examples, offsets, heads) and rates (examples, units, heads), without attention of units."""
    examples, heads = weights.shape[:2]
    shared = torch.mul(weights, spread.share, out=scratch.take("shared", tuple(weights.shape)))
    sums = weights.new_zeros((examples, heads, pairs.inverse.shape[1]))
    sums.scatter_add_(2, spread.offset.expand(-1, heads, -1), shared.flatten(2))
    curve = (sums * pairs.inverse[:, None]).mT
    expected = pairs.by_offset @ curve
    mass = (shared.sum(-1) @ spread.member).mT
    return curve, torch.where(expected > 0, mass / expected, 0.0)
