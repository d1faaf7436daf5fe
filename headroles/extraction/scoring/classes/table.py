"""The sums of a shard for contrasts against word class, and the scores that are written once it is read.

The formula is that of ``headroles.plans.class_profile``.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from headroles.extraction.scoring.classes.layout import ClassLayout, Questions
from headroles.extraction.scoring.classes.profile import Table, Totals, number_cells, profile, sum_bags
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.class_profile import LEAST, ClassSpace, split_in_halves
from headroles.plans.word_pairs import CELLS

HEADS = 72
"""Heads whose profiles are computed at a time."""

Sums = Float32[np.ndarray, "bags heads"]


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """The sums of a batch: of its cells, of its attending words, and of its answers."""

    layout: ClassLayout
    cells: Sums
    mass: Sums
    seen: Sums


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

    def add(self, layout: ClassLayout, sums: Sums) -> None:
        """Add the sums of a batch (bags, layers × heads)."""
        first = len(layout.cells)
        last = first + len(layout.questions.place)
        self._batches.append(_Batch(layout, sums[:first], sums[first:last], sums[last:]))

    def finish(self, values: np.ndarray, cells: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Write the scores of the columns (columns, inputs, layers, heads), numbers of pairs and bounds.

        Nothing is written where a half has fewer than ``LEAST`` sentences.
        """
        groups = np.array([batch.layout.groups for batch in self._batches]).reshape(-1, 2).sum(axis=0)
        if groups.min() < LEAST:
            return
        asked = _join([batch.layout.questions for batch in self._batches])
        other = ~np.repeat(self.halves[asked.place], np.diff(asked.opens))
        wanted, index = number_cells(asked.cell + CELLS * other, 2 * CELLS)
        scores, space = values.reshape(*values.shape[:2], -1), self.space
        column, distance, share = (
            np.array(own)[asked.contrast] for own in (space.columns, space.distance, space.share)
        )
        for start in range(0, scores.shape[2], HEADS):
            heads = slice(start, start + HEADS)
            mass, seen = (
                np.concatenate([getattr(batch, name)[:, heads] for batch in self._batches])
                for name in ("mass", "seen")
            )
            profiles = [
                profile(self._totals(half, heads), wanted[wanted // CELLS == half] - half * CELLS)
                for half in range(2)
            ]
            expected = _expected(asked, index, np.concatenate(profiles), mass)
            matched = scores[distance, asked.answer, heads]
            scores[column, asked.answer, heads] = seen - expected - share[:, None] * matched
        cells[column, asked.answer] = np.diff(asked.answer_opens)
        low[column], high[column] = -1 - share, 1 + share

    def _totals(self, half: int, heads: slice) -> Totals:
        """Return the sums of one half by cell, for some heads."""
        parts = []
        for batch in self._batches:
            own = batch.layout.cells
            rows = slice(*np.searchsorted(own, (half * CELLS, (half + 1) * CELLS)))
            parts.append((own[rows] - half * CELLS, batch.cells[rows, heads], batch.layout.pairs[rows]))
        cells, sums, pairs = zip(*parts, strict=True)
        place, row = number_cells(np.concatenate(cells))
        return Totals(place, row, np.concatenate(sums, dtype=np.float64), np.concatenate(pairs))


def _expected(asked: Questions, index: np.ndarray, profile: Table, mass: np.ndarray) -> Table:
    """Return the attention (answers, heads) that a profile puts on the counted pairs, as a mean.

    Args:
        asked: The questions.
        index: Row in the profile of the cell of each of their pairs.
        profile: f of all cells (rows, heads).
        mass: Attention of each attending word on all words it is compared with (queries, heads).
    """
    whole = sum_bags(profile, index, asked.opens)
    rate = np.divide(mass, whole, out=np.zeros_like(whole), where=whole > 0)
    pairs = rate[asked.asked] * profile[index[asked.counted]]
    number = np.diff(asked.answer_opens)
    return sum_bags(pairs, np.arange(len(pairs)), asked.answer_opens, np.repeat(1 / number, number))


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
