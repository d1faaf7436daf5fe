"""Which interval of the mean a finding shows."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from headroles.records.example import Decision
from headroles.stats.draws import bootstrap_counts
from headroles.stats.hypotheses import Outcome, student
from headroles.stats.moments import Sample
from headroles.stats.patterns import complete

INTERVALS = ("test", "t", "bca")
"""That of the test (default), Student's, or the bias-corrected and accelerated bootstrap's."""


def interval_of(
    decision: Decision, values: Float[np.ndarray, "units heads"], sample: Sample, outcome: Outcome
) -> Outcome:
    """The outcome with the 95 % interval that was asked for.

    Args:
        decision: Names the interval; resamples and seed are those of ``bca``.
        values: Scores, NaN where a unit says nothing.
        sample: Their moments.
        outcome: Of the test, with its own interval.
    """
    if decision.interval == "t":
        plain = student(sample, 0.0)
        return replace(outcome, low=plain.low, high=plain.high)
    if decision.interval == "bca":
        from headroles.stats.effects import bca

        low, high = np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
        for units, heads in complete(values):
            counts = bootstrap_counts(int(units.sum()), decision.resamples, decision.seed)
            low[heads], high[heads] = bca(values[np.ix_(units, heads)], counts)
        return replace(outcome, low=low, high=high)
    return outcome
