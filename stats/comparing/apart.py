"""Pairs of two runs on other inputs: each unit of the smaller run with a random part of the larger.

The difference of a pair is the mean of one side minus that of the other. Null, alternative and tests are
those of ``paired``. Unit: the pair, so there are as many as the smaller run has units. Assumptions: the units
of each run are independent, and so are the two runs. Then the differences of pairs are independent, with the
difference of both population means as their mean, whatever the spreads. So a test of one sample holds,
and the variances need not be equal. All units of the larger run count, in parts whose sizes differ by at most
one. Source for the idea: Scheffé (1943), "On solutions of the Behrens-Fisher problem, based on the
t-distribution", Annals of Mathematical Statistics 14, 35-44.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from headroles.records.example import Scores
from headroles.stats.columns import unit_numbers
from headroles.stats.moments import unit_means


def pair_at_random(first: Scores, second: Scores, pooled: Sequence[bool], seed: int) -> tuple[Scores, Scores]:
    """Return the scores of two runs on other inputs with one example and unit for each pair.

    Args:
        first: Scores of run A.
        second: Scores of run B: the same sieves and heads.
        pooled: Whether the mean of a sieve is over all cells, with equal weight, rather than over units.
        seed: Of the random parts.

    Returns:
        Both, with as many examples as the run with fewer units has units. A pair has no score where one side
        has none.
    """
    units = [unit_numbers(scores.units) for scores in (first, second)]
    counts = [int(numbers.max()) + 1 for numbers in units]
    parts, chance = min(counts), np.random.default_rng(seed)
    places = [
        (np.arange(count) if count == parts else chance.permutation(count) % parts)[numbers]
        for count, numbers in zip(counts, units, strict=True)
    ]
    one, other = (
        _means_of_parts(scores, numbers, place, pooled)
        for scores, numbers, place in zip((first, second), units, places, strict=True)
    )
    return one, other


def _means_of_parts(
    scores: Scores,
    units: Int[np.ndarray, " examples"],
    parts: Int[np.ndarray, " examples"],
    pooled: Sequence[bool],
) -> Scores:
    """Return one example for each part: the mean of the means of its units, or of all its cells."""
    of_unit = np.empty(int(units.max()) + 1, dtype=np.int64)
    of_unit[units] = parts
    values, nulls, sizes = [], [], []
    for position, by_cells in enumerate(pooled):
        rows = scores.values[position].astype(np.float64)
        known = ~np.isnan(rows).all(axis=(1, 2))
        null, cells = (np.where(known, of[position], np.nan) for of in (scores.null, scores.cells))
        columns = np.concatenate([rows.reshape(len(rows), -1), null[:, None]], axis=1)
        if by_cells:
            weighted = unit_means(columns * cells[:, None], parts)
            means = weighted / unit_means(cells[:, None], parts)
        else:
            means = unit_means(unit_means(columns, units), of_unit)
        values.append(means[:, :-1].reshape(-1, scores.layers, scores.heads))
        nulls.append(means[:, -1])
        sizes.append(np.bincount(parts, np.nan_to_num(cells)))
    names = tuple(f"pair {number}" for number in range(1, len(values[0]) + 1))
    return Scores(
        sieves=scores.sieves,
        examples=names,
        units=names,
        tokens=np.zeros(len(names), dtype=np.int64),
        cells=np.stack(sizes),
        values=np.stack(values).astype(np.float32),
        null=np.stack(nulls),
        stack=scores.stack,
    )
