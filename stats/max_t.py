"""Step-down max-t: p values adjusted by the joint distribution of all heads' statistics.

Heads are strongly dependent (they see the same inputs, and compete for them). Instead of assuming the
worst, all heads of a family are resampled together, and the largest statistic of each resample shows how
large the largest of many null statistics is. Source: Romano and Wolf (2005), Exact and approximate
stepdown methods for multiple hypothesis testing, JASA 100; Westfall and Young (1993) for sign flips.

Null of a head, either direction: its mean is on the wrong side of θ. Unit: one row, all heads at once.
``bootstrap`` (default) centres every head at its own mean and studentises; it is asymptotic, with no
assumption of symmetry. ``sign-flip`` flips scores − θ of all heads together; it needs joint symmetry
about θ and fails under skew (family-wise error 0.10 to 0.28 measured on real scores). A head with a
contrast is a role only if both lie beyond, so its statistic is the smaller of the two, and its
resampled one the larger (one of the two nulls is true, not known which). "not" is about the score alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.example import Decision
from headroles.stats.columns import Column
from headroles.stats.draws import bootstrap_counts, flips_are_exact, sign_flips
from headroles.stats.methods.resampling import studentise

CLOSE = 1e-9
"""Statistics this close, relative to their size, count as equal."""


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


class StepDown:
    """One family in one run, which counts draw by draw how often null statistics reach the observed.

    Args:
        mains: Tables of the sieves in the family, side by side.
        contrasts: That of each one's contrast; None where it has none.
    """

    def __init__(self, mains: Sequence[CentredScores], contrasts: Sequence[CentredScores | None]) -> None:
        """Order the heads by their statistics, in both directions."""
        self._mains, self._contrasts = mains, contrasts
        role, not_role = self._join(
            [
                (main.observed, other.observed if other else None)
                for main, other in zip(mains, contrasts, strict=True)
            ],
            np.fmin,
        )
        self._observed = (role, not_role)
        self._order = tuple(np.argsort(-side, kind="stable") for side in self._observed)
        self._reached = [np.zeros(role.size), np.zeros(role.size)]
        self._draws = 0

    @staticmethod
    def _join(
        pairs: Sequence[tuple[np.ndarray, np.ndarray | None]], towards: np.ufunc
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return statistics of roles and of nots of all sieves in a row, joined with their contrasts."""
        role = [main if other is None else towards(main, other) for main, other in pairs]
        not_role = [-main for main, _ in pairs]
        return np.concatenate(role, axis=-1), np.concatenate(not_role, axis=-1)

    def add(self, weights: Float[np.ndarray, "draws units"], flips: bool) -> None:
        """Count a block of draws."""
        pairs = [
            (main.statistics(weights, flips), other.statistics(weights, flips) if other else None)
            for main, other in zip(self._mains, self._contrasts, strict=True)
        ]
        for side, drawn in enumerate(self._join(pairs, np.fmax)):
            order = self._order[side]
            largest = np.maximum.accumulate(drawn[:, order[::-1]], axis=1)[:, ::-1]
            observed = self._observed[side][order]
            self._reached[side] += (largest >= observed - CLOSE * np.abs(observed)).sum(axis=0)
        self._draws += len(weights)

    def adjusted(self, own: int) -> tuple[Float[np.ndarray, " heads"], Float[np.ndarray, " heads"]]:
        """Return adjusted p of roles and of nots; ``own`` is 1 when the data themselves count as a draw."""
        adjusted = []
        for order, reached in zip(self._order, self._reached, strict=True):
            p = np.empty(order.size)
            p[order] = np.maximum.accumulate((own + reached) / (own + self._draws))
            adjusted.append(p)
        return adjusted[0], adjusted[1]


def unit_draws(units: int, decision: Decision) -> Iterator[Float[np.ndarray, "draws units"]]:
    """Yield blocks of draws: sign flips for the test of that name, else bootstrap resamples."""
    draw = sign_flips if decision.test == "sign-flip" else bootstrap_counts
    return draw(units, decision.resamples, decision.seed)


def max_t(
    columns: Sequence[Column],
    contrast_of: dict[int, int],
    families: Sequence[Sequence[tuple[int, slice]]],
    p: tuple[Float[np.ndarray, "sieves heads"], Float[np.ndarray, "sieves heads"]],
    still: Bool[np.ndarray, "sieves heads"],
    decision: Decision,
) -> tuple[Float[np.ndarray, "sieves heads"], Float[np.ndarray, "sieves heads"]]:
    """Return adjusted p of every sieve and head, for roles and for nots.

    Args:
        columns: All columns, on the same units.
        contrast_of: Position of each sieve's contrast, where it has one.
        families: Parts that are corrected together.
        p: Unadjusted p of both directions; NaN where nothing could be tested.
        still: Heads without spread, which no resampling moves: their exact p is multiplied by the
            tests of the family, and the others' pay for their share of alpha.
        decision: Test, resamples and seed.

    Returns:
        Values at least as large as p; NaN where p is NaN.
    """
    flips, units = decision.test == "sign-flip", len(columns[0].values)
    steps = []
    for family in families:
        mains, contrasts = [], []
        for k, part in family:
            tested = ~np.isnan(p[0][k, part]) & ~still[k, part]
            mains.append(centred_scores(columns[k], part, tested, flips))
            other = contrast_of.get(k)
            contrasts.append(None if other is None else centred_scores(columns[other], part, tested, flips))
        steps.append(StepDown(mains, contrasts))
    for weights in unit_draws(units, decision):
        for step in steps:
            step.add(weights, flips)
    own = 0 if flips and flips_are_exact(units, decision.resamples) else 1
    adjusted = tuple(np.full(side.shape, np.nan) for side in p)
    for family, step in zip(families, steps, strict=True):
        _fill(family, step.adjusted(own), p, still, adjusted)
    return adjusted[0], adjusted[1]


def _fill(
    family: Sequence[tuple[int, slice]],
    resampled: tuple[np.ndarray, np.ndarray],
    p: tuple[np.ndarray, np.ndarray],
    still: np.ndarray,
    adjusted: tuple[np.ndarray, ...],
) -> None:
    """Write the adjusted p of one family into their places."""
    tests = sum(int((~np.isnan(p[0][k, part])).sum()) for k, part in family)
    for side in (0, 1):
        moving, start = resampled[side], 0
        factor = tests / moving.size if moving.size else 1.0
        for k, part in family:
            own, rigid = p[side][k, part], still[k, part]
            q = np.where(rigid, own * tests, np.nan)
            tested = ~np.isnan(own) & ~rigid
            stop = start + int(tested.sum())
            q[tested] = moving[start:stop] * factor
            start = stop
            adjusted[side][k, part] = np.minimum(np.maximum(q, own), 1.0)
