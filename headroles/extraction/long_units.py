"""Blocks of attention between tokens, joined to attention between units."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

OFTEN = 64
"""Keys are shifted as one where at least one of so many continues a unit; fewer are taken one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Joining:
    """How tokens in a row are joined.

    Attributes:
        low: First unit among them.
        high: One past the last.
        lead: Token that opens each unit; none when the units do not follow each other.
        shifts: Tokens back to the one that opens the unit, and where to add what lies so far ahead.
        extra: The other tokens that continue a unit.
        place: Which unit each of ``extra`` continues.
    """

    low: int
    high: int
    lead: np.ndarray
    shifts: tuple[tuple[int, np.ndarray], ...]
    extra: np.ndarray
    place: np.ndarray


class Units:
    """Joins the keys and the queries of blocks of rows by unit."""

    def __init__(self, unit: Int[np.ndarray, " tokens"], pieces: Float[np.ndarray, " units"]) -> None:
        """Take the unit of each token (−1 for none), and tokens per unit."""
        self._unit, self._units = unit, len(pieces)
        self._queries: dict[tuple[int, int], _Joining | None] = {}
        self._keys: dict[tuple[int, int], _Joining | None] = {}

    def gather(self, start: int, rows: torch.Tensor, first: int) -> tuple[int, torch.Tensor, int] | None:
        """Attention of consecutive units to consecutive units, summed over both's tokens in a block of rows.

        A unit whose tokens lie in several blocks comes in parts, which add up.

        Args:
            start: The first query.
            rows: Attention (heads, rows, keys).
            first: The first key.

        Returns:
            The first unit that attends, its and the next ones' attention (heads, units, units), and the
            first unit attended to; None when the block has no unit.
        """
        queries = self._known(self._queries, start, rows.shape[1], 0)
        if len(self._keys) > 4:
            self._keys.clear()  # as wide as the input, and another for each block where later keys are hidden
        keys = self._known(self._keys, first, rows.shape[2], OFTEN)
        if queries is None or keys is None:
            return None
        return queries.low, _joined_keys(_joined_rows(rows, queries), keys), keys.low

    def _known(
        self, known: dict[tuple[int, int], _Joining | None], first: int, width: int, often: int
    ) -> _Joining | None:
        """How so many tokens from a first one on are joined, worked out once; None when none is of a unit."""
        if (first, width) not in known:
            known[first, width] = _joining(self._unit[first : first + width], often)
        return known[first, width]


def _joining(own: np.ndarray, often: int) -> _Joining | None:
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


def _joined_rows(rows: torch.Tensor, how: _Joining) -> torch.Tensor:
    """Queries (heads, rows, keys) by unit (heads, units, keys)."""
    if len(how.lead) == rows.shape[1]:
        return rows
    if len(how.lead):
        made = rows.index_select(1, _there(how.lead, rows))
    else:
        made = rows.new_zeros((rows.shape[0], how.high - how.low, rows.shape[2]))
    if len(how.extra):
        made.index_add_(1, _there(how.place, rows), rows.index_select(1, _there(how.extra, rows)))
    return made


def _joined_keys(rows: torch.Tensor, how: _Joining) -> torch.Tensor:
    """Keys (heads, units, keys) by unit (heads, units, units)."""
    summed = torch.empty_like(rows) if how.shifts else rows
    for number, (step, where) in enumerate(how.shifts):
        before = rows if number == 0 else summed
        added = torch.from_numpy(where).to(rows.device)
        torch.addcmul(before[..., :-step], rows[..., step:], added, out=summed[..., :-step])
        if number == 0:
            summed[..., -step:] = rows[..., -step:]
    if not len(how.lead):
        made = rows.new_zeros((*rows.shape[:2], how.high - how.low))
    elif rows.device.type == "cpu":  # ten times as fast as torch's own choice of columns
        made = torch.from_numpy(np.take(summed.numpy(), how.lead, axis=2))
    else:
        made = summed.index_select(2, _there(how.lead, rows))
    if len(how.extra):
        made.index_add_(2, _there(how.place, rows), rows.index_select(2, _there(how.extra, rows)))
    return made


def _there(places: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(places).to(like.device)
