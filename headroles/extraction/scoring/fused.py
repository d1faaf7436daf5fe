"""The scores of a plan from attention that is never formed."""

import numpy as np
import torch

from headroles.extraction.fused.attention import Compared, FusedAttention
from headroles.extraction.scoring.blocks.contrasts import OffsetSums
from headroles.extraction.scoring.blocks.sums import scores_of
from headroles.plans.even import row_blocks
from headroles.plans.plan import CellList, LongPlan, LongProfile, RowCells

LISTED = 2**18
"""Most single cells that are computed at a time."""


class FusedSums:
    """The scores of one example, layer after layer. Memory grows with heads × tokens × sets of keys."""

    def __init__(self, plan: LongPlan, heads: int, device: torch.device) -> None:
        """Take a plan, the number of heads, and the device of the attention."""
        self.plan = plan
        self._device = device
        self._keys = torch.from_numpy(plan.keys).to(device)
        self._weight = torch.from_numpy(plan.weight).to(device).flatten(0, 1)
        self._listed = _listed_by_sum(plan.listed, device)
        self._weighed = [own for own in plan.weighed if own.band is None]
        self._rowwise = [*plan.rowwise] + [
            RowCells(own, own.output, np.ones(len(own.label)))
            for own in plan.weighed
            if own.band is not None
        ]
        self._curves = [OffsetSums(profile, heads, device) for profile in plan.profiles]
        with torch.inference_mode(False):
            self._compared = [_compared_of(profile, device) for profile in plan.profiles]

    def scores(self, attention: FusedAttention) -> np.ndarray:
        """Return the scores (columns, heads) of a layer, as ``LongSums.finish`` does."""
        sums = self._linear(attention)
        for curve, (compared, weight) in zip(self._curves, self._compared, strict=True):
            offsets, rows = attention.offsets(compared, weight)
            curve.take(offsets, rows)
        whole = sums if self._device.type == "mps" else sums.double()
        return scores_of(self.plan, whole.cpu().numpy(), self._curves)

    def _linear(self, attention: FusedAttention) -> torch.Tensor:
        """Return the linear sums (heads, sums)."""
        plan = self.plan
        sums = torch.zeros((attention.heads, self._weight.shape[1]), device=self._device)
        if plan.keys.shape[1]:
            sums += attention.sums(self._keys).flatten(1) @ self._weight
        for output, query, key, value in self._listed:
            sums[:, output] += attention.cells(query, key) @ value
        for weights in self._weighed:
            seen = attention.sums(torch.from_numpy(weights.keys.astype(np.float32)).to(self._device))
            inside = weights.label[:, None] == np.arange(weights.keys.shape[1])
            sums[:, weights.output] += seen.flatten(1) @ torch.from_numpy(inside).to(seen).flatten()
        for rowwise in self._rowwise:
            for start, stop in row_blocks(attention.tokens):
                rows = rowwise.mask.rows(start, stop) * rowwise.weight[start:stop, None]
                query, key = np.nonzero(rows)
                weight = rows[query, key].astype(np.float32)
                cells = attention.cells(start + query, key)
                sums[:, rowwise.output] += cells @ torch.from_numpy(weight).to(self._device)
        return sums


def _listed_by_sum(
    listed: CellList, device: torch.device
) -> list[tuple[int, np.ndarray, np.ndarray, torch.Tensor]]:
    """Return sums, each with the queries, keys and weights of some of its single cells."""
    parts = []
    for output in np.unique(listed.output).tolist():
        every = np.flatnonzero(listed.output == output)
        for start in range(0, len(every), LISTED):
            own = every[start : start + LISTED]
            weight = torch.from_numpy(listed.weight[own].astype(np.float32)).to(device)
            parts.append((output, listed.query[own], listed.key[own], weight))
    return parts


def _compared_of(profile: LongProfile, device: torch.device) -> tuple[Compared, torch.Tensor]:
    """Return the pairs that a profile compares, and the weight of each query."""
    unit, pieces, units = profile.unit, profile.spread.pieces, len(profile.taken)
    there = unit >= 0
    taken = there & profile.taken[unit]
    share = np.where(taken & (profile.spread.room > 0), 1 / pieces[unit], 0.0).astype(np.float32)
    scope = (
        None if profile.scope is None else torch.from_numpy(profile.scope.rows(0, units).copy()).to(device)
    )
    compared = Compared(
        unit=torch.from_numpy(unit.astype(np.int64)).to(device),
        taken=torch.from_numpy(taken).to(device),
        apart=profile.apart,
        scope=scope,
        units=units,
    )
    return compared, torch.from_numpy(share).to(device)
