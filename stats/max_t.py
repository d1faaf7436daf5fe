"""Step-down max-t: p values adjusted by the joint distribution of all heads' statistics.

Heads are strongly dependent (they see the same inputs, and compete for them). Instead of assuming the
worst, all heads of a family are resampled together, and the largest statistic of each resample shows how
large the largest of many null statistics is. Source: Romano and Wolf (2005), Exact and approximate
stepdown methods for multiple hypothesis testing, JASA 100; Westfall and Young (1993) for sign flips.

Null of a head, in each direction: its mean is on the wrong side of θ. Unit: one row, all heads at once.
``bootstrap`` (default) centres every head at its own mean and studentises; it is asymptotic, with no
assumption of symmetry. ``sign-flip`` flips scores − θ of all heads together; it needs joint symmetry
about θ and fails under skew (family-wise error 0.10 to 0.28 measured on real scores). A direction that
makes a claim about the contrast, too, takes the smaller of the two statistics, and the larger of the two
resampled ones: at least one of the two nulls is true, and it is not known which.

A head without spread does not move under resampling. A head that rests on few units moves too much: a
resample without these units has hardly any spread, so its statistic is enormous, and no other head reaches
it. Both kinds are corrected by Holm's method, with their share of alpha. A sample that lacks rare units gives
no sign of them, so callers correct the p of missing units, too (``families.adjust_missing``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.rules.rule import Decision
from headroles.stats.columns import Column
from headroles.stats.correction import adjust
from headroles.stats.draws import bootstrap_counts, flips_are_exact, sign_flips
from headroles.stats.methods.resampling import studentise

CLOSE = 1e-9
"""Statistics this close, relative to their size, count as equal."""
HELD = 15 / 16
"""Share of the squared deviations without which a head has a quarter of its standard deviation left."""
SPENT = 0.1
"""Largest part of a head's level (alpha/tests) that resamples without the units with its spread may take."""


@dataclass(frozen=True, slots=True)
class Direction:
    """The claim of a direction: on which side of θ the means lie.

    Attributes:
        side: 1 for above, −1 for below.
        joint: Whether the claim holds of the contrast, too.
    """

    side: int
    joint: bool


DIRECTIONS = (Direction(1, joint=True), Direction(-1, joint=False))
"""Role, and not."""


@dataclass(frozen=True, slots=True, eq=False)
class CentredScores:
    """Centred scores of one column, ready for products with draws.

    Attributes:
        observed: Studentised distance of the mean from θ, per head; NaN where it cannot be tested.
        first: Values whose weighted sums are taken; 0 where a unit has none.
        second: Its square.
        present: 1 where a unit has a value; None when all have.
        count: Units of each head.
    """

    observed: Float[np.ndarray, " heads"]
    first: Float[np.ndarray, "units heads"]
    second: Float[np.ndarray, "units heads"]
    present: Float[np.ndarray, "units heads"] | None
    count: Float[np.ndarray, " heads"]

    def statistics(self, weights: Float[np.ndarray, "draws units"], flips: bool) -> np.ndarray:
        """Return studentised means of the draws."""
        if flips:  # squares do not change with the sign
            return studentise(weights @ self.first, self.second.sum(axis=0)[None], self.count[None])
        count = self.count[None] if self.present is None else weights @ self.present
        return studentise(weights @ self.first, weights @ self.second, count)


