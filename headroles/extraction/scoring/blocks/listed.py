"""Sums over single cells of a plan, from blocks of rows."""

from dataclasses import dataclass

import numpy as np
import torch

from headroles.plans.plan import CellList


@dataclass(frozen=True, slots=True)
class _InBlock:
    """The cells of a plan in one block: places in it by sum, their weights, and where each sum begins."""

    place: torch.Tensor
    weight: torch.Tensor
    sums: np.ndarray
    opens: np.ndarray


class ListedCells:
    """The single cells of a plan, sorted out once for each block, for all heads and layers."""

    def __init__(self, listed: CellList, device: torch.device) -> None:
        """Take the cells, sorted by query, and the device of the attention."""
        self._listed, self._device = listed, device
        self._blocks: dict[tuple[int, int, int, int], _InBlock] = {}

    def add(self, sums: torch.Tensor, start: int, rows: torch.Tensor, first: int) -> None:
        """Add the cells of a block to the sums (heads, sums) of its heads.

        Args:
            sums: They are changed.
            start: The first query.
            rows: Attention (heads, rows, keys), contiguous.
            first: The first key.
        """
        block = (start, rows.shape[1], first, rows.shape[2])
        if block not in self._blocks:
            self._blocks[block] = self._sort_out(*block)
        own = self._blocks[block]
        if not len(own.place):
            return
        cells = rows.view(len(rows), -1).index_select(1, own.place).mul_(own.weight)
        ends = [*own.opens[1:].tolist(), len(own.place)]
        if self._device.type == "cpu":
            found = torch.from_numpy(np.add.reduceat(cells.numpy(), own.opens, axis=1))
        else:
            found = torch.stack(
                [cells[:, low:high].sum(1) for low, high in zip(own.opens.tolist(), ends, strict=True)], dim=1
            )
        sums[:, own.sums] += found

    def _sort_out(self, start: int, count: int, first: int, width: int) -> _InBlock:
        """Return the cells of a block; keys that are left out get no attention."""
        query, key, output = self._listed.query, self._listed.key, self._listed.output
        here = slice(*np.searchsorted(query, [start, start + count]))
        inside = np.flatnonzero((key[here] >= first) & (key[here] < first + width)) + here.start
        inside = inside[np.argsort(output[inside], kind="stable")]
        found, opens = np.unique(output[inside], return_index=True)
        place = (query[inside].astype(np.int64) - start) * width + key[inside] - first
        return _InBlock(
            place=torch.from_numpy(place).to(self._device),
            weight=torch.from_numpy(self._listed.weight[inside].astype(np.float32)).to(self._device),
            sums=found.astype(np.int64),
            opens=opens,
        )
