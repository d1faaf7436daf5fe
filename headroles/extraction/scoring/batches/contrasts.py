"""Contrasts against the distance profiles of heads, for a whole batch at once.

The symbols are those of ``headroles.plans.plan.Profile``. With w the weights of the counted pairs, R the
compared ones, c_i the ratio of even attention's sum over w to its sum over R in row i, and
rate_i = m_i / Σ_k f(k−i) U_ik, a contrast is
``Σ_ij (w_ij − c_i R_ij) A_ij + Σ_i rate_i Σ_j (c_i R_ij − w_ij) U_ij f(j−i)``. The first sum is linear in
attention, so that it becomes one more row of the product over tokens. The second needs only the profile f
and the masses m, which are sums over bags of cells (``cells``).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int

from headroles.extraction.scoring.batches.cells import CellBags, cell_bags
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
from headroles.plans.batch import SieveLayout, SieveMasks


@dataclass(frozen=True, slots=True, eq=False)
class Contrasts:
    """The contrasts of one space over a batch.

    Attributes:
        columns: Output column of each.
        bags: The cells of each offset of each example, and of each attending unit.
        by_offset: Even attention on the compared pairs, by unit and signed offset (examples, units, offsets).
        inverse: 1 / Σ U over the pairs of an offset, 0 where there are none (examples, offsets, 1).
        excess: By kept row and signed offset: even attention on the compared pairs, times the chance of a
            counted one, less its weight on the counted pairs.
        query: The attending unit of each kept row (examples, rows).
        which: 1 where a kept row belongs to a contrast (examples, contrasts, rows).
        seen: Weight of each pair of tokens: that of the counted pairs, less chance on all that are
            compared, so that sums over many pairs stay small (examples, contrasts, tokens × tokens).
        has_value: Whether there are eligible units (examples, contrasts).
        cells: Their number (examples, contrasts).
        reach: The largest size of the contrast: its groups, and what keys get from other queries
            (examples, contrasts).
    """

    columns: list[int]
    bags: CellBags
    by_offset: Float[torch.Tensor, "examples units offsets"]
    inverse: Float[torch.Tensor, "examples offsets 1"]
    excess: Float[torch.Tensor, "examples rows offsets"]
    query: Int[torch.Tensor, "examples rows"]
    which: Float[torch.Tensor, "examples contrasts rows"]
    seen: Float[torch.Tensor, "examples contrasts pairs"]
    has_value: Bool[torch.Tensor, "examples contrasts"]
    cells: Int[torch.Tensor, "examples contrasts"]
    reach: Float[torch.Tensor, "examples contrasts"]


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
        inside = unit_cells([example.compared[space] for example in masks], units)
        inside = inside if batch.everything else inside & (even > 0)
        cells = [unit_cells([example.cells[number] for example in masks], units) for number in members]
        families = [[example.families[number] for example in masks] for number in members]
        labels = unit_labels(families, units, batch)
        counted = torch.stack([own & inside for own in cells], dim=1)
        level = even * inside
        others = [
            (place, _Others.of(unit_cells(own, units), counted[:, place], level))
            for place, number in enumerate(members)
            if (own := [mask for example in masks if (mask := example.others[number]) is not None])
        ]
        size, room = counted.sum(-1), inside.sum(-1)[:, None]
        eligible = (size > 0) & (size < room) & (labels >= 0)
        if bool(eligible.any()):  # such as contrasts of pairs, where the inputs are single texts
            pairs = _Pairs(level, inside, counted, eligible, labels.clamp(min=0), others)
            columns = [layout.contrasts[number] for number in members]
            contrasts.append(_lay_contrasts(columns, batch, units, pairs))
    return contrasts


@dataclass(frozen=True, slots=True, eq=False)
class _Others:
    """What the counted keys of one contrast get from other queries.

    Attributes:
        rest: Their cells (examples, units, units).
        got: Even attention on these, by key (examples, units).
    """

    rest: Bool[torch.Tensor, "examples units units"]
    got: Float[torch.Tensor, "examples units"]

    @classmethod
    def of(cls, whole: torch.Tensor, counted: torch.Tensor, level: torch.Tensor) -> "_Others":
        """Lay out the cells; counted cells whose key has no other query are taken out of ``counted``."""
        apart = ~torch.eye(counted.shape[-1], dtype=torch.bool, device=counted.device)
        rest = whole & (level > 0) & ~counted & apart
        got = (rest * level).sum(-2)
        counted &= (got > 0)[:, None]
        return cls(rest, got)

    def subtract(self, weight: torch.Tensor, level: torch.Tensor) -> Float[torch.Tensor, "examples units"]:
        """Subtract the other queries' part from the weights of a contrast; return each query's largest."""
        share = torch.where(self.got > 0, (weight * level).sum(-2) / self.got, 0.0)[:, None]
        part = self.rest * share
        weight -= part
        most: torch.Tensor = part.amax(-1)
        return most


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Pairs of units of one space.

    Attributes:
        level: Even attention on the compared pairs, 0 elsewhere (examples, units, units).
        inside: The compared pairs.
        counted: The pairs that each contrast counts (examples, contrasts, units, units).
        eligible: Units with pairs that count and pairs that do not (examples, contrasts, units).
        labels: The label of each unit.
        others: Places of the contrasts that compare keys with themselves, and the cells of that.
    """

    level: Float[torch.Tensor, "examples units units"]
    inside: Bool[torch.Tensor, "examples units units"]
    counted: Bool[torch.Tensor, "examples contrasts units units"]
    eligible: Bool[torch.Tensor, "examples contrasts units"]
    labels: Int[torch.Tensor, "examples contrasts units"]
    others: list[tuple[int, _Others]]


