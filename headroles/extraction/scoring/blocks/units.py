"""Attention between units, such as words, from blocks of attention between tokens."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from headroles.extraction.scoring.scratch import Scratch

OFTEN = 64
"""Keys are shifted together where at least one in this many continues a unit; fewer are added one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Joining:
    """Consecutive tokens and the units that they are joined to.

    Attributes:
        low: First unit among them.
        high: One past the last.
        lead: Token that opens each unit; empty when the units do not follow each other.
        shifts: Steps back to the token that opens the unit, and 1 at the tokens to add over such a step.
        extra: The other tokens that continue a unit.
        place: The unit that each of ``extra`` continues.
    """

    low: int
    high: int
    lead: np.ndarray
    shifts: tuple[tuple[int, np.ndarray], ...]
    extra: np.ndarray
    place: np.ndarray


class Units:
    """Joins the keys and the queries of blocks of rows by unit."""

    def __init__(
        self, unit: Int[np.ndarray, " tokens"], pieces: Float[np.ndarray, " units"], device: torch.device
    ) -> None:
        """Take the unit of each token (−1 for none), tokens per unit, and the device of the attention."""
        self._unit, self._units = unit, len(pieces)
        self._queries: dict[tuple[int, int], _Joining | None] = {}
        self._keys: dict[tuple[int, int], _Joining | None] = {}
        self._scratch = Scratch(device)

    def gather(self, start: int, rows: torch.Tensor, first: int) -> tuple[int, torch.Tensor, int] | None:
        """Sum a block of rows over the tokens of attending and attended units, both consecutive.

        A unit whose tokens lie in several blocks gives parts, which add up.

        Args:
            start: The first query.
            rows: Attention (heads, rows, keys), contiguous.
            first: The first key.

        Returns:
            The first unit that attends, its and the next ones' attention (heads, units, units), and the
            first unit attended to; None when the block has no unit. The attention is valid until the next
            call.
        """
        queries = self._joining(self._queries, start, rows.shape[1], 0)
        if len(self._keys) > 4:
            self._keys.clear()  # each is as wide as the input; hidden later keys give one for each block
        keys = self._joining(self._keys, first, rows.shape[2], OFTEN)
        if queries is None or keys is None:
            return None
        if not len(queries.lead) or not len(keys.lead):
            return queries.low, self._join_all(start, rows, first, queries, keys), keys.low
        summed = _sum_shifted(rows, queries, keys, self._scratch)
        joined = _pick(summed, queries, keys, self._scratch)
        if len(keys.extra):
            others = rows.index_select(2, _tensor(keys.extra, rows))
            joined.index_add_(2, _tensor(keys.place, rows), _join_rows(others, queries))
        return queries.low, joined, keys.low

    def _join_all(
        self, start: int, rows: torch.Tensor, first: int, queries: "_Joining", keys: "_Joining"
    ) -> torch.Tensor:
        """Join a block in which units do not follow each other, token by token."""
        heads, count, width = rows.shape
        joined = rows.new_zeros((heads, queries.high - queries.low, width))
        unit = self._unit[start : start + count]
        inside = np.flatnonzero(unit >= 0)
        places = _tensor(unit[inside] - queries.low, rows)
        joined.index_add_(1, places, rows.index_select(1, _tensor(inside, rows)))
        both = rows.new_zeros((*joined.shape[:2], keys.high - keys.low))
        unit = self._unit[first : first + width]
        inside = np.flatnonzero(unit >= 0)
        places = _tensor(unit[inside] - keys.low, rows)
        return both.index_add_(2, places, joined.index_select(2, _tensor(inside, rows)))

    def _joining(
        self, known: dict[tuple[int, int], _Joining | None], first: int, width: int, often: int
    ) -> _Joining | None:
        """Return how tokens from a first one on are joined, computed once; None when none is in a unit."""
        if (first, width) not in known:
            known[first, width] = _join(self._unit[first : first + width], often)
        return known[first, width]


def _join(own: np.ndarray, often: int) -> _Joining | None:
    inside = np.flatnonzero(own >= 0)
    if not inside.size:
        return None
    names, opens, place = np.unique(own[inside], return_index=True, return_inverse=True)
    low, high = int(names[0]), int(names[-1]) + 1
    if high - low > len(names):
        return _Joining(low, high, np.zeros(0, dtype=np.int64), (), inside, own[inside] - low)
    lead = inside[opens]
    others = np.ones(len(inside), dtype=np.bool_)
    others[opens] = False
    back = inside - lead[place]
    shifts = []
    for step in np.unique(back[others]).tolist():
        there = others & (back == step)
        if step > 0 and int(there.sum()) * often > len(own):
            where = np.zeros(len(own) - step, dtype=np.float32)
            where[lead[place[there]]] = 1.0
            shifts.append((step, where))
            others &= ~there
    return _Joining(low, high, lead, tuple(shifts), inside[others], place[others])


def _sum_shifted(rows: torch.Tensor, queries: _Joining, keys: _Joining, scratch: Scratch) -> torch.Tensor:
    """Add rows and keys of other tokens of a unit to those of its first; ``keys.extra`` are left out."""
    if not keys.shifts and not len(queries.extra):
        return rows
    summed = scratch.take("summed", tuple(rows.shape))
    if not keys.shifts:
        summed.copy_(rows)
    for number, (step, where) in enumerate(keys.shifts):
        before = rows if number == 0 else summed
        added = torch.from_numpy(where).to(rows.device)
        torch.addcmul(before[..., :-step], rows[..., step:], added, out=summed[..., :-step])
        if number == 0:
            summed[..., -step:] = rows[..., -step:]
    if len(queries.extra):
        opens = _tensor(queries.lead[queries.place], rows)
        summed.index_add_(1, opens, summed.index_select(1, _tensor(queries.extra, rows)))
    return summed


def _pick(rows: torch.Tensor, queries: _Joining, keys: _Joining, scratch: Scratch) -> torch.Tensor:
    """Return the cells (heads, units, units) of tokens that open units."""
    heads, _, width = rows.shape
    joined = scratch.take("joined", (heads, len(queries.lead), len(keys.lead)))
    cells = (queries.lead[:, None] * width + keys.lead).reshape(-1)
    flat, picked = rows.view(heads, -1), joined.view(heads, -1)
    if rows.device.type == "cpu" and torch.get_num_threads() == 1:  # a quarter faster than torch's choice
        np.take(flat.numpy(), cells, axis=1, out=picked.numpy(), mode="clip")
    else:
        torch.gather(flat, 1, _tensor(cells, rows).expand(heads, -1), out=picked)
    return joined


def _join_rows(rows: torch.Tensor, joining: _Joining) -> torch.Tensor:
    """Sum queries (heads, rows, keys) by unit (heads, units, keys)."""
    joined = rows.index_select(1, _tensor(joining.lead, rows))
    if len(joining.extra):
        joined.index_add_(1, _tensor(joining.place, rows), rows.index_select(1, _tensor(joining.extra, rows)))
    return joined


def _tensor(places: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(places).to(like.device)
