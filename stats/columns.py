"""Columns: the scores of one sieve over units, on the scale of score minus null, as tests take them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

import numpy as np
from jaxtyping import Float, Int

from headroles.records.example import Scores
from headroles.records.rules.rule import Rule
from headroles.stats.effects import design_effect
from headroles.stats.methods.closed_form import Outcome, bounded_outcome, has_no_spread
from headroles.stats.methods.names import METHODS
from headroles.stats.methods.reliance import extreme
from headroles.stats.moments import Sample, describe, unit_means
from headroles.stats.pooled import pooled_unit_values

SMALL = 2**22
"""Numbers of all columns together up to which they are kept: 32 MB."""
PART = 8
"""Scores for each number of all columns together with which these are kept: a quarter of their memory."""


@dataclass(frozen=True, eq=False)
class Column:
    """The scores of one sieve over units, ready to be tested.

    Attributes:
        rule: How it is judged; means of ``values`` are tested against its margin.
        values: Score minus null per unit and head (all layers in a row); NaN where there is none.
        null: Mean chance value over the units, per head; NaN where a head has no score.
        low: Smallest value possible; NaN when unknown.
        high: Largest value possible.
        examples: Count and spread of the examples, where ``values`` are of random groups of them; None
            where they are of units, whose count and spread they then are.
        stated: Smallest and largest value that can occur, stated before any data; NaN where none are.
        equal: Number of equally informative random groups of equal weight, per head; None where
            ``values`` are of units.
    """

    rule: Rule
    values: Float[np.ndarray, "units heads"]
    null: Float[np.ndarray, " heads"]
    low: float
    high: float
    examples: Sample | None = None
    equal: Float[np.ndarray, " heads"] | None = None
    stated: tuple[float, float] = (float("nan"), float("nan"))

    @cached_property
    def sample(self) -> Sample:
        """Moments of ``values``."""
        return describe(self.values)

    def counted(self, sample: Sample) -> Sample:
        """Return the moments that counts and spreads describe: of units, or of the examples of random groups.

        Args:
            sample: Moments of ``values``.
        """
        return sample if self.examples is None else self.examples

    def worst(self, side: int) -> Float[np.ndarray, " heads"]:
        """Return the worst value of a further unit for a claim above the margin (side 1) or below it (−1).

        It is the lowest or highest possible value; where that is not known, that of any unit, per head.
        """
        bound = self.low if side > 0 else self.high
        return extreme(self.values, -side) if np.isnan(bound) else np.full(self.values.shape[1], bound)

    def errors_beyond(self) -> Float[np.ndarray, " heads"]:
        """Return how many of its standard errors the mean lies beyond θ, signed; NaN without spread.

        The spread of ``values`` is the error, whatever is counted.
        """
        sample = self.sample
        spread = np.where(has_no_spread(self.counted(sample)), np.nan, sample.sd)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors: np.ndarray = (sample.mean - self.rule.margin) / spread * np.sqrt(sample.count)
        return errors


def unit_numbers(units: Sequence[str]) -> Int[np.ndarray, " examples"]:
    """Return the number of each example's unit; units are numbered in the order of first appearance."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(unit, len(seen)) for unit in units], dtype=np.int64)


def mean_over_units(
    values: Float[np.ndarray, "examples *shape"], units: Sequence[str]
) -> Float[np.ndarray, "*shape"]:
    """Return the mean over units of the means of their examples; NaN where no unit has a value.

    Args:
        values: One score per example and head; NaN where there is none.
        units: Unit of each example.

    Example:
        >>> mean_over_units(np.array([[1.0], [3.0], [5.0], [np.nan]]), ["a", "a", "b", "c"]).tolist()
        [3.5]
    """
    return describe(unit_means(values, unit_numbers(units))).mean


def values_per_unit(
    values: Float[np.ndarray, "examples heads"],
    units: Int[np.ndarray, " examples"],
    weight: Float[np.ndarray, " examples"] | None,
) -> Float[np.ndarray, "units heads"]:
    """Return one number per unit: the mean of its examples; for pooled columns, by the cells of each."""
    return unit_means(values, units) if weight is None else pooled_unit_values(values, weight, units)


def select_sieves(scores: Scores, places: Sequence[int]) -> Scores:
    """Return the scores of some sieves.

    Args:
        scores: Of all sieves.
        places: Numbers of the sieves that stay, in their new order.
    """
    chosen = list(places)
    return replace(
        scores,
        sieves=tuple(scores.sieves[place] for place in chosen),
        cells=scores.cells[chosen],
        values=scores.values[chosen],
        null=scores.null[chosen],
    )


