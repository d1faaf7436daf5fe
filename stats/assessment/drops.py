"""How far the score of a role falls where attention is weighted by the norms of values."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from headroles.records.assessment import VALUES
from headroles.records.roles import VALUES as BY_VALUES
from headroles.records.rules.rule import Decision
from headroles.records.table import Table
from headroles.stats.columns import Column, Columns
from headroles.stats.engine import column_interval
from headroles.stats.families import contrast_pairs
from headroles.stats.moments import describe


def value_drops(columns: Columns, decision: Decision, heads: int) -> Table:
    """Return the drop of every head, for every role whose contrast is that of values.

    Estimand: the mean over units of s − t, with s the selectivity of attention and t that of norm-weighted
    attention, on the same cells of the same inputs. The interval is that of the run's test, on the paired
    differences of units. Assumptions: as for that test.

    Args:
        columns: Scores over units, or over groups of examples where a run keeps sums.
        decision: Test and interval of the run.
        heads: Heads in a layer.
    """
    return VALUES.rows(
        row
        for score, other in contrast_pairs(columns.rules)
        if columns.rules[other].sieve.endswith(BY_VALUES)
        for row in _drops(columns[score], columns[other], decision, heads)
    )


def _drops(score: Column, other: Column, decision: Decision, heads: int) -> Iterator[dict[str, Any]]:
    """Yield the drops of one role; the second column holds minus the score by norm-weighted attention."""
    values = score.values + other.values
    attention, norm = (
        describe(np.where(np.isnan(values), np.nan, part)).mean for part in (score.values, -other.values)
    )
    rule = replace(score.rule, margin=0.0)
    unbounded = float("nan")
    column = replace(score, rule=rule, values=values, low=unbounded, high=unbounded, examples=None)
    mean, low, high = column_interval(column, decision)
    units = (~np.isnan(values)).sum(axis=0)
    numbers = {"units": units, "attention": attention, "norm": norm, "drop": mean, "low": low, "high": high}
    for place in range(len(units)):
        own = {name: values[place] for name, values in numbers.items()}
        yield {"sieve": score.rule.sieve, "layer": place // heads, "head": place % heads, **own}
