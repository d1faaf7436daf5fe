"""Sums over attention that comes in blocks of rows: those of a plan, and those of scorers.

A scorer gets block by block where it can; else the rows of a layer are joined for it.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int

from headroles.extraction.capture.readers import VisibleMask, to_visible_array
from headroles.extraction.scoring.blocks.columns import KeyColumns
from headroles.extraction.scoring.blocks.contrasts import OffsetSums
from headroles.extraction.scoring.blocks.listed import ListedCells
from headroles.extraction.scoring.prepared import LayerScorer
from headroles.plans.plan import LongPlan
from headroles.plans.scorers import RowScorer, score_block, score_layer
from headroles.records.example import Example

BLOCK = 8 * 2**20
"""Bytes of attention that are processed at a time, where more comes at once."""

ALL = slice(None)
RUNS = 12
"""Most runs of keys that are summed one by one; for more, one product with the sets takes less time."""


class LongSums:
    """The scores of one example, layer after layer, from blocks of rows.

    Memory in addition to the plan grows with heads × tokens; a block takes a few times its own size while
    it is processed.
    """

    def __init__(self, plan: LongPlan, heads: int, device: torch.device) -> None:
        """Take a plan, the number of heads, and the device of the attention."""
        self.plan = plan
        self._device = device
        self._listed = ListedCells(plan.listed, device)
        self._curves = [OffsetSums(profile, heads, device) for profile in plan.profiles]
        every = [plan.keys, *(curve.compared for curve in self._curves)]
        self._sizes = [own.shape[1] for own in every]
        sets = np.concatenate(every, axis=1)
        self._runs = _runs_of_keys(sets)
        self._inside = np.ascontiguousarray(sets[self._runs[:, 0]])
        self._keys = torch.from_numpy(np.ascontiguousarray(sets.T)).to(device, copy=True)
        self._weight = torch.from_numpy(plan.weight).to(device, copy=True)
        self._sums = torch.zeros((heads, plan.weight.shape[2]), device=device)
        self._columns = KeyColumns(plan.weighed, heads, device)

    def add(self, start: int, rows: torch.Tensor, first: int = 0, heads: slice = ALL) -> None:
        """Add attention (heads, rows, keys) from query ``start`` to keys from ``first``; others get 0.

        Different heads may be added by different threads.
        """
        own, count, keys = rows.shape
        step = max(1, BLOCK // (4 * own * keys))
        for begin in range(0, count, step):
            part = rows[:, begin : begin + step].contiguous()
            mass, *compared = torch.split(self._masses(part, first), self._sizes, dim=2)
            self._sums[heads] += self._linear(start + begin, part, first, mass)
            self._columns.add(start + begin, part, first, heads)
            for curve, seen in zip(self._curves, compared, strict=True):
                curve.add(start + begin, part, first, seen, heads)

    def finish(self) -> np.ndarray:
        """Return the scores (columns, heads) of a layer after its last block, and begin the next layer.

        NaN where a column has no value, infinity where it has one but the attention of a head is not finite.
        """
        sums = self._sums.double().cpu().numpy() if self._device.type != "mps" else self._sums.cpu().numpy()
        self._sums.zero_()
        self._columns.finish(sums)
        return scores_of(self.plan, sums, self._curves)

    def _masses(self, rows: torch.Tensor, first: int) -> torch.Tensor:
        """Return the attention (heads, rows, sets) of the queries of a block on each set of keys."""
        heads, count, width = rows.shape
        if len(self._runs) and self._device.type == "cpu":
            from headroles.extraction.scoring.blocks.offsets import sum_runs

            return torch.from_numpy(sum_runs(rows.numpy(), first, self._runs, self._inside))
        mass = self._keys[:, first : first + width] @ rows.view(-1, width).T
        return mass.view(-1, heads, count).permute(1, 2, 0)

    def _linear(self, start: int, rows: torch.Tensor, first: int, mass: torch.Tensor) -> torch.Tensor:
        """Return the linear sums (heads, sums) of a block, given attention on the sets of sieves."""
        count, width = rows.shape[1:]
        weight = self._weight[start : start + count]
        sums = mass.flatten(1) @ weight.flatten(0, 1)
        self._listed.add(sums, start, rows, first)
        for rowwise in self.plan.rowwise:
            cells = rowwise.mask.rows(start, start + count)[:, first : first + width]
            own = (cells * rowwise.weight[start : start + count, None]).astype(np.float32)
            sums[:, rowwise.output] += rows.flatten(1) @ torch.from_numpy(own.reshape(-1)).to(rows.device)
        return sums


def _runs_of_keys(keys: Float[np.ndarray, "tokens sets"]) -> Int[np.ndarray, "runs 2"]:
    """Return the first key and one past the last of each run of keys in the same sets; none for many runs.

    On a CPU, sums over runs take a fifth of the time that the product with a few sets takes.
    """
    inside: np.ndarray = np.asarray(keys.any(axis=1))
    changes = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
    edges = np.concatenate([[0], changes, [len(keys)]])
    runs = np.stack([edges[:-1], edges[1:]], axis=1)
    kept: np.ndarray = runs[inside[runs[:, 0]]]
    return kept if len(kept) <= RUNS else kept[:0]


def scores_of(
    plan: LongPlan, sums: Float[np.ndarray, "heads sums"], curves: Sequence[OffsetSums]
) -> Float[np.ndarray, "columns heads"]:
    """Return the scores of a layer from its linear sums and those of its contrasts, as ``finish`` says."""
    masks = len(plan.linear)
    scores = np.full((plan.columns, len(sums)), np.nan)
    values = sums[:, :masks].T
    if plan.bias:
        base = sums[:, masks : 2 * masks].T
        values = np.divide(values, base, out=np.full_like(values, np.nan), where=base > 0)
    scores[plan.linear] = values
    first = (2 if plan.bias else 1) * masks
    scores[list(plan.swaps)] = sums[:, first : first + len(plan.swaps)].T
    broken = ~np.isfinite(sums).all(axis=1)
    for curve in curves:
        profile = curve.profile
        beyond = sums[:, list(profile.sums)].T - curve.expected()
        broken |= ~np.isfinite(beyond).all(axis=0)
        scores[list(profile.columns)] = beyond
    scores[np.ix_(~np.isnan(plan.cells), broken)] = np.inf
    return scores


class LongScorers:
    """The numbers of the scorers of one example, layer after layer.

    The rows of a layer are kept and joined only where a scorer needs all of them, which takes as much
    memory as the attention of a layer.
    """

    def __init__(self, scorers: Sequence[LayerScorer], example: Example) -> None:
        """Take the scorers, and the example."""
        self._scorers, self._example = scorers, example
        self._whole = [scorer for scorer in scorers if not isinstance(scorer, RowScorer)]
        self._blocks: list[torch.Tensor] = []
        self._sums: dict[int, np.ndarray] = {}

    def add(self, start: int, rows: torch.Tensor, first: int, shown: VisibleMask) -> None:
        """Add attention (heads, rows, keys) from query ``start`` to keys from ``first``; others get 0."""
        if not self._scorers:
            return
        whole, after = rows, self._example.size - first - rows.shape[2]
        if first or after:
            whole = torch.nn.functional.pad(rows, (first, after))
        if self._whole:
            self._blocks.append(whole)
        array = _array(whole)
        for place, scorer in enumerate(self._scorers):
            if isinstance(scorer, RowScorer):
                added = score_block(scorer, array, start, self._example, shown)
                self._sums[place] = self._sums[place] + added if place in self._sums else added

    def finish(self, shown: VisibleMask) -> Float[np.ndarray, "scorers heads"]:
        """Return the numbers of a layer after its last block, of at least one scorer, and begin the next."""
        attention = _array(torch.cat(self._blocks, dim=1)) if self._whole else None
        visible = to_visible_array(shown, self._example.size) if self._whole else None
        numbers = []
        for place, scorer in enumerate(self._scorers):
            if place in self._sums:
                numbers.append(self._sums[place])
            else:
                assert attention is not None, "rows are kept where a scorer needs them together"
                numbers.append(score_layer(scorer, attention, self._example, visible))
        self._blocks, self._sums = [], {}
        return np.stack(numbers)


def _array(attention: torch.Tensor) -> np.ndarray:
    """Return the attention as an array that cannot be written to."""
    array: np.ndarray = attention.cpu().numpy()
    array.flags.writeable = False
    return array
