"""The sums of a shard for contrasts against word class, and the scores that are written once it is read.

The formula is that of ``headroles.plans.class_profile``.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headroles.extraction.scoring.classes.layout import BagMeaning, Questions
from headroles.extraction.scoring.classes.profile import Table, Totals, profile, sum_bags
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.class_profile import LEAST, ClassSpace, split_in_halves
from headroles.plans.word_pairs import CELLS

HEADS = 72
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
        other = ~np.repeat(self.halves[asked.place], np.diff(asked.opens))
        wanted, index = _number(asked.cell + CELLS * other)
        scores, space = values.reshape(*values.shape[:2], -1), self.space
        column, distance, share = (
            np.array(own)[asked.contrast] for own in (space.columns, space.distance, space.share)
        )
        for start in range(0, scores.shape[2], HEADS):
            heads = slice(start, start + HEADS)
            mass, seen = (
                torch.cat([getattr(batch, name)[:, heads] for batch in self._batches])
                for name in ("mass", "seen")
            )
            profiles = [
                profile(self._totals(half, heads), wanted[wanted // CELLS == half] - half * CELLS)
                for half in range(2)
            ]
            expected = _expected(asked, index, torch.cat(profiles), mass)
            matched = scores[distance, asked.answer, heads]
            scores[column, asked.answer, heads] = (seen - expected).numpy() - share[:, None] * matched
        cells[column, asked.answer] = np.diff(asked.answer_opens)
        low[column], high[column] = -1 - share, 1 + share

    def _totals(self, half: int, heads: slice) -> Totals:
        """Return the sums of one half by cell, for some heads."""
        parts = []
        for batch in self._batches:
            own = batch.bags.cells
            rows = slice(*np.searchsorted(own, (half * CELLS, (half + 1) * CELLS)))
            parts.append((own[rows] - half * CELLS, batch.cells[rows, heads], batch.bags.pairs[rows]))
        cells, sums, pairs = zip(*parts, strict=True)
        return Totals(np.concatenate(cells), torch.cat(sums), np.concatenate(pairs))


def _expected(asked: Questions, index: np.ndarray, profile: Table, mass: Table) -> Table:
    """Return the attention (answers, heads) that a profile puts on the counted pairs, as a mean.

    Args:
        asked: The questions.
        index: Row in the profile of the cell of each of their pairs.
        profile: f of all cells (rows, heads).
        mass: Attention of each attending word on all words it is compared with (queries, heads).
    """
    whole = sum_bags(profile, index, asked.opens)
    rate = torch.where(whole > 0, mass / whole, 0.0)
    rows = torch.from_numpy(index[asked.counted])
    pairs = rate[torch.from_numpy(asked.asked)].mul_(profile[rows])
    number = np.diff(asked.answer_opens)
    return sum_bags(pairs, np.arange(len(pairs)), asked.answer_opens, np.repeat(1 / number, number))


def _number(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of both halves that occur, sorted, and the place of each key among them."""
    there = np.zeros(2 * CELLS, dtype=np.bool_)
    there[keys] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[keys]


def _join(parts: Sequence[Questions]) -> Questions:
    """Join the questions of all batches."""
    queries, pairs = (
        np.cumsum([0, *(len(getattr(own, name)) for own in parts)]) for name in ("place", "cell")
    )
    counted = np.cumsum([0, *(len(own.counted) for own in parts)])

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(own, name) for own in parts])

    def shifted(name: str, first: np.ndarray, last: int | None = None) -> np.ndarray:
        return np.concatenate(
            [getattr(own, name)[:last] + before for own, before in zip(parts, first, strict=False)]
        )

    return Questions(
        place=joined("place"),
        opens=np.append(shifted("opens", pairs, -1), pairs[-1]),
        cell=joined("cell"),
        answer=joined("answer"),
        contrast=joined("contrast"),
        answer_opens=np.append(shifted("answer_opens", counted, -1), counted[-1]),
        counted=shifted("counted", pairs),
        asked=shifted("asked", queries),
    )
