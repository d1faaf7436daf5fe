"""Linear sums over attention, put together from sets of keys, single cells and rows."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from headroles.plans.plan import Listed, Rowwise
from headroles.sieves.resolving import Labelled, Resolved
from headroles.sieves.single_cells import Found, listed


@dataclass(slots=True)
class Sums:
    """Linear sums over attention, as they are put together.

    Attributes:
        size: Tokens.
        count: Sums so far.
    """

    size: int
    count: int = 0
    _sets: dict[bytes, np.ndarray] = field(default_factory=dict)
    _thin: list[tuple[int, int, np.ndarray]] = field(default_factory=list)
    _cells: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    _rowwise: list[Rowwise] = field(default_factory=list)

    def add(self, cells: Resolved, output: int, weight: Float[np.ndarray, " tokens"]) -> None:
        """Add the attention on resolved cells, times a weight for each query, to a sum."""
        self.count = max(self.count, output + 1)
        if isinstance(cells, Found):
            self.add_cells(cells, output, weight[cells.query])
        elif isinstance(cells, Labelled):
            for label in np.unique(cells.label[(cells.label >= 0) & (weight != 0)]):
                keys = cells.sets[:, label]
                name = np.packbits(keys).tobytes()
                self._sets.setdefault(name, keys)
                place = list(self._sets).index(name)
                self._thin.append((place, output, np.where(cells.label == label, weight, 0.0)))
        else:
            self._rowwise.append(Rowwise(cells, output, weight.astype(np.float32)))

    def add_cells(self, cells: Found, output: int, weight: Float[np.ndarray, " cells"]) -> None:
        """Add the attention on single cells, each times its weight, to a sum."""
        self.count = max(self.count, output + 1)
        kept = weight != 0
        which = np.full(int(kept.sum()), output)
        self._cells.append((cells.query[kept], cells.key[kept], which, weight[kept]))

    def keys(self) -> Float[np.ndarray, "tokens sets"]:
        """The sets of keys."""
        columns = [each.astype(np.float32) for each in self._sets.values()]
        return np.stack(columns, axis=1) if columns else np.zeros((self.size, 0), dtype=np.float32)

    def weight(self) -> Float[np.ndarray, "tokens sets sums"]:
        """What each query's attention on each set adds to each sum."""
        made = np.zeros((self.size, len(self._sets), self.count), dtype=np.float32)
        for place, output, weight in self._thin:
            made[:, place, output] += weight
        return made

    def listed(self) -> Listed:
        """All single cells, by query."""
        return listed(self._cells)

    def rowwise(self) -> tuple[Rowwise, ...]:
        """All cells that are asked for by rows."""
        return tuple(self._rowwise)
