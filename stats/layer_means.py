"""Means of columns over the heads of a layer, with intervals over units."""

from collections.abc import Sequence

import numpy as np

from headroles.records.example import Rule, Scores
from headroles.records.surface import LayerMean
from headroles.stats.columns import over_units, unit_numbers
from headroles.stats.hypotheses import student
from headroles.stats.moments import describe


def layer_means(scores: Scores, rules: Sequence[Rule]) -> tuple[LayerMean, ...]:
    """The mean of every column over the heads of each layer, with its 95 % interval.

    Of each unit, the mean of its examples and of the layer's heads; the interval is Student's over
    these. Heads are all the heads of the layer and no sample, so their spread adds nothing to it.
    Unit: ``scores.units``. Assumptions: independent units, whose means over a layer are nearly normal
    in the mean. No test is made.

    Args:
        scores: One number per column, example and head.
        rules: One per column, in that order; those that are no role (importances) have no even value.

    Returns:
        Column by column, layer by layer. Where no unit says anything the count is 0 and all else is
        NaN; below two units the interval is NaN.
    """
    units = unit_numbers(scores.units)
    rows: list[LayerMean] = []
    for values, null, rule in zip(scores.values, scores.null, rules, strict=True):
        heads = values.astype(np.float64)
        known = ~np.isnan(heads)
        total, count = np.where(known, heads, 0.0).sum(axis=2), known.sum(axis=2)
        layers = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        even = np.where(count > 0, null[:, None] if rule.role else np.nan, np.nan)
        sample = describe(over_units(layers, units, None))
        reach = student(sample, 0.0)
        level = describe(over_units(even, units, None)).mean
        for layer, enough in enumerate(sample.count >= 2):
            rows.append(
                LayerMean(
                    column=rule.sieve,
                    layer=layer,
                    count=int(sample.count[layer]),
                    mean=float(sample.mean[layer]),
                    low=float(reach.low[layer]) if enough else float("nan"),
                    high=float(reach.high[layer]) if enough else float("nan"),
                    even=float(level[layer]),
                )
            )
    return tuple(rows)
