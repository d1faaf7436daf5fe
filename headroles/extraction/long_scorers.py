"""Scorers of a long example: asked block by block where they can be, else of joined rows."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from headroles.extraction.columns import LayerScorer
from headroles.extraction.readers import Shown, dense
from headroles.plans.scorers import AskedOfRows, per_head, rows_per_head
from headroles.records.example import Example


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