def centred_scores(
    column: Column, heads: slice, tested: Bool[np.ndarray, " heads"], flips: bool
) -> CentredScores:
    """Return the tested heads of a column: centred at θ for sign flips, else each at its own mean."""
    values = column.values[:, heads][:, tested]
    known = ~np.isnan(values)
    count = known.sum(axis=0).astype(np.float64)
    total = np.where(known, values, 0.0).sum(axis=0)
    mean = total / np.maximum(count, 1)
    own = np.where(known, values - mean, 0.0)
    spread = np.sqrt((own * own).sum(axis=0) / np.maximum(count - 1, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (mean - column.rule.margin) / (spread / np.sqrt(count))
    first = np.where(known, values - column.rule.margin, 0.0) if flips else own
    present = None if known.all() else known.astype(np.float64)
    return CentredScores(observed, first, first * first, present, count)


def collapse_rate(values: Float[np.ndarray, "units heads"]) -> Float[np.ndarray, " heads"]:
    """Return the probability that a resample leaves a head hardly any spread.

    The k units with the largest (x − mean)² hold 15/16 of the sum, k as small as possible. None of them is
    drawn with probability (1 − k/n)^n, about e^−k; the others have a quarter of the standard deviation. One
    outlier above a constant has 0.37, normal scores of 30 units less than 1e-6.

    Args:
        values: Scores of n units per head; NaN where a unit has none.

    Returns:
        Probabilities; 1 for heads without any spread.

    Example:
        >>> scores = np.stack([np.eye(60)[0], np.arange(60)], axis=1)
        >>> collapse_rate(scores).round(2).tolist()
        [0.36, 0.0]
    """
    known = ~np.isnan(values)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    square = np.where(known, values - mean, 0.0) ** 2
    total = square.sum(axis=0)
    held = np.sort(square, axis=0)[::-1].cumsum(axis=0)
    holders = np.where(total > 0, 1 + (held < HELD * total).sum(axis=0), 0)
    rate: np.ndarray = (1 - np.minimum(holders / max(len(values), 1), 1.0)) ** len(values)
    return rate


class StepDown:
    """One direction of one family, which counts how often null statistics reach the observed.

    Args:
        observed: Statistics of the heads that are resampled.
    """

    def __init__(self, observed: Float[np.ndarray, " heads"]) -> None:
        """Order the heads by their statistics."""
        self._order = np.argsort(-observed, kind="stable")
        self._observed = observed[self._order]
        self._reached = np.zeros(observed.size)
        self._draws = 0

    def add(self, drawn: Float[np.ndarray, "draws heads"]) -> None:
        """Count a block of draws."""
        largest = np.maximum.accumulate(drawn[:, self._order[::-1]], axis=1)[:, ::-1]
        self._reached += (largest >= self._observed - CLOSE * np.abs(self._observed)).sum(axis=0)
        self._draws += len(drawn)

    def adjusted(self, own: int) -> Float[np.ndarray, " heads"]:
        """Return adjusted p; ``own`` is 1 when the data themselves count as a draw."""
        p = np.empty(self._order.size)
        p[self._order] = np.maximum.accumulate((own + self._reached) / (own + self._draws))
        return p


Parts = Sequence[tuple[int, slice]]
Grid = Float[np.ndarray, "sieves heads"]


class _Family:
    """One family in one run: a step-down procedure for each direction, over the heads that it resamples.

    Args:
        parts: Positions of its sieves, and ranges of their heads.
        study: What all families share.
    """

    def __init__(self, parts: Parts, study: "_Study") -> None:
        """Find the heads that every direction resamples, and centre their scores."""
        self.parts, self._flips = parts, study.flips
        self.p, self.moving = study.choose_heads(parts)
        used = np.logical_or.reduce(self.moving)
        self._picked = [moving[used] for moving in self.moving]
        self._pairs, start = list[tuple[CentredScores, CentredScores | None]](), 0
        for k, part in parts:
            heads = used[start : start + part.stop - part.start]
            start += heads.size
            main, *other = (
                centred_scores(study.columns[column], part, heads, study.flips)
                for column in (k, study.contrast_of.get(k))
                if column is not None
            )
            self._pairs.append((main, other[0] if other else None))
        observed = [(main.observed, other.observed if other else None) for main, other in self._pairs]
        self.steps = [StepDown(joined) for joined in self._join(observed, np.minimum)]

    def _join(
        self, pairs: Sequence[tuple[np.ndarray, np.ndarray | None]], towards: np.ufunc
    ) -> Iterator[np.ndarray]:
        """Yield the statistics of each direction, joined with those of contrasts that it makes a claim of."""
        for direction, picked in zip(DIRECTIONS, self._picked, strict=False):
            joined = [
                towards(direction.side * main, direction.side * other)
                if direction.joint and other is not None
                else direction.side * main
                for main, other in pairs
            ]
            yield np.concatenate(joined, axis=-1)[..., picked]

    def add(self, weights: Float[np.ndarray, "draws units"]) -> None:
        """Count a block of draws."""
        drawn = [
            (main.statistics(weights, self._flips), other.statistics(weights, self._flips) if other else None)
            for main, other in self._pairs
        ]
        for step, joined in zip(self.steps, self._join(drawn, np.maximum), strict=True):
            step.add(joined)


@dataclass(frozen=True, slots=True, eq=False)
class _Study:
    """Columns, unadjusted p and collapse rates of a run, which all families share."""

    columns: Sequence[Column]
    contrast_of: dict[int, int]
    p: tuple[Grid, ...]
    collapse: Float[np.ndarray, "columns heads"]
    decision: Decision

    @property
    def flips(self) -> bool:
        """Whether signs are flipped, which leaves all squares as they are."""
        return self.decision.test == "sign-flip"

    def choose_heads(self, parts: Parts) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the p of a family's heads and which heads are resampled, for each direction.

        Resampled are heads that can be tested and do not rest on few units.
        """
        chosen_p, moving = [], []
        for direction, side in zip(DIRECTIONS, self.p, strict=False):
            own = [side[k, part] for k, part in parts]
            tests = sum(int((~np.isnan(p)).sum()) for p in own)
            held = [np.zeros(p.shape, dtype=np.bool_) for p in own]
            for (k, part), fixed in zip(parts, held, strict=True):
                for column in self._claims(k, direction):
                    fixed |= self.collapse[column, part] * tests > SPENT * self.decision.alpha
            chosen_p.append(np.concatenate(own))
            moving.append(~np.isnan(chosen_p[-1]) & ~np.concatenate(held))
        return chosen_p, moving

    def _claims(self, k: int, direction: Direction) -> list[int]:
        """Return the columns that a direction claims something about."""
        other = self.contrast_of.get(k)
        return [k, other] if direction.joint and other is not None else [k]


def max_t(
    columns: Sequence[Column],
    contrast_of: dict[int, int],
    families: Sequence[Parts],
    p: tuple[Grid, ...],
    still: Bool[np.ndarray, "columns heads"],
    decision: Decision,
) -> tuple[Grid, ...]:
    """Return adjusted p of every sieve and head, one array for each direction.

    Args:
        columns: All columns, on the same units.
        contrast_of: Position of each sieve's contrast, where it has one.
        families: Parts that are corrected together.
        p: Unadjusted p of roles, and of nots where there are two (``DIRECTIONS``); NaN where nothing could
            be tested.
        still: Heads of each column without spread, which no resampling moves. They, and heads that hang
            on a few units (``collapse_rate`` times the tests of the family exceeds a tenth of alpha), are
            corrected by Holm's method at their share of alpha; the others get the rest.
        decision: Test, resamples, seed and alpha.

    Returns:
        Values at least as large as p; NaN where p is NaN.
    """
    flips, units = decision.test == "sign-flip", len(columns[0].values)
    collapse = still.astype(np.float64)
    if not flips:
        collapse = np.maximum(collapse, np.stack([collapse_rate(column.values) for column in columns]))
    study = _Study(columns, contrast_of, p, collapse, decision)
    joint = [_Family(parts, study) for parts in families]
    draw = sign_flips if flips else bootstrap_counts
    for weights in draw(units, decision.resamples, decision.seed):
        for family in joint:
            family.add(weights)
    own = 0 if flips and flips_are_exact(units, decision.resamples) else 1
    adjusted = tuple(np.full(side.shape, np.nan) for side in p)
    for family in joint:
        for step, moving, side, q in zip(family.steps, family.moving, family.p, adjusted, strict=True):
            row, start = _merge(step.adjusted(own), moving, side), 0
            for k, part in family.parts:
                q[k, part] = row[start : start + part.stop - part.start]
                start += part.stop - part.start
    return adjusted


def _merge(
    resampled: Float[np.ndarray, " moving"],
    moving: Bool[np.ndarray, " heads"],
    p: Float[np.ndarray, " heads"],
) -> Float[np.ndarray, " heads"]:
    """Return adjusted p of a family: heads resampled and heads corrected by Holm's method share alpha.

    Each of the two parts has the share of alpha that it has of the tests.
    """
    rest = ~moving & ~np.isnan(p)
    q = np.full(p.shape, np.nan)
    for part, values in ((moving, resampled), (rest, adjust(p[rest], "holm"))):
        if part.any():
            q[part] = values * ((moving | rest).sum() / part.sum())
    adjusted: np.ndarray = np.minimum(np.maximum(q, p), 1.0)
    return adjusted
