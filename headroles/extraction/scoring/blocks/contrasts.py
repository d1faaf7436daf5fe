"""Contrasts from blocks of rows: sums by offset and by query, and the attention expected from them."""

from threading import Lock

import numpy as np
import torch
from jaxtyping import Float, Int

from headroles.extraction.scoring.blocks.diagonals import add_diagonals
from headroles.extraction.scoring.blocks.offset_keys import OffsetKeys
from headroles.extraction.scoring.blocks.units import Units
from headroles.plans.even import row_blocks
from headroles.plans.plan import LongProfile


class OffsetSums:
    """The sums of a layer that one profile needs: attention by offset, and of attending tokens and units.

    Attributes:
        profile: The profile.
        compared: 1 on the tokens of compared units, as a set of keys; no set where pairs have a scope.
    """

    def __init__(self, profile: LongProfile, heads: int, device: torch.device) -> None:
        """Take a profile, the number of heads, and the device of the attention."""
        self.profile = profile
        spread, unit, taken = profile.spread, profile.unit, profile.taken
        share = taken / spread.pieces
        blind = spread.room == 0
        compared = (unit >= 0) & taken[unit]
        weight = np.where((unit >= 0) & ~blind, share[unit], 0.0)
        sets = [compared] if profile.scope is None else []  # at most one
        self.compared = np.array(sets, dtype=np.float32).reshape(-1, len(unit)).T
        self._units = None if spread.plain else Units(unit, spread.pieces, device)
        self._share = torch.from_numpy(share.astype(np.float32)).to(device)
        self._weight = torch.from_numpy(weight.astype(np.float32)).to(device)
        self._seeing = torch.from_numpy((~blind).astype(np.float32)).to(device) if blind.any() else None
        self._keys: OffsetKeys | None = None
        self._lock = Lock()
        if profile.scope is None and device.type == "cpu":
            self._keys = OffsetKeys.of(np.where(compared, unit, -1), len(taken), profile.apart)
        units, listed = len(taken), profile.listed
        order = np.argsort(listed.output, kind="stable")
        self._query, self._even = listed.query[order], listed.weight[order]
        self._offset = listed.key[order] - self._query + units - 1
        self._which, self._opens = np.unique(listed.output[order], return_index=True)
        exact = torch.float32 if self._keys is None else torch.float64
        self._tokens = torch.zeros((heads, len(unit)), device=device)
        self._offsets = torch.zeros((heads, 2 * units - 1), dtype=exact, device=device)
        self._masses = torch.zeros((heads, units), dtype=exact, device=device)

    def add(self, start: int, rows: torch.Tensor, first: int, mass: torch.Tensor, heads: slice) -> None:
        """Add attention (heads, rows, keys) of queries from ``start`` to keys from ``first``.

        Args:
            start: The first query.
            rows: Its and the next queries' attention, contiguous.
            first: The first key.
            mass: Attention of these queries on ``compared`` (heads, rows, sets).
            heads: The heads of the rows.
        """
        own = slice(start, start + rows.shape[1])
        if mass.shape[2]:
            self._tokens[heads, own] += mass[:, :, 0] * self._weight[own]
        if self._keys is not None:
            self._add_by_loop(start, rows, first, heads)
            return
        if self._seeing is not None:
            rows = rows * self._seeing[own, None]
        if self._units is None:
            self._add(start, rows, first, heads)
            return
        with self._lock:  # the memory of joined rows is used again
            block = self._units.gather(start, rows, first)
            if block is not None:
                self._add(*block, heads)

    def take(self, offsets: torch.Tensor, tokens: torch.Tensor) -> None:
        """Take the sums of a layer from elsewhere.

        Args:
            offsets: Attention by offset (heads, offsets).
            tokens: Attention of each token on the compared ones, times its weight (heads, tokens).
        """
        self._offsets.copy_(offsets)
        self._tokens.copy_(tokens)

    def _add_by_loop(self, start: int, rows: torch.Tensor, first: int, heads: slice) -> None:
        """Add rows on a CPU by a compiled loop, in a tenth of the time that torch takes."""
        from headroles.extraction.scoring.blocks.offsets import add_offsets

        assert self._keys is not None, "pairs have no scope"
        own = slice(start, start + rows.shape[1])
        queries = self.profile.unit[own].astype(np.int64), self._weight[own].numpy()
        sums, itself = self._offsets[heads].numpy(), self._masses[heads].numpy()
        add_offsets(sums, itself, rows.numpy(), first, queries, self._keys)

    def _add(self, start: int, rows: torch.Tensor, first: int, heads: slice) -> None:
        """Add rows of consecutive units, to consecutive units."""
        _, count, width = rows.shape
        own, keys = slice(start, start + count), slice(first, first + width)
        share, taken = self._share[own], self.profile.taken[keys]
        if self.profile.scope is not None:
            inside = np.ascontiguousarray(self.profile.scope.rows(own.start, own.stop)[:, keys])
            rows = rows * torch.from_numpy(inside.astype(np.float32)).to(rows.device)
            taken = np.ones(width, dtype=np.bool_)
            self._masses[heads, own] += rows.sum(2) * share
        low, high = max(start, first), min(start + count, first + width)
        if self.profile.apart and high > low:
            itself = rows[:, low - start : high - start, low - first : high - first].diagonal(0, 1, 2)
            self._masses[heads, low:high] -= itself * self._share[low:high]
        add_diagonals(self._offsets[heads], rows, share, taken, first - start + len(self.profile.taken) - 1)

    def expected(self) -> np.ndarray:
        """Return the attention (contrasts, heads) that distance profiles of heads put on counted cells.

        The sums begin again for the next layer.
        """
        profile = self.profile
        offsets = self._offsets.cpu().numpy().astype(np.float64)
        if profile.apart:
            offsets[:, len(profile.taken) - 1] = 0.0
        masses = self._masses.cpu().numpy().astype(np.float64)
        masses += _by_unit(self._tokens.cpu().numpy(), profile.unit, len(profile.taken))
        for sums in (self._offsets, self._tokens, self._masses):
            sums.zero_()
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
        if len(self._offset):
            cells = curve.take(self._offset, axis=1) * rate.take(self._query, axis=1)
            cells *= self._even
            expected[self._which] += np.add.reduceat(cells, self._opens, axis=1).T
        return expected


