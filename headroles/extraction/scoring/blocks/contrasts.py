"""Contrasts of long inputs: sums by offset and by query while rows pass by, and what is made of them.

Blocks of attention between tokens, joined to attention between units.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from headroles.plans.even import blocks
from headroles.plans.plan import LongProfile

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


class Curve:
    """What one profile needs of a layer: attention by offset, and by attending unit."""

    def __init__(self, profile: LongProfile, device: torch.device) -> None:
        """Take a profile, and where attention will lie."""
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
        """Take attention (heads, rows, keys) of queries ``start`` on to keys ``first`` on."""
        if self._seeing is not None:
            rows = rows * self._seeing[start : start + rows.shape[1], None]
        if self._units is None:
            self._shift(start, rows, first)
        elif (found := self._units.gather(start, rows, first)) is not None:
            self._shift(*found)

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
        view, shifted = self._laid(rows)
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
        """One over the pieces of the query on the compared pairs of a block (rows, keys), else 0."""
        scope = self.profile.scope
        if scope is None:
            return self._share[own, None] * self._taken[None, keys]
        inside = np.ascontiguousarray(scope.rows(own.start, own.stop)[:, keys])
        return self._share[own, None] * torch.from_numpy(inside).to(self._share)

    def _laid(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Where to write rows of keys, and the same room by offset (heads, rows, offsets), 0 elsewhere.

        Each row of the room is one place further left than the last. It is made once, as wide as all
        units, so that of what was written before only the cells right of narrower rows are to be cleared.
        """
        (heads, count, width), most = rows.shape, len(self.profile.taken)
        if self._room is None or self._room.shape[1] < count:
            self._room = rows.new_zeros((heads, count, most + count - 1))
        _, held, whole = self._room.shape
        view = self._room.as_strided((heads, count, most), (held * whole, whole - 1, 1), held - 1)
        view[:, :, width : width + count - 1] = 0.0
        return view[:, :, :width], self._room[:, :count, held - count : held - 1 + width]

    def expected(self) -> np.ndarray:
        """Attention (contrasts, heads) that the heads' distance profiles put on what contrasts count."""
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
                sets = [one + other for one, other in zip(sets, more, strict=True)]
        rate = np.divide(masses, normaliser, out=np.zeros_like(masses), where=normaliser > 0)
        made = np.stack([(rate * each).sum(axis=1) for each in sets])
        listed = profile.listed
        units = len(profile.taken)
        for head, (own, level) in enumerate(zip(curve, rate, strict=True)):
            there = own[listed.key.astype(np.int64) - listed.query + units - 1]
            there *= listed.weight * level[listed.query]
            made[:, head] += np.bincount(listed.output, there, minlength=len(made))
        return made


def _by_transform(profile: LongProfile, curve: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Z (heads, units) and X of the sets of each contrast, as correlations with f by Fourier transforms."""
    rate = profile.rate
    assert rate is not None, "asked only where there is one"
    units = len(profile.taken)
    level = profile.spread.pieces * profile.taken
    length = 1 << (3 * units).bit_length()
    transformed = np.fft.rfft(curve[:, ::-1], length)

    def reached(keys: np.ndarray) -> np.ndarray:
        product = transformed * np.fft.rfft(level * keys, length)
        found: np.ndarray = np.fft.irfft(product, length)[:, units - 1 : 2 * units - 1] * rate
        return found

    known = [reached(keys) for keys in profile.keys.T]
    sets = []
    for label, weight in zip(profile.label, profile.weight, strict=True):
        own = np.zeros((len(curve), units))
        for each in np.unique(label[label >= 0]):
            own += known[each] * np.where(label == each, weight, 0.0)
        sets.append(own)
    return reached(np.ones(units)), sets


def _by_rows(
    profile: LongProfile, curve: np.ndarray, *, all_of_it: bool
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The same row by row: all of it, where even attention has no simple form, or cells asked for by rows."""
    units, heads = len(profile.taken), len(curve)
    normaliser, *sets = (np.zeros((heads, units)) for _ in range(1 + len(profile.columns)))
    for start, stop in blocks(units):
        level = profile.spread.rows(start, stop) * _scope_rows(profile, start, stop)
        weighted = [
            (sets[each.output], level * each.mask.rows(start, stop) * each.weight[start:stop, None])
            for each in profile.rowwise
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
    """1 on the compared pairs of some units that attend."""
    if profile.scope is not None:
        return profile.scope.rows(start, stop)
    inside = profile.taken[start:stop, None] & profile.taken[None, :]
    if profile.apart:
        place = np.arange(start, stop)
        inside[place - start, place] = False
    made: np.ndarray = inside
    return made


def _toeplitz(curve: np.ndarray, start: int, stop: int) -> np.ndarray:
    """f(k − i) of queries i from ``start`` to ``stop`` (rows, units), as a view of f by offset."""
    units = (len(curve) + 1) // 2
    step = curve.itemsize
    view: np.ndarray = np.lib.stride_tricks.as_strided(
        curve[units - 1 - start :], (stop - start, units), (-step, step), writeable=False
    )
    return view
