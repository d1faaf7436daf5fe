"""Columns of scores that were kept as sums over random groups, which take the place of units."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from headroles.records.moments import Moments
from headroles.records.rules.rule import Rule
from headroles.stats.columns import SMALL, Column, Columns
from headroles.stats.effects import variance_ratio
from headroles.stats.methods.closed_form import SPREAD
from headroles.stats.moments import Sample, describe
from headroles.stats.pooled import jackknife_values


class GroupColumns(Columns):
    """The columns of moments in the order of the rules, each made when it is read.

    A column's values are the delete-one jackknife's of the ratio of sums (``pooled.pooled_units``): one
    number per group whose plain mean is R = Σ w x / Σ w, the mean over all examples, and whose standard
    error is the jackknife's, in which groups weigh as many examples as they hold. Every test of a mean
    then tests R with G − 1 degrees of freedom, G at most 256.

    Estimand: the mean over examples, each weighing the same, where a run that keeps all scores tests the
    mean over units, each weighing the same; the two are equal where units are equal in size. Unit of
    inference: the random group, whose error holds all dependence inside units. Assumptions: units are
    independent, and many against the groups, or at least of sizes that let no one dominate R.
    Measured one-sided at a nominal 0.05, as roles and as nots (standard error 0.002): right-skewed examples
    in units of 1 to 50, a tenth of them repeated, that share half the variance. t-skew 0.048 and 0.067 with
    100 units, 0.050 and 0.054 with 400, 0.050 and 0.052 with 3,000, 0.054 and 0.049 with 30,000; t 0.030 and
    0.087, 0.038 and 0.067, 0.044 and 0.057, 0.052 and 0.050. Where one unit holds a sixth of all examples
    both fail (t-skew 0.06 and 0.13): the mean then rests on few groups of equal weight, which a remark
    states, and below 50 of them no head is called "not". Source: Wolter (2007), ch. 2 and 4.

    Scores without any spread have no exact statement, as in pooled columns (``columns.settled``): bounds of
    an example do not bound a mean over examples of which a rare large unit may hold most. Where one unit
    in 10,000 has 10,000 examples at −1 and all others one at 0.2, the mean is −0.4, and yet 20,000 units are
    all at 0.2 in 13.5 % of runs.

    Tests of medians cannot use sums: they take the subsample (``engine.evidence``).
    """

    def __init__(self, moments: Moments, rules: Sequence[Rule]) -> None:
        """Keep moments and their rules, one per sieve."""
        self.moments, self.rules = moments, tuple(rules)
        self._kept, self._samples, self._most_kept = {}, {}, SMALL

    def cells(self) -> list[float]:
        """Return the mean eligible cells of each column over the examples that state them, else NaN."""
        known = zip(self.moments.cells, self.moments.celled, strict=True)
        return [float(total / many) if many else float("nan") for total, many in known]

    def design_effects(self, position: int) -> Float[np.ndarray, " heads"]:
        """Return the variance of the mean by groups over that of as many independent examples.

        NaN under 2 groups or without spread among the examples. Of 256 groups it is known to some 9 %
        (its standard error under independence), so values near 1 may lie below it.
        """
        column = self[position]
        return variance_ratio(column.counted(column.sample), column.sample)

    def without_chance(self, position: int) -> Column | None:
        """Return None where all chance values are the same, else a column of NaN: sums hold differences."""
        if self.moments.lowest[position] == self.moments.highest[position]:
            return None
        column = self[position]
        return replace(column, values=np.full_like(column.values, np.nan))

    def _column(self, position: int, null: Float[np.ndarray, " examples"] | None = None) -> Column:
        moments, rule = self.moments, self.rules[position]
        weight, total = (
            sums[position].reshape(len(sums[position]), -1) for sums in (moments.weight, moments.total)
        )
        values = jackknife_values(total, weight)
        heavy = weight.sum(axis=0)
        lowest, highest = float(moments.lowest[position]), float(moments.highest[position])
        chance = moments.chance[position].ravel()
        level = np.divide(chance, heavy, out=np.full(heavy.shape, np.nan), where=heavy > 0)
        if lowest == highest:
            level[heavy > 0] = lowest
        over = self._over_examples(position, values, heavy)
        low, high = rule.low - highest, rule.high - lowest
        return Column(rule, values, level, low, high, examples=over, equal=equal_groups(weight))

    def _over_examples(
        self, position: int, values: Float[np.ndarray, "groups heads"], heavy: Float[np.ndarray, " heads"]
    ) -> Sample:
        """Return count and spread of the examples around the mean of the groups, without their skewness.

        Where all examples are equal up to rounding the spread is 0, which sums of squares cannot tell.
        """
        moments = self.moments
        count = moments.count[position].ravel()
        mean = describe(values).mean
        second = np.divide(
            moments.square[position].ravel(), heavy, out=np.full(heavy.shape, np.nan), where=heavy > 0
        )
        variance = np.maximum(second - mean * mean, 0.0) * count / np.maximum(count - 1, 1)
        with np.errstate(invalid="ignore"):
            width = moments.most[position].ravel() - moments.least[position].ravel()
        still = width <= SPREAD * np.maximum(1.0, np.abs(mean))
        sd = np.where(count > 1, np.where(still, 0.0, np.sqrt(variance)), np.nan)
        return Sample(count=count, mean=mean, sd=sd, skew=np.full(mean.shape, np.nan))


def equal_groups(weight: Float[np.ndarray, "groups heads"]) -> Float[np.ndarray, " heads"]:
    """Return the number of equally informative groups of equal weight: ``(Σ w)² / Σ w²`` (Kish 1965, §11.7).

    Args:
        weight: Of each group, at least 0.

    Returns:
        From 1 up to the number of groups that weigh anything; 0 where none has any.

    Example:
        >>> equal_groups(np.array([[1.0, 8.0], [1.0, 1.0], [1.0, 1.0]])).round(2).tolist()
        [3.0, 1.52]
    """
    square = (weight * weight).sum(axis=0)
    groups: np.ndarray = np.divide(
        weight.sum(axis=0) ** 2, square, out=np.zeros_like(square), where=square > 0
    )
    return groups
