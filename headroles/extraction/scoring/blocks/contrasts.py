"""Contrasts from blocks of rows: sums by offset and by query, and the attention expected from them.

``Units`` joins blocks of attention between tokens to attention between units.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from headroles.plans.even import row_blocks
from headroles.plans.plan import LongProfile

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

    def __init__(self, unit: Int[np.ndarray, " tokens"], pieces: Float[np.ndarray, " units"]) -> None:
        """Take the unit of each token (−1 for none), and tokens per unit."""
        self._unit, self._units = unit, len(pieces)
        self._queries: dict[tuple[int, int], _Joining | None] = {}
        self._keys: dict[tuple[int, int], _Joining | None] = {}

    def gather(self, start: int, rows: torch.Tensor, first: int) -> tuple[int, torch.Tensor, int] | None:
        """Sum a block of rows over the tokens of attending and attended units, both consecutive.

        A unit whose tokens lie in several blocks gives parts, which add up.

        Args:
            start: The first query.
            rows: Attention (heads, rows, keys).
            first: The first key.

        Returns:
            The first unit that attends, its and the next ones' attention (heads, units, units), and the
            first unit attended to; None when the block has no unit.
        """
        queries = self._joining(self._queries, start, rows.shape[1], 0)
        if len(self._keys) > 4:
            self._keys.clear()  # each is as wide as the input; hidden later keys give one for each block
        keys = self._joining(self._keys, first, rows.shape[2], OFTEN)
        if queries is None or keys is None:
            return None
        return queries.low, _join_keys(_join_rows(rows, queries), keys), keys.low

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


def _join_rows(rows: torch.Tensor, joining: _Joining) -> torch.Tensor:
    """Sum queries (heads, rows, keys) by unit (heads, units, keys)."""
    if len(joining.lead) == rows.shape[1]:
        return rows
    if len(joining.lead):
        joined = rows.index_select(1, _tensor(joining.lead, rows))
    else:
        joined = rows.new_zeros((rows.shape[0], joining.high - joining.low, rows.shape[2]))
    if len(joining.extra):
        joined.index_add_(1, _tensor(joining.place, rows), rows.index_select(1, _tensor(joining.extra, rows)))
    return joined


def _join_keys(rows: torch.Tensor, joining: _Joining) -> torch.Tensor:
    """Sum keys (heads, units, keys) by unit (heads, units, units)."""
    summed = torch.empty_like(rows) if joining.shifts else rows
    for number, (step, where) in enumerate(joining.shifts):
        before = rows if number == 0 else summed
        added = torch.from_numpy(where).to(rows.device)
        torch.addcmul(before[..., :-step], rows[..., step:], added, out=summed[..., :-step])
        if number == 0:
            summed[..., -step:] = rows[..., -step:]
    if not len(joining.lead):
        joined = rows.new_zeros((*rows.shape[:2], joining.high - joining.low))
    elif rows.device.type == "cpu":  # ten times as fast as torch's own choice of columns
        joined = torch.from_numpy(np.take(summed.numpy(), joining.lead, axis=2))
    else:
        joined = summed.index_select(2, _tensor(joining.lead, rows))
    if len(joining.extra):
        joined.index_add_(2, _tensor(joining.place, rows), rows.index_select(2, _tensor(joining.extra, rows)))
    return joined


def _tensor(places: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(places).to(like.device)


class OffsetSums:
    """The sums of a layer that one profile needs: attention by offset, and by attending unit."""

    def __init__(self, profile: LongProfile, device: torch.device) -> None:
        """Take a profile, and the device of the attention."""
        self.profile = profile
        spread = profile.spread
        self._units = None if spread.plain else Units(profile.unit, spread.pieces)
        self._taken = torch.from_numpy(profile.taken.astype(np.float32)).to(device)
        self._share = torch.from_numpy((profile.taken / spread.pieces).astype(np.float32)).to(device)
        blind = spread.room == 0
        self._seeing = torch.from_numpy((~blind).astype(np.float32)).to(device) if blind.any() else None
        self._room: torch.Tensor | None = None
        self._offsets: torch.Tensor | None = None
        self._masses: torch.Tensor | None = None

    def add(self, start: int, rows: torch.Tensor, first: int) -> None:
        """Add attention (heads, rows, keys) of queries from ``start`` to keys from ``first``."""
        if self._seeing is not None:
            rows = rows * self._seeing[start : start + rows.shape[1], None]
        if self._units is None:
            self._shift(start, rows, first)
        elif (block := self._units.gather(start, rows, first)) is not None:
            self._shift(*block)

    def _shift(self, start: int, rows: torch.Tensor, first: int) -> None:
        """Add rows of consecutive units by offset: each row lies one place further left than the last."""
        heads, count, width = rows.shape
        units = len(self.profile.taken)
        if self._offsets is None or self._masses is None:
            self._offsets, self._masses = (
                rows.new_zeros((heads, 2 * units - 1)),
                rows.new_zeros((heads, units)),
            )
        own = slice(start, start + count)
        view, shifted = self._shifted_room(rows)
        torch.mul(rows, self._compared(own, slice(first, first + width)), out=view)
        if self.profile.apart:
            low, high = max(start, first), min(start + count, first + width)
            if high > low:
                place = torch.arange(low, high, device=rows.device)
                view[:, place - start, place - first] = 0.0
        lowest = first - start - (count - 1) + units - 1
        self._offsets[:, lowest : lowest + width + count - 1] += shifted.sum(1)
        self._masses[:, own] += view.sum(2)

    def _compared(self, own: slice, keys: slice) -> torch.Tensor:
        """Return one over the pieces of the query on the compared pairs of a block (rows, keys), else 0."""
        scope = self.profile.scope
        if scope is None:
            return self._share[own, None] * self._taken[None, keys]
        inside = np.ascontiguousarray(scope.rows(own.start, own.stop)[:, keys])
        return self._share[own, None] * torch.from_numpy(inside).to(self._share)

    def _shifted_room(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a view to write rows of keys to, and the same memory by offset (heads, rows, offsets).

        Each row lies one place further left than the last, and other cells are 0. The memory is made once, as
        wide as all units, so that only the cells right of narrower rows have to be cleared.
        """
        (heads, count, width), most = rows.shape, len(self.profile.taken)
        if self._room is None or self._room.shape[1] < count:
            self._room = rows.new_zeros((heads, count, most + count - 1))
        _, held, whole = self._room.shape
        view = self._room.as_strided((heads, count, most), (held * whole, whole - 1, 1), held - 1)
        view[:, :, width : width + count - 1] = 0.0
        return view[:, :, :width], self._room[:, :count, held - count : held - 1 + width]

    def expected(self) -> np.ndarray:
        """Return the attention (contrasts, heads) that distance profiles of heads put on counted cells."""
        profile = self.profile
        assert self._offsets is not None, "a layer has rows"
        assert self._masses is not None
        offsets = self._offsets.cpu().numpy().astype(np.float64)
        masses = self._masses.cpu().numpy().astype(np.float64)
        self._offsets = self._masses = None
        curve = np.divide(offsets, profile.even, out=np.zeros_like(offsets), where=profile.even > 0)
        if profile.rate is None:
            normaliser, sets = _by_rows(profile, curve, all_of_it=True)
        else:
            normaliser, sets = _by_transform(profile, curve)
            if profile.rowwise:
                _, more = _by_rows(profile, curve, all_of_it=False)
                sets = [thin + other for thin, other in zip(sets, more, strict=True)]
        rate = np.divide(masses, normaliser, out=np.zeros_like(masses), where=normaliser > 0)
        expected = np.stack([(rate * reached).sum(axis=1) for reached in sets])
        listed = profile.listed
        units = len(profile.taken)
        for head, (own, level) in enumerate(zip(curve, rate, strict=True)):
            there = own[listed.key.astype(np.int64) - listed.query + units - 1]
            there *= listed.weight * level[listed.query]
            expected[:, head] += np.bincount(listed.output, there, minlength=len(expected))
        return expected