class Columns(Sequence[Column]):
    """The columns of scores in the order of the rules, each made when it is read.

    Scores are kept once, in single precision. Columns in double precision are kept, too, where they are
    small, or much smaller than the scores because units have many examples. Of others only the column being
    read is in double precision, and its moments are kept.
    """

    def __init__(self, scores: Scores, rules: Sequence[Rule]) -> None:
        """Keep scores and their rules, one per sieve."""
        self._scores, self.rules = scores, tuple(rules)
        self._units = unit_numbers(scores.units)
        self._most_kept = max(SMALL, scores.values.size // PART)
        self._kept: dict[int, Column] = {}
        self._samples: dict[int, Sample] = {}

    def __len__(self) -> int:
        """Return the number of columns, contrasts included."""
        return len(self.rules)

    @overload
    def __getitem__(self, position: int) -> Column: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Column]: ...
    def __getitem__(self, position: int | slice) -> Column | Sequence[Column]:
        """Return one column, or a list of them."""
        if isinstance(position, slice):
            return [self[number] for number in range(*position.indices(len(self)))]
        number = range(len(self))[position]
        column = self._kept.get(number)
        if column is None:
            column = self._column(number)
            column.values.setflags(write=False)
            if column.values.size * len(self) <= self._most_kept:
                self._kept[number] = column
            elif number in self._samples:
                vars(column)["sample"] = self._samples[number]  # where the cached property looks
            else:
                self._samples[number] = column.sample
        return column

    def cells(self) -> list[float]:
        """Return the mean eligible cells of each column over the examples that state them, else NaN."""
        known = ~np.isnan(self._scores.cells)
        total = np.where(known, self._scores.cells, 0.0).sum(axis=1)
        return [
            float(cells / examples) if examples else float("nan")
            for cells, examples in zip(total, known.sum(axis=1), strict=True)
        ]

    def design_effects(self, position: int) -> Float[np.ndarray, " heads"]:
        """Return how many times dependence inflates the variance of the mean, per head.

        Of a pooled column, it is that of what each example adds to the ratio.
        """
        scores = self._scores
        values = scores.values[position].astype(np.float64)
        values -= scores.null[position][:, None, None]
        per_example = values.reshape(len(values), scores.layers * scores.heads)
        if self.rules[position].pooled:
            per_example = values_per_unit(per_example, np.arange(len(values)), scores.cells[position])
            return design_effect(per_example, self._units)
        means = self._samples[position] if position in self._samples else self[position].sample
        return design_effect(per_example, self._units, means)

    def without_chance(self, position: int) -> Column | None:
        """Return the column of scores from which no chance value is taken; None where all have the same.

        Its margin means nothing: it is there for the interval of the mean score.
        """
        null = self._scores.null[position]
        known = null[~np.isnan(null)]
        if not known.size or known.min() == known.max():
            return None
        return self._column(position, np.where(np.isnan(null), np.nan, 0.0))

    def _column(self, position: int, null: Float[np.ndarray, " examples"] | None = None) -> Column:
        scores, rule = self._scores, self.rules[position]
        bare = null is not None
        null = scores.null[position] if null is None else null
        heads = scores.layers * scores.heads
        values = scores.values[position].reshape(len(scores.examples), heads).astype(np.float64)
        speaks = ~np.isnan(values).all(axis=1) & ~np.isnan(null)
        values -= null[:, None]
        smallest = largest = float("nan")
        if speaks.any():
            smallest, largest = float(null[speaks].min()), float(null[speaks].max())
        weight = scores.cells[position] if rule.pooled else None
        means = values_per_unit(values, self._units, weight)
        level = np.full(heads, smallest)
        if smallest != largest:
            within = np.where(np.isnan(values), np.nan, null[:, None])
            level = describe(values_per_unit(within, self._units, weight)).mean
        level[np.isnan(means).all(axis=0)] = np.nan
        stated = (rule.low, rule.high) if bare else (rule.stated_low, rule.stated_high)
        return Column(rule, means, level, rule.low - largest, rule.high - smallest, stated=stated)


def handle_flat_scores(outcome: Outcome, column: Column, sample: Sample, test: str = "t-skew") -> Outcome:
    """Return a test's outcome where scores have spread, exact statements where not, NaN below two units.

    Pooled columns without spread have no exact statement, and neither have those of random groups, which
    know no bounds: what is bounded is the mean over units, and a rare large unit may hold most cells, or
    most examples. A test from stated bounds is exact for all scores, and its outcome stays.
    """
    if METHODS[test].bounded is not None:
        return outcome
    still = has_no_spread(column.counted(sample))
    bounds = exact_statements(column, sample) if still.any() else outcome

    def pick(name: str) -> np.ndarray:
        both = np.where(still, getattr(bounds, name), getattr(outcome, name))
        return np.where(sample.count >= 2, both, np.nan)

    return Outcome(**{name: pick(name) for name in ("statistic", "p", "p_not", "low", "high")})


def exact_statements(column: Column, sample: Sample) -> Outcome:
    """Return the statements that hold for scores without spread."""
    return bounded_outcome(sample, column.rule.margin, *possible_scores(column))


def possible_scores(column: Column) -> tuple[float, float]:
    """Return the lowest and the highest score that one unit can add to the mean; NaN where unknown.

    Pooled columns and random groups have no such bounds: a unit weighs as many cells or examples as it has.
    """
    unequal = column.rule.pooled or column.examples is not None
    return (float("nan"), float("nan")) if unequal else (column.low, column.high)


def with_margin(column: Column, margin: float) -> Column:
    """Return the column with another margin, and the moments that it has."""
    moved = replace(column, rule=replace(column.rule, margin=margin))
    vars(moved)["sample"] = column.sample  # where the cached property looks
    return moved
