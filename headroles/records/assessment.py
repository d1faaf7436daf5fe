"""Assessment of findings beyond their tests: precision, stability, sensitivity, overlap of roles.

Heads are not a sample of anything, so nothing here is a test over heads: intervals come from
resampling the units, and references (``expected``, ``reference``) are descriptive.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float

from headroles.records.arrays import read_only
from headroles.records.brief import brief


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


@dataclass(frozen=True, slots=True)
class SeveralRoles:
    """Number of roles that heads hold, over some layers.

    A role with parts, such as ``delimiter`` with ``delimiter:cls``, counts only where the head holds none of
    them. Intervals say where these numbers of a fresh sample of as many units lie in 95 % of samples.

    Attributes:
        scope: "all", "layer 0" and so on, or ``MIDDLE``: the middle third of layers less the other layers.
        heads: Heads in these layers; of ``MIDDLE``, those in the middle third.
        mean: Mean number of roles a head; of ``MIDDLE`` a difference of means.
        mean_low: Lower end of its 95 % interval over inputs.
        mean_high: Upper end.
        several: Share of heads with two or more roles, 0 to 1; of ``MIDDLE`` a difference of shares.
        several_low: Lower end of its 95 % interval over inputs.
        several_high: Upper end.
        p: Of ``MIDDLE``: p of "in a fresh sample of inputs the share is no larger in the middle", one-sided;
            NaN elsewhere.
        reference: Of ``MIDDLE``: share of all choices of as many layers whose difference of shares is at
            least as large. Descriptive: layers are not a sample. NaN elsewhere.
    """

    scope: str
    heads: int
    mean: float
    mean_low: float
    mean_high: float
    several: float
    several_low: float
    several_high: float
    p: float
    reference: float


@dataclass(frozen=True, slots=True)
class ValueDrop:
    """How far the score of a role falls in one head where attention is weighted by the norms of values.

    Attributes:
        sieve: The role, such as "parked".
        layer: Layer of the head, from 0.
        head: Head within the layer, from 0.
        units: Units with both scores; groups of examples where the run keeps sums.
        attention: Mean score by attention.
        norm: Mean score by norm-weighted attention, on the same cells.
        drop: Mean over units of the first less the second; NaN without a unit.
        low: Lower end of its 95 % interval, by the test of the run.
        high: Upper end.
    """

    sieve: str
    layer: int
    head: int
    units: int
    attention: float
    norm: float
    drop: float
    low: float
    high: float


MIDDLE = "middle − others"
"""Scope of the difference between the middle third of layers and the other layers."""
NEAR, NEARER = 0.05, 0.01
"""Distances from 0 and from 1 within which p values are counted as near them."""


@dataclass(frozen=True, slots=True)
class ExtremeP:
    """Number of p values near 0 and near 1.

    The 2021 paper states that about 98 % of p values are near 0 or 1, without a distance that could be read.
    The same group's next study counts those at most 0.05 away (``NEAR``), so this is the main count.

    Attributes:
        tests: P values that are numbers.
        low: Those below 0.05.
        high: Those above 0.95.
        lowest: Those below 0.01.
        highest: Those above 0.99.
    """

    tests: int
    low: int
    high: int
    lowest: int
    highest: int

    @property
    def near(self) -> int:
        """Return the number of p values below 0.05 or above 0.95."""
        return self.low + self.high

    @property
    def nearer(self) -> int:
        """Return the number of p values below 0.01 or above 0.99."""
        return self.lowest + self.highest

    @property
    def share(self) -> float:
        """Return the share of p values below 0.05 or above 0.95, 0 to 1; NaN without a test."""
        return self.near / self.tests if self.tests else float("nan")

    @property
    def share_nearer(self) -> float:
        """Return the share of p values below 0.01 or above 0.99, 0 to 1; NaN without a test."""
        return self.nearer / self.tests if self.tests else float("nan")


def count_extreme_p(p: Float[np.ndarray, "*shape"]) -> ExtremeP:
    """Count p values near 0 and near 1.

    Args:
        p: P values of any shape; NaN where there was no test.

    Example:
        >>> counts = count_extreme_p(np.array([0.001, 0.02, 0.5, 0.96, 1.0, np.nan]))
        >>> counts.tests, counts.near, counts.nearer, counts.share
        (5, 4, 2, 0.8)
    """
    known = p[~np.isnan(p)]
    return ExtremeP(
        int(known.size),
        int((known < NEAR).sum()),
        int((known > 1 - NEAR).sum()),
        int((known < NEARER).sum()),
        int((known > 1 - NEARER).sum()),
    )


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
        several: Number of roles a head by layer; empty in folders that were written before runs counted it.
        drops: Scores by attention and by norm-weighted attention, of roles that ask for both; else empty.
    """

    precision: Precision
    moved: tuple[SensitivityRow, ...] = ()
    together: tuple[RoleOverlap, ...] = ()
    depth: tuple[Depth, ...] = ()
    remarks: tuple[str, ...] = ()
    sets: tuple[RoleSet, ...] = ()
    several: tuple[SeveralRoles, ...] = ()
    drops: tuple[ValueDrop, ...] = ()

    __repr__ = brief
