"""Units that a sample lacks by chance: claims of little damage must hold with further units as bad as any.

A test of a mean takes its error from the spread of the sample. Where few units hold most of the damage,
samples that lack them have a small mean and a small spread at once. So "the damage is below a bound" is
claimed too often. Such a claim must therefore hold twice: of the units, and of the units with three more that
have the largest damage of any. Three is the number of the rule of three (``stats.methods.reliance``): with a
probability of 0.05, what happens in none of n units happens in up to 3/n of all.

With 24 heads at the bound, Holm's correction and 75 units or more, such claims err in at most 0.06 of
families: of normal, heavy-tailed and log-normal damage up to σ = 1.5, and of damage of one unit in twenty
(``benchmarks/calibration/interventions.py``). Nothing is known of harm that no unit of the sample shows.
"""

from dataclasses import replace

import numpy as np

from headroles.records.example import Scores
from headroles.stats.columns import unit_numbers
from headroles.stats.methods.reliance import UNSEEN, extreme
from headroles.stats.moments import unit_means


def with_unseen(scores: Scores, side: int) -> Scores:
    """Return scores with 3 further units, all with the most extreme mean that any unit of a head has.

    Args:
        scores: All of one chance value per column.
        side: 1 for the largest mean of a unit, −1 for the smallest.

    Returns:
        Scores of 3 more examples, each a unit of its own; NaN for heads without a value.

    Example:
        >>> values = np.array([0.1, 0.5, 0.3], dtype=np.float32).reshape(1, 3, 1, 1)
        >>> keys, nothing, tokens = ("a", "b", "c"), np.zeros((1, 3)), np.zeros(3, dtype=int)
        >>> scores = Scores(("loss:mean",), keys, ("u", "u", "v"), tokens, nothing, values, nothing)
        >>> with_unseen(scores, 1).values.astype(float).ravel().round(2).tolist()
        [0.1, 0.5, 0.3, 0.3, 0.3, 0.3]
    """
    numbers = unit_numbers(scores.units)
    worst = np.stack([extreme(unit_means(values, numbers), side) for values in scores.values])
    names = further_names(len(scores.examples))
    more = worst[:, None].repeat(UNSEEN, axis=1).astype(np.float32)
    return replace(
        scores,
        examples=(*scores.examples, *names),
        units=(*scores.units, *names),
        tokens=np.append(scores.tokens, np.zeros(UNSEEN, dtype=scores.tokens.dtype)),
        cells=np.concatenate([scores.cells, np.full((len(scores.sieves), UNSEEN), np.nan)], axis=1),
        values=np.concatenate([scores.values, more], axis=1),
        null=np.concatenate([scores.null, scores.null[:, :1].repeat(UNSEEN, axis=1)], axis=1),
    )


def further_names(count: int) -> tuple[str, ...]:
    """Return names for further units, which no unit has."""
    return tuple(f"{count}+{k} (no unit has this name)" for k in range(UNSEEN))
