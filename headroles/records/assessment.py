"""Assessment of findings beyond their tests: precision, stability, sensitivity, overlap of roles.

Heads are not a sample of anything, so nothing here is a test over heads: intervals come from
resampling the units, and references (``expected``, ``reference``) are descriptive.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float

from headroles.records.arrays import read_only
from headroles.records.shown.brief import brief


@dataclass(frozen=True, slots=True, eq=False)
class Precision:
    """Effect size and precision of each finding, one entry per sieve, layer and head.

    Attributes:
        hedges_g: Effect against θ in standard deviations, corrected for few units; signed.
        g_low: Lower end of its 95 % interval.
        g_high: Upper end.
        detectable: Smallest effect against θ with power 0.8 at these units and this correction, of this
            column alone: a role with a contrast needs both tests to reject.
        design_effect: Factor by which the units' dependence inflates the variance of the mean.
        stability: Probability that a fresh sample of as many units gives the role; it integrates the errors
            of both samples. It is not the probability that the label is true. NaN for contrasts, for
            untestable heads, and in runs of older versions, whose numbers mean something else.
        bayes_factor: Evidence against a mean of exactly θ (a point null, two-sided); NaN unless requested.
        mean_low: Lower end of the 95 % interval of the mean itself. That of ``findings.csv`` is of the
            difference from the chance value, laid around the mean: another one where chance values differ
            between inputs. NaN where a run kept sums and they do, and in runs of older versions.
        mean_high: Upper end.
        p_explained: p of "explained": the larger of one-sided p of "score not beyond θ" and of "contrast
            not below its margin"; NaN without a contrast, and below 50 units of either.
        q_explained: ``p_explained`` adjusted over its family.
        p_absent: p of "absent": the larger of two one-sided p, of "mean − null at most −0.02" and "at least
            0.02"; NaN below 50 units, where chance is not 0, in probes and in surface runs.
        q_absent: ``p_absent`` adjusted over its family.
        prevalence: Share of units whose score alone lies beyond θ, whatever the contrast; 0 to 1. Of a run
            that kept sums, of the units of its random subsample.
        prevalence_low: Lower end of its 95 % interval (Wilson).
        prevalence_high: Upper end.
        largest_share: Share of the variance that the unit farthest from the mean holds, 0 to 1. Above 0.5 the
            interval of the mean cannot be relied on. NaN without spread, and in runs of older versions.

    Runs of older versions have NaN in the last eight.
    """

    hedges_g: Float[np.ndarray, "sieves layers heads"]
    g_low: Float[np.ndarray, "sieves layers heads"]
    g_high: Float[np.ndarray, "sieves layers heads"]
    detectable: Float[np.ndarray, "sieves layers heads"]
    design_effect: Float[np.ndarray, "sieves layers heads"]
    stability: Float[np.ndarray, "sieves layers heads"]
    bayes_factor: Float[np.ndarray, "sieves layers heads"]
    mean_low: Float[np.ndarray, "sieves layers heads"]
    mean_high: Float[np.ndarray, "sieves layers heads"]
    p_explained: Float[np.ndarray, "sieves layers heads"]
    q_explained: Float[np.ndarray, "sieves layers heads"]
    p_absent: Float[np.ndarray, "sieves layers heads"]
    q_absent: Float[np.ndarray, "sieves layers heads"]
    prevalence: Float[np.ndarray, "sieves layers heads"]
    prevalence_low: Float[np.ndarray, "sieves layers heads"]
    prevalence_high: Float[np.ndarray, "sieves layers heads"]
    largest_share: Float[np.ndarray, "sieves layers heads"]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for field in fields(self):
            object.__setattr__(self, field.name, read_only(getattr(self, field.name)))


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """Number of heads with a role when one convention of the decision is changed (sensitivity).

    Attributes:
        sieve: The role.
        convention: "margin" or "alpha".
        value: Its changed value.
        heads: Heads with the role at that value.
    """

    sieve: str
    convention: str
    value: float
    heads: int


@dataclass(frozen=True, slots=True)
class RoleOverlap:
    """Overlap of two roles over the same heads.

    Attributes:
        first: One role.
        second: The other.
        contrasts: "with" where roles need their contrast beyond distance, "without" where that is
            left out (given for pairs in which it matters).
        heads_first: Heads with the first role.
        heads_second: Heads with the second.
        both: Heads with both.
        both_low: Lower end of its 95 % interval over resampled units.
        both_high: Upper end.
        share: ``both / heads_first``: share of the first role's heads that also hold the second; NaN
            when there are none.
        share_low: Lower end of its 95 % interval over resampled units.
        share_high: Upper end.
        expected: Mean of ``both`` when the second role's labels are permuted at random within each layer.
        expected_low: 2.5 % point of that reference.
        expected_high: 97.5 % point. Descriptive: heads are not a sample, and this is no test.
    """

    first: str
    second: str
    contrasts: str
    heads_first: int
    heads_second: int
    both: int
    both_low: float
    both_high: float
    share: float
    share_low: float
    share_high: float
    expected: float
    expected_low: float
    expected_high: float


@dataclass(frozen=True, slots=True)
class RoleSet:
    """Heads that hold exactly these roles and no other.

    Attributes:
        roles: The roles, joined by ";".
        heads: Heads that hold exactly these.
        expected: Mean of ``heads`` when the labels of every role are permuted at random within each layer.
        expected_low: 2.5 % point of that reference.
        expected_high: 97.5 % point. Descriptive: heads are not a sample, and this is no test.
    """

    roles: str
    heads: int
    expected: float
    expected_low: float
    expected_high: float


@dataclass(frozen=True, slots=True)
class Depth:
    """Distribution of a role over the layers of the model.

    Attributes:
        sieve: The role.
        heads: Heads with the role.
        trend: Correlation over layers of relative depth with the layer's share of heads that hold the
            role; NaN when all shares are equal or there are fewer than 3 layers.
        trend_low: Lower end of its 95 % interval over resampled units.
        trend_high: Upper end.
        reference: Share of reorderings of whole layers whose trend is at least as strong, either
            direction. Descriptive: layers are not a sample.
        first: Share of the role's heads in the first third of layers; NaN when no head holds it.
        first_low: Lower end of its 95 % interval over resampled units.
        first_high: Upper end.
        middle: As ``first``, for the middle third.
        middle_low: As ``first_low``.
        middle_high: As ``first_high``.
        last: As ``first``, for the last third.
        last_low: As ``first_low``.
        last_high: As ``first_high``.
    """

    sieve: str
    heads: int
    trend: float
    trend_low: float
    trend_high: float
    reference: float
    first: float
    first_low: float
    first_high: float
    middle: float
    middle_low: float
    middle_high: float
    last: float
    last_low: float
    last_high: float


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """All assessments of findings beyond their tests.

    Attributes:
        precision: Effect sizes and precision per finding.
        moved: Sensitivity: labelled heads over margins and levels.
        together: Overlap of pairs of roles.
        depth: Distribution of roles over layers.
        remarks: Remarks for a reader of the decisions, one sentence each.
        sets: Exact sets of roles; empty in folders that were written before runs counted them.
    """

    precision: Precision
    moved: tuple[SensitivityRow, ...] = ()
    together: tuple[RoleOverlap, ...] = ()
    depth: tuple[Depth, ...] = ()
    remarks: tuple[str, ...] = ()
    sets: tuple[RoleSet, ...] = ()

    __repr__ = brief
