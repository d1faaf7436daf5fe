"""Is a role carried by few neurons? Concentration on dimensions, against a random basis of the head.

Without rotary positions a rotation of queries and keys of a head changes no logit. So its dimensions are
one basis of many, unless training made them special.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.causal.origins import AS_ROTATED, FEW, UNTESTABLE, Products
from headroles.records.rules.rule import Decision
from headroles.stats.correction import adjust, significant
from headroles.stats.power import assumed_cut
from headroles.stats.why.dimensions import grouped_parts
from headroles.stats.why.guarded import joint_correction

TIE = 1e-9
"""Ratios this close, as a part of the larger, are equal but for rounding."""
BATCH = 2**22
"""Most entries of the rotations that are held at once: 32 MiB."""
STREAM = 22
"""Number of the stream of random rotations; other draws with the same seed have other streams."""


@dataclass(frozen=True, slots=True, eq=False)
class RotationTests:
    """Concentration of the mean parts of families, one entry per family.

    Attributes:
        participation: Participation ratio of the mean parts, from 1 to the number of dimensions or frequency
            pairs; NaN where all parts are 0, or unknown.
        rotated: Median of the ratio after random rotations; NaN where the basis is fixed.
        p: P of "no more concentrated than in a random basis"; NaN where the basis is fixed.
        q: ``p`` adjusted over all families.
        few: "few neurons", "as rotated" or "untestable".
    """

    participation: Float[np.ndarray, " families"]
    rotated: Float[np.ndarray, " families"]
    p: Float[np.ndarray, " families"]
    q: Float[np.ndarray, " families"]
    few: tuple[str, ...]


def participation_ratio(parts: Float[np.ndarray, "*shape size"]) -> Float[np.ndarray, "*shape"]:
    """Return how many dimensions would hold the squares of the parts equally: (Σ c²)² / Σ c⁴.

    Args:
        parts: Of each dimension, along the last axis; their sign does not count.

    Returns:
        From 1 (one dimension) to the number of dimensions; NaN where all are 0, or one is unknown.

    Example:
        >>> participation_ratio(np.array([[3.0, 0.0, 0.0, 0.0], [1.0, -1.0, 1.0, -1.0]])).tolist()
        [1.0, 4.0]
    """
    largest = np.abs(parts).max(axis=-1, keepdims=True, initial=0.0)
    square = np.divide(parts, largest, out=np.full(parts.shape, np.nan), where=largest > 0) ** 2
    return np.asarray(square.sum(axis=-1) ** 2 / (square**2).sum(axis=-1))


def rotation_squares(size: int, rotations: int, seed: int) -> Iterator[Float[np.ndarray, "some size size"]]:
    """Yield the squared entries of random orthogonal matrices (Haar measure), in batches.

    The Q of normal numbers has Haar measure once the signs of its columns are made unique. Signs leave no
    trace in squares. Source: Mezzadri (2007), "How to generate random matrices from the classical compact
    groups", Notices of the AMS 54(5), 592-604.

    Args:
        size: Rows and columns, at least 1.
        rotations: Number of matrices.
        seed: Of the draws, which depend on size and number alone.
    """
    rng = np.random.default_rng([seed, STREAM])
    batch = max(1, BATCH // size**2)
    for start in range(0, rotations, batch):
        normal = rng.normal(size=(min(batch, rotations - start), size, size))
        yield np.linalg.qr(normal)[0] ** 2


def rotated_ratios(
    outer: Float[np.ndarray, "families size size"], rotations: int, seed: int
) -> Float[np.ndarray, "families rotations"]:
    """Return the participation ratio of the diagonal of O M Oᵀ for random orthogonal O.

    The diagonal depends on the symmetric part of M alone, Q Λ Qᵀ. Since O Q is as random as O, it is (O∘O) λ:
    the same squares serve all families.

    Args:
        outer: A matrix per family; a family with an unknown entry gets NaN.
        rotations: Number of random O.
        seed: Of the draws.
    """
    families, size = outer.shape[:2]
    known = np.isfinite(outer).all(axis=(1, 2))
    matrices = np.where(known[:, None, None], outer, 0.0).astype(np.float64)
    values = np.linalg.eigvalsh((matrices + matrices.swapaxes(1, 2)) / 2)
    ratios = np.full((families, rotations), np.nan)
    if not size or not families:
        return ratios
    start = 0
    for squares in rotation_squares(size, rotations, seed):
        stop = start + len(squares)
        for some in np.array_split(np.flatnonzero(known), max(1, -(-families // size))):
            parts = squares.reshape(-1, size) @ values[some].T
            by_family = parts.reshape(len(squares), size, len(some)).transpose(2, 0, 1)
            ratios[some, start:stop] = participation_ratio(by_family)
        start = stop
    return ratios


def concentration_p(
    ratio: Float[np.ndarray, " families"], rotated: Float[np.ndarray, "families rotations"]
) -> Float[np.ndarray, " families"]:
    """Return (1 + b) / (1 + R), where b of R random ratios are at most as large; ties within rounding count.

    Example:
        >>> concentration_p(np.array([2.0]), np.array([[2.0, 3.0, 5.0]])).tolist()
        [0.5]
    """
    below = (rotated <= ratio[:, None] * (1 + TIE)).sum(axis=1)
    unknown = np.isnan(ratio) | np.isnan(rotated).any(axis=1) | (rotated.shape[1] == 0)
    return np.where(unknown, np.nan, (1 + below) / (1 + rotated.shape[1]))


def fewest_rotations(families: int, decision: Decision) -> int:
    """Return how many rotations a single family needs so that its p can pass the correction; 0 without any.

    With R rotations no p is below 1/(R + 1).

    Args:
        families: Families that are corrected together.
        decision: Correction and alpha; ``maxT`` stands for Holm's.

    Example:
        >>> fewest_rotations(163, Decision())
        3259
    """
    if not families:
        return 0
    cut = assumed_cut(joint_correction(decision), decision.alpha, families)
    return math.ceil(1 / cut - 1 - 1e-9)


def rotation_tests(
    products: Products, testable: Bool[np.ndarray, " families"], rotations: int, decision: Decision
) -> RotationTests:
    """Test for every family whether its mean parts are more concentrated than in a random basis.

    Null: the basis of the head is like any rotation of it, drawn uniformly (Haar). Alternative: fewer
    dimensions carry the contrast. Statistic: the participation ratio of the diagonal of ``outer``. p counts
    random rotations with at most this ratio. Under the null, p is at most alpha with a chance of at most
    alpha. Unit: the basis of a head. It speaks of this model, on the units at hand. Assumption: a rotation
    leaves the model as it is. So the test is run only where no rotary position acts on any dimension. All
    families are corrected together by the decision's correction, or by Holm's under ``maxT``.

    Args:
        products: Of at least one family.
        testable: Families whose contrast is above 0, with enough units; others are untestable, but their p
            stays in the correction.
        rotations: Number of random rotations.
        decision: Correction, alpha and seed.
    """
    parts = np.diagonal(products.outer, axis1=1, axis2=2)
    ratio = participation_ratio(grouped_parts(parts, products.group))
    nothing = np.full(len(ratio), np.nan)
    if not products.free.all() or not rotations:
        return RotationTests(ratio, nothing, nothing, nothing, (UNTESTABLE,) * len(ratio))
    random = rotated_ratios(products.outer, rotations, decision.seed)
    p = concentration_p(ratio, random)
    q = adjust(p, joint_correction(decision), decision.alpha)
    found = significant(q, decision.alpha, p)
    few = tuple(
        UNTESTABLE if np.isnan(p[k]) or not testable[k] else FEW if found[k] else AS_ROTATED
        for k in range(len(p))
    )
    return RotationTests(ratio, np.median(random, axis=1), p, q, few)
