"""Distributions of every head's scores over the inputs: counts in bins, and five numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Integer, UInt

from headroles.records.arrays import read_only
from headroles.records.example import Scores

BINS = 24
"""Bins of every histogram."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the scores below each of the five numbers of a head."""
FINEST = 1e-3
"""Range of scores, as a part of the largest, below which a histogram shows no detail."""


@dataclass(frozen=True, slots=True, eq=False)
class Spreads:
    """Distributions of scores over inputs, per column and head (layer after layer).

    Attributes:
        edges: Of the bins, the same for all heads of a column so that heads can be compared; every bin
            holds its lower edge, the last one both. NaN in a column without scores.
        counts: Scores in each bin.
        scored: Inputs on which the head has a score.
        five: Smallest score, quartile, median, quartile and largest, rounded to ``decimals``; NaN where
            there is no score.
        decimals: Digits after the point that scores of a column are shown with, three for most; negative
            where scores are so large that they are shown in tens or hundreds.
    """

    edges: Float[np.ndarray, "columns edges"]
    counts: UInt[np.ndarray, "columns heads bins"]
    scored: Integer[np.ndarray, "columns heads"]
    five: Float[np.ndarray, "columns heads 5"]
    decimals: tuple[int, ...]

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("edges", "counts", "scored", "five"):
            object.__setattr__(self, name, read_only(getattr(self, name)))


def spreads_of(scores: Scores, columns: Sequence[int]) -> Spreads:
    """Count the scores of some columns in bins.

    Args:
        scores: One number per column, example and head; those that are not finite are left out.
        columns: Places of the columns.

    Returns:
        Counts as 16-bit numbers where they are small enough, else as 32-bit numbers.
    """
    kind = np.uint16 if len(scores.examples) <= np.iinfo(np.uint16).max else np.uint32
    heads = scores.layers * scores.heads
    edges = np.full((len(columns), BINS + 1), np.nan)
    counts = np.zeros((len(columns), heads, BINS), dtype=kind)
    scored = np.zeros((len(columns), heads), dtype=np.int64)
    five = np.full((len(columns), heads, len(SHARES)), np.nan)
    decimals = [3] * len(columns)
    for place, column in enumerate(columns):
        values = np.sort(_finite(scores.values[column].reshape(len(scores.examples), heads)), axis=0)
        scored[place] = (~np.isnan(values)).sum(axis=0)
        if scored[place].any():
            low, high = float(np.nanmin(values)), float(np.nanmax(values))
            edges[place] = edges_of(low, high)
            counts[place] = _bin_counts(values, edges[place])
            decimals[place] = decimals_of(low, high)
            five[place] = _quantiles(values, scored[place]).round(decimals[place])
    return Spreads(edges, counts, scored, five, tuple(decimals))


def edges_of(low: float, high: float) -> Float[np.ndarray, " edges"]:
    """Return edges of bins over a range, whose ends are rounded outwards to two digits of its width.

    Args:
        low: Smallest score.
        high: Largest score, at least ``low``.

    Example:
        >>> ends = edges_of(-0.3127, 0.9031)
        >>> len(ends), float(ends[0]), float(ends[-1])
        (25, -0.4, 1.0)
        >>> edges_of(0.5, 0.5)[[0, -1]].tolist()
        [0.5, 0.50001]
    """
    digits = _digits(low, high)
    step = 10.0**-digits
    first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    return np.linspace(first * step, max(last, first + 1) * step, BINS + 1).round(digits + 6)


def decimals_of(low: float, high: float) -> int:
    """Return the digits after the point for scores of a range: three, more if narrow, fewer if wide.

    Args:
        low: Smallest score.
        high: Largest score, at least ``low``.

    Example:
        >>> decimals_of(-0.31, 0.9), decimals_of(0.5, 0.52), decimals_of(0.0, 40.0)
        (3, 4, 2)
    """
    digits = _digits(low, high)
    return min(max(3, digits + 1), digits + 2)


def _digits(low: float, high: float) -> int:
    """Return the decimal place of the second digit of the width of a range."""
    width = max(high - low, FINEST * max(abs(low), abs(high))) or 1.0
    return 1 - math.floor(math.log10(width))


def _finite(values: Float32[np.ndarray, "examples heads"]) -> Float32[np.ndarray, "examples heads"]:
    """Return the scores with NaN for those that are not finite."""
    finite: np.ndarray = np.where(np.isfinite(values), values, np.float32(np.nan))
    return finite


def _bin_counts(
    values: Float32[np.ndarray, "examples heads"], edges: Float[np.ndarray, " edges"]
) -> Integer[np.ndarray, "heads bins"]:
    """Count the scores of every head in each bin."""
    heads = values.shape[1]
    bins = (np.searchsorted(edges, values, side="right") - 1).clip(0, BINS - 1)  # rounded ends may lie inside
    places = (bins + BINS * np.arange(heads))[~np.isnan(values)]
    return np.bincount(places, minlength=BINS * heads).reshape(heads, BINS)


def _quantiles(
    values: Float32[np.ndarray, "examples heads"], scored: Integer[np.ndarray, " heads"]
) -> Float[np.ndarray, "heads 5"]:
    """Return quantiles of sorted columns whose NaN come last, interpolated linearly between two scores."""
    places = np.multiply.outer(np.array(SHARES), np.maximum(scored - 1, 0))
    below = np.floor(places).astype(np.int64)
    above = np.ceil(places).astype(np.int64)
    lower, upper = (np.take_along_axis(values, at, axis=0).astype(np.float64) for at in (below, above))
    quantiles: np.ndarray = (lower + (places - below) * (upper - lower)).T
    return quantiles