def _by_transform(profile: LongProfile, curve: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return Z (heads, units) and X of each contrast's sets, as correlations with f by Fourier transform."""
    rate = profile.rate
    assert rate is not None, "called only where there is one"
    units = len(profile.taken)
    level = profile.spread.pieces * profile.taken
    length = 1 << (3 * units).bit_length()
    transformed = np.fft.rfft(curve[:, ::-1], length)

    def reached(keys: np.ndarray) -> np.ndarray:
        product = transformed * np.fft.rfft(level * keys, length)
        sums: np.ndarray = np.fft.irfft(product, length)[:, units - 1 : 2 * units - 1] * rate
        return sums

    known = [reached(keys) for keys in profile.keys.T]
    sets = []
    for label, weight in zip(profile.label, profile.weight, strict=True):
        own = np.zeros((len(curve), units))
        for number in np.unique(label[label >= 0]):
            own += known[number] * np.where(label == number, weight, 0.0)
        sets.append(own)
    return reached(np.ones(units)), sets


def _by_rows(
    profile: LongProfile, curve: np.ndarray, *, all_of_it: bool
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the same row by row: all of it, where even attention has no simple form, or rowwise cells."""
    units, heads = len(profile.taken), len(curve)
    normaliser, *sets = (np.zeros((heads, units)) for _ in range(1 + len(profile.columns)))
    for start, stop in row_blocks(units):
        level = profile.spread.rows(start, stop) * _scope_rows(profile, start, stop)
        weighted = [
            (sets[cells.output], level * cells.mask.rows(start, stop) * cells.weight[start:stop, None])
            for cells in profile.rowwise
        ]
        if all_of_it:
            weighted.append((normaliser, level))
            for number, label in enumerate(profile.label):
                there = np.where(label[start:stop] >= 0, profile.weight[number, start:stop], 0.0)
                if there.any():
                    weighted.append(
                        (sets[number], level * profile.keys.T[label[start:stop]] * there[:, None])
                    )
        for head in range(heads):
            shifted = _toeplitz(curve[head], start, stop)
            for target, weight in weighted:
                target[head, start:stop] += np.einsum("ij,ij->i", shifted, weight)
    return normaliser, sets


def _scope_rows(profile: LongProfile, start: int, stop: int) -> np.ndarray:
    """Return 1 on the compared pairs of attending units ``start`` to ``stop``."""
    if profile.scope is not None:
        return profile.scope.rows(start, stop)
    inside = profile.taken[start:stop, None] & profile.taken[None, :]
    if profile.apart:
        place = np.arange(start, stop)
        inside[place - start, place] = False
    compared: np.ndarray = inside
    return compared


def _toeplitz(curve: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return f(k − i) of queries i from ``start`` to ``stop`` (rows, units), as a view of f by offset."""
    units = (len(curve) + 1) // 2
    step = curve.itemsize
    view: np.ndarray = np.lib.stride_tricks.as_strided(
        curve[units - 1 - start :], (stop - start, units), (-step, step), writeable=False
    )
    return view