def _by_unit(
    tokens: Float[np.ndarray, "heads tokens"], unit: Int[np.ndarray, " tokens"], units: int
) -> Float[np.ndarray, "heads units"]:
    """Sum over the tokens of each unit, in float64."""
    inside = unit >= 0
    return np.stack([np.bincount(unit[inside], own[inside], minlength=units) for own in tokens])


def _by_transform(profile: LongProfile, curve: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return Z (heads, units) and X of each contrast's sets, as correlations with f by Fourier transform."""
    rate = profile.rate
    assert rate is not None, "called only where there is one"
    units = len(profile.taken)
    level = profile.spread.pieces * profile.taken
    length = 1 << (2 * units).bit_length()  # what goes around the circle meets places that are not read
    every = np.fft.rfft(curve[:, ::-1], length)

    def reached(keys: np.ndarray, transformed: np.ndarray = every) -> np.ndarray:
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
    offset = np.arange(1 - units, units)
    for weights in profile.weighed:
        transformed, band = every, weights.band
        if band is not None:
            inside = (offset >= band.low) & (offset <= band.high)
            transformed = np.fft.rfft((curve * inside)[:, ::-1], length)
        for number, keys in enumerate(weights.keys.T):
            sets[weights.output] += reached(keys, transformed) * (weights.label == number)
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
            weighted += [(sets[own.output], level * own.rows(start, stop)) for own in profile.weighed]
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
