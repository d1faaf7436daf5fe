"""The sums of a shard for contrasts against word class, and the scores that are written once it is read.

The formula is that of ``headroles.plans.class_profile``.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headroles.extraction.scoring.classes.layout import BagMeaning, Questions
from headroles.extraction.scoring.classes.profile import Table, Totals, profile
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.class_profile import LEAST, ClassSpace, split_in_halves
from headroles.plans.word_pairs import CELLS, OPENS

HEADS = 36
"""Heads whose profiles are computed at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """The sums of a batch: of its cells, of its attending words, and of its answers."""

    bags: BagMeaning
    cells: Table
    mass: Table
    seen: Table


class ClassTable:
    """The sums of a shard for one space of contrasts."""

    def __init__(self, space: ClassSpace, tokenised: Sequence[Tokenised], units: Sequence[str]) -> None:
        """Split the inputs in halves, and count their tokens.

        Args:
            space: The columns.
            tokenised: All inputs of the shard.
            units: Unit of each.
        """
        self.space = space
        self.halves = split_in_halves(units, [given.size for given in tokenised])
        self.counts = Counter(token.lower() for given in tokenised for token in given.tokens)
        self._batches: list[_Batch] = []

    def add(self, bags: BagMeaning, sums: Table) -> None:
        """Add the sums of a batch (bags, layers × heads)."""
        first = len(bags.cells)
        last = first + len(bags.questions.place)
        self._batches.append(_Batch(bags, sums[:first], sums[first:last], sums[last:]))

    def finish(self, values: np.ndarray, cells: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Write the scores of the columns (columns, inputs, layers, heads), numbers of pairs and bounds.

        Nothing is written where a half has fewer than ``LEAST`` sentences. The sums are dropped.
        """
        groups = np.array([batch.bags.groups for batch in self._batches]).reshape(-1, 2).sum(axis=0)
        if groups.min() >= LEAST:
            self._write(values, cells, low, high)
        self._batches.clear()

    def _write(self, values: np.ndarray, cells: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Write the scores of the columns, where both halves have enough sentences."""
        asked = _join([batch.bags.questions for batch in self._batches])
        pairs = _number(asked, self.halves)
        halves = [self._half(half, pairs) for half in range(2)]
        scores, space = values.reshape(*values.shape[:2], -1), self.space
        column, distance, share = (
            np.array(own)[asked.contrast] for own in (space.columns, space.distance, space.share)
        )
        for start in range(0, scores.shape[2], HEADS):
            heads = slice(start, start + HEADS)
            mass, seen = (
                torch.cat([getattr(batch, name)[:, heads] for batch in self._batches]).numpy()
                for name in ("mass", "seen")
            )
            profiles = [self._profile(half, heads, pairs) for half in halves]
            matched = scores[distance, asked.answer, heads]
            expected = _expected(asked, pairs, halves, profiles, mass)
            scores[column, asked.answer, heads] = seen - expected - share[:, None] * matched
        cells[column, asked.answer] = np.diff(asked.answer_opens)
        low[column], high[column] = -1 - share, 1 + share

    def _half(self, half: int, pairs: "_Pairs") -> "_Half":
        """Return what the profiles of all heads have in common."""
        cells, even, others, edges = [], [], [], np.array([0, OPENS[1], CELLS]) + half * CELLS
        for batch in self._batches:
            own = batch.bags.cells
            begin, split, end = np.searchsorted(own, edges)
            cells.append((slice(begin, split), own[begin:split] - half * CELLS))
            even.append(batch.bags.even[begin:split])
            others.append((slice(split, end), np.searchsorted(pairs.known, own[split:end] - half * CELLS)))
        here = np.flatnonzero(pairs.second == half)
        return _Half(
            cells=[rows for rows, _ in cells],
            cell=np.concatenate([own for _, own in cells]),
            even=np.concatenate(even),
            others=[(rows, own - pairs.first) for rows, own in others],
            place=pairs.place[here],
            weight=pairs.even[here],
            query=pairs.query[here],
        )

    def _profile(self, half: "_Half", heads: slice, pairs: "_Pairs") -> tuple[np.ndarray, np.ndarray]:
        """Return the factors of one half's profile, for some heads: of the first table, and of others."""
        from headroles.extraction.scoring.classes.raking import rake

        sums = [batch.cells[rows, heads] for batch, rows in zip(self._batches, half.cells, strict=True)]
        observed = np.zeros((len(pairs.known) - pairs.first, sums[0].shape[1]))
        for batch, (rows, others) in zip(self._batches, half.others, strict=True):
            observed[others] += batch.cells[rows, heads].numpy()
        totals = Totals(half.cell, torch.cat(sums), half.even)
        first = profile(totals, pairs.known[: pairs.first]).contiguous().numpy()
        opens = np.searchsorted(pairs.known, [*OPENS[1:], CELLS]) - pairs.first
        return first, rake(first, half.place, half.weight, observed, opens)


@dataclass(frozen=True, slots=True, eq=False)
class _Half:
    """One half of a shard, for all heads.

    Attributes:
        cells: Rows of each batch that are cells of the first table.
        cell: These cells, of one batch after another.
        even: Even attention on each.
        others: Rows of each batch that are other cells, and their factors.
        place: Of its pairs, as in ``_Pairs``.
        weight: One over the words of the sentence of each pair.
        query: Attending word of each pair.
    """

    cells: list[slice]
    cell: np.ndarray
    even: np.ndarray
    others: list[tuple[slice, np.ndarray]]
    place: np.ndarray
    weight: np.ndarray
    query: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """The compared pairs of a shard.

    Attributes:
        known: The cells that occur, sorted.
        first: Number of those of the first table.
        place: Row of each pair among the cells of the first table, then its rows among all others.
        query: Its attending word.
        even: One over the words of its sentence.
        second: Its half.
    """

    known: np.ndarray
    first: int
    place: np.ndarray
    query: np.ndarray
    even: np.ndarray
    second: np.ndarray


def _number(asked: Questions, halves: np.ndarray) -> _Pairs:
    """Return the pairs that questions are about, with rows for their cells."""
    there = np.zeros(CELLS, dtype=np.bool_)
    there[asked.cell] = True
    known, number = np.flatnonzero(there), np.cumsum(there, dtype=np.int32) - 1
    first = int(np.count_nonzero(there[: OPENS[1]]))
    place = np.ascontiguousarray(number[asked.cell].T)
    place[:, 1:] -= first
    sizes = np.diff(asked.opens)
    query = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    even = (1 / asked.size).astype(np.float32)
    return _Pairs(known, first, place, query, even[query], halves[asked.place][query])


def _expected(
    asked: Questions,
    pairs: _Pairs,
    halves: list[_Half],
    profiles: list[tuple[np.ndarray, np.ndarray]],
    mass: np.ndarray,
) -> np.ndarray:
    """Return the attention (answers, heads) that profiles put on the counted pairs, as a mean.

    Args:
        asked: The questions.
        pairs: All pairs.
        halves: Both halves.
        profiles: The factors of both halves; a pair is compared with those of the half it is not in.
        mass: Attention of each attending word on all words it is compared with (queries, heads).
    """
    from headroles.extraction.scoring.classes.raking import products

    found = np.empty((len(asked.counted), mass.shape[1]), dtype=np.float32)
    for half, (first, factor) in enumerate(profiles):
        other = halves[1 - half]
        whole = products(first, factor, other.place, np.ones_like(other.weight), other.query, len(mass))
        rate = np.divide(mass, whole, out=np.zeros_like(mass), where=whole > 0, casting="same_kind")
        own = np.flatnonzero(pairs.second[asked.counted] != half)
        place = pairs.place[asked.counted[own]]
        found[own] = rate[asked.asked[own]] * first[place[:, 0]]
        for table in range(1, place.shape[1]):
            found[own] *= factor[place[:, table]]
    sums: np.ndarray = np.add.reduceat(found, asked.answer_opens[:-1], axis=0, dtype=np.float64)
    return sums / np.diff(asked.answer_opens)[:, None]


def _join(parts: Sequence[Questions]) -> Questions:
    """Join the questions of all batches."""
    queries, pairs = (
        np.cumsum([0, *(getattr(own, name).shape[-1] for own in parts)]) for name in ("place", "cell")
    )
    counted = np.cumsum([0, *(len(own.counted) for own in parts)])

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(own, name) for own in parts], axis=-1)

    def shifted(name: str, first: np.ndarray, last: int | None = None) -> np.ndarray:
        return np.concatenate(
            [getattr(own, name)[:last] + before for own, before in zip(parts, first, strict=False)]
        )

    return Questions(
        place=joined("place"),
        opens=np.append(shifted("opens", pairs, -1), pairs[-1]),
        cell=joined("cell"),
        size=joined("size"),
        answer=joined("answer"),
        contrast=joined("contrast"),
        answer_opens=np.append(shifted("answer_opens", counted, -1), counted[-1]),
        counted=shifted("counted", pairs),
        asked=shifted("asked", queries),
    )
