"""Scores made by seed, or given as arrays, in the form that the statistics take."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from headroles.records import Rule, Scores


def scored(
    values: np.ndarray,
    rules: "Sequence[Rule]" = (),
    *,
    units: Sequence[object] | None = None,
    null: np.ndarray | float = 0.0,
    cells: np.ndarray | float = 5.0,
) -> "Scores":
    """Return scores of (columns, examples, heads) or (columns, examples, layers, heads).

    Columns have the names of their rules, else s0, s1 and so on; an example is a unit unless units are given.
    """
    from headroles.records import Scores

    table = np.asarray(values)
    if table.ndim == 3:
        table = table[:, :, None]
    columns, examples = table.shape[:2]
    keys = tuple(f"x{number}" for number in range(examples))
    return Scores(
        sieves=tuple(rule.sieve for rule in rules[:columns]) or tuple(f"s{k}" for k in range(columns)),
        examples=keys,
        units=keys if units is None else tuple(f"u{unit}" for unit in units),
        tokens=np.full(examples, 12),
        cells=np.broadcast_to(np.asarray(cells, dtype=np.float64), (columns, examples)).copy(),
        values=table.astype(np.float32),
        null=np.broadcast_to(np.asarray(null, dtype=np.float64), (columns, examples)).copy(),
    )


def made(
    seed: int, *, units: int = 60, layers: int = 2, heads: int = 6, per_unit: int = 1
) -> "tuple[Scores, list[Rule]]":
    """Return skewed scores of four columns (s0 with contrast s1, s2 and s3), heads around their margins."""
    from headroles.records import Rule

    rng = np.random.default_rng(seed)
    examples = units * per_unit
    means = rng.uniform(0.0, 0.25, size=(4, 1, layers, heads))
    own = rng.gamma(2, 0.07, size=(4, examples, layers, heads)) - 0.14
    common = np.repeat(rng.normal(0, 0.05, size=(4, units, 1, 1)), per_unit, axis=1)
    rules = [
        Rule("s0", contrast="s1", low=-1.0, high=1.0),
        Rule("s1", margin=0.02, role=False, low=-1.0, high=1.0),
        Rule("s2", low=-1.0, high=1.0),
        Rule("s3", low=-1.0, high=1.0),
    ]
    owners = np.arange(examples) // per_unit
    return scored(means + own + common, rules, units=owners.tolist()), rules


def repeated(scores: "Scores", counts: np.ndarray) -> "Scores":
    """Return the scores with example k as often as counted, each time as a unit of its own."""
    from dataclasses import replace

    rows = np.repeat(np.arange(len(counts)), counts.astype(int))
    keys = tuple(f"{number}" for number in range(len(rows)))
    return replace(
        scores,
        examples=keys,
        units=keys,
        tokens=scores.tokens[rows],
        cells=scores.cells[:, rows],
        values=scores.values[:, rows],
        null=scores.null[:, rows],
    )


def skewed(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Return columns of every direction and degree of skewness, with means around 0."""
    shape = rng.uniform(0.3, 8, size=columns)
    sign = rng.choice([-1.0, 1.0], size=columns)
    values: np.ndarray = (
        sign * rng.gamma(shape, size=(rows, columns)) / shape + rng.normal(0, 0.2, size=columns) - sign
    )
    return values


def spiky(units: int, level: float, outlier: float) -> np.ndarray:
    """Return scores of one head, nearly all at one value, but for one unit."""
    values = np.random.default_rng(3).normal(level, 0.001, (units, 1))
    values[5] = outlier
    return values