def _lay_contrasts(columns: list[int], batch: Padding, units: Units, pairs: _Pairs) -> Contrasts:
    """Return the contrasts of one space from its pairs."""
    count, width = pairs.counted.shape[1:3]
    share, reach = _shares(pairs.eligible, pairs.labels)
    weight = pairs.counted * share[..., None]
    level, asking = pairs.level, pairs.eligible.clone()
    for number, others in pairs.others:
        most = others.subtract(weight[:, number], level)
        reach[:, number] += most.sum(-1)
        asking[:, number] |= most > 0
    chance = (weight * level[:, None]).sum(-1) / level.sum(-1).clamp(min=torch.finfo(level.dtype).tiny)[
        :, None
    ]
    weight -= chance[..., None] * pairs.inside[:, None]
    order, kept = _pack_rows(asking.flatten(1))
    query = order % width
    contrast = torch.arange(count, device=batch.device)[None, :, None] == (order // width)[:, None]
    place = torch.arange(width, device=batch.device).expand(len(batch.sizes), -1)
    by_offset = _by_offset(level, place)
    total = by_offset.sum(1)
    return Contrasts(
        columns=columns,
        bags=cell_bags(pairs.inside & (level > 0), units, batch),
        by_offset=by_offset,
        inverse=torch.where(total > 0, 1 / total, 0.0)[..., None],
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
    contrasts: Contrasts,
    seen: Float[torch.Tensor, "examples contrasts heads"],
    cells: Float[torch.Tensor, "cells heads"],
) -> Float[torch.Tensor, "examples contrasts heads"]:
    """Return the contrasts of attention.

    Args:
        contrasts: Of one space.
        seen: Attention on the counted pairs beyond chance.
        cells: Attention by cell of the batch.
    """
    examples, units, offsets = contrasts.by_offset.shape
    sums = contrasts.bags.sums(cells)
    by_offset, mass = sums[: examples * offsets], sums[examples * offsets :]
    curve = by_offset.view(examples, offsets, -1) * contrasts.inverse
    expected = contrasts.by_offset @ curve
    rate = torch.where(expected > 0, mass.view(examples, units, -1) / expected, 0.0)
    query = contrasts.query[..., None].expand(-1, -1, cells.shape[1])
    excess = rate.gather(1, query) * (contrasts.excess @ curve)
    beyond: torch.Tensor = seen + contrasts.which @ excess
    return beyond


def _shares(
    eligible: Bool[torch.Tensor, "e c u"], labels: Int[torch.Tensor, "e c u"]
) -> tuple[Float[torch.Tensor, "e c u"], Float[torch.Tensor, "e c"]]:
    """Return the weight of each eligible unit, 1 in total for each label, and the number of labels."""
    most = int(labels.max()) + 1 if labels.numel() else 1
    size = torch.zeros((*labels.shape[:2], most), device=labels.device)
    size.scatter_add_(2, labels, eligible.float())
    share = 1 / size.gather(2, labels).clamp(min=1)
    return torch.where(eligible, share, 0.0), (size > 0).sum(-1).to(torch.float32)


def _pack_rows(eligible: Bool[torch.Tensor, "e rows"]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the places of the eligible rows of each example, padded to one number, and which are real."""
    counts = eligible.sum(1)
    most = max(1, int(counts.max()))
    order = torch.sort((~eligible).to(torch.uint8), dim=1, stable=True).indices[:, :most]
    return order, torch.arange(most, device=eligible.device)[None] < counts[:, None]
