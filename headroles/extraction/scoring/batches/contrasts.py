"""Contrasts against the distance profiles of heads, for a whole batch at once.

The symbols are those of ``headroles.plans.plan.Profile``. With w the weights of the counted pairs, R the
compared ones, c_i the ratio of even attention's sum over w to its sum over R in row i, and
rate_i = m_i / Σ_k f(k−i) U_ik, a contrast is
``Σ_ij (w_ij − c_i R_ij) A_ij + Σ_i rate_i Σ_j (c_i R_ij − w_ij) U_ij f(j−i)``. The first sum is linear in
attention, so that it becomes one more row of the product over tokens. The second needs only the profile. The
profiles of words are computed from attention between tokens, or between words where that is faster.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch.nn.functional import one_hot, pad

from headroles.extraction.scoring.batches.plan import Padding
from headroles.extraction.scoring.batches.units import (
    Units,
    even_units,
    token_units,
    token_weights,
    unit_cells,
    unit_labels,
    word_units,
)
from headroles.extraction.scoring.distance_profile import ComparedPairs, compare_pairs, head_profiles
from headroles.extraction.scoring.scratch import Scratch
from headroles.extraction.scoring.word_space import WordSpace, from_words, to_words, word_space
from headroles.plans.batch import SieveLayout, SieveMasks


@dataclass(frozen=True, slots=True, eq=False)
class WordShares:
    """Shares of pairs of tokens in the profile of their words, for processors.

    There one sum by index over tokens takes half as long as attention between words does. Other devices add
    such sums in any order, with other bits each time.

    Attributes:
        share: One over the tokens of the attending word, on pairs of tokens of compared words; 0 elsewhere.
        offset: Signed offset d of the words of each pair, as d + words − 1.
        member: 1 where a token is a piece of a word.
    """

    share: Float[torch.Tensor, "examples 1 tokens tokens"]
    offset: Int[torch.Tensor, "examples 1 pairs"]
    member: Float[torch.Tensor, "examples tokens units"]


def sums_by_index(device: torch.device) -> bool:
    """Return whether profiles of words are summed by index from attention between tokens."""
    return device.type == "cpu"


def unit_space(units: Units, batch: Padding) -> WordSpace:
    """Return the space of the words that have a token."""
    unit = units.unit.cpu().numpy()
    own = [np.where(row < units.width, row, -1) for row in unit]
    return word_space(own, [units.width] * len(own), batch.device)


def word_shares(inside: Bool[torch.Tensor, "e u u"], units: Units) -> WordShares:
    """Return the shares of pairs of tokens in the profile of their words."""
    width, tokens = units.width, units.unit.shape[1]
    edged = pad(inside / units.pieces[..., None], (0, 1, 0, 1))
    cell = units.unit[:, :, None] * (width + 1) + units.unit[:, None, :]
    offset = units.unit[:, None, :] - units.unit[:, :, None] + width - 1
    outside = (units.unit == width)[:, None, :] | (units.unit == width)[:, :, None]
    return WordShares(
        share=edged.flatten(1).gather(1, cell.flatten(1)).view(-1, 1, tokens, tokens),
        offset=offset.masked_fill_(outside, 0).view(-1, 1, tokens**2),
        member=one_hot(units.unit, width + 1)[..., :width].float(),
    )


def shares_profile(
    spread: WordShares, pairs: ComparedPairs, weights: torch.Tensor, scratch: Scratch
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return profiles (examples, offsets, heads) and rates (examples, units, heads)."""
    examples, heads = weights.shape[:2]
    shared = torch.mul(weights, spread.share, out=scratch.take("shared", tuple(weights.shape)))
    sums = weights.new_zeros((examples, heads, pairs.inverse.shape[1]))
    sums.scatter_add_(2, spread.offset.expand(-1, heads, -1), shared.flatten(2))
    curve = (sums * pairs.inverse[:, None]).mT
    expected = pairs.by_offset @ curve
    mass = (shared.sum(-1) @ spread.member).mT
    return curve, torch.where(expected > 0, mass / expected, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Contrasts:
    """The contrasts of one space over a batch.

    Attributes:
        columns: Output column of each.
        space: From tokens to words, where these are compared on another device than a processor.
        spread: The same on a processor.
        pairs: Even attention on the compared pairs.
        excess: By kept row and signed offset: even attention on the compared pairs, times the chance of a
            counted one, less its weight on the counted pairs.
        query: The attending unit of each kept row (examples, rows).
        which: 1 where a kept row belongs to a contrast (examples, contrasts, rows).
        seen: Weight of each pair of tokens: that of the counted pairs, less chance on all that are
            compared, so that sums over many pairs stay small (examples, contrasts, tokens × tokens).
        has_value: Whether there are eligible units (examples, contrasts).
        cells: Their number (examples, contrasts).
        reach: Number of groups, which is the largest size of the contrast (examples, contrasts).
    """

    columns: list[int]
    space: WordSpace | None
    spread: WordShares | None
    pairs: ComparedPairs
    excess: Float[torch.Tensor, "examples rows offsets"]
    query: Int[torch.Tensor, "examples rows"]
    which: Float[torch.Tensor, "examples contrasts rows"]
    seen: Float[torch.Tensor, "examples contrasts pairs"]
    has_value: Bool[torch.Tensor, "examples contrasts"]
    cells: Int[torch.Tensor, "examples contrasts"]
    reach: Int[torch.Tensor, "examples contrasts"]

    @property
    def shape(self) -> tuple[int, ...]:
        """Return examples, units of the space, and whether they are words: the key of scratch memory."""
        return (*self.pairs.even.shape[:2], int(self.space is not None or self.spread is not None))


def lay_contrasts(layout: SieveLayout, masks: Sequence[SieveMasks], batch: Padding) -> list[Contrasts]:
    """Lay the contrasts over a batch, space by space.

    Args:
        layout: The columns and settings of the selection.
        masks: The masks of each example.
        batch: The tokens.
    """
    contrasts, known = [], {}
    for space in dict.fromkeys(layout.space):
        members = [number for number, own in enumerate(layout.space) if own == space]
        words = layout.words[members[0]]
        if words not in known:
            units = word_units(batch) if words else token_units(batch)
            known[words] = units, even_units(batch, units)
        units, even = known[words]
        inside = unit_cells([example.compared[space] for example in masks], units, batch.device)
        inside = inside if batch.everything else inside & (even > 0)
        cells = [
            unit_cells([example.cells[number] for example in masks], units, batch.device)
            for number in members
        ]
        families = [[example.families[number] for example in masks] for number in members]
        labels = unit_labels(families, units, batch)
        counted = torch.stack([own & inside for own in cells], dim=1)
        size, room = counted.sum(-1), inside.sum(-1)[:, None]
        eligible = (size > 0) & (size < room) & (labels >= 0)
        if bool(eligible.any()):  # such as contrasts of pairs, where the inputs are single texts
            pairs = _Pairs(even * inside, inside, counted, eligible, labels.clamp(min=0))
            columns = [layout.contrasts[number] for number in members]
            contrasts.append(_lay_contrasts(columns, batch, units, pairs))
    return contrasts


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Pairs of units of one space.

    Attributes:
        level: Even attention on the compared pairs, 0 elsewhere (examples, units, units).
        inside: The compared pairs.
        counted: The pairs that each contrast counts (examples, contrasts, units, units).
        eligible: Units with pairs that count and pairs that do not (examples, contrasts, units).
        labels: The label of each unit.
    """

    level: Float[torch.Tensor, "examples units units"]
    inside: Bool[torch.Tensor, "examples units units"]
    counted: Bool[torch.Tensor, "examples contrasts units units"]
    eligible: Bool[torch.Tensor, "examples contrasts units"]
    labels: Int[torch.Tensor, "examples contrasts units"]


def _lay_contrasts(columns: list[int], batch: Padding, units: Units, pairs: _Pairs) -> Contrasts:
    """Return the contrasts of one space from its pairs."""
    count, width = pairs.counted.shape[1:3]
    share, reach = _shares(pairs.eligible, pairs.labels)
    weight = pairs.counted * share[..., None]
    level = pairs.level
    chance = (weight * level[:, None]).sum(-1) / level.sum(-1).clamp(min=torch.finfo(level.dtype).tiny)[
        :, None
    ]
    weight -= chance[..., None] * pairs.inside[:, None]
    order, kept = _pack_rows(pairs.eligible.flatten(1))
    query, indexed = order % width, sums_by_index(batch.device)
    contrast = torch.arange(count, device=batch.device)[None, :, None] == (order // width)[:, None]
    return Contrasts(
        columns=columns,
        space=unit_space(units, batch) if units.words and not indexed else None,
        spread=word_shares(pairs.inside, units) if units.words and indexed else None,
        pairs=compare_pairs(level),
        excess=_by_offset(_rows(weight.flatten(1, 2), order) * -_rows(level, query), query),
        query=query,
        which=(contrast & kept[:, None]).float(),
        seen=token_weights(weight, units),
        has_value=pairs.eligible.any(-1),
        cells=pairs.eligible.sum(-1),
        reach=reach,
    )


def _rows(cells: Float[torch.Tensor, "e all u"], which: Int[torch.Tensor, "e rows"]) -> torch.Tensor:
    """Return some rows of the cells of each example."""
    return cells.gather(1, which[..., None].expand(-1, -1, cells.shape[2]))


def _by_offset(rows: Float[torch.Tensor, "e rows u"], query: Int[torch.Tensor, "e rows"]) -> torch.Tensor:
    """Shift rows so that keys of one signed offset share a column, offset d in column d + u − 1."""
    examples, count, width = rows.shape
    place = torch.arange(width, device=rows.device) - query[..., None] + width - 1
    return rows.new_zeros((examples, count, 2 * width - 1)).scatter_(2, place, rows)


def contrast_scores(
    contrasts: Contrasts, seen: torch.Tensor, weights: torch.Tensor, scratch: Scratch
) -> torch.Tensor:
    """Return the contrasts (examples, contrasts, heads) of attention.

    Args:
        contrasts: Of one space.
        seen: Attention on the counted pairs beyond chance (examples, contrasts, heads).
        weights: Attention (examples, heads, tokens, tokens).
        scratch: Memory for intermediate results.
    """
    if contrasts.spread is not None:
        curve, rate = shares_profile(contrasts.spread, contrasts.pairs, weights, scratch)
    else:
        units = weights
        if contrasts.space is not None:
            units = from_words(to_words(weights, contrasts.space, scratch), contrasts.space, scratch)
        heads = head_profiles(units, contrasts.pairs, scratch)
        curve, rate = heads.curve, heads.rate
    query = contrasts.query[..., None].expand(-1, -1, weights.shape[1])
    excess = rate.gather(1, query) * (contrasts.excess @ curve)
    return seen + contrasts.which @ excess


def _shares(
    eligible: Bool[torch.Tensor, "e c u"], labels: Int[torch.Tensor, "e c u"]
) -> tuple[Float[torch.Tensor, "e c u"], Int[torch.Tensor, "e c"]]:
    """Return the weight of each eligible unit, 1 in total for each label, and the number of labels."""
    most = int(labels.max()) + 1 if labels.numel() else 1
    size = torch.zeros((*labels.shape[:2], most), device=labels.device)
    size.scatter_add_(2, labels, eligible.float())
    share = 1 / size.gather(2, labels).clamp(min=1)
    return torch.where(eligible, share, 0.0), (size > 0).sum(-1)


def _pack_rows(eligible: Bool[torch.Tensor, "e rows"]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the places of the eligible rows of each example, padded to one number, and which are real."""
    counts = eligible.sum(1)
    most = max(1, int(counts.max()))
    order = torch.sort((~eligible).to(torch.uint8), dim=1, stable=True).indices[:, :most]
    return order, torch.arange(most, device=eligible.device)[None] < counts[:, None]
