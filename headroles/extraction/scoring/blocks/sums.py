"""Long plans applied to attention that comes in blocks of rows: only sums are kept.

Scorers of a long example: asked block by block where they can be, else of joined rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from headroles.extraction.capture.readers import Shown, dense
from headroles.extraction.scoring.blocks.contrasts import Curve
from headroles.extraction.scoring.prepared import LayerScorer
from headroles.plans.plan import LongPlan
from headroles.plans.scorers import AskedOfRows, per_head, rows_per_head
from headroles.records.example import Example

BLOCK = 8 * 2**20
"""Bytes of attention that are worked on at a time, where more comes at once."""


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """The arrays of a plan on a device.

    Attributes:
        keys: Sets of keys (sets, tokens).
        weight: Of each query's attention on each set in each sum (tokens, sets, sums).
        listed: Query, key and output of single cells.
        value: Weight of each.
    """

    keys: torch.Tensor
    weight: torch.Tensor
    listed: torch.Tensor
    value: torch.Tensor


class LongSums:
    """Scores of one long example, layer after layer, from blocks of rows.

    What is held beside the plan grows with heads × tokens; a block in work takes a few times its own
    size.
    """

    def __init__(self, plan: LongPlan, device: torch.device) -> None:
        """Take a plan, and where attention will lie."""
        self.plan = plan
        self._device = device
        self._query = plan.listed.query
        cells = np.stack([plan.listed.query, plan.listed.key, plan.listed.output]).astype(np.int64)
        self._placed = _Placed(
            keys=torch.from_numpy(np.ascontiguousarray(plan.keys.T)).to(device, copy=True),
            weight=torch.from_numpy(plan.weight).to(device, copy=True),
            listed=torch.from_numpy(cells).to(device, copy=True),
            value=torch.from_numpy(plan.listed.weight).to(device, copy=True),
        )
        self._curves = [Curve(profile, device) for profile in plan.profiles]
        self._sums: torch.Tensor | None = None

    def add(self, start: int, rows: torch.Tensor, first: int = 0) -> None:
        """Take attention (heads, rows, keys) of queries ``start`` on to keys ``first`` on; others get 0."""
        heads, count, keys = rows.shape
        if self._sums is None:
            self._sums = rows.new_zeros((heads, self.plan.weight.shape[2]))
        step = max(1, BLOCK // (4 * heads * keys))
        for begin in range(0, count, step):
            part = rows[:, begin : begin + step].contiguous()
            self._sums += self._linear(start + begin, part, first)
            for curve in self._curves:
                curve.add(start + begin, part, first)

    def finish(self) -> np.ndarray:
        """Scores (columns, heads) of the layer whose rows have all come; the next layer starts anew.

        NaN where a column has nothing to say, infinity where it has but a head's attention is no number.
        """
        assert self._sums is not None, "a layer has rows"
        sums = self._sums.double().cpu().numpy() if self._device.type != "mps" else self._sums.cpu().numpy()
        self._sums = None
        plan, masks = self.plan, len(self.plan.linear)
        scores = np.full((plan.columns, len(sums)), np.nan)
        inside = sums[:, :masks].T
        if plan.bias:
            base = sums[:, masks : 2 * masks].T
            inside = np.divide(inside, base, out=np.full_like(inside, np.nan), where=base > 0)
        scores[plan.linear] = inside
        broken = ~np.isfinite(sums).all(axis=1)
        for curve in self._curves:
            profile = curve.profile
            beyond = sums[:, list(profile.sums)].T - curve.expected()
            broken |= ~np.isfinite(beyond).all(axis=0)
            scores[list(profile.columns)] = beyond
        scores[np.ix_(~np.isnan(plan.cells), broken)] = np.inf
        return scores

    def _linear(self, start: int, rows: torch.Tensor, first: int) -> torch.Tensor:
        """What a block adds to the linear sums (heads, sums)."""
        heads, count, width = rows.shape
        flat = rows.view(heads, -1)
        keys, weight = self._placed.keys, self._placed.weight[start : start + count]
        sums = rows.new_zeros((heads, weight.shape[2]))
        if len(keys):
            masses = keys[:, first : first + width] @ rows.view(-1, width).T
            masses = masses.view(-1, heads, count).permute(1, 2, 0).reshape(heads, -1)
            sums += masses @ weight.reshape(-1, weight.shape[2])
        here = slice(*np.searchsorted(self._query, [start, start + count]))
        if here.stop > here.start:
            query, key, output = self._placed.listed[:, here]
            if width < self.plan.keys.shape[0]:
                there = (key >= first) & (key < first + width)  # what is left out has no attention
                query, key, output = query[there], key[there], output[there]
                value = self._placed.value[here][there]
            else:
                value = self._placed.value[here]
            chosen = flat.index_select(1, (query - start) * width + (key - first))
            spread = rows.new_zeros((len(value), weight.shape[2]))
            spread[torch.arange(len(value), device=rows.device), output] = value
            sums += chosen @ spread
        for each in self.plan.rowwise:
            cells = each.mask.rows(start, start + count)[:, first : first + width]
            own = (cells * each.weight[start : start + count, None]).astype(np.float32)
            sums[:, each.output] += flat @ torch.from_numpy(own.reshape(-1)).to(rows.device)
        return sums


class LongScorers:
    """Asks the scorers of one example for their numbers, layer after layer.

    The rows of a layer are kept, to be joined, only where a scorer needs them together; that takes as
    much room as a layer's attention.
    """

    def __init__(self, scorers: Sequence[LayerScorer], example: Example) -> None:
        """Take the scorers, and what is scored."""
        self._scorers, self._example = scorers, example
        self._whole = [each for each in scorers if not isinstance(each, AskedOfRows)]
        self._blocks: list[torch.Tensor] = []
        self._sums: dict[int, np.ndarray] = {}

    def add(self, start: int, rows: torch.Tensor, first: int, shown: Shown) -> None:
        """Take attention (heads, rows, keys) of queries ``start`` on to keys ``first`` on; others get 0."""
        if not self._scorers:
            return
        whole = torch.nn.functional.pad(rows, (first, self._example.size - first - rows.shape[2]))
        if self._whole:
            self._blocks.append(whole)
        array = _array(whole)
        for place, scorer in enumerate(self._scorers):
            if isinstance(scorer, AskedOfRows):
                added = rows_per_head(scorer, array, start, self._example, shown)
                self._sums[place] = self._sums[place] + added if place in self._sums else added

    def finish(self, shown: Shown) -> Float[np.ndarray, "scorers heads"]:
        """The numbers of a layer whose rows have all come, at least one scorer's; the next starts anew."""
        attention = _array(torch.cat(self._blocks, dim=1)) if self._whole else None
        visible = dense(shown, self._example.size) if self._whole else None
        found = []
        for place, scorer in enumerate(self._scorers):
            if place in self._sums:
                found.append(self._sums[place])
            else:
                assert attention is not None, "rows are kept where a scorer needs them together"
                found.append(per_head(scorer, attention, self._example, visible))
        self._blocks, self._sums = [], {}
        return np.stack(found)


def _array(attention: torch.Tensor) -> np.ndarray:
    """The attention as an array that cannot be written to."""
    made: np.ndarray = attention.cpu().numpy()
    made.flags.writeable = False
    return made
