"""Scores of one sieve over units, on the scale of score minus null: what every test takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from headroles.records import Rule, Scores
from headroles.stats.hypotheses import Outcome, constant, flat
from headroles.stats.moments import Sample, describe, unit_means


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One sieve, ready to be tested.

    Attributes:
        rule: How it is judged; its margin is what means of ``values`` are tested against.
        values: Score minus null per unit and head (all layers in a row); NaN where nothing is known.
        null: Mean chance value over the units, per head; NaN where a head has no score.
        low: Smallest value possible; NaN when unknown.
        high: Largest value possible.
    """

    rule: Rule
    values: Float[np.ndarray, "units heads"]
    null: Float[np.ndarray, " heads"]
    low: float
    high: float


def unit_numbers(units: Sequence[str]) -> Int[np.ndarray, " examples"]:
    """A number for each unit, in the order of first appearance."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(unit, len(seen)) for unit in units], dtype=np.int64)


def columns_of(scores: Scores, rules: Sequence[Rule]) -> Iterator[Column]:
    """The columns of scores, in the order of the rules, made one at a time."""
    units, heads = unit_numbers(scores.units), scores.layers * scores.heads
    for position, rule in enumerate(rules):
        null = scores.null[position]
        values = scores.values[position].reshape(len(scores.examples), heads).astype(np.float64)
        speaks = ~np.isnan(values).all(axis=1) & ~np.isnan(null)
        values -= null[:, None]
        smallest = largest = float("nan")
        if speaks.any():
            smallest, largest = float(null[speaks].min()), float(null[speaks].max())
        means = unit_means(values, units)
        level = np.full(heads, smallest)
        if smallest != largest:
            level = describe(unit_means(np.where(np.isnan(values), np.nan, null[:, None]), units)).mean
        level[np.isnan(means).all(axis=0)] = np.nan
        yield Column(rule, means, level, rule.low - largest, rule.high - smallest)


def settled(outcome: Outcome, column: Column, sample: Sample) -> Outcome:
    """A test's outcome where scores have spread, exact statements where not, NaN below two units."""
    still = flat(sample)
    bounds = constant(sample, column.rule.margin, column.low, column.high) if still.any() else outcome

    def pick(name: str) -> np.ndarray:
        both = np.where(still, getattr(bounds, name), getattr(outcome, name))
        return np.where(sample.count >= 2, both, np.nan)

    return Outcome(**{name: pick(name) for name in ("statistic", "p", "p_not", "low", "high")})


def against(column: Column, margin: float) -> Column:
    """The same scores, tested against another margin."""
    return replace(column, rule=replace(column.rule, margin=margin))
