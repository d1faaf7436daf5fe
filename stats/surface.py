"""Statistics of surface runs: tests of attention that does not matter, and means over layers.

The tests ask whether the loss is less sensitive to attention to one kind of token. The means of columns over
the heads of a layer have intervals over units.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.records.surface import LAYER_MEANS, NO_OPS, OUTCOMES
from headroles.records.table import Table
from headroles.stats.columns import unit_numbers, values_per_unit
from headroles.stats.engine import judge
from headroles.stats.methods.closed_form import student
from headroles.stats.moments import describe

MEASURES = ("gradient", "attention×gradient")
OTHER = "other"
"""The kind that the others are compared with."""


def noop_tests(scores: Scores, decision: Decision) -> Table:
    """Test, layer by layer, whether attention to a kind of token matters less than to other tokens.

    The score of an example is ``(o − k) / a``: k is the mean over the layer's heads of the importance of
    attention to the kind, o that of attention to other tokens, a the mean over both, each weighing as
    many keys as it has: a difference within the example that does not depend on the size of its loss.
    Null: the mean over units is at most 0 (the kind matters at least as much). Alternative: it is larger.
    The other direction is a test of its own (null: at least 0; alternative: smaller, the kind matters
    more), whose outcome is "not less", for 50 or more units only. Unit: that of the scores;
    its examples are averaged first. Assumptions: independent units; else those of the decision's test.
    The layers of one kind and measure are one family in each direction, whatever family the decision
    names. Examples where the kind or other tokens are missing, or where neither matters, have no score.

    Where importances of keys (each key's mean over the queries that see it) are exchangeable the mean is
    exactly 0, however many keys a kind has.
    ``(o − k) / (o + k)`` has a positive mean then: of two separators and 120 other tokens with log-normal
    importances (σ = 1) it calls separators less important in 88 % of runs with 60 units. Means of few,
    heavy-tailed importances are skewed, so the score leans to the left and errs somewhat: with 60 units
    ``t-skew`` in 0.063, 0.069, 0.086 of runs (σ = 0.5, 1, 1.5), ``t`` in 0.077, 0.101, 0.136; with 200
    units ``t-skew`` in 0.051, 0.061, 0.067 (nominal 0.05). "Not less" errs in at most 0.052 of such runs
    by either test.

    What is tested is the hypothesis of Clark et al. (2019), section 3.2, that attention to separators is
    a no-op; they show means only (Figure 3).

    Args:
        scores: With columns ``gradient:KIND`` and ``attention×gradient:KIND`` for "other" and more kinds.
        decision: Test, correction, alpha, resamples, seed and interval.

    Returns:
        One row per measure, kind and layer; none when there are no such columns.

    Raises:
        UnknownName: For a test, correction or interval that does not exist.
        BadInput: For numbers out of range, or too few resamples for the correction.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> size = rng.gamma(4.0, size=(2, 40, 1, 3)) * np.array([0.2, 1.0])[:, None, None, None]
        >>> keys = tuple(f"x{k}" for k in range(40))
        >>> found = noop_tests(
        ...     Scores(("gradient:separator", "gradient:other"), keys, keys, np.full(40, 9),
        ...         np.full((2, 40), 2.0), size.astype(np.float32), np.zeros((2, 40))),
        ...     Decision(),
        ... )
        >>> [(test.kind, test.layer, round(test.mean, 1), test.decision) for test in found]
        [('separator', 0, 1.4, 'less important')]
    """
    pairs = [
        (measure, name.removeprefix(f"{measure}:"))
        for measure in MEASURES
        if f"{measure}:{OTHER}" in scores.sieves
        for name in scores.sieves
        if name.startswith(f"{measure}:") and name != f"{measure}:{OTHER}"
    ]
    if not pairs:
        return NO_OPS
    names = tuple(f"{measure}:{kind}" for measure, kind in pairs)
    differences = [_difference(scores, measure, kind) for measure, kind in pairs]
    compared = Scores(
        sieves=names,
        examples=scores.examples,
        units=scores.units,
        tokens=scores.tokens,
        cells=np.stack([scores.cells[scores.sieves.index(name)] for name in names]),
        values=np.stack([values for values, _, _ in differences]),
        null=np.zeros((len(names), len(scores.examples))),
    )
    rules = [
        Rule(name, margin=0.0, low=low, high=high)
        for name, (_, low, high) in zip(names, differences, strict=True)
    ]
    found = judge(compared, rules, replace(decision, family="sieve"))
    same = ("count", "mean", "low", "high", "statistic", "p", "q")
    return NO_OPS.of(
        measure=[measure for measure, _ in pairs for _ in range(scores.layers)],
        kind=[kind for _, kind in pairs for _ in range(scores.layers)],
        layer=[*range(scores.layers)] * len(pairs),
        decision=[OUTCOMES[code] for code in found.decision.ravel().tolist()],
        **{name: getattr(found, name).ravel() for name in same},
    )


def _difference(
    scores: Scores, measure: str, kind: str
) -> tuple[Float32[np.ndarray, "examples layers 1"], float, float]:
    """Return how much less the kind matters than other tokens, per example and layer, and its bounds."""
    rows = [scores.sieves.index(f"{measure}:{name}") for name in (kind, OTHER)]
    own, other = (_over_heads(scores.values[row]) for row in rows)
    keys = scores.cells[rows]
    total = keys.sum(axis=0)
    share = np.divide(keys, total, out=np.zeros_like(keys), where=total > 0)
    mean = share[0][:, None] * own + share[1][:, None] * other
    relative: np.ndarray = np.divide(other - own, mean, out=np.full(mean.shape, np.nan), where=mean > 0)
    least = share[:, (share > 0).all(axis=0)].min(axis=1, initial=1.0)
    return relative[..., None].astype(np.float32), -1 / float(least[0]), 1 / float(least[1])


def _over_heads(
    values: Float32[np.ndarray, "examples layers heads"],
) -> Float[np.ndarray, "examples layers"]:
    """Return the mean over the heads of a layer; NaN where a head has no value."""
    mean: np.ndarray = values.astype(np.float64).mean(axis=2)
    return mean


def layer_means(scores: Scores, rules: Sequence[Rule]) -> Table:
    """Return the mean of every column over the heads of each layer, with its 95 % interval.

    Of each unit, the mean of its examples and of the layer's heads; the interval is Student's over
    these. Heads are all the heads of the layer and no sample, so their spread adds nothing to it.
    Unit: ``scores.units``. Assumptions: independent units, whose means over a layer are nearly normal
    in the mean. No test is made.

    Args:
        scores: One number per column, example and head.
        rules: One per column, in that order; those that are no role (importances) have no even value.

    Returns:
        Column by column, layer by layer. Where no unit has a value the count is 0 and all else is
        NaN; below two units the interval is NaN.
    """
    units = unit_numbers(scores.units)
    rows: list[dict[str, Any]] = []
    for values, null, rule in zip(scores.values, scores.null, rules, strict=True):
        heads = values.astype(np.float64)
        known = ~np.isnan(heads)
        total, count = np.where(known, heads, 0.0).sum(axis=2), known.sum(axis=2)
        layers = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        even = np.where(count > 0, null[:, None] if rule.role else np.nan, np.nan)
        sample = describe(values_per_unit(layers, units, None))
        reach = student(sample, 0.0)
        level = describe(values_per_unit(even, units, None)).mean
        for layer, enough in enumerate(sample.count >= 2):
            rows.append(
                {
                    "column": rule.sieve,
                    "layer": layer,
                    "count": int(sample.count[layer]),
                    "mean": float(sample.mean[layer]),
                    "low": float(reach.low[layer]) if enough else float("nan"),
                    "high": float(reach.high[layer]) if enough else float("nan"),
                    "even": float(level[layer]),
                }
            )
    return LAYER_MEANS.rows(rows)
