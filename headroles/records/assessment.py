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
from headroles.records.numbers import count, mean, share, two_decimals
from headroles.records.table import (
    COUNT,
    ENDS,
    HEAD,
    LAYER,
    SHARE,
    Cell,
    Column,
    Table,
    chance,
    counted,
    interval_ends,
)

OUTLIERS = "outliers near the threshold"
"""First words of the remark on roles whose heads have heavy tails where a decision could go either way."""
OUTLIER_RATE = 0.13
"""Largest share of such families that held a false label in simulations, of t-skew at 5 %."""
NAME = Column("sieve", "Name of the sieve, probe row or statistic; contrasts have rows of their own.", str,
              "sieve")  # fmt: skip
SIEVE = Column("sieve", "The role.", str, "role")
_LOW, _HIGH = "Lower end of its 95 % interval over resampled units.", "Upper end."
PRECISION = Table("precision.csv", "Effect sizes, precision and stability", "a sieve, layer and head", (
    NAME, LAYER, HEAD,
    Column("hedges_g", "Effect against θ in standard deviations, corrected for few units; signed."),
    *interval_ends("g_low", "g_high"),
    Column("detectable", "Smallest effect against θ with power 0.8 at these units and this correction, of "
           "this column alone: a role with a contrast needs both tests to reject."),
    Column("design_effect", "Factor by which the units' dependence inflates the variance of the mean.",
           within=COUNT),
    Column("stability", "Probability that a fresh sample of as many units gives the role; it integrates the "
           "errors of both samples. It is not the probability that the label is true. NaN for contrasts and "
           "for untestable heads.", within=SHARE),
    Column("bayes_factor", "Evidence against a mean of exactly θ (a point null, two-sided); NaN unless "
           "requested.", within=COUNT),
    Column("mean_low", "Lower end of the 95 % interval of the mean itself. That of `findings.csv` is of the "
           "difference from the chance value, laid around the mean: another one where chance values differ "
           "between inputs. NaN where a run kept sums and they do."),
    Column("mean_high", "Upper end."),
    chance("p_explained", "p of \"explained\": the larger of one-sided p of \"score not beyond θ\" and of "
           "\"contrast not below its margin\"; NaN without a contrast, and below 50 units of either."),
    chance("q_explained", "`p_explained` adjusted over its family."),
    chance("p_absent", "p of \"absent\": the larger of two one-sided p, of \"mean − null at most −0.02\" and "
           "\"at least 0.02\"; NaN below 50 units, where chance is not 0, in probes and in surface runs."),
    chance("q_absent", "`p_absent` adjusted over its family."),
    Column("prevalence", "Share of units whose score alone lies beyond θ, whatever the contrast. Of a run "
           "that kept sums, of the units of its random subsample.", within=SHARE),
    Column("prevalence_low", "Lower end of its 95 % interval (Wilson).", within=SHARE),
    Column("prevalence_high", "Upper end.", within=SHARE),
    Column("largest_share", "Share of the variance that the unit farthest from the mean holds. Above 0.5 the "
           "interval of the mean cannot be relied on. NaN without spread.", within=SHARE),
))  # fmt: skip
SENSITIVITY = Table("sensitivity.csv", "Heads with a role under other conventions", "a value", (
    SIEVE,
    Column("convention", "What is changed.", str, words=("margin", "alpha")),
    Column("value", "Its changed value.", within=COUNT),
    counted("heads", "Heads with the role at that value."),
))  # fmt: skip
TOGETHER = Table("together.csv", "Roles in pairs", "a pair of roles", (
    Column("first", "One role.", str, "of the first, also the second",
           cell=lambda row: Cell(f"{row.first} → {row.second}", row.first)),
    Column("second", "The other.", str),
    Column("contrasts", "\"with\" where roles need their contrast beyond distance, \"without\" where that "
           "is left out (given for pairs in which it matters).", str, "contrasts", words=("with", "without")),
    counted("heads_first", "Heads with the first role.", "heads of the first"),
    counted("heads_second", "Heads with the second.", "of the second"),
    counted("both", "Heads with both.", f"of both {ENDS}", text=count, ends=("both_low", "both_high")),
    Column("both_low", _LOW, within=COUNT), Column("both_high", _HIGH, within=COUNT),
    Column("share", "`both / heads_first`: share of the first role's heads that also hold the second; NaN "
           "when there are none.", float, f"share of the first {ENDS}", share, ("share_low", "share_high"),
           within=SHARE),
    Column("share_low", _LOW, within=SHARE), Column("share_high", _HIGH, within=SHARE),
    Column("expected", "Mean of `both` when the second role's labels are permuted at random within each "
           "layer.",
           float, "by chance [95\u00a0% range]", count, ("expected_low", "expected_high"), within=COUNT),
    Column("expected_low", "2.5 % point of that reference.", within=COUNT),
    Column("expected_high", "97.5 % point. Descriptive: heads are not a sample, and this is no test.",
           within=COUNT),
))  # fmt: skip
SETS = Table("sets.csv", "Roles in exact sets", "a set of roles", (
    Column("roles", "The roles, joined by `;`.", str),
    counted("heads", "Heads that hold exactly these roles and no other."),
    Column("expected", "Mean of `heads` when the labels of every role are permuted at random within each "
           "layer.",
           within=COUNT),
    Column("expected_low", "2.5 % point of that reference.", within=COUNT),
    Column("expected_high", "97.5 % point. Descriptive: heads are not a sample, and this is no test.",
           within=COUNT),
))  # fmt: skip
DEPTH = Table("depth.csv", "Roles over the layers", "a role", (
    SIEVE,
    counted("heads", "Heads with the role.", "heads"),
    Column("trend", "Correlation over layers of relative depth with the layer's share of heads that hold the "
           "role; NaN when all shares are equal or there are fewer than 3 layers.", float,
           f"trend over depth {ENDS}", two_decimals, ("trend_low", "trend_high"), within=(-1.0, 1.0)),
    Column("trend_low", _LOW, within=(-1.0, 1.0)), Column("trend_high", _HIGH, within=(-1.0, 1.0)),
    Column("reference", "Share of reorderings of whole layers whose trend is at least as strong, either "
           "direction. Descriptive: layers are not a sample.", float, "reorderings as strong", share,
           within=SHARE),
    *(
        column
        for third, meaning in (
            ("first", "Share of the role's heads in the first third of layers; NaN when no head holds it."),
            ("middle", "As `first`, for the middle third."), ("last", "As `first`, for the last third."),
        )
        for column in (
            Column(third, meaning, float, f"{third} third {ENDS}", share, (f"{third}_low", f"{third}_high"),
                   within=SHARE),
            Column(f"{third}_low", _LOW, within=SHARE), Column(f"{third}_high", _HIGH, within=SHARE),
        )
    ),
))  # fmt: skip
SEVERAL = Table(
    "several.csv", "Roles of a head, by layer", "a layer, all heads, or a difference",
    (
        Column("scope", "\"all\", \"layer 0\" and so on, or \"middle − others\": the middle third of layers "
               "less the other layers.", str, "layers"),
        counted("heads", "Heads in these layers; of the difference, those in the middle third.", "heads"),
        Column("mean", "Mean number of roles a head; of the difference one of means.", float,
               f"roles a head {ENDS}", two_decimals, ("mean_low", "mean_high")),
        Column("mean_low", "Lower end of its 95 % interval over inputs."), Column("mean_high", _HIGH),
        Column("several", "Share of heads with two or more roles; of the difference one of shares.", float,
               f"two or more roles {ENDS}", share, ("several_low", "several_high"), within=(-1.0, 1.0)),
        Column("several_low", "Lower end of its 95 % interval over inputs.", within=(-1.0, 1.0)),
        Column("several_high", _HIGH, within=(-1.0, 1.0)),
        chance("p", "Of the difference: p of \"in a fresh sample of inputs the share is no larger in the "
               "middle\", one-sided; NaN elsewhere.", "p"),
        Column("reference", "Of the difference: share of all choices of as many layers whose difference of "
               "shares is at least as large. Descriptive: layers are not a sample. NaN elsewhere.", float,
               "choices as large", share, within=SHARE),
    ),
    name="Heads with several roles",
    note="A role with parts, such as `delimiter` with `delimiter:cls`, counts only where the head holds "
    "none of them. Intervals say where these numbers of a fresh sample of as many units lie in 95 % of "
    "samples.",
)  # fmt: skip
VALUES = Table(
    "values.csv", "Scores by attention and by norm-weighted attention", "a role, layer and head",
    (
        Column("sieve", "The role, such as \"parked\".", str), LAYER, HEAD,
        counted("units", "Units with both scores; groups of examples where the run keeps sums."),
        Column("attention", "Mean score by attention.", float, "by attention", mean),
        Column("norm", "Mean score by norm-weighted attention, on the same cells.", float, "by norm", mean),
        Column("drop", "Mean over units of the first less the second; NaN without a unit.", float,
               f"drop {ENDS}", mean, ("low", "high")),
        Column("low", "Lower end of its 95 % interval, by the test of the run."), Column("high", _HIGH),
    ),
    name="Scores by attention and by norm", note="Only with a sieve such as `parked`.",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Precision:
    """Effect size and precision of each finding, one entry per sieve, layer and head.

    Its arrays are the columns of ``PRECISION``, which says what they mean.
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
        moved: Sensitivity: labelled heads over margins and levels (``SENSITIVITY``).
        together: Overlap of pairs of roles (``TOGETHER``).
        depth: Distribution of roles over layers (``DEPTH``).
        remarks: Remarks for a reader of the decisions, one sentence each.
        sets: Exact sets of roles (``SETS``).
        several: Number of roles a head by layer (``SEVERAL``); without rows where the run bets.
        drops: Scores by attention and by norm-weighted attention, of roles that ask for both (``VALUES``).
    """

    precision: Precision
    moved: Table = SENSITIVITY
    together: Table = TOGETHER
    depth: Table = DEPTH
    remarks: tuple[str, ...] = ()
    sets: Table = SETS
    several: Table = SEVERAL
    drops: Table = VALUES

    __repr__ = brief
